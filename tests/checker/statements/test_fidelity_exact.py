"""What decides claims about learning a distribution: enclosures and bounds against exact fractions."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ldpopt import problem, solve
from ldpopt.checker import frame
from ldpopt.checker.kernel import fixed_point
from ldpopt.checker.kernel.arithmetic import exp_above
from ldpopt.checker.kernel.proofs import fidelity_bounds as bounds
from ldpopt.checker.kernel.proofs import second_moments, worst_alpha
from ldpopt.checker.kernel.reading import UnreadableError
from ldpopt.checker.statements import fidelity as section
from ldpopt.core import certify
from ldpopt.core.validate import Array
from ldpopt.measures import estimation_fidelity, minimax
from ldpopt.mechanisms.balanced_designs import step_mechanism, subset_selection
from ldpopt.models.cones import staircase_cone
from ldpopt.solvers.optimal_design import optimal_design

Exact = list[list[Fraction]]


def inverse(matrix: Exact) -> Exact:
    """Gauss–Jordan elimination in fractions."""
    k = len(matrix)
    rows = [[*row, *(Fraction(i == j) for j in range(k))] for i, row in enumerate(matrix)]
    for i in range(k):
        best = next(j for j in range(i, k) if rows[j][i])
        rows[i], rows[best] = rows[best], rows[i]
        rows[i] = [x / rows[i][i] for x in rows[i]]
        for j in range(k):
            if j != i:
                rows[j] = [a - rows[j][i] * b for a, b in zip(rows[j], rows[i], strict=True)]
    return [row[k:] for row in rows]


def repaired(W: Array, epsilon: float) -> list[list[float]]:
    rows: list[list[float]] = certify.repair(W, staircase_cone(len(W), epsilon)).tolist()
    return rows


@pytest.mark.parametrize("epsilon", [1e-6, 0.5, 20.0])
@pytest.mark.parametrize("outputs", [4, 6])
def test_enclosures_contain_the_exact_inverse(epsilon: float, outputs: int) -> None:
    W = step_mechanism(4, epsilon) if outputs == 4 else subset_selection(4, epsilon, 2)
    rows = repaired(W.matrix, epsilon)
    p = [Fraction(x) / 10 for x in (4, 3, 2, 1)]
    exact = [[Fraction(x) for x in row] for row in rows]
    q = [sum(a * row[y] for a, row in zip(p, exact, strict=True)) for y in range(outputs)]
    M = [[sum(a * b / c for a, b, c in zip(r, s, q, strict=True)) for s in exact] for r in exact]
    found, true = second_moments.inverse_information(rows, p), inverse(M)
    assert found is not None
    for i in range(4):
        for j in range(4):
            assert abs(found.fraction(i, j) - true[i][j]) <= found.radius
    assert found.radius < Fraction(1, 10**15) * max(true[i][i] for i in range(4))
    if outputs == 4:
        B = inverse(exact)
        Phi = second_moments.phi_matrix(rows)
        assert Phi is not None
        for x in range(4):
            for j in range(4):
                entry = sum(exact[x][y] * B[y][j] ** 2 for y in range(4))
                assert abs(Phi.fraction(x, j) - entry) <= Phi.radius


@pytest.mark.parametrize("rows", [[[0.5, 0.5], [0.5, 0.5]], [[1.0], [1.0]], [[0.5, 0.5, 0.0]] * 2])
def test_what_has_no_inverse_has_no_value(rows: list[list[float]]) -> None:
    assert second_moments.moments_above(rows, [Fraction(1, 2)] * 2) is None
    assert second_moments.phi_above(rows) is None
    assert len(rows[0]) != 2 or worst_alpha.worst_alpha_above(rows, Fraction(1, 10), "tv") is None


def test_a_nearly_singular_mechanism_is_enclosed() -> None:
    """Rows that differ by one unit of 2^−52: φ is about 2^104."""
    near = [[0.5, 0.5], [0.5 + 2.0**-52, 0.5 - 2.0**-52]]
    found = second_moments.phi_above(near)
    exact = inverse([[Fraction(x) for x in row] for row in near])
    true = sum(Fraction(x) for x in (0.0,))
    for y in range(2):
        column = sum(Fraction(row[y]) for row in near)
        true += column * sum(exact[y][j] ** 2 for j in range(2))
    assert found is not None
    assert true <= found <= true * (1 + Fraction(1, 10**15))


@given(st.fractions(0, 10**30, max_denominator=10**30))
def test_roots_are_enclosed(x: Fraction) -> None:
    assert fixed_point.root_below(x) ** 2 <= x <= fixed_point.root_above(x) ** 2
    assert fixed_point.root_above(x) - fixed_point.root_below(x) <= Fraction(1, 2**190)
    low = fixed_point.cube_root_below(x)
    assert low**3 <= x < (low + Fraction(1, fixed_point.UNIT)) ** 3


# ---------------------------------------------------------------- the supremum


@pytest.mark.parametrize("loss", estimation_fidelity.LOSSES)
@pytest.mark.parametrize(
    ("k", "epsilon", "p0"), [(3, 1e-5, 0.1), (5, 5.0, 0.02), (7, 0.5, 1e-9), (4, 12.0, 0.2)]
)
def test_the_supremum_is_just_above(loss: str, k: int, epsilon: float, p0: float) -> None:
    rows = repaired(step_mechanism(k, epsilon).matrix, epsilon)
    found = worst_alpha.worst_alpha_above(rows, Fraction(p0), loss)
    assert found is not None
    tolerance = 1e-6 if epsilon < 0.01 or p0 < 1e-6 else 1e-11  # of the floats of the theory
    assert float(found) == pytest.approx(
        minimax.worst_alpha(np.array(rows), p0, loss).bound, rel=tolerance
    )
    vertex = [Fraction(p0)] * (k - 1) + [1 - (k - 1) * Fraction(p0)]
    reached = worst_alpha.loss_above(rows, vertex, loss)
    assert reached is not None
    assert reached <= found * (1 + Fraction(1, 10**20))


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 5), st.floats(0.05, 0.95))
def test_the_supremum_is_above_random_distributions(seed: int, k: int, share: float) -> None:
    rng = np.random.default_rng(seed)
    rows = repaired(0.5 * np.eye(k) + 0.5 * rng.dirichlet(np.ones(k), size=k) + 0.05, 4.0)
    p0 = Fraction(share / k)
    for loss in estimation_fidelity.LOSSES:
        found = worst_alpha.worst_alpha_above(rows, p0, loss)
        assert found is not None
        for extra in rng.dirichlet(np.full(k, 0.5), size=10).tolist():
            total = sum(map(Fraction, extra))
            p = [p0 + (1 - k * p0) * Fraction(x) / total for x in extra]
            value = worst_alpha.loss_above(rows, p, loss)
            assert value is not None
            assert value <= found * (1 + Fraction(1, 10**20))


def test_the_probability_one_over_k_is_exact() -> None:
    for k in range(2, 60):
        assert section.least_probability(k, 1 / k) <= Fraction(1, k)
        with pytest.raises(UnreadableError, match="at most 1/k"):
            section.least_probability(k, math.nextafter(1 / k, 1))


# ---------------------------------------------------------------- bounds


@pytest.mark.parametrize("k", [2, 3, 7, 30, 101])
def test_the_best_block_size_is_next_to_its_formula(k: int) -> None:
    for epsilon in (1e-6, 0.1, 0.9, 2.5, 7.0, 30.0):
        E = exp_above(epsilon)
        best = min(range(1, k), key=lambda m: bounds.balanced_phi(k, m, E))
        assert bounds.phi_bound(k, E) == bounds.balanced_phi(k, best, E)
        assert estimation_fidelity.block_size(k, epsilon) == best


def test_the_symmetric_bound_agrees_with_the_theory() -> None:
    for k, epsilon, p0 in ((3, 0.5, 0.1), (7, 0.5, 0.05), (13, 2.0, 0.001)):
        found = minimax.symmetric_bound(k, epsilon, "tv", p0)
        rows = [Fraction(x) for x in found.rows]
        exact = bounds.symmetric_bound(k, exp_above(epsilon), Fraction(found.rest), rows)
        assert float(exact) == pytest.approx(found.bound, rel=1e-11)


SOURCE = np.array([0.4, 0.3, 0.2, 0.1])
FRACTIONS = [Fraction(x) / 10 for x in (4, 3, 2, 1)]


@pytest.mark.parametrize("loss", estimation_fidelity.LOSSES)
def test_no_forged_design_proves_more_than_the_optimum(loss: str) -> None:
    """Random, huge, tiny and cancelling numbers: refused, or a bound that is true."""
    design = optimal_design(SOURCE, loss, 0.8)
    optimum, rng = Fraction(design.value) * (1 + Fraction(1, 10**12)), np.random.default_rng(0)
    E = exp_above(0.8)
    tried = 0
    for trial in range(300):
        Y, beta = design.Y.copy(), design.beta.copy()
        kind = trial % 6
        if kind == 0:
            Y = Y * (1 + 0.2 * rng.normal(size=Y.shape))
            beta = beta * (1 + 0.3 * rng.random())
        elif kind == 1:
            Y += 10.0 ** rng.integers(-3, 17)  # the mean of a row is taken out
        elif kind == 2:
            beta[0] += (size := 10.0 ** rng.integers(-12, 17))
            beta[1] -= size
        elif kind == 3:
            scale = 10.0 ** rng.integers(-80, 80)
            Y, beta = Y * scale, beta * scale**2
        elif kind == 4:
            beta *= 1 - 10.0 ** -rng.integers(2, 15)
        else:
            Y = rng.normal(size=Y.shape) * 10.0 ** rng.integers(-5, 5)
            beta = np.abs(rng.normal(size=4)) * 10.0 ** rng.integers(-5, 10)
        found = bounds.design_bound(FRACTIONS, E, loss, Y.tolist(), beta.tolist())
        if found is not None:
            tried += 1
            assert found <= optimum
    assert tried > 60


@pytest.mark.parametrize("loss", estimation_fidelity.LOSSES)
def test_the_corners_are_all_visited(loss: str) -> None:
    """β is lowered at a single corner's expense: refused, whichever corner it is."""
    design = optimal_design(SOURCE, loss, 0.8)
    excess = math.expm1(0.8)
    weights = 1 / SOURCE if loss == "f-divergence" else np.ones(4)
    for corner in range(1, 15):
        s = np.array([corner >> i & 1 for i in range(4)], dtype=float)
        gain = (excess * design.Y @ s) ** 2 @ weights / (1 + excess * s @ SOURCE)
        v = 1 + excess * s
        beta = design.beta - v * (design.beta @ v - gain * (1 - 1e-9)) / (v @ v)
        assert (
            bounds.design_bound(FRACTIONS, exp_above(0.8), loss, design.Y.tolist(), beta.tolist())
            is None
        )


def test_no_forged_rows_prove_more_than_the_best_mixture() -> None:
    best = minimax.symmetric_bound(6, 0.8, "tv", 0.03)
    rng = np.random.default_rng(3)
    ceiling = Fraction(best.bound) * (1 + Fraction(1, 10**12))
    for _ in range(200):
        rows = [Fraction(x * 10.0 ** (rng.normal() * rng.integers(0, 4))) for x in best.rows]
        assert bounds.symmetric_bound(6, exp_above(0.8), Fraction(best.rest), rows) <= ceiling
    for rows in ([0, 0, 0], [0, 1, 0], [1, 0, 0], [0, 0, 1]):
        exact = [Fraction(x) for x in rows]
        assert bounds.symmetric_bound(6, exp_above(0.8), Fraction(best.rest), exact) <= ceiling


# ---------------------------------------------------------------- files


def document(loss: str) -> dict[str, Any]:
    return solve(
        problem("minimax-fidelity", inputs=5, epsilon=0.5, p0=0.02, loss=loss), "designs"
    ).to_json()


@pytest.mark.parametrize("loss", estimation_fidelity.LOSSES)
def test_the_words_name_the_class_of_the_bound(loss: str) -> None:
    claims = frame.check(document(loss))
    assert all(claim.holds for claim in claims)
    assert {claim.strength for claim in claims} == {"exact"}
    about = next(claim.about for claim in claims if claim.what == "bound")
    assert ("whatever their number" if loss == "tv" else "as many outputs as inputs") in about


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d["certificate"]["proof"].update(rest=0.01),  # less than p0
        lambda d: d["certificate"]["proof"].update(rest=0.246),
        lambda d: d["certificate"]["proof"].update(rows=[1.0, 1.0, 1.0]),
        lambda d: d["certificate"]["proof"].update(rows=[0.0, 0.0, 0.0]),
        lambda d: d.update(bound=d["bound"] * (1 + 1e-12)),
        lambda d: d.update(value=d["value"] * (1 - 1e-12)),
    ],
)
def test_tampered_total_variation_is_refuted(change: Any) -> None:
    doc = document("tv")
    doc.pop("gap")
    change(doc)
    assert any(claim.holds is False for claim in frame.check(doc))


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d["certificate"]["proof"].update(rows=[1.0, 1.0]),
        lambda d: d["certificate"]["proof"].update(rows=[-1.0, 1.0, 1.0]),
        lambda d: d["certificate"]["proof"].update(rest=1.5),
        lambda d: d["certificate"]["proof"].update(more=1),
        lambda d: d["params"].update(p0=0.2001),
    ],
)
def test_malformed_proofs_are_unreadable(change: Any) -> None:
    doc = document("tv")
    change(doc)
    with pytest.raises(UnreadableError):
        frame.check(doc)


def test_a_proof_that_nothing_asks_for_is_unreadable() -> None:
    doc = document("mse")
    doc["certificate"]["proof"] = {"rest": 0.1, "rows": [1.0, 1.0, 1.0]}
    with pytest.raises(UnreadableError, match="must be null for mse"):
        frame.check(doc)


@pytest.mark.parametrize("epsilon", [1e-6, 1e-3, 20.0])
@pytest.mark.parametrize("loss", estimation_fidelity.LOSSES)
def test_extreme_levels_and_probabilities_verify(epsilon: float, loss: str) -> None:
    """ε from 1e-6 to 20, a probability of 1e-12."""
    question = problem("fidelity", prior=[0.7, 0.3 - 1e-12, 1e-12], epsilon=epsilon, loss=loss)
    assert all(claim.holds for claim in frame.check(solve(question).to_json()))
    worst = problem("minimax-fidelity", inputs=3, epsilon=epsilon, p0=1e-12, loss=loss)
    assert all(claim.holds for claim in frame.check(solve(worst, "designs").to_json()))


@pytest.mark.parametrize("k", [2, 3, 7, 12])
def test_turned_rows_are_inverted_as_other_matrices(k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """One row of a circulant gives all: like elimination, an enclosure of the exact inverse."""
    rng = np.random.default_rng(k)
    units = rng.integers(1, 2**20, k)
    units[0] += 2**24 - units.sum()
    matrix = [np.roll(units / 2**24, x).tolist() for x in range(k)]
    exact = [[Fraction(x) for x in row] for row in matrix]
    information = [[Fraction(int(a @ b), 2**48) for a in turns(units)] for b in turns(units)]
    squares = [[b * b for b in column] for column in zip(*inverse(exact), strict=True)]
    phi = [[sum(map(Fraction.__mul__, row, column)) for column in squares] for row in exact]
    ones = [Fraction(1)] * k
    for turned in (True, False):
        if not turned:
            monkeypatch.setattr(second_moments, "_is_turned", lambda _: False)
        found = second_moments.inverse_information(matrix, ones), second_moments.phi_matrix(matrix)
        for enclosed, true in zip(found, (inverse(information), phi), strict=True):
            assert enclosed is not None
            assert enclosed.radius < Fraction(1, 2**80)
            off = [abs(enclosed.fraction(i, j) - true[i][j]) for i in range(k) for j in range(k)]
            assert max(off) <= enclosed.radius


def turns(row: Array) -> Array:
    """List a vector and its turns."""
    return np.array([np.roll(row, x) for x in range(len(row))], dtype=object)


def test_turned_rows_without_an_inverse() -> None:
    matrix = [[0.5, 0.0, 0.5, 0.0], [0.0, 0.5, 0.0, 0.5]] * 2
    assert second_moments.moments_above(matrix, [Fraction(1)] * 4) is None
    assert second_moments.phi_matrix(matrix) is None
