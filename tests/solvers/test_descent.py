import math

import numpy as np
import pytest

from ldpopt import Mechanism, problem, solve
from ldpopt.core.errors import NoSolverError
from ldpopt.measures import estimation_fidelity
from ldpopt.measures.moment_objectives import MomentObjective
from ldpopt.mechanisms.balanced_designs import step_mechanism
from ldpopt.solvers.descent import descend_circulant, descend_square, private


@pytest.mark.parametrize("loss", ["phi", "f-divergence", "mse", "tv"])
@pytest.mark.parametrize("outputs", [3, 5])
def test_gradients_against_differences(loss: str, outputs: int) -> None:
    rng = np.random.default_rng(0)
    p = np.array([0.5, 0.3, 0.2])
    W = 0.5 * rng.dirichlet(np.ones(outputs), size=3) + 0.5 * np.eye(3, outputs)
    objective = MomentObjective(p, loss)
    value, gradient = objective.slope(W)
    expected = estimation_fidelity.phi(W) if loss == "phi" else estimation_fidelity.alpha(W, p, loss)
    if loss != "phi":
        assert value == pytest.approx(expected)
    for x in range(3):
        for y in range(outputs):
            step = np.zeros_like(W)
            step[x, y] = 1e-6
            slope = (objective(W + step) - objective(W - step)) / 2e-6
            assert gradient[x, y] == pytest.approx(slope, rel=1e-4, abs=1e-4)


def test_phi_is_the_objective_at_the_uniform_distribution() -> None:
    W = np.array([[0.5, 0.3, 0.2], [0.25, 0.45, 0.3], [0.2, 0.2, 0.6]])
    assert MomentObjective(np.full(3, 1 / 3))(W) == pytest.approx(estimation_fidelity.phi(W))


def test_the_circulant_objective_is_phi() -> None:
    row = descend_circulant(np.array([3.0, 1.5, 1.2, 1.1, 1.0]), math.log(3))
    circulant = np.array([np.roll(row, x) for x in range(5)])
    assert Mechanism(circulant).epsilon() <= math.log(3) + 1e-9
    assert estimation_fidelity.phi(circulant) <= estimation_fidelity.balanced_phi(5, math.log(3), 1) * (
        1 + 1e-9
    )


def test_small_circulants_by_brute_force() -> None:
    """K = 5: no circulant on a grid of rows is better than what descent finds."""
    epsilon = 0.3
    found = solve(problem("circulant-fidelity", inputs=5, epsilon=epsilon), "descent").value
    levels = np.linspace(1, math.exp(epsilon), 7)
    rows = np.array(np.meshgrid(*[levels] * 5)).reshape(5, -1).T
    power = np.abs(np.fft.fft(rows / rows.sum(axis=1, keepdims=True), axis=1)) ** 2
    with np.errstate(divide="ignore"):
        assert found is not None
        assert found <= (1 / power).sum(axis=1).min() * (1 + 1e-9)


def test_seeds_agree_on_small_squares() -> None:
    question = problem("square-fidelity", inputs=6, epsilon=0.1)  # the best known is no step mechanism
    values = [solve(question, "descent", seed=seed, gap=0.02).value for seed in (1, 2)]
    assert values[0] == pytest.approx(values[1], rel=1e-6)


def test_square_descent_improves_and_stays_private() -> None:
    start = step_mechanism(5, 0.2).matrix
    blend = 0.9 * start + 0.1 * np.random.default_rng(0).permutation(start)
    objective = MomentObjective(np.full(5, 0.2))
    found = descend_square(private(blend, 0.2), [objective], 0.2)
    assert Mechanism(found).epsilon() <= 0.2 + 1e-9
    assert objective(found) <= objective(private(blend, 0.2))


def test_time_limit_keeps_what_was_found(clock) -> None:
    """The time is over once something is found."""
    seen: list[float] = []

    def wait(value: float, _: float) -> None:
        seen.append(value)
        clock.move(61)

    question = problem("square-fidelity", inputs=8, epsilon=0.3)
    result = solve(question, "descent", time_limit=60, progress=wait)
    assert len(seen) == 1
    assert result.value is not None
    assert result.value <= estimation_fidelity.balanced_phi(8, 0.3, 1) * (1 + 1e-9)


def test_progress_is_reported() -> None:
    seen: list[tuple[float, float]] = []
    solve(
        problem("circulant-fidelity", inputs=6, epsilon=0.3),
        "descent",
        progress=lambda value, bound: seen.append((value, bound)),
    )
    assert seen
    assert all(bound < value for value, bound in seen)


def test_reasons() -> None:
    with pytest.raises(NoSolverError, match="number of outputs"):
        solve(problem("broad-fidelity", inputs=6, epsilon=0.3), "descent")
    with pytest.raises(NoSolverError, match="too many"):
        solve(problem("square-fidelity", inputs=300, epsilon=0.3), "descent")
    with pytest.raises(NoSolverError, match="solves a matrix-program, not a column-program"):
        solve(problem("staircase", epsilon=1, prior=[0.5, 0.5]), "descent")
    with pytest.raises(NoSolverError, match="cannot be certified"):
        solve(problem("square-fidelity", inputs=300, epsilon=0.3), "designs")
    with pytest.raises(NoSolverError, match="solves a matrix-program, not a column-program"):
        solve(problem("staircase", epsilon=1, prior=[0.5, 0.5]), "designs")
