"""Asymptotic utility: all renamings are listed, matrices are of fractions, leakage is a quadrature."""

import itertools
import math
from fractions import Fraction
from functools import cache

import mpmath
from mpmath import iv

from second_checker.columns import is_private
from second_checker.fidelity import inverted
from second_checker.intervals import both, interval, surely, top, total
from second_checker.points import points_of, renamed
from second_checker.reading import demand, keys, matrix, number, numbers

MOST_VALUES = 3
"""Points are renamed in every way, in fractions: what is larger is left open."""
LEVELS = 8
STEPS = 6
"""Nodes of the quadrature per unit of log t."""
CLOSE = mpmath.mpf(10) ** -17
"""How far the quadrature may be off, for columns whose largest entry is 1."""


def maximise(found):
    return True


def claims(found):
    """The claims of the kind, each with its answer."""
    params, proof = found["params"], found["certificate"]["proof"]
    required = {"asymptotic-utility": {"epsilon"}}.get(found["problem"], {"min_average_privacy"})
    keys(params, {"alpha"} | required, {"epsilon", "min_average_privacy"})
    alpha = [float(a) for a in numbers(params["alpha"], least=0.01)]
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
        keys(proof, {"reference", "dual", "price"})
        dual, price = numbers(proof["dual"]), number(proof["price"], 0)
        demand(isinstance(proof["reference"], list) and proof["reference"], "no reference")
        for pair in proof["reference"]:
            demand(isinstance(pair, list) and len(pair) == 2, "no pairs")
    stochastic = all(sum(row) == 1 for row in W)
    private = is_private(W, range(k), iv.exp(interval(e)))
    yield "stochastic", stochastic
    yield "private", private
    if found["bound"] is not None:
        demand(len(dual) == (1 if equal else k), "another number of duals")
        demand(price == 0 or floor is not None, "a price without a floor")
        atoms = Atoms(alpha, e, floor)
        reference = atoms.read(proof["reference"])
    columns = [column for column in zip(*W, strict=True) if any(column)]
    if stochastic and private:
        if equal:
            yield "alike", treats_alike(columns)
        if k > MOST_VALUES:
            yield "open", None
            return
        points = renamed(points_of(tuple(alpha), e), equal)
        yield "value", surely(Fraction(found["value"]), utility(columns, points))
        if floor is not None:
            yield "floor", leaks_within(columns, alpha, floor)
        if found["bound"] is not None:
            yield "bound", atoms.bounds(reference, dual, price, Fraction(found["bound"]))


# ---------------------------------------------------------------- the utility


def determinant(F):
    """The determinant of a small matrix, by expansion."""
    if len(F) == 1:
        return F[0][0]
    minors = [[row[:j] + row[j + 1 :] for row in F[1:]] for j in range(len(F))]
    return sum((-1) ** j * F[0][j] * determinant(minor) for j, minor in enumerate(minors))


def outer(d):
    return [[a * b for b in d] for a in d]


def combined(terms, size):
    """Σ weight · matrix."""
    terms = list(terms)
    return [
        [sum((w * F[a][b] for w, F in terms), Fraction(0)) for b in range(size)] for a in range(size)
    ]


def mean_log(matrices):
    """Enclose Σ w log det F; None if some F is singular."""
    terms = [(w, determinant(F)) for w, F in matrices]
    if any(d <= 0 for _, d in terms):
        return None
    return total(interval(w) * iv.log(interval(d)) for w, d in terms)


def offset():
    return (iv.log(2 * iv.pi) + 1) / 2


def utility(columns, points):
    """Enclose Φ; −∞ if some F is singular."""
    k = len(columns[0])
    D = [outer([x - column[-1] for x in column[:-1]]) for column in columns]
    found = mean_log(
        (w, combined(((1 / mean(column, p), d) for column, d in zip(columns, D, strict=True)), k - 1))
        for p, w in points
    )
    return iv.mpf("-inf") if found is None else found / (2 * k - 2) - offset()


def mean(column, p):
    return sum(a * b for a, b in zip(column, p, strict=True))


def treats_alike(columns):
    """Whether sets of one size are the high sets of equally many outputs."""
    k = len(columns[0])
    counts = {S: 0 for m in range(k) for S in itertools.combinations(range(k), m)}
    for column in columns:
        low, high = min(column), max(column)
        constant = high - low <= high / 2**31
        counts[() if constant else tuple(x for x in range(k) if 2 * column[x] > low + high)] += 1
    return all(len({n for S, n in counts.items() if len(S) == m}) == 1 for m in range(1, k))


# ---------------------------------------------------------------- the floor


@cache
def node(n):
    """t and log(1 + t) of a node of the quadrature."""
    t = mpmath.exp(mpmath.mpf(n) / STEPS)
    return t, mpmath.log(1 + t)


def leakage(column, alpha):
    """ℓ of a column, the largest entry 1: E log(v·P) under α + e_x is an integral over u = log t.

    It is ∫ (1 + t)^−(A+1) − Π (1 + t v)^−α/(1 + t v_x) du, by a trapezoidal rule that is off by e^−6π².
    """
    A, parts = mpmath.fsum(alpha), {}
    for a, v in zip(alpha, column, strict=True):
        parts[v] = parts.get(v, 0) + a
    means = dict.fromkeys(parts, mpmath.mpf(0))
    first = STEPS * (46 + math.ceil(math.log(A + 1)))
    for n in range(-first, STEPS * 46):
        t, log = node(n)
        base, product = mpmath.exp(-(A + 1) * log), mpmath.mpf(0)
        for v, a in parts.items():
            product -= a * (log if v == 1 else mpmath.log(1 + t * v))
        product = mpmath.exp(product)
        for v in parts:
            means[v] += base - product / (1 + t * v)
    return mpmath.fsum(a / A * v * (mpmath.log(v) - means[v] / STEPS) for v, a in parts.items() if v)


def entropy(alpha):
    """H = ψ(A + 1) − Σ (α/A) ψ(α + 1)."""
    A = mpmath.fsum(alpha)
    return mpmath.psi(0, A + 1) - mpmath.fsum(a / A * mpmath.psi(0, a + 1) for a in alpha)


def leaks_within(columns, alpha, floor):
    """Whether the leakage is at most (1 − floor) H, by what was found with many digits."""
    with mpmath.workdps(30):
        alpha = [mpmath.mpf(a) for a in alpha]
        exact = [[mpmath.mpf(x.numerator) / x.denominator for x in column] for column in columns]
        spent = mpmath.fsum(leakage([x / max(c) for x in c], alpha) * max(c) for c in exact)
        allowed = (1 - mpmath.mpf(floor.numerator) / floor.denominator) * entropy(alpha)
        return True if spent <= allowed - CLOSE else False if spent > allowed + CLOSE else None


# ---------------------------------------------------------------- the bound


class Atoms:
    """The columns 1 + c on a set that mechanisms are made of, as the labels of the file name them."""

    def __init__(self, alpha, e, floor):
        self.alpha, self.e, self.floor = alpha, e, floor
        self.k, self.equal = len(alpha), len(set(alpha)) == 1
        count = 1 if floor is None else LEVELS
        levels = [e * (j + 1) / count for j in range(count)]
        self.contrasts = [
            Fraction(math.ceil(top(iv.exp(interval(x)) - 1) * 2**160), 2**160) for x in levels
        ]

    def sets(self, which):
        """The sets that a label stands for."""
        if self.equal:
            return list(itertools.combinations(range(self.k), which))
        return [tuple(x for x in range(self.k) if which >> (self.k - 1 - x) & 1)]

    def labels(self):
        which = range(1, self.k) if self.equal else range(1, 2**self.k - 1)
        return [(j, m) for j in range(len(self.contrasts)) for m in which]

    def read(self, pairs):
        """The weights of the reference by label."""
        known, found = {(0, 0), *self.labels()}, {}
        for label, weight in pairs:
            demand(isinstance(label, list) and all(type(part) is int for part in label), "no label")
            demand(tuple(label) in known and tuple(label) not in found, "another label, or one twice")
            found[tuple(label)] = number(weight, 0)
        return found

    def information(self, label, p):
        """F of an atom at a point."""
        c, sets = self.contrasts[label[0]], self.sets(label[1])
        terms = []
        for S in sets:
            d = [Fraction(x in S) - Fraction(self.k - 1 in S) for x in range(self.k - 1)]
            terms.append((c * c / (1 + c * sum(p[x] for x in S)) / len(sets), outer(d)))
        return combined(terms, self.k - 1)

    def bounds(self, reference, dual, price, bound):
        """Whether Φ(reference) − ½ + Σβ + π (1 − floor) H ≤ bound, and no slope exceeds its cost."""
        points, size = points_of(tuple(self.alpha), self.e), self.k - 1
        slopes, matrices = dict.fromkeys(self.labels(), Fraction(0)), []
        for p, w in points:
            blocks = {label: self.information(label, p) for label in slopes}
            F = combined(((t, blocks[v]) for v, t in reference.items() if t and v[1]), size)
            inverse = inverted(F)
            if inverse is None:
                return False
            matrices.append((w, F))
            for label, block in blocks.items():
                trace = sum(inverse[a][b] * block[b][a] for a in range(size) for b in range(size))
                slopes[label] += w * trace / (2 * self.k - 2)
        found = mean_log(matrices)
        if found is None:
            return False
        answers = [sum(dual) >= 0]
        for label, slope in slopes.items():
            cost = interval(self.mass(label, dual)) + interval(price) * self.leaked(label, price)
            answers.append(surely(slope, cost))
        most = found / (2 * self.k - 2) - offset() - iv.mpf(1) / 2 + interval(sum(dual))
        if price:
            most += interval(price * (1 - self.floor)) * self.most_leaked()
        return both(*answers, surely(most, bound))

    def mass(self, label, dual):
        """β·v of an atom."""
        c = self.contrasts[label[0]]
        if self.equal:
            return dual[0] * (1 + c * Fraction(label[1], self.k))
        [S] = self.sets(label[1])
        return sum(dual) + c * sum(dual[x] for x in S)

    def leaked(self, label, price):
        """Enclose ℓ of an atom, if it has a price."""
        if not price:
            return iv.mpf(0)
        S, c = self.sets(label[1])[0], self.contrasts[label[0]]
        return _leaked(tuple(self.alpha), S, c)

    def most_leaked(self):
        """Enclose H."""
        with mpmath.workdps(30):
            return near(entropy([mpmath.mpf(a) for a in self.alpha]))


@cache
def _leaked(alpha, S, contrast):
    with mpmath.workdps(30):
        c = mpmath.mpf(contrast.numerator) / contrast.denominator
        column = [mpmath.mpf(1) if x in S else 1 / (1 + c) for x in range(len(alpha))]
        return near(leakage(column, [mpmath.mpf(a) for a in alpha])) * (1 + interval(contrast))


def near(x):
    """Enclose what a quadrature found."""
    return iv.mpf([x - CLOSE, x + CLOSE])
