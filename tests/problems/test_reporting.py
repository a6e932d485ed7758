"""Independent and conditional reporting: known optima, proven brackets, privacy, certificates."""

import copy
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from known import TABLE

from ldpopt import Mechanism, Status, solve, testing, verify
from ldpopt.checker import frame
from ldpopt.checker.kernel.fixed_point import UNIT
from ldpopt.checker.kernel.proofs.reporting_search import Search
from ldpopt.checker.kernel.proofs.unary_encoding import is_private, read_unary, value_below
from ldpopt.checker.kernel.reading import UnreadableError
from ldpopt.core.errors import InvalidInputError
from ldpopt.core.limits import Limits
from ldpopt.experiments.robust_study import best, drawn_table
from ldpopt.measures.rldp_level import rldp_level
from ldpopt.mechanisms import secret_randomized_response, ue_conditional_reporting
from ldpopt.models.uncertainty_sets import Chi2Set
from ldpopt.models.utilities import MutualInformation
from ldpopt.problems import GRRConditional, IndependentReporting, UEConditional
from ldpopt.problems._robust.response_shares import extremes
from ldpopt.problems._robust.unary_bound import SetWeights
from ldpopt.problems.table_problem import RobustPrivacy

KINDS = (IndependentReporting, GRRConditional, UEConditional)
VALUES = [
    (IndependentReporting, 0.5, 0.047085220034, 1e-9),
    (IndependentReporting, 1.0, 0.171598909346, 1e-9),
    (IndependentReporting, 2.0, 0.508172130104, 1e-9),
    (IndependentReporting, 4.0, 0.938168693263, 1e-9),
    (GRRConditional, 0.5, 0.112367115715, 1e-9),
    (GRRConditional, 1.0, 0.188991, 1e-6),
    (GRRConditional, 2.0, 0.495209, 1e-6),
    (GRRConditional, 4.0, 1.228115, 1e-6),
    (UEConditional, 0.5, 0.164444, 1e-6),
    (UEConditional, 1.0, 0.337101, 1e-6),
    (UEConditional, 2.0, 0.560149, 1e-6),
]


@pytest.mark.parametrize(("kind", "epsilon", "value", "tolerance"), VALUES)
@pytest.mark.parametrize("solver", ["bracket", "grid-refine"])
def test_known_values(kind, epsilon, value, tolerance, solver):
    problem = kind(epsilon, TABLE, 1000)
    result = solve(problem, solver)
    assert result.value == pytest.approx(value, abs=tolerance)
    assert rldp_level(result.mechanism, problem.uncertainty).level <= epsilon
    if result.bound is not None:
        assert result.value <= result.bound <= result.value * (1 + 1e-6)


@pytest.mark.parametrize(
    ("shape", "calibrate"),
    [((4, 10), False), ((4, 10), True), pytest.param((10, 2), True, marks=pytest.mark.slow)],
)
def test_unary_encoding_at_a_high_level_is_proven_optimal(shape, calibrate):
    """The bound of second order needs some thousand boxes where one of first order needs millions."""
    table = np.random.default_rng(sum(shape)).dirichlet(np.full(shape[0] * shape[1], 0.5)).reshape(shape)
    result = solve(UEConditional(4.0, table, 1000, calibrate=calibrate), gap=1e-6)
    assert result.status is Status.OPTIMAL
    assert verify(result)


def test_a_bound_of_unary_encoding_that_is_too_low_is_refuted():
    problem = UEConditional(4.0, [[0.3, 0.2], [0.1, 0.4]], 1000)
    result = solve(problem, gap=1e-6)
    lowered = replace(result, bound=result.value - 1e-4, value=result.value - 2e-4)
    assert verify(lowered).verdict is False


@pytest.mark.parametrize("calibrate", [False, True])
def test_bounds_of_unary_encoding_hold_on_boxes(calibrate):
    """In floats and in the checker's arithmetic: nothing in a box of splits and of κ is worth more."""
    problem = UEConditional(3.0, TABLE, 300, calibrate=calibrate)
    form, rng = next(iter(problem.forms())), np.random.default_rng(0)
    plain = problem.statement()
    search = Search(frame.question(plain), [])
    for _ in range(30):
        low = form.low + (form.high - form.low) * rng.random(2)
        high = low + (form.high - low) * rng.random(2) * 10.0 ** -rng.integers(0, 4)
        inside = np.vstack([low, high, low + (high - low) * rng.random((50, 2))])
        best = form.objective(inside).max()
        bound = form.upper(low[None], high[None])[0]
        assert best <= bound + 1e-12
        ends = [[int(np.exp(x[0]) * UNIT), int(x[1] * UNIT)] for x in (low, high)]
        exact = float(Fraction(search.above(list(zip(*ends, strict=True))), UNIT))
        assert best <= exact + 1e-9
        assert exact == pytest.approx(bound, abs=1e-6)


def test_what_the_reported_set_says():
    """The sum over sizes of sets is the information from its definition."""
    problem = UEConditional(2.0, TABLE, 300)
    kappa, first = np.array([0.0, 0.3, 0.7, 1.0]), np.array([1.5, 0.2, 1.0, 2.0])
    lam = problem.smallest(kappa, first)
    mass, size = problem._subsets
    weights = SetWeights(mass, size)(np.exp(first))
    o = np.arange(1, 3)
    told = (weights * lam[:, None] ** o * (1 - lam[:, None]) ** (2 - o)).sum(axis=1) * (1 - kappa)
    assert told == pytest.approx(problem.encoding_information(kappa, lam), abs=1e-12)


def test_the_split_of_the_paper():
    form = next(iter(GRRConditional(1.0, TABLE, 1000).forms()))
    from ldpopt.solvers import SOLVERS

    found = SOLVERS["bracket"]().run(form, Limits())
    assert found.point[0] == pytest.approx(0.7655, abs=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_upper_bounds_hold_on_random_boxes(kind):
    problem, rng = kind(1.5, TABLE, 300), np.random.default_rng(0)
    form = next(iter(problem.forms()))
    for _ in range(60):
        ends = np.sort(form.low + rng.random((2, len(form.low))) * (form.high - form.low), axis=0)
        inside = ends[0] + rng.random((20, len(form.low))) * (ends[1] - ends[0])
        upper = form.upper(ends[:1], ends[1:])[0]
        assert form.objective(inside).max() <= upper + 1e-12


@pytest.mark.parametrize("kind", KINDS)
def test_closed_forms_are_the_utility_of_the_matrix(kind):
    problem, rng = kind(1.5, TABLE, 300), np.random.default_rng(1)
    form = next(iter(problem.forms()))
    points = form.low + rng.random((5, len(form.low))) * (form.high - form.low)
    for point, value in zip(points, form.objective(points), strict=True):
        mechanism = problem.mechanism(point)
        assert problem.value(mechanism) == pytest.approx(value, abs=1e-12)
        assert rldp_level(mechanism, problem.uncertainty).level <= 1.5 + 1e-9


@pytest.mark.parametrize("kind", KINDS)
def test_calibrated_points_are_private_and_spend_the_level(kind):
    problem, rng = kind(1.5, TABLE, 300, calibrate=True), np.random.default_rng(1)
    form = next(iter(problem.forms()))
    points = form.low + rng.random((3, len(form.low))) * (form.high - form.low)
    for point, value in zip(points, form.objective(points), strict=True):
        mechanism = problem.mechanism(point)
        assert problem.value(mechanism) == pytest.approx(value, abs=1e-12)
        level = rldp_level(mechanism, problem.uncertainty).level
        assert level <= 1.5 + 1e-9
        assert level >= 1.5 - 1e-9 or kind is not IndependentReporting


CALIBRATED = [
    (IndependentReporting, 0.5, 0.068934917),
    (IndependentReporting, 1.0, 0.246474614),
    (GRRConditional, 0.5, 0.267544398),
    (GRRConditional, 4.0, 1.613441044),
    (UEConditional, 0.5, 0.522746293),
]


@pytest.mark.parametrize(("kind", "epsilon", "value"), CALIBRATED)
def test_calibrated_values_are_optimal_and_verified(kind, epsilon, value):
    result = solve(kind(epsilon, TABLE, 1000, calibrate=True))
    assert result.status.value == "optimal"
    assert result.value == pytest.approx(value, abs=1e-8)
    assert epsilon * (1 - 1e-6) <= result.certificate.audit["level"] <= epsilon + 1e-9
    assert verify(result)


def _random_question(rng):
    p_hat = rng.dirichlet(np.full(16, rng.choice([0.5, 1.0, 3.0]))).reshape(4, 4)
    return float(rng.choice([0.2, 0.5, 1, 2, 4])), p_hat, float(rng.choice([100, 1000, 10_000]))


def _gain(kind, question):
    """How much more the exact level gives than the theorem, verified."""
    plain, calibrated = (solve(kind(*question, calibrate=c)) for c in (False, True))
    assert verify(calibrated)
    assert calibrated.status.value == "optimal"
    assert calibrated.value >= plain.value - 1e-12
    return calibrated.value / plain.value - 1


@pytest.mark.parametrize("kind", KINDS[:2])
def test_the_exact_level_is_no_worse_than_the_theorem(kind):
    rng = np.random.default_rng(14)
    assert max(_gain(kind, _random_question(rng)) for _ in range(2)) > 0.1


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS[:2])
def test_the_exact_level_on_fifty_tables(kind):
    rng = np.random.default_rng(15)
    gains = [_gain(kind, _random_question(rng)) for _ in range(50)]
    assert min(gains) >= -1e-12
    assert np.median(gains) > 0.2


def test_a_calibrated_bound_needs_members_of_the_set():
    document = solve(IndependentReporting(1.0, TABLE, 1000, calibrate=True)).to_json()
    members = document["certificate"]["proof"]["members"]
    assert len(members) > 10
    for change in (
        lambda member: member.update(distribution=(np.array(TABLE)[::-1] * 1.0).tolist()),
        lambda member: member.update(values=[0, 1]),
        lambda member: member.update(secrets=[1, 1]),
        lambda member: member.update(values=[9, 9]),
        lambda member: member.pop("values"),
    ):
        forged = copy.deepcopy(document)
        change(forged["certificate"]["proof"]["members"][3])
        assert _rejected(forged)
    forged = copy.deepcopy(document)
    forged["certificate"]["proof"]["members"] = []
    assert testing.refuted(forged)


def _rejected(document):
    try:
        return testing.refuted(document)
    except UnreadableError:
        return True


@pytest.mark.parametrize("calibrate", [False, True])
def test_wide_unary_encoding_states_its_parameters(calibrate):
    p_hat = np.random.default_rng(0).dirichlet(np.ones(12)).reshape(6, 2).repeat(3, axis=1) / 3
    problem = UEConditional(1.0, p_hat, 1000, calibrate=calibrate)
    result = solve(problem)
    assert result.mechanism is None
    assert result.status.value == "optimal"
    assert problem.value(result.answer) == pytest.approx(result.value, abs=1e-12)
    assert verify(result)
    document = {**result.to_json(), "status": "feasible", "bound": None, "gap": None}
    assert not testing.refuted(document)
    for change in (
        {"lambda": result.answer["lambda"] / 2},
        {"right": [1.0] * 6},
        {"kappa": 0.5, "lambda": 0.25},
        {"right": result.answer["right"][1:]},
        {"kappa": 0.1},
    ):
        assert _rejected({**document, "answer": {**result.answer, **change}})
    assert _rejected({**document, "value": result.value + 1e-9})
    assert _rejected({**document, "answer": None})


@pytest.mark.parametrize("seed", range(4))
def test_stated_parameters_are_decided_as_their_matrix(seed):
    """Lemma 1 of the checker against the audit of the matrix, on both sides of the level."""
    rng = np.random.default_rng(seed)
    p_hat = rng.dirichlet(np.ones(6)).reshape(3, 2)
    problem = UEConditional(1.0, p_hat, float(rng.choice([30, 3000])))
    kappa = [0.75, 1.0][seed % 2]
    lam = [0.5, 1.0][seed % 2]
    right = [float(np.floor(y * 2**20) / 2**20) for y in rng.uniform(0.5, 0.9, size=3)]
    blocks = [Mechanism([[y, 1 - y], [1 - y, y]]) for y in right]
    matrix = ue_conditional_reporting(p_hat, kappa, lam, blocks).mechanism()
    level = rldp_level(matrix, problem.uncertainty).level
    answer = {"kappa": kappa, "lambda": lam, "right": right}
    for epsilon, private in ((level + 1e-6, True), (level - 1e-6, False)):
        robust = RobustPrivacy.against(problem.uncertainty, epsilon).question
        stated = read_unary(answer, robust)
        assert is_private(stated, robust) is private
        exact = MutualInformation(p_hat.ravel())(matrix.matrix).sum()
        assert float(value_below(stated, robust)) == pytest.approx(exact, abs=1e-12)


def test_theorem_18_holds_for_the_observed_distribution_only():
    """The term I(R(U); S | S̃) that (86) leaves out, though it is said to hold "for any P"."""
    from ldpopt.models.utilities import MutualInformation

    problem = GRRConditional(2.0, TABLE, 100)
    mechanism = problem.mechanism(np.array([0.8]))
    other = Chi2Set(TABLE, 100, 0.05).ball.minimum(np.arange(9.0))[1].reshape(3, 3)
    exact = MutualInformation(other.ravel())(mechanism.matrix).sum()
    levels = np.log1p(2 * np.expm1(0.8) / problem.radii)
    from ldpopt.problems.reporting_problem import response, response_information

    c, d = response(3, np.array([1.2]))
    printed = response_information(other.sum(axis=1), np.array([1.2]))[0] + (c + d)[0] * sum(
        row.sum() * response_information(row / row.sum(), np.array([level]))[0]
        for row, level in zip(other, levels, strict=True)
    )
    assert exact > printed + 2e-4


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("calibrate", [False, True])
def test_forgeries_are_refuted(kind, calibrate):
    document = solve(kind(1.0, TABLE, 1000, calibrate=calibrate), "bracket").to_json()
    for what, forged in testing.tampered(document):
        assert testing.refuted(forged), what
    forged = copy.deepcopy(document)
    forged["params"]["epsilon"] = 0.1
    assert testing.refuted(forged)


def test_bad_input():
    with pytest.raises(InvalidInputError, match="blocks must be one of grr, optimal"):
        GRRConditional(1.0, TABLE, 100, blocks="best")
    with pytest.raises(InvalidInputError, match="calibrate must be true or false"):
        GRRConditional(1.0, TABLE, 100, calibrate=1)
    with pytest.raises(InvalidInputError, match="at most 12 secrets, not 13"):
        UEConditional(1.0, np.full((13, 2), 1 / 26), 100)
    with pytest.raises(InvalidInputError, match="at most 4096 are allowed"):
        UEConditional(1.0, np.full((6, 6), 1 / 36), 100, blocks="optimal")


def test_secret_response_overtakes_later_on_larger_tables():
    """Lopuhaä-Zwakenberg and Goseling 2021, VIII-B; Section IX says "lower" instead."""

    def lead(size, epsilon):
        _, p = drawn_table(size, size, 1000, 0)
        response = secret_randomized_response(size, size, epsilon).matrix
        rivals = [
            best(kind(epsilon, p_hat=p, n=1000)).value for kind in (GRRConditional, IndependentReporting)
        ]
        return float(MutualInformation(p.ravel())(response).sum()) - max(rivals)

    first = [next(e for e in (1.0, 2.0, 3.0, 4.0, 5.0) if lead(size, e) > 0) for size in (3, 5, 7)]
    assert first == [2.0, 3.0, 5.0]


def test_a_value_never_seen_has_the_least_share_0_without_slack():
    """0/0 in the formula; the least R_v of a secret that takes no slack is its own share, here 0."""
    F = Chi2Set(np.array([[0.5, 0.0], [0.3, 0.2]]), 1000.0, 0.05)
    shares = np.array([0.0, 0.5, 1.0])
    rows = np.zeros(3, dtype=int)
    assert extremes(F, rows, rows + 1, shares, -1).tolist() == [0.0, 0.0, 0.0]
    assert extremes(F, rows, rows + 1, shares, 1)[0] == 0.0
