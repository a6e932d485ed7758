from typing import Any

import numpy as np
import pytest

from ldpopt import Mechanism, Status, problem, solve, verify
from ldpopt.checker import frame, reading
from ldpopt.core.errors import InvalidInputError, NoSolverError
from ldpopt.mechanisms.balanced_designs import step_mechanism
from ldpopt.theory.fidelity import measures as fidelity
from ldpopt.theory.fidelity.minimax import worst_alpha, worst_step_alpha

ZIPF = [60 / 137 / i for i in range(1, 6)]


@pytest.mark.parametrize("loss", ["f-divergence", "mse"])
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_known_distributions_are_solved(loss: str, epsilon: float) -> None:
    """Optimal, and below the step mechanism, subset selection and random mechanisms."""
    result = solve(problem("fidelity", p=ZIPF, epsilon=epsilon, loss=loss))
    assert result.status is Status.OPTIMAL
    assert verify(result)
    assert result.value == pytest.approx(fidelity.alpha(result.answer, ZIPF, loss), rel=1e-9)
    assert result.value <= fidelity.alpha(step_mechanism(5, epsilon), ZIPF, loss) * (1 + 1e-9)
    assert result.value >= fidelity.alpha_bound(ZIPF, epsilon, loss)
    rng = np.random.default_rng(0)
    for _ in range(50):
        noisy = 1 + np.expm1(epsilon / 2) * (rng.random((5, 9)) < 0.4)
        other = Mechanism(noisy / noisy.sum(axis=1, keepdims=True))
        if np.linalg.matrix_rank(other.matrix) == 5:
            assert fidelity.alpha(other, ZIPF, loss) >= result.bound


def test_uniform_distribution_is_the_phi_problem() -> None:
    phi = solve(problem("broad-fidelity", k=5, epsilon=0.3)).value
    for loss in ("f-divergence", "mse"):
        result = solve(problem("fidelity", p=[0.2] * 5, epsilon=0.3, loss=loss))
        assert result.value == pytest.approx((phi - 1) / 4, rel=1e-9)


def test_where_rounding_breaks_the_proof_the_known_bound_remains() -> None:
    result = solve(problem("fidelity", p=[0.25] * 4, epsilon=0.001, loss="mse"))
    assert result.certificate.proof is None
    assert result.bound == pytest.approx(fidelity.alpha_bound([0.25] * 4, 0.001, "mse"), rel=1e-9)
    assert verify(result)


@pytest.mark.parametrize("loss", fidelity.LOSSES)
def test_square_mechanisms_for_a_known_distribution(loss: str) -> None:
    question = problem("fidelity", p=ZIPF, epsilon=0.5, loss=loss, family="square")
    result = solve(question, starts=4)
    assert result.status is Status.GAP
    assert result.answer.shape == (5, 5)
    assert result.bound < result.value
    assert result.value <= fidelity.alpha(step_mechanism(5, 0.5), ZIPF, loss) * (1 + 1e-12)
    assert verify(result)


def test_square_bound_is_that_of_all_mechanisms() -> None:
    best = solve(problem("fidelity", p=ZIPF, epsilon=0.5, loss="mse"))
    square = solve(problem("fidelity", p=ZIPF, epsilon=0.5, loss="mse", family="square"), starts=2)
    assert square.bound == pytest.approx(best.value, rel=1e-9)


@pytest.mark.parametrize(
    ("change", "refuted"),
    [
        (lambda d: d.update(value=d["value"] * (1 - 1e-9)), "its α"),
        (lambda d: d.update(bound=d["bound"] * (1 + 1e-9)), "has α below"),
        (lambda d: d["certificate"]["proof"]["beta"].__setitem__(0, 0.0), "has α below"),
        (lambda d: d["certificate"]["proof"]["Y"][0].__setitem__(0, 99.0), "has α below"),
        (lambda d: d["params"].update(epsilon=0.49), "differ by at most"),
        (lambda d: d["params"].update(family="square"), "as many outputs as inputs"),
        (lambda d: d["params"].update(p=[0.5, 0.3, 0.1, 0.05, 0.05]), "its α"),
    ],
)
def test_tampering_is_refuted(change: Any, refuted: str) -> None:
    doc = solve(problem("fidelity", p=ZIPF, epsilon=0.5, loss="mse")).to_json()
    change(doc)
    failed = [claim.statement for claim in frame.check(doc) if not claim.holds]
    assert any(refuted in statement for statement in failed)


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d["params"].update(loss="kl"),
        lambda d: d["params"].update(p=[0.5, 0.5, 0.0, 0.0, 0.0]),
        lambda d: d["params"].pop("p"),
        lambda d: d["certificate"]["proof"].pop("beta"),
        lambda d: d["certificate"]["proof"]["Y"].pop(),
    ],
)
def test_malformed_files_are_unreadable(change: Any) -> None:
    doc = solve(problem("fidelity", p=ZIPF, epsilon=0.5, loss="mse")).to_json()
    change(doc)
    with pytest.raises(reading.UnreadableError):
        frame.check(doc)


def test_minimax_mse_is_solved_by_designs() -> None:
    """(50) with φ* is attained by the seven-point plane: the supremum depends on φ alone."""
    result = solve(problem("minimax-fidelity", k=7, epsilon=0.5, p0=0.05, loss="mse"))
    assert result.status is Status.OPTIMAL
    assert verify(result)
    assert result.value < worst_step_alpha(7, 0.5, "mse", 0.05)


@pytest.mark.parametrize("loss", fidelity.LOSSES)
def test_minimax_bounds(loss: str) -> None:
    result = solve(problem("minimax-fidelity", k=5, epsilon=0.5, p0=0.02, loss=loss))
    assert result.bound < result.value <= worst_step_alpha(5, 0.5, loss, 0.02) * (1 + 1e-9)
    assert result.value >= worst_alpha(result.answer, 0.02, loss).bound * (1 - 1e-9)
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
        ("fidelity", {"p": [0.5, 0.5, 0], "epsilon": 1}, r"p\[2\] is 0"),
        ("fidelity", {"p": [1.0], "epsilon": 1}, "at least two inputs"),
        ("fidelity", {"p": ZIPF, "epsilon": 1, "loss": "kl"}, "loss must be one of"),
        ("fidelity", {"p": ZIPF, "epsilon": 1, "family": "circulant"}, "family must be one of"),
        ("minimax-fidelity", {"k": 5, "epsilon": 1, "p0": 0.3}, "p0 must be at most 1/k = 1/5"),
        ("minimax-fidelity", {"k": 5, "epsilon": 1, "p0": 0}, "p0 must be a finite number > 0"),
    ],
)
def test_bad_input(kind: str, params: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InvalidInputError, match=complaint):
        problem(kind, **params)


def test_reasons_of_the_optimal_design() -> None:
    for params, reason in (
        ({"p": ZIPF, "epsilon": 1, "loss": "tv"}, "must be free"),
        ({"p": [0.1] * 10, "epsilon": 1, "loss": "mse"}, "must be free"),
        ({"p": ZIPF, "epsilon": 1, "loss": "mse", "family": "square"}, "must be free"),
    ):
        with pytest.raises(NoSolverError, match=reason):
            solve(problem("fidelity", **params), "optimal-design")
