"""The two checkers agree: on genuine files, on forgeries, and on mutants."""

import copy
import json
import random
from fractions import Fraction
from pathlib import Path

import pytest
from forgeries.contradicting import PATIENCE, PUBLIC, genuine, judged
from forgeries.mutating import mutant
from forgeries.small import SMALL

from ldpopt import problem, solve
from ldpopt.checker.frame import KINDS
from ldpopt.checker.kernel.proofs.dirichlet_points import UNIT, prior_points
from ldpopt.core.form import relative_gap
from second_checker import COVERED, opinion, queries
from second_checker.asymptotic import classes_of, utility, utility_of_classes
from second_checker.intervals import bottom, top
from second_checker.points import points_of, renamed

FORGERIES = Path(__file__).parents[1] / "forgeries"

OPEN = {
    "circulant-fidelity": 1,
    "minimax-fidelity": 1,
}
"""How many of a kind's examples are left open: too large, or in need of what the page says is left."""
SUFFICIENT = ("polyopt", "independent-reporting", "grr-conditional", "ue-conditional")
SUFFICIENT += ("asymptotic-utility", "privacy-utility-frontier", "set-optimum")
"""Kinds where the other checker refutes what its proof does not show, and this one may show it."""
FOLDERS = ("leakage", "asymptotic", "anonymity", "design", "robust")
CORPUS = [path for folder in FOLDERS for path in sorted((FORGERIES / folder).glob("*.json"))]


def test_every_kind_is_covered():
    assert set(COVERED) == set(KINDS)


@pytest.mark.parametrize("kind", COVERED)
def test_genuine_files(kind):
    opinions = [opinion(json.dumps(document)) for document in genuine(kind)]
    assert opinions.count(None) == OPEN.get(kind, 0)
    assert opinions.count("verified") == len(opinions) - OPEN.get(kind, 0)


def test_numbers_of_a_proof_tree_are_rounded_alike():
    """A price of 5e-324 is one of 0: the tree proves the same, to the last digit."""
    for document in genuine("composition-bound"):
        for node in (document["certificate"]["proof"] or {}).get("tree", ()):
            if 0.0 in node.get("dual", ()):
                node["dual"][node["dual"].index(0.0)] = 5e-324
        assert judged(document) == "verified"
        assert opinion(json.dumps(document)) in ("verified", None)


SMALL_TABLE = {"epsilon": 1.0, "p_hat": [[0.3, 0.2], [0.1, 0.4]], "n": 1000.0, "blocks": "optimal"}


def with_optimal_blocks(kind):
    return json.loads(json.dumps(solve(problem(kind, **SMALL_TABLE), gap=1e-3).to_json()))


def test_optimal_blocks_of_unary_encoding():
    """Their bound is the ceiling of all private mechanisms."""
    document = with_optimal_blocks("ue-conditional")
    assert judged(document) == opinion(json.dumps(document)) == "verified"
    document["certificate"]["proof"]["secret_dual"][0] -= 0.01
    assert judged(document) == opinion(json.dumps(document)) == "refuted"


@pytest.mark.parametrize(("above", "said"), [(0.0, "verified"), (-1e-6, "refuted")])
def test_a_bound_at_the_ceiling_of_all_mechanisms_needs_no_dual_over_the_cone(above, said):
    document = next(iter(genuine("polyopt", 1)))
    proof = document["certificate"]["proof"]
    proof["dual"] = [0.0] * len(proof["dual"])
    document["bound"] = bound = proof["ceiling"] + above
    document["status"], document["gap"] = "gap", relative_gap(document["value"], bound)
    assert judged(document) == opinion(json.dumps(document)) == said


@pytest.mark.parametrize("kind", ["independent-reporting", "grr-conditional"])
def test_optimal_blocks(kind):
    """Their bound is proven on cells of splits; no part of the proof can be left out or be lower."""
    document = with_optimal_blocks(kind)
    assert judged(document) == opinion(json.dumps(document)) == "verified"
    proof = document["certificate"]["proof"]
    for name, found in (("secret", proof["secret"][0][0]), ("public", proof["public"][-1][0])):
        forged = copy.deepcopy(document)
        found[0] -= 0.01
        forged["certificate"]["proof"] = copy.deepcopy(proof)
        found[0] += 0.01
        assert judged(forged) == opinion(json.dumps(forged)) == "refuted", name
    forged = copy.deepcopy(document)
    forged["bound"] = forged["value"] * (1 - 1e-6)
    assert judged(forged) == opinion(json.dumps(forged)) == "refuted"
    forged = copy.deepcopy(document)
    forged["certificate"]["proof"]["splits"].pop()
    assert judged(forged) == opinion(json.dumps(forged)) == "unreadable"


WIDE, TALL = [[30, 20, 10, 5], [10, 40, 8, 12]], [[30, 20], [10, 40], [8, 12], [9, 3]]
NINE = [[30, 10, 8], [5, 25, 20], [10, 12, 9]]
QUICK = [
    ("polyopt", {"epsilon": 1.0, "counts": WIDE}),
    ("asymptotic-utility", {"epsilon": 1.0, "dirichlet": [1.0] * 4}),
    ("robust-level", {"uncertainty": {"kind": "wasserstein", "radius": 0.02}}),
]
SLOW = [
    ("polyopt", {"epsilon": 1.0, "counts": TALL}),
    ("polyopt", {"epsilon": 2.0, "counts": [[10 * n for n in row] for row in NINE]}),
    ("polyopt", {"epsilon": 1.0, "counts": NINE, "pairs": "all"}),
    ("robust-fidelity", {"epsilon": 1.0, "counts": WIDE}),
    ("robust-fidelity", {"epsilon": 1.0, "counts": NINE}),
    ("asymptotic-utility", {"epsilon": 1.0, "dirichlet": [1.0, 2.0, 1.0, 3.0]}),
    ("asymptotic-utility", {"epsilon": 8.0, "dirichlet": [1.0] * 5}),
    ("asymptotic-utility", {"epsilon": 1.0, "dirichlet": [1.0] * 8}),
    ("asymptotic-utility", {"epsilon": 1e-3, "dirichlet": [1.0] * 9}),
    ("asymptotic-utility", {"epsilon": 1.0, "dirichlet": [1.0, 0.5, 2.0, 1.0, 1.0, 1.0, 0.3, 4.0]}),
    ("privacy-utility-frontier", {"epsilon": 2.0, "dirichlet": [1.0] * 4, "min_average_privacy": 0.9}),
    ("privacy-utility-frontier", {"epsilon": 1.0, "dirichlet": [1.0] * 7, "min_average_privacy": 0.97}),
    *(
        ("robust-level", {"uncertainty": {"kind": kind, "radius": 0.02}})
        for kind in ("total-variation", "likelihood", "kullback-leibler", "hellinger")
    ),
    ("robust-level", {"uncertainty": {"kind": "chi-squared", "n": 300}}),
]
"""Files beyond those that the fuzzer mutates: larger cones, more values, balls of more cells."""


def larger(kind, params):
    """The file of a larger question; a level is that of random rows over a set around a random table."""
    if kind == "robust-level":
        draw = random.Random(str(params))
        cells = [[draw.randint(1, 9) for _ in range(2)] for _ in range(3)]
        table = [[x / sum(map(sum, cells)) for x in row] for row in cells]
        weights = [[draw.randint(4, 12) for _ in range(3)] for _ in range(6)]
        rows = [[x / sum(row) for x in row] for row in weights]
        params = {"matrix": rows, "uncertainty": params["uncertainty"] | {"p_hat": table}}
    return json.loads(json.dumps(solve(problem(kind, **params)).to_json()))


@pytest.mark.parametrize(
    ("kind", "params"), [*QUICK, *(pytest.param(*case, marks=pytest.mark.slow) for case in SLOW)]
)
def test_larger_files(kind, params):
    """Both verify them, and neither a better bound."""
    document = larger(kind, params)
    assert judged(document) == opinion(json.dumps(document)) == "verified"
    step = 1e-6 if kind == "robust-fidelity" else -1e-6
    forged = document | {"bound": document["bound"] + step, "value": document["value"] + step}
    assert "verified" not in (judged(forged), opinion(json.dumps(forged)))


def test_many_inputs_and_queries():
    """Too many corners to list: both prove the bound by one number, and no better one."""
    document = larger("robust-fidelity", {"epsilon": 1.0, "prior": [[1 / 22]] * 22})
    assert judged(document) == "verified"
    assert dict(queries.claims(document))["bound"] is True
    forged = document | {"bound": document["bound"] * (1 + 1e-6)}
    assert judged(forged) == "refuted"
    assert dict(queries.claims(forged))["bound"] is False


def test_renamed_points_and_classes_of_columns_agree():
    """Two ways to average over all renamings; the columns are no exact renamings of each other."""
    alpha, e = (1.0, 1.0, 1.0), Fraction(1)
    rows = [[8, 4, 4], [4, 8, 4], [4, 4, 8]]
    W = [[Fraction(x, 16) + Fraction(n * n - x, 2**30) for n, x in enumerate(row)] for row in rows]
    listed = utility(list(zip(*W, strict=True)), renamed(points_of(alpha, e), True))
    averaged = utility_of_classes(classes_of(list(zip(*W, strict=True))), points_of(alpha, e))
    assert top(averaged) - bottom(averaged) < 1e-13
    assert bottom(averaged) <= bottom(listed) <= top(listed) <= top(averaged)


@pytest.mark.parametrize(("alpha", "e"), [((0.5, 1.2), 1), ((0.5,) * 5, 8), ((0.1, 0.2, 0.1), 14)])
def test_both_checkers_have_the_same_points(alpha, e):
    """At the last two the Gauss rules cannot be calibrated and give way to draws."""
    rule, found = prior_points(alpha, float(e)), points_of(alpha, Fraction(e))
    assert [[int(x * UNIT) for x in p] for p, _ in found] == rule.points
    assert [int(w * UNIT) for _, w in found] == rule.weights


def clashes(documents, tries, seed):
    """Mutants that one checker verifies and the other does not."""
    draw, verified = random.Random(seed), 0
    for _ in range(tries):
        found = mutant(draw.choice(documents), draw)
        first, second = judged(found, PATIENCE), opinion(json.dumps(found))
        verified += first == second == "verified"
        if first == "verified" and second in ("refuted", "unreadable", "open"):
            yield first, second, found
        allowed = found.get("problem") in SUFFICIENT and first == "refuted"
        if second == "verified" and first in ("refuted", "unreadable", "open") and not allowed:
            yield first, second, found
    assert verified


@pytest.mark.parametrize("kind", [*COVERED, PUBLIC])
def test_mutants(kind):
    slow = kind in (*SMALL, "secret-staircase", PUBLIC) and kind != "program"
    assert list(clashes(genuine(kind, 1 if slow else 10), 20 if slow else 40, kind)) == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*COVERED, PUBLIC])
def test_many_mutants(kind):
    assert list(clashes(genuine(kind), 1000, f"many {kind}")) == []


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_forgeries(path):
    """A forgery is never verified here either; the genuine files among them are."""
    found = json.loads(path.read_text(encoding="utf-8"))
    document = found.get("document") or found["file"]
    said = opinion(json.dumps(document))
    assert said == "verified" if path.stem.startswith("genuine") else said != "verified"
