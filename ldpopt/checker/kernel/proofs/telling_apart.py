"""Refute a promise about the counts of a table without the counts.

Statement. W[(s,u),y] is a mechanism on pairs of a secret s and a public value u. A promise of the level
ε for some distributions P of (s, u), each of which gives every secret a positive probability, says that
P(y|s) ≤ e^ε P(y|s') for all reports y and secrets s, s'.

Lemma. Let B be a set of reports with

    min_u W[(s,u),B] > e^(ε/r) max_u' W[(s',u'),B],    W[x,B] = Σ_{y∈B} W[x,y].

Then r independent reports about one person have no level ε, for any distribution P. Proof. All r reports
lie in B with the probability Σ_u P(u|s) W[(s,u),B]^r for s, a mean of powers that is at least the r-th
power of the left side without its factor; for s' it is at most that of the maximum. So P(B^r|s) > e^ε
P(B^r|s'), and some r reports in B^r have probabilities with such a ratio, too. ∎ With r = 1 the promise
about one report is false, whatever the counts.

Which B are tried is a rule, not a proof. Where all public values are equally likely, each report tells
two secrets apart most. If their ratio is above e^(ε/r), it is tried alone, and so are all reports
with such a ratio for these two together. If no report has one, that distribution keeps the promise, and
no B refutes it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

from ..arithmetic import exp_above
from ..budget import tick

Block = Sequence[Sequence[float]]
"""The rows of one secret, one per public value."""


def tells_apart(matrix: Block, width: int, level: Fraction) -> bool:
    """Return whether a set of reports tells two secrets apart by more than e^level, by the lemma.

    Args:
        matrix: the mechanism; the public value runs fastest.
        width: the number of public values.
        level: ε/r, in nats.
    """
    blocks = [matrix[first : first + width] for first in range(0, len(matrix), width)]
    overall = [[math.fsum(column) for column in zip(*block, strict=True)] for block in blocks]
    factor, limit = math.exp(level), exp_above(level)
    tried: dict[tuple[int, int], list[list[int]]] = {}
    for y, shares in enumerate(zip(*overall, strict=True)):
        s, z = _extremes(shares)
        if shares[s] > factor * shares[z]:
            tried.setdefault((s, z), []).append([y])
    for (s, z), alone in tried.items():
        together = [y for y, p in enumerate(overall[s]) if p > factor * overall[z][y]]
        for reports in (together, *alone):
            tick()
            least, most = _least(blocks[s], reports), _most(blocks[z], reports)
            if least > factor * most and _exactly_above(blocks[s], blocks[z], reports, limit):
                return True
    return False


def _extremes(shares: Sequence[float]) -> tuple[int, int]:
    """Return the secrets for which a report is most and least likely."""
    each = range(len(shares))
    return max(each, key=shares.__getitem__), min(each, key=shares.__getitem__)


def _least(block: Block, reports: Iterable[int]) -> float:
    return min(math.fsum(row[y] for y in reports) for row in block)


def _most(block: Block, reports: Iterable[int]) -> float:
    return max(math.fsum(row[y] for y in reports) for row in block)


def _exactly_above(high: Block, low: Block, reports: Iterable[int], limit: Fraction) -> bool:
    """Decide the inequality of the lemma; the floats only chose what to try."""
    least = min(sum((Fraction(row[y]) for y in reports), Fraction(0)) for row in high)
    most = max(sum((Fraction(row[y]) for y in reports), Fraction(0)) for row in low)
    return least > limit * most
