from typing import Any

import numpy as np
import pytest

from ldpopt import Mechanism, Status, problem, solve, verify
from ldpopt.checker import frame
from ldpopt.checker.kernel import reading
from ldpopt.core.errors import InvalidInputError, NoSolverError
from ldpopt.measures import estimation_fidelity
from ldpopt.measures.minimax import worst_alpha, worst_step_alpha
from ldpopt.mechanisms.balanced_designs import step_mechanism

ZIPF = [60 / 137 / i for i in range(1, 6)]


@pytest.mark.parametrize("loss", estimation_fidelity.LOSSES)
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_known_distributions_are_solved(loss: str, epsilon: float) -> None:
    """Optimal, and below the step mechanism, subset selection and random mechanisms."""
    result = solve(problem("fidelity", prior=ZIPF, epsilon=epsilon, loss=loss))
    assert result.status is Status.OPTIMAL
    assert verify(result)
    assert result.value == pytest.approx(estimation_fidelity.alpha(result.answer, ZIPF, loss), rel=1e-9)
    assert result.value <= estimation_fidelity.alpha(step_mechanism(5, epsilon), ZIPF, loss) * (1 + 1e-9)
    assert result.value >= estimation_fidelity.alpha_bound(ZIPF, epsilon, loss)
    rng = np.random.default_rng(0)
    for _ in range(50):
        noisy = 1 + np.expm1(epsilon / 2) * (rng.random((5, 9)) < 0.4)
        other = Mechanism(noisy / noisy.sum(axis=1, keepdims=True))
        if np.linalg.matrix_rank(other.matrix) == 5:
            assert estimation_fidelity.alpha(other, ZIPF, loss) >= result.bound


def test_uniform_distribution_is_the_phi_problem() -> None:
    phi = solve(problem("broad-fidelity", inputs=5, epsilon=0.3)).value
    for loss in estimation_fidelity.LOSSES:
        result = solve(problem("fidelity", prior=[0.2] * 5, epsilon=0.3, loss=loss))
        assert result.value == pytest.approx((phi - 1) / 4, rel=1e-9)


@pytest.mark.parametrize("epsilon", [1e-5, 0.001])
def test_small_levels_are_solved(epsilon: float) -> None:
    """The design works on differences of columns, so nothing cancels."""
    result = solve(problem("fidelity", prior=[0.25] * 4, epsilon=epsilon, loss="mse"), gap=1e-6)
    assert result.status is Status.OPTIMAL
    assert result.certificate.proof is None  # φ* is met, and needs none
    lopsided = solve(problem("fidelity", prior=ZIPF, epsilon=epsilon, loss="tv"), gap=1e-6)
    assert lopsided.status is Status.OPTIMAL
    assert verify(lopsided)


def test_eight_inputs() -> None:
    """Proven optimal where the bound from the parameters alone is less than a third of the value."""
    p = np.random.default_rng(0).dirichlet(np.full(8, 2.0))
    result = solve(problem("fidelity", prior=p, epsilon=1.0, loss="mse"))
    assert result.status is Status.OPTIMAL
    assert result.value == pytest.approx(27.8518, abs=1e-4)
    assert result.value > 3 * estimation_fidelity.alpha_bound(p, 1.0, "mse")
    assert verify(result)


def test_eight_inputs_where_square_mechanisms_cost_more() -> None:
    """A search among mechanisms of eight outputs ends at 30.7105 here; more outputs cost 26.8149."""
    rng = np.random.default_rng(0)
    rng.dirichlet(np.full(7, 2.0))  # the prior is the second draw
    p = rng.dirichlet(np.full(8, 2.0))
    result = solve(problem("fidelity", prior=p, epsilon=1.0, loss="mse"))
    assert result.status is Status.OPTIMAL
    assert result.value == pytest.approx(26.814945, abs=1e-6)
    assert verify(result)


@pytest.mark.slow
@pytest.mark.parametrize("loss", estimation_fidelity.LOSSES)
def test_sixteen_inputs(loss: str) -> None:
    p = np.random.default_rng(0).dirichlet(np.full(16, 2.0))
    result = solve(problem("fidelity", prior=p, epsilon=1.0, loss=loss))
    assert result.status is Status.OPTIMAL
    assert verify(result)


@pytest.mark.parametrize("loss", estimation_fidelity.LOSSES)
def test_square_mechanisms_for_a_known_distribution(loss: str) -> None:
    question = problem("fidelity", prior=ZIPF, epsilon=0.5, loss=loss, family="square")
    result = solve(question, starts=4)
    assert result.status is Status.GAP
    assert result.answer.shape == (5, 5)
    assert result.bound < result.value
    assert result.value <= estimation_fidelity.alpha(step_mechanism(5, 0.5), ZIPF, loss) * (1 + 1e-12)
    assert verify(result)


def test_square_bound_is_that_of_all_mechanisms() -> None:
    best = solve(problem("fidelity", prior=ZIPF, epsilon=0.5, loss="mse"))
    square = solve(problem("fidelity", prior=ZIPF, epsilon=0.5, loss="mse", family="square"), starts=2)
    assert square.bound == pytest.approx(best.value, rel=1e-9)


@pytest.mark.parametrize(
    ("change", "refuted"),
    [
        (lambda d: d.update(value=d["value"] * (1 - 1e-9)), "its α"),
        (lambda d: d.update(bound=d["bound"] * (1 + 1e-9)), "has α (mse) below"),
        (lambda d: d["certificate"]["proof"]["beta"].__setitem__(0, 0.0), "has α (mse) below"),
        (lambda d: d["certificate"]["proof"]["Y"][0].__setitem__(0, 99.0), "has α (mse) below"),
        (lambda d: d["params"].update(epsilon=0.49), "differ by at most"),
        (lambda d: d["params"].update(family="square"), "as many outputs as inputs"),
        (lambda d: d["params"].update(prior=[0.5, 0.3, 0.1, 0.05, 0.05]), "its α"),
    ],
)
def test_tampering_is_refuted(change: Any, refuted: str) -> None:
    doc = solve(problem("fidelity", prior=ZIPF, epsilon=0.5, loss="mse")).to_json()
    change(doc)
    failed = [claim.statement for claim in frame.check(doc) if not claim.holds]
    assert any(refuted in statement for statement in failed)


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d["params"].update(loss="kl"),
        lambda d: d["params"].update(prior=[0.5, 0.5, 0.0, 0.0, 0.0]),
        lambda d: d["params"].pop("prior"),
        lambda d: d["certificate"]["proof"].pop("beta"),
        lambda d: d["certificate"]["proof"]["Y"].pop(),
    ],
)
def test_malformed_files_are_unreadable(change: Any) -> None:
    doc = solve(problem("fidelity", prior=ZIPF, epsilon=0.5, loss="mse")).to_json()
    change(doc)
    with pytest.raises(reading.UnreadableError):
        frame.check(doc)


@pytest.mark.parametrize("loss", ["f-divergence", "mse"])
def test_minimax_is_solved_by_designs(loss: str) -> None:
    """The seven-point plane attains the bound of square mechanisms."""
    result = solve(problem("minimax-fidelity", inputs=7, epsilon=0.5, p0=0.05, loss=loss))
    assert result.status is Status.OPTIMAL
    assert verify(result)
    assert result.value < worst_step_alpha(7, 0.5, loss, 0.05)


@pytest.mark.parametrize(
    ("inputs", "epsilon", "loss", "known", "circulant"),
    [(10, 1.0, "mse", 51.0947292, 61.6789), (8, 1.0, "tv", 44.5923814, 45.9717)],
)
def test_minimax_starts_from_the_best_squares(
    inputs: int, epsilon: float, loss: str, known: float, circulant: float
) -> None:
    """No circulant found is as good; the value is the largest α of the vertices of {p ≥ p0}."""
    p0 = 0.5 / inputs
    question = problem("minimax-fidelity", inputs=inputs, epsilon=epsilon, p0=p0, loss=loss)
    result = solve(question, "descent", starts=1)
    assert result.bound < result.value == pytest.approx(known, rel=1e-7)
    assert result.value < 0.98 * circulant
    assert verify(result)
    vertices = [[1 - (inputs - 1) * p0 if i == j else p0 for j in range(inputs)] for i in range(inputs)]
    largest = max(estimation_fidelity.alpha(result.answer, p, loss) for p in vertices)
    assert result.value == pytest.approx(largest, rel=1e-9)


def test_minimax_of_total_variation() -> None:
    """K = 5, ε = 5, p0 = 0.02: 1.37, where (43) says 6.19; K = 13, ε = 0.8: a gap of 6.7 %."""
    result = solve(problem("minimax-fidelity", inputs=5, epsilon=5.0, p0=0.02, loss="tv"))
    assert result.status is Status.OPTIMAL
    assert result.value == pytest.approx(1.367354, abs=1e-6)
    assert verify(result)
    open_ = solve(problem("minimax-fidelity", inputs=13, epsilon=0.8, p0=0.02, loss="tv"), "designs")
    assert open_.value / open_.bound - 1 == pytest.approx(0.067, abs=0.001)
    assert verify(open_)


@pytest.mark.parametrize("loss", estimation_fidelity.LOSSES)
def test_minimax_bounds(loss: str) -> None:
    result = solve(problem("minimax-fidelity", inputs=5, epsilon=0.5, p0=0.02, loss=loss))
    assert result.bound < result.value <= worst_step_alpha(5, 0.5, loss, 0.02) * (1 + 1e-9)
    assert result.value == pytest.approx(worst_alpha(result.answer, 0.02, loss).bound)
    assert verify(result)
    doc = result.to_json()
    doc["value"] *= 1 - 1e-9
    assert not all(claim.holds for claim in frame.check(doc))
    doc = result.to_json()
    doc["bound"] *= 1 + 1e-9
    assert not all(claim.holds for claim in frame.check(doc))
    doc["params"]["p0"] = 0.5
    with pytest.raises(reading.UnreadableError):
        frame.check(doc)


@pytest.mark.parametrize(
    ("kind", "params", "complaint"),
    [
        (
            "fidelity",
            {"prior": [0.5, 0.5, 0], "epsilon": 1},
            r"prior\[2\] must be a finite number above 0 .*, not 0.0",
        ),
        ("fidelity", {"prior": [1.0], "epsilon": 1}, "prior must be a list of 2 or more entries"),
        ("fidelity", {"prior": [1.0, 1e-200], "epsilon": 1}, "must be at least 1e-15"),
        (
            "minimax-fidelity",
            {"inputs": 5, "epsilon": 1, "p0": 1e-200},
            "p0 must be a finite number from 1e-15",
        ),
        ("fidelity", {"prior": ZIPF, "epsilon": 1, "loss": "kl"}, "loss must be one of"),
        ("fidelity", {"prior": ZIPF, "epsilon": 1, "family": "circulant"}, "family must be one of"),
        ("minimax-fidelity", {"inputs": 5, "epsilon": 1, "p0": 0.3}, "p0 must be at most 1/k = 1/5"),
        (
            "minimax-fidelity",
            {"inputs": 5, "epsilon": 1, "p0": 0},
            "p0 must be a finite number from 1e-15",
        ),
    ],
)
def test_bad_input(kind: str, params: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InvalidInputError, match=complaint):
        problem(kind, **params)


def test_reasons_of_the_optimal_design() -> None:
    for params, reason in (
        ({"prior": [0.05] * 20, "epsilon": 1, "loss": "mse"}, "must be free"),
        ({"prior": ZIPF, "epsilon": 1, "loss": "mse", "family": "square"}, "must be free"),
    ):
        with pytest.raises(NoSolverError, match=reason):
            solve(problem("fidelity", **params), "optimal-design")
