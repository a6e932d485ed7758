"""The best protocol under U^as: against the catalogue, both solvers, the checker and tampering."""

from __future__ import annotations

import copy
import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import roots_jacobi

from ldpopt import solve, verify
from ldpopt.checker import asymptotic, expectation, frame, reading
from ldpopt.core.limits import Limits
from ldpopt.core.mechanism import Mechanism
from ldpopt.core.status import Status
from ldpopt.mechanisms import HadamardResponse, SubsetSelection, UnaryEncoding, randomized_response
from ldpopt.problems import AsymptoticUtility, PrivacyUtilityFrontier
from ldpopt.solvers import FrankWolfe
from ldpopt.theory.bayes import convex, fisher
from ldpopt.theory.bayes.metrics import asymptotic_utility, average_privacy
from ldpopt.theory.bayes.priors import Dirichlet


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
@settings(max_examples=8)
def test_never_below_any_catalogue_mechanism(alpha, epsilon):
    result = solve(AsymptoticUtility(alpha, epsilon))
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
    problem = AsymptoticUtility(alpha, epsilon)
    assert m.epsilon() <= epsilon + 1e-12
    assert problem.value(m) <= solve(problem).bound + 1e-9


@pytest.mark.parametrize(("k", "epsilon"), [(2, 0.3), (3, 0.5), (3, 2.0), (5, 1.5), (8, 3.0)])
def test_equals_randomised_response_where_that_is_optimal(k, epsilon):
    result = solve(AsymptoticUtility([0.5] * k, epsilon))
    response = asymptotic_utility(randomized_response(k, epsilon), Dirichlet.jeffreys(k))
    assert result.value == pytest.approx(response, abs=1e-9)
    assert result.mechanism.shape == (k, k)


@pytest.mark.parametrize(("k", "epsilon", "size"), [(4, 0.5, 2), (6, 0.5, 2), (8, 1.5, 2)])
def test_high_privacy_wants_larger_sets(k, epsilon, size):
    result = solve(AsymptoticUtility([0.5] * k, epsilon))
    assert result.mechanism.shape == (k, math.comb(k, size))
    response = asymptotic_utility(randomized_response(k, epsilon), Dirichlet.jeffreys(k))
    assert result.value > response + 1e-3


@pytest.mark.parametrize("k", [3, 8, *(pytest.param(k, marks=pytest.mark.slow) for k in (4, 5, 6, 7))])
def test_both_solvers_agree_and_verify(k):
    problem = AsymptoticUtility([0.5] * k, 1.0)
    found = {name: solve(problem, name) for name in ("frank-wolfe", "cvxpy")}
    values = [result.value for result in found.values()]
    assert abs(values[0] - values[1]) < 1e-6
    assert all(verify(result) for result in found.values())


@pytest.mark.parametrize("alpha", [[0.5, 1.2, 2.0], [0.5, 1.2, 2.0, 0.7]])
def test_both_solvers_agree_for_unequal_priors(alpha):
    problem = AsymptoticUtility(alpha, 0.5)
    first, second = solve(problem, "frank-wolfe"), solve(problem, "cvxpy")
    assert first.value == pytest.approx(second.value, abs=1e-7)
    assert verify(first)
    assert verify(second)
    assert first.status is Status.OPTIMAL


def test_twenty_values_with_a_proven_gap():
    result = solve(AsymptoticUtility([0.5] * 20, 2.5), "frank-wolfe")
    assert result.bound - result.value <= 1e-3
    assert result.gap <= 1e-9
    assert verify(result)
    response = asymptotic_utility(randomized_response(20, 2.5), Dirichlet.jeffreys(20))
    assert result.value > response


def test_large_orbits_are_summed_without_listing():
    """At k = 12 the averages over sets come from generating functions, in solver and checker alike."""
    points, _ = expectation.prior_points([0.5] * 12, 1.0)
    p = points[0]
    listed = fisher._listed(np.array([p]), 1.0, math.e)[0]
    generated = fisher.orbit_information(np.array([p]), 1.0, math.e)[0]
    for averages in (asymptotic._set_averages(p, math.e - 1), generated):
        assert np.array(averages) == pytest.approx(listed, rel=1e-9)


# ---------------------------------------------------------------- a floor on the privacy


def test_a_floor_is_met_and_costs_utility():
    prior, free = Dirichlet.jeffreys(3), solve(AsymptoticUtility([0.5] * 3, 2.0))
    loose = solve(AsymptoticUtility([0.5] * 3, 2.0, min_average_privacy=0.5))
    assert loose.value == pytest.approx(free.value, abs=1e-9)
    tight = solve(AsymptoticUtility([0.5] * 3, 2.0, min_average_privacy=0.9))
    assert average_privacy(tight.mechanism, prior) >= 0.9 - 1e-9
    assert tight.value < free.value - 0.1
    assert verify(tight)


def test_with_a_floor_columns_at_level_epsilon_alone_are_not_enough():
    """theory.md, 5 keeps to {1, e^ε}; for an unequal prior milder columns do better."""
    problem = AsymptoticUtility([0.5, 1.2, 2.0], 2.0, min_average_privacy=0.8)
    (form,) = problem.forms()
    full = FrankWolfe().run(form, Limits())
    top = [j for j, (level, which) in enumerate(form.labels) if level == 7 or which == 0]
    narrow = dataclasses.replace(
        form,
        blocks=form.blocks[:, top],
        constraints=form.constraints[:, top],
        costs=form.costs[top],
        labels=tuple(form.labels[j] for j in top),
        start=form.start[top],
    )
    staircase = FrankWolfe().run(narrow, Limits())
    assert staircase.bound < full.value - 1e-3


def test_frontier_with_free_epsilon_beats_a_fixed_one():
    free = solve(PrivacyUtilityFrontier([0.5] * 3, 0.8))
    fixed = solve(PrivacyUtilityFrontier([0.5] * 3, 0.8, epsilon=2.0))
    assert free.value > fixed.value
    assert verify(free)
    assert verify(fixed)
    again = solve(AsymptoticUtility([0.5] * 3, 2.0, 0.8))
    assert fixed.value == pytest.approx(again.value, abs=1e-12)


# ---------------------------------------------------------------- the statement


def test_gauss_rules_of_the_checker():
    for a, b in ((0.5, 1.0), (1.2, 2.7), (3.0, 0.4)):
        rule = expectation._gauss_beta(a, b, 7)
        x, w = roots_jacobi(7, b - 1, a - 1)
        assert [z for z, _ in rule] == pytest.approx((1 + x) / 2, abs=1e-13)
        assert [v for _, v in rule] == pytest.approx(w / w.sum(), rel=1e-10)


@pytest.mark.parametrize("alpha", [[0.5, 1.2, 2.0], [0.5] * 7])
def test_points_are_calibrated_to_randomised_response(alpha):
    k = len(alpha)
    points, weights = map(np.array, expectation.prior_points(alpha, 1.7))
    assert weights.sum() == pytest.approx(1)
    assert (weights > 0).all()
    problem, prior = AsymptoticUtility(alpha, 1.7), Dirichlet(alpha)
    exact = asymptotic_utility(randomized_response(k, 1.7), prior)
    assert problem.value(randomized_response(k, 1.7)) == pytest.approx(exact, abs=1e-9)
    assert points.sum(axis=1) == pytest.approx(1)


def test_draws_have_the_right_mean():
    draws = np.array(list(expectation._draws([0.5, 1.5, 3.0], 4000)))
    assert draws.mean(axis=0) == pytest.approx([0.1, 0.3, 0.6], abs=0.01)


def test_checker_formulas_agree_with_the_library():
    prior = Dirichlet([0.5, 1.2, 2.0])
    v = np.array([[1.0], [3.0], [1.0]])
    own = float(prior.mean() @ (v * np.log(v))[:, 0])
    assert expectation.leakage(prior.alpha.tolist(), v[:, 0].tolist()) == pytest.approx(
        own - float(prior.expected_xlogx(v)[0]), abs=1e-12
    )
    found = expectation.expected_entropy([0.5, 1.2, 2.0])
    assert found == pytest.approx(prior.expected_entropy(), abs=1e-12)


def test_discretisation_is_small():
    for k, epsilon in ((3, 0.5), (4, 1.0), (5, 0.5)):
        m = SubsetSelection(k, 2, epsilon)
        exact = asymptotic_utility(m, Dirichlet.jeffreys(k))
        assert AsymptoticUtility([0.5] * k, epsilon).value(m.dense()) == pytest.approx(exact, abs=1e-6)


# ---------------------------------------------------------------- certificates


@pytest.fixture(scope="module")
def document():
    return solve(AsymptoticUtility([0.5] * 4, 0.5)).to_json()


@pytest.fixture(scope="module")
def unequal():
    return solve(AsymptoticUtility([0.5, 1.2, 2.0], 1.0, min_average_privacy=0.9)).to_json()


def refuted(document):
    return not all(claim.holds for claim in frame.check(document))


def test_untouched_files_hold(document, unequal):
    assert not refuted(document)
    assert not refuted(unequal)
    assert any("numeric" in claim.strength for claim in frame.check(document))


def test_tampering_is_refuted(document, unequal):
    for original in (document, unequal):
        for path, change in (
            (("value",), 1e-6),
            (("bound",), -1e-6),
            (("certificate", "proof", "dual", 0), -1e-4),
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
    m = HadamardResponse(4, 0.49)
    forged["mechanism"] = {"matrix": m.matrix.tolist()}
    forged["value"] = -5.0
    claims = {claim.statement: claim.holds for claim in frame.check(forged)}
    assert not claims["it treats all inputs alike"]


def test_malformed_files_are_unreadable(document):
    for path, junk in (
        (("params",), {"epsilon": 1.0}),
        (("params",), {"alpha": [1.0, -1.0], "epsilon": 1.0}),
        (("params",), {"alpha": [1.0, 1.0], "epsilon": 1.0, "min_average_privacy": 2}),
        (("certificate", "proof"), {"dual": "x", "price": 0, "reference": []}),
        (("certificate", "proof"), {}),
        (("certificate", "proof", "reference"), []),
        (("certificate", "proof", "reference"), [1, 2]),
        (("certificate", "proof", "reference"), [[[0, 1], "x"]]),
        (("params",), {"alpha": [1e-300, 1.0], "epsilon": 1.0}),
        (("params",), {"alpha": [1.0] * 500, "epsilon": 1.0}),
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
        (lambda: AsymptoticUtility([0.5, -1.0], 1.0), "alpha"),
        (lambda: AsymptoticUtility([0.5, 1e-3], 1.0), "alpha must lie between"),
        (lambda: AsymptoticUtility([0.5] * 65, 1.0), "65 entries"),
        (lambda: AsymptoticUtility([0.5, 0.5], -1.0), "epsilon"),
        (lambda: AsymptoticUtility([0.5, 0.5], 1.0, 1.0), r"min_average_privacy must lie in \[0, 1\)"),
        (lambda: AsymptoticUtility(np.arange(1.0, 10.0), 1.0), "all must be equal"),
        (lambda: PrivacyUtilityFrontier([0.5, 0.5], -0.1), "min_average_privacy"),
        (lambda: solve(AsymptoticUtility([0.5] * 20, 0.1)), "outputs, more than"),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_gradient_is_the_derivative():
    (form,) = AsymptoticUtility([0.5, 1.2, 2.0], 1.0).forms()
    g, h = convex.gradient(form, form.start), 1e-6
    for j in range(len(form.start)):
        up, down = form.start.copy(), form.start.copy()
        up[j] += h
        down[j] -= h
        slope = (convex.value(form, up) - convex.value(form, down)) / (2 * h)
        assert slope == pytest.approx(g[j], rel=1e-6)


def test_classes_of_columns_give_the_same_information():
    """The checker's shortcut for thousands of columns, on a case that it can also list."""
    m = Mechanism.mixture(
        [SubsetSelection(5, 2, 0.7).dense(), randomized_response(5, 1.2)], [0.3, 0.7]
    ).matrix
    columns, p = m.T.tolist(), [0.1, 0.3, 0.05, 0.15, 0.4]
    classes = asymptotic._set_classes(columns)
    assert sorted(size for _, size in classes) == [1, 2]
    listed = np.tril(asymptotic._information(columns, p))
    assert np.tril(asymptotic._class_information(classes, p)) == pytest.approx(listed, rel=1e-10)
    columns[0][0] *= 1 + 1e-8
    assert asymptotic._set_classes(columns) is None
