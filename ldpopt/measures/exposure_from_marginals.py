"""Rules that bound the exposure of a joint distribution by its marginals.

Bravo-Hermsdorff et al. 2022, Section 6.2. Each rule holds for every choice of one threshold t_j per
marginal; a :class:`ThresholdSearch` asks for the choice that proves the least. Q_j is the exposure of
marginal j, N_j(t) the number of its values with p ≥ t, |V_j| that of all its values.

* theorem-2: Q(t) ≤ Σ_j Q_j(t_j) + Σ_{j≠j*} t_j |V_j| where Π t_j ≥ t.
* theorem-3: Q(t) ≤ Σ_j Q_j(t_j) + t / Π t_j.
* theorem-2-tight: Lemma 11 used as it stands: Σ_v min(p, t_j(1−p)/(1−t_j)) instead of Q_j + t_j |V_j|.
* theorem-3-tight: t Π N_j(t_j), the cells that the proof really counts, instead of t / Π t_j.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from ldpopt.core.certify import printed_above, printed_below
from ldpopt.core.exact import Marginals, printed, proven_exposure
from ldpopt.core.forms.searches import ThresholdSearch
from ldpopt.core.limits import UNLIMITED, Limits
from ldpopt.core.validate import Array

RULES = ("theorem-2", "theorem-3", "theorem-2-tight", "theorem-3-tight")
TIE = 1e-13
"""A relative tolerance, more than what rounding can do to a bound or a product of thresholds."""


class Choice(NamedTuple):
    """Thresholds and what the rule proves with them; the pivot is the j* of Theorem 2."""

    thresholds: tuple[float, ...]
    pivot: int | None
    bound: float


def rule_bound(form: ThresholdSearch, thresholds: Sequence[float], pivot: int | None = None) -> float:
    """Compute what the rule proves with these thresholds; never more than the trivial 1.

    Args:
        form: the marginals, the threshold t and the rule.
        thresholds: t_j, one per marginal.
        pivot: the j* of Theorem 2.

    >>> marginals = np.array([0.6, 0.3, 0.1]), np.array([0.9, 0.1])
    >>> round(rule_bound(ThresholdSearch(marginals, 0.01, "theorem-3"), [0.1, 0.9]), 12)
    0.211111111111
    """
    below = [float(p[p < t].sum()) for p, t in zip(form.marginals, thresholds, strict=True)]
    if form.rule.startswith("theorem-3"):
        return min(1.0, sum(below) + form.threshold * math.prod(_spread(form, thresholds)))
    slack = 1 + 1e-12
    if math.prod(thresholds) * slack < form.threshold:
        return 1.0
    terms = [
        q if j == pivot else _conditional(form, p, q, t)
        for j, (p, q, t) in enumerate(zip(form.marginals, below, thresholds, strict=True))
    ]
    return min(1.0, sum(terms))


def _spread(form: ThresholdSearch, thresholds: Sequence[float]) -> list[float]:
    if form.rule == "theorem-3":
        return [1 / t for t in thresholds]
    return [float((p >= t).sum()) for p, t in zip(form.marginals, thresholds, strict=True)]


def _conditional(form: ThresholdSearch, p: Array, below: float, t: float) -> float:
    """Return how much mass a value of conditional probability below t can have."""
    if form.rule == "theorem-2":
        return below + t * len(p)
    return float(np.minimum(p, t * (1 - p) / (1 - t)).sum()) if t < 1 else 1.0


def exact_marginals(marginals: Sequence[Array]) -> list[list[Fraction]]:
    """Return the positive probabilities as printed, each marginal divided by its exact sum."""
    rows = [[printed(x) for x in p.tolist() if x > 0] for p in marginals]
    return [[x / sum(row) for x in row] for row in rows]


def least_proven(form: ThresholdSearch, exact: Marginals, limits: Limits = UNLIMITED) -> Choice:
    """Search the thresholds that prove the least, and return what they prove exactly, rounded up.

    Where a product of probabilities equals t up to rounding, the search in floats may take thresholds
    whose exact product is below t, with which Theorem 2 proves nothing. A search at a threshold a
    little higher leaves those out.

    Args:
        form: the marginals as floats, the threshold t and the rule.
        exact: the exact marginals, all positive.
        limits: when to give up.

    Raises:
        OutOfTime: the limits are over before the search is.
    """
    found = best_choice(form, limits)
    choice = settled(form, found, exact)
    if choice.bound <= found.bound * (1 + TIE) or form.threshold * (1 + TIE) > 1:
        return choice
    higher = ThresholdSearch(form.marginals, form.threshold * (1 + TIE), form.rule)
    other = settled(form, best_choice(higher, limits), exact)
    return min(choice, other, key=lambda proof: proof.bound)


def settled(form: ThresholdSearch, choice: Choice, exact: Marginals) -> Choice:
    """Return thresholds, as floats, whose decimals prove the bound exactly, and that bound, rounded up.

    A threshold that was meant to keep a value must not exceed its exact probability, and the product
    of the thresholds of Theorem 2 must not fall below t: each is moved by a rounding error.

    Args:
        form: the search; its marginals are floats near the exact ones.
        choice: what the search found.
        exact: the exact marginals, all positive.
    """
    t = printed(form.threshold)
    ceilings = [
        min((x for x, y in zip(p, raw[raw > 0], strict=True) if y >= s), default=Fraction(1))
        for p, raw, s in zip(exact, form.marginals, choice.thresholds, strict=True)
    ]
    thresholds = [
        s if printed(s) <= top else printed_below(top)
        for s, top in zip(choice.thresholds, ceilings, strict=True)
    ]
    if form.rule.startswith("theorem-2"):
        thresholds = _raised(thresholds, ceilings, t)
    bound = proven_exposure(exact, t, form.rule, [printed(s) for s in thresholds], choice.pivot)
    return Choice(tuple(thresholds), choice.pivot, printed_above(bound))


def _raised(thresholds: list[float], ceilings: list[Fraction], t: Fraction) -> list[float]:
    """Raise one threshold below its ceiling until the product of all is at least t, if one can."""
    product = math.prod(printed(s) for s in thresholds)
    if product >= t:
        return thresholds
    for j, (s, top) in enumerate(zip(thresholds, ceilings, strict=True)):
        higher = printed_above(printed(s) * t / product)
        if printed(higher) <= top:
            return [*thresholds[:j], higher, *thresholds[j + 1 :]]
    return thresholds


def break_points(p: Array) -> list[float]:
    """List where the exposure is about to jump: the distinct probabilities, and 1.

    >>> break_points(np.array([0.6, 0.2, 0.2]))
    [0.2, 0.6, 1.0]
    """
    return [float(t) for t in np.unique(np.append(p, 1.0))]


def best_choice(form: ThresholdSearch, limits: Limits = UNLIMITED) -> Choice:
    """Find the thresholds that prove the least bound; for theorem-2-tight only by a local search.

    Raises:
        OutOfTime: the limits are over before the search is.
    """
    if form.rule.startswith("theorem-3"):
        return _pareto_merge(form, limits)
    if form.rule == "theorem-2-tight":
        return _coordinate_search(form, limits)
    best = Choice((1.0,) * len(form.marginals), 0, 1.0)
    for pivot in range(len(form.marginals)):
        best = _best_caps(form, pivot, best, limits)
    return best


# ---------------------------------------------------------------- Theorem 3


def _pareto_merge(form: ThresholdSearch, limits: Limits) -> Choice:
    """Add one marginal at a time, at break-points; drop what another beats in exposure and spread."""
    front: list[tuple[float, float, tuple[float, ...]]] = [(0.0, 1.0, ())]
    for j, p in enumerate(form.marginals):
        points = break_points(p)
        below = [float(p[p < t].sum()) for t in points]
        single = ThresholdSearch((form.marginals[j],), form.threshold, form.rule)
        spread = [_spread(single, [t])[0] for t in points]
        merged: list[tuple[float, float, tuple[float, ...]]] = []
        for q, s, chosen in front:
            limits.check()
            for t, b, r in zip(points, below, spread, strict=True):
                if q + b < 1:
                    merged.append((q + b, s * r, (*chosen, t)))
        merged.sort()
        front, least = [], math.inf
        for q, s, chosen in merged:
            if s < least:
                front.append((q, s, chosen))
                least = s
    choices = [(q + form.threshold * s, chosen) for q, s, chosen in front]
    value, thresholds = min(choices, default=(1.0, (1.0,) * len(form.marginals)))
    return Choice(thresholds, None, min(1.0, value))


# ---------------------------------------------------------------- Theorem 2


def water_fill(supports: Sequence[int], caps: Sequence[float], product: float) -> list[float] | None:
    """Find the t_j ≤ cap_j with Π t_j = product that minimise Σ t_j |V_j|: t_j = min(λ/|V_j|, cap_j).

    Args:
        supports: |V_j|, the number of values of each marginal.
        caps: the largest t_j allowed.
        product: what the t_j must multiply to.

    Returns:
        The t_j; None if even the caps multiply to less.

    >>> water_fill([2, 3], [1, 1], 0.06)
    [0.3, 0.2]
    >>> water_fill([2, 3], [0.1, 1], 0.06)
    [0.1, 0.6]
    """
    if math.prod(caps) * (1 + 1e-15) < product:
        return None
    thresholds = list(caps)
    order = sorted(range(len(caps)), key=lambda j: caps[j] * supports[j])
    rest = product
    for i, j in enumerate(order):
        free = order[i:]
        level = (rest * math.prod(supports[f] for f in free)) ** (1 / len(free))
        if level <= caps[j] * supports[j]:
            for f in free:
                thresholds[f] = round_off(level / supports[f])
            return thresholds
        rest /= caps[j]
    return thresholds


def round_off(x: float) -> float:
    """Take the rounding of a root out of a number: 15 digits.

    >>> round_off(0.30000000000000004)
    0.3
    """
    return float(f"{x:.15g}")


def _best_caps(form: ThresholdSearch, pivot: int, best: Choice, limits: Limits) -> Choice:
    """Branch and bound over the break-point below which each threshold stays.

    The pivot costs no t_j |V_j|, so its threshold *is* its cap and comes first; the rest is
    water-filled. A partial choice is bounded by giving the open features a free exposure and cap 1.
    """
    features = [pivot, *(j for j in range(len(form.marginals)) if j != pivot)]
    supports = [len(form.marginals[j]) for j in features[1:]]
    options = []
    for j in features:
        p = form.marginals[j]
        options.append([(t, float(p[p < t].sum())) for t in break_points(p)])
    pending: list[tuple[float, ...]] = [()]
    while pending:
        limits.check()
        caps = pending.pop()
        depth = len(caps)
        exposed = sum(dict(options[i])[cap] for i, cap in enumerate(caps))
        full = [*caps, *[1.0] * (len(features) - depth)]
        filled = water_fill(supports, full[1:], form.threshold / full[0])
        if filled is None:
            continue
        bound = exposed + sum(t * size for t, size in zip(filled, supports, strict=True))
        if bound >= best.bound:
            continue
        if depth < len(features):
            pending += [(*caps, cap) for cap, _ in reversed(options[depth])]
            continue
        placed = dict(zip(features, [caps[0], *filled], strict=True))
        thresholds = tuple(placed[j] for j in range(len(features)))
        best = Choice(thresholds, pivot, min(bound, rule_bound(form, thresholds, pivot)))
    return best


def _coordinate_search(form: ThresholdSearch, limits: Limits) -> Choice:
    """Move one threshold against the pivot's, from the optimum of Theorem 2 and from equal shares."""
    d = len(form.marginals)
    plain = ThresholdSearch(form.marginals, form.threshold, "theorem-2")
    equal = form.threshold ** (1 / d)
    best = Choice((1.0,) * d, 0, 1.0)
    for pivot in range(d):
        for start in (
            _best_caps(plain, pivot, Choice((equal,) * d, pivot, 2.0), limits).thresholds,
            (equal,) * d,
        ):
            best = min(best, _descend(form, pivot, list(start), limits), key=lambda choice: choice.bound)
    return best


def _descend(form: ThresholdSearch, pivot: int, thresholds: list[float], limits: Limits) -> Choice:
    value = rule_bound(form, thresholds, pivot)
    improved = True
    while improved:
        improved = False
        for j in (j for j in range(len(thresholds)) if j != pivot):
            limits.check()
            for point in break_points(form.marginals[pivot]):
                others = math.prod(t for i, t in enumerate(thresholds) if i not in (j, pivot))
                moved = form.threshold / (others * point)
                if not 0 < moved <= 1:
                    continue
                trial = list(thresholds)
                trial[j], trial[pivot] = moved, point
                found = rule_bound(form, trial, pivot)
                if found < value - 1e-15:
                    value, thresholds, improved = found, trial, True
    return Choice(tuple(thresholds), pivot, value)
