"""The checker: true claims hold, forged ones are refuted, garbage is unreadable."""

import ast
import json
import math
import subprocess
import sys
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from itertools import product
from pathlib import Path

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ldpopt import solve, testing
from ldpopt.checker import frame
from ldpopt.checker.kernel import arithmetic, reading
from ldpopt.checker.kernel.proofs import column_utilities
from ldpopt.checker.kernel.proofs.weak_duality import on_corners
from ldpopt.core.form import relative_gap
from ldpopt.models.cones import SecretCone
from ldpopt.models.utilities import Divergence, MutualInformation
from ldpopt.problems import SecretStaircase, Staircase

PRIOR = [0.4, 0.3, 0.2, 0.1]
PAIR = [[0.5, 0.2, 0.2, 0.1], [0.1, 0.3, 0.25, 0.35]]
QUESTIONS = {
    "information": Staircase(1.0, prior=PRIOR),
    "kl": Staircase(1.0, hypotheses=PAIR, utility="kl"),
    "total-variation": Staircase(1.0, hypotheses=PAIR, utility="total-variation"),
    "chi-squared": Staircase(1.0, hypotheses=PAIR, utility="chi-squared"),
    "secret": SecretStaircase(1.0, [[0.2, 0.1, 0.1], [0.3, 0.2, 0.1]]),
}


@pytest.fixture(scope="module", params=QUESTIONS)
def document(request):
    return json.loads(json.dumps(solve(QUESTIONS[request.param]).to_json()))


def forged(document, **changes):
    return json.loads(json.dumps(document)) | changes


def holds(document):
    return all(claim.holds for claim in frame.check(document))


PACKAGE = Path(frame.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_standard_library_only(path):
    depth = len(path.relative_to(PACKAGE).parts)
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = {n.name for node in ast.walk(tree) if isinstance(node, ast.Import) for n in node.names}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and not 1 <= node.level <= depth:
            names.add("." * node.level + (node.module or ""))
    assert {name.split(".")[0] for name in names} <= sys.stdlib_module_names


def test_every_section_is_listed():
    for name in {*frame.KINDS.values(), *frame.FORMS.values()}:
        found = frame.section(name)
        assert set(found.kinds) == {kind for kind, home in frame.KINDS.items() if home == name}
        assert set(found.forms) == {form for form, home in frame.FORMS.items() if home == name}


@pytest.mark.parametrize("kind", sorted({s: k for k, s in frame.KINDS.items()}.values()))
def test_sections_work_alone_too(tmp_path, kind):
    example = next(iter(testing.PROBLEMS[kind].examples()))
    path = tmp_path / "result.json"
    solve(example.problem).save(path)
    command = [sys.executable, "-I", "-S", str(PACKAGE), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_true_claims_hold(document):
    claims = frame.check(document)
    what = ["stochastic", "privacy", "value", "bound", "order", "gap", "agreement", "audit"]
    assert [claim.what for claim in claims] == what
    assert all(claim.holds and claim.strength == "exact" for claim in claims)


def test_forgeries_are_refuted(document):
    forgeries = dict(testing.tampered(document))
    assert len(forgeries) == 3
    for what, forgery in forgeries.items():
        assert testing.refuted(forgery), what


@pytest.mark.parametrize("unit", [2.0**-52, 1e-9, 1e-3])
def test_any_changed_entry_is_refuted(document, unit):
    for x, y in product(range(2), range(2)):
        forgery = forged(document)
        forgery["mechanism"]["matrix"][x][y] += unit
        assert not holds(forgery)


def test_moving_mass_within_a_row_breaks_privacy(document):
    forgery = forged(document)
    row = forgery["mechanism"]["matrix"][0]
    low, high = row.index(min(row)), row.index(max(row))
    row[low] -= 2.0**-40
    row[high] += 2.0**-40
    assert not holds(forgery)


def test_a_dual_of_another_instance_is_refuted(document):
    kind, params = document["problem"], document["params"]
    other = dict(params, epsilon=params["epsilon"] / 2)
    foreign = solve(testing.PROBLEMS[kind].from_params(**other)).to_json()["certificate"]
    assert not holds(forged(document, certificate=foreign, bound=document["bound"]))


def test_a_dual_permuted_is_refuted(document):
    forgery = forged(document)
    dual = forgery["certificate"]["proof"]["dual"]
    forgery["certificate"]["proof"]["dual"] = dual[::-1]
    assert not holds(forgery)


def test_an_edited_statement_is_refuted(document):
    forgery = forged(document)
    key = "prior" if "prior" in forgery["params"] else "hypotheses"
    edited = forgery["params"][key]
    row = edited if isinstance(edited[0], float) else edited[0]
    row[0], row[1] = row[0] - 0.04, row[1] + 0.04
    assert not holds(forgery)
    assert not holds(forged(document, params=document["params"] | {"epsilon": 0.99}))
    assert not holds(forged(document, params=document["params"] | {"epsilon": 1.01}))


def test_optimal_needs_a_small_gap(document):
    bound = document["bound"] * 1.01
    forgery = forged(document, bound=bound, gap=relative_gap(document["value"], bound))
    assert not holds(forgery)
    assert holds(forgery | {"status": "gap"})


@pytest.mark.parametrize(
    "damage",
    [
        lambda d: [],
        lambda d: {},
        lambda d: {k: v for k, v in d.items() if k != "bound"},
        lambda d: d | {"problem": "unheard-of"},
        lambda d: d | {"params": {}},
        lambda d: d | {"params": 3},
        lambda d: d | {"params": d["params"] | {"epsilon": -1}},
        lambda d: d | {"params": d["params"] | {"epsilon": "1"}},
        lambda d: d | {"mechanism": None},
        lambda d: d | {"mechanism": {"matrix": [[1.0]]}},
        lambda d: d | {"mechanism": {"matrix": [[math.nan] * 2] * 4}},
        lambda d: d | {"value": None},
        lambda d: d | {"value": math.inf},
        lambda d: d | {"certificate": None},
        lambda d: d | {"certificate": {"proof": {"dual": "x"}, "gap": 1e-9}},
        lambda d: d | {"certificate": "x"},
        lambda d: d | {"certificate": {"proof": [1], "gap": 1e-9}},
        lambda d: d | {"status": "excellent"},
    ],
)
def test_malformed_documents_are_unreadable(document, damage):
    with pytest.raises(reading.UnreadableError):
        frame.check(damage(json.loads(json.dumps(document))))


def test_another_package_may_state_a_form_of_any_section(tmp_path):
    result = solve(testing.PROBLEMS["broad-fidelity"](1.0, 4)).to_json() | {"problem": "mine"}
    (tmp_path / "result.json").write_text(json.dumps(result))
    question = {"form": "matrix-program", "family": "broad", "inputs": 4, "epsilon": 1.0}
    code = f"""
from ldpopt.checker import frame
from ldpopt.checker.kernel import reading
from ldpopt.checker.statements import program
assert all(claim.holds for claim in frame.check(reading.read("result.json"), {question}))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_wrong_numbers_in_other_proofs_are_unreadable():
    design = testing.PROBLEMS["leakage-design"](2, 2, 0.5)
    document = json.loads(json.dumps(solve(design).to_json()))
    assert holds(document)
    document["certificate"]["proof"]["cuts"][0]["outputs"][0] = 99
    with pytest.raises(reading.UnreadableError, match="must name secrets below 3, not the secret 99"):
        frame.check(document)
    known = testing.PROBLEMS["fidelity"](1.0, [0.5, 0.3, 0.2], "mse")
    document = json.loads(json.dumps(solve(known).to_json()))
    assert holds(document)
    document["params"]["family"] = "broadest"
    with pytest.raises(
        reading.UnreadableError, match="family must be one of square, broad, not 'broadest'"
    ):
        frame.check(document)


def test_alone_on_the_command_line(tmp_path, document):
    good, bad, garbage = tmp_path / "good", tmp_path / "bad", tmp_path / "garbage"
    good.write_text(json.dumps(document))
    bad.write_text(json.dumps(forged(document, value=document["value"] * 1.001)))
    garbage.write_text(good.read_text()[:200])
    for path, code in ((good, 0), (bad, 1), (garbage, 2), (tmp_path / "absent", 2)):
        command = [sys.executable, "-I", "-S", str(PACKAGE), str(path)]
        assert subprocess.run(command, capture_output=True, check=False).returncode == code


def asked(secrets, epsilon, utility, rows):
    """The question of a column program, as the frame reads it."""
    return frame.question(
        {
            "form": "column-program",
            "secrets": list(secrets),
            "epsilon": epsilon,
            "utility": utility,
            "distributions": [list(row) for row in rows],
        }
    )


def corner_excess(question, dual, utility):
    """The largest g(v) − β·v over all listed corners: what the checker decides without listing."""
    rays = SecretCone(question.parts[0].secrets, question.parts[0].epsilon).rays()
    return float((utility(rays) - np.array(dual) @ rays).max())


@settings(max_examples=60)
@given(
    st.integers(2, 5),
    st.sampled_from(["mutual-information", "kl", "total-variation", "chi-squared", "hellinger"]),
    st.floats(0.1, 3),
    st.integers(0, 10**6),
    st.booleans(),
)
def test_dominance_agrees_with_brute_force(k, name, epsilon, seed, blocks):
    rng = np.random.default_rng(seed)
    rows = tuple(
        tuple(rng.dirichlet(np.ones(k)).tolist())
        for _ in range(1 if name in column_utilities.OF_A_PRIOR else 2)
    )
    secrets = tuple(x // 2 for x in range(k)) if blocks and k > 2 else tuple(range(k))
    question = asked(secrets, epsilon, name, rows)
    arrays = [np.array(row) for row in rows]
    utility = MutualInformation(*arrays) if len(rows) == 1 else Divergence(*arrays, name)
    dual = rng.random(k) * 0.1
    excess = corner_excess(question, dual, utility)
    touching = dual + excess / np.arange(1, k + 1).sum() if excess > 0 else dual
    for shifted in (dual, touching, dual + max(excess, 0) + 1e-9, dual + 1):
        left = corner_excess(question, shifted, utility)
        if abs(left) > 1e-12:
            assert on_corners(shifted.tolist(), question) == (left < 0)


def test_equal_inputs_do_not_make_the_proof_exponential():
    k = 40
    question = asked(tuple(range(k)), 1.0, "mutual-information", (tuple([1 / k] * k),))
    sizes = np.arange(k + 1)
    q = 1 + (math.e - 1) * sizes / k
    best = float(((math.e * sizes / k - q * np.log(q)) / q).max())
    assert on_corners([best / k + 1e-12] * k, question)
    assert not on_corners([best / k - 1e-12] * k, question)


def test_exp_below():
    for epsilon in (1e-6, 0.1, 1.0, 29.9):
        with localcontext(Context(prec=100)):
            exact = Fraction(Decimal(epsilon).exp())
        assert 0 < exact - arithmetic.exp_below(epsilon) < exact * Fraction(1, 10**19)


TINY = 2.0**-1074


@pytest.mark.parametrize(
    ("prior", "column"),
    [
        ([0.5, 0.5], [0.25, 0.75]),
        ([0.5, 0.5], [0.0, 1.0]),
        ([0.5, 0.5], [TINY, 1.0]),
        ([0.5, 0.5], [TINY, 0.0]),
        ([1 - 2.0**-53, 2.0**-53], [0.5, math.nextafter(0.5, 1)]),
        ([1.0, TINY], [0.0, 1.0]),
        ([1.0, TINY], [1.0, TINY]),
        ([0.2, 0.3, 0.5], [0.1, 0.1, math.nextafter(0.1, 0)]),
    ],
)
def test_the_information_of_a_column_is_enclosed_however_small_its_entries(prior, column):
    total = sum(map(Fraction, prior))
    exact = [Fraction(p) / total for p in prior]
    found = column_utilities.information(exact)(column)
    with mpmath.workprec(6000):
        pairs = [
            (mpmath.mpf(p.numerator) / p.denominator, w) for p, w in zip(exact, column, strict=True)
        ]
        q = sum(p * w for p, w in pairs)
        true = sum(p * w * mpmath.log(w / q) for p, w in pairs if p and w)
        ends = [
            mpmath.mpf(end.as_integer_ratio()[0]) / end.as_integer_ratio()[1]
            for end in (found.low, found.high)
        ]
        assert 0 <= ends[0] <= true <= ends[1]
        assert ends[1] - ends[0] <= q * mpmath.mpf(10) ** -55


def test_a_constant_column_has_no_information():
    assert column_utilities.information([Fraction(1, 3)] * 3)([0.1] * 3) is arithmetic.ZERO
    assert column_utilities.information([Fraction(1), Fraction(0)])([0.1, 0.9]) is arithmetic.ZERO


def test_the_enclosed_utility_agrees_with_floats():
    rng = np.random.default_rng(0)
    W = rng.dirichlet(np.ones(6), size=4)
    for name, rows in (("mutual-information", [PRIOR]), ("kl", PAIR), ("chi-squared", PAIR)):
        question = asked((0, 1, 2, 3), 1.0, name, tuple(map(tuple, rows)))
        arrays = [np.array(row) for row in rows]
        utility = MutualInformation(*arrays) if len(rows) == 1 else Divergence(*arrays, name)
        exact = float(question.gain(W.tolist()).low)
        assert exact == pytest.approx(utility(W).sum(), abs=1e-14)
