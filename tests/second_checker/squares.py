"""φ of mechanisms with k outputs: cells of block sizes and common inputs, listed and cut into eights."""

import itertools
import math
from fractions import Fraction

from mpmath import iv

from second_checker.intervals import top
from second_checker.reading import demand, keys, number, whole

UNIT = 1 << 120
DEEPEST = 12
MOST = 12_000


def square_reaches(k, E, target):
    """Whether φ ≥ target is proven: True, False if a pair of two-level columns says no, None if open."""
    found = _Question(k, Fraction(math.ceil((top(E) - 1) * UNIT), UNIT), target)
    if found.h <= 0:
        return True
    if found.theta > 1 or found.h * found.high > found.mu**2:
        return False
    sizes = [m for m in range(k + 1) if found.worst(m, m + 1) < found.h]  # others are clear
    triples = itertools.product(range(k + 1), repeat=3)
    if any(m + n - k <= x <= min(m, n) and found.at(m, n, x) < found.h for m, n, x in triples):
        return False
    cells = [
        (Fraction(m), Fraction(n), Fraction(x), 0)
        for m, n in itertools.product(sizes, repeat=2)
        for x in range(max(0, m + n - k), min(m, n) + 1)
    ]
    for _ in range(MOST):
        if not cells:
            return True
        m, n, x, depth = cells.pop()
        width = Fraction(1, 1 << depth)
        if found.clear(m, n, x, width):
            continue
        if depth == DEEPEST:
            return None
        steps = itertools.product((0, width / 2), repeat=3)
        cells += [(m + a, n + b, x + c, depth + 1) for a, b, c in steps]
    return None


class _Question:
    def __init__(self, k, e, target):
        self.k, self.e = k, e
        self.t = max(self.tau(Fraction(m)) for m in range(1, k))
        self.mu = k * self.t / (k - 1)
        F = (target - 1) * e * e
        self.h = (F - (k - 1) / self.mu) * self.mu**2 / (k * (k - 1))
        trace = k * self.t
        half = (F * trace - (k - 2) ** 2 + 1) / (2 * F)
        inside = max(half * half - trace / F, 0)
        root = top(iv.sqrt(iv.mpf(inside.numerator) / inside.denominator)) if inside else 0
        self.high = min(half + root, trace)
        self.theta = self.h * (k - 1) / self.mu * (1 + self.h * self.high / self.mu**2)
        self.eta = (1 - self.theta) / (2 * k)

    def rho(self, m):
        return _near(1 / (self.k + self.e * m))

    def tau(self, m):
        return m * (self.k - m) / (self.k * (self.k + self.e * m) ** 2)

    def peak(self, low, high):
        return self.tau(min(max(self.k / (self.e + 2), low), high, self.k))

    def worst(self, m, n):
        """A floor of H if the first block size is between m and n: the other has its least deficit."""
        beyond = self.peak(0, self.k) - self.t  # |u|² is never above t
        return self.eta * (self.t - self.peak(m, n) - max(beyond, 0)) if m < self.k else 0

    def at(self, m, n, x):
        """H of two columns of two levels."""
        off = self.rho(m) * self.rho(n) * (x - Fraction(m * n, self.k)) + self.t / (self.k - 1)
        deficit = 2 * self.t - self.tau(Fraction(m)) - self.tau(Fraction(n))
        return self.eta * deficit + off * off / self.high

    def clear(self, m, n, x, width):
        """Whether H ≥ h for sizes and common inputs in the cell, as far as there are any."""
        k, m2, n2, x2 = self.k, m + width, n + width, x + width
        if x > min(m2, n2) or x2 < m + n - k or m > k or n > k:
            return True
        cells = [_least(x, x2), _least(m - x2, m2 - x), _least(n - x2, n2 - x)]
        cells.append(_least(k - m2 - n2 + x, k - m - n + x2))
        own, other = _least(m, m2), _least(n, n2)
        a, b = self.rho(m2) ** 2, self.rho(n2) ** 2
        spread = a * own + b * other + min(a, b) * max(0, sum(cells) / 2 - own - other)
        deficit = _near(2 * self.t - self.peak(m, m2) - self.peak(n, n2) + spread)
        shift = self.t / (k - 1)
        low = self.rho(m2) * self.rho(n2) * x - m2 * n2 * self.rho(m2) * self.rho(n2) / k + shift
        high = self.rho(m) * self.rho(n) * x2 - m * n * self.rho(m) * self.rho(n) / k + shift
        off = 0 if low <= 0 <= high else min(abs(low), abs(high)) - Fraction(1, UNIT >> 20)
        return self.eta * deficit + max(off, 0) ** 2 / self.high >= self.h + Fraction(1, UNIT >> 20)


def _near(x):
    """Round to 120 bits; the margins of ``clear`` are far above what that changes."""
    return Fraction(math.floor(x * UNIT), UNIT)


def _least(low, high):
    """The least (x − ⌊x⌋)(1 − x + ⌊x⌋) between the two."""
    whole = math.floor(low)
    if low == whole or high >= whole + 1:
        return 0
    return min((x - whole) * (whole + 1 - x) for x in (low, high))


# ---------------------------------------------------------------- circulants


def circulant_reaches(k, E, target, proof, most=7):
    """Whether a tree of boxes proves φ ≥ target of circulants: all corners of its leaves are visited."""
    keys(proof, {"tree"})
    demand(isinstance(proof["tree"], list) and proof["tree"], "a tree")
    leaves = _leaves(k, proof["tree"])
    if k > most:
        return None
    e = Fraction(math.ceil((top(E) - 1) * UNIT), UNIT)
    return target > 1 and all(_proven(k, e, target, *leaf) for leaf in leaves)


def _leaves(k, tree):
    """The leaves, each with its vector and its ranges of t."""

    def vector(node):
        keys(node, {"vector"})
        demand(isinstance(node["vector"], list) and len(node["vector"]) in (0, k), "a vector")
        return [number(x, -1e30, 1e30) for x in node["vector"]]

    return _parts([(Fraction(0), Fraction(j > 0)) for j in range(k)], tree, "input", 1000, vector)


def _parts(box, tree, axis, most, read):
    """The leaves, each with its ranges; every cut must be inside its box."""
    nodes, size = iter(tree), len(box)

    def parts(box):
        node = next(nodes, None)
        demand(isinstance(node, dict), "a node")
        if "at" not in node:
            return [(read(node), box)]
        keys(node, {axis, "at"})
        i, at = whole(node[axis], 0, most), number(node["at"], 0, 1)
        demand(i < size and box[i][0] < at < box[i][1], "a cut")
        lower = parts([(a, at) if j == i else (a, b) for j, (a, b) in enumerate(box)])
        return lower + parts([(at, b) if j == i else (a, b) for j, (a, b) in enumerate(box)])

    found = parts(box)
    demand(next(nodes, None) is None, "the end of a tree")
    return found


def _proven(k, e, target, vector, box):
    if not vector:
        return box[1][0] >= box[k - 1][1]
    mean = sum(vector) / k
    z = [x - mean for x in vector]
    if z[0] == 0:
        return False
    for t in itertools.product(*(sorted(set(ends)) for ends in box)):
        u = [1 + e * x for x in t]
        image = [sum(z[i - j] * u[j] for j in range(k)) for i in range(k)]
        if (target - 1) * sum(x * x for x in image) > k * z[0] ** 2 * sum(u) ** 2:
            return False
    return True


# ---------------------------------------------------------------- all columns of a square mechanism


def columns_reach(k, E, target, proof, most=4):
    """Whether a tree of boxes of all columns proves φ ≥ target of square mechanisms."""
    keys(proof, {"boxes"})
    demand(isinstance(proof["boxes"], list) and proof["boxes"], "a tree")
    if k > 30:
        return None

    def read(node):
        keys(node, {"Y", "beta"})
        demand(isinstance(node["Y"], list) and isinstance(node["beta"], list), "lists")
        rows = [*node["Y"], node["beta"]]
        demand(rows == [[]] or {len(rows) - 1, *map(len, rows)} == {k}, "k rows and k prices")
        return [[number(x, -1e30, 1e30) for x in row] for row in rows]

    leaves = _parts([(Fraction(0), Fraction(1))] * (k * k), proof["boxes"], "entry", 10_000, read)
    if k > most:
        return None
    e = Fraction(math.ceil((top(E) - 1) * UNIT), UNIT)
    return target > 1 and all(_columns_proven(k, e, target, *leaf) for leaf in leaves)


def _columns_proven(k, e, target, rows, box):
    """Whether a leaf proves it, or no point with ordered first row and column is inside."""
    columns = [box[y * k : y * k + k] for y in range(k)]
    *Y, beta = rows
    if not Y:
        (_, first), *others = box
        apart = any(first <= low for low, _ in others)
        apart = apart or any(all(low > 0 for low, _ in column) for column in columns)
        down = [column[0] for column in columns[1:]]
        pairs = [*itertools.pairwise(down), *itertools.pairwise(columns[0][1:])]
        return apart or any(upper[1] <= lower[0] for upper, lower in pairs)
    Y = [[x - sum(row) / k for x in row] for row in Y]
    if sum(beta) <= 0 or (target - 1) * sum(beta) > sum(Y[i][i] for i in range(k)) ** 2:
        return False
    for column in set(map(tuple, columns)):
        for t in itertools.product(*column):
            T = [1 + e * x for x in t]
            paid = sum(b * x for b, x in zip(beta, T, strict=True))
            told = sum(sum(a * x for a, x in zip(row, T, strict=True)) ** 2 for row in Y)
            if paid < 0 or told > paid * sum(T):
                return False
    return True
