"""I(Y; P) at realistic numbers of reports: the evidence it rests on, and whether its errors hold."""

import math

import numpy as np
import pytest
from scipy.special import xlogy

from ldpopt.core.errors import InvalidInputError
from ldpopt.core.mechanism import Mechanism
from ldpopt.measures import information_about_p as information
from ldpopt.measures import tallies
from ldpopt.measures.evidence import bracket
from ldpopt.measures.information_about_p import information_about_p
from ldpopt.measures.information_metrics import digit_utility, distribution_utility, tally_utility
from ldpopt.measures.randomized_response_series import ONE, ResponseSeries, log_probability
from ldpopt.mechanisms.catalogue import randomized_response
from ldpopt.models.priors import Dirichlet


def drawn_reports(prior, W, n, count, rng):
    points = prior.sample(count, rng)
    q = points @ W
    return points, rng.multinomial(n, q / q.sum(axis=1, keepdims=True))


def by_polynomials(prior, beta, counts):
    series, product = ResponseSeries(prior, beta, int(counts.sum())), ONE
    for y, s in enumerate(counts):
        product = product.times(series.factor(y, int(s)))
    return series.log_probability(product)


# ---------------------------------------------------------------- evidence


@pytest.mark.parametrize("k", [2, 3, 10, 50])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_contour_integral_equals_the_polynomials(k, epsilon):
    rng = np.random.default_rng(k)
    W, beta = randomized_response(k, epsilon).matrix, math.expm1(epsilon)
    priors = [Dirichlet.jeffreys(k), Dirichlet(np.exp(rng.uniform(-3, 3, k)))]
    for prior in priors:
        for n in (1, 40, 1000):
            _, (counts,) = drawn_reports(prior, W, n, 1, rng)
            found = log_probability(prior, beta, counts.astype(float))
            assert found == pytest.approx(by_polynomials(prior, beta, counts), abs=1e-10)


def test_contour_integral_at_a_hundred_thousand_reports_equals_the_polynomials():
    prior, beta = Dirichlet.jeffreys(10), math.expm1(1.0)
    W = randomized_response(10, 1.0).matrix
    _, (counts,) = drawn_reports(prior, W, 100_000, 1, np.random.default_rng(1))
    expected = by_polynomials(prior, beta, counts)
    assert log_probability(prior, beta, counts.astype(float)) == pytest.approx(expected, abs=1e-7)


def test_contour_integral_with_no_noise_is_the_beta_function():
    prior = Dirichlet([0.5, 1.0, 2.5])
    counts = np.array([100_000.0, 300_000.0, 600_000.0])
    found = log_probability(prior, 1e15, counts)
    after = Dirichlet(prior.alpha + counts)
    assert found == pytest.approx(after.log_beta - prior.log_beta, abs=1e-6)


def test_annealing_brackets_the_evidence():
    rng = np.random.default_rng(2)
    prior, epsilon = Dirichlet.jeffreys(6), 1.0
    W = randomized_response(6, epsilon).matrix
    points, counts = drawn_reports(prior, W, 2000, 150, rng)
    low, high = bracket(W, prior, points, counts, 60, rng)
    exact = np.array([log_probability(prior, math.expm1(epsilon), row.astype(float)) for row in counts])
    for below, above in ((low, exact), (exact, high)):
        gap = above - below
        assert -3 * gap.std() / math.sqrt(150) < gap.mean() < 0.4


def test_annealing_agrees_with_quadrature_for_unequal_inputs_and_outputs():
    rng = np.random.default_rng(3)
    prior, W = Dirichlet([0.5, 1.0, 3.0]), rng.dirichlet(np.ones(5), 3)
    points, counts = drawn_reports(prior, W, 100, 200, rng)
    low, high = bracket(W, prior, points, counts, 150, rng)
    middle = (low + high) / 2 - tallies.log_probabilities(counts, W, *prior.nodes(100))
    assert abs(middle.mean()) < 4 * middle.std() / math.sqrt(200) < 0.1


# ---------------------------------------------------------------- utilities


@pytest.mark.parametrize(
    ("k", "epsilon", "n", "truth", "known"),
    [  # truth ± known: longer runs
        (10, 1.0, 100_000, 0.5024, 0.0009),
        (6, 1.0, 100_000, 0.5960, 0.0010),
        (30, 1.0, 1_000_000, 0.3816, 0.0013),
        (100, 3.0, 10_000, 0.2759, 0.0015),
    ],
)
def test_utility_of_many_reports(k, epsilon, n, truth, known):
    found = distribution_utility(randomized_response(k, epsilon), Dirichlet.jeffreys(k), n, draws=100)
    assert found.method == "monte-carlo"
    assert abs(found - truth) < 3 * math.hypot(found.error, known) < 0.02


@pytest.mark.parametrize(("k", "overrated"), [(10, 0.558), (6, 0.613)])
def test_exact_evidence_alone_refutes_what_importance_sampling_says(k, overrated):
    """The plain mean of log P(y | P)/P(y) + (χ² − k + 1)/2, with P(y) up to rounding.

    Pearson's χ² of the counts is k − 1 on average, so that this is I(Y; P), with less variance.
    Importance sampling underrates log P(y) by Jensen's inequality, so that it overrates the utility.
    """
    rng = np.random.default_rng(0)
    prior, W = Dirichlet.jeffreys(k), randomized_response(k, 1.0).matrix
    points, counts = drawn_reports(prior, W, 100_000, 240, rng)
    exact = [log_probability(prior, math.expm1(1.0), row.astype(float)) for row in counts]
    q = points @ W
    pearson = ((counts - 100_000 * q) ** 2 / (100_000 * q)).sum(axis=1)
    values = xlogy(counts, q).sum(axis=1) - exact + (pearson - k + 1) / 2
    whole = information_about_p(np.eye(k), prior, 100_000, "auto", 100, 0)
    assert (values.mean() + 3 * values.std() / math.sqrt(240)) / whole < overrated - 0.003


def test_no_utility_leaves_its_range():
    for epsilon in (0.001, 12.0):
        found = distribution_utility(
            randomized_response(5, epsilon), Dirichlet.jeffreys(5), 20_000, draws=100
        )
        assert 0 <= found <= 1


def test_information_about_p_of_plain_data_holds_its_error_at_many_reports():
    """I(X; P) for Jeffreys' prior on ten values and 100,000 data, in thirty digits."""
    found = information_about_p(np.eye(10), Dirichlet.jeffreys(10), 100_000, "auto", 100, 0)
    assert abs(found - 41.6133268952717583892597404499) < found.error < 1e-4


def test_values_with_equal_rows_count_as_one():
    """Two values that the reports do not tell apart are one value with the sum of their exponents."""
    W = np.array([[0.7, 0.3], [0.7, 0.3], [0.2, 0.8]])
    apart = information_about_p(W, Dirichlet([0.5, 1.0, 2.0]), 30, "exact", 100, 0)
    together = information_about_p(W[1:], Dirichlet([1.5, 2.0]), 30, "exact", 100, 0)
    assert apart == pytest.approx(together, abs=1e-10)
    assert information_about_p(W[:2], Dirichlet([1.0, 2.0]), 30, "auto", 100, 0) == 0


def test_reports_about_an_image_of_p():
    """For a pushed prior the mechanism is the composition, also at many reports."""
    rng = np.random.default_rng(4)
    base = Dirichlet([0.5, 1.0, 2.0])
    first, second = (Mechanism(rng.dirichlet(np.ones(3), 3)) for _ in range(2))
    pushed = information_about_p(second.matrix, base.push(first), 5000, "auto", 100, 0)
    direct = information_about_p(first.matrix @ second.matrix, base, 5000, "auto", 100, 0)
    assert pushed == direct


def test_permuted_randomised_response_with_an_uneven_prior():
    prior = Dirichlet([0.5, 1.0, 4.0])
    W = randomized_response(3, 1.0).matrix
    turned = information_about_p(W[:, [1, 2, 0]], prior, 3000, "monte-carlo", 200, 0)
    plain = information_about_p(W, prior, 3000, "monte-carlo", 200, 1)
    assert abs(turned - plain) < 4 * math.hypot(turned.error, plain.error) < 0.5


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m, p: distribution_utility(m, p, 10**8), "n must be at most 10,000,000"),
        (lambda m, p: distribution_utility(m, p, 10**4, method="exact"), r"about 10\^\d+"),
        (lambda m, p: tally_utility(m, p, 10**7), r"about 10\^8.8 operations for each of 400 draws"),
        (lambda m, p: tally_utility(m, p, 10**4, method="exact"), r"about 10\^\d+"),
        (lambda m, p: digit_utility(m, p, 10**4, draws=3), "draws must be a whole number >= 100, not 3"),
    ],
)
def test_what_lies_outside_the_range_is_refused_in_one_sentence(call, message):
    with pytest.raises(InvalidInputError, match=message):
        call(randomized_response(100, 3.0), Dirichlet.jeffreys(100))


def test_wide_brackets_are_refused(monkeypatch):
    monkeypatch.setattr(information, "ANNEALING_STEPS", 1)
    m = Mechanism(np.random.default_rng(1).dirichlet(np.ones(12), 10))
    with pytest.raises(InvalidInputError, match="bracketed only within"):
        distribution_utility(m, Dirichlet.jeffreys(10), 10_000, draws=100)


# ---------------------------------------------------------------- coverage


def test_errors_cover_an_exact_value():
    """Batches of 100 draws against the sum over all tallies, with the same evidence by quadrature."""
    n, prior, W = 150, Dirichlet.jeffreys(3), randomized_response(3, 1.0).matrix
    truth = information_about_p(W, prior, n, "exact", 100, 0)
    rng = np.random.default_rng(0)
    points, counts = drawn_reports(prior, W, n, 20_000, rng)
    given = xlogy(counts, points @ W).sum(axis=1)
    values = given - tallies.log_probabilities(counts, W, *prior.nodes(n))
    controls = information._controls(W, prior, points, counts, given)
    inside = []
    for i in range(0, 20_000, 100):
        part = slice(i, i + 100)
        value, error = information._regressed(values[part], [control[part] for control in controls])
        inside.append(abs(value - truth) <= 2 * information.WIDENED * error)
    assert np.mean(inside) >= 0.93


GRID = [(k, e, n) for k in (3, 10, 30, 100) for e in (0.5, 1.0, 3.0) for n in (1000, 100_000, 1_000_000)]


@pytest.mark.slow
def test_errors_cover_the_truth_over_the_grid():
    """Of estimates with 100 draws each, at least 93 % lie within two errors of a long run."""
    inside = []
    for k, epsilon, n in GRID:
        W, prior = randomized_response(k, epsilon).matrix, Dirichlet.jeffreys(k)
        truth = information_about_p(W, prior, n, "monte-carlo", 800, 1000)
        for seed in range(8):
            found = information_about_p(W, prior, n, "monte-carlo", 100, seed)
            inside.append(abs(found - truth) <= 2 * math.hypot(found.error, truth.error))
    assert np.mean(inside) >= 0.93


@pytest.mark.slow
def test_errors_of_annealing_cover_the_truth(monkeypatch):
    """The same for the bracketed estimates, against the exact evidence of randomised response."""
    cases = [(3, 1.0, 10_000), (10, 1.0, 1000), (10, 1.0, 100_000), (30, 3.0, 10_000), (10, 0.1, 1000)]
    truths = {}
    for k, epsilon, n in cases:
        W, prior = randomized_response(k, epsilon).matrix, Dirichlet.jeffreys(k)
        truths[k, epsilon, n] = information_about_p(W, prior, n, "monte-carlo", 800, 1000)
    monkeypatch.setattr(information, "response_level", lambda W: None)
    inside = []
    for (k, epsilon, n), truth in truths.items():
        W, prior = randomized_response(k, epsilon).matrix, Dirichlet.jeffreys(k)
        for seed in range(8):
            found = information_about_p(W, prior, n, "monte-carlo", 100, seed)
            inside.append(abs(found - truth) <= 2 * math.hypot(found.error, truth.error))
    assert np.mean(inside) >= 0.93
