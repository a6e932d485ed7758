"""Robust privacy: worst cases by duality, on intervals; what is false is shown by a member."""

import math
from fractions import Fraction
from functools import cache

import mpmath
from mpmath import iv

from second_checker.columns import worth
from second_checker.intervals import both, bottom, interval, root, surely, top, total, xlogx
from second_checker.reading import demand, epsilon, keys, number, whole

AUDIT_ERROR = Fraction(1, 10**9)
OPTIONAL = {"p_hat", "n", "counts", "alpha"}


def joint(value, rows=2, columns=2):
    """A matrix of probabilities, divided by its exact sum."""
    demand(isinstance(value, list) and len(value) >= rows, "no table")
    demand(all(isinstance(row, list) and len(row) >= columns for row in value), "no table")
    demand(len({len(row) for row in value}) == 1, "not rectangular")
    exact = [[number(p, 0, 1 + 1e-9) for p in row] for row in value]
    mass = sum(map(sum, exact))
    demand(abs(mass - 1) <= Fraction(1, 10**9), "a table must sum to 1")
    return [[p / mass for p in row] for row in exact]


@cache
def quantile(degrees, alpha):
    """The 1 − alpha quantile of χ², to 40 digits, by bisection on its tail."""
    with mpmath.workdps(70):
        half, goal = mpmath.mpf(degrees) / 2, mpmath.mpf(alpha)
        low, high = mpmath.mpf(-900), mpmath.mpf(12)
        for _ in range(200):
            middle = (low + high) / 2
            tail = mpmath.gammainc(half, mpmath.exp(middle) / 2, regularized=True)
            low, high = (middle, high) if tail > goal else (low, middle)
        x = mpmath.exp(low)
        return iv.mpf([x * (1 - mpmath.mpf(10) ** -40), x * (1 + mpmath.mpf(10) ** -40)])


class Robust:
    """The table p̂, its conditionals, the size B of the set, the level, and what one secret can reach."""

    def __init__(self, params):
        alpha = float(number(params.get("alpha", 0.05), 1e-12, 1 - 1e-12))
        if "counts" in params:
            demand("p_hat" not in params and "n" not in params, "counts, or p_hat and n")
            rows = params["counts"]
            demand(isinstance(rows, list) and all(isinstance(row, list) for row in rows), "counts")
            for row in rows:
                for count in row:
                    demand(number(count, 0, 1e12) == int(count), "counts are whole")
            samples = float(sum(sum(row) for row in rows))
            demand(samples > 0, "counts must not all be 0")
            table = [[count / samples for count in row] for row in rows]
        else:
            table, samples = params["p_hat"], params["n"]
        self.n = number(samples, 1e-9, 1e12)
        self.table = joint(table)
        self.e = epsilon(params)
        self.cells = len(self.table) * len(self.table[0])
        self.secrets = [sum(row) for row in self.table]
        demand(min(self.secrets) >= Fraction(1, 10**60), "an empty row")
        least = min(p for row in self.table for p in row if p)
        demand(least >= Fraction(1, 10**300), "a cell that is all but empty")
        self.B = quantile(self.cells - 1, alpha) / interval(self.n)
        self.settle()

    def settle(self):
        """Compute what follows from the table and B."""
        self.secrets = [sum(row) for row in self.table]
        self.given = [[p / m for p in row] for row, m in zip(self.table, self.secrets, strict=True)]
        self.t = iv.sqrt(self.B + 1) - 1
        self.steps = [self.t / interval(m) for m in self.secrets]
        self.least = [
            [least_share(q, k * (k + 2)) for q in row]
            for row, k in zip(self.given, self.steps, strict=True)
        ]

    def is_member(self, P):
        """Whether Σ p̂²/P ≤ 1 + B."""
        spent = Fraction(0)
        for row, other in zip(self.table, P, strict=True):
            for p, x in zip(row, other, strict=True):
                if p and not x:
                    return False
                spent += p * p / x if p else 0
        return surely(spent, 1 + self.B)


def least_share(q, b):
    """Enclose P^min of a value with conditional probability q."""
    if q == 0:
        return iv.mpf(0)
    q = interval(q)
    return 2 * q * q / (b + 2 * q + root(b * b + 4 * b * q * (1 - q)))


# ---------------------------------------------------------------- the least R·c with Σ q²/R ≤ r


def level(c, q, excess):
    """Guess the ν ≤ min c that makes ν + (Σ q √(c − ν))²/r largest; it is concave in ν. Floats.

    With a = c − ν the square is q·a − Σ q_u q_v (√a_u − √a_v)² over pairs: nothing cancels where r is
    1 and a little excess.
    """
    least, spread = min(c), max(c) - min(c)
    if spread == 0:
        return least
    pairs = [(q[i] * q[j], c[i], c[j]) for i in range(len(c)) for j in range(i) if q[i] and q[j]]

    def at(nu):
        apart = (
            w * ((x - y) / (math.sqrt(x - nu) + math.sqrt(y - nu))) ** 2 for w, x, y in pairs if x != y
        )
        return (nu * excess - sum(apart)) / (1 + excess)

    def proven(z):
        return at(least - math.exp(z))

    low, high = math.log(spread) - 80, math.log(spread) + 40
    golden = (math.sqrt(5) - 1) / 2
    x, y = high - golden * (high - low), low + golden * (high - low)
    at_x, at_y = proven(x), proven(y)
    for _ in range(50):
        if at_x > at_y:
            high, y, at_y = y, x, at_x
            x = high - golden * (high - low)
            at_x = proven(x)
        else:
            low, x, at_x = x, y, at_y
            y = low + golden * (high - low)
            at_y = proven(y)
    return least if at(least) >= max(at_x, at_y) else least - math.exp((low + high) / 2)


def middles(values):
    return [float(interval(x).mid) for x in values]


def rise(c, q, nu):
    """Enclose A = Σ q √(c − ν)."""
    return total(interval(w) * root(interval(x) - nu) for w, x in zip(q, c, strict=True) if w)


def least(c, q, r):
    """Enclose from below the least R·c; c are rational numbers or intervals."""
    nu = level(middles(c), list(map(float, q)), float((r - 1).mid))
    nu = interval(min(Fraction(nu), *map(bottom, c)))
    return interval(bottom(nu + rise(c, q, nu) ** 2 / r))


# ---------------------------------------------------------------- privacy


class Pair:
    """R_s·c_s − E R_z·c_z, for the conditionals of two secrets that share the slack of the set."""

    def __init__(self, robust, s, z, column, E):
        a2 = len(robust.table[0])
        largest = max(column)
        self.robust, self.s, self.z, self.E = robust, s, z, E
        self.high = [-x / largest for x in column[s * a2 : (s + 1) * a2]]
        self.low = [x / largest for x in column[z * a2 : (z + 1) * a2]]
        self.qs, self.qz = robust.given[s], robust.given[z]
        self.k, self.m = robust.steps[s], robust.steps[z]

    def levels(self, x):
        """Guess ν and ν′ where s takes the share x of the slack, and compute A and A′. Floats."""
        k, m = float(self.k.mid), float(self.m.mid)
        found = []
        for c, q, step in ((self.high, self.qs, x * k), (self.low, self.qz, (1 - x) * m)):
            entries, weights = list(map(float, c)), list(map(float, q))
            nu = level(entries, weights, step * (2 + step))
            found += [nu, sum(w * math.sqrt(y - nu) for w, y in zip(weights, entries, strict=True))]
        return found

    def tilt(self, x, A, C):
        """The derivative in x of the most that levels with these A and A′ allow. Floats."""
        k, m, E = float(self.k.mid), float(self.m.mid), float(self.E.mid)
        return 2 * A * A * k / (1 + x * k) ** 3 - 2 * E * C * C * m / (1 + (1 - x) * m) ** 3

    def worst_share(self):
        """Find the share of the slack that is worst, and the levels there."""
        low, high = 0.0, 1.0
        for _ in range(32):
            x = (low + high) / 2
            nu, A, other, C = self.levels(x)
            low, high = (x, high) if self.tilt(x, A, C) > 0 else (low, x)
        x = (low + high) / 2
        nu, A, other, C = self.levels(x)
        low, high = 0.0, 1.0
        for _ in range(55):
            x = (low + high) / 2
            low, high = (x, high) if self.tilt(x, A, C) > 0 else (low, x)
        return (low + high) / 2, nu, other

    def holds(self):
        """Whether the difference is at most 0: by levels and a tangent; False if a member shows it."""
        apart = -least(self.high, self.qs, (1 + self.k) ** 2) - self.E * least(
            self.low, self.qz, (1 + self.m) ** 2
        )
        if surely(apart, 0):
            return True
        x, nu, other = self.worst_share()
        nu, other = (interval(min(Fraction(v), *c)) for v, c in ((nu, self.high), (other, self.low)))
        share = interval(x)
        A, C = rise(self.high, self.qs, nu), rise(self.low, self.qz, other)
        one, two = 1 + share * self.k, 1 + (1 - share) * self.m
        most = -nu - A**2 / one**2 - self.E * (other + C**2 / two**2)
        slope = 2 * A**2 * self.k / one**3 - 2 * self.E * C**2 * self.m / two**3
        if surely(most + slope * (1 - share), 0) and surely(most - slope * share, 0):
            return True
        return False if self.told_apart(x) else None

    def told_apart(self, x):
        """Whether a member of the set, built from the levels, tells the two apart by more than E."""
        nu, A, other, C = self.levels(x)
        k, m = float(self.k.mid), float(self.m.mid)
        robust = self.robust
        weights = [float(p) for p in robust.secrets]
        rows = [list(map(float, row)) for row in robust.given]
        for i, c, v, rise_, r in (
            (self.s, self.high, nu, A, (1 + x * k) ** 2),
            (self.z, self.low, other, C, (1 + (1 - x) * m) ** 2),
        ):
            entries = [float(y) - v for y in c]
            if min(entries) <= 0:
                entries = [max(y, 1e-300) for y in entries]
            if rise_ > 0:
                rows[i] = [
                    min(w * rise_ / r / math.sqrt(y), 1.0) if w else 0.0
                    for w, y in zip(rows[i], entries, strict=True)
                ]
                rows[i][entries.index(min(entries))] += max(0.0, 1 - sum(rows[i]))
            weights[i] *= math.sqrt(r)
        P = [[w * x / sum(row) for x in row] for w, row in zip(weights, rows, strict=True)]
        mass = sum(Fraction(x) for row in P for x in row)
        for keep in (Fraction(10) ** -j for j in (14, 12, 9, 6, 4, 3, 2, 1)):
            mixed = [
                [(1 - keep) * Fraction(x) / mass + keep * p for x, p in zip(row, table, strict=True)]
                for row, table in zip(P, robust.table, strict=True)
            ]
            if robust.is_member(mixed):
                seen = [-mean(mixed[self.s], self.high), mean(mixed[self.z], self.low)]
                return surely(seen[0], self.E * interval(seen[1])) is False
        return False


def mean(weights, values):
    return sum(w * x for w, x in zip(weights, values, strict=True)) / sum(weights)


def is_private(W, robust, e):
    """Whether no member of the set tells two secrets apart by more than e^e, for any output."""
    answers, E = {True}, iv.exp(interval(e))
    for column in set(zip(*W, strict=True)):
        if not any(column):
            continue
        for s in range(len(robust.table)):
            for z in range(len(robust.table)):
                if s != z:
                    answers.add(Pair(robust, s, z, column, E).holds())
        if False in answers:
            return False
    return both(*answers)


def audit(found, W, robust):
    """The claims about the level, its witness, and that none is above."""
    said = found["certificate"].get("audit", {})
    if not said:
        return
    keys(said, {"level", "output", "secrets", "witness"})
    stated, y = number(said["level"], 0), whole(said["output"], 0, len(W[0]) - 1)
    a1, a2 = len(robust.table), len(robust.table[0])
    demand(isinstance(said["secrets"], list) and len(said["secrets"]) == 2, "two secrets")
    s, z = (whole(i, 0, a1 - 1) for i in said["secrets"])
    demand(s != z, "two secrets")
    P = joint(said["witness"])
    demand((len(P), len(P[0])) == (a1, a2), "a witness of another size")
    yield "witness", robust.is_member(P)
    if not (sum(P[s]) and sum(P[z])):
        yield "told apart", False
        return
    one, two = (mean(P[i], [W[i * a2 + u][y] for u in range(a2)]) for i in (s, z))
    if one == 0 or two == 0:
        yield "told apart", one > 0
    else:
        yield "told apart", surely(stated - AUDIT_ERROR, iv.log(interval(one / two)))
    yield "level", is_private(W, robust, stated + AUDIT_ERROR)


# ---------------------------------------------------------------- value


def information(W, table):
    """Enclose I(X; Y) for the inputs of a table."""
    flat = [p for row in table for p in row]
    return total(worth("mutual-information", [flat], column, None) for column in zip(*W, strict=True))


def least_information(W, robust, pieces=48):
    """Enclose from below the least information over the set: chords of −Q log Q, the worst one split."""
    flat, r = [p for row in robust.table for p in row], 1 + robust.B
    return total(_least_column(T, flat, r, pieces) for T in zip(*W, strict=True))


def _least_column(T, q, r, pieces):
    if min(T) == max(T):
        return iv.mpf(0)
    low, high = least(T, q, r), -least([-x for x in T], q, r)
    if bottom(low) <= 0:
        return iv.mpf(0)
    own = [xlogx(x) for x in T]

    def chord(a, b):
        """Bound Σ P T log T − Q log Q for Q in [a, b] from below."""
        A, B = interval(a), interval(b)
        slope = (A * iv.log(A) - B * iv.log(B)) / (B - A)
        start = -A * iv.log(A) - slope * A
        return bottom(
            start + least([o + slope * interval(x) for o, x in zip(own, T, strict=True)], q, r)
        )

    found = [(chord(bottom(low), top(high)), bottom(low), top(high))]
    for _ in range(pieces):
        worst = min(found)
        found.remove(worst)
        _, a, b = worst
        middle = (a + b) / 2
        found += [(chord(a, middle), a, middle), (chord(middle, b), middle, b)]
    return interval(max(min(found)[0], Fraction(0)))
