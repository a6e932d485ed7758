"""Robust privacy against the χ² set of a table, and the least information over it."""

from fractions import Fraction
from functools import cache

import mpmath
from mpmath import iv

from second_checker.columns import worth
from second_checker.intervals import both, bottom, interval, root, surely, top, total, xlogx
from second_checker.pairs import Pair, mean, price, rise
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


def least(c, q, r):
    """Enclose from below the least R·c with Σ q²/R ≤ r; c are rational numbers or intervals."""
    middles = [float(interval(x).mid) for x in c]
    nu = price(middles, list(map(float, q)), float((r - 1).mid))
    nu = interval(min(Fraction(nu), *map(bottom, c)))
    return interval(bottom(nu + rise(c, q, nu) ** 2 / r))


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
