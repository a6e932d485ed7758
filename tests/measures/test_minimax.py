"""The supremum of α over {p ≥ p0}, and lower bounds with the class of mechanisms that they hold for."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from ldpopt import Mechanism
from ldpopt.core.exact import (
    UNIT_BITS,
    EnclosedMatrix,
    convex_from,
    exp_above,
    proven_minimax_bound,
    units_down,
    weighted_phi_bound,
)
from ldpopt.core.validate import Array
from ldpopt.measures import estimation_fidelity, minimax
from ldpopt.mechanisms.balanced_designs import (
    DifferenceSet,
    difference_sets,
    step_mechanism,
    subset_selection,
    two_level,
)

FANO = DifferenceSet("Fano", (7,), ((1,), (2,), (4,)))


def least_worst_alpha(k: int, epsilon: float, loss: str, p0: float) -> float:
    """The best bound from below on the supremum of α of square mechanisms."""
    if loss == "tv":
        return minimax.symmetric_bound(k, epsilon, loss, p0).bound
    return float(proven_minimax_bound(k, exp_above(epsilon), loss, Fraction(p0)))


def vertex(k: int, p0: float) -> Array:
    p = np.full(k, p0)
    p[0] = 1 - (k - 1) * p0
    return p


def noisy(rng: np.random.Generator, k: int, epsilon: float, outputs: int) -> Array:
    """A random mechanism of level at most ε."""
    height = np.where(
        rng.random((k, outputs)) < 0.7, rng.random((k, outputs)) < 0.5, rng.random((k, outputs))
    )
    rows = 1 + math.expm1(epsilon / 2) * height
    return rows / rows.sum(axis=1, keepdims=True)


# ---------------------------------------------------------------- the supremum


@pytest.mark.parametrize("loss", estimation_fidelity.LOSSES)
@pytest.mark.parametrize("epsilon", [0.4, 2.0, 6.0])
def test_the_supremum_is_above_every_sampled_point_and_exact(loss: str, epsilon: float) -> None:
    rng = np.random.default_rng(3)
    p0 = 0.02
    for W in (step_mechanism(5, epsilon).matrix, noisy(rng, 5, epsilon, 5) * 0.5 + 0.5 * np.eye(5)):
        worst = minimax.worst_alpha(W, p0, loss)
        assert worst.value == worst.bound == pytest.approx(estimation_fidelity.alpha(W, worst.p, loss))
        for spread in (0.1, 0.5, 3.0):
            for p in p0 + (1 - 5 * p0) * rng.dirichlet(np.full(5, spread), size=60):
                assert estimation_fidelity.alpha(W, p, loss) <= worst.bound * (1 + 1e-9)


def test_the_supremum_of_total_variation_is_not_the_printed_bound() -> None:
    """K = 5, ε = 5: (43) says 6.19 where the supremum is 1.37; local ascents find no more."""
    worst = minimax.worst_alpha(step_mechanism(5, 5.0), 0.02, "tv")
    assert worst.bound == worst.value == pytest.approx(1.367354, abs=1e-6)
    assert minimax.worst_step_alpha(5, 5.0, "tv", 0.02) == pytest.approx(6.19, abs=0.005)
    W, rng = step_mechanism(4, 3.0).matrix, np.random.default_rng(0)
    Phi, best = estimation_fidelity.phi_matrix(W), minimax.worst_alpha(W, 0.03, "tv")

    def below(x: Array) -> float:
        p = 0.03 + 0.88 * np.exp(x) / np.exp(x).sum()
        return -estimation_fidelity.alpha_of(p @ Phi, p, "tv")

    for _ in range(20):
        assert -minimize(below, 3 * rng.normal(size=4)).fun <= best.bound * (1 + 1e-9)


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(2, 6), st.floats(0.02, 0.98), st.floats(0.1, 8))
def test_the_enclosure_of_total_variation_holds(seed: int, k: int, share: float, epsilon: float) -> None:
    """Also where convexity cannot be shown at once: the bound is never below a value."""
    rng = np.random.default_rng(seed)
    W = noisy(rng, k, epsilon, k) + (0.05 + rng.random()) * np.eye(k)
    W, p0 = W / W.sum(axis=1, keepdims=True), share / k
    if np.linalg.cond(W) > 1e6:
        return
    worst = minimax.worst_alpha(W, p0, "tv")
    assert worst.value <= worst.bound
    for p in p0 + (1 - k * p0) * rng.dirichlet(np.full(k, 0.5), size=100):
        assert estimation_fidelity.alpha(W, p, "tv") <= worst.bound * (1 + 1e-9)


def test_convexity_is_what_the_second_derivatives_say() -> None:
    """N − tD from the t of convex_from on has no negative curvature along any direction."""
    rng = np.random.default_rng(2)
    W = 0.6 * np.eye(4) + 0.4 * rng.dirichlet(np.ones(4), size=4)
    Phi, p0 = estimation_fidelity.phi_matrix(W), 0.02
    exact = EnclosedMatrix(
        [[units_down(x) for x in row] for row in Phi.tolist()], UNIT_BITS, Fraction(0)
    )
    t = float(convex_from(exact, Fraction(p0), Fraction(0)))

    def gap(p: Array) -> float:
        return float(np.sqrt(p @ Phi - p**2).sum() - t * np.sqrt(p - p**2).sum())

    for p in 0.03 + 0.88 * rng.dirichlet(np.full(4, 0.7), size=200):
        x = rng.normal(size=4)
        x *= 2e-3 / np.abs(x - x.mean()).max()
        x -= x.mean()
        assert gap(p + x) + gap(p - x) - 2 * gap(p) >= -1e-12


@pytest.mark.parametrize("loss", estimation_fidelity.LOSSES)
def test_closed_forms_for_the_step_mechanism(loss: str) -> None:
    """(38) corrected and (42) are exact, (43) is an upper bound."""
    k, epsilon, p0 = 5, 0.8, 0.03
    worst = minimax.worst_alpha(step_mechanism(k, epsilon), p0, loss)
    closed = minimax.worst_step_alpha(k, epsilon, loss, p0)
    if loss == "tv":
        assert closed > worst.bound
    else:
        assert closed == pytest.approx(worst.bound)
    E = math.exp(epsilon)
    excess = (E + k - 2) / (E - 1) ** 2  # printed: (K−1)(E+K−1) in place of (K−1)(E+K−2)
    assert loss != "f-divergence" or worst.bound + excess > worst.bound * 1.001


# ---------------------------------------------------------------- lower bounds


def test_the_bound_of_square_mechanisms_is_false_for_all() -> None:
    """K = 7, ε = 0.5, p0 = 0.05: subset selection has 160.53, every square mechanism 163.92 or more."""
    mechanism, p0 = subset_selection(7, 0.5, 3), 0.05
    assert mechanism.epsilon() <= 0.5 + 1e-12
    rng = np.random.default_rng(0)
    points = [vertex(7, p0), *(p0 + 0.65 * rng.dirichlet(np.full(7, 0.3), size=200))]
    reached = max(estimation_fidelity.alpha(mechanism, p, "mse") for p in points)
    assert reached == pytest.approx(160.53, abs=0.005)
    assert least_worst_alpha(7, 0.5, "mse", p0) == pytest.approx(163.92, abs=0.005)
    assert minimax.symmetric_bound(7, 0.5, "mse", p0).bound == pytest.approx(reached, rel=1e-12)


@pytest.mark.parametrize("loss", estimation_fidelity.LOSSES)
def test_the_symmetric_bound_holds_for_all_mechanisms(loss: str) -> None:
    """Below the worst vertex of random mechanisms of many outputs, designs and subset selections."""
    rng = np.random.default_rng(5)
    for k, epsilon, p0 in ((3, 0.7, 0.05), (4, 2.0, 0.01), (5, 0.3, 0.15)):
        floor = minimax.symmetric_bound(k, epsilon, loss, p0).bound
        rivals = [noisy(rng, k, epsilon, k + int(more)) for more in rng.integers(0, 6, size=40)]
        rivals += [subset_selection(k, epsilon, m).matrix for m in range(1, k)]
        for W in rivals:
            assert Mechanism(W).epsilon() <= epsilon + 1e-9
            if np.linalg.cond(W @ W.T) < 1e9:
                points = [np.roll(vertex(k, p0), i) for i in range(k)] + [np.full(k, 1 / k)]
                assert max(estimation_fidelity.alpha(W, p, loss) for p in points) >= floor * (1 - 1e-9)


@pytest.mark.parametrize("loss", estimation_fidelity.LOSSES)
def test_the_symmetric_bound_is_attained_by_subset_selection_at_the_vertices(loss: str) -> None:
    for k, epsilon, p0 in ((4, 0.5, 0.05), (6, 1.0, 0.02), (2, 1.0, 0.3)):
        found = minimax.symmetric_bound(k, epsilon, loss, p0)
        best = min(
            estimation_fidelity.alpha(subset_selection(k, epsilon, m), vertex(k, p0), loss)
            for m in range(1, k)
        )
        assert found.bound <= best * (1 + 1e-12)
        if len(found.sizes) == 1:
            assert found.bound == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("loss", estimation_fidelity.LOSSES)
def test_worse_numbers_prove_less(loss: str) -> None:
    """Any z, u, w ≥ 0 prove a bound, none more than the best ones."""
    rng = np.random.default_rng(1)
    best = minimax.symmetric_bound(6, 0.8, loss, 0.03)
    for _ in range(200):
        z, u, w = (x * math.exp(0.5 * rng.normal()) for x in best.rows)
        assert minimax.proven(6, 0.8, loss, best.rest, (z, u, w)) <= best.bound * (1 + 1e-12)


def test_the_gap_of_total_variation_closes() -> None:
    """K = 13, ε = 0.8: from a gap of 3414 % at (54) to 6.7 %."""
    k, epsilon, p0 = 13, 0.8, 0.02
    designs = [two_level(design.blocks(), epsilon) for design in difference_sets(k, cyclic=True)]
    best = min(minimax.worst_alpha(W, p0, "tv").bound for W in designs)
    least = estimation_fidelity.phi_bound(k, epsilon)
    printed = (math.sqrt(k - 1) + (least - k) / (2 * math.sqrt(k * least - 1))) ** 2 / (k - 1)
    assert best / max(printed, (least - 1) / k / (k - 1)) - 1 > 30
    assert best / least_worst_alpha(k, epsilon, "tv", p0) - 1 == pytest.approx(0.067, abs=0.001)


def test_designs_attain_the_bound_of_square_mechanisms() -> None:
    """The seven-point plane and the planar difference set of 13 points, both losses."""
    for k, epsilon, p0 in ((7, 0.5, 0.05), (13, 0.8, 0.001)):
        designs = [two_level(design.blocks(), epsilon) for design in difference_sets(k, cyclic=True)]
        for loss in ("f-divergence", "mse"):
            best = min(minimax.worst_alpha(W, p0, loss).bound for W in designs)
            assert best == pytest.approx(least_worst_alpha(k, epsilon, loss, p0), rel=1e-12)


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(2, 6), st.floats(0.05, 0.95), st.floats(0.2, 3))
def test_no_square_mechanism_beats_the_bound(seed: int, k: int, share: float, epsilon: float) -> None:
    rng = np.random.default_rng(seed)
    W = noisy(rng, k, epsilon, k)
    if np.linalg.cond(W) > 1e6:
        return
    for loss in estimation_fidelity.LOSSES:
        bound = least_worst_alpha(k, epsilon, loss, share / k)
        assert minimax.worst_alpha(W, share / k, loss).value >= bound * (1 - 1e-9)


@pytest.mark.parametrize("c", [0.3, 1.0, 4.0])
def test_the_weighted_bound_on_random_square_mechanisms(c: float) -> None:
    rng = np.random.default_rng(7)
    for k, epsilon in ((3, 1.0), (5, 0.5)):
        bound = float(weighted_phi_bound(k, exp_above(epsilon), Fraction(c)))
        assert c != 1.0 or bound == pytest.approx(estimation_fidelity.phi_bound(k, epsilon))
        weights = c + (1 - c) * np.eye(k)
        for _ in range(100):
            W = noisy(rng, k, epsilon, k)
            if np.linalg.cond(W) < 1e6:
                squares = np.linalg.inv(W) ** 2
                assert ((weights @ W) * squares.T).sum() >= bound * (1 - 1e-9)
