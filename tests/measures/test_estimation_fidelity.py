"""Pastore and Gastpar 2021: known values, brute force, theorems as properties, and where they fail."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from ldpopt import Mechanism, solve
from ldpopt.checker.kernel.arithmetic import exp_above
from ldpopt.checker.kernel.proofs import fidelity_bounds
from ldpopt.checker.kernel.schema import normalised
from ldpopt.core.errors import InvalidInputError
from ldpopt.core.validate import Array
from ldpopt.measures import estimation_fidelity, losses, minimax
from ldpopt.mechanisms.balanced_designs import DifferenceSet, step_mechanism, subset_selection, two_level
from ldpopt.mechanisms.listings import compositions
from ldpopt.problems import Fidelity

W = [[0.5, 0.3, 0.2], [0.25, 0.45, 0.3], [0.2, 0.2, 0.6]]
P = [0.5, 0.3, 0.2]
FANO = DifferenceSet("Fano", (7,), ((1,), (2,), (4,)))


def random_channel(rng: np.random.Generator, k: int, outputs: int) -> Array:
    """A random mechanism whose rows are distinct enough to be inverted."""
    rows = rng.dirichlet(np.ones(outputs), size=k)
    return 0.5 * rows + 0.5 * np.eye(k, outputs)


# ---------------------------------------------------------------- known values


def test_known_values() -> None:
    assert estimation_fidelity.phi(W) == pytest.approx(34.734693877551, abs=1e-12)
    assert estimation_fidelity.phi(Mechanism(W)) == estimation_fidelity.phi(W)
    assert estimation_fidelity.phi_matrix(W).sum() == pytest.approx(34.734693877551, abs=1e-12)
    assert estimation_fidelity.alpha(W, P, "f-divergence") == pytest.approx(18.715136054422, abs=1e-12)
    assert estimation_fidelity.alpha(W, P, "mse") == pytest.approx(18.830809743252, abs=1e-12)
    assert estimation_fidelity.alpha(W, P, "tv") == pytest.approx(18.156130471918, abs=1e-12)


def test_known_coefficients() -> None:
    A, B, C = estimation_fidelity.expansion_coefficients(W, P)
    assert pytest.approx(37.430272108844, abs=1e-10) == A
    assert pytest.approx(127.657434402332, abs=1e-10) == B
    assert pytest.approx(1944.958704513554, abs=1e-9) == C


@pytest.mark.parametrize(
    ("estimator", "loss", "expected"),
    [
        ("ml", "kl", 0.448121930675),
        ("ml", "mse", 0.249705857551),
        ("ml", "tv", 0.723264037234),
        ("mmse", "kl", 0.453188479190),
        ("mmse", "mse", 0.254731442809),
        ("mmse", "tv", 0.729986215481),
    ],
)
def test_known_exact_losses(estimator: str, loss: str, expected: float) -> None:
    found = losses.expected_loss(W, P, 20, loss, estimator)
    assert found == pytest.approx(expected, abs=2e-12)
    assert found.method == "exact-enumeration"


def test_phi_of_the_seven_point_plane() -> None:
    assert estimation_fidelity.phi(two_level(FANO.blocks(), 0.5)) == pytest.approx(
        571.530243354543, abs=1e-9
    )
    assert estimation_fidelity.phi(step_mechanism(7, 0.5)) == pytest.approx(835.089480842905, abs=1e-9)
    assert estimation_fidelity.phi_bound(7, 0.5) == pytest.approx(571.530243354543, abs=1e-9)
    assert estimation_fidelity.phi(step_mechanism(7, 1.5)) == pytest.approx(55.379326853438, abs=1e-10)


def test_step_mechanism_against_the_paper() -> None:
    """(31a), (31b), (33)."""
    k, E = 6, math.exp(0.9)
    expected = ((E - 1) * (E + k - 3) * np.eye(k) + (E + k - 2)) / (E - 1) ** 2
    np.testing.assert_allclose(estimation_fidelity.phi_matrix(step_mechanism(k, 0.9)), expected)
    phi = k / (E - 1) ** 2 * ((E + k - 1) * (E + k - 2) + 1 - E)
    assert estimation_fidelity.phi(step_mechanism(k, 0.9)) == pytest.approx(phi)
    assert estimation_fidelity.balanced_phi(k, 0.9, 1) == pytest.approx(phi)


# ---------------------------------------------------------------- the theorem put right


@pytest.mark.parametrize("k", [2, 3, 4, 5, 7, 12, 30, 100])
def test_step_is_optimal_iff(k: int) -> None:
    """m* = 1, and the step mechanism meets the bound, exactly where e^{2ε} ≥ (K−1)(K−2)/2."""
    for epsilon in np.linspace(0.03, 5, 41):
        meets = estimation_fidelity.balanced_phi(k, epsilon, 1) <= estimation_fidelity.phi_bound(
            k, epsilon
        ) * (1 + 1e-12)
        assert meets == (math.exp(2 * epsilon) >= (k - 1) * (k - 2) / 2)
        assert meets == (estimation_fidelity.block_size(k, epsilon) == 1)


def test_theorem_9_is_false_and_where_it_turns() -> None:
    """K = 7: the Fano circulant beats the step mechanism up to ε ≈ 1.04."""
    fano = [estimation_fidelity.phi(two_level(FANO.blocks(), eps)) for eps in (0.1, 0.5, 1.03, 1.05)]
    step = [estimation_fidelity.phi(step_mechanism(7, eps)) for eps in (0.1, 0.5, 1.03, 1.05)]
    assert [a < b for a, b in zip(fano, step, strict=True)] == [True, True, True, False]


def test_lemma_11_is_false() -> None:
    """K = 73, ε = 2.4: a planar difference set lies below the printed bound, not below φ*."""
    planar = (0, 1, 3, 7, 15, 31, 36, 54, 63)
    circulant = two_level(DifferenceSet("planar", (73,), tuple((d,) for d in planar)).blocks(), 2.4)
    assert Mechanism(circulant).epsilon() == pytest.approx(2.4)
    assert estimation_fidelity.phi(circulant) == pytest.approx(2387.26, abs=0.005)
    assert estimation_fidelity.printed_phi_bound(73, 2.4) == pytest.approx(2600.44, abs=0.005)
    assert estimation_fidelity.phi_bound(73, 2.4) <= estimation_fidelity.phi(circulant)


def test_bound_is_far_tighter_than_the_printed_one() -> None:
    assert estimation_fidelity.phi_bound(7, 0.1) == pytest.approx(14516, abs=0.5)
    assert estimation_fidelity.printed_phi_bound(7, 0.1) == pytest.approx(148, abs=0.5)


def test_best_block_size_by_its_inequality() -> None:
    """m* = m exactly when (K−m)(K−m−1)/(m(m+1)) ≤ E² ≤ (K−m+1)(K−m)/((m−1)m)."""
    k = 20
    for epsilon in np.linspace(0.1, 3, 30):
        m, E2 = estimation_fidelity.block_size(k, epsilon), math.exp(2 * epsilon)
        assert (k - m) * (k - m - 1) / (m * (m + 1)) <= E2
        assert m == 1 or (k - m + 1) * (k - m) / ((m - 1) * m) >= E2


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.integers(2, 6), st.integers(0, 4), st.floats(0.1, 3))
def test_bound_holds_for_random_mechanisms(seed: int, k: int, more: int, epsilon: float) -> None:
    rng = np.random.default_rng(seed)
    blocks = rng.random((k, k + more)) < 0.5
    height = np.where(rng.random((k, k + more)) < 0.7, blocks, rng.random((k, k + more)))
    noisy = 1 + math.expm1(epsilon / 2) * height
    rows = noisy / noisy.sum(axis=1, keepdims=True)  # entries and row sums each vary by e^{ε/2}
    assert Mechanism(rows).epsilon() <= epsilon + 1e-9
    if np.linalg.cond(rows @ rows.T) < 1e8:
        assert estimation_fidelity.phi(rows) >= estimation_fidelity.phi_bound(k, epsilon) * (1 - 1e-9)


@pytest.mark.parametrize(("k", "m"), [(4, 2), (5, 2), (6, 3)])
def test_subset_selection_is_balanced(k: int, m: int) -> None:
    found = estimation_fidelity.phi(subset_selection(k, 0.7, m))
    assert found == pytest.approx(estimation_fidelity.balanced_phi(k, 0.7, m))
    uniform = estimation_fidelity.alpha(subset_selection(k, 0.7, m), np.full(k, 1 / k), "mse")
    assert uniform == pytest.approx((found - 1) / (k - 1))


# ---------------------------------------------------------------- data processing


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.integers(2, 5))
def test_data_processing(seed: int, k: int) -> None:
    """Theorem 7 and Corollary 6: another channel behind the first only loses."""
    rng = np.random.default_rng(seed)
    first, second = random_channel(rng, k, k), random_channel(rng, k, k)
    both = first @ second
    assert (estimation_fidelity.phi_matrix(both) >= estimation_fidelity.phi_matrix(first) - 1e-9).all()
    assert (estimation_fidelity.phi_matrix(first) >= np.eye(k) - 1e-9).all()
    p = rng.dirichlet(np.ones(k)) * 0.9 + 0.1 / k
    for loss in estimation_fidelity.LOSSES:
        clear, once = (
            estimation_fidelity.alpha(np.eye(k), p, loss),
            estimation_fidelity.alpha(first, p, loss),
        )
        assert clear == pytest.approx(1)
        assert 1 - 1e-9 <= once <= estimation_fidelity.alpha(both, p, loss) * (1 + 1e-9)


def test_broad_data_processing() -> None:
    """Merging outputs of a broad mechanism loses, at every distribution."""
    rng = np.random.default_rng(1)
    W = random_channel(rng, 3, 5)
    merged = np.column_stack([W[:, :3], W[:, 3] + W[:, 4]])
    for loss in estimation_fidelity.LOSSES:
        assert estimation_fidelity.alpha(merged, P, loss) >= estimation_fidelity.alpha(W, P, loss)


def test_circulants_make_all_losses_agree() -> None:
    """Lemma 8, and (22) in general."""
    uniform = np.full(7, 1 / 7)
    W = two_level(FANO.blocks(), 0.8)
    expected = (estimation_fidelity.phi(W) - 1) / 6
    for loss in estimation_fidelity.LOSSES:
        assert estimation_fidelity.alpha(W, uniform, loss) == pytest.approx(expected)
    other = random_channel(np.random.default_rng(0), 4, 4)
    tv, mse = (estimation_fidelity.alpha(other, np.full(4, 0.25), loss) for loss in ("tv", "mse"))
    assert tv < mse


# ---------------------------------------------------------------- expansions and finite n


def test_expansion_of_the_empirical_distribution() -> None:
    """Remark 2: with the identity channel, (16) is Abe's expansion (1)."""
    n, p = 50, np.array(P)
    abe = 2 / (2 * n) + ((1 / p).sum() - 1) / (12 * n**2)
    assert estimation_fidelity.expansion(np.eye(3), P, n, "kl") == pytest.approx(abe)


@pytest.mark.parametrize("loss", losses.FINITE_LOSSES)
def test_expansion_meets_the_exact_loss(loss: str) -> None:
    """At n = 300 and a mild channel the projection hardly matters."""
    mild = 0.8 * np.eye(3) + 0.2 / 3
    exact = losses.expected_loss(mild, [0.4, 0.3, 0.3], 300, loss, "ml")
    tolerance = 2e-2 if loss == "tv" else 2e-4
    assert estimation_fidelity.expansion(mild, [0.4, 0.3, 0.3], 300, loss) == pytest.approx(
        exact, rel=tolerance
    )


def test_second_order_term_needs_the_correction() -> None:
    """(17b) as printed, with ν₂/ν₃, misses the exact loss by far more than the corrected one."""
    mild, p, n = 0.8 * np.eye(3) + 0.2 / 3, np.array([0.4, 0.35, 0.25]), 300
    A, B, C = estimation_fidelity.expansion_coefficients(mild, p)
    inverse = np.linalg.inv(mild)
    nu2, nu3 = (p @ mild @ inverse**r for r in (2, 3))
    printed = 2 + (nu3 / p**2 - 3 * nu2 / nu3).sum()
    exact = losses.expected_loss(mild, p, n, "kl", "ml")
    errors = [abs(A / (2 * n) + (-b / 6 + C / 4) / n**2 - exact) for b in (B, printed)]
    assert errors[0] < 0.2 * errors[1]


def test_monte_carlo_agrees_with_enumeration(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = losses.expected_loss(W, P, 20, "mse", "mmse")
    monkeypatch.setattr(losses, "MOST_COUNT_VECTORS", 10)
    sampled = losses.expected_loss(W, P, 20, "mse", "mmse")
    assert sampled.method == "monte-carlo"
    assert 0 < sampled.error < 0.01
    assert abs(sampled - exact) < 4 * sampled.error


def test_count_vectors_are_all() -> None:
    counts = compositions(6, 4)
    assert len(counts) == len({tuple(row) for row in counts}) == math.comb(9, 3)
    assert (counts.sum(axis=1) == 6).all()
    assert losses.multinomial(counts, np.array([0.1, 0.2, 0.3, 0.4])).sum() == pytest.approx(1)


# ---------------------------------------------------------------- suprema and lower bounds


@pytest.mark.parametrize("loss", estimation_fidelity.LOSSES)
def test_lower_bounds_hold(loss: str) -> None:
    rng = np.random.default_rng(4)
    for epsilon in (0.3, 1.0, 2.5):
        for mechanism in (step_mechanism(7, epsilon).matrix, two_level(FANO.blocks(), epsilon)):
            p = rng.dirichlet(np.ones(7)) * 0.8 + 0.2 / 7
            bound = estimation_fidelity.alpha_bound(p, epsilon, loss)
            assert 1 <= bound <= estimation_fidelity.alpha(mechanism, p, loss) * (1 + 1e-12)
            floor = minimax.symmetric_bound(7, epsilon, loss, 0.02).bound
            worst = minimax.worst_alpha(mechanism, 0.02, loss).value
            assert 1 <= floor * (1 + 1e-12) <= worst * (1 + 1e-11)


def test_alpha_bound_is_tight_for_the_uniform_source() -> None:
    uniform = np.full(7, 1 / 7)
    for loss in ("f-divergence", "mse"):
        tight = estimation_fidelity.alpha(two_level(FANO.blocks(), 0.5), uniform, loss)
        assert estimation_fidelity.alpha_bound(uniform, 0.5, loss) == pytest.approx(tight)


def random_private(k: int, epsilon: float, rng: np.random.Generator) -> Array:
    """A random choice of columns in {1, E}^k, all of them at hand, with rows that sum to 1."""
    levels = np.exp(epsilon * np.array(list(product((0, 1), repeat=k)))).T
    weights = linprog(rng.random(levels.shape[1]), A_eq=levels, b_eq=np.ones(k)).x
    used: Array = levels[:, weights > 0] * weights[weights > 0]
    return used


@pytest.mark.parametrize("k", [2, 3, 5])
def test_no_distribution_beats_the_best_case(k: int) -> None:
    """Pastore and Gastpar 2021, 3.3.3: random distributions and mechanisms; uniform ones attain it."""
    rng = np.random.default_rng(k)
    for epsilon in (0.3, 1.0, 2.5):
        best = estimation_fidelity.best_case_alpha(k, epsilon)
        assert 1 <= best.bound <= best.value * (1 + 1e-12)
        block = subset_selection(k, epsilon, estimation_fidelity.block_size(k, epsilon))
        for loss in estimation_fidelity.LOSSES:
            assert estimation_fidelity.alpha(block, np.full(k, 1 / k), loss) == pytest.approx(best.value)
        for _ in range(30):
            step, p = step_mechanism(k, epsilon).matrix, rng.dirichlet(np.full(k, 2.0))
            mixed = np.hstack([0.5 * step, 0.5 * random_private(k, epsilon, rng)])
            for mechanism in (step, mixed):
                assert estimation_fidelity.alpha(mechanism, p, "f-divergence") >= best.bound * (1 - 1e-9)


def test_the_best_case_is_exact_where_subsets_have_the_right_size() -> None:
    for k, m in ((3, 1), (6, 2), (12, 3)):
        best = estimation_fidelity.best_case_alpha(k, math.log(k / m - 1))
        assert best.bound == pytest.approx(best.value, rel=1e-12)


def test_the_best_case_sharpens_the_bound_at_lopsided_distributions() -> None:
    lopsided = [0.9, 0.05, 0.05]
    bound = estimation_fidelity.alpha_bound(lopsided, 0.5, "f-divergence")
    assert bound == pytest.approx(2 / math.sinh(0.25) ** 2)
    source = normalised([lopsided], "p")[0]
    below = float(fidelity_bounds.alpha_bound(source, exp_above(0.5), "f-divergence"))
    assert below == pytest.approx(bound, rel=1e-12)
    assert below <= solve(Fidelity(0.5, lopsided, "f-divergence"), gap=1e-6).value


# ---------------------------------------------------------------- divergences of one's own

CUBIC = losses.Divergence(lambda x: x**3 - 1, second=6, third=6, fourth=0)


def test_a_divergence_of_ones_own() -> None:
    """f(x) = x³ − 1: the exact loss against its expansion, and a named one by hand."""
    mild, p = 0.8 * np.eye(3) + 0.2 / 3, [0.4, 0.3, 0.3]
    exact = losses.expected_loss(mild, p, 300, CUBIC, "ml")
    assert estimation_fidelity.expansion(mild, p, 300, CUBIC) == pytest.approx(exact, rel=2e-4)
    by_name, by_hand = "kl", losses.DIVERGENCES["kl"]
    for call in (estimation_fidelity.expansion, lambda *a: losses.expected_loss(*a, "mmse")):
        assert call(mild, p, 20, by_name) == call(mild, p, 20, by_hand)


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: estimation_fidelity.expansion(W, P, 9, CUBIC._replace(second=-1)), "f must be convex"),
        (
            lambda: estimation_fidelity.expansion(W, P, 9, CUBIC._replace(third=math.nan)),
            "derivatives of f",
        ),
        (
            lambda: losses.expected_loss(W, P, 9, CUBIC._replace(f=np.exp), "ml"),
            "f must be 0 at 1",
        ),
        (lambda: losses.expected_loss(W, P, 9, 3, "ml"), "a name or a Divergence, not 3"),
        (lambda: estimation_fidelity.alpha(W, [0.5, 0.5, 0.0], "mse"), r"p\[2\] is 0"),
        (
            lambda: estimation_fidelity.alpha(W, [0.5, 0.5], "mse"),
            "p must have 3 entries, one per input, not 2",
        ),
        (lambda: estimation_fidelity.alpha(W, P, "kl"), "loss must be one of"),
        (lambda: estimation_fidelity.phi([[0.5, 0.5], [0.5, 0.5]]), "rank 1 for 2 inputs"),
        (
            lambda: estimation_fidelity.phi([[0.5, 0.5], [0.4, 0.6], [0.1, 0.9]]),
            "2 outputs for 3 inputs",
        ),
        (lambda: estimation_fidelity.phi([[0.5, 0.6], [0.4, 0.6]]), "row 0 of the mechanism matrix"),
        (lambda: estimation_fidelity.phi_bound(1, 0.5), "k must be a whole number >= 2"),
        (lambda: estimation_fidelity.phi_bound(7, -1), "epsilon must be a finite number > 0"),
        (lambda: estimation_fidelity.balanced_phi(7, 1, 7), "from 1 to 6, not 7"),
        (lambda: losses.expected_loss(W, P, 0, "kl", "ml"), "n must be a whole number"),
        (lambda: losses.expected_loss(W, P, 5, "kl", "inversion"), "estimator must be one of"),
        (lambda: minimax.symmetric_bound(5, 1, "mse", 0.3), "p0 must be at most 1/5"),
        (lambda: minimax.worst_alpha(subset_selection(4, 1, 2), 0.1, "mse"), "square mechanism"),
    ],
)
def test_bad_input(call, complaint: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InvalidInputError, match=complaint):
        call()
