"""Two secrets told apart by a member of the χ² set: one bound by Hölder's inequality.

Let R, R′ be the conditionals of s and z, and κ = √r, κ′ = √r′ what they need: with the masses m, m′ of
the secrets mκ + m′κ′ ≤ T = m + m′ + t, as every other secret needs its own mass at least. By Cauchy and
Schwarz

    R·c ≥ ν + A²/κ²,  A = Σ q √(c − ν),    for every ν ≤ min c.

With c = −c_s for s, E c_z for z, R_s·c_s − E R_z·c_z ≤ −ν − ν′ − (A²/κ² + A′²/κ′²), and by Hölder, with
the exponents 1/3 and 2/3, (A²/κ² + A′²/κ′²)(mκ + m′κ′)² ≥ ((mA)^(2/3) + (m′A′)^(2/3))³. So

    R_s·c_s − E R_z·c_z ≤ −ν − ν′ − ((mA)^(2/3) + (m′A′)^(2/3))³/T²:

two numbers prove it. The best have A Σ q/√(c − ν) = κ² and mκ : m′κ′ = (mA)^(2/3) : (m′A′)^(2/3). The
member that is worst has R_u proportional to q_u/√(c_u − ν).
"""

import math
from fractions import Fraction

from mpmath import iv
from scipy.optimize import brentq

from second_checker.intervals import bottom, interval, root, surely, top, total

FARTHEST = 80.0
"""The largest logarithm of the ratio of two shares of the slack."""
MIXED = [Fraction(10) ** -j for j in (14, 12, 9, 6, 4, 3, 2, 1)]
"""How much of p̂ is mixed to a distribution until it is certainly a member."""


def price(c, q, excess):
    """Guess the ν ≤ min c with A Σ q/√(c − ν) = 1 + excess: ν + A²/(1 + excess) is largest. Floats.

    The left side is 1 + Σ q_u q_v (√a_u − √a_v)²/√(a_u a_v) over pairs, a = c − ν: nothing cancels.
    """
    least, spread = min(c), max(c) - min(c)
    pairs = [(q[i] * q[j], c[i], c[j]) for i in range(len(c)) for j in range(i) if q[i] and q[j]]
    pairs = [(w, x - least, y - least) for w, x, y in pairs if x != y]
    if spread == 0 or not pairs or excess <= 0:
        return least

    def over(z):
        gap, found = spread * math.exp(z), 0.0
        for w, x, y in pairs:
            a, b = x + gap, y + gap
            found += w * ((x - y) / (math.sqrt(a) + math.sqrt(b))) ** 2 / math.sqrt(a * b)
        return math.log(found / excess) if found > 0 else -math.inf

    low, high = -80.0, 60.0
    if over(low) <= 0:
        return least
    return least - spread * math.exp(brentq(over, low, high, xtol=1e-13)) if over(high) < 0 else least


def rise(c, q, nu):
    """Enclose A = Σ q √(c − ν)."""
    return total(interval(w) * root(interval(x) - nu) for w, x in zip(q, c, strict=True) if w)


def two_thirds(x):
    """Enclose x^(2/3) of an interval that is not below 0."""
    low, high = (
        iv.exp(iv.log(interval(end)) * 2 / 3) if end > 0 else iv.mpf(0) for end in (bottom(x), top(x))
    )
    return iv.mpf([low.a, high.b])


class Side:
    """One of the two secrets: its c, a factor times rational numbers, its q, mass and slack."""

    def __init__(self, robust, secret, entries, factor):
        self.secret, self.entries, self.factor = secret, entries, factor
        self.q, self.mass = robust.given[secret], robust.secrets[secret]
        self.step = float(robust.steps[secret].mid)
        self.rough = [float(x) * float(factor.mid) for x in entries], list(map(float, self.q))

    def settle(self, share):
        """Take a share of the slack: guess ν, A and κ there. Floats."""
        c, q = self.rough
        slack = share * self.step
        self.kappa, self.nu = 1 + slack, price(c, q, slack * (2 + slack))
        self.A = sum(w * math.sqrt(max(x - self.nu, 0.0)) for w, x in zip(q, c, strict=True))

    def wanted(self):
        """mκ by (mA)^(2/3), which is the same for both sides of the best bound. Floats."""
        mass = float(self.mass)
        return mass * self.kappa / (mass * self.A) ** (2 / 3)

    def fixed(self):
        """Whether q has only the least c: no R has less than q."""
        return all(x == min(self.entries) for x, w in zip(self.entries, self.q, strict=True) if w)

    def follow(self, other):
        """Take the ν with which κ = 1 is wanted, where q is the best R. Floats."""
        mass = float(self.mass)
        self.A = (mass / other.wanted()) ** 1.5 / mass
        self.nu = min(self.rough[0]) - self.A**2

    def proven(self):
        """Enclose ν and mA, with a ν that is not above the least c."""
        c = [self.factor * interval(x) for x in self.entries]
        nu = interval(Fraction(self.nu))
        if not all(surely(nu, x) for x in c):
            nu = self.factor * interval(min(self.entries))
        return nu, interval(self.mass) * rise(c, self.q, nu)

    def conditional(self):
        """The worst R, up to a factor; what is missing to κ lies at the least c. Floats."""
        c, q = self.rough
        if self.fixed():
            return q
        gaps = [max(x - self.nu, 1e-300) for x in c]
        R = [
            min(w * self.A / (self.kappa**2 * math.sqrt(a)), 1.0) if w else 0.0
            for w, a in zip(q, gaps, strict=True)
        ]
        R[gaps.index(min(gaps))] += max(0.0, 1 - sum(R))
        return [x / sum(R) for x in R]


class Pair:
    """R_s·c_s − E R_z·c_z over all members, for one column."""

    def __init__(self, robust, s, z, column, E):
        a2, largest = len(robust.table[0]), max(column)
        own, other = ([x / largest for x in column[i * a2 : (i + 1) * a2]] for i in (s, z))
        self.robust, self.E = robust, E
        self.s = Side(robust, s, [-x for x in own], iv.mpf(1))
        self.z = Side(robust, z, other, E)

    def holds(self):
        """Whether the difference is at most 0; False if a member shows that it is not."""
        self.settle()
        nu, one = self.s.proven()
        other, two = self.z.proven()
        room = interval(self.s.mass + self.z.mass) + self.robust.t
        most = -nu - other - (two_thirds(one) + two_thirds(two)) ** 3 / room**2
        if surely(most, 0):
            return True
        return False if self.told_apart() else None

    def settle(self):
        """Find the shares of the slack that are worst: both sides want the same there. Floats."""

        def unbalanced(v):
            self.s.settle(1 / (1 + math.exp(-v)))
            self.z.settle(1 / (1 + math.exp(v)))
            return math.log(self.s.wanted() / self.z.wanted())

        if self.s.fixed() or self.z.fixed():
            self.s.settle(float(self.z.fixed()))
            self.z.settle(float(self.s.fixed()))
            for side, other in ((self.s, self.z), (self.z, self.s)):
                if side.fixed() and not other.fixed():
                    side.follow(other)
        elif unbalanced(-FARTHEST) < 0 < unbalanced(FARTHEST):
            unbalanced(brentq(unbalanced, -FARTHEST, FARTHEST, xtol=1e-13))

    def told_apart(self):
        """Whether a member of the set, near the worst one, tells the two apart by more than E."""
        rows, weights = (
            [list(map(float, row)) for row in self.robust.given],
            list(map(float, self.robust.secrets)),
        )
        for side in (self.s, self.z):
            rows[side.secret] = side.conditional()
            weights[side.secret] *= side.kappa
        P = [[Fraction(w * x) for x in row] for w, row in zip(weights, rows, strict=True)]
        mass = sum(map(sum, P))
        for keep in MIXED:
            mixed = [
                [(1 - keep) * x / mass + keep * p for x, p in zip(row, table, strict=True)]
                for row, table in zip(P, self.robust.table, strict=True)
            ]
            if self.robust.is_member(mixed):
                seen, other = (mean(mixed[side.secret], side.entries) for side in (self.s, self.z))
                return surely(-seen, self.E * interval(other)) is False
        return False


def mean(weights, values):
    return sum(w * x for w, x in zip(weights, values, strict=True)) / sum(weights)
