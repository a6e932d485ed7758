"""A bound under a floor on the privacy: slopes at the corners of parts of boxes, and tangents of ℓ."""

import itertools
from fractions import Fraction

import mpmath
from mpmath import iv

from second_checker.determinants import SHIFT, UNIT, eliminated, information, whole
from second_checker.intervals import bottom, interval, top, total
from second_checker.leaking import entropy, near, slopes
from second_checker.reading import demand, number, numbers

MOST_WORK = 2_000_000
"""How many entries of columns are summed over corners, renamings and points."""
MOST_TANGENTS = 400
FINE = 2**160
"""Ends of parts are whole multiples of 1/FINE."""


class Cover:
    """The reference, the tangents and the parts of the boxes of columns that a file brings."""

    def __init__(self, proof, alpha, contrast):
        self.alpha, self.k, self.equal = alpha, len(alpha), len(set(alpha)) == 1
        self.reference = [self.column(pair) for pair in proof["reference"]]
        cover = proof["cover"]
        demand(isinstance(cover, dict) and set(cover) == {"tangents", "trees"}, "no cover")
        demand(isinstance(cover["tangents"], list) and cover["tangents"], "no tangents")
        self.tangents = [numbers(u, least=1) for u in cover["tangents"]]
        demand(all(len(u) == self.k and max(u) <= 1e14 for u in self.tangents), "another length")
        boxes = [self.k - 1] if self.equal else range(self.k)
        demand(isinstance(cover["trees"], list) and len(cover["trees"]) == len(boxes), "other boxes")
        self.leaves = []
        for least, tree in zip(boxes, cover["trees"], strict=True):
            demand(isinstance(tree, list) and tree, "no tree")
            box = [(Fraction(1), Fraction(1) if x == least else 1 + contrast) for x in range(self.k)]
            nodes = iter(tree)
            self.read(nodes, box)
            demand(next(nodes, None) is None, "a node after the last leaf")

    def column(self, pair):
        """The entries of a column of the reference, times its weight."""
        entries = numbers(pair[0])
        demand(len(entries) == self.k, "another length of a column")
        weight = number(pair[1], 0)
        demand(weight > 0 and min(entries) > 0 and max(*entries, weight) <= 1e14, "no column")
        return [Fraction(weight) * Fraction(entry) for entry in entries]

    def read(self, nodes, box):
        """Read a tree, the lower part of every cut first."""
        waiting = [box]
        while waiting:
            box, node = waiting.pop(), next(nodes, None)
            demand(isinstance(node, dict), "a tree that ends early")
            if set(node) == {"tangent"}:
                u = node["tangent"]
                demand(type(u) is int and 0 <= u < len(self.tangents), "no tangent")
                self.leaves.append((u, self.inside(box)))
                continue
            demand(set(node) == {"entry", "at"} and type(node["entry"]) is int, "no node")
            i, at = node["entry"], Fraction(number(node["at"], 1))
            demand(0 <= i < self.k and box[i][0] < at < box[i][1], "a cut outside")
            parts = [list(box), list(box)]
            parts[0][i], parts[1][i] = (box[i][0], at), (at, box[i][1])
            waiting += parts[::-1]

    def inside(self, box):
        """The corners of what a part has of columns that decrease, which are enough with equal α."""
        if self.equal:
            box = [
                (max(low for low, _ in box[x:]), min(high for _, high in box[: x + 1]))
                for x in range(self.k)
            ]
            if any(low > high for low, high in box):
                return []
        return list(itertools.product(*(sorted(set(ends)) for ends in box)))

    def renamed(self, column):
        """The columns that one stands for."""
        return sorted(set(itertools.permutations(column))) if self.equal else [tuple(column)]

    def most(self, points, dual, price, floor):
        """Enclose Φ + ½ log 2πe of what no mechanism exceeds; all numbers if that is not shown."""
        unknown = iv.mpf(["-inf", "inf"])
        corners = {tuple(sorted(v)) if self.equal else v for _, part in self.leaves for v in part}
        if self.k > 6 or len(self.tangents) > MOST_TANGENTS:
            return unknown
        orders = {v: self.renamed(v) for v in corners}
        if sum(map(len, orders.values())) * len(points) * self.k > MOST_WORK:
            return unknown
        exact, power = whole([own for v in self.reference for own in self.renamed(v)])
        logs, slopes_of, size = [], dict.fromkeys(corners, Fraction(0)), self.k - 1
        for p, w in points:
            known = eliminated(information(exact, power, p))
            if known is None:
                return unknown
            logs.append(interval(w) * known[0])
            centres, radius = _whole(known[1])
            for v, columns in orders.items():
                slopes_of[v] += w * Fraction(_square(columns, centres, radius, p), len(columns))
        beta = [Fraction(dual[0]) / self.k] * self.k if self.equal else list(map(Fraction, dual))
        paid = [self.paid(u, beta, price) for u in self.tangents]
        for u, part in self.leaves:
            for v in part:
                slope = slopes_of[tuple(sorted(v)) if self.equal else v]
                if slope > 2 * size * sum(a * b for a, b in zip(paid[u], v, strict=True)):
                    return unknown
        most = total(logs) / (2 * size) - iv.mpf(1) / 2 + interval(sum(map(Fraction, dual)))
        if price:
            with mpmath.workdps(30):
                most += interval(price * (1 - floor)) * near(
                    entropy([mpmath.mpf(a) for a in self.alpha])
                )
        return most

    def paid(self, u, beta, price):
        """β + π times numbers just below the derivative of ℓ at u."""
        if not price:
            return beta
        with mpmath.workdps(30):
            exact = [mpmath.mpf(float(x)) for x in u]
            found = slopes([x / max(exact) for x in exact], [mpmath.mpf(a) for a in self.alpha])
            below = [bottom(near(y)) for y in found]
        return [b + Fraction(price) * y for b, y in zip(beta, below, strict=True)]


def _whole(inverse):
    """Centres of intervals as whole multiples of 1/UNIT, and how far an entry may be off."""
    ends = [[(bottom(x), top(x)) for x in row] for row in inverse]
    centres = [[int((low + high) / 2 * UNIT) for low, high in row] for row in ends]
    radius = max((high - low) / 2 * UNIT for row in ends for low, high in row)
    return centres, int(radius) + 2


def _square(columns, centres, radius, p):
    """Σ DᵀF⁻¹D/(v·p) over columns, from above."""
    found, at = 0, [int(x * 2**SHIFT) for x in p]
    for column in columns:
        v = [int(x * FINE) for x in column]
        D = [entry - v[-1] for entry in v[:-1]]
        square = radius * sum(map(abs, D)) ** 2
        for d, row in zip(D, centres, strict=True):
            square += d * sum(map(int.__mul__, D, row))
        found += square // sum(map(int.__mul__, v, at)) + 1
    return Fraction(found * 2**SHIFT, UNIT * FINE)
