"""The black-box attack: sound for any sampler, strong on real ones; the test of fit keeps its level."""

import math
from bisect import bisect_left

import numpy as np
import pytest
from scipy.stats import binom

from ldpopt.audit import black_box
from ldpopt.audit.black_box import Tally, goodness_of_fit, lower_bound, strongest_attack
from ldpopt.core.errors import InvalidInputError
from ldpopt.core.limits import Limits
from ldpopt.core.mechanism import Mechanism
from ldpopt.mechanisms import randomized_response, secret_randomized_response
from ldpopt.release.designing import design

RUNS = 200


def sampler(mechanism, seed=0):
    """Its randomness is not that of the inputs."""
    rng = np.random.default_rng([seed, 99])
    return lambda x: mechanism.sample(x, rng)


def violations(mechanism, secrets, p, level, samples, confidence):
    """In how many runs the bound is above the truth."""
    count = 0
    for seed in range(RUNS):
        rng = np.random.default_rng(seed)
        found = lower_bound(
            sampler(mechanism, seed),
            secrets,
            [p],
            mechanism.shape[1],
            samples=samples,
            confidence=confidence,
            rng=rng,
        )
        count += found.epsilon > level
    return count


@pytest.mark.parametrize("samples", [20, 400])
def test_sound(samples):
    """Wrong in at most the stated share of runs, 20 %, for mechanisms of every kind."""
    most = binom.ppf(0.9999, RUNS, 0.2)
    flat = Mechanism(np.full((2, 16), 1 / 16))
    assert violations(flat, [0, 1], [0.5, 0.5], 0.0, samples, 0.8) <= most
    response = randomized_response(3, 0.7)
    assert violations(response, [0, 1, 2], [0.2, 0.3, 0.5], 0.7, samples, 0.8) <= most
    joint = secret_randomized_response(2, 2, 1.5)
    p = np.array([0.1, 0.4, 0.3, 0.2])
    channel = np.array([p[:2] @ joint.matrix[:2] / 0.5, p[2:] @ joint.matrix[2:] / 0.5])
    level = Mechanism(channel).epsilon()
    assert violations(joint, [0, 0, 1, 1], p, level, samples, 0.8) <= most


def test_the_second_half_matters():
    """Tested on the reports it was chosen on, an attack on noise looks right far too often."""
    flat, wrong = Mechanism(np.full((2, 16), 1 / 16)), 0
    for seed in range(RUNS):
        rng = np.random.default_rng(seed)
        drawn = black_box.draw(sampler(flat, seed), [0, 1], [0.5, 0.5], 16, 400, rng)
        first = drawn.order + drawn.cut
        cheat = Tally(first, first, first)
        wrong += strongest_attack([cheat], [0, 1], 0.8).epsilon > 0
    assert wrong > binom.ppf(0.9999, RUNS, 0.2)


@pytest.fixture(scope="module")
def census():
    return design("adult:sex-race", secret="sex", public="race", epsilon=1.0)


def test_strong_on_the_census(census):
    distributions = [census.level.witness.ravel(), census.question.p_hat.ravel()]
    found = lower_bound(
        sampler(census.mechanism),
        np.repeat([0, 1], 5),
        distributions,
        census.mechanism.shape[1],
        samples=10**6,
        rng=np.random.default_rng(0),
    )
    assert census.level.level - 0.03 < found.epsilon <= census.level.level
    assert {found.secret, found.other} == {census.level.s, census.level.other}
    assert found.trials == pytest.approx(5e5, rel=0.01)


def test_events_of_many_outputs():
    """Each output alone is too rare to show anything: the attack must take half of them."""
    half = np.full(500, 1.0)
    rows = [np.concatenate([math.e * half, half]), np.concatenate([half, math.e * half])]
    mechanism = Mechanism(np.array(rows) / (500 * (1 + math.e)))
    rng = np.random.default_rng(0)
    found = lower_bound(sampler(mechanism), [0, 1], [[0.5, 0.5]], 1000, samples=20_000, rng=rng)
    assert len(found.outputs) > 100
    assert 0.7 < found.epsilon <= 1


def test_many_secrets():
    """With 40 secrets only the pairs farthest apart are attacked; still sound and not blind."""
    response, rng = randomized_response(40, 2.0), np.random.default_rng(0)
    assert 40 * 39 > black_box.MOST_PAIRS
    found = lower_bound(sampler(response), range(40), [np.full(40, 1 / 40)], 40, samples=20_000, rng=rng)
    assert 1.6 < found.epsilon <= 2


def test_identity_gives_everything_away():
    found = lower_bound(
        lambda x: x, [0, 1], [[0.5, 0.5]], 2, samples=10_000, rng=np.random.default_rng(0)
    )
    assert found.epsilon > 6


@pytest.mark.parametrize(
    ("sample", "message"),
    [
        (lambda x: x + 1, "the report 2, not one of 0..1"),
        (lambda x: -x - 1, "the report -"),
        (lambda x: x[:-1], "must give"),
        (lambda x: x * 0.5, "must give"),
    ],
)
def test_samplers_that_are_none(sample, message):
    with pytest.raises(InvalidInputError, match=message):
        lower_bound(sample, [0, 1], [[0.5, 0.5]], 2, samples=100, rng=np.random.default_rng(0))


def test_bad_input():
    rng = np.random.default_rng(0)
    with pytest.raises(InvalidInputError, match="about one secret"):
        lower_bound(lambda x: x, [0, 0], [[0.5, 0.5]], 2, samples=100, rng=rng)
    with pytest.raises(InvalidInputError, match="confidence must lie between 0 and 1, not 1"):
        lower_bound(lambda x: x, [0, 1], [[0.5, 0.5]], 2, samples=100, confidence=1, rng=rng)
    with pytest.raises(InvalidInputError, match="samples must be a whole number >= 20, not 19"):
        lower_bound(lambda x: x, [0, 1], [[0.5, 0.5]], 2, samples=19, rng=rng)
    with pytest.raises(InvalidInputError, match="no reports"):
        goodness_of_fit(np.zeros((2, 2), dtype=np.int64), np.eye(2))


# ------------------------------------------------------------ the fit


@pytest.mark.parametrize("reports", [300, 30_000])
def test_fit_keeps_its_level(reports):
    rng = np.random.default_rng(0)
    rows = rng.dirichlet(np.full(12, 0.3), size=8)
    p_values = []
    for _ in range(200):
        totals = rng.multinomial(reports, np.full(8, 1 / 8))
        counts = np.array([rng.multinomial(n, row) for n, row in zip(totals, rows, strict=True)])
        p_values.append(goodness_of_fit(counts, rows).p_value)
    for level in (0.1, 0.02):
        assert np.count_nonzero(np.array(p_values) < level) <= binom.ppf(0.9999, 200, level)


def test_fit_by_hand():
    """χ² of 60 and 40 where 50 and 50 are expected is 4; two rows double the p-value."""
    counts = np.array([[60, 40], [50, 50]])
    found = goodness_of_fit(counts, np.full((2, 2), 0.5))
    assert (found.x, found.rows) == (0, 2)
    assert found.p_value == pytest.approx(2 * math.erfc(math.sqrt(2)), rel=1e-12)


def test_fit_rejects():
    counts = np.array([[0, 100_000, 1], [50_000, 50_000, 0]])
    matrix = np.array([[0.0, 1 - 1e-9, 1e-9], [0.5, 0.5, 0.0]])
    assert goodness_of_fit(counts, matrix).p_value == 1
    never = np.array([[1, 99_999, 0], [50_000, 50_000, 0]])
    assert goodness_of_fit(never, matrix) == (0.0, 0, 2)
    assert goodness_of_fit(counts[:, [1, 0, 2]], matrix).p_value == 0


@pytest.mark.parametrize("expected", [26, 60, 200, 400])
def test_fit_of_many_inputs_keeps_its_level(expected):
    """The exact chance that the rarer of two outputs raises the alarm; 1024 inputs share the error."""
    inputs, reports = 1024, 4000
    matrix = np.tile([expected / reports, 1 - expected / reports], (inputs, 1))
    counts = np.tile(np.array([expected, reports - expected]), (inputs, 1))

    def alarms(rare):
        counts[0] = rare, reports - rare
        return goodness_of_fit(counts, matrix).p_value < 0.005

    few = bisect_left(range(expected), True, key=lambda less: alarms(expected - less))
    many = bisect_left(range(expected), True, key=lambda more: alarms(expected + more))
    law = binom(reports, expected / reports)
    chance = inputs * (law.cdf(expected - few) + law.sf(expected + many - 1))
    assert chance < 2 * 0.005 or many == few == expected  # too rare to be told from the other output


def test_no_further_batch_is_drawn_when_the_time_is_over():
    rng, even = np.random.default_rng(0), Mechanism(np.full((2, 2), 0.5))
    given = [0, 1], [0.5, 0.5], 2, black_box.BATCH, rng
    for limits, batches in ((Limits(deadline=0.0), 1), (Limits(), 2)):
        drawn = black_box.draw(sampler(even), *given, limits)
        assert drawn.counts.sum() == batches * black_box.BATCH
