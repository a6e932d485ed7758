"""Forgeries of encodings are refuted, or unreadable, by both checkers."""

import copy
import json
from pathlib import Path

import numpy as np
import pytest
from forgeries.contradicting import judged
from second_checker import opinion

from ldpopt import design, problem, solve
from ldpopt.checker.statements.public_mechanism import public_digest
from ldpopt.checker.statements.table_design import digest
from ldpopt.mechanisms.stated import rounded_down

METHODS = ("unary", "subset", "hashing", "hadamard")
TABLE = {"s": ["a", "b", "a", "b", "a"], "u": ["x", "y", "z", "x", "y"]}
PUBLIC = Path(__file__).parents[2] / "forgeries" / "design"
UP, DOWN = 1 + 1e-9, 1 - 1e-9


def both(document):
    """What the two checkers say, which must be the same."""
    first, second = judged(document), opinion(json.dumps(document))
    assert first == second
    return first


@pytest.fixture(scope="module", params=METHODS)
def made(request):
    return design(TABLE, "s", "u", epsilon=1.0, robust="all", method=request.param)


@pytest.mark.parametrize("epsilon", [1e-6, 0.5, 30.0])
@pytest.mark.parametrize(("name", "k"), [("unary", 2), ("subset", 65_536), ("hashing", 4096)])
def test_extremes_are_verified(name, k, epsilon):
    found = json.loads(
        json.dumps(
            solve(problem("frequency-encoding", encoding=name, inputs=k, epsilon=epsilon)).to_json()
        )
    )
    assert both(found) == "verified"


def forged(document, change):
    """A file with another answer, its value and digest made to fit as well as they can."""
    found = copy.deepcopy(document)
    change(found)
    section = "design" if "design" in found else "public"
    found[section]["digest"] = (digest if section == "design" else public_digest)(found)
    return found


def test_genuine_designs_are_verified(made):
    assert both(made.to_json()) == both(made.public.to_json()) == "verified"


def test_changed_parameters_are_refuted(made):
    """The own input more often, the others less often, another number of inputs, another level."""
    other = {"unary": ("other", DOWN), "subset": ("size", 1), "hashing": ("buckets", 5)}
    name, step = other[made.result.answer["kind"]]

    def raised(found):
        found["answer"]["own"] = rounded_down(found["answer"]["own"] * UP)

    def lowered(found):
        old = found["answer"][name]
        found["answer"][name] = rounded_down(old * step) if name == "other" else step + (old == step)

    def more(found):
        found["answer"]["inputs"] += 1

    def asked_more(found):
        found["answer"]["inputs"] += 1
        found["params"]["inputs"] += 1

    def stricter(found):
        found["design"]["epsilon"] = found["params"]["epsilon"] = 0.999

    def promised(found):
        found["design"]["epsilon"] = 0.999

    def better(found):
        found["value"] *= DOWN

    def of_other_kind(found):
        found["params"] = {"encoding": "unary", "inputs": 6, "epsilon": 1.0}
        found["answer"] = {"kind": "subset", "inputs": 6, "own": 0.25, "size": 1}

    for change in (raised, lowered, more, asked_more, stricter, promised, better, of_other_kind):
        assert both(forged(made.to_json(), change)) == "refuted", change.__name__
    unsigned = made.to_json()
    unsigned["answer"]["own"] = rounded_down(unsigned["answer"]["own"] * DOWN)
    assert both(unsigned) == "refuted"


def test_public_files_are_refuted_alike(made):
    def raised(found):
        found["mechanism"]["encoding"]["own"] = rounded_down(found["mechanism"]["encoding"]["own"] * UP)

    def more(found):
        found["mechanism"]["encoding"]["inputs"] += 1

    def stricter(found):
        found["public"]["level"] = 0.999

    for change in (raised, more, stricter):
        assert both(forged(made.public.to_json(), change)) == "refuted", change.__name__


@pytest.mark.parametrize(
    "answer",
    [
        {"kind": "unary", "inputs": 6, "own": 0.25, "other": 0.5},
        {"kind": "unary", "inputs": 6, "own": 1.0, "other": 0.5},
        {"kind": "unary", "inputs": 6, "own": 0.5, "other": 0.0},
        {"kind": "unary", "inputs": 6.0, "own": 0.5, "other": 0.25},
        {"kind": "unary", "inputs": 6, "own": 0.5, "other": 0.25, "size": 2},
        {"kind": "subset", "inputs": 6, "own": 0.5, "size": 6},
        {"kind": "hashing", "inputs": 6, "own": 0.5, "buckets": 9},
        {"kind": "hashing", "inputs": 65_537, "own": 0.75, "buckets": 2},
        {"matrix": [[1.0], [1.0]]},
        None,
    ],
)
def test_what_is_no_encoding_is_unreadable(answer):
    document = solve(problem("frequency-encoding", encoding="unary", inputs=6, epsilon=1.0)).to_json()
    assert both({**document, "answer": answer}) == "unreadable"


@pytest.mark.parametrize(
    "path", sorted(PUBLIC.glob("*public-encoding*.json")), ids=lambda path: path.stem
)
def test_a_public_file_without_a_level_states_an_encoding(path):
    forged = json.loads(path.read_text(encoding="utf-8"))
    assert both(forged["file"]) == (forged["refuted"] or "verified"), forged["reason"]


def test_an_encoding_has_no_matrix(made):
    document = made.to_json()
    matrix = {"inputs": [0, 1], "outputs": [0], "matrix": [[1.0], [1.0]]}
    for change in (
        {"mechanism": matrix},
        {"mechanism": matrix, "answer": None},
        {"params": {**document["params"], "encoding": "unary", "buckets": 2}},
    ):
        assert both({**document, **change}) == "unreadable"
    public = made.public.to_json()
    public["mechanism"]["matrix"] = matrix["matrix"]
    assert both(public) == "unreadable"


@pytest.mark.parametrize(("k", "epsilon"), [(3, 0.01), (10, 1.0), (1000, 3.0)])
def test_the_bound_of_all_mechanisms(k, epsilon):
    """Subset selection attains it; the others lie above, and none may say that it attains it."""
    question = {"inputs": k, "epsilon": epsilon}
    subset = solve(problem("frequency-encoding", encoding="subset", **question))
    assert subset.status.value == "optimal"
    for name in ("unary", "hashing"):
        other = solve(problem("frequency-encoding", encoding=name, **question))
        assert other.bound == subset.bound < other.value
        assert other.status.value == "gap"
        found = json.loads(json.dumps(other.to_json()))
        assert both(found) == "verified"
        found.update(status="optimal", bound=found["value"], gap=0.0)
        assert both(found) == "refuted"


def test_the_bound_is_the_least_trace_of_the_inverse_information():
    """Drawn mechanisms lie above it at the uniform distribution."""
    k, epsilon = 4, 1.0
    bound = solve(problem("frequency-encoding", encoding="subset", inputs=k, epsilon=epsilon)).bound
    rng = np.random.default_rng(0)
    for _ in range(100):
        W = 1 + np.expm1(epsilon) * rng.integers(0, 2, (k, 9))
        W = np.column_stack([W * (weights := rng.random(9)), weights.sum() * 4 - (W * weights).sum(1)])
        if (W[:, -1] <= 0).any() or W[:, -1].max() > np.exp(epsilon) * W[:, -1].min():
            continue
        W = W / W.sum(axis=1, keepdims=True)
        M = (W / W.mean(axis=0)) @ W.T
        if np.linalg.cond(M) < 1e9:
            assert np.trace(np.linalg.inv(M)) - 1 / k >= bound * (1 - 1e-12)
