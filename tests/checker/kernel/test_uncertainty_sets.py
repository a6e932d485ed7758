"""Uncertainty sets in the checker: least values against linear and convex programs, members, ends."""

import math
from decimal import Decimal
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy.optimize import linprog, minimize

from ldpopt.checker.kernel.budget import UndecidedError, limited
from ldpopt.checker.kernel.proofs.credible_set import beta_cdf, beta_quantile
from ldpopt.checker.kernel.proofs.divergence_balls import falling_root
from ldpopt.checker.kernel.proofs.gamma_function import log_gamma
from ldpopt.checker.kernel.proofs.set_privacy import SetPrivacy, is_set_private
from ldpopt.checker.kernel.proofs.stated_sets import UNCERTAINTY, read_set
from ldpopt.checker.kernel.reading import UnreadableError

TABLE = [[0.25, 0.125, 0.125], [0.25, 0.25, 0.0]]


def built(kind, **rest):
    return read_set(UNCERTAINTY.read({"kind": kind, **rest}, "uncertainty"))


SETS = {
    "known": built("known", p=TABLE),
    "scenarios": built("scenarios", members=[TABLE, [[0.2, 0.2, 0.2], [0.2, 0.1, 0.1]]]),
    "total-variation": built("total-variation", p_hat=TABLE, radius=0.1),
    "wasserstein": built("wasserstein", p_hat=TABLE, radius=0.1),
    "kullback-leibler": built("kullback-leibler", p_hat=TABLE, radius=0.05),
    "likelihood": built("likelihood", p_hat=TABLE, radius=0.05),
    "hellinger": built("hellinger", p_hat=TABLE, radius=0.1),
    "chi-squared": built("chi-squared", p_hat=TABLE, n=100),
    "credible": built("credible", counts=[[25, 12, 13], [25, 25, 0]]),
}


@pytest.mark.parametrize("kind", SETS)
def test_the_least_value_is_attained_and_not_undercut(kind):
    F, rng = SETS[kind], np.random.default_rng(0)
    home = np.array(F.home)
    for _ in range(5):
        cost = rng.normal(size=6)
        least = float(F.least([Fraction(c) for c in cost.tolist()]))
        witness = np.array(F.worst(cost.tolist()))
        cells = np.array(F.cells(witness.tolist()))
        assert cells.sum() == pytest.approx(1, abs=1e-12)
        assert cells @ cost == pytest.approx(least, abs=1e-12)
        moved = (1 - 1e-10) * witness + 1e-10 * home
        assert F.member(moved.tolist(), "witness")[1] is True
        for _ in range(20):
            other = np.array(F.worst(rng.normal(size=6).tolist()))
            assert np.array(F.cells(other.tolist())) @ cost >= least - 1e-12


def test_least_values_of_known_programs():
    p, rng = np.array(TABLE).ravel(), np.random.default_rng(1)
    cost = rng.normal(size=6)
    exact = [Fraction(c) for c in cost.tolist()]
    # total variation: gains and losses
    found = linprog(
        np.append(cost, -cost),
        A_ub=[np.append(np.ones(6), np.zeros(6))],
        b_ub=[0.1],
        A_eq=[np.append(np.ones(6), -np.ones(6))],
        b_eq=[0.0],
        bounds=[(0, None)] * 6 + [(0, q) for q in p],
    )
    assert float(SETS["total-variation"].least(exact)) == pytest.approx(cost @ p + found.fun, abs=1e-12)
    # Wasserstein: moves
    cells = [(s, u) for s in range(2) for u in range(3)]
    far = np.array([[abs(u - v) + (s != z) for z, v in cells] for s, u in cells], float).ravel()
    found = linprog(
        np.tile(cost, 6), A_ub=[far], b_ub=[0.1], A_eq=np.kron(np.eye(6), np.ones(6)), b_eq=p
    )
    assert float(SETS["wasserstein"].least(exact)) == pytest.approx(found.fun, abs=1e-12)
    # Kullback–Leibler: a convex program
    used = p > 0
    found = minimize(
        lambda v: cost[used] @ v,
        p[used],
        bounds=[(1e-9, 1)] * 5,
        constraints=[
            {"type": "eq", "fun": lambda v: v.sum() - 1},
            {"type": "ineq", "fun": lambda v: 0.05 - (v * np.log(v / p[used])).sum()},
        ],
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert float(SETS["kullback-leibler"].least(exact)) == pytest.approx(found.fun, abs=1e-7)


@pytest.mark.parametrize("kind", ["total-variation", "kullback-leibler", "likelihood", "hellinger"])
def test_members_at_the_end_of_a_ball(kind):
    """A step of 1e-12 to either side of the radius is told apart."""
    P = [[0.25, 0.125, 0.125], [0.125, 0.375, 0.0]]
    flat = [Fraction(x) for row in P for x in row]
    p, q = np.array(P).ravel(), np.array(TABLE).ravel()
    used = q > 0
    radius = {
        "total-variation": abs(p - q).sum() / 2,
        "kullback-leibler": (p[used] * np.log(p[used] / q[used])).sum(),
        "likelihood": (q[used] * np.log(q[used] / p[used])).sum(),
        "hellinger": math.sqrt(1 - np.sqrt(p * q).sum()),
    }[kind]
    assert built(kind, p_hat=TABLE, radius=radius * (1 + 1e-12)).contains(flat) is True
    assert built(kind, p_hat=TABLE, radius=radius * (1 - 1e-12)).contains(flat) is False


def test_mass_where_the_center_has_none():
    P = [Fraction(1, 5), Fraction(1, 8), Fraction(1, 8), Fraction(1, 4), Fraction(1, 4), Fraction(1, 20)]
    assert SETS["kullback-leibler"].contains(P) is False
    assert built("total-variation", p_hat=TABLE, radius=0.0501).contains(P) is True


BETAS = [(0.5, 9.5), (3, 5000), (100.5, 900.5), (0.5, 0.5), (7, 1), (0.5, 1e6), (0.25, 40), (40, 0.25)]


@pytest.mark.parametrize(("a", "b"), BETAS)
def test_beta_quantiles_are_enclosed(a, b):
    goal = Fraction(1, 400)
    found = beta_quantile(Fraction(a), Fraction(b), goal)
    with mpmath.workdps(40):
        low, high = (mpmath.mpf(str(end)) for end in (found.low, found.high))
        assert mpmath.betainc(a, b, 0, low, regularized=True) < mpmath.mpf(goal.numerator) / 400
        assert mpmath.betainc(a, b, 0, high, regularized=True) > mpmath.mpf(goal.numerator) / 400
        above = beta_quantile(Fraction(a), Fraction(b), goal, upper=True)
        low_end, high_end = (mpmath.mpf(str(end)) for end in (above.low, above.high))
        rest = 1 - mpmath.mpf(goal.numerator) / 400
        assert mpmath.betainc(a, b, 0, low_end, regularized=True) < rest
        assert mpmath.betainc(a, b, 0, high_end, regularized=True) > rest
        cdf = beta_cdf(Fraction(a), Fraction(b), found.low)
        truth = mpmath.betainc(a, b, 0, low, regularized=True)
        assert mpmath.mpf(str(cdf.low)) <= truth <= mpmath.mpf(str(cdf.high))
        gamma = log_gamma(Fraction(a))
        assert mpmath.mpf(str(gamma.low)) <= mpmath.loggamma(a) <= mpmath.mpf(str(gamma.high))


def test_the_posterior_probability_of_a_credible_set():
    """The posterior leaves the set with a probability of at most α: a million draws."""
    F = built("credible", counts=[[5, 0], [2, 3]], alpha=0.1)
    draws = np.random.default_rng(0).dirichlet([5.5, 0.5, 2.5, 3.5], size=1_000_000)
    ends = np.array([[float(a), float(b)] for a, b in F.outer])
    inside = ((draws >= ends[:, 0]) & (draws <= ends[:, 1])).all(axis=1).mean()
    assert 0.9 <= inside < 0.95


def test_a_proof_holds_just_above_the_level_and_fails_below():
    rows = [[0.6, 0.4], [0.5, 0.5], [0.5, 0.5], [0.3, 0.7], [0.3, 0.7], [0.4, 0.6]]
    columns = [[Fraction(row[y]) / sum(map(Fraction, row)) for row in rows] for y in range(2)]
    F = SETS["known"]
    truth = math.log((0.6 * 0.5 + 0.5 * 0.25 + 0.5 * 0.25) / 0.3)
    assert is_set_private(columns, F, Fraction(truth + 1e-12))
    assert not is_set_private(columns, F, Fraction(truth - 1e-12))
    assert SetPrivacy(F, Fraction(1)).open_pairs([Fraction(0)] * 6) == []


@pytest.mark.parametrize("hostile", [5e-324, 1e-300, 1e300, -0.0, float("nan"), True, None])
def test_hostile_radii(hostile):
    for kind in ("total-variation", "kullback-leibler", "likelihood", "hellinger", "wasserstein"):
        try:
            F = built(kind, p_hat=TABLE, radius=hostile)
        except UnreadableError:
            continue
        assert hostile < 1e-100
        assert F.least([Fraction(i) for i in range(6)]) <= Fraction(17, 8)


def test_the_budget_ends_a_proof():
    rows = [Fraction(i + 1, 10) for i in range(6)]
    with limited(seconds=0), pytest.raises(UndecidedError):
        SETS["likelihood"].least(rows)


def test_many_counts_are_left_to_the_budget():
    with limited(seconds=0), pytest.raises(UndecidedError):
        built("credible", counts=[[10**8, 10**8], [10**8, 10**8]])
    with pytest.raises(UnreadableError, match="at most 1,000,000,000, not 1000000001"):
        built("credible", counts=[[10**9, 0], [1, 0]])


def test_quantiles_below_all_floats_are_enclosed():
    """A hardly probable cell of a prior of 1/1000 has a quantile of some 10^−13000: that is above 0."""
    a, b, goal = Fraction(1, 1000), Fraction(65), Fraction(1, 10**13)
    low, high = beta_quantile(a, b, goal), beta_quantile(b, a, goal, upper=True)
    assert (low.low, low.high) == (0, Decimal("1e-300"))
    assert beta_cdf(a, b, low.high).low > Decimal("1e-13")
    assert high.high == 1
    assert high.low > Decimal("0.9999999999")


@pytest.mark.parametrize("noise", [math.nan, math.inf, -math.inf, 0.0])
def test_a_guess_stays_between_its_ends(noise):
    """Whatever floats return, a guess is a number of the bracket: exact numbers decide with it."""
    for place in (-1.0, 0.0, 0.3, 0.9):

        def f(x, place=place):
            return noise if x > place else 1.0 - x

        assert -1 <= falling_root(f, -1.0, 2.0) <= 2


@pytest.mark.parametrize(("kind", "radius"), [("hellinger", 1.0), ("likelihood", 1e6)])
def test_radii_at_the_end_of_their_range_are_refused_with_a_sentence(kind, radius):
    with pytest.raises(UnreadableError, match="positive probability, which is not shown of secret 0"):
        built(kind, p_hat=[[0.3, 0.2], [0.1, 0.4]], radius=radius)


def test_sets_have_names():
    assert SETS["hellinger"].name == "the hellinger ball of radius 0.1"
    assert SETS["scenarios"].name == "the set of all mixtures of 2 scenarios"
    assert SETS["chi-squared"].name == "the χ² set of n = 100.0, alpha = 0.05"
    assert len({F.name for F in SETS.values()}) == len(SETS)
