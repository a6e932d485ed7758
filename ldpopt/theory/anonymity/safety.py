"""Which sets of features the marginals prove to be safe, decided exactly.

Let a set J of features have the marginals P_j, and let *exposed* mean: in a cell of the joint
distribution with probability below t. Two rules bound the exposure of **every** joint with these
marginals.

*Kept values* (theorem-3-tight). Keep any set S_j of values of every feature. Then

    Q(t) ≤ Σ_j P_j(not in S_j) + t Π_j |S_j|.

Proof: an exposed user has a value that is not kept, which has at most the first probability, or lies in
one of Π |S_j| cells of probability below t. For a given number of kept values the most frequent ones are
best, and the printed Theorem 3, t / Π t_j instead of t Π N_j(t_j), never proves less: N_j values of at
least t_j have N_j t_j ≤ 1.

*Conditional thresholds* (theorem-2). For t_j in (0, 1] with Π t_j ≥ t, and any one feature i of J,

    Q(t) ≤ Σ_j Q_j(t_j) + Σ_{j≠i} t_j |V_j|

(Bravo-Hermsdorff et al. 2022, Theorem 2). For one feature this is its exposure itself.

**Definition.** J is *provably safe* if one of the two rules, with some S_j or some t_j, proves
Q(t) ≤ budget; the empty set is. *Risk* is the least bound that the two rules prove, at most 1. So J is
provably safe if and only if risk(J) ≤ budget, and a *conflict* is a set with risk(J) > budget: one
function decides both.

**Lemma (monotone).** J ⊂ K has risk(J) ≤ risk(K). Leave out the features of K that are not in J: in the
first rule the sum falls, and so does the product (if some S_j is empty, the bound is at least 1
anyway). In the second the product of the t_j rises, since they are at most 1, and the sum falls, also
if the feature i itself is left out and another takes its place. So a set that contains a conflict is a
conflict.

Sets that are not provably safe may be safe in truth: the rules are not tight. The numbers are read as
the decimals that are printed for them, and each marginal is divided by its sum.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from ldpopt.core.limits import UNLIMITED, Limits
from ldpopt.core.validate import Array
from ldpopt.forms.threshold_search import ThresholdSearch
from ldpopt.theory.anonymity.composition import Choice, best_choice

SAFETY_RULES = ("theorem-3-tight", "theorem-2")
NEAR = 1e-9
"""Where rounding errors could decide, a risk is compared with the budget in rationals."""


def least_risk(
    marginals: Sequence[Array], threshold: float, limits: Limits = UNLIMITED
) -> tuple[str, Choice]:
    """Return the rule that proves the least, and its thresholds; a sum of doubles.

    >>> import numpy as np
    >>> rule, choice = least_risk([np.array([0.6, 0.3, 0.1]), np.array([0.9, 0.1])], 0.01)
    >>> rule, round(choice.bound, 12)
    ('theorem-3-tight', 0.06)
    """
    searches = {rule: ThresholdSearch(tuple(marginals), threshold, rule) for rule in SAFETY_RULES}
    proofs = [(rule, best_choice(search, limits)) for rule, search in searches.items()]
    return min(proofs, key=lambda proof: proof[1].bound)


def risk_beside(
    marginals: Sequence[Array], threshold: float, budget: float, limits: Limits = UNLIMITED
) -> float:
    """Return the risk as a double that lies on the same side of the budget as the risk itself.

    >>> import numpy as np
    >>> coin = np.array([0.5, 0.5])
    >>> risk_beside([coin, coin, coin], 0.0375, 0.3)  # 8 cells of 0.0375 are 0.3
    0.3
    """
    risk = least_risk(marginals, threshold, limits)[1].bound
    if abs(risk - budget) > NEAR:
        return risk
    if provably_safe(marginals, threshold, budget):
        return min(risk, budget)
    return max(risk, math.nextafter(budget, 2.0))


def provably_safe(marginals: Sequence[Array], threshold: float, budget: float) -> bool:
    """Decide in rationals whether one of the rules proves an exposure within the budget."""
    exact = [_normalised(p) for p in marginals]
    t, most = _decimal(threshold), _decimal(budget)
    return most >= 1 or _by_kept_values(exact, t, most) or _by_thresholds(exact, t, most)


def _decimal(x: float) -> Fraction:
    return Fraction(repr(float(x)))


def _normalised(p: Array) -> list[Fraction]:
    """Divide the probabilities by their sum, and sort them, largest first."""
    numbers = sorted((_decimal(x) for x in p.tolist() if x > 0), reverse=True)
    total = sum(numbers)
    return [x / total for x in numbers]


def _by_kept_values(marginals: list[list[Fraction]], t: Fraction, most: Fraction) -> bool:
    """Search all numbers of kept values; of two partial choices keep those with less of something."""
    front: dict[int, Fraction] = {1: Fraction(0)}  # number of cells: least probability of the others
    for p in marginals:
        merged: dict[int, Fraction] = {}
        for cells, lost in front.items():
            rest = Fraction(1)
            for kept, x in enumerate(p, start=1):
                rest -= x
                if lost + rest + t * cells * kept <= most:
                    known = merged.get(cells * kept)
                    merged[cells * kept] = lost + rest if known is None else min(known, lost + rest)
        front = _pareto(merged)
    return bool(front)


def _pareto(choices: dict[int, Fraction]) -> dict[int, Fraction]:
    front: dict[int, Fraction] = {}
    least = Fraction(2)
    for cells in sorted(choices):
        if choices[cells] < least:
            front[cells] = least = choices[cells]
    return front


def _by_thresholds(marginals: list[list[Fraction]], t: Fraction, most: Fraction) -> bool:
    """Search, for every feature i, the break-point up to which each threshold goes."""
    for i in range(len(marginals)):
        features = [marginals[i], *marginals[:i], *marginals[i + 1 :]]
        sizes = [len(p) for p in features[1:]]
        options = [
            [(cap, sum((x for x in p if x < cap), Fraction(0))) for cap in {*p, Fraction(1)}]
            for p in features
        ]
        pending: list[tuple[tuple[Fraction, ...], Fraction]] = [((), Fraction(0))]
        while pending:
            caps, exposed = pending.pop()
            full = [*caps, *[Fraction(1)] * (len(features) - len(caps))]
            if not _fill_within(sizes, full[1:], t / full[0], most - exposed):
                continue
            if len(caps) == len(features):
                return True
            pending += [((*caps, cap), exposed + q) for cap, q in options[len(caps)]]
    return False


def _fill_within(sizes: list[int], caps: list[Fraction], product: Fraction, room: Fraction) -> bool:
    """Decide whether some t_j ≤ cap_j with Π t_j ≥ product have Σ t_j size_j ≤ room.

    The least sum has t_j size_j = min(λ, cap_j size_j). With f thresholds below their caps, λ^f is
    rational, and λ ≤ r is λ^f ≤ r^f.
    """
    if math.prod(caps) < product:
        return False
    order = sorted(zip(caps, sizes, strict=True), key=lambda pair: pair[0] * pair[1])
    rest = product
    for i, (cap, size) in enumerate(order):
        free = len(order) - i
        power = rest * math.prod(s for _, s in order[i:])
        if power <= (cap * size) ** free:
            return room >= 0 and power <= (room / free) ** free
        rest /= cap
        room -= cap * size
    return room >= 0
