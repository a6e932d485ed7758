"""Rules that bound the exposure of every joint distribution with given marginals. All in rationals.

Statement. A user is *exposed* at t if the cell of its values (one per feature) has a probability below
t. Q(t) is the mass of such cells, Q_j(s) the mass of the values of feature j with a probability below
s, N_j(s) the number of its values with at least s, |V_j| the number of all its values, each of positive
probability. For thresholds t_j in (0, 1], for every joint distribution with these marginals:

* theorem-3-tight: Q(t) ≤ Σ_j Q_j(t_j) + t Π_j N_j(t_j);
* theorem-3: Q(t) ≤ Σ_j Q_j(t_j) + t / Π_j t_j;
* theorem-2-tight, if Π t_j ≥ t: Q(t) ≤ Q_i(t_i) + Σ_{j≠i} Σ_v min(p_v, t_j (1−p_v) / (1−t_j));
* theorem-2, if Π t_j ≥ t: Q(t) ≤ Σ_j Q_j(t_j) + Σ_{j≠i} t_j |V_j|.

Proof. *3-tight*: an exposed user has a value of less than t_j in some feature, or lies in one of Π N_j
cells of mass below t. *3*: N_j values of at least t_j have N_j t_j ≤ 1. *2-tight*: put feature i, the
*pivot*, first. A cell's probability is that of its value of i times the conditional probabilities of the
others given those before, so below t ≤ Π t_j some factor is below its t_j. The first factor is below
t_i with mass Q_i(t_i). For another feature and a value v of probability p: let c be the mass of the
contexts in which v has a conditional probability below t_j, and x ≤ t_j c the mass of v there. Outside v
these contexts have c − x ≤ 1 − p. So x ≤ t_j (1 − p + x), x ≤ t_j (1−p) / (1−t_j), and x ≤ p. *2*: also
x ≤ t_j, which sums to t_j |V_j|.

:func:`proven` evaluates a rule at given thresholds. :func:`provable` decides whether *any* thresholds
make a rule prove at most (or less than) a number.

Lemma (break-points). For t_j in (a, b], a and b neighbours among 0, the probabilities of feature j and
1, Q_j and N_j do not change; so b, the *cap*, is best for theorem-3, theorem-3-tight, and the pivot of
theorem-2. The least Σ_{j≠i} t_j |V_j| with t_j ≤ cap_j and Π t_j ≥ t is attained by t_j |V_j| = y_j =
min(λ, cap_j |V_j|), Π t_j = t. Proof: let z_j ≤ cap_j |V_j| have Π z_j ≥ Π y_j. Then Σ (z_j/y_j − 1) ≥ 0
(arithmetic and geometric mean), and Σ (z_j − y_j) = λ Σ (z_j/y_j − 1) + Σ (y_j − λ)(z_j/y_j − 1), where
y_j < λ only at a cap, where z_j ≤ y_j: no term of the last sum is negative.

Lemma (dominance). Of two partial choices of caps for theorem-3(-tight), one with no more exposure
Σ Q_j and no larger product dominates: whatever completes the other completes it, and proves no more.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from ..budget import reserve, tick
from ..printed_numbers import Printed, PrintedDistribution
from ..schema import List, Nullable, Number, Record, Whole, Word

RULES = ("theorem-2", "theorem-3", "theorem-2-tight", "theorem-3-tight")
Marginals = Sequence[Sequence[Fraction]]
Fits = Callable[[Any, Any], bool]


def proven(
    marginals: Marginals, t: Fraction, rule: str, thresholds: Sequence[Fraction], pivot: int | None
) -> Fraction:
    """Compute the bound that a rule proves with these thresholds, never more than the trivial 1.

    Args:
        marginals: exact, all probabilities positive.
        t: the threshold.
        rule: the name of the rule.
        thresholds: t_j in (0, 1], one per marginal.
        pivot: the feature i of theorem-2.
    """
    pairs = list(zip(marginals, thresholds, strict=True))
    below = [sum((x for x in p if x < s), Fraction(0)) for p, s in pairs]
    exposed = sum(below, Fraction(0))
    if rule == "theorem-3":
        return min(Fraction(1), exposed + t / math.prod(thresholds))
    if rule == "theorem-3-tight":
        return min(Fraction(1), exposed + t * math.prod(sum(x >= s for x in p) for p, s in pairs))
    if pivot is None or math.prod(thresholds) < t:
        return Fraction(1)
    others = [pair for j, pair in enumerate(pairs) if j != pivot]
    if rule == "theorem-2":
        return min(Fraction(1), exposed + sum((s * len(p) for p, s in others), Fraction(0)))
    assert rule == "theorem-2-tight"
    conditional = (x if s == 1 else min(x, s * (1 - x) / (1 - s)) for p, s in others for x in p)
    return min(Fraction(1), below[pivot] + sum(conditional, Fraction(0)))


def provable(marginals: Marginals, t: Fraction, rule: str, most: Fraction, *, less: bool) -> bool:
    """Return whether some thresholds make the rule prove at most ``most``, or less than it if ``less``.

    The rule is theorem-2, theorem-3 or theorem-3-tight; the trivial bound 1 is always proven.

    Args:
        marginals: exact, all probabilities positive.
        t: the threshold.
        rule: the name of the rule.
        most: the number in question.
        less: whether the rule must prove less than that.
    """
    fits: Fits = operator.lt if less else operator.le
    if most < 0 or fits(1, most):
        return most >= 0
    if rule == "theorem-2":
        return _filling_within(marginals, t, most, fits)
    return _product_within(marginals, t, rule == "theorem-3-tight", most, fits)


def _caps(p: Sequence[Any], one: Any) -> list[Any]:
    return sorted({*p, one})


def _product_within(marginals: Marginals, t: Fraction, tight: bool, most: Fraction, fits: Fits) -> bool:
    """Merge feature by feature, keeping the choices that nothing dominates and that can still fit.

    Factors of features not merged yet are at least 1. A cap above all probabilities has N_j = 0, but
    Q_j = 1, which does not fit, as ``most`` is at most 1 here.
    """
    front: list[tuple[Fraction, Fraction]] = [(Fraction(0), Fraction(1))]
    for p in marginals:
        caps = _caps(p, Fraction(1))
        lost = [sum((x for x in p if x < cap), Fraction(0)) for cap in caps]
        factors = [Fraction(sum(x >= cap for x in p)) if tight else 1 / cap for cap in caps]
        reserve(2 * len(front) * len(caps), "the choices of thresholds")
        merged = []
        for exposed, product in front:
            tick()
            for q, factor in zip(lost, factors, strict=True):
                if q < 1 and fits(exposed + q + t * product * factor, most):
                    merged.append((exposed + q, product * factor))
        merged.sort()
        front = []
        for choice in merged:
            if not front or choice[1] < front[-1][1]:
                front.append(choice)
    return bool(front)


def _filling_within(marginals: Marginals, t: Fraction, most: Fraction, fits: Fits) -> bool:
    """Branch on the caps, for every pivot; caps not chosen yet are 1 and expose nothing.

    Everything is a whole number over one denominator, ``unit``.
    """
    unit = math.lcm(t.denominator, most.denominator, *(x.denominator for p in marginals for x in p))
    rows = [[int(x * unit) for x in p] for p in marginals]
    for pivot in range(len(rows)):
        features = [rows[pivot], *rows[:pivot], *rows[pivot + 1 :]]
        sizes = [len(p) for p in features[1:]]
        options = [[(cap, sum(x for x in p if x < cap)) for cap in _caps(p, unit)] for p in features]
        need = int(t * unit) * math.prod(sizes) * unit ** len(sizes)
        pending: list[tuple[tuple[int, ...], int]] = [((), int(most * unit))]
        while pending:
            tick()
            caps, room = pending.pop()
            full = [*caps, *[unit] * (len(features) - len(caps))]
            tops = sorted(cap * size for cap, size in zip(full[1:], sizes, strict=True))
            if not _fills(need, full[0], tops, room, fits):
                continue
            if len(caps) == len(features):
                return True
            pending += [((*caps, cap), room - q) for cap, q in options[len(caps)] if q <= room]
    return False


def _fills(need: int, reached: int, tops: list[int], room: int, fits: Fits) -> bool:
    """Return whether the least Σ y_j fits the room.

    The y_j satisfy y_j ≤ top_j (ascending) and reached · Π y_j ≥ need.

    With f of the y_j equal to λ and the others at their tops, reached · Π tops · λ^f = need; λ is the
    right one if it is at most the next top, and f λ fits the rest r of the room if need f^f fits
    reached · Π tops · r^f.
    """
    for i, top in enumerate(tops):
        free = len(tops) - i
        if need <= reached * top**free:
            return fits(need * free**free, reached * room**free)
        reached *= top
        room -= top
        if room < 0:
            return False
    return need <= reached and fits(0, room)


MOST_FEATURES, MOST_VALUES = 64, 10_000
MARGINALS = List(PrintedDistribution(MOST_VALUES), 1, MOST_FEATURES)
THRESHOLD = Printed(Number(above=0, most=1))


def rule_schema(features: int, rules: tuple[str, ...]) -> Record:
    """Return the schema of an answer by a rule; if only one rule is allowed, its name is left out."""
    named = {"rule": Word(*rules)} if len(rules) > 1 else {}
    thresholds = List(THRESHOLD, features, features)
    return Record({**named, "thresholds": thresholds, "pivot": Nullable(Whole(0, features - 1))})
