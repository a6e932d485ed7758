"""Bound ε of a sampler from below by its reports alone, and test whether they fit its mechanism.

Nothing is known about the sampler but pairs (x, y) of an input and its report. An attacker chooses, on
one half of the pairs, two secrets and a set E of reports that tells them apart; on the other half
Clopper–Pearson bounds on P(Y∈E|s) from below and on P(Y∈E|s') from above give ε ≥ log of their ratio.

>>> from ldpopt.mechanisms import randomized_response
>>> rng = np.random.default_rng(0)
>>> response = randomized_response(2, 1.0)
>>> found = lower_bound(lambda x: response.sample(x, rng), [0, 1], [[0.5, 0.5]], 2, rng=rng)
>>> 0.97 < found.epsilon < 1
True
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np

from ldpopt.core import validate
from ldpopt.core.limits import UNLIMITED, Limits
from ldpopt.core.quantiles import chi2_tail, greatest_share, least_share, normal_quantile
from ldpopt.core.validate import Array, InvalidInputError, Whole

Indices = Whole
Sample = Callable[[Indices], Indices]
"""A black box: input indices in, one report index for each out."""

BATCH = 1 << 17
MOST_PAIRS = 600
"""With more pairs of secrets, only those that are farthest apart on some output are attacked."""
LEAST_SAMPLES = 20
"""The fewest reports per secret: half of far fewer may, by chance, be about one secret only."""
MOST_TESTS = 8
"""Attacks that are tested; they share the allowed error."""
LEAST_EXPECTED = 25.0
"""Outputs that are expected more rarely are counted together, so that χ² has its tail down to 0.001.

Farther out the tail is wrong by a factor of about exp(z³/(6√expected)), z its normal quantile; there
the count that must be expected grows as z⁶.
"""


@dataclass(frozen=True, eq=False)
class Tally:
    """Reports counted as matrices [x][y], in three parts.

    Attributes:
        order: a quarter, which says by their likelihood ratios which outputs an attack takes first.
        cut: a quarter, which says how many it takes, and which attacks are worth a test.
        test: a half, which tests them.
    """

    order: Indices
    cut: Indices
    test: Indices

    @property
    def counts(self) -> Indices:
        """The counts [x][y] of all three parts together."""
        return self.order + self.cut + self.test


@dataclass(frozen=True)
class LowerBound:
    """ε is at least ``epsilon``, with probability at least ``confidence`` over the reports.

    Attributes:
        epsilon: log of the lower bound on P(Y∈E|s) over the upper bound on P(Y∈E|s'), at least 0.
        confidence: the probability that it holds, whatever the sampler.
        secret, other: the secrets s and s' that were told apart.
        outputs: the reports E of the attack.
        hits, trials: how many of the reports on s were in E, in the half that tests.
        other_hits, other_trials: the same on s'.
        distribution: the number of the distribution of the inputs.
        tests: how many attacks shared the allowed error.
    """

    epsilon: float
    confidence: float
    secret: int
    other: int
    outputs: tuple[int, ...]
    hits: int
    trials: int
    other_hits: int
    other_trials: int
    distribution: int
    tests: int


class Attack(NamedTuple):
    """An attack planned on the first half: the ε it promises, and how it tells two secrets apart."""

    score: float
    distribution: int
    secret: int
    other: int
    outputs: Indices


class Fit(NamedTuple):
    """How well reports fit a mechanism: the p-value of the worst row x, times the number of rows."""

    p_value: float
    x: int
    rows: int


def lower_bound(
    sample: Sample,
    secrets: Sequence[int] | Indices,
    distributions: Sequence[Any],
    outputs: int,
    *,
    samples: int = 100_000,
    confidence: float = 0.99,
    rng: np.random.Generator,
) -> LowerBound:
    """Bound from below the level at which a sampler hides the secret; sound for any sampler.

    The level is sup over the given distributions P, s ≠ s' and y of log P(Y=y|S=s)/P(Y=y|S=s')
    (Lopuhaä-Zwakenberg and Goseling 2021, Definition 1); the draws of a report must be independent of
    each other.

    Args:
        sample: the black box.
        secrets: the number of the secret of each input.
        distributions: distributions of the input; how likely a secret is makes no difference.
        outputs: how many different reports there are.
        samples: reports per secret and distribution, on average.
        confidence: the probability with which the bound holds.
        rng: draws the inputs.
    """
    tallies = [draw(sample, secrets, p, outputs, samples, rng) for p in distributions]
    return strongest_attack(tallies, secrets, confidence)


def draw(
    sample: Sample,
    secrets: Sequence[int] | Indices,
    p: Any,
    outputs: int,
    samples: int,
    rng: np.random.Generator,
    limits: Limits = UNLIMITED,
) -> Tally:
    """Draw reports on inputs from P, with every secret of P equally likely.

    Args:
        sample: the black box.
        secrets: the number of the secret of each input.
        p: the distribution P of the input.
        outputs: how many different reports there are.
        samples: reports per secret, on average; at least :data:`LEAST_SAMPLES`.
        rng: draws the inputs, and the part of the tally that each report goes to.
        limits: where the time is over no further batch is drawn, whatever the reports were.

    Raises:
        InvalidInputError: the sampler gave something else than one report index per input.
    """
    groups = np.asarray(secrets)
    prior = validate.distribution("p", p)
    mass = np.bincount(groups, weights=prior)
    given = prior / np.where(mass > 0, mass, 1.0)[groups]
    total = validate.whole_number("samples", samples, LEAST_SAMPLES) * int(np.count_nonzero(mass))
    pairs = _pairs(sample, given / given.sum(), outputs, total, rng, limits)
    return tally(pairs, (len(prior), outputs), rng)


def _pairs(
    sample: Sample, p: Array, outputs: int, total: int, rng: np.random.Generator, limits: Limits
) -> Iterator[tuple[Indices, Indices]]:
    for first in range(0, total, BATCH):
        if first and limits.expired():
            return
        x = rng.choice(len(p), min(BATCH, total - first), p=p)
        y = np.asarray(sample(x))
        if y.shape != x.shape or not np.issubdtype(y.dtype, np.integer):
            raise InvalidInputError(f"the sampler must give {len(x)} report indices, not {y!r:.60}")
        if y.min() < 0 or y.max() >= outputs:
            bad = y[(y < 0) | (y >= outputs)][0]
            raise InvalidInputError(f"the sampler gave the report {bad}, not one of 0..{outputs - 1}")
        yield x, y


def tally(
    pairs: Iterable[tuple[Indices, Indices]], shape: tuple[int, int], rng: np.random.Generator
) -> Tally:
    """Count pairs (x, y), each in one of the parts at random.

    Args:
        pairs: input indices x and report indices y, a batch at a time.
        shape: the numbers of inputs and of outputs.
        rng: draws the part of each pair: a quarter, a quarter and a half of the pairs.
    """
    parts = np.zeros((3, shape[0] * shape[1]), dtype=np.int64)
    for x, y in pairs:
        cell = x * shape[1] + y
        part = np.searchsorted([0.25, 0.5], rng.random(len(cell)))
        for i in range(3):
            parts[i] += np.bincount(cell[part == i], minlength=parts.shape[1])
    return Tally(*parts.reshape(3, *shape))


# ------------------------------------------------------------ the attack


def strongest_attack(
    tallies: Sequence[Tally], secrets: Sequence[int] | Indices, confidence: float
) -> LowerBound:
    """Select the attacks that look best on the first half, and bound the best on the second half.

    Which attacks are tested depends on the first half alone, so a union bound over them is sound.

    Args:
        tallies: the reports on inputs from each distribution.
        secrets: the number of the secret of each input.
        confidence: the probability with which the bound holds, between 0 and 1.

    Raises:
        InvalidInputError: the reports are about one secret only, or the confidence is out of range.
    """
    margin = normal_quantile((1 - validate.share("confidence", confidence)) / (2 * MOST_TESTS))
    plans = [
        plan
        for which, counted in enumerate(tallies)
        for plan in _attacks(counted, secrets, which, margin)
    ]
    if not plans:
        raise InvalidInputError("the reports are about one secret: there is nothing to tell apart")
    chosen = heapq.nlargest(MOST_TESTS, plans, key=lambda plan: plan.score)
    tests = [_by_secret(counted.test, secrets) for counted in tallies]
    error = (1 - confidence) / len(chosen)
    bounds = [_tested(plan, tests[plan.distribution], error, confidence, len(chosen)) for plan in chosen]
    return max(bounds, key=lambda bound: bound.epsilon)


def _by_secret(counts: Indices, secrets: Sequence[int] | Indices) -> Indices:
    groups = np.asarray(secrets)
    result = np.zeros((groups.max() + 1, counts.shape[1]), dtype=np.int64)
    np.add.at(result, groups, counts)
    return result


def _attacks(
    counted: Tally, secrets: Sequence[int] | Indices, distribution: int, margin: float
) -> Iterator[Attack]:
    """Choose for each pair of secrets the best set of the outputs with the largest likelihood ratios.

    One part of the reports orders the outputs and another part says how many are taken: the outputs that
    come first seem better than they are on the reports that put them first.
    """
    first, counts = _by_secret(counted.order, secrets), _by_secret(counted.cut, secrets)
    seen = np.flatnonzero(_by_secret(counted.counts, secrets).any(axis=1))
    frequencies = (first + 0.5) / (first.sum(axis=1, keepdims=True) + 1)
    for s, other in _worthwhile(seen, frequencies):
        order = np.argsort(frequencies[other] / frequencies[s], kind="stable")
        mine, theirs = np.cumsum(counts[s][order]) + 0.5, np.cumsum(counts[other][order]) + 0.5
        ratio = np.log(mine / (counts[s].sum() + 1)) - np.log(theirs / (counts[other].sum() + 1))
        scores = ratio - margin * np.sqrt(1 / mine + 1 / theirs)
        best = int(scores.argmax())
        yield Attack(float(scores[best]), distribution, s, other, order[: best + 1])


def _worthwhile(seen: Indices, frequencies: Array) -> Iterable[tuple[int, int]]:
    """List all pairs of secrets with reports; if too many, those farthest apart on some output."""
    if len(seen) * (len(seen) - 1) <= MOST_PAIRS:
        return permutations(seen.tolist(), 2)
    top, low = seen[frequencies[seen].argmax(axis=0)], seen[frequencies[seen].argmin(axis=0)]
    return sorted({(int(s), int(t)) for s, t in zip(top, low, strict=True) if s != t})


def _tested(plan: Attack, counts: Indices, error: float, confidence: float, tests: int) -> LowerBound:
    hits, other_hits = (int(counts[s][plan.outputs].sum()) for s in (plan.secret, plan.other))
    trials, other_trials = int(counts[plan.secret].sum()), int(counts[plan.other].sum())
    low = float(least_share(error / 2, hits, trials))
    high = float(greatest_share(error / 2, other_hits, other_trials))
    return LowerBound(
        epsilon=max(math.log(low / high), 0.0) if low > 0 else 0.0,
        confidence=confidence,
        secret=plan.secret,
        other=plan.other,
        outputs=tuple(sorted(plan.outputs.tolist())),
        hits=hits,
        trials=trials,
        other_hits=other_hits,
        other_trials=other_trials,
        distribution=plan.distribution,
        tests=tests,
    )


# ------------------------------------------------------------ the fit


def goodness_of_fit(counts: Indices, matrix: Array, error: float = 0.005) -> Fit:
    """Test reports [x][y] against a mechanism by Pearson's χ², row by row, with Bonferroni's factor.

    An output that the mechanism never gives has the p-value 0. The p-value is meant to be compared with
    ``error``; much below it, it is too small.

    Args:
        counts: how often each input got each report.
        matrix: the mechanism W[x, y].
        error: the probability with which reports of this mechanism may fail the test.

    Raises:
        InvalidInputError: there are no reports.
    """
    rows = np.flatnonzero(counts.sum(axis=1))
    if not len(rows):
        raise InvalidInputError("there are no reports to test")
    farther = normal_quantile(error / len(rows) / 2) / normal_quantile(0.001 / 2)
    least = LEAST_EXPECTED * max(1.0, farther**6)
    p_values = [_row_p_value(counts[x], matrix[x], least) for x in rows]
    worst = int(np.argmin(p_values))
    return Fit(min(1.0, p_values[worst] * len(rows)), int(rows[worst]), len(rows))


def _row_p_value(counts: Indices, row: Array, least: float) -> float:
    if counts[row == 0].any():
        return 0.0
    order = np.argsort(row)
    expected, found = row[order] * counts.sum() / row.sum(), counts[order]
    rare = int(np.searchsorted(np.cumsum(expected), least))
    rare = max(rare, int(np.searchsorted(expected, least)) - 1)
    if rare >= len(row) - 1:
        return 1.0
    expected = np.append(expected[: rare + 1].sum(), expected[rare + 1 :])
    found = np.append(found[: rare + 1].sum(), found[rare + 1 :])
    return chi2_tail(((found - expected) ** 2 / expected).sum(), len(expected) - 1)
