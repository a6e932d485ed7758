"""The utility Σ_y g(W[:, y]) of a mechanism: what each g is, and its value, enclosed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from ..arithmetic import ZERO, Interval, dyadic, enclose, log, total
from ..budget import tick
from ..schema import Number
from .two_hypotheses import Divergence

MOST_DUAL = 1e30
"""The largest size of an entry of the dual vector; E² at ε = 30 is 1.1e26."""


class ColumnStatement(NamedTuple):
    """Maximise Σ_y g(W[:, y]) over mechanisms with W[x,y] ≤ e^ε W[x',y] where secrets differ.

    ``weights`` are the probabilities of the hypotheses of bayes, ``order`` is the order of renyi.
    """

    secrets: tuple[Any, ...]
    epsilon: float
    utility: str
    distributions: tuple[tuple[Fraction, ...], ...]
    weights: tuple[Fraction, ...] = ()
    order: float | None = None


ORDER = Number(0.01, 60)
"""The order of renyi."""
OF_A_PRIOR = ("mutual-information", "guessing")
OF_TWO_HYPOTHESES = ("kl", "total-variation", "chi-squared", "hellinger", "renyi")
OF_HYPOTHESES = (*OF_TWO_HYPOTHESES, "bayes")
UTILITIES = (*OF_A_PRIOR, *OF_HYPOTHESES)
MOST_LOG_POWER = 30
"""(order − 1) ε of renyi: the power of a ratio of two entries is at most e^60."""


def utility_of(matrix: Sequence[Sequence[float]], question: ColumnStatement) -> Interval:
    """Enclose the utility Σ_y g(W[:, y]) of the mechanism.

    Lemma. q = P·T, q0 = p0·T and q1 = p1·T are rational, so total variation, χ², bayes and guessing are
    exact, and every logarithm, root or power is of a rational number and enclosed. A column adds at
    least 0 to the information: by Jensen's inequality Σ P T log T ≥ q log q, as P sums to exactly 1.
    """
    rows = [_weights(row) for row in question.distributions]
    return total(_column_utility(question, rows, column) for column in zip(*matrix, strict=True))


def utility_below(matrix: Sequence[Sequence[float]], question: ColumnStatement) -> Fraction:
    """Compute a rational number just below the utility."""
    return Fraction(utility_of(matrix, question).low)


class Weights(NamedTuple):
    """A distribution as whole numbers over a common denominator."""

    numerators: list[int]
    denominator: int


def _weights(row: Sequence[Fraction]) -> Weights:
    denominator = math.lcm(*(p.denominator for p in row))
    return Weights([p.numerator * (denominator // p.denominator) for p in row], denominator)


def _column_utility(question: ColumnStatement, rows: list[Weights], column: Sequence[float]) -> Interval:
    tick()
    if question.utility == "mutual-information":
        return _information(rows[0], column)
    entries, bits = dyadic(column)
    if question.utility == "guessing":
        best = max(n * t for n, t in zip(rows[0].numerators, entries, strict=True))
        return enclose(Fraction(best, rows[0].denominator << bits))
    masses = [_mass(row, entries, bits) for row in rows]
    if question.utility == "bayes":
        return enclose(max(w * q for w, q in zip(question.weights, masses, strict=True)))
    return Divergence(question.utility, question.order).of_masses(*masses)


def _mass(row: Weights, entries: list[int], bits: int) -> Fraction:
    """Compute p·T for a column T of whole multiples of 2^−bits."""
    found = sum(n * t for n, t in zip(row.numerators, entries, strict=True))
    return Fraction(found, row.denominator << bits)


def _information(prior: Weights, column: Sequence[float]) -> Interval:
    """Enclose Σ P T log T − q log q; entries of equal T share one logarithm."""
    masses: Counter[float] = Counter()
    for n, t in zip(prior.numerators, column, strict=True):
        masses[t] += n
    used = {Fraction(t): Fraction(n, prior.denominator) for t, n in masses.items() if n}
    if len(used) == 1:
        return ZERO  # T is constant where P is positive
    q = sum((p * t for t, p in used.items()), Fraction(0))
    own = total(enclose(p * t) * log(t) for t, p in used.items() if t)
    found = own - enclose(q) * log(q)
    return Interval(max(found.low, ZERO.low), found.high)
