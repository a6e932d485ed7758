"""Section 6 and Table 4.1 of Lopuhaä-Zwakenberg et al. 2019: limits, constants, cells, witnesses."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from bayesian import ALPHA, Q_A, response
from scipy.special import xlogy
from scipy.stats import binom

from ldpopt.core.errors import InvalidInputError
from ldpopt.core.mechanism import Mechanism
from ldpopt.measures.asymptotics import unobfuscated_utility
from ldpopt.measures.discretised_entropy import discretised_entropy, worst_prior
from ldpopt.measures.information_about_p import information_about_p
from ldpopt.measures.information_about_tallies import information_about_tallies, log_response
from ldpopt.measures.information_decomposition import information_split
from ldpopt.measures.information_growth import growth
from ldpopt.measures.information_metrics import (
    asymptotic_utility,
    digit_utility,
    distribution_utility,
    tally_utility,
)
from ldpopt.mechanisms import SubsetSelection, UnaryEncoding, randomized_response
from ldpopt.models.priors import Dirichlet, PointMixture
from ldpopt.solvers.finite_protocol import best_protocol

EVEN = Dirichlet([3.0, 3.0])
CASES = [
    pytest.param(response(2, 1.5), EVEN, id="response"),
    pytest.param(Mechanism(np.eye(2)), EVEN, id="identity"),
    pytest.param(UnaryEncoding.oue(2, 2.0), EVEN, id="unary"),
    pytest.param(
        Mechanism([[0.7, 0.3], [0.2, 0.8], [0.2, 0.8]]), Dirichlet([3.0, 3.0, 2.0]), id="lumped"
    ),
    pytest.param(
        Mechanism([[0.7, 0.3, 0], [0.2, 0.8, 0], [0, 0, 1]]), Dirichlet([3.0, 3.0, 2.0]), id="classes"
    ),
]


def about_p(m, prior, n):
    return float(information_about_p(m.matrix, prior, n, "exact", 100, 0))


def about_tallies(m, prior, n):
    return float(information_about_tallies(m.matrix, prior, n, "exact", 100, 0))


@pytest.mark.parametrize(("m", "prior"), CASES)
def test_theorem_6_7_both_constants(m, prior):
    """What is left falls about as 1/n: twice as many users, nearly half the difference."""
    found = growth(m, prior)
    for exact, limit in ((about_p, found.about_p), (about_tallies, found.about_tallies)):
        rest = [abs(exact(m, prior, n) - float(limit(n))) for n in (10, 20, 40)]
        assert rest[1] < 0.72 * rest[0]
        assert rest[2] < 0.65 * rest[1]


def test_theorem_6_7_the_constants_themselves_for_many_users():
    found = growth(response(2, 2.0), EVEN)
    assert about_p(response(2, 2.0), EVEN, 600) == pytest.approx(float(found.about_p(600)), abs=1.5e-2)
    n = 600
    gap = about_tallies(response(2, 2.0), EVEN, n) - float(found.about_tallies(n))
    assert abs(gap) < 1.5e-2
    everything = growth(Mechanism(np.eye(3)), ALPHA)
    assert everything.tally_constant == pytest.approx(ALPHA.differential_entropy(), abs=1e-10)


@pytest.mark.parametrize(("m", "prior"), CASES)
def test_6_2_and_6_3_the_limits_of_the_utilities(m, prior):
    """Between n and 2n users the gains of reports and of data have a quotient that nears the limit."""
    found, plain = growth(m, prior), Mechanism(np.eye(prior.size))
    for gained, limit in (
        (about_p, found.distribution_utility),
        (about_tallies, found.tally_utility),
    ):
        apart = []
        for n in (5, 20):
            reports = gained(m, prior, 2 * n) - gained(m, prior, n)
            data = gained(plain, prior, 2 * n) - gained(plain, prior, n)
            apart.append(abs(reports / data - limit))
        assert apart[1] <= 0.75 * apart[0] + 1e-9


def test_6_4_and_6_5_the_rate():
    """(a − 1)(C − U) is what I(X; P) − I(Y; P) tends to, hence (6.5) as a quotient."""
    m, prior = response(2, 2.0), EVEN
    apart = unobfuscated_utility(prior) - asymptotic_utility(m, prior)
    for n in (200, 600):
        plain = about_p(Mechanism(np.eye(2)), prior, n)
        assert plain - about_p(m, prior, n) == pytest.approx(apart, abs=20 / n)
        digits = digit_utility(m, prior, n)
        assert digits == pytest.approx(0.5 * math.log(n) + asymptotic_utility(m, prior), abs=20 / n)
    quotients = [
        (1 - distribution_utility(m, prior, n)) * math.log(n) / (2 * apart) for n in (20, 100, 500)
    ]
    assert abs(quotients[2] - 1) < abs(quotients[1] - 1)


def test_errata_6_5_as_printed_says_nothing():
    """Definition 6.4 compares by difference; both sides of (6.5) vanish, so any constant would do."""
    m, prior, n = response(2, 2.0), EVEN, 500
    apart = unobfuscated_utility(prior) - asymptotic_utility(m, prior)
    left = 1 - distribution_utility(m, prior, n)
    assert left < 0.3
    for printed in (apart, 3 * apart):  # the printed constant and a wrong one: both differences vanish
        differences = [abs(left - 2 * printed / math.log(n)), 2 * printed / math.log(1e300)]
        assert differences[0] < 1
        assert differences[1] < 0.02


def test_what_is_not_known_is_refused():
    dependent = Mechanism([[0.5, 0.5], [0.25, 0.75], [0.375, 0.625]])
    with pytest.raises(InvalidInputError, match="rows have rank 2"):
        growth(dependent, Dirichlet.uniform(3))
    with pytest.raises(InvalidInputError, match="needs a Dirichlet prior"):
        growth(Q_A, PointMixture([[0.2, 0.3, 0.5]], [1.0]))
    flat = growth(Mechanism(np.full((3, 2), 0.5)), ALPHA)
    assert flat.tally_constant == pytest.approx(flat.distribution_constant, abs=1e-12)
    assert flat.distribution_constant == 0
    assert (flat.distribution_utility, flat.tally_utility) == (0, 0)


# ---------------------------------------------------------------- Table 4.1


def brute_force_split(W, prior, n):
    """All cells from the joint law of data, reports, tallies and P."""
    k, b = W.shape
    points, weights = prior.fine_nodes(4)
    data = list(product(range(k), repeat=n))
    tallies = [tuple(x.count(v) for v in range(k)) for x in data]
    given_p = np.array([points[:, list(x)].prod(axis=1) for x in data])
    reports = list(product(range(b), repeat=n))
    channel = np.array([[W[list(x), list(y)].prod() for y in reports] for x in data])
    group = np.array([[t == s for t in tallies] for s in sorted(set(tallies))], dtype=float)

    def entropy(q):
        return -xlogy(q, q).sum(axis=0)

    px, pt = given_p @ weights, group @ (given_p @ weights)
    h_xp, h_tp = entropy(given_p) @ weights, entropy(group @ given_p) @ weights
    users = (entropy(px) - h_xp, h_tp, h_xp - h_tp)
    assert entropy(pt) == pytest.approx(users[0] + users[1])
    h_y, h_yp = entropy(channel.T @ px), entropy(channel.T @ given_p) @ weights
    joint = group @ (px[:, None] * channel)
    h_yt = entropy(joint.ravel()) - entropy(pt)
    h_yx = px @ -xlogy(channel, channel).sum(axis=1)
    return users, (h_y - h_yp, h_yp - h_yt, h_yt - h_yx)


def test_table_4_1_every_cell_against_brute_force():
    split = information_split(Q_A, ALPHA, 2)
    users, aggregator = brute_force_split(Q_A.matrix, ALPHA, 2)
    assert split.users == pytest.approx(users, abs=1e-8)
    assert split.aggregator == pytest.approx(aggregator, abs=1e-8)
    assert split.users.private == pytest.approx(2 * ALPHA.expected_entropy())
    assert split.aggregator.total == pytest.approx(sum(aggregator), abs=1e-8)
    assert split.aggregator.tallies / split.users.tallies == pytest.approx(tally_utility(Q_A, ALPHA, 2))
    assert split.aggregator.private.method == "exact-enumeration"
    with pytest.raises(InvalidInputError, match="one per input"):
        information_split(Q_A, EVEN, 2)


# ---------------------------------------------------------------- Lemma 4.7, Remark 5.4


@pytest.mark.parametrize("prior", [EVEN, Dirichlet([2.0, 3.0, 2.0]), Dirichlet([0.5, 1.5])], ids=repr)
def test_lemma_4_7_digits(prior):
    rest = [
        abs(discretised_entropy(prior, d) - (prior.size - 1) * d - prior.differential_entropy())
        for d in (3.0, 4.0, 5.0)
    ]
    assert rest[2] < rest[1] < rest[0] < 0.21


def test_lemma_4_7_digits_of_many_users():
    m = response(2, 2.0)
    rest = [
        abs(about_p(m, EVEN, n) - discretised_entropy(EVEN, digit_utility(m, EVEN, n)))
        for n in (60, 600)
    ]
    assert rest[1] < 0.6 * rest[0] < 0.1


def test_errata_lemma_4_7_not_all_coordinates():
    """Rounding all three frequencies tells more than (a − 1) d + h(P): 0.736 nats for whole e^d."""
    steps, rng = 50, np.random.default_rng(0)
    p = Dirichlet.uniform(3).sample(200_000, rng)
    _, counts = np.unique(np.rint(p * steps).astype(int), axis=0, return_counts=True)
    q = counts / counts.sum()
    every = -float(xlogy(q, q).sum())
    extra = -2 * xlogy(1 / 8, 1 / 8) - xlogy(3 / 4, 3 / 4)
    printed = 2 * math.log(steps) + Dirichlet.uniform(3).differential_entropy()
    assert every - printed == pytest.approx(extra, abs=0.1)
    assert discretised_entropy(Dirichlet.uniform(3), math.log(steps)) == pytest.approx(printed, abs=0.1)


@pytest.mark.parametrize(("digits", "k"), [(-1.0, 2), (20.0, 2), (2.0, 4), (math.nan, 2)])
def test_digits_out_of_range(digits, k):
    with pytest.raises(InvalidInputError):
        discretised_entropy(Dirichlet.uniform(k), digits)


@pytest.mark.parametrize("m", [response(3, 1.0), Q_A, UnaryEncoding.oue(3, 2.0)], ids=repr)
def test_remark_5_4_the_worst_prior(m):
    least = math.exp(-m.epsilon())
    hidden = [worst_prior(m, delta=delta).hidden for delta in (1e-2, 1e-6, 1e-50, 1e-300)]
    assert hidden == sorted(hidden, reverse=True)
    assert least < hidden[-1] < least + 0.01
    found = worst_prior(m, delta=1e-3)
    joint = found.p * m.matrix[:, found.output]
    after = joint / joint.sum()
    ratio = -xlogy(after, after).sum() / -xlogy(found.p, found.p).sum()
    assert found.hidden == pytest.approx(ratio)


def test_the_worst_prior_of_no_and_of_full_disclosure():
    assert worst_prior(Mechanism(np.full((3, 2), 0.5))).hidden == pytest.approx(1)
    assert worst_prior(Mechanism(np.eye(2))).hidden == 0
    with pytest.raises(InvalidInputError, match="between 0 and 1"):
        worst_prior(Q_A, delta=0.0)


# ---------------------------------------------------------------- Section 11 for finite n


@pytest.mark.parametrize(("a", "n", "epsilon"), [(2, 1, 1.0), (2, 12, 0.5), (3, 1, 1.0)])
def test_the_best_protocol_where_it_is_proven(a, n, epsilon):
    prior = Dirichlet.jeffreys(a)
    found = best_protocol(prior, n, epsilon)
    assert found.information == pytest.approx(found.bound, rel=1e-9)
    assert found.mechanism.epsilon() <= epsilon + 1e-12
    rng = np.random.default_rng(0)
    for _ in range(10):  # mixtures of pairs of columns, made stochastic by a last one
        high = rng.random((a, 3)) < 0.5
        W = np.where(high, math.exp(epsilon), 1.0) * rng.random(3) / (4 * math.exp(epsilon))
        last = 1 - W.sum(axis=1, keepdims=True)
        other = Mechanism(np.hstack([W, last]))
        if other.epsilon() <= epsilon:
            assert about_p(other, prior, n) <= found.bound + 1e-12


def test_the_best_protocol_of_several_users_lies_in_its_bracket():
    prior = Dirichlet.jeffreys(4)
    found = best_protocol(prior, 2, 0.5)
    known = [about_p(SubsetSelection(4, m, 0.5), prior, 2) for m in (1, 2, 3)]
    assert max(known) - 1e-9 <= found.information <= found.bound
    assert found.information == pytest.approx(about_p(found.mechanism, prior, 2))
    with pytest.raises(InvalidInputError, match="50 reports of 15 columns"):
        best_protocol(prior, 50, 1.0)


# ---------------------------------------------------------------- many reports of randomised response


def exact_log_response(t, s, beta):
    """log P(s | t) in whole numbers and fractions, by all terms."""
    n, a, product = int(sum(t)), len(t), [Fraction(1)]
    for users, reports in zip(t, s, strict=True):
        f = [
            math.comb(users, k) * beta**k / math.factorial(reports - k)
            for k in range(min(users, reports) + 1)
        ]
        longer = [Fraction(0)] * (len(product) + len(f) - 1)
        for i, x in enumerate(product):
            for j, y in enumerate(f):
                longer[i + j] += x * y
        product = longer
    found = sum(math.factorial(n - K) * x for K, x in enumerate(product)) / (a + beta) ** n
    return math.log(found.numerator) - math.log(found.denominator)


@pytest.mark.parametrize("beta", [Fraction(1, 8), Fraction(2), Fraction(20), Fraction(2000)])
@pytest.mark.parametrize(
    ("t", "s"),
    [((30, 20, 10), (25, 20, 15)), ((60, 0, 0), (40, 20, 0)), ((31, 29), (31, 29)), ((0, 50), (50, 0))],
)
def test_the_chance_of_tallies_is_the_sum_of_all_terms(t, s, beta):
    found = log_response(np.array(t), np.array(s), float(beta))
    assert found == pytest.approx(exact_log_response(t, s, beta), abs=1e-11)


@pytest.mark.parametrize("level", [0.1, 1.0, 3.0, 6.0, 12.0])
def test_many_reports_have_the_chance_that_a_convolution_gives(level):
    """Two values: s_0 is a sum of two binomials. From 3,000 reports on all terms were 0 in floats."""
    n, beta = 100_000, math.expm1(level)
    high, low = (1 + beta) / (2 + beta), 1 / (2 + beta)
    t = np.array([40_000, 60_000])
    s0 = round(40_000 * high + 60_000 * low)
    i = np.arange(max(0, s0 - 60_000), min(40_000, s0) + 1)
    terms = np.exp(binom.logpmf(i, 40_000, high) + binom.logpmf(s0 - i, 60_000, low))
    found = log_response(t, np.array([s0, n - s0]), beta)
    assert found == pytest.approx(math.log(terms.sum()), abs=1e-8)


def test_the_tallies_of_many_users_are_learnt_from_their_reports():
    """Between no information and all of it; it grows like a logarithm of n."""
    prior = Dirichlet.jeffreys(3)
    found = [
        information_about_tallies(randomized_response(3, 1.0).matrix, prior, n, "monte-carlo", 60, 0)
        for n in (10_000, 100_000)
    ]
    error = sum(float(each.error) for each in found)
    assert abs(float(found[1]) - float(found[0]) - math.log(10)) < 3 * error
