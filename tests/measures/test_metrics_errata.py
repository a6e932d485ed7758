"""Misprints in proofs of Lopuhaä-Zwakenberg et al. 2019: the print fails, the corrected form holds."""

import itertools
import math

import numpy as np
import pytest
from scipy.special import betaln, gammaln
from scipy.stats import beta as beta_law
from scipy.stats import multivariate_normal

from ldpopt.core.mechanism import Mechanism
from ldpopt.measures.asymptotics import unobfuscated_utility
from ldpopt.measures.fisher import information
from ldpopt.measures.information_about_p import information_about_p
from ldpopt.measures.information_metrics import (
    average_privacy,
    digit_utility,
    rank_and_classes,
)
from ldpopt.measures.posterior import posterior
from ldpopt.measures.tallies import log_multinomial
from ldpopt.mechanisms.catalogue import randomized_response
from ldpopt.mechanisms.listings import compositions
from ldpopt.models.priors import Dirichlet

JEFFREYS = Dirichlet.jeffreys(3)
RESPONSE = randomized_response(3, 1.0)


def multivariate_beta(alpha):
    return math.exp(gammaln(alpha).sum() - gammaln(np.sum(alpha)))


def probability(counts):
    """P(Y = y) of one sequence of reports with the given tallies."""
    return math.exp(posterior(RESPONSE, JEFFREYS, counts).log_evidence)


def test_d_1_the_law_of_the_tallies_needs_the_multinomial_coefficient():
    q, s = np.array([0.2, 0.3, 0.5]), compositions(4, 3)
    printed = (q**s).prod(axis=1)
    assert printed.sum() < 0.5
    assert (np.exp(log_multinomial(s)) * printed).sum() == pytest.approx(1)


def test_d_9_has_one_factor_too_many():
    E, a = math.e, 3
    log_term = beta_law(0.5, 1.0).expect(lambda p: (1 + (E - 1) * p) * math.log1p((E - 1) * p))
    scale = (a + E - 1) * JEFFREYS.expected_entropy()
    truth = average_privacy(RESPONSE, JEFFREYS)
    assert 1 - (E - a * log_term) / scale == pytest.approx(truth, abs=1e-9)
    assert abs(1 - (E - a * log_term / (a + E - 1)) / scale - truth) > 0.1


def test_9_3_and_9_5_are_not_one_constant():
    """(9.5) is B(α) P(Y = y), not (9.3), which is P(Y = y)."""
    y, W = (0, 0, 2), RESPONSE.matrix
    constant = 0.0
    for x in itertools.product(range(3), repeat=3):
        tally = np.bincount(x, minlength=3)
        constant += multivariate_beta(0.5 + tally) * math.prod(W[list(x), list(y)])
    own = probability([2, 0, 1])
    assert constant == pytest.approx(multivariate_beta(JEFFREYS.alpha) * own)
    assert abs(constant / own - 1) > 1


@pytest.mark.parametrize("printed", [False, True])
def test_d_15_needs_the_binomials(printed):
    s, E = (2, 0, 1), math.e
    total = 0.0
    for k in itertools.product(*(range(x + 1) for x in s)):
        ways = 1 if printed else math.prod(map(math.comb, s, k))
        total += ways * multivariate_beta(0.5 + np.array(k)) * (E - 1) ** sum(k)
    truth = probability(s) * multivariate_beta(JEFFREYS.alpha) * (E + 2) ** 3
    assert (total == pytest.approx(truth)) is not printed


def test_a_12_needs_p_in_the_denominator():
    """The information of a mixture is that of its parts, weighted; without p it is another matrix."""
    rng = np.random.default_rng(0)
    p, (first, second) = rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(4), size=(2, 3))
    mixed = information(
        p[None], Mechanism.mixture([Mechanism(first), Mechanism(second)], [0.3, 0.7]).matrix
    )[0]
    parts = [information(p[None], W)[0] for W in (first, second)]
    assert mixed == pytest.approx(0.3 * parts[0] + 0.7 * parts[1])
    printed = sum(w * (W / W.sum(axis=0)) @ W.T for w, W in ((0.3, first), (0.7, second)))
    assert np.abs(printed - mixed).max() > 0.1


def test_c_19_c_25_and_c_26_have_the_other_sign_before_log_2_pi_e():
    """I(X; P) of many data tells: the constant is (a − 1) C_μ + h(P), C_μ with − ½ log 2πe."""
    prior, n = Dirichlet([3.0, 3.0]), 20_000
    rest = information_about_p(np.eye(2), prior, n, "auto", 100, 0) - math.log(n) / 2
    constant = unobfuscated_utility(prior) + prior.differential_entropy()
    assert rest == pytest.approx(constant, abs=1e-3)
    assert abs(rest - constant - math.log(2 * math.pi * math.e)) > 1


def test_corollary_d_14_counts_too_few_terms():
    """The triples (s, k, m) are binom(n + N − 1, N − 1) many, N = (a + 2) 2^(a−1)."""

    def listed(a, n):
        sets = [size for size in range(a + 1) for _ in range(math.comb(a, size))]
        return sum(
            math.prod(
                sum(math.comb(k + size - 1, size - 1) for k in range(s + 1)) if size else 1
                for s, size in zip(row, sets, strict=True)
            )
            for row in compositions(n, len(sets)).tolist()
        )

    for a, n in ((1, 5), (2, 3), (3, 2)):
        N = (a + 2) * 2 ** (a - 1)
        assert listed(a, n) == math.comb(n + N - 1, N - 1)
    assert (3 + 2) * 2**2 - 1 > 1 + (3 + 1) * 2**2  # more than the printed exponent, for three values


def test_remark_6_9_classes_need_an_infinite_level_and_accuracy_falls_with_utility():
    """b' > 1 means a report that excludes inputs, LDP = ∞, not 0; P is known to about e^−U, not e^U."""
    told = Mechanism([[0.7, 0.3, 0], [0.2, 0.8, 0], [0, 0, 1]])
    assert rank_and_classes(told)[1] == 2
    assert told.epsilon() == math.inf
    nothing = Mechanism(np.full((3, 2), 0.5))
    assert (rank_and_classes(nothing)[1], nothing.epsilon()) == (1, 0)
    prior, m = Dirichlet([3.0, 3.0]), randomized_response(2, 2.0)
    few, many = (math.exp(-digit_utility(m, prior, n)) for n in (50, 200))
    ends = [posterior(m, prior, [n // 2, n // 2]).credible_interval(0) for n in (50, 200)]
    shorter = (ends[1][1] - ends[1][0]) / (ends[0][1] - ends[0][0])
    assert many / few == pytest.approx(shorter, rel=0.05)


def test_c_10_has_the_probabilities_for_their_inverses():
    q = np.array([0.2, 0.3, 0.5])
    C = np.diag(1 / q[:2]) + 1 / q[2]
    z, other = np.array([0.7, -0.4]), np.array([0.1, 0.9])
    printed = (q[:2] * z * other).sum() + q[2] * z.sum() * other.sum()
    inverse = (z * other / q[:2]).sum() + z.sum() * other.sum() / q[2]
    assert z @ C @ other == pytest.approx(inverse)
    assert abs(z @ C @ other / printed - 1) > 1


def test_c_9_lacks_the_mean_and_theorem_c_1_the_size_of_a_cell():
    """The law of 4000 reports against the normal density at (y − q): it is n^−(r−1) times that."""
    n, q = 4000, np.array([0.2, 0.3, 0.5])
    tallies = np.array([820, 1190, 1990])
    law = math.exp(log_multinomial(tallies[None])[0] + tallies @ np.log(q))
    normal = multivariate_normal(np.zeros(2), np.linalg.inv(np.diag(1 / q[:2]) + 1 / q[2]) / n)
    around = normal.pdf(tallies[:2] / n - q[:2])
    assert around / n**2 == pytest.approx(law, rel=0.05)
    assert around / law > 1e6  # Theorem C.1 as printed
    assert normal.pdf(tallies[:2] / n) < 1e-100  # and with (C.9) as printed


def test_the_proof_of_6_7_2_counts_two_halves_of_log_n_too_many():
    """H(S) of one coin of unknown bias is log(n + 1): (b + d − 2)/2 = 1 times log n, not 2."""
    entropies = {}
    for n in (100, 10_000):
        law = np.exp(
            [
                gammaln(n + 1) - gammaln(s + 1) - gammaln(n - s + 1) + betaln(s + 1, n - s + 1)
                for s in range(n + 1)
            ]
        )
        entropies[n] = -(law * np.log(law)).sum()
    assert (entropies[10_000] - entropies[100]) / math.log(100) == pytest.approx(1, abs=0.01)


def test_the_proof_of_8_1_has_a_square_too_many():
    """|Q_x − Q_a| ≤ (e^L − 1) min Q; squared it is false below log 2, and (8.1) needs it without."""
    W = randomized_response(3, 0.2).matrix
    factor = math.exp(0.2) - 1
    apart = np.abs(W - W[-1]).max(axis=0)
    assert (apart <= factor * W.min(axis=0) * (1 + 1e-12)).all()
    assert (apart > factor**2 * W.min(axis=0) * 4).any()


def test_the_proof_of_d_13_lacks_a_factor_n():
    """H(Y | P) of n users is n times that of one: I(Y; P) of (D.29) has the factor."""
    W = RESPONSE.matrix
    p = np.array([0.5, 0.3, 0.2])
    joint = np.einsum("i,j,k->ijk", *(p @ W,) * 3)
    one, three = (-(law * np.log(law)).sum() for law in (p @ W, joint))
    assert three == pytest.approx(3 * one)


def test_a_10_means_the_information():
    """I(Y¹, Y²; X | P) ≤ I(Y¹; X | P) + I(Y²; X | P), all of them informations."""
    both = average_privacy(RESPONSE.product(RESPONSE), JEFFREYS)
    assert 1 - both <= 2 * (1 - average_privacy(RESPONSE, JEFFREYS)) + 1e-9
