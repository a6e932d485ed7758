"""The best protocol under U^as: against the catalogue, both solvers, the checker and tampering."""

from __future__ import annotations

import copy
import dataclasses
import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ldpopt import solve, verify
from ldpopt.checker import frame
from ldpopt.checker.kernel import reading
from ldpopt.core import certify
from ldpopt.core.form import Status
from ldpopt.core.mechanism import Mechanism
from ldpopt.measures import fisher
from ldpopt.measures.information_metrics import asymptotic_utility, average_privacy
from ldpopt.mechanisms import HadamardResponse, SubsetSelection, UnaryEncoding, randomized_response
from ldpopt.models.cones import staircase_cone
from ldpopt.models.priors import Dirichlet
from ldpopt.problems import AsymptoticUtility, PrivacyUtilityFrontier
from ldpopt.solvers import _convex, frank_wolfe


def catalogue(k: int, epsilon: float) -> list[object]:
    unary = [getattr(UnaryEncoding, name)(k, epsilon) for name in ("rappor", "oue", "blh")]
    selections = [SubsetSelection(k, m, epsilon) for m in range(1, k)]
    return [randomized_response(k, epsilon), *unary, *selections, HadamardResponse(k, epsilon)]


# ---------------------------------------------------------------- the optimum


@given(
    alpha=st.one_of(
        st.floats(0.3, 3).map(lambda a: [a] * 3),
        st.lists(st.floats(0.3, 3), min_size=3, max_size=3),
        st.floats(0.3, 3).map(lambda a: [a] * 4),
    ),
    epsilon=st.floats(0.1, 3),
)
@settings(max_examples=5)
def test_never_below_any_catalogue_mechanism(alpha, epsilon):
    result = solve(AsymptoticUtility(epsilon, alpha))
    prior = Dirichlet(alpha)
    for mechanism in catalogue(len(alpha), epsilon):
        assert asymptotic_utility(mechanism, prior) <= result.value + 1e-7
    found = asymptotic_utility(result.mechanism, prior)
    assert found == pytest.approx(result.value, abs=1e-6)


@given(seed=st.integers(0, 10**6))
@settings(max_examples=8)
def test_never_below_random_private_mechanisms(seed):
    """Post-processing keeps privacy and makes columns between the two levels."""
    rng = np.random.default_rng(seed)
    alpha, epsilon = rng.uniform(0.3, 3, 3), float(rng.uniform(0.3, 2))
    m = Mechanism(randomized_response(3, epsilon).matrix @ rng.dirichlet(np.ones(4), 3))
    problem = AsymptoticUtility(epsilon, alpha)
    assert m.epsilon() <= epsilon + 1e-12
    assert problem.value(m) <= solve(problem).bound + 1e-9


@pytest.mark.parametrize(("k", "epsilon"), [(2, 0.3), (3, 0.5), (3, 2.0), (5, 1.5), (8, 3.0)])
def test_equals_randomised_response_where_that_is_optimal(k, epsilon):
    result = solve(AsymptoticUtility(epsilon, [0.5] * k))
    response = asymptotic_utility(randomized_response(k, epsilon), Dirichlet.jeffreys(k))
    assert result.value == pytest.approx(response, abs=1e-9)
    assert result.mechanism.shape == (k, k)


@pytest.mark.parametrize(("k", "epsilon", "size"), [(4, 0.5, 2), (6, 0.5, 2), (8, 1.5, 2)])
def test_high_privacy_wants_larger_sets(k, epsilon, size):
    result = solve(AsymptoticUtility(epsilon, [0.5] * k))
    assert result.mechanism.shape == (k, math.comb(k, size))
    response = asymptotic_utility(randomized_response(k, epsilon), Dirichlet.jeffreys(k))
    assert result.value > response + 1e-3


@pytest.mark.parametrize(
    "k", [2, 4, *(pytest.param(k, marks=pytest.mark.slow) for k in (3, 5, 6, 7, 8))]
)
def test_both_solvers_agree_and_verify(k):
    problem = AsymptoticUtility(1.0, [0.5] * k)
    found = {name: solve(problem, name) for name in ("frank-wolfe", "cvxpy")}
    values = [result.value for result in found.values()]
    assert abs(values[0] - values[1]) < 1e-6
    assert all(verify(result) for result in found.values())


@pytest.mark.parametrize(
    "alpha", [[0.5, 1.2, 2.0], pytest.param([0.5, 1.2, 2.0, 0.7], marks=pytest.mark.slow)]
)
def test_both_solvers_agree_for_unequal_priors(alpha):
    problem = AsymptoticUtility(0.5, alpha)
    first, second = solve(problem, "frank-wolfe"), solve(problem, "cvxpy")
    assert first.value == pytest.approx(second.value, abs=1e-7)
    assert verify(first)
    assert verify(second)
    assert first.status is Status.OPTIMAL


def test_twelve_values_with_a_proven_gap():
    result = solve(AsymptoticUtility(1.0, [0.5] * 12), "frank-wolfe")
    assert result.gap <= 1e-9
    assert verify(result)
    response = asymptotic_utility(randomized_response(12, 1.0), Dirichlet.jeffreys(12))
    assert result.value > response


@pytest.mark.parametrize("epsilon", [1e-6, 1e-4, 20.0])
@pytest.mark.parametrize("alpha", [[0.5] * 3, [0.5, 1.2, 2.0]])
def test_extreme_levels_are_solved_and_verified(alpha, epsilon):
    result = solve(AsymptoticUtility(epsilon, alpha))
    assert result.gap <= 1e-6
    assert verify(result)
    exact = asymptotic_utility(randomized_response(3, epsilon), Dirichlet(alpha))
    assert result.value == pytest.approx(exact, abs=1e-6)


def test_set_information_is_that_of_the_differences():
    """The average over sets of one size is F of subset selection, but for its factor."""
    points = np.array([[0.1, 0.2, 0.3, 0.4], [0.7, 0.1, 0.1, 0.1]])
    c = math.expm1(0.7)
    m = SubsetSelection(4, 2, 0.7).dense().matrix
    found = fisher.set_information(points, c)[:, 2]
    weight = 1 / (1 + c / 2)  # of the six columns together
    assert fisher.differences(points, m) == pytest.approx(found * weight * c**2, rel=1e-9)
    assert np.linalg.det(fisher.differences(points, m)) == pytest.approx(
        np.linalg.det(fisher.information(points, m)), rel=1e-9
    )


# ---------------------------------------------------------------- a floor on the privacy


def test_a_floor_is_met_and_costs_utility():
    prior, free = Dirichlet.jeffreys(3), solve(AsymptoticUtility(2.0, [0.5] * 3))
    loose = solve(AsymptoticUtility(2.0, [0.5] * 3, min_average_privacy=0.5))
    assert loose.value == pytest.approx(free.value, abs=1e-9)
    tight = solve(AsymptoticUtility(2.0, [0.5] * 3, min_average_privacy=0.9))
    assert average_privacy(tight.mechanism, prior) >= 0.9 - 1e-9
    assert tight.value < free.value - 0.1
    assert verify(tight)


THREE_VALUES = -0.512193
"""U^as at α = (3, 0.2, 1), a floor of 0.6 and ε = 3; columns of two values reach −0.534365."""


@pytest.fixture(scope="module")
def three_values():
    return solve(PrivacyUtilityFrontier([3.0, 0.2, 1.0], 0.6, 3.0), gap=1e-5)


def test_with_a_floor_columns_of_three_values_are_best(three_values):
    """Columns with entries between 1 and e^ε leak less; two values were once the proven class."""
    result, problem = three_values, three_values.problem
    assert result.value == pytest.approx(THREE_VALUES, abs=1e-5)
    assert THREE_VALUES < result.bound < THREE_VALUES + 1e-5
    assert verify(result)
    (form,) = problem.forms()
    narrow = form.over([label for label in form.labels if len(set(label)) < 3])
    narrow = dataclasses.replace(narrow, over=None)
    theta = narrow.start
    for _ in range(60):
        step = _convex.linear_step(narrow, _convex.gradient(narrow, theta))
        theta = frank_wolfe.correct(narrow, 0.9 * theta + 0.1 * np.maximum(step.vertex, 0.0))
    assert _convex.value(narrow, theta) < THREE_VALUES - 0.02


def test_the_bound_with_a_floor_holds_for_columns_of_any_entries(three_values):
    """Columns between two values, with as much constant column as the floor asks."""
    problem, floor, rng = three_values.problem, 0.6, np.random.default_rng(5)
    prior = problem.prior
    for _ in range(8):
        m = Mechanism(randomized_response(3, 3.0).matrix @ rng.dirichlet(0.3 * np.ones(6), 3))
        share = min(1.0, (1 - floor) / (1 - average_privacy(m, prior)))
        mixed = Mechanism(np.hstack([share * m.matrix, np.full((3, 1), 1 - share)]))
        assert problem.value(mixed) <= three_values.bound


def test_a_floor_that_does_not_bind_is_proven_by_the_boxes_themselves():
    result = solve(AsymptoticUtility(1.0, [0.5, 1.2, 2.0], min_average_privacy=0.1))
    free = solve(AsymptoticUtility(1.0, [0.5, 1.2, 2.0]))
    assert result.bound == pytest.approx(free.bound, abs=1e-9)
    cover = result.to_json()["certificate"]["proof"]["cover"]
    assert [len(tree) for tree in cover["trees"]] == [1, 1, 1]
    assert verify(result)


def test_the_linear_step_takes_gradients_of_any_size():
    """At ε = 20 the slopes of a solve grow from 10^5 to 10^14, and HiGHS stopped without an answer."""
    (form,) = PrivacyUtilityFrontier([1, 50], 0.999999, epsilon=20).forms()
    levels = [math.exp(20 * j / 8) for j in range(1, 9)]
    form = form.over([(1.0, 1.0), *(v for e in levels for v in ((1.0, e), (e, 1.0)))])
    steep = [8.8e5, 1.2e6, 4.4e7, 1.6e7, 8.1e8, 2.1e8, 1.07e10, 2.6e9]
    steep += [1.3e11, 3.2e10, 1.6e12, 3.9e11, 1.95e13, 4.7e12, 2.4e14]
    g = np.array([0.0, 1e5, *steep])
    for size in (1.0, 1e3, 1e6):
        step = _convex.linear_step(form, size * g)
        over = step.dual @ form.constraints + step.price * form.costs - size * g
        assert over.min() >= -1e-9 * size * g.max()
        assert size * g @ step.vertex == pytest.approx(step.dual.sum() + step.price * form.budget)


def test_frontier_with_free_epsilon_beats_a_fixed_one():
    free = solve(PrivacyUtilityFrontier([0.5] * 3, 0.8), gap=1e-6)
    fixed = solve(PrivacyUtilityFrontier([0.5] * 3, 0.8, epsilon=2.0), gap=1e-6)
    assert free.value > fixed.value
    assert verify(free)
    assert verify(fixed)
    again = solve(AsymptoticUtility(2.0, [0.5] * 3, 0.8), gap=1e-6)
    assert fixed.value == pytest.approx(again.value, abs=1e-12)


# ---------------------------------------------------------------- the statement


@pytest.mark.parametrize(
    ("alpha", "epsilon", "known"), [(0.5, 8.0, 0.19377), (0.5, 10.0, 0.22788), (0.1, 5.0, 0.61587)]
)
def test_the_optimum_for_five_values_is_randomised_response_at_high_levels(alpha, epsilon, known):
    """The first discretisation said 0.07578, 0.08263 and 0.53559."""
    result = solve(AsymptoticUtility(epsilon, [alpha] * 5))
    assert result.value == pytest.approx(known, abs=1e-5)
    exact = asymptotic_utility(randomized_response(5, epsilon), Dirichlet([alpha] * 5))
    assert result.value == pytest.approx(exact, abs=1e-7)


@pytest.mark.parametrize("alpha", [[0.5, 1.2, 2.0], [0.5] * 7])
def test_points_are_calibrated_to_randomised_response(alpha):
    k = len(alpha)
    problem, prior = AsymptoticUtility(1.7, alpha), Dirichlet(alpha)
    exact = asymptotic_utility(randomized_response(k, 1.7), prior)
    assert problem.value(randomized_response(k, 1.7)) == pytest.approx(exact, abs=1e-12)


def test_a_lopsided_mechanism_is_averaged_over_renamings():
    problem, rng = AsymptoticUtility(5.0, [0.5] * 4), np.random.default_rng(0)
    m = Mechanism(randomized_response(4, 5.0).matrix @ rng.dirichlet(np.ones(5), 4))
    points, weights = problem._points
    once = problem._utility(points, weights, m.matrix)
    turned = [problem._utility(points[:, order], weights, m.matrix) for order in permutations(range(4))]
    assert max(turned) - min(turned) > 1e-9
    assert once in turned
    assert problem.value(m) == pytest.approx(np.mean(turned), abs=1e-12)
    assert problem.value(m) <= solve(problem).bound


def test_discretisation_is_small():
    for k, epsilon in ((3, 0.5), (4, 1.0), (5, 0.5)):
        m = SubsetSelection(k, 2, epsilon)
        exact = asymptotic_utility(m, Dirichlet.jeffreys(k))
        assert AsymptoticUtility(epsilon, [0.5] * k).value(m.dense()) == pytest.approx(exact, abs=1e-6)


# ---------------------------------------------------------------- certificates


@pytest.fixture(scope="module")
def document():
    return solve(AsymptoticUtility(0.5, [0.5] * 4)).to_json()


@pytest.fixture(scope="module")
def unequal():
    return solve(AsymptoticUtility(1.0, [0.5, 1.2, 2.0], min_average_privacy=0.9), gap=1e-6).to_json()


def refuted(document):
    return not all(claim.holds for claim in frame.check(document))


def test_untouched_files_hold(document, unequal):
    assert not refuted(document)
    assert not refuted(unequal)
    assert {claim.strength for claim in frame.check(document)} == {"exact"}


def test_tampering_is_refuted(document, unequal):
    for original in (document, unequal):
        for path, change in (
            (("value",), 1e-13),
            (("bound",), -1e-10),
            (("certificate", "proof", "dual", 0), -1e-9),
            (("certificate", "proof", "price"), -1e-2),
            (("mechanism", "matrix", 0, 0), 1e-9),
        ):
            forged = copy.deepcopy(original)
            place = forged
            for key in path[:-1]:
                place = place[key]
            place[path[-1]] += change
            if path[-1] == "price" and place["price"] < 0:
                with pytest.raises(reading.UnreadableError, match=r"proof\.price must be"):
                    frame.check(forged)
            else:
                assert refuted(forged), path


def test_another_epsilon_or_floor_is_refuted(document, unequal):
    forged = copy.deepcopy(document)
    forged["params"]["epsilon"] = 0.4
    assert refuted(forged)
    forged = copy.deepcopy(unequal)
    forged["params"]["min_average_privacy"] = 0.95
    assert refuted(forged)


def test_a_lopsided_mechanism_is_refuted(document):
    forged = copy.deepcopy(document)
    m = certify.repair(HadamardResponse(4, 0.5).matrix, staircase_cone(4, 0.5))
    forged["mechanism"] = {"matrix": m.tolist()}
    forged["value"] = -5.0
    claims = {claim.statement: claim.holds for claim in frame.check(forged)}
    (alike,) = (holds for statement, holds in claims.items() if "treats all inputs alike" in statement)
    assert not alike


def test_malformed_files_are_unreadable(document):
    for path, junk in (
        (("params",), {"epsilon": 1.0}),
        (("params",), {"dirichlet": [1.0, -1.0], "epsilon": 1.0}),
        (("params",), {"dirichlet": [1.0, 1.0], "epsilon": 1.0, "min_average_privacy": 2}),
        (("certificate", "proof"), {"dual": "x", "price": 0, "reference": []}),
        (("certificate", "proof"), {}),
        (("certificate", "proof", "reference"), []),
        (("certificate", "proof", "reference"), [1, 2]),
        (("certificate", "proof", "reference"), [[[0, 1], "x"]]),
        (("params",), {"dirichlet": [1e-300, 1.0], "epsilon": 1.0}),
        (("params",), {"dirichlet": [1.0] * 500, "epsilon": 1.0}),
        (("mechanism", "matrix"), [[1.0]]),
        (("status",), "limit"),
    ):
        forged = copy.deepcopy(document)
        place = forged
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = junk
        with pytest.raises(reading.UnreadableError):
            frame.check(forged)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: AsymptoticUtility(1.0, [0.5, -1.0]), "alpha"),
        (
            lambda: AsymptoticUtility(1.0, [0.5, 1e-3]),
            r"dirichlet\[1\] must be a finite number from 0.01 to 10000.0, not 0.001",
        ),
        (
            lambda: AsymptoticUtility(1.0, [0.5] * 17),
            "dirichlet must be a list of 2 to 16 entries, .* not a list of 17",
        ),
        (
            lambda: AsymptoticUtility(1.0, [0.5] * 11, 0.5),
            "at most 10 entries if they are equal, with a floor",
        ),
        (
            lambda: PrivacyUtilityFrontier(np.arange(1.0, 8.0), 0.5),
            "at most 6 entries if they are different, with a floor",
        ),
        (lambda: AsymptoticUtility(-1.0, [0.5, 0.5]), "epsilon"),
        (
            lambda: AsymptoticUtility(1.0, [0.5, 0.5], 1.0),
            "min_average_privacy must be a finite number from 0 below 1",
        ),
        (
            lambda: AsymptoticUtility(1.0, np.arange(1.0, 10.0)),
            "at most 8 entries if they are different",
        ),
        (lambda: PrivacyUtilityFrontier([0.5, 0.5], -0.1), "min_average_privacy"),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_gradient_is_the_derivative():
    (form,) = AsymptoticUtility(1.0, [0.5, 1.2, 2.0]).forms()
    g, h = _convex.gradient(form, form.start), 1e-6
    for j in range(len(form.start)):
        up, down = form.start.copy(), form.start.copy()
        up[j] += h
        down[j] -= h
        slope = (_convex.value(form, up) - _convex.value(form, down)) / (2 * h)
        assert slope == pytest.approx(g[j], rel=1e-6)
