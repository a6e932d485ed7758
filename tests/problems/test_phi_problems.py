import pytest

from ldpopt import Mechanism, Status, problem, solve, verify
from ldpopt.core.errors import InvalidInputError
from ldpopt.measures import estimation_fidelity


def test_the_circulant_of_seven_points() -> None:
    """Theorem 9 put right: at ε = 0.5 the difference set {1, 2, 4}, at 1.5 the step mechanism."""
    result = solve(problem("circulant-fidelity", inputs=7, epsilon=0.5))
    assert result.status is Status.OPTIMAL
    assert result.value == pytest.approx(571.530243354543, abs=1e-9)
    assert result.bound == pytest.approx(571.530243354543, abs=1e-9)
    assert result.bound <= result.value
    assert verify(result)
    result = solve(problem("circulant-fidelity", inputs=7, epsilon=1.5))
    assert result.value == pytest.approx(55.379326853438, abs=1e-10)
    assert result.status is Status.OPTIMAL  # e^3 > 15: the step mechanism meets the bound there
    assert verify(result)


def test_between_the_designs_the_gap_is_stated() -> None:
    result = solve(problem("square-fidelity", inputs=6, epsilon=1.0), starts=1)
    assert result.status is Status.GAP
    assert result.bound < result.value
    assert verify(result)


@pytest.mark.parametrize(
    ("k", "epsilon", "target"),
    [
        (5, 0.3, 901.9180),
        (6, 0.3, 1489.7161),
        pytest.param(4, 0.05, 18613.7591, marks=pytest.mark.slow),
        pytest.param(4, 0.06, 12922.3, marks=pytest.mark.slow),
        pytest.param(5, 0.35, 666.2, marks=pytest.mark.slow),
        pytest.param(6, 0.45, 665.9, marks=pytest.mark.slow),
        pytest.param(7, 1.03, 143.3, marks=pytest.mark.slow),
    ],
)
def test_square_mechanisms_below_the_step_mechanism(k: int, epsilon: float, target: float) -> None:
    """For small ε; in seconds of work, whatever else the machine does."""
    result = solve(problem("square-fidelity", inputs=k, epsilon=epsilon), time_limit=600, gap=1e-4)
    assert result.value <= target < estimation_fidelity.balanced_phi(k, epsilon, 1)
    assert result.status is Status.GAP
    assert result.gap == pytest.approx(1 - result.bound / result.value)
    assert k != 4 or result.gap < 1e-4
    assert result.mechanism is not None
    assert result.mechanism.shape == (k, k)
    assert result.mechanism.epsilon() <= epsilon * (1 + 1e-12)
    assert verify(result)


def test_broad_mechanisms_are_solved_for_every_size() -> None:
    for k, epsilon in ((4, 0.2), (9, 1.0), (1000, 1.0), (1000, 0.01)):
        result = solve(problem("broad-fidelity", inputs=k, epsilon=epsilon))
        assert result.status is Status.OPTIMAL
        assert verify(result)
    assert isinstance(solve(problem("broad-fidelity", inputs=4, epsilon=0.2)).answer, Mechanism)


def test_large_fields() -> None:
    """K = 73 at ε = 2.4: the planar difference set; the answer lies below the printed Lemma 11."""
    result = solve(problem("circulant-fidelity", inputs=73, epsilon=2.4), "designs")
    assert result.value == pytest.approx(2387.26, abs=0.005)
    assert result.value < estimation_fidelity.printed_phi_bound(73, 2.4)


@pytest.mark.parametrize("kind", ["circulant-fidelity", "square-fidelity", "broad-fidelity"])
@pytest.mark.parametrize(
    ("params", "complaint"),
    [
        ({"inputs": 1, "epsilon": 1}, "inputs must be a whole number from 2"),
        ({"inputs": 2.5, "epsilon": 1}, "not 2.5"),
        ({"inputs": True, "epsilon": 1}, "inputs must be a whole number from 2 to 100,000, not true"),
        ({"inputs": 5, "epsilon": -1}, "epsilon must be a finite number > 0, not -1"),
        ({"inputs": 5}, "needs the parameter 'epsilon'"),
    ],
)
def test_bad_input(kind: str, params: dict[str, float], complaint: str) -> None:
    with pytest.raises(InvalidInputError, match=complaint):
        problem(kind, **params)
