"""Few-function utilities: known values, brute force over all vertices, large instances, own ones."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ldpopt import problem, solve, verify
from ldpopt.checker import frame
from ldpopt.checker.kernel.reading import UnreadableError
from ldpopt.core.errors import InvalidInputError, NoSolverError
from ldpopt.core.form import Status
from ldpopt.core.limits import Limits
from ldpopt.models.cones import staircase_cone
from ldpopt.models.utilities import Largest, TwoHypotheses
from ldpopt.problems import SecretStaircase, Staircase
from ldpopt.solvers._columns.compact_program import solve_compact

PAIR = [[0.5, 0.2, 0.2, 0.1], [0.1, 0.3, 0.25, 0.35]]
DIVERGENCES = ("kl", "total-variation", "chi-squared", "hellinger")


def random_question(k, utility, epsilon, seed, secret=False):
    """A question of each utility, on k inputs or on a table of two rows."""
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.full(k, 0.5), 3)
    rows = rows.reshape(3, 2, k // 2) if secret else rows
    kind = SecretStaircase if secret else Staircase
    if utility == "guessing":
        return kind(epsilon=epsilon, prior=rows[0], utility=utility)
    if utility == "bayes":
        weights = rng.dirichlet(np.ones(3))
        return kind(epsilon=epsilon, hypotheses=rows, utility=utility, weights=weights)
    order = {"order": float(rng.choice([0.2, 0.7, 1.5, 4.0]))} if utility == "renyi" else {}
    return kind(epsilon=epsilon, hypotheses=rows[:2], utility=utility, **order)


# ---------------------------------------------------------------- known values


@pytest.mark.parametrize("solver", ["tangents", "enumerate", "column-generation"])
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
def test_binary_randomised_response_is_optimal_for_two_opposite_hypotheses(solver, epsilon):
    """With p0, p1 on two inputs q0 = E/(E+1), q1 = 1/(E+1): each divergence is explicit."""
    E = math.exp(epsilon)
    q = np.array([E, 1]) / (E + 1)
    expected = {
        "kl": float((q * np.log(q / q[::-1])).sum()),
        "total-variation": (E - 1) / (E + 1),
        "chi-squared": float(((q - q[::-1]) ** 2 / q[::-1]).sum()),
        "hellinger": float(((np.sqrt(q) - np.sqrt(q[::-1])) ** 2).sum()),
        "bayes": E / (E + 1),
    }
    for utility, value in expected.items():
        found = solve(Staircase(epsilon, hypotheses=np.eye(2), utility=utility), solver)
        assert found.value == pytest.approx(value, rel=1e-8)


@pytest.mark.parametrize("k", [2, 7, 40])
def test_a_uniform_input_is_guessed_best_through_randomised_response(k):
    found = solve(Staircase(1.5, prior=[1 / k] * k, utility="guessing"), "tangents")
    E = math.exp(1.5)
    assert found.value == pytest.approx(E / (E + k - 1), rel=1e-8)
    assert found.status is Status.OPTIMAL


@pytest.mark.parametrize("seed", range(5))
def test_powers_and_roots_are_divergences_by_other_names(seed):
    rows = np.random.default_rng(seed).dirichlet(np.ones(6), 2)

    def value(utility, **more):
        return solve(Staircase(1.0, hypotheses=rows, utility=utility, **more), "tangents").value

    assert value("renyi", order=2) == pytest.approx(value("chi-squared"), rel=1e-8)
    assert value("renyi", order=0.5) == pytest.approx(value("hellinger"), rel=1e-8)
    assert value("renyi", order=1 + 1e-9) == pytest.approx(value("kl"), rel=1e-7)
    assert value("bayes") == pytest.approx((1 + value("total-variation")) / 2, rel=1e-8)


def test_without_privacy_bayes_and_guessing_are_what_they_say():
    rows = np.array([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8], [0.3, 0.6, 0.1]])
    weights = np.array([0.5, 0.3, 0.2])
    bayes = solve(Staircase(30.0, hypotheses=rows, utility="bayes", weights=weights), "tangents")
    assert bayes.value == pytest.approx((weights[:, None] * rows).max(axis=0).sum(), abs=1e-9)
    table = [[0.2, 0.3], [0.4, 0.1]]
    guessed = solve(SecretStaircase(30.0, table, utility="guessing"), "tangents")
    assert guessed.value == pytest.approx(1.0, abs=1e-9)


# ---------------------------------------------------------------- brute force


@settings(max_examples=40)
@given(
    st.sampled_from([*DIVERGENCES, "renyi", "bayes", "guessing"]),
    st.integers(2, 4),
    st.floats(0.05, 6),
    st.integers(0, 10**6),
    st.booleans(),
)
def test_it_agrees_with_all_vertices_listed(utility, half, epsilon, seed, secret):
    question = random_question(2 * half, utility, epsilon, seed, secret)
    listed, found = solve(question, "enumerate"), solve(question, "tangents")
    size = max(abs(listed.value), 1e-4)
    assert listed.value - 2e-9 * size <= found.value <= listed.bound
    assert found.bound <= listed.bound + 2e-9 * size
    assert verify(found)


@pytest.mark.parametrize("utility", [*DIVERGENCES, "renyi", "bayes", "guessing"])
def test_column_generation_prices_them_all(utility):
    question = random_question(18, utility, 1.0, 5)
    columns, found = solve(question, "column-generation", gap=1e-7), solve(question, "tangents")
    assert columns.value == pytest.approx(found.value, rel=1e-6)
    assert verify(columns)


# ---------------------------------------------------------------- large instances


@pytest.mark.parametrize("epsilon", [1.0, 3.0])
@pytest.mark.parametrize("utility", [*DIVERGENCES, "renyi", "bayes"])
def test_two_hundred_inputs_are_optimal(utility, epsilon):
    found = solve(random_question(200, utility, epsilon, 0), "tangents", gap=1e-9)
    assert found.status is Status.OPTIMAL
    assert verify(found)


@pytest.mark.slow
def test_a_thousand_inputs_are_optimal():
    found = solve(random_question(1000, "kl", 1.0, 0), "tangents", gap=1e-9)
    assert found.status is Status.OPTIMAL
    assert verify(found)


def test_a_table_of_many_secrets_is_optimal():
    found = solve(random_question(40, "hellinger", 1.0, 1, secret=True), gap=1e-9)
    assert (found.solver, found.status) == ("tangents", Status.OPTIMAL)
    assert verify(found)


# ---------------------------------------------------------------- utilities of one's own


class Triangular(TwoHypotheses):
    """Σ (q0 − q1)²/(q0 + q1): f(t) = (t − 1)²/(t + 1)."""

    def __init__(self, p0, p1):
        self.p0, self.p1 = p0, p1

    def terms(self, q0, q1):
        return (q0 - q1) ** 2 / (q0 + q1)

    def slopes(self, r):
        return (r - 1) * (r + 3) / (r + 1) ** 2, (1 - r) * (3 * r + 1) / (r + 1) ** 2


def test_a_divergence_of_ones_own():
    p0, p1 = np.array(PAIR)
    question = Staircase(1.0, utility=Triangular(p0, p1), size=4)
    listed, found = solve(question, "enumerate"), solve(question, "tangents")
    assert found.value == pytest.approx(listed.value, rel=1e-8)
    assert found.bound == pytest.approx(listed.value, rel=1e-8)


def test_a_piecewise_linear_utility_of_ones_own():
    rng = np.random.default_rng(2)
    question = Staircase(1.0, utility=Largest(rng.standard_normal((5, 8))), size=8)
    listed, found = solve(question, "enumerate"), solve(question, "tangents")
    assert found.value == pytest.approx(listed.value, rel=1e-8)
    assert found.status is Status.OPTIMAL


def test_it_says_what_it_does_not_know():
    with pytest.raises(NoSolverError, match="few tangents"):
        solve(Staircase(1.0, prior=[0.5, 0.5]), "tangents")
    table = np.full((20, 40), 1 / 800)
    with pytest.raises(NoSolverError, match="13,440,000 entries"):
        solve(SecretStaircase(1.0, table, utility="guessing"), "tangents")


def test_a_stopped_run_is_legal():
    question = random_question(60, "kl", 1.0, 3)
    found = solve(question, "tangents", time_limit=1e-9)
    assert found.status in (Status.FEASIBLE, Status.LIMIT)
    kept = []

    def interrupt(value, bound):
        kept.append(bound)
        if bound < math.inf:
            raise KeyboardInterrupt

    found = solve(question, "tangents", progress=interrupt)
    assert found.status is Status.GAP
    assert verify(found)


@pytest.mark.parametrize("seed", range(3))
def test_the_interior_point_satisfies_its_equations(seed):
    """The columns sum to 1 and lie in the cone, and the dual bounds them: all to the accuracy asked."""
    rng = np.random.default_rng(seed)
    cone = staircase_cone(6, 1.0)
    slopes = rng.standard_normal((6, 4))
    found = solve_compact(cone.boxes, slopes, 1e-10, Limits())
    assert found.matrix.sum(axis=1) == pytest.approx(np.ones(6), abs=1e-9)
    assert (found.matrix.max(axis=0) <= math.e * found.matrix.min(axis=0) * (1 + 1e-9) + 1e-12).all()
    assert float((slopes * found.matrix).sum()) == pytest.approx(found.dual.sum(), rel=1e-8)
    assert (slopes.T @ cone.rays() <= found.dual @ cone.rays() + 1e-8).all()


# ---------------------------------------------------------------- bad input, on both sides

BAD = [
    ({"hypotheses": PAIR, "utility": "renyi"}, "order"),
    ({"hypotheses": PAIR, "utility": "renyi", "order": 1}, "1"),
    ({"hypotheses": PAIR, "utility": "renyi", "order": -2}, "order"),
    ({"hypotheses": PAIR, "utility": "renyi", "order": 61}, "order"),
    ({"hypotheses": PAIR, "utility": "renyi", "order": 45}, r"\(order - 1\) \* epsilon"),
    ({"hypotheses": PAIR, "utility": "kl", "order": 2}, "order belongs to the utility renyi"),
    ({"hypotheses": PAIR, "utility": "kl", "weights": [0.5, 0.5]}, "weights"),
    ({"hypotheses": PAIR, "utility": "bayes", "weights": [0.5, 0.3, 0.2]}, "weight"),
    ({"hypotheses": PAIR, "utility": "bayes", "weights": [0.5, 0.4]}, "weights must"),
    ({"hypotheses": PAIR[:1], "utility": "bayes"}, "hypotheses must be"),
    ({"hypotheses": [*PAIR, PAIR[0]], "utility": "hellinger"}, "hypotheses must be"),
    ({"prior": PAIR[0], "utility": "bayes"}, "mutual-information"),
    ({"prior": PAIR[0], "hypotheses": PAIR, "utility": "bayes"}, "either 'prior' or 'hypotheses'"),
    ({"hypotheses": PAIR, "utility": "guessing"}, "kl, total-variation"),
]


@pytest.mark.parametrize(("params", "message"), BAD)
def test_both_sides_refuse_what_makes_no_sense(params, message):
    with pytest.raises(InvalidInputError, match=message):
        problem("staircase", epsilon=1.0, **params)
    with pytest.raises(UnreadableError, match=message):
        frame.question(frame.statement("staircase", {"epsilon": 1.0, **params}))


def test_hypotheses_of_tables_have_one_shape():
    tables = [[[0.2, 0.3], [0.4, 0.1]], [[0.2, 0.3, 0.0], [0.4, 0.1, 0.0]]]
    with pytest.raises(InvalidInputError, match="on the same inputs"):
        SecretStaircase(epsilon=1.0, hypotheses=tables, utility="kl")
    with pytest.raises(UnreadableError, match="one shape"):
        frame.statement("secret-staircase", {"epsilon": 1.0, "hypotheses": tables, "utility": "kl"})
    with pytest.raises(InvalidInputError, match="one secret"):
        SecretStaircase(epsilon=1.0, hypotheses=[[[0.5, 0.5]], [[0.2, 0.8]]], utility="kl")


def test_files_keep_the_parameters():
    found = solve(random_question(6, "renyi", 1.0, 0))
    document = json.loads(json.dumps(found.to_json()))
    assert document["params"]["order"] == found.problem.order
    assert verify(found)
