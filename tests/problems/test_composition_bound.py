"""Bounds from marginals: known values, ordering, brute force, and forged certificates."""

import json
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ldpopt import solve, verify
from ldpopt.checker import frame
from ldpopt.checker.kernel import reading
from ldpopt.core.errors import InvalidInputError
from ldpopt.core.form import Status
from ldpopt.core.forms.searches import ThresholdSearch
from ldpopt.measures.exposure import exposure
from ldpopt.measures.exposure_from_marginals import RULES, best_choice, rule_bound
from ldpopt.problems import CompositionBound
from ldpopt.tables.datasets import adult_features

TWO = [[0.6, 0.3, 0.1], [0.9, 0.1]]
THREE = [[0.6, 0.3, 0.1], [0.5, 0.5], [0.7, 0.2, 0.05, 0.05]]


@pytest.mark.parametrize(
    ("marginals", "t", "expected"),
    [
        (TWO, 0.01, (0.133333333333, 0.211111111111, 0.02)),
        (TWO, 0.05, (0.266666666667, 0.385185185185, 0.15)),
        (THREE, 0.001, (0.309838667697, 0.2, 0.017)),
    ],
)
def test_known_values(marginals, t, expected):
    for method, value in zip(("theorem-2", "theorem-3", "worst-joint"), expected, strict=True):
        result = solve(CompositionBound(marginals, t, method))
        assert result.value == pytest.approx(value, abs=1e-11)
        assert result.status is Status.OPTIMAL
        assert verify(result)


def adult():
    data = adult_features()
    return [data.marginal(name) for name in data.joint_names]


@pytest.mark.parametrize(("t", "value"), [(1e-3, 0.469778664371), (1e-2, 0.659520005708)])
def test_adult_theorem_3(t, value):
    assert solve(CompositionBound(adult(), t, "theorem-3")).value == pytest.approx(value, abs=1e-11)


def test_adult_worst_joint():
    result = solve(CompositionBound(adult(), 1e-2, "worst-joint"))
    assert result.value == pytest.approx(0.3899923, abs=1e-7)
    assert result.status is Status.OPTIMAL
    assert verify(result)


@pytest.mark.slow
def test_adult_worst_joint_at_a_small_threshold():
    result = solve(CompositionBound(adult(), 1e-3, "worst-joint"))
    assert result.value == pytest.approx(0.0935191, abs=1e-7)
    assert result.stats["milp_bound"] == pytest.approx(result.value, abs=1e-8)
    assert result.bound < 0.0946
    assert verify(result)


def random_joint(seed):
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(2, 4, size=rng.integers(2, 4)))
    table = rng.multinomial(60, rng.dirichlet(np.full(np.prod(shape), 0.4))).reshape(shape) / 60
    axes = range(table.ndim)
    marginals = [table.sum(axis=tuple(i for i in axes if i != j)) for j in axes]
    return table.ravel(), [m / m.sum() for m in marginals]


@given(seed=st.integers(0, 10_000), t=st.floats(0.003, 0.4))
@settings(max_examples=15)
def test_the_truth_is_below_every_bound_and_bounds_are_ordered(seed, t):
    joint, marginals = random_joint(seed)
    truth = exposure(joint, t)
    positive = tuple(m[m > 0] for m in marginals)
    rules = {r: best_choice(ThresholdSearch(positive, t, r)).bound for r in RULES}
    best = solve(CompositionBound(marginals, t, "best"), proof_lps=50, milp_nodes=50)
    assert verify(best)
    assert truth <= best.value + 1e-9
    assert best.bound <= best.value + 1e-9
    assert best.value <= min(rules.values()) + 1e-9
    assert rules["theorem-3-tight"] <= rules["theorem-3"] + 1e-12
    assert rules["theorem-2-tight"] <= rules["theorem-2"] + 1e-12


@given(seed=st.integers(0, 10_000), t=st.floats(0.003, 0.4))
@settings(max_examples=8)
def test_thresholds_are_optimal(seed, t):
    """No thresholds from a fine grid with all break-points prove less."""
    _, marginals = random_joint(seed)
    marginals = tuple(m[m > 0] for m in marginals)
    grid = sorted({*np.geomspace(t, 1, 6), *(float(x) for m in marginals for x in m if x >= t)})
    for rule in ("theorem-2", "theorem-3", "theorem-3-tight"):
        form = ThresholdSearch(marginals, t, rule)
        least = best_choice(form).bound
        for thresholds in product(grid, repeat=len(marginals)):
            for pivot in range(len(marginals)):
                assert rule_bound(form, thresholds, pivot) >= least - 1e-9


def test_the_worst_joint_by_brute_force():
    """All 2 × 2 tables with these marginals: one free number."""
    a, b, t = 0.6, 0.7, 0.15
    best = 0.0
    for x in np.linspace(a + b - 1, min(a, b), 100_001):
        cells = np.array([x, a - x, b - x, 1 - a - b + x])
        best = max(best, cells[cells <= t + 1e-12].sum())
    found = solve(CompositionBound([[a, 0.4], [b, 0.3]], t, "worst-joint"))
    assert found.value == pytest.approx(best, abs=1e-4)


def test_a_tie_is_a_tie_of_decimals():
    """1 − 0.7 is 0.30000000000000004 in floats: more than two cells of 0.15, so one must be bigger."""
    found = solve(CompositionBound([[0.6, 0.4], [0.7, 1 - 0.7]], 0.15, "worst-joint"))
    assert found.value == 0.15
    assert verify(found)


def test_one_marginal():
    for method in ("theorem-2", "best"):
        assert solve(CompositionBound([[0.7, 0.2, 0.1]], 0.15, method)).value == pytest.approx(0.1)


@pytest.mark.parametrize(("marginals", "t"), [([[0.5, 0.5]], 0.5), ([[1.0]], 1.0), (TWO, 1.0)])
def test_a_threshold_that_is_a_probability(marginals, t):
    """Exposure is strict: a value of probability exactly t is not exposed."""
    result = solve(CompositionBound(marginals, t, "best"))
    assert result.status is Status.OPTIMAL
    assert result.value == pytest.approx(1.0 if marginals is TWO else 0.0)
    assert verify(result)


def test_values_of_probability_zero_do_not_count():
    with_zero = CompositionBound([[0.6, 0.3, 0.1, 0.0], [0.9, 0.1]], 0.01, "theorem-2")
    assert solve(with_zero).value == pytest.approx(0.133333333333, abs=1e-11)


def test_large_joints_still_get_a_bound():
    rng = np.random.default_rng(0)
    marginals = [rng.dirichlet(np.full(20, 5.0)) for _ in range(5)]
    result = solve(CompositionBound(marginals, 1e-9, "best"))
    assert result.status is Status.FEASIBLE
    assert 0 < result.value < 0.1
    assert verify(result)


# ---------------------------------------------------------------- forgeries


@pytest.fixture(scope="module", params=["theorem-2", "theorem-3", "worst-joint", "best"])
def document(request):
    return solve(CompositionBound(TWO, 0.01, request.param)).to_json()


def forged(document, change):
    copy = json.loads(json.dumps(document))
    change(copy)
    return copy


def refuted(document):
    return not all(claim.holds for claim in frame.check(document))


def test_true_claims_hold(document):
    assert not refuted(document)


@pytest.mark.parametrize("factor", [0.9, 0.999, 1.001, 1.1])
def test_another_value_is_refuted(document, factor):
    def change(d):
        d["value"] *= factor

    assert refuted(forged(document, change))


@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_value_and_bound_moved_together_are_refuted(document, factor):
    def change(d):
        d["value"] *= factor
        d["bound"] *= factor

    assert refuted(forged(document, change))


def test_another_question_is_refuted(document):
    def change(d):
        d["params"]["threshold"] = 0.02

    assert refuted(forged(document, change))


def test_a_joint_with_other_marginals_is_refuted():
    document = solve(CompositionBound(TWO, 0.01, "worst-joint")).to_json()
    masses = document["answer"]["masses"]
    masses[0] = str(int(masses[0]) + 1)
    assert refuted(document)


def test_a_proof_without_a_branch_is_unreadable():
    document = solve(CompositionBound(TWO, 0.01, "worst-joint")).to_json()
    tree = document["certificate"]["proof"]["tree"]
    assert len(tree) > 1
    tree.pop()
    with pytest.raises(reading.UnreadableError, match="incomplete"):
        frame.check(document)


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.update(answer=None),
        lambda d: d["certificate"].update(proof=None),
        lambda d: d["params"].update(threshold=0),
        lambda d: d["params"].update(method="guess"),
        lambda d: d["params"].update(marginals=[[0.5, 0.4]]),
        lambda d: d.update(value="much"),
        lambda d: d.update(status="limit"),
    ],
)
def test_garbage_is_unreadable(document, change):
    with pytest.raises(reading.UnreadableError):
        frame.check(forged(document, change))


@pytest.mark.parametrize(
    ("params", "complaint"),
    [
        ({"marginals": [], "threshold": 0.1}, "marginals must be a list of 1 to 64 entries"),
        ({"marginals": [[0.5, 0.6]], "threshold": 0.1}, r"marginals\[0\] must sum to 1"),
        ({"marginals": TWO, "threshold": 0}, "threshold must be a finite number above 0 to 1, not 0"),
        ({"marginals": TWO, "threshold": 2}, "threshold must be a finite number above 0 to 1, not 2"),
        ({"marginals": TWO, "threshold": 0.1, "method": "magic"}, "magic"),
    ],
)
def test_bad_input(params, complaint):
    with pytest.raises(InvalidInputError, match=complaint):
        CompositionBound.from_params(**params)
