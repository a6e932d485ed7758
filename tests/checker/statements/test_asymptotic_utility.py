"""Asymptotic utility: the recipe's points, enclosures against mpmath, forgeries with their reasons."""

import copy
import json
import math
import operator
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations_with_replacement, permutations
from pathlib import Path

import mpmath
import numpy as np
import pytest
from forgeries.contradicting import judged
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import roots_jacobi

from ldpopt import solve
from ldpopt.checker.kernel import fixed_point
from ldpopt.checker.kernel.budget import UndecidedError, limited
from ldpopt.checker.kernel.proofs import (
    asymptotic_bound,
    asymptotic_value,
    dirichlet_logarithms,
    dirichlet_points,
    fisher_information,
    leakage_cover,
)
from ldpopt.checker.kernel.reading import UnreadableError
from ldpopt.checker.kernel.section import Case
from ldpopt.checker.statements import asymptotic_utility
from ldpopt.core import certify
from ldpopt.core.errors import InvalidInputError
from ldpopt.core.mechanism import Mechanism
from ldpopt.measures.information_metrics import average_privacy
from ldpopt.mechanisms import SubsetSelection
from ldpopt.models.cones import staircase_cone
from ldpopt.models.priors import Dirichlet
from ldpopt.problems import AsymptoticUtility, PrivacyUtilityFrontier

CORPUS = sorted((Path(__file__).parents[2] / "forgeries" / "asymptotic").glob("*.json"))
mpmath.mp.dps = 90


def question(alpha, epsilon, floor=None):
    return asymptotic_utility.design_question({"dirichlet": alpha, "epsilon": epsilon, "floor": floor})


def within(interval, x, slack=0):
    low, high = (mpmath.mpf(str(end)) for end in (interval.low, interval.high))
    return low - slack <= x <= high + slack


def exactly(x):
    return mpmath.mpf(x.numerator) / x.denominator


# ---------------------------------------------------------------- the points


@pytest.mark.parametrize("alpha", [(0.5, 0.5), (0.5, 1.2, 2.0), (0.01,) * 4, (0.5,) * 7, (1e4, 1.0)])
def test_points_and_weights_sum_to_exactly_1(alpha):
    rule = dirichlet_points.prior_points(alpha, 1.7)
    assert sum(rule.weights) == dirichlet_points.UNIT
    assert min(rule.weights) > 0
    assert all(sum(p) == dirichlet_points.UNIT and min(p) >= 0 for p in rule.points)


@pytest.mark.parametrize(
    ("alpha", "epsilon"),
    [
        ((0.5,) * 5, 8.0),
        ((0.1,) * 5, 5.0),
        ((0.1, 0.2, 0.3, 0.4, 0.5), 5.0),
        ((0.2,) * 4, 8.0),
        ((0.1,) * 3, 10.0),
        ((0.01, 1.0), 20.0),
    ],
)
def test_where_gauss_rules_cannot_be_calibrated_draws_are(alpha, epsilon):
    """Uncalibrated rules understated the utility of randomised response by 0.118 at the first."""
    rule = dirichlet_points.prior_points(alpha, epsilon)
    assert len(rule.points) == 96
    assert min(rule.weights) > 0
    beta, prior = math.expm1(epsilon), Dirichlet(alpha)
    points = np.array(rule.points, dtype=float) / dirichlet_points.UNIT
    found = (
        np.array(rule.weights, dtype=float) @ np.log1p(beta * points).sum(axis=1) / dirichlet_points.UNIT
    )
    exact = float(prior.expected_log(1 + beta * np.eye(len(alpha))).sum())
    assert found == pytest.approx(exact, abs=1e-12 * epsilon * len(alpha))


def test_a_prior_without_calibrated_points_is_refused(monkeypatch, document):
    """No such α and ε are known: from 0.01 to 10⁴ and up to ε = 30 the draws were calibrated."""
    monkeypatch.setattr(dirichlet_points, "_calibrated", lambda *_: None)
    dirichlet_points.prior_points.cache_clear()
    with pytest.raises(UnreadableError, match=r"alpha and epsilon must allow points.*epsilon 1\.0"):
        dirichlet_points.prior_points((0.5, 0.5, 0.5), 1.0)
    assert judged(document) == "unreadable"
    with pytest.raises(InvalidInputError, match="alpha and epsilon must allow points"):
        solve(AsymptoticUtility(1.0, [0.5] * 3))


def test_points_are_the_same_everywhere():
    """Numbers that were computed once: the recipe uses no mathematical library of the machine."""
    rule = dirichlet_points.prior_points((0.5, 0.5, 0.5), 1.0)
    assert rule.points[0] == FIRST_POINT
    assert rule.weights[0] == FIRST_WEIGHT
    drawn = dirichlet_points.prior_points((0.5,) * 6, 1.0)
    assert drawn.points[0][:2] == FIRST_DRAW


FIRST_POINT = [75692257908036902, 78583447496546961, 18292468368304967753]
FIRST_WEIGHT = 196670262234639725
FIRST_DRAW = [29785287441010011, 2218458463226097850]


def test_gauss_rules():
    for a, b in ((0.5, 1.0), (1.2, 2.7), (3.0, 0.4)):
        with localcontext(dirichlet_points.ROUGH):
            rule = dirichlet_points._gauss_beta(Decimal(a), Decimal(b), 7)
        x, w = roots_jacobi(7, b - 1, a - 1)
        assert [float(z) for z, _ in rule] == pytest.approx((1 + x) / 2, abs=1e-13)
        assert [float(v) for _, v in rule] == pytest.approx(w / w.sum(), rel=1e-10)


def test_draws_have_the_right_mean():
    with localcontext(dirichlet_points.ROUGH):
        draws = np.array(
            list(dirichlet_points._draws([Decimal("0.5"), Decimal("1.5"), Decimal(3)], 600)), float
        )
    assert draws.mean(axis=0) == pytest.approx([0.1, 0.3, 0.6], abs=0.025)
    with localcontext(dirichlet_points.ROUGH):
        assert float(dirichlet_points._cosine(Decimal(5))) == pytest.approx(math.cos(5), abs=1e-15)


# ---------------------------------------------------------------- enclosures


@pytest.mark.parametrize(
    ("a", "b", "c"), [(0.5, 1, 1.7), (0.01, 0.03, 1e-6), (2, 0.5, 1e9), (900, 30, 20)]
)
def test_expected_logarithms_are_enclosed(a, b, c):
    a, b, c = Fraction(a), Fraction(b), Fraction(c)
    density = mpmath.beta(exactly(a) + 1, exactly(b))

    def tilted(x):
        power = x ** exactly(a) * (1 - x) ** (exactly(b) - 1)
        return mpmath.log1p(exactly(c) * x) * power / density

    if b >= 1 or c > 1e8:
        splits = [0, mpmath.mpf(10) ** -9, mpmath.mpf(10) ** -4, 0.1, 0.5, 0.9, 0.99, 1]
        assert within(
            dirichlet_logarithms.tilted_logs(((Fraction(0), b), (c, a)))[1],
            mpmath.quad(tilted, splits),
            mpmath.mpf(10) ** -14,
        )
    # −Σ (−c)^n E B^n/n, continued: c a/A · 3F2(1, 1, a + 1; 2, A + 1; −c)
    A = exactly(a + b)
    series = exactly(c) * exactly(a) / A * mpmath.hyp3f2(1, 1, exactly(a) + 1, 2, A + 1, -exactly(c))
    found = dirichlet_logarithms.expected_log(a, b, c)
    assert within(found, series)
    assert (found.high - found.low) <= Decimal("1e-15") * max(found.high, 1)


def test_entropy_and_leakage_are_enclosed():
    for alpha in ((0.5, 1.2, 2.0), (0.01, 0.01), (1e4, 3.0)):
        exact = [mpmath.mpf(a) for a in alpha]
        A = sum(exact)
        H = mpmath.digamma(A + 1) - sum(a / A * mpmath.digamma(a + 1) for a in exact)
        found = dirichlet_logarithms.expected_entropy(list(map(Fraction, alpha)))
        assert within(found, H)
        assert found.high - found.low < Decimal("1e-30")
    # a uniform P(S): E[B] E log E − E[(1 + cB) log(1 + cB)] in closed form
    E = mpmath.mpf(4)
    mean = (E**2 * mpmath.log(E) / 2 - (E**2 - 1) / 4) / (E - 1)
    assert within(
        dirichlet_logarithms.leakage([Fraction(4), Fraction(1)], [Fraction(1)] * 2),
        E * mpmath.log(E) / 2 - mean,
    )


def log_det(matrix, p):
    """log det J(p) at 60 digits, from the definition."""
    k = len(matrix)
    J = mpmath.zeros(k)
    for column in zip(*matrix, strict=True):
        W = [mpmath.mpf(entry) for entry in column]
        q = sum(w * mpmath.mpf(x) / dirichlet_points.UNIT for w, x in zip(W, p, strict=True))
        for x in range(k):
            for z in range(k):
                J[x, z] += W[x] * W[z] / q
    return mpmath.log(mpmath.det(J))


@pytest.mark.parametrize(
    ("alpha", "epsilon", "size"),
    [([0.5] * 3, 1e-6, 1), ([0.5] * 3, 1.0, 1), ([0.5, 1.2, 2.0], 1e-5, 2), ([0.5, 1.2, 2.0], 20.0, 1)],
)
def test_the_utility_is_that_of_the_definition(alpha, epsilon, size):
    k, asked = len(alpha), question(alpha, epsilon)
    m = certify.repair(SubsetSelection(k, size, epsilon).dense().matrix, staircase_cone(k, epsilon))
    rule = dirichlet_points.prior_points(tuple(alpha), epsilon)
    sum_, orders = mpmath.mpf(0), [tuple(range(k))]
    if asked.equal:
        orders = list(permutations(range(k)))
    for p, w in list(zip(rule.points, rule.weights, strict=True)):
        for order in orders:
            renamed = log_det([m[x] for x in order], p)
            sum_ += mpmath.mpf(w) / dirichlet_points.UNIT * renamed / len(orders)
    exact = sum_ / (2 * k - 2) - mpmath.log(2 * mpmath.pi * mpmath.e) / 2
    found = asymptotic_value.utility(m.tolist(), asked)
    assert within(found, exact)
    assert found.high - found.low < Decimal("3e-8")


@given(
    st.lists(st.integers(-(10**6), 10**6), min_size=12, max_size=12),
    st.lists(st.integers(-3, 3), min_size=6, max_size=6),
)
@settings(max_examples=40)
def test_determinant_and_inverse_of_a_matrix_that_is_nearly_known(numbers, errors):
    half = [numbers[4 * a : 4 * a + 4] for a in range(3)]
    M = [[sum(map(operator.mul, r, s)) for s in half] for r in half]
    true = [row[:] for row in M]
    for (a, b), error in zip(combinations_with_replacement(range(3), 2), errors, strict=True):
        true[a][b] = true[b][a] = M[a][b] + error
    found = fisher_information.Known(M, 3, 5).solved()
    if found is None:
        assert np.linalg.eigvalsh(np.array(M, float))[0] < 100
        return
    with mpmath.workdps(120):
        exact = mpmath.matrix(true) / 32
        low, high = (mpmath.mpf(end) / fixed_point.UNIT for end in found.log_determinant())
        assert low <= mpmath.log(mpmath.det(exact)) <= high
        gap = mpmath.matrix(
            [[mpmath.mpf(x) / 2**fixed_point.BITS for x in row] for row in found.inverse_above()[0]]
        )
        gap += mpmath.eye(3) * mpmath.mpf(3) / 2**fixed_point.BITS - exact**-1
        assert min(mpmath.eigsy(gap, eigvals_only=True)) >= -(mpmath.mpf(10) ** -100)


def test_known_exactly_the_inverse_is_exact():
    M = [[4, 1, 0], [1, 3, -1], [0, -1, 2]]
    adjugate, whole = fisher_information.adjugate(M)
    product = np.array(M) @ np.array(adjugate)
    assert (product == whole * np.eye(3)).all()
    assert whole == round(np.linalg.det(np.array(M))) == 18


@given(st.integers(1, 2**3000), st.integers(-3000, 3000))
def test_logarithms_of_whole_numbers_of_any_size(n, bits):
    with mpmath.workdps(1200):
        exact = fixed_point.UNIT * (mpmath.log(n) - bits * mpmath.log(2))
        low, high = fisher_information.log_below(n, bits), fisher_information.log_above(n, bits)
        assert low <= exact <= high
        assert high - low < 1000


def test_an_indefinite_matrix_has_no_inverse():
    for M in ([[1, 2], [2, 1]], [[1, 1], [1, 1]], [[-1]]):
        assert fisher_information.adjugate(M) is None
    assert fisher_information.Known([[100, 0], [0, 100]], 26, 0).solved() is None  # n off tr M⁻¹ > 1/2
    assert fisher_information.Known([[100, 0], [0, 100]], 12, 0).solved() is not None


@pytest.mark.parametrize("alpha", [[0.5] * 4, [0.5, 1.2, 2.0]])
def test_slopes_bound_the_derivative(alpha):
    """g is the derivative of the utility of the reference in every atom."""
    asked = question(alpha, 1.0)
    start = {v: 0.1 + 0.01 * i for i, v in enumerate(asymptotic_bound.atoms(asked))}
    found = asymptotic_bound.slopes(start, asked)
    for v, weight in start.items():
        up = asymptotic_bound.slopes({**start, v: weight + 1e-9}, asked).value
        slope = float(up.low - found.value.high) / ((weight + 1e-9) - weight)
        assert slope == pytest.approx(float(found.above[v]), rel=1e-7)
    used = sum(Fraction(t) * found.above[v] for v, t in start.items())
    assert Fraction(1, 2) <= used < Fraction(1, 2) + Fraction(1, 10**40)


@pytest.mark.parametrize("alpha", [(0.5, 0.5, 0.5), (3.0, 0.2, 1.0)])
def test_leakage_of_a_mechanism_is_that_of_its_columns(alpha):
    """The entries of a column need not be two; the measure integrates in floats."""
    rng = np.random.default_rng(3)
    m = certify.repair(
        SubsetSelection(3, 1, 2.0).dense().matrix @ rng.dirichlet(np.ones(4), 3), staircase_cone(3, 2.0)
    )
    columns, shift = fisher_information.whole_columns(m.tolist())
    leaked = float(dirichlet_logarithms.leaked_above(columns, alpha)) / 2.0**shift
    exact = Dirichlet(alpha).expected_entropy() * (1 - average_privacy(Mechanism(m), Dirichlet(alpha)))
    assert exact <= leaked * (1 + 1e-12)
    assert leaked == pytest.approx(exact, rel=1e-8)
    assert dirichlet_logarithms.leaked_above([[1, 1, 1]], alpha) < 1e-15


def test_the_slopes_of_the_leakage_are_its_derivatives():
    alpha, v, step = (
        [Fraction(3), Fraction(1, 5), Fraction(1)],
        [Fraction(20), Fraction(1), Fraction(7)],
        2**20,
    )
    slopes = dirichlet_logarithms.leakage_slopes(v, alpha)
    here = dirichlet_logarithms.leakage(v, alpha)
    for x, slope in enumerate(slopes):
        there = dirichlet_logarithms.leakage(
            [w + Fraction(x == z, step) for z, w in enumerate(v)], alpha
        )
        assert float(there.low - here.low) * step == pytest.approx(float(slope.low), rel=1e-5)
    prior = Dirichlet([3, 0.2, 1])
    assert prior.leakage_slopes(np.array([v], float).T)[:, 0] == pytest.approx(
        [float(s.low) for s in slopes]
    )


def test_renamed_columns_are_listed_once():
    assert sorted(leakage_cover.renamings((1, 1, 2))) == [(1, 1, 2), (1, 2, 1), (2, 1, 1)]
    assert len(leakage_cover.renamings((1, 1, 2, 2, 3))) == 30


# ---------------------------------------------------------------- the limits


def test_sizes_on_both_sides_of_the_limits(document):
    for alpha, floor, said in (
        ([0.5] * 17, None, "unreadable"),
        ([0.5] * 11, 0.5, "unreadable"),
        ([1.0, *[0.5] * 8], None, "unreadable"),
        ([1.0, *[0.5] * 6], 0.5, "unreadable"),
    ):
        forged = copy.deepcopy(document)
        forged["params"] = {"dirichlet": alpha, "epsilon": 1.0}
        if floor is not None:
            forged["params"]["min_average_privacy"] = floor
        assert judged(forged) == said
    assert len(question([0.5] * 16, 1.0).alpha) == 16
    assert question([1.0, *[0.5] * 5], 1.0, 0.5).floor == 0.5


def test_without_time_nothing_is_decided(document):
    dirichlet_points.prior_points.cache_clear()
    dirichlet_points._stick_breaking.cache_clear()
    with limited(seconds=0), pytest.raises(UndecidedError):
        dirichlet_points.prior_points((0.7, 0.7, 0.7), 0.9)
    assert judged(document, 0.0) in ("undecided", "unreadable")


def test_the_contrast_is_just_above():
    for level in (1e-6, 1.0, 30.0):
        c, exact = asymptotic_value.contrast(level), mpmath.expm1(mpmath.mpf(level))
        assert 0 <= exactly(c) - exact <= exact * mpmath.mpf(10) ** -40


# ---------------------------------------------------------------- forgeries


@pytest.fixture(scope="module")
def document():
    return solve(AsymptoticUtility(1.0, [0.5] * 3)).to_json()


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_no_forgery_is_verified(path):
    forgery = json.loads(path.read_text(encoding="utf-8"))
    assert forgery["why"]
    assert judged(forgery["document"]) == forgery["verdict"]
    assert forgery["verdict"] in ("refuted", "unreadable")


def test_there_is_a_corpus():
    assert len(CORPUS) >= 15


def test_a_genuine_frontier_at_the_default_level_is_verified():
    assert judged(solve(PrivacyUtilityFrontier([0.5] * 3, 0.8)).to_json()) == "verified"


def test_a_utility_that_is_not_enclosed_is_undecided(monkeypatch):
    """Singular for certain is refuted; not shown to be positive definite is another matter."""
    close = [[0.5, 0.5], [0.5 + 2.0**-40, 0.5 - 2.0**-40]]
    assert asymptotic_value.distinguishes(close)
    assert asymptotic_value.distinguishes([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5]])
    assert not asymptotic_value.distinguishes([[0.5, 0.5]] * 2)
    twins = [[0.5, 0.25, 0.25], [0.5, 0.25, 0.25], [0.25, 0.5, 0.25]]
    assert not asymptotic_value.distinguishes(twins)
    monkeypatch.setattr(asymptotic_utility, "utility", lambda matrix, question: None)
    for matrix, verdict in ((close, None), ([[0.5, 0.5]] * 2, False)):
        question = asymptotic_utility.design_question(
            {"dirichlet": [1.0, 1.0], "epsilon": 1.0, "floor": None}
        )
        case = Case(question, matrix, "feasible", -9.0, None, None, {})
        assert asymptotic_utility._worth(case) is verdict
