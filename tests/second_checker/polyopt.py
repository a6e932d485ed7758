"""``polyopt``: the extreme rays of the cone by the double description method, in fractions."""

import copy
import itertools
import math
from fractions import Fraction
from functools import cache

from mpmath import iv

from second_checker import columns
from second_checker.confidence import (
    OPTIONAL,
    Robust,
    audit,
    information,
    is_private,
    least_information,
)
from second_checker.intervals import both, interval, surely, top, total, xlogx
from second_checker.reading import demand, keys, matrix, number, numbers, whole, word

MOST_INPUTS, MOST_RAYS = 10, 2500
"""What is larger is left open: 3 × 3 tables have some two thousand rays."""
FINE = 2**100
"""P^min and E are rounded up to multiples of its inverse: the cone then contains Γ."""
SLACK = Fraction(1, 10**25)
"""What the larger cone may add: a failure by less is left open."""


def maximise(found):
    return True


def claims(found):
    """The claims of the kind, each with its answer."""
    params, proof = found["params"], found["certificate"]["proof"]
    keys(
        params, {"epsilon"}, OPTIONAL | {"pairs", "objective", "calibrate", "facets", "width", "groups"}
    )
    demand(None not in params.values(), "a parameter is left out, not null")
    pairs = word(params.get("pairs", "distinct"), ("distinct", "all"))
    objective = word(params.get("objective", "empirical"), ("empirical", "robust"))
    demand(isinstance(params.get("calibrate", False), bool), "calibrate is true or false")
    facets, width = whole(params.get("facets", 0), 0, 10**6), params.get("width")
    demand(width is None or whole(width, 2, 10**6), "width")
    robust = Robust(params)
    group = grouped(robust, width, params.get("groups"))
    W = matrix(found, robust.cells)
    yield "stochastic", all(sum(row) == 1 for row in W)
    if proof is not None or found["bound"] is not None:
        keys(proof, {"ceiling", "secret_dual"}, {"dual"})
        ceiling, secret_dual = number(proof["ceiling"]), duals(proof["secret_dual"])
        dual = duals(proof["dual"]) if "dual" in proof else None
    within = not (params.get("calibrate", False) or facets or objective == "robust")
    if within:
        yield from _within_cone(W, robust, pairs, group)
    if found["bound"] is not None:
        bound = Fraction(found["bound"])
        held = is_ceiling(ceiling, secret_dual, robust)
        yield "ceiling", held
        if within:
            demand(dual is not None, "no dual")
            seen = merged(robust, group)
            demand(len(dual) == len(seen.table) * len(seen.table[0]), "another number of duals")
            over = held is True and bound >= ceiling  # mechanisms in the cone are private against F
            yield "bound", over or (sum(dual) <= bound and dominates(dual, seen, pairs))
        else:
            yield "bound", bound >= ceiling
    yield from mechanism_claims(found, W, robust, objective)


def mechanism_claims(found, W, robust, objective):
    """The claims about the mechanism itself: private, worth its value, and the audit."""
    yield "private", is_private(W, robust, robust.e)
    value = Fraction(found["value"])
    if objective == "empirical":
        yield "value", surely(value, information(W, robust.table))
    else:
        yield "value", surely(value, least_information(W, robust)) or None
    yield from audit(found, W, robust)


def duals(value):
    found = numbers(value)
    demand(len(found) > 1 and max(map(abs, found)) <= Fraction(1e30), "duals")
    return found


def is_ceiling(ceiling, dual, robust):
    """Whether Σβ + H(U|S) ≤ ceiling, and β dominates the information about S."""
    demand(len(dual) == len(robust.secrets), "another number of duals")
    entropy = total(
        -interval(m) * xlogx(q) for m, row in zip(robust.secrets, robust.given, strict=True) for q in row
    )

    asked = list(range(len(dual))), robust.e, "mutual-information", [robust.secrets], None
    return both(surely(interval(sum(dual)) + entropy, ceiling), columns.dominates(dual, asked))


def grouped(robust, width, given):
    """The group of every value: as the file says, or the rarest values together."""
    weights = [sum(column) for column in zip(*robust.table, strict=True)]
    if width is None or width >= len(weights):
        demand(given is None, "groups without merged values")
        return list(range(len(weights)))
    if given is not None:
        demand(isinstance(given, list) and len(given) == len(weights), "a group for every value")
        found = [whole(g, 0, width - 1) for g in given]
        demand(list(dict.fromkeys(found)) == list(range(width)), "groups in order of appearance")
        return found
    heaviest = sorted(sorted(range(len(weights)), key=lambda u: (-weights[u], u))[: width - 1])
    return [heaviest.index(u) if u in heaviest else width - 1 for u in range(len(weights))]


def merged(robust, group):
    """The question in which the values of a group are one."""
    seen = copy.copy(robust)
    seen.table = [
        [sum(p for p, g in zip(row, group, strict=True) if g == i) for i in range(max(group) + 1)]
        for row in robust.table
    ]
    seen.settle()
    return seen


def _within_cone(W, robust, pairs, group):
    seen = merged(robust, group)
    a2 = len(seen.table[0])
    blocks = [W[i : i + len(group)] for i in range(0, len(W), len(group))]
    yield (
        "merged",
        all(row == rows[group.index(g)] for rows in blocks for row, g in zip(rows, group, strict=True)),
    )
    kept = [rows[group.index(g)] for rows in blocks for g in range(a2)]
    yield "cone", in_cone(kept, seen, pairs)


def inequalities(shape, pairs):
    """The pairs of places whose y are compared."""
    a1, a2 = shape
    places = [(s, u) for s in range(a1) for u in range(a2)]
    return [(a, b) for a, b in itertools.permutations(places, 2) if pairs == "all" or a[0] != b[0]]


def in_cone(W, seen, pairs):
    """Whether y_su ≤ E y_zv for every column."""
    a1, a2 = len(seen.table), len(seen.table[0])
    E, answers = iv.exp(interval(seen.e)), {True}
    for column in zip(*W, strict=True):
        y = {}
        for s in range(a1):
            own, p = column[s * a2 : (s + 1) * a2], seen.least[s]
            middle = total(w * interval(c) for w, c in zip(p, own, strict=True))
            for u in range(a2):
                y[s, u] = (1 - total(p)) * interval(own[u]) + middle
        answers |= {surely(y[a], E * y[b]) for a, b in inequalities((a1, a2), pairs)}
    return both(*answers)


def dominates(dual, seen, pairs):
    """Whether β·T ≥ μ(T) on all extreme rays of a cone that contains Γ."""
    rays = cone_rays(seen, pairs)
    if rays is None:
        return None
    flat, answers = [p for row in seen.table for p in row], {True}
    for ray in rays:
        gain = columns.worth("mutual-information", [flat], ray, None)
        paid = sum(b * x for b, x in zip(dual, ray, strict=True))
        holds = surely(gain, paid)
        answers.add(None if holds is False and surely(gain, paid + SLACK) else holds)
    return both(*answers)


def cone_rays(seen, pairs):
    """The extreme rays, the largest entry 1, of a cone that contains Γ; None if they are too many.

    A larger P^min leaves fewer conditional distributions, and so fewer inequalities.
    """
    a1, a2 = len(seen.table), len(seen.table[0])
    if a1 * a2 > MOST_INPUTS:
        return None
    p = [[math.ceil(top(x) * FINE) for x in row] for row in seen.least]
    E = math.ceil(top(iv.exp(interval(seen.e))) * FINE)
    y = {}
    for s, u in itertools.product(range(a1), range(a2)):
        y[s, u] = [0] * (a1 * a2)
        y[s, u][s * a2 : (s + 1) * a2] = p[s]
        y[s, u][s * a2 + u] += FINE - sum(p[s])
    rows = tuple(
        tuple(E * high - FINE * low for low, high in zip(y[a], y[b], strict=True))
        for a, b in inequalities((a1, a2), pairs)
    )
    rays = extreme_rays(rows, a1 * a2)
    return rays and [[Fraction(x, max(ray)) for x in ray] for ray in rays]


@cache
def extreme_rays(rows, size):
    """The extreme rays of {T ≥ 0 : row·T ≥ 0 for all rows}, in whole numbers; None beyond MOST_RAYS.

    Motzkin et al. 1953. A bit of ``tight`` says that the ray meets an inequality with equality. Two rays
    are neighbours if no third one meets all inequalities that both meet.
    """
    rays = [([int(i == j) for j in range(size)], (1 << size) - 1 - (1 << i)) for i in range(size)]
    for number_, row in enumerate(rows, start=size):
        at = [sum(map(int.__mul__, row, ray)) for ray, _ in rays]
        rays = list(_cut(rays, at, 1 << number_, size))
        if len(rays) > MOST_RAYS:
            return None
    return [ray for ray, _ in rays]


def _cut(rays, at, bit, size):
    for (ray, tight), v in zip(rays, at, strict=True):
        if v >= 0:
            yield ray, tight | bit if v == 0 else tight
    inside = [(ray, tight, v) for (ray, tight), v in zip(rays, at, strict=True) if v > 0]
    outside = [(ray, tight, v) for (ray, tight), v in zip(rays, at, strict=True) if v < 0]
    for (one, tight, v), (two, other, w) in itertools.product(inside, outside):
        common = tight & other
        if common.bit_count() < size - 2:
            continue
        meeting = (1 for _, t in rays if common & t == common)
        if sum(itertools.islice(meeting, 3)) > 2:
            continue
        mixed = [v * b - w * a for a, b in zip(one, two, strict=True)]
        shared = math.gcd(*mixed)
        yield [x // shared for x in mixed], common | bit
