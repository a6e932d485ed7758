"""Provable safety: brute force in rationals, ties with the budget, one risk for both sides."""

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ldpopt import solve, verify
from ldpopt.checker.kernel.proofs.exposure_rules import provable
from ldpopt.core.form import Status
from ldpopt.core.forms.searches import ThresholdSearch
from ldpopt.measures import safe_features
from ldpopt.measures.exposure import exposure
from ldpopt.measures.exposure_from_marginals import best_choice, exact_marginals
from ldpopt.problems import FeatureRelease

FAIR = np.array([0.5, 0.5])


def least_risk(marginals, t):
    return safe_features.least_risk(exact_marginals(marginals), t)


def risk_beside(marginals, t, budget):
    return safe_features.risk_beside(exact_marginals(marginals), t, budget)


def provably_safe(marginals, t, budget):
    return safe_features.provably_safe(exact_marginals(marginals), t, budget)


def twentieths(rng, features):
    """Marginals in steps of 1/20: their sums meet round budgets often."""
    draws = [rng.multinomial(20, rng.dirichlet(np.ones(rng.integers(2, 5)))) for _ in range(features)]
    return [n[n > 0] / 20 for n in draws]


def least_by_kept_values(marginals, t):
    """All choices of kept values, in rationals."""
    exact = [[Fraction(repr(float(x))) for x in p if x] for p in marginals]
    best = Fraction(1)
    choices = [[s for n in range(1, len(p) + 1) for s in combinations(p, n)] for p in exact]
    for kept in product(*choices):
        lost = sum(1 - sum(s) for s in kept)
        best = min(best, lost + Fraction(repr(t)) * math.prod(map(len, kept)))
    return best


@given(seed=st.integers(0, 10_000), features=st.integers(1, 3), t=st.sampled_from([0.01, 0.05, 0.125]))
@settings(deadline=None, max_examples=40)
def test_ties_with_the_budget_are_decided_exactly(seed, features, t):
    """A budget that equals the best bound of kept values is enough; one below both rules is not."""
    marginals = twentieths(np.random.default_rng(seed), features)
    least = least_by_kept_values(marginals, t)
    budget = float(least)
    assert Fraction(repr(budget)) == least  # a short decimal
    assert provably_safe(marginals, t, budget)
    assert risk_beside(marginals, t, budget) <= budget
    by_thresholds = best_choice(ThresholdSearch(tuple(marginals), t, "theorem-2")).bound
    if by_thresholds > budget + 1e-9 and budget < 1:
        below = math.nextafter(budget, 0)
        assert not provably_safe(marginals, t, below)
        assert risk_beside(marginals, t, below) > below


@given(seed=st.integers(0, 10_000), features=st.integers(1, 3), t=st.floats(0.001, 0.2))
@settings(deadline=None, max_examples=40)
def test_rationals_and_doubles_agree_away_from_ties(seed, features, t):
    rng = np.random.default_rng(seed)
    marginals = [rng.dirichlet(np.full(rng.integers(1, 5), 1.0)) for _ in range(features)]
    risk = least_risk(marginals, t)[1].bound
    if risk < 1:
        assert not provably_safe(marginals, t, max(risk - 1e-8, 0.0)) or risk < 1e-8
        assert provably_safe(marginals, t, risk + 1e-8)


def test_ties_of_theorem_2():
    """One free threshold: t · 20 / 0.5 = 0.02. Two: λ² = t · 20 · 20 / 0.5 = 0.04², and 2 λ = 0.08."""
    fair, wide, little = [Fraction(1, 2)] * 2, [Fraction(1, 20)] * 20, Fraction(1, 10**30)
    for marginals, t, bound in (
        ([fair, wide], Fraction(5, 10**4), Fraction(2, 100)),
        ([fair, wide, wide], Fraction(2, 10**6), Fraction(8, 100)),
    ):
        assert provable(marginals, t, "theorem-2", bound, less=False)
        assert not provable(marginals, t, "theorem-2", bound, less=True)
        assert not provable(marginals, t, "theorem-2", bound - little, less=False)


@given(seed=st.integers(0, 10_000), t=st.floats(0.001, 0.1))
@settings(deadline=None, max_examples=25)
def test_theorem_3_as_printed_never_proves_less(seed, t):
    rng = np.random.default_rng(seed)
    marginals = tuple(rng.dirichlet(np.full(rng.integers(1, 6), 1.0)) for _ in range(3))
    printed, tight = (
        best_choice(ThresholdSearch(marginals, t, f"theorem-3{s}")).bound for s in ("", "-tight")
    )
    assert tight <= printed + 1e-12


@given(seed=st.integers(0, 10_000), t=st.floats(0.001, 0.1))
@settings(deadline=None, max_examples=25)
def test_no_joint_is_riskier(seed, t):
    rng = np.random.default_rng(seed)
    joint = rng.dirichlet(np.full(24, 0.4)).reshape(2, 3, 4)
    marginals = [joint.sum(axis=tuple({0, 1, 2} - {j})) for j in range(3)]
    assert exposure(joint.ravel(), t) <= least_risk(marginals, t)[1].bound + 1e-12


def test_one_feature_is_as_risky_as_it_is_exposed():
    p = np.array([0.7, 0.2, 0.06, 0.04])
    for t in (0.04, 0.05, 0.06, 0.1, 0.5, 1.0):
        assert least_risk([p], t)[1].bound == pytest.approx(min(1.0, exposure(p, t)))


@given(seed=st.integers(0, 10_000), budget=st.integers(0, 10))
@settings(deadline=None, max_examples=15)
def test_optimal_is_over_the_provably_safe_sets(seed, budget):
    """With many ties: the heaviest provably safe set, by brute force in rationals."""
    rng = np.random.default_rng(seed)
    marginals, weights = twentieths(rng, 4), rng.integers(0, 5, 4).tolist()
    problem = FeatureRelease(0.025, budget / 20, marginals=marginals, weights=weights)
    result = solve(problem)
    subsets = [s for n in range(5) for s in combinations(range(4), n)]
    safe = {s: not s or provably_safe([marginals[j] for j in s], 0.025, budget / 20) for s in subsets}
    assert result.status is Status.OPTIMAL
    assert result.value == max(sum(weights[j] for j in s) for s in subsets if safe[s])
    assert safe[tuple(result.answer["features"])]
    assert not any(safe[tuple(c)] for c in result.certificate.proof["conflicts"])
    assert verify(result)


def test_the_redacted_value_is_a_value_of_its_own():
    """A real −1 stays apart from the redacted users."""
    table = [[-1]] * 5 + [[7]] * 5 + [[8]] + [[9]]
    columns = FeatureRelease(0.4, 0.0, table=table, redact=0.1).question.columns
    assert columns is not None
    assert sorted(Counter(columns[0]).values()) == [2, 5, 5]


@pytest.mark.parametrize("weights", [[-1, 1], [math.nan, 1], [math.inf, 1]])
def test_weights_are_not_negative(weights):
    with pytest.raises(ValueError, match="weights"):
        FeatureRelease(0.1, 0.1, marginals=[FAIR, FAIR], weights=weights)
