"""Random redaction (Bravo-Hermsdorff et al. 2022, Section 8.1).

A user who redacts a rare value reveals that it was rare, if nobody else redacts. So users with common
values redact theirs at random, just as often as makes the redacted ones a large enough group, and only
where enough users with that value are left.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ldpopt.core import validate
from ldpopt.core.errors import InvalidInputError
from ldpopt.core.quantiles import binomial
from ldpopt.core.validate import Array
from ldpopt.measures.exposure import exposure


class Redaction(NamedTuple):
    """Who redacts one feature, and what that gives.

    Attributes:
        chances: for every value, the probability that its holders redact it; 1 for the rare ones.
        released: the expected distribution of what is released, the redacted last.
        exposure: its exposure at the threshold: 0, or the share of all users if nothing is safe.
        short: the exact probability that at least one but fewer than t n of the n users redact.
    """

    chances: Array
    released: Array
    exposure: float
    short: float


def redact_randomly(counts: ArrayLike, threshold: float, *, margin: float = 0.0) -> Redaction:
    """Choose how often the holders of each value redact it, so that in expectation nobody is exposed.

    Values below the threshold are always redacted. If these users are too few, the others make up for
    it, each value in proportion to what it has above the threshold. Where that is not enough, everybody
    redacts.

    Args:
        counts: how many users have each value.
        threshold: t: users whose released value is shared by less than this fraction are exposed.
        margin: aim at t (1 + margin) for the redacted, since how many redact is random.

    Raises:
        InvalidInputError: the threshold is not in (0, 1], or the margin negative.

    >>> found = redact_randomly([60, 39, 1], 0.1)
    >>> found.chances.round(3).tolist(), round(found.exposure, 3)
    ([0.095, 0.085, 1.0], 0.0)
    """
    c = validate.array("counts", counts, 1)
    if (c < 0).any() or (c != c.round()).any() or c.sum() == 0:
        raise InvalidInputError("counts must be whole numbers >= 0, not all 0")
    if not (0 < threshold <= 1 and margin >= 0):
        raise InvalidInputError(
            f"threshold must lie in (0, 1] and margin be at least 0, not {threshold!r} and {margin!r}"
        )
    p = c / c.sum()
    rare = p < threshold
    spare = np.where(rare, 0.0, p - threshold)
    rare_mass = float(p[rare].sum())
    missing = max(0.0, threshold * (1 + margin) - rare_mass) if rare_mass > 0 else 0.0
    if missing > spare.sum():
        chances = np.ones(len(p))
    else:
        taken = missing * spare / spare.sum() if missing else spare * 0
        chances = np.where(rare, 1.0, taken / np.where(rare, 1.0, p))
    kept = p * (1 - chances)
    released = np.append(kept, 1 - kept.sum())
    used = released > 1e-15
    found = float(exposure(released[used] / released[used].sum(), threshold * (1 - 1e-12)))
    return Redaction(chances, released, found, _short(c, chances, threshold))


def _short(counts: Array, chances: Array, threshold: float) -> float:
    """Compute the probability that at least one but fewer than t n users redact: a sum of binomials."""
    law = np.ones(1)
    for count, chance in zip(counts.astype(int), chances, strict=True):
        law = np.convolve(law, binomial(count, chance))
    least = int(np.ceil(threshold * counts.sum() * (1 - 1e-12)))
    return float(law[1:least].sum())
