"""Enclose an upper bound on the expected exposure of future users, from a sample.

Statement. The table is a sample of m users, drawn independently from an unknown distribution. In each of
its features only values of the table are possible. n other users of the same distribution are released,
and one is exposed if fewer than k = ⌈t n⌉ of them (itself included) have its row. If the rows v of the
released features have the probabilities p_v, the expected fraction of exposed users is Σ_v f(p_v),
f(x) = x F(k−2; n−1, x), F the binomial distribution function: at most k−2 of the others share the row.

Lemma (sample). Let kl(p, x) = p log(p/x) + (1−p) log((1−p)/(1−x)) and r = log(2N/δ)/m, where N + 1 =
Π_j (1 + number of values of feature j). With probability at least 1 − δ over the sample kl(p̂_v, p_v) ≤ r
for the frequencies p̂_v of all sets of features. Proof: for one v the frequencies a ≥ p_v with
kl(a, p_v) > r are those above some a*, as kl rises in a there, and Chernoff's inequality gives them a
probability of at most e^(−mr) = δ/2N; so for a ≤ p_v. There are N combinations of values of non-empty
sets of features. So, whatever set is released, the expectation is at most **risk = min(1, Σ_v max f(x)
over kl(p̂_v, x) ≤ r)**, except for samples of probability at most δ.

Lemma (monotone). Adding a feature never lowers the risk. Proof: let x be where f is largest for a row of
frequency p̂ = Σ p̂_i that splits into rows i. If p̂ > 0, take x_i = x p̂_i/p̂: who reports the row with
probability p̂_i/p̂, and nothing else, turns p̂ into p̂_i and x into x_i, so kl(p̂_i, x_i) ≤ kl(p̂, x) (data
processing). If p̂ = 0, one x_i is x and the others are 0. F falls in x, so Σ x_i F(x_i) ≥ x F(x).

kl(p, x) falls in x up to p and rises after it. So x with kl(p, x) ≥ r on a side of p is beyond the end
of the interval on that side, and x with kl(p, x) ≤ r is within it. Floats and a step of Newton's propose
such x next to the end; enclosed logarithms decide.

Lemma (peak). With N = n − 1, b the binomial mass and 2 ≤ k ≤ n, f′(x) = F(k−2) − (k−1) b(k−1), which
has the sign of g(x) − (k−1), g = F(k−2)/b(k−1) = Σ_{j≤k−2} [C(N, j)/C(N, k−1)] ((1−x)/x)^(k−1−j). That
falls in x. So f rises to one peak and falls after it. If the peak lies in [low, high], f is at most
v F(u) on [u, v] ⊂ [low, high], rises before low and falls after high.

x is a whole number of units; series are summed in whole numbers, one sum rounded down and one up;
their terms' ratios fall, so what follows a term T with ratio r < 1 is at most T r/(1−r). b comes from
enclosed logarithms (``gamma_function.py``).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from ..arithmetic import ONE, ZERO, Interval, between, enclose, log, total
from ..budget import tick
from ..fixed_point import UNIT, units_down, units_up
from .gamma_function import log_gamma

FINE = 1 << 16
"""A series ends at a term of so many units."""
PEAK_BITS = 80
"""Relative width of the interval around the peak."""
HALVINGS, END_BITS = 200, 60
"""Bisections that propose the end of an interval; how close to it, relatively, deciding units are."""
Ratios = Iterator[tuple[int, int]]


class Sample(NamedTuple):
    """What is known: the users of the sample, r enclosed, and how many users are to come."""

    size: int
    reach: Interval
    users: int
    level: int


def sample(size: int, values: list[int], delta: Fraction, users: int, level: int) -> Sample:
    """Describe a sample of users, with the r of the lemma on samples.

    Args:
        size: m, the number of users of the sample.
        values: how many values each feature has.
        delta: δ, the probability with which the sample may mislead.
        users: n, the number of users to come.
        level: k, the anonymity asked for.
    """
    cells = math.prod(n + 1 for n in values) - 1
    return Sample(size, log(Fraction(2 * cells) / delta) / enclose(size), users, level)


def expected_exposure(known: Sample, groups: list[int], possible: int) -> Interval:
    """Enclose the risk of features, from the sizes of groups of equal rows.

    Args:
        known: the sample, and the users to come.
        groups: how many users of the sample share each row that occurs.
        possible: how many rows are possible.
    """
    if known.level <= 1:
        return ZERO
    counts = Counter(groups)
    counts[0] += possible - len(groups)
    terms = (
        enclose(times) * _largest(known, Fraction(count, known.size))
        for count, times in counts.items()
        if times
    )
    found = total(terms)
    return Interval(min(found.low, Decimal(1)), min(found.high, Decimal(1)))


def _largest(known: Sample, p: Fraction) -> Interval:
    """Enclose the largest f(x) over kl(p, x) ≤ r: above on a wider interval, below at a point."""
    n, k = known.users, known.level
    low, high = peak(n, k)
    left, inner_left = _end(known, p, 0)
    right, inner_right = _end(known, p, UNIT)
    if right <= low or left >= high:
        most = exposed_share(n, k, min(right, max(left, low))).high
    else:
        u, v = max(left, low), min(right, high)
        most = (between(v, v) * at_most_others(n, k, u)).high
    return Interval(exposed_share(n, k, min(inner_right, max(inner_left, low))).low, most)


def _end(known: Sample, p: Fraction, limit: int) -> tuple[int, int]:
    """Find units beyond and within the end of {kl(p, x) ≤ r} on the side of a limit, 0 or 1.

    Args:
        known: the sample.
        p: the frequency.
        limit: 0 or 1, in units.
    """
    centre = units_down(p) if limit else units_up(p)
    if p * UNIT == limit:
        return limit, limit
    x = _proposed(p, known.reach, limit)
    step = (x >> END_BITS) + 1 if limit else -(x >> END_BITS) - 1
    far, near = x + step, x - step
    while 0 < far < UNIT and not _divergence(p, far).low >= known.reach.high:
        step *= 2
        far += step
    while (near - centre) * (1 if limit else -1) > 0 and not _divergence(
        p, near
    ).high <= known.reach.low:
        step *= 2
        near -= step
    inner = max(near, centre) if limit else min(near, centre)
    return min(max(far, 0), UNIT), inner


def _divergence(p: Fraction, x: int) -> Interval:
    """Enclose kl(p, x) for 0 < x < 1 in units."""
    other = Fraction(x, UNIT)
    parts = ((p, other), (1 - p, 1 - other))
    return total(enclose(a) * log(a / b) for a, b in parts if a)


def _proposed(p: Fraction, reach: Interval, limit: int) -> int:
    """Propose the x between p and the limit with kl(p, x) = r: bisect floats, then Newton's step."""
    share, most = float(p), float(reach.high)
    near, far = share, float(bool(limit))
    for _ in range(HALVINGS):
        middle = (near + far) / 2
        beyond = (
            middle in (0.0, 1.0)
            or sum(a * math.log(a / b) for a, b in ((share, middle), (1 - share, 1 - middle)) if a)
            > most
        )
        near, far = (near, middle) if beyond else (middle, far)
    x = min(max(int(Fraction(near) * UNIT), 1), UNIT - 1)
    at = Fraction(x, UNIT)
    off = Fraction(_divergence(p, x).low) - Fraction(reach.low)
    better = at - off * at * (1 - at) / (at - p) if at != p else at
    return min(max(int(better * UNIT), 1), UNIT - 1)


def exposed_share(n: int, k: int, x: int) -> Interval:
    """Enclose f(x) = x F(k−2; n−1, x) for x in units, 2 ≤ k ≤ n.

    Args:
        n: the number of users to come.
        k: the anonymity asked for.
        x: the probability of the row, in units.
    """
    return between(x, x) * at_most_others(n, k, x)


def at_most_others(n: int, k: int, x: int) -> Interval:
    """Enclose F(k−2; n−1, x): below the mean by its complement, else by the tail itself.

    Args:
        n: the number of users to come.
        k: the anonymity asked for.
        x: the probability of the row, in units.
    """
    if x in (0, UNIT):
        return ONE if x == 0 else ZERO
    trials = n - 1
    mass = _binomial(trials, k - 1, x)
    if x * trials < (k - 1) * UNIT:
        low, high = _series(_upwards(trials, k - 1, x))
        found = ONE - mass * between(low + UNIT, high + UNIT)
    else:
        found = mass * between(*_series(_downwards(trials, k - 1, x)))
    return Interval(max(found.low, Decimal(0)), min(max(found.high, Decimal(0)), Decimal(1)))


@lru_cache(maxsize=64)
def peak(n: int, k: int) -> tuple[int, int]:
    """Find two units with the peak of f between them, by bisection on the sign of g(x) − (k−1)."""
    low, high = 0, -(-(k - 1) * UNIT // (n - 1))
    while (high - low) << PEAK_BITS > high:
        middle = (low + high) // 2
        step = (middle >> PEAK_BITS) + 1
        rising = _rises(n, k, middle)
        if rising is None:  # the peak is next to the middle
            low = middle - step if _rises(n, k, middle - step) is True else low
            high = middle + step if _rises(n, k, middle + step) is False else high
            break
        low, high = (middle, high) if rising else (low, middle)
    return low, high


def _rises(n: int, k: int, x: int) -> bool | None:
    """Return whether f rises at x: the sign of g(x) − (k−1), or None if that is too close to tell."""
    level = (k - 1) * UNIT
    least, most = _series(_downwards(n - 1, k - 1, x), enough=level)
    return True if least > level else False if most < level else None


def _downwards(trials: int, j: int, x: int) -> Ratios:
    """List b(j−1)/b(j), b(j−2)/b(j−1), …, b(0)/b(1)."""
    for i in range(j, 0, -1):
        yield i * (UNIT - x), (trials - i + 1) * x


def _upwards(trials: int, j: int, x: int) -> Ratios:
    """List b(j+1)/b(j), b(j+2)/b(j+1), …, b(trials)/b(trials − 1)."""
    for i in range(j, trials):
        yield (trials - i) * x, (i + 1) * (UNIT - x)


def _series(ratios: Ratios, enough: int | None = None) -> tuple[int, int]:
    """Enclose r₁ + r₁r₂ + …, in units, for ratios that fall; stop where it exceeds ``enough``."""
    low = high = UNIT
    sum_low = sum_high = 0
    for i, (top, bottom) in enumerate(ratios):
        if i % 256 == 0:
            tick()
        low, high = low * top // bottom, -(-high * top // bottom)
        sum_low, sum_high = sum_low + low, sum_high + high
        if enough is not None and sum_low > enough:
            break
        if high <= FINE and top < bottom:
            sum_high -= -high * top // (bottom - top)
            break
    return sum_low, sum_high


def _binomial(trials: int, j: int, x: int) -> Interval:
    """Enclose b(j; trials, x), 0 < x < 1 in units."""
    yes, no = between(x, x).log(), between(UNIT - x, UNIT - x).log()
    every, chosen, other = (log_gamma(Fraction(n + 1)) for n in (trials, j, trials - j))
    found = (every - chosen - other + enclose(j) * yes + enclose(trials - j) * no).exp()
    return Interval(max(found.low, Decimal(0)), found.high)
