"""Asymptotic utility: F in whole numbers, its inverse on intervals, leakage by a quadrature."""

import itertools
import math
from fractions import Fraction

from mpmath import iv

from second_checker.columns import is_private
from second_checker.covering import Cover
from second_checker.determinants import UNIT, eliminated, enclosed, information, rank, whole
from second_checker.intervals import both, bottom, interval, surely, top, total
from second_checker.leaking import classes_leak_within, leaks_within
from second_checker.points import points_of, renamed
from second_checker.reading import demand, keys, matrix, number, numbers

MOST_RENAMED = 3
"""With more values points are not renamed: columns that are renamings of each other are averaged."""
MOST_WORK = 3_000_000
"""How many entries of matrices are summed; what is larger is left open."""
ROUNDED = Fraction(1, 2**120)


def maximise(found):
    return True


def claims(found):
    """The claims of the kind, each with its answer."""
    params, proof = found["params"], found["certificate"]["proof"]
    required = {"asymptotic-utility": {"epsilon"}}.get(found["problem"], {"min_average_privacy"})
    keys(params, {"dirichlet"} | required, {"epsilon", "min_average_privacy"})
    alpha = [float(a) for a in numbers(params["dirichlet"], least=0.01)]
    e = number(params.get("epsilon", 10.0), 1e-6, 30)
    floor = params.get("min_average_privacy")
    if "min_average_privacy" in params:
        floor = number(floor, 0)
        demand(floor < 1, "the floor is below 1")
    k, equal = len(alpha), len(set(alpha)) == 1
    sizes = {(True, True): 16, (False, True): 8, (True, False): 10, (False, False): 6}
    demand(2 <= k <= sizes[equal, floor is None] and max(alpha) <= 1e4, "alpha is out of range")
    W = matrix(found, k)
    if proof is not None or found["bound"] is not None:
        read_proof(proof)
    stochastic = all(sum(row) == 1 for row in W)
    private = is_private(W, range(k), iv.exp(interval(e)))
    yield "stochastic", stochastic
    yield "private", private
    if found["bound"] is not None:
        bounded = bound_of(proof, alpha, e, floor)
    columns = [column for column in zip(*W, strict=True) if any(column)]
    if not (stochastic and private):
        return
    if equal:
        alike = treats_alike(columns)
        yield "alike", alike
        if not alike:
            return
    points, value = points_of(tuple(alpha), e), Fraction(found["value"])
    if equal and k > MOST_RENAMED:
        classes = classes_of(columns)
        yield "value", surely(value, utility_of_classes(classes, points))
        if floor is not None:
            yield "floor", classes_leak_within(classes, alpha, floor)
    else:
        yield "value", surely(value, utility(columns, renamed(points, equal)))
        if floor is not None:
            yield "floor", leaks_within(columns, alpha, floor)
    if found["bound"] is not None:
        yield "bound", bounded(points_of(tuple(alpha), e), Fraction(found["bound"]))


def read_proof(proof):
    """What every proof is made of."""
    keys(proof, {"reference", "dual", "price"}, {"cover"})
    numbers(proof["dual"])
    number(proof["price"], 0)
    demand(isinstance(proof["reference"], list) and proof["reference"], "no reference")
    for pair in proof["reference"]:
        demand(isinstance(pair, list) and len(pair) == 2, "no pairs")


def bound_of(proof, alpha, e, floor):
    """Read the rest of a proof; say how it decides a bound from the points and their weights."""
    dual, price = numbers(proof["dual"]), number(proof["price"], 0)
    demand(len(dual) == (1 if len(set(alpha)) == 1 else len(alpha)), "another number of duals")
    if "cover" not in proof:
        demand(price == 0, "a price without a cover")
        atoms = Atoms(alpha, e)
        reference = atoms.read(proof["reference"], floor is not None)
        return lambda points, bound: atoms.bounds(points, reference, dual, bound)
    demand(floor is not None, "a cover without a floor")
    cover = Cover(proof, alpha, top_contrast(e))
    return lambda points, bound: surely(cover.most(points, dual, price, floor) - offset(), bound)


# ---------------------------------------------------------------- the utility


def offset():
    return (iv.log(2 * iv.pi) + 1) / 2


def utility(columns, points):
    """Enclose Φ; −∞ if F is singular, all numbers if that is not decided."""
    k = len(columns[0])
    if rank([[x - column[-1] for x in column[:-1]] for column in columns]) < k - 1:
        return iv.mpf("-inf")
    exact, power = whole(columns)
    found = [eliminated(information(exact, power, p)) for p, _ in points]
    if None in found:
        return iv.mpf(["-inf", "inf"])
    mean = total(interval(w) * log for (_, w), (log, _) in zip(points, found, strict=True))
    return mean / (2 * k - 2) - offset()


def high_set(column):
    """The inputs above the middle of a column; none if it is constant."""
    low, high = min(column), max(column)
    if high - low <= high / 2**31:
        return ()
    return tuple(x for x in range(len(column)) if 2 * column[x] > low + high)


def treats_alike(columns):
    """Whether sets of one size are the high sets of equally many outputs."""
    k = len(columns[0])
    counts = {S: 0 for m in range(k) for S in itertools.combinations(range(k), m)}
    for column in columns:
        counts[high_set(column)] += 1
    return all(len({n for S, n in counts.items() if len(S) == m}) == 1 for m in range(1, k))


class Class:
    """One column for every set of a size; ``mean`` and ``least`` are those of the first set."""

    def __init__(self, columns, sets):
        k = len(columns[0])
        self.columns, self.sets, self.high = columns, sets, range(len(sets[0]))
        inside = [column[x] for column, S in zip(columns, sets, strict=True) for x in S]
        outside = [c[x] for c, S in zip(columns, sets, strict=True) for x in range(k) if x not in S]
        self.means, lows = (
            [side(part) if part else Fraction(0) for part in (inside, outside)] for side in (_mean, min)
        )
        self.mean, self.least = (
            [ends[0] if x in self.high else ends[1] for x in range(k)] for ends in (self.means, lows)
        )
        self.rest = sum(map(sum, columns)) - len(columns) * sum(self.least)

    def symmetric(self):
        """The columns with the mean entries on each set and off it."""
        k = range(len(self.mean))
        return [[self.means[x not in S] for x in k] for S in self.sets]

    def spread(self):
        """How far an entry of F may be from that of the symmetric columns, at any point: two numbers.

        Let w = v + e, |e| ≤ δ, D = Δd + f, |f| ≤ 2δ, with d = d_S and a least entry l. Then D Dᵀ/(w·p) −
        Δ² d dᵀ/(v·p) is at most (4Δδ + 4δ²)/l + Δ²δ/l². Beyond what is linear in e it is f fᵀ/(w·p) −
        Δ(d fᵀ + f dᵀ)(e·p)/((v·p)(w·p)) + Δ² d dᵀ(e·p)²/((v·p)²(w·p)), at most 4δ²/l + 4Δδ²/l² +
        Δ²δ²/l³. What is linear has mean 0 over all renamings, as e has, but for ROUNDED.
        """
        jump, all_, bent = abs(self.means[0] - self.means[1]) if self.sets[0] else 0, 0, 0
        for column, v in zip(self.columns, self.symmetric(), strict=True):
            off = max(abs(x - y) for x, y in zip(column, v, strict=True))
            least = min(*column, *v)
            all_ += (4 * jump * off + 4 * off**2) / least + jump**2 * off / least**2
            bent += off**2 * (4 / least + 4 * jump / least**2 + jump**2 / least**3)
            bent += ROUNDED * (4 * jump / least + jump**2 / least**2)
        return all_, bent


def _mean(entries):
    """The mean, off by at most ROUNDED."""
    return math.floor(sum(entries) / len(entries) / ROUNDED) * ROUNDED


def classes_of(columns):
    """Columns of one set in the order of their ratio; the n-th of all sets of a size are a class."""
    own, found = {}, {}
    for column in columns:
        own.setdefault(high_set(column), []).append(column)
    for S, columns_ in own.items():
        for n, column in enumerate(sorted(columns_, key=lambda c: max(c) / min(c))):
            found.setdefault((len(S), n), []).append((column, S))
    return [Class(*zip(*pairs, strict=True)) for pairs in found.values()]


def utility_of_classes(classes, points):
    """Enclose Φ: the symmetric columns V have one determinant for all renamings of a point.

    Let X = F_V^(−½) (F_W − F_V) F_V^(−½). If its Frobenius norm is at most τ < 1, log det F_W − log det
    F_V is at most tr X and at least tr X − τ²/(2(1 − τ)²); and the mean of tr X over all renamings is at
    most ‖F_V⁻¹‖ times the norm of what is not linear.
    """
    exact, power = whole([column for own in classes for column in own.symmetric()])
    size, found = len(exact[0]) - 1, []
    far, bent = (interval(size * sum(part)) for part in zip(*(c.spread() for c in classes), strict=True))
    for p, w in points:
        known = eliminated(information(exact, power, p))
        if known is None:
            return iv.mpf(["-inf", "inf"])
        log, inverse = known
        norm = iv.sqrt(total(x**2 for row in inverse for x in row))
        share = far * norm
        if top(share) >= 1:
            return iv.mpf(["-inf", "inf"])
        slack = bent * norm + share**2 / (2 * (1 - share) ** 2)
        found.append(interval(w) * (log + iv.mpf([-slack.b, (bent * norm).b])))
    return total(found) / (2 * size) - offset()


# ---------------------------------------------------------------- the bound


def top_contrast(e):
    """A multiple of 2^−160 just above e^ε − 1."""
    return Fraction(math.ceil(top(iv.exp(interval(e)) - 1) * 2**160), 2**160)


class Atoms:
    """The columns 1 + c on a set that mechanisms are made of, as the labels of the file name them."""

    def __init__(self, alpha, e):
        self.k, self.equal, self.contrast = len(alpha), len(set(alpha)) == 1, top_contrast(e)

    def sets(self, which):
        """The sets that a label stands for."""
        if self.equal:
            return list(itertools.combinations(range(self.k), which))
        return [tuple(x for x in range(self.k) if which >> (self.k - 1 - x) & 1)]

    def labels(self):
        which = range(1, self.k) if self.equal else range(1, 2**self.k - 1)
        return [(0, m) for m in which]

    def read(self, pairs, former):
        """The weights of the reference by label; with a floor 7 was once the highest of eight levels."""
        known, found = {(0, 0), *self.labels()}, {}
        for label, weight in pairs:
            demand(isinstance(label, list) and all(type(part) is int for part in label), "no label")
            own = (0, *label[1:]) if former and label[:1] == [7] else tuple(label)
            demand(own in known and own not in found, "another label, or one twice")
            found[own] = number(weight, 0)
        return found

    def information(self, label, p):
        """F of an atom at a point, as whole multiples of 1/UNIT: low by less than one unit each.

        d_S d_Sᵀ is 1 at pairs within S, or within its complement if the last input is in S.
        """
        c, sets, last = self.contrast, self.sets(label[1]), self.k - 1
        F = [[0] * last for _ in range(last)]
        for S in sets:
            term = int(UNIT * c * c / ((1 + c * sum(p[x] for x in S)) * len(sets)))
            own = [x for x in range(last) if (x in S) != (last in S)]
            for a, b in itertools.combinations_with_replacement(own, 2):
                F[a][b] += term
        return F

    def bounds(self, points, reference, dual, bound):
        """Whether Φ(reference) − ½ + Σβ ≤ bound, and no slope exceeds its cost."""
        labels, size = self.labels(), self.k - 1
        if 2**self.k * len(points) * size**2 // 2 > MOST_WORK:
            return None
        units, logs, slopes = {v: len(self.sets(v[1])) for v in labels}, [], dict.fromkeys(labels, 0)
        for p, w in points:
            blocks = {label: self.information(label, p) for label in labels}
            known = self.inverted(reference, blocks, units)
            if known is None:
                return None if any(t for v, t in reference.items() if v[1]) else False
            logs.append(interval(w) * known[0])
            for label, block in blocks.items():
                slopes[label] += interval(w) * self.trace(known[1], block, units[label])
        answers = [sum(dual) >= 0]
        for label, slope in slopes.items():
            answers.append(surely(slope / (2 * size), interval(self.mass(label, dual))))
        most = total(logs) / (2 * size) - offset() - iv.mpf(1) / 2 + interval(sum(dual))
        return both(*answers, surely(most, bound))

    def inverted(self, reference, blocks, units):
        """Enclose log det F of the reference, and its inverse by centres and one radius."""
        used = [(v, t) for v, t in reference.items() if t and v[1]]
        size = range(self.k - 1)
        F = [[sum((t * blocks[v][a][b] for v, t in used), Fraction(0)) for b in size] for a in size]
        error = math.ceil(sum((t * units[v] for v, t in used), Fraction(0))) + 1
        known = eliminated(enclosed([[math.floor(x) for x in row] for row in F], error))
        if known is None:
            return None
        ends = [[(bottom(x), top(x)) for x in row] for row in known[1]]
        centres = [[int((low + high) / 2 * UNIT) for low, high in row] for row in ends]
        radius = max((high - low) / 2 * UNIT for row in ends for low, high in row)
        return known[0], (centres, math.ceil(radius) + 1)

    def trace(self, inverse, block, unit):
        """Enclose the trace of the inverse times the F of an atom."""
        centres, radius = inverse
        size, middle, entries, norm = range(self.k - 1), 0, 0, 0
        for a in size:
            for b in range(a, self.k - 1):
                twice = 1 if a == b else 2
                middle += twice * centres[a][b] * block[a][b]
                entries += twice * (block[a][b] + unit)
                norm += twice * abs(centres[a][b])
        error = radius * entries + unit * norm
        low, high = (Fraction(middle + sign * error, UNIT**2) for sign in (-1, 1))
        return iv.mpf([interval(low).a, interval(high).b])

    def mass(self, label, dual):
        """β·v of an atom."""
        c = self.contrast
        if self.equal:
            return dual[0] * (1 + c * Fraction(label[1], self.k))
        [S] = self.sets(label[1])
        return sum(dual) + c * sum(dual[x] for x in S)
