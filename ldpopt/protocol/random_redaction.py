"""The curator's decision where users redact at random (Bravo-Hermsdorff et al. 2022, Section 8.1).

Owners of a rare value redact it, and stand out if nobody else redacts. So some owners of common values
also redact theirs, at random: as often as makes the redacted a large enough group, and only where enough
users with that value are left. The curator does not see their draws.

Lemma. Let P_j be the marginals of round 1 and K_j the values of feature j that may be sent. Whatever
the users draw, the table that they send exposes, for any S_j ⊂ K_j, at most the fraction

    Σ_j P_j(K_j without S_j) + t Π_j (|S_j| + 1).

Proof. An exposed user sends in some feature a value of K_j outside of S_j, or in every feature a value
of S_j or the mark of a redacted one. Of the former there are at most the first sum, since redacting
only makes the senders of a value fewer. The others lie in Π (|S_j| + 1) cells, each of which holds less
than the fraction t if its users are exposed. ∎

Half of it is the bound of the rule theorem-3-tight at t/2 for the marginals P_j/2 with one more value,
which has the rest, at least 1/2, and is kept in every S_j that proves anything. The checker's own
search over all S_j (:func:`ldpopt.checker.kernel.proofs.exposure_rules.provable`) decides in rationals
whether it is within the budget.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ldpopt.core import validate
from ldpopt.core.quantiles import binomial
from ldpopt.core.validate import Array, InvalidInputError
from ldpopt.measures.exposure import exposure
from ldpopt.protocol.session import Decision

if TYPE_CHECKING:
    from ldpopt.protocol.deciding import Policy


class Column(NamedTuple):
    """What is redacted of one feature.

    Attributes:
        kept: the values that may be sent; None if all may, and nobody redacts.
        chances: how often the owners of each redact it nevertheless.
        sent: the fraction of the users that is expected to send its value.
        halves: half of the marginal of what may be sent, and one more value with the rest.
    """

    kept: tuple[str, ...] | None
    chances: tuple[float, ...]
    sent: Fraction
    halves: list[Fraction]


def decide_randomly(columns: Sequence[Counter[str]], users: int, policy: Policy) -> Decision:
    """Choose the heaviest set of features that the lemma proves to expose few users.

    Args:
        columns: for every feature, how often each readable value was sent.
        users: how many users took part; those without a readable value count as one value.
        policy: threshold, budget, weights, and below which frequency values are redacted.
    """
    # only the curator needs these: the other processes start faster without
    from ldpopt.core.exact import printed, provable_exposure
    from ldpopt.core.forms.selections import Subset, SubsetProgram
    from ldpopt.core.limits import UNLIMITED, Limits
    from ldpopt.solvers.feature_set_branch import SubsetBranch

    assert policy.redact is not None
    found = [redacted(column, users, policy.redact) for column in columns]
    t, budget = printed(policy.threshold), printed(policy.budget)

    def risk(subset: Subset, limits: Limits) -> float:
        """Return 0 if the lemma proves the set, else 1; a larger set never has a smaller risk."""
        limits.check()
        halves = [found[j].halves for j in subset]
        safe = budget >= 1 or provable_exposure(halves, t / 2, "theorem-3-tight", budget / 2, less=False)
        return 0.0 if safe else 1.0

    own = policy.weights or (1.0,) * len(columns)
    weights = tuple(printed(w) * column.sent for w, column in zip(own, found, strict=True))
    features = SubsetBranch().run(SubsetProgram(weights, risk, 0.5), UNLIMITED).point
    chosen = [found[j] for j in features]
    return Decision(tuple(features), tuple(c.kept for c in chosen), tuple(c.chances for c in chosen))


def redacted(column: Counter[str], users: int, redact: float) -> Column:
    """Say which values of a feature may be sent, and how often they are redacted at random.

    Args:
        column: how often each readable value was sent.
        users: how many users took part.
        redact: below which fraction of the users a value is rare.

    >>> redacted(Counter({"a": 60, "b": 39, "c": 1}), 100, 0.1).kept
    ('a', 'b')
    """
    values = sorted(column)
    unreadable = users - column.total()
    counts = [column[value] for value in values] + [unreadable] * (unreadable > 0)
    drawn = redact_randomly(counts, redact).chances.tolist()
    if not any(drawn):
        halves = [Fraction(n, 2 * users) for n in counts]
        return Column(None, (), Fraction(1), [*halves, Fraction(1, 2)])
    pairs = [(v, x) for v, x in zip(values, drawn, strict=False) if x < 1]
    sent = sum((Fraction(column[v], users) * (1 - Fraction(x)) for v, x in pairs), Fraction(0))
    halves = [Fraction(column[v], 2 * users) for v, _ in pairs]
    halves += [Fraction(unreadable, 2 * users)] * (unreadable > 0)
    kept, chances = tuple(v for v, _ in pairs), tuple(x for _, x in pairs)
    return Column(kept, chances, sent, [*halves, 1 - sum(halves, Fraction(0))])


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
    # compute the probability that at least one but fewer than t n users redact: a sum of binomials
    law = np.ones(1)
    for count, chance in zip(c.astype(int), chances, strict=True):
        law = np.convolve(law, binomial(count, chance))
    least = int(np.ceil(threshold * c.sum() * (1 - 1e-12)))
    return Redaction(chances, released, found, float(law[1:least].sum()))
