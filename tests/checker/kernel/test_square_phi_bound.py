"""What is proven of φ of mechanisms with k outputs, against mechanisms and against its own lemmas."""

from contextlib import suppress
from fractions import Fraction

import numpy as np
import pytest

from ldpopt import problem, solve, verify
from ldpopt.checker import frame
from ldpopt.checker.kernel.arithmetic import exp_above
from ldpopt.checker.kernel.budget import UndecidedError
from ldpopt.checker.kernel.proofs.fidelity_bounds import balanced_phi, phi_bound
from ldpopt.checker.kernel.proofs.square_phi_bound import square_phi_reaches
from ldpopt.measures.estimation_fidelity import phi, square_phi_bound


def columns(k: int, epsilon: float, rng: np.random.Generator) -> np.ndarray:
    """Draw a square mechanism whose columns have entries at and between two levels."""
    while True:
        height = np.clip(rng.normal(0.5, rng.uniform(0.3, 3), (k, k)), 0, 1)
        W = 1 + np.expm1(epsilon) * height
        W = W / W.sum(axis=1, keepdims=True)
        if np.linalg.cond(W) < 1e6:
            ratio = (W.max(axis=0) / W.min(axis=0)).max()
            if ratio <= np.exp(epsilon):
                return W


@pytest.mark.parametrize(("k", "epsilon"), [(5, 0.3), (6, 1.0)])
def test_no_mechanism_is_below(k: int, epsilon: float) -> None:
    """Local minima and random mechanisms lie above; φ* of all mechanisms lies below."""
    bound = float(square_phi_bound(k, epsilon))
    assert bound > 1.02 * float(phi_bound(k, exp_above(epsilon)))
    result = solve(problem("square-fidelity", inputs=k, epsilon=epsilon), "descent", starts=2)
    assert result.bound == pytest.approx(bound, rel=1e-12)
    assert bound < result.value
    assert verify(result)
    claim = next(claim for claim in verify(result).claims if claim.what == "bound")
    assert "with as many outputs as inputs" in claim.statement
    rng = np.random.default_rng(k)
    assert min(phi(columns(k, epsilon, rng)) for _ in range(200)) > bound


@pytest.mark.parametrize("k", [4, 5, 8])
def test_lemma_two_holds_for_drawn_mechanisms(k: int) -> None:
    """φ − φ* is at least what the pairs of columns say, with the Λ and h of the mechanism itself."""
    rng = np.random.default_rng(k)
    for _ in range(100):
        epsilon = rng.uniform(0.1, 1.5)
        W = columns(k, epsilon, rng)
        excess = np.expm1(epsilon)
        sums = W.sum(axis=0)
        U = (W / sums - 1 / k) / excess
        m = np.arange(1, k)
        t = (m * (k - m) / (k * (k + excess * m) ** 2)).max()
        mu = k * t / (k - 1)
        eigenvalues = np.linalg.eigvalsh((U * sums) @ U.T)[1:]
        top = max(eigenvalues.max(), mu)
        gram = U.T @ U
        deficit = t - np.diag(gram)
        assert deficit.min() > -1e-12
        off = ~np.eye(k, dtype=bool)
        h = ((deficit[:, None] + deficit) / (2 * k) * 0.5 + (gram + mu / k) ** 2 / top)[off].min()
        h = min(h, mu**2 / top, 0.4 * mu / (k - 1))
        theta = h * (k - 1) / mu * (1 + h * top / mu**2)
        eta = (1 - theta) / (2 * k)
        h = min(h, (eta * (deficit[:, None] + deficit) + (gram + mu / k) ** 2 / top)[off].min())
        least = 1 + (k - 1) / (excess**2 * mu)
        assert phi(W) >= (least + k * (k - 1) * h / (excess * mu) ** 2) * (1 - 1e-9)


def test_designs_are_not_excluded() -> None:
    """Where a symmetric design has the best block size, nothing above φ* is proven."""
    for k, epsilon in ((7, 0.5), (13, 0.8), (16, 0.5), (4, 1.0)):
        E = exp_above(epsilon)
        least = phi_bound(k, E)
        assert square_phi_bound(k, epsilon) == least
        assert not square_phi_reaches(k, E, least * Fraction(1_000_001, 1_000_000))


def test_two_best_block_sizes() -> None:
    """(K−m)(K−m−1) = m(m+1)E² makes m and m + 1 equally good; pairs of both sizes count."""
    k, m = 6, 2
    E = Fraction(2)  # (4·3)/(2·3) = 2 < 4: m = 2 is the best, alone
    assert phi_bound(k, E) == balanced_phi(k, m, E)
    assert square_phi_reaches(k, E, phi_bound(k, E) * Fraction(101, 100))
    assert not square_phi_reaches(k, E, phi_bound(k, E) * Fraction(12, 10))


@pytest.mark.parametrize(("epsilon", "gained"), [(1e-9, True), (1e-3, True), (5.0, False)])
def test_extreme_levels(epsilon: float, gained: bool) -> None:
    """At high levels the step mechanism attains φ*; two inputs leave nothing to gain."""
    for k in (2, 6):
        E = exp_above(epsilon)
        least = phi_bound(k, E)
        assert square_phi_reaches(k, E, least * Fraction(101, 100)) is (gained and k > 2)
        assert not square_phi_reaches(k, E, 2 * balanced_phi(k, 1, E))


def test_nothing_false_is_proven_at_a_huge_level() -> None:
    """The step mechanism attains φ* there; boxes of 2⁻²⁴ are too coarse to say so."""
    E = exp_above(30.0)
    with suppress(UndecidedError):
        assert not square_phi_reaches(6, E, phi_bound(6, E) * Fraction(101, 100), 2000)


def test_too_many_boxes_are_undecided() -> None:
    E = exp_above(0.3)
    with pytest.raises(UndecidedError, match="more than 50 boxes"):
        square_phi_reaches(6, E, phi_bound(6, E) * Fraction(104, 100), 50)


@pytest.mark.parametrize("kind", ["square-fidelity", "circulant-fidelity", "minimax-fidelity"])
def test_a_bound_beyond_the_lemmas_is_refuted(kind: str) -> None:
    params = {"inputs": 6, "epsilon": 1.0} | ({"p0": 0.1} if kind == "minimax-fidelity" else {})
    document = solve(problem(kind, **params), "descent", starts=1).to_json()
    assert all(claim.holds for claim in frame.check(document))
    document["bound"] += 0.5 * (document["value"] - document["bound"])
    document["gap"] = document["value"] - document["bound"]
    claims = {claim.what: claim.holds for claim in frame.check(document)}
    assert claims["bound"] is False


def test_the_bound_is_not_one_over_all_mechanisms() -> None:
    """Subset selection has a smaller φ, so broad mechanisms are not held to it."""
    document = solve(problem("broad-fidelity", inputs=6, epsilon=1.0)).to_json()
    document["bound"] = float(square_phi_bound(6, 1.0)) * (1 - 1e-12)
    assert document["bound"] > document["value"]
    assert not all(claim.holds for claim in frame.check(document))
