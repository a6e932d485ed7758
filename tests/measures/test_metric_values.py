"""The metrics of Lopuhaä-Zwakenberg et al. 2019: known values, theorems as properties, brute force."""

from __future__ import annotations

import math
import pickle
from itertools import product

import numpy as np
import pytest
from bayesian import ALPHA, Q_A, response
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import digamma

from ldpopt.core.mechanism import Mechanism
from ldpopt.measures import information_about_p, information_about_tallies, information_metrics
from ldpopt.measures.asymptotics import HALF_LOG_2PIE, unobfuscated_utility
from ldpopt.measures.information_decomposition import information_split
from ldpopt.measures.information_growth import growth
from ldpopt.measures.information_metrics import (
    Estimate,
    asymptotic_utility,
    average_privacy,
    digit_utility,
    distribution_utility,
    participation_factor,
    tally_utility,
)
from ldpopt.measures.leakage import maximal_leakage
from ldpopt.measures.posterior import posterior, posterior_of_reports
from ldpopt.mechanisms import HadamardResponse, LocalHashing, SubsetSelection, UnaryEncoding
from ldpopt.models.priors import Dirichlet, PointMixture


def random_mechanism(rng: np.random.Generator, k: int, outputs: int) -> Mechanism:
    return Mechanism(rng.dirichlet(np.ones(outputs), k))


KNOWN = [
    (lambda: average_privacy(Q_A, ALPHA), 0.885705071542),
    (lambda: asymptotic_utility(Q_A, ALPHA), -1.685076995681),
    (lambda: participation_factor(Q_A, ALPHA), 0.040848301898),
    (lambda: distribution_utility(Q_A, ALPHA, 3), 0.135080885429),
    (lambda: tally_utility(Q_A, ALPHA, 3), 0.085075054746),
    (lambda: digit_utility(Q_A, ALPHA, 3), 0.770924747258),
    (lambda: average_privacy(response(4, 0.7), Dirichlet.jeffreys(4)), 0.959543780714),
    (lambda: asymptotic_utility(response(4, 0.7), Dirichlet.jeffreys(4)), -2.080830956639),
    (lambda: average_privacy(UnaryEncoding(3, 0.75, 0.3), Dirichlet.jeffreys(3)), 0.761235720038),
    (lambda: asymptotic_utility(UnaryEncoding(3, 0.75, 0.3), Dirichlet.jeffreys(3)), -1.114414571815),
]


@pytest.mark.parametrize(("metric", "value"), KNOWN)
def test_known_values_to_twelve_digits(metric, value):
    estimate = metric()
    assert estimate == pytest.approx(value, abs=2e-12)
    assert estimate.error < 1e-11


def test_remark_7_9_a_mixture_beats_its_parts():
    first = Mechanism([[1, 0, 0], [0, 2 / 3, 1 / 3], [0, 1 / 3, 2 / 3]])
    second = Mechanism([[2 / 3, 1 / 3, 0], [1 / 3, 2 / 3, 0], [0, 0, 1]])
    uniform = Dirichlet.uniform(3)
    both = Mechanism.mixture([first, second], [0.5, 0.5])
    for part in (first, second):
        assert asymptotic_utility(part, uniform) == pytest.approx(-0.987085713765, abs=2e-12)
    assert asymptotic_utility(both, uniform) == pytest.approx(-0.691227450898, abs=2e-12)


def test_an_estimate_is_a_float_that_pickles():
    estimate = Estimate(0.5, 0.1, "monte-carlo")
    copy = pickle.loads(pickle.dumps(estimate))
    assert (copy, copy.error, copy.method) == (0.5, 0.1, "monte-carlo")
    assert "monte-carlo" in repr(estimate)


# ---------------------------------------------------------------- closed forms against brute force


def brute_force_information(W: np.ndarray, prior: Dirichlet, n: int) -> float:
    """I(Y; P) from the definition: all sequences, P integrated by a fine rule."""
    points, weights = prior.fine_nodes(3)
    q = points @ W
    total = 0.0
    for y in product(range(W.shape[1]), repeat=n):
        given = q[:, list(y)].prod(axis=1)
        marginal = weights @ given
        total += weights @ (given * (np.log(given) - math.log(marginal)))
    return total


def brute_force_tally_information(W: np.ndarray, prior: Dirichlet, n: int) -> float:
    """I(Y; T) from the joint distribution of tallies and sequences."""
    k, b = W.shape
    joint: dict[tuple[tuple[int, ...], tuple[int, ...]], float] = {}
    for x in product(range(k), repeat=n):
        t = tuple(x.count(v) for v in range(k))
        for y in product(range(b), repeat=n):
            chance = prior.moment(t) * math.prod(W[i, j] for i, j in zip(x, y, strict=True))
            joint[t, y] = joint.get((t, y), 0.0) + chance
    p_t: dict[tuple[int, ...], float] = {}
    p_y: dict[tuple[int, ...], float] = {}
    for (t, y), chance in joint.items():
        p_t[t] = p_t.get(t, 0.0) + chance
        p_y[y] = p_y.get(y, 0.0) + chance
    return sum(c * math.log(c / p_t[t] / p_y[y]) for (t, y), c in joint.items())


def test_finite_utilities_against_brute_force():
    rng = np.random.default_rng(5)
    m = random_mechanism(rng, 3, 4)
    exact = information_about_p.information_about_p(m.matrix, ALPHA, 3, "exact", 100, 0)
    assert exact == pytest.approx(brute_force_information(m.matrix, ALPHA, 3), abs=1e-10)
    exact = information_about_tallies.information_about_tallies(m.matrix, ALPHA, 3, "exact", 100, 0)
    assert exact == pytest.approx(brute_force_tally_information(m.matrix, ALPHA, 3), abs=1e-10)


def test_errata_d20_the_sign_of_the_entropy():
    """(D.20) prints + n H(X|P); with −, it is I(X; P)."""
    n = 3
    value = information_about_p.information_about_p(np.eye(3), ALPHA, n, "exact", 100, 0)
    brute = brute_force_information(np.eye(3), ALPHA, n)
    assert value == pytest.approx(brute, abs=1e-9)
    assert value + 2 * n * ALPHA.expected_entropy() > brute + 1


@pytest.mark.parametrize("alpha", [[0.5, 0.5, 0.5], [0.5, 1.2, 2.0]])
def test_randomised_response_by_polynomials_equals_general_enumeration(alpha, monkeypatch):
    prior, m = Dirichlet(alpha), response(3, 1.1)
    fast = distribution_utility(m, prior, 25)
    monkeypatch.setattr(information_about_p, "response_level", lambda W: None)
    assert fast == pytest.approx(distribution_utility(m, prior, 25), abs=1e-11)


def test_two_hundred_users_exactly():
    value = distribution_utility(response(3, 0.7), Dirichlet.jeffreys(3), 200)
    assert value.method == "exact-enumeration"
    assert value == pytest.approx(0.358636821958, abs=1e-11)  # by Gauss quadrature over all tallies


def test_unary_encoding_of_a_thousand_values_does_not_overflow():
    value = average_privacy(UnaryEncoding.oue(1000, 2.0), Dirichlet.jeffreys(1000))
    assert value.method == "closed-form"
    assert 0.93 < value < 0.931


def test_sampling_agrees_with_enumeration_within_its_error():
    for metric in (distribution_utility, tally_utility, digit_utility):
        exact = metric(Q_A, ALPHA, 8)
        drawn = metric(Q_A, ALPHA, 8, method="monte-carlo")
        assert drawn.method == "monte-carlo"
        assert abs(drawn - exact) < 4 * drawn.error
    exact = asymptotic_utility(UnaryEncoding(3, 0.75, 0.3), Dirichlet.jeffreys(3))
    drawn = asymptotic_utility(UnaryEncoding(3, 0.75, 0.3), Dirichlet.jeffreys(3), method="monte-carlo")
    assert abs(drawn - exact) < 4 * drawn.error < 0.01


def test_exact_work_that_would_not_finish_is_refused_with_its_cost():
    m = random_mechanism(np.random.default_rng(0), 4, 6)
    with pytest.raises(ValueError, match=r"would take about .* operations"):
        distribution_utility(m, Dirichlet.jeffreys(4), 60, method="exact")
    assert distribution_utility(m, Dirichlet.jeffreys(4), 60).method == "monte-carlo"


@pytest.mark.parametrize(
    "m",
    [
        UnaryEncoding.rappor(3, 1.0),
        UnaryEncoding.oue(4, 2.0),
        LocalHashing(3, 3, 1.0),
        SubsetSelection(4, 2, 1.5),
    ],
    ids=repr,
)
def test_set_mechanisms_agree_with_their_matrices(m):
    for prior in (Dirichlet.jeffreys(m.k), Dirichlet(0.5 + np.arange(m.k))):
        assert average_privacy(m, prior) == pytest.approx(average_privacy(m.dense(), prior), abs=1e-11)
        assert asymptotic_utility(m, prior) == pytest.approx(
            asymptotic_utility(m.dense(), prior), abs=1e-10
        )
    assert maximal_leakage(m) == pytest.approx(maximal_leakage(m.dense()))
    assert information_metrics.rank_and_classes(m) == information_metrics.rank_and_classes(m.dense())


def test_local_hashing_is_unary_encoding_in_disguise():
    """With g = e^ε + 1 buckets local hashing has the likelihoods of OUE, so the same metrics."""
    epsilon, prior = math.log(3), Dirichlet.jeffreys(40)
    hashing, unary = LocalHashing(40, 4, epsilon), UnaryEncoding.oue(40, epsilon)
    assert average_privacy(hashing, prior) == pytest.approx(average_privacy(unary, prior), abs=1e-13)


def test_local_hashing_is_7_6():
    """The leakage is that of randomised response on h(X), averaged over all functions h."""
    k, g, epsilon, prior = 3, 2, 1.0, ALPHA
    leaked = 0.0
    for function in product(range(g), repeat=k):
        h = Mechanism(np.eye(g)[list(function)])
        composed = h.then(response(g, epsilon))
        leaked += (1 - average_privacy(composed, prior)) / g**k
    assert average_privacy(LocalHashing(k, g, epsilon), prior) == pytest.approx(1 - leaked, abs=1e-12)


def test_non_exchangeable_prior_with_many_values_is_sampled():
    prior = Dirichlet(np.linspace(0.5, 1.5, 30))
    value = average_privacy(UnaryEncoding.oue(30, 1.0), prior)
    even = average_privacy(UnaryEncoding.oue(30, 1.0), Dirichlet.uniform(30))
    assert value.method == "monte-carlo"
    assert value == pytest.approx(even, abs=0.01)


def test_equation_4_3_a_deterministic_protocol():
    k = 3
    parity = Mechanism(np.eye(2)[np.arange(2 * k) % 2])
    expected = (digamma((k + 2) / 2) - digamma(1.5)) / (digamma(k + 1) - digamma(1.5))
    assert average_privacy(parity, Dirichlet.jeffreys(2 * k)) == pytest.approx(expected)
    assert information_metrics.ldp_level(parity) == math.inf
    assert information_metrics.worst_case_privacy(parity) == 0


def test_larger_alphabets_by_quadrature_and_sampling():
    m = SubsetSelection(5, 2, 1.0)
    prior = Dirichlet.jeffreys(5)
    exact = asymptotic_utility(m, prior)
    assert exact.error < 1e-6
    drawn = asymptotic_utility(m, prior, method="monte-carlo")
    assert abs(drawn - exact) < 4 * drawn.error
    wide = asymptotic_utility(HadamardResponse(7, 1.0), Dirichlet.jeffreys(7))
    assert wide.method == "monte-carlo"
    assert wide.error < 0.01


# ---------------------------------------------------------------- theorems


seeds = st.integers(0, 10**6)


@given(seed=seeds)
@settings(max_examples=12)
def test_proposition_7_3_post_processing(seed):
    rng = np.random.default_rng(seed)
    q, r = random_mechanism(rng, 3, 3), random_mechanism(rng, 3, 2)
    prior, both, n = Dirichlet(rng.uniform(0.3, 3, 3)), q.then(r), 3
    pushed = prior.push(q)
    slack = 1e-10
    limit = min(distribution_utility(q, prior, n), distribution_utility(r, pushed, n))
    assert distribution_utility(both, prior, n) <= limit + slack
    assert tally_utility(both, prior, n) <= tally_utility(q, prior, n) + slack
    assert average_privacy(both, prior) >= average_privacy(q, prior) - slack
    assert (
        information_metrics.worst_case_privacy(both) >= information_metrics.worst_case_privacy(q) - slack
    )
    assert digit_utility(both, prior, n) <= digit_utility(q, prior, n) + slack


@given(seed=seeds)
@settings(max_examples=15)
def test_proposition_7_6_privacy_budget(seed):
    rng = np.random.default_rng(seed)
    q, r = random_mechanism(rng, 3, 3), random_mechanism(rng, 3, 2)
    prior = Dirichlet(rng.uniform(0.3, 3, 3))
    leaked = 1 - average_privacy(q.product(r), prior)
    assert leaked <= 2 - average_privacy(q, prior) - average_privacy(r, prior) + 1e-10


@given(seed=seeds)
@settings(max_examples=10)
def test_proposition_7_8_mixtures(seed):
    rng = np.random.default_rng(seed)
    parts = [random_mechanism(rng, 3, 3), random_mechanism(rng, 3, 4)]
    prior, w = Dirichlet(rng.uniform(0.3, 3, 3)), rng.dirichlet([1, 1])
    both = Mechanism.mixture(parts, w)
    privacy = [average_privacy(m, prior) for m in parts]
    assert average_privacy(both, prior) == pytest.approx(w @ privacy, abs=1e-10)
    utility = [asymptotic_utility(m, prior) for m in parts]
    assert asymptotic_utility(both, prior) >= w @ utility - 1e-9


@given(seed=seeds, k=st.integers(2, 4))
@settings(max_examples=15)
def test_theorem_8_1_and_its_sharper_forms(seed, k):
    rng = np.random.default_rng(seed)
    m = random_mechanism(rng, k, k)
    prior = Dirichlet(rng.uniform(0.3, 3, k))
    utility, factor = asymptotic_utility(m, prior), participation_factor(m, prior)
    assert utility <= information_metrics.asymptotic_utility_bound(m) + 1e-10
    assert factor <= information_metrics.participation_factor_bound(m, prior) + 1e-10
    assert factor <= information_metrics.participation_factor_bound(m) + 1e-10
    identity = unobfuscated_utility(prior)
    assert utility <= identity + 1e-10  # Lemma 6.6
    assert identity >= -HALF_LOG_2PIE + k * math.log(k) / (2 * k - 2) - 1e-12
    assert average_privacy(m, prior) >= information_metrics.worst_case_privacy(m) - 1e-12  # Lemma 5.2


def test_the_bound_for_two_inputs_is_reached():
    """Randomised response reaches log(2 sinh(ε/2)) as the prior moves to the corners."""
    prior, m = Dirichlet([1e-3, 1e-3]), response(2, 1.0)
    assert asymptotic_utility(m, prior) == pytest.approx(
        information_metrics.asymptotic_utility_bound(m), abs=1e-3
    )


def test_corollary_6_8_the_limits():
    prior, m = Dirichlet([3.0, 3.0]), response(2, 2.0)
    for n in (200, 800):
        digits = digit_utility(m, prior, n)
        limit = 0.5 * math.log(n) + asymptotic_utility(m, prior)
        assert digits == pytest.approx(limit, abs=30 / n)


def test_rank_and_classes():
    assert information_metrics.rank_and_classes(Mechanism(np.eye(3))) == (3, 3)
    assert information_metrics.rank_and_classes(Q_A) == (3, 1)
    flat = Mechanism(np.full((3, 2), 0.5))
    assert not information_metrics.is_faithful(flat)
    assert asymptotic_utility(flat, ALPHA) == -math.inf
    assert participation_factor(flat, ALPHA) == 0


# ---------------------------------------------------------------- the plain ones


def test_plain_metrics_of_randomised_response():
    m, p = response(4, 1.0), np.full(4, 0.25)
    top = math.e / (math.e + 3)
    assert information_metrics.attacker_success(m, p) == pytest.approx(top)
    assert information_metrics.min_entropy_leakage(m, p) == pytest.approx(math.log(4 * top))
    assert maximal_leakage(m) == pytest.approx(math.log(4 * top))
    row = information_metrics.entropy(m.matrix[0])
    assert information_metrics.mutual_information(m, p) == pytest.approx(math.log(4) - row)


def test_a_point_mixture_is_a_prior_too():
    prior = PointMixture([[0.2, 0.3, 0.5], [0.6, 0.2, 0.2]], [0.5, 0.5])
    value = distribution_utility(Q_A, prior, 4)
    assert 0 < value < 1
    assert tally_utility(Q_A, prior, 4) < 1
    with pytest.raises(ValueError, match="needs a Dirichlet prior"):
        asymptotic_utility(Q_A, prior)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: average_privacy(Q_A, Dirichlet.jeffreys(4)), "3 values, one per input, not 4"),
        (lambda: average_privacy(Q_A, [1, 2, 3]), "prior must be a Prior"),
        (lambda: distribution_utility(Q_A, ALPHA, 0), "n must be a whole number >= 1, not 0"),
        (lambda: distribution_utility(Q_A, ALPHA, 2, method="guess"), "method must be one of"),
        (lambda: information_metrics.entropy([0.5, 0.6]), "sums to 1.1"),
        (
            lambda: information_metrics.mutual_information(Q_A, [0.5, 0.5]),
            "3 entries, one per input, not 2",
        ),
        (lambda: distribution_utility(UnaryEncoding.oue(30, 1.0), Dirichlet.jeffreys(30), 2), "2.30"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(
    "measure",
    [
        information_metrics.ldp_level,
        information_metrics.worst_case_privacy,
        information_metrics.is_faithful,
        information_metrics.asymptotic_utility_bound,
        maximal_leakage,
        lambda m: information_metrics.mutual_information(m, [0.4, 0.6]),
        lambda m: information_metrics.min_entropy_leakage(m, [0.4, 0.6]),
        lambda m: average_privacy(m, Dirichlet.uniform(2)),
        lambda m: asymptotic_utility(m, Dirichlet.uniform(2)),
        lambda m: growth(m, Dirichlet.uniform(2)),
        lambda m: information_split(m, Dirichlet.uniform(2), 2),
        lambda m: posterior(m, Dirichlet.uniform(2), [3, 1]).mean().tolist(),
        lambda m: posterior_of_reports(m, Dirichlet.uniform(2), [0, 0, 1]).mean().tolist(),
    ],
)
def test_a_measure_takes_a_mechanism_or_a_matrix(measure):
    matrix = [[0.75, 0.25], [0.125, 0.875]]
    assert measure(matrix) == measure(np.array(matrix)) == measure(Mechanism(matrix))
