"""Unary encoding: polynomials in λ, nonnegative by their Bernstein coefficients.

With ρ = E/g a subset Z of the a secrets is ρ times as likely for its members as for others: in = ρ·out.
So its term of the utility is out·φ_Z(ρ), with m its mass and

    φ_Z(ρ) = m ρ log ρ − (1 + (ρ − 1)m) log(1 + (ρ − 1)m),

which is 0 for no secret and for all. As κ = ρλ/(1 + (ρ − 1)λ), the utility is at most c exactly if

    c (1 + (ρ − 1)λ) − λρ B − Σ_Z φ_Z(ρ) λ^|Z| (1 − λ)^(a − |Z|) ≥ 0    for all λ in [0, 1],

a polynomial with the coefficients c (1 − j/a) + (c − B)ρ j/a − Φ_j at C(a, j) λ^j (1 − λ)^(a − j), Φ_j
the mean of φ_Z over the sets of j secrets. Φ_j rises with ρ, as φ_Z′ = m log(ρ/(1 + (ρ − 1)m)) ≥ 0.
"""

import itertools
import math
from fractions import Fraction
from itertools import pairwise

from mpmath import iv

from second_checker.intervals import bottom, interval, surely, top, total
from second_checker.jets import Jet, jet
from second_checker.protocols import none_breaks

DEEPEST = 64
UNIT = 2**200


class Unary:
    """The polynomial of a split, for one bound."""

    def __init__(self, protocol, bound):
        self.protocol, self.bound, self.a = protocol, Jet(bound), protocol.a1
        secrets = protocol.robust.secrets
        self.masses = [
            [interval(sum(Z)) for Z in itertools.combinations(secrets, j)] for j in range(1, self.a)
        ]

    def coefficients(self, straight, informed):
        """c (1 − j/a) + (c − B)ρ j/a − Φ_j for every j."""
        for j, phi in enumerate([Jet(0), *informed, Jet(0)]):
            share = Fraction(j, self.a)
            yield straight * share + self.bound * interval(1 - share) - phi

    def rho(self, g):
        return jet(g).inverse() * self.protocol.E

    @staticmethod
    def informed(rho, masses):
        """Φ_j, the mean of φ_Z over sets of these masses."""
        x = rho.value
        log, count = iv.log(x), len(masses)
        mixed = [1 + (x - 1) * m for m in masses]
        logs = list(map(iv.log, mixed))
        value = total(m * x * log - y * z for m, y, z in zip(masses, mixed, logs, strict=True))
        first = total(m * (log - z) for m, z in zip(masses, logs, strict=True))
        second = total(m * (1 - m) / (x * y) for m, y in zip(masses, mixed, strict=True))
        return rho.through(value / count, first / count, second / count)

    def at(self, g, odds):
        """The coefficients for a split, or a jet of splits, and odds of the blocks."""
        rho = self.rho(g)
        straight = (self.bound - self.protocol.second(map(jet, odds))) * rho
        return list(self.coefficients(straight, (self.informed(rho, m) for m in self.masses)))

    def by_ends(self, box):
        """Coefficients below those of all splits of a box: every part at its worst end."""
        wide, narrow = map(self.rho, box)
        said = self.protocol.second(map(jet, self.protocol.odds_within(box)))
        straight = min(
            ((self.bound - said) * rho for rho in (wide, narrow)), key=lambda x: bottom(x.value)
        )
        found = self.coefficients(straight, (self.informed(wide, m) for m in self.masses))
        return [c.value for c in found]

    def by_taylor(self, box):
        """Coefficients below those of all splits: of the line at the middle, less what it may bend.

        A line in g is least at an end, and there are two polynomials.
        """
        half = interval((box[1] - box[0]) / 2)
        middle, whole = (self.at(g, odds) for g, odds in self.protocol.jets(box))
        for side in (-half, half):
            yield [
                c.value + c.slope * side + interval(min(bottom(w.bend), 0)) * half**2 / 2
                for c, w in zip(middle, whole, strict=True)
            ]

    def holds_on(self, box):
        """Whether no split of a box has parameters above the bound, as far as this proves it."""
        if never_negative(self.by_ends(box)):
            return True
        try:
            return all(map(never_negative, self.by_taylor(box)))
        except ZeroDivisionError:
            return False

    def breaks(self, g):
        """Whether parameters with this split are certainly above the bound."""
        coefficients = (c.value for c in self.at(g, self.protocol.odds(g)))
        return somewhere_negative([math.ceil(top(c) * UNIT) for c in coefficients])


def never_negative(coefficients):
    """Whether a polynomial is proven to be at least 0 on [0, 1]; its coefficients are rounded down."""
    pending = [([math.floor(bottom(c) * UNIT) for c in coefficients], 0)]
    while pending:
        found, depth = pending.pop()
        if min(found) >= 0:
            continue
        if min(found[0], found[-1]) < 0 or depth == DEEPEST:
            return False
        pending += [(half, depth + 1) for half in halves(found, 0)]
    return True


def somewhere_negative(coefficients):
    """Whether a polynomial is certainly below 0 at a point that halving meets; they are rounded up."""
    pending = [(coefficients, 0)]
    while pending:
        found, depth = pending.pop()
        if min(found[0], found[-1]) < 0:
            return True
        if min(found) < 0 and depth < DEEPEST:
            pending += [(half, depth + 1) for half in halves(found, 1)]
    return False


def halves(coefficients, up):
    """The coefficients on both halves of the interval (de Casteljau), rounded down, or up."""
    left, right = [coefficients[0]], [coefficients[-1]]
    while len(coefficients) > 1:
        coefficients = [(x + y + up) // 2 for x, y in pairwise(coefficients)]
        left.append(coefficients[0])
        right.append(coefficients[-1])
    return left, right[::-1]


def last_split(protocol, member):
    """A split from which on none is private, by the first member of a proof; or else the last one, E.

    The product of the page rises with g where both of its factors are above 1.
    """
    P, (s, z), (v, w) = member
    given, own = protocol.robust.given, [[x / sum(P[i]) for x in P[i]] for i in (s, z)]
    high, low = top(protocol.E), Fraction(1)
    if not (own[0][v] > given[s][v] and own[1][w] < given[z][w]):
        return high

    def exceeds(g):
        odds = protocol.odds(g)
        one, two = (
            (odds[i] + (1 - odds[i]) * interval(x)) / (odds[i] + (1 - odds[i]) * interval(y))
            for i, x, y in ((s, own[0][v], given[s][v]), (z, given[z][w], own[1][w]))
        )
        return surely(one * two, protocol.E) is False

    for _ in range(100):
        middle = (low + high) / 2
        low, high = (low, middle) if exceeds(middle) else (middle, high)
    return high


def at_most(protocol, bound, last):
    """Whether no κ and no split up to the last one give more than the bound."""
    unary = Unary(protocol, bound)
    return none_breaks(unary.holds_on, unary.breaks, last)
