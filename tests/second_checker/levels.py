"""``robust-level``: vertices of polyhedral sets are listed, and every segment between two is decided.

The largest ratio over a polytope lies on a segment between two vertices: where N_s P_z = λ P_s N_z, a
quadric in four linear functions of P, has a tangent plane, it is cut by it in two lines. On a segment
the difference λ P_s N_z − P_z N_s is a quadratic polynomial. Bounds over balls and larger polytopes are
proven by support functions (``supports.py``), or refuted by members that a search finds
(``searching.py``).
"""

import itertools
from fractions import Fraction
from functools import cache

import mpmath
from mpmath import iv
from scipy import stats

from second_checker import supports
from second_checker.confidence import joint, quantile
from second_checker.intervals import bottom, interval, surely, total, xlogx
from second_checker.reading import demand, distribution, keys, number, whole
from second_checker.searching import is_broken

MOST_VERTICES = 150
CLOSE = mpmath.mpf(10) ** -25
BALLS = {
    "total-variation": 1,
    "hellinger": 1,
    "kullback-leibler": 1,
    "likelihood": 1e6,
    "wasserstein": 1e6,
}


def maximise(found):
    return True


def claims(found):
    """The claims of the kind, each with its answer."""
    params = found["params"]
    keys(params, {"matrix", "uncertainty"})
    F = Set(params["uncertainty"])
    demand(isinstance(params["matrix"], list), "no matrix")
    W = [_row(row) for row in params["matrix"]]
    demand(len(W) == F.cells and len({len(row) for row in W}) == 1, "another shape")
    answer = found.get("answer")
    keys(answer, {"output", "secrets", "witness"})
    y = whole(answer["output"], 0, 10**9)
    demand(isinstance(answer["secrets"], list) and len(answer["secrets"]) == 2, "two secrets")
    s, z = (whole(i, 0, 10**9) for i in answer["secrets"])
    demand(y < len(W[0]) and s != z and max(s, z) < F.shape[0], "no such place")
    P, inside = F.member(answer["witness"])
    yield "member", inside
    if inside is not True:
        return
    column = [row[y] for row in W]
    top, low = (F.share(P, column, i) / F.share(P, [1] * F.cells, i) for i in (s, z))
    yield "value", top > 0 and (low == 0 or surely(number(found["value"]), iv.log(interval(top / low))))
    if found["bound"] is not None:
        level = number(found["bound"])
        yield (
            "bound",
            False if level < 0 else surely(interval(top), iv.exp(interval(level)) * interval(low)),
        )
        yield "bound", F.never_beyond(W, bottom(iv.exp(interval(level))))


def _row(value):
    if isinstance(value, list) and len(value) == 1:
        demand(abs(number(value[0]) - 1) <= Fraction(1, 10**9), "not a distribution")
        return [Fraction(1)]
    return distribution(value)


def _flat(table):
    return list(itertools.chain(*table))


class Set:
    """An uncertainty set: its shape, its members, and its vertices where they can be listed."""

    def __init__(self, plain):
        demand(isinstance(plain, dict), "no set")
        self.kind = plain.get("kind")
        self.vertices = None
        if self.kind == "known":
            keys(plain, {"kind", "p"})
            self._listed([plain["p"]])
        elif self.kind == "scenarios":
            keys(plain, {"kind", "members"})
            demand(isinstance(plain["members"], list) and plain["members"], "no members")
            self._listed(plain["members"])
        elif self.kind == "credible":
            keys(plain, {"kind", "counts"}, {"alpha", "prior"})
            counts = plain["counts"]
            demand(isinstance(counts, list) and len(counts) > 1, "no counts")
            demand(all(isinstance(row, list) and len(row) > 1 for row in counts), "no counts")
            demand(len({len(row) for row in counts}) == 1, "not rectangular")
            demand(all(number(n, 0, 1e12).denominator == 1 for row in counts for n in row), "counts")
            demand(sum(map(sum, counts)) <= 10**9, "too many counts")
            alpha = number(plain.get("alpha", 0.05), 1e-12, 1 - 1e-12)
            prior = number(plain.get("prior", 0.5), 1e-3, 1e3)
            self.shape = len(counts), len(counts[0])
            raised = [number(n) + prior for row in counts for n in row]
            self.center = [n / sum(raised) for n in raised]
            tail = alpha / (2 * len(raised))
            self.ends = [
                [beta_quantile(a, sum(raised) - a, goal) for goal in (tail, 1 - tail)] for a in raised
            ]
            self.vertices = self._corners(1)
        else:
            demand(self.kind in BALLS or self.kind == "chi-squared", "another kind")
            self._around(plain)
        self.cells = self.shape[0] * self.shape[1]

    def _listed(self, tables):
        members = [joint(table) for table in tables]
        self.shape = len(members[0]), len(members[0][0])
        demand(all((len(m), len(m[0])) == self.shape for m in members), "tables of one shape")
        demand(all(sum(row) > 0 for m in members for row in m), "a secret of probability 0")
        self.vertices = [_flat(m) for m in members]
        self.center = [sum(cell) / len(members) for cell in zip(*self.vertices, strict=True)]

    def _around(self, plain):
        size = {"n"} if self.kind == "chi-squared" else {"radius"}
        optional = {"chi-squared": {"alpha"}, "wasserstein": {"distance"}}.get(self.kind, ())
        keys(plain, {"kind", "p_hat"} | size, optional)
        table = joint(plain["p_hat"])
        self.shape, self.center = (len(table), len(table[0])), _flat(table)
        secrets = [sum(row) for row in table]
        demand(min(secrets) > 0, "a secret of probability 0")
        if self.kind == "chi-squared":
            alpha = float(number(plain.get("alpha", 0.05), 1e-12, 1 - 1e-12))
            self.B = quantile(len(self.center) - 1, alpha) / interval(number(plain["n"], 1e-9, 1e12))
            return
        self.radius = number(plain["radius"], 0, BALLS[self.kind])
        demand(self.radius > 0, "no radius")
        if self.kind == "total-variation":
            demand(self.radius < min(secrets), "a secret of probability 0")
            self.vertices = self._shifted()
        if self.kind == "wasserstein":
            self.distance = self._distance(plain.get("distance"))

    def _shifted(self):
        """What the center becomes if one cell gains the radius, and others lose all but one of them."""
        if len(self.center) > 4:
            return None
        found = set()
        for order in itertools.permutations(range(len(self.center))):
            P, left = list(self.center), self.radius
            for x in order[1:]:
                taken = min(P[x], left)
                P[x], left = P[x] - taken, left - taken
            P[order[0]] += self.radius - left
            found.add(tuple(P))
        return sorted(found)

    def _distance(self, given):
        cells = [(s, u) for s in range(self.shape[0]) for u in range(self.shape[1])]
        if given is None:
            return [[abs(u - v) + (s != z) for z, v in cells] for s, u in cells]
        demand(isinstance(given, list) and len(given) == len(cells), "distances")
        demand(all(isinstance(row, list) and len(row) == len(cells) for row in given), "distances")
        exact = [[number(d, 0, 1e6) for d in row] for row in given]
        demand(all(row[x] == 0 for x, row in enumerate(exact)), "a distance to itself")
        return exact

    def _corners(self, outside):
        """The vertices of a credible set, its ends rounded outwards (1) or inwards (−1)."""
        if len(self.center) > 4 or None in _flat(self.ends):
            return None
        pairs = [
            [_moved(end, side * outside) for end, side in zip(ends, (-1, 1), strict=True)]
            for ends in self.ends
        ]
        found = set()
        for x in range(len(pairs)):
            for rest in itertools.product(*pairs[:x], *pairs[x + 1 :]):
                left = 1 - sum(rest)
                if pairs[x][0] <= left <= pairs[x][1]:
                    found.add((*rest[:x], left, *rest[x:]))
        return sorted(found)

    def wide_ends(self):
        """The ends of a credible set, rounded outwards."""
        return [(_moved(low, -1), _moved(high, 1)) for low, high in self.ends]

    def home(self):
        """The witness of the center."""
        if self.kind == "wasserstein":
            return [[int(x == z) for z in range(self.cells)] for x in range(self.cells)]
        width = self.shape[1]
        return [self.center[i : i + width] for i in range(0, self.cells, width)]

    def member(self, witness):
        """The distribution that a witness describes, and whether it is a member."""
        demand(isinstance(witness, list), "no witness")
        if self.kind in ("known", "scenarios"):
            demand(len(witness) == 1, "one row of weights")
            weights = _row(witness[0])
            demand(len(weights) == len(self.vertices), "another number of weights")
            return [
                sum(map(Fraction.__mul__, weights, cell)) for cell in zip(*self.vertices, strict=True)
            ], True
        if self.kind == "wasserstein":
            demand(len(witness) == self.cells, "another number of cells")
            rows = [distribution(row) for row in witness]
            demand(all(len(row) == self.cells for row in rows), "another number of cells")
            spent, P = 0, [Fraction(0)] * self.cells
            for x, z in itertools.product(range(self.cells), repeat=2):
                P[z] += self.center[x] * rows[x][z]
                spent += self.center[x] * rows[x][z] * self.distance[x][z]
            return P, spent <= self.radius
        table = joint(witness)
        demand((len(table), len(table[0])) == self.shape, "another shape")
        return _flat(table), self.near(_flat(table))

    def near(self, P):
        """Whether a distribution is a member; None where that is left open."""
        if self.kind == "credible":
            return None if None in _flat(self.ends) else self._between_ends(P)
        pairs = list(zip(P, self.center, strict=True))
        if self.kind == "total-variation":
            return sum(abs(p - q) for p, q in pairs) <= 2 * self.radius
        if self.kind == "hellinger":
            return surely(1 - self.radius**2, total(iv.sqrt(interval(p * q)) for p, q in pairs if p * q))
        if self.kind == "kullback-leibler":
            pairs = [(q, p) for p, q in pairs]
        if any(q and not p for p, q in pairs):
            return False
        if self.kind == "chi-squared":
            return surely(sum((p - q) ** 2 / p for p, q in pairs if p), self.B)
        return surely(total(interval(p) * xlogx(q / p) for p, q in pairs if q), self.radius)

    def _between_ends(self, P):
        pairs = list(zip(P, self.ends, strict=True))
        if all(_moved(low, 1) <= p <= _moved(high, -1) for p, (low, high) in pairs):
            return True
        return (
            None if all(_moved(low, -1) <= p <= _moved(high, 1) for p, (low, high) in pairs) else False
        )

    def share(self, P, column, s):
        """The mass of the cells of a secret, weighed by a column."""
        own = range(s * self.shape[1], (s + 1) * self.shape[1])
        return sum((P[x] * column[x] for x in own), Fraction(0))

    def never_beyond(self, W, factor):
        """Whether P(y|s) ≤ factor P(y|z) for all members; None where that is left open."""
        if self.vertices is None or len(self.vertices) > MOST_VERTICES:
            if supports.never_beyond(self, W, factor):
                return True
            return False if is_broken(self, W, factor) else None
        if self._holds_between(self.vertices, W, factor):
            return True
        if self.kind == "credible" and self._holds_between(self._corners(-1), W, factor):
            return None
        return False

    def _holds_between(self, vertices, W, factor):
        """Whether it holds on every segment between two vertices."""
        ones = [1] * self.cells
        for column in zip(*W, strict=True):
            for s, z in itertools.permutations(range(self.shape[0]), 2):
                ends = [
                    tuple(self.share(P, c, i) for c in (column, ones) for i in (s, z)) for P in vertices
                ]
                for one, two in itertools.combinations_with_replacement(ends, 2):
                    if not _at_least_zero(*_coefficients(one, two, factor)):
                        return False
        return True


@cache
def beta_quantile(a, b, goal):
    """The quantile of Beta(a, b), to 25 digits, by Newton's method; None if that does not find it."""
    with mpmath.workdps(50):
        a, b, goal = (mpmath.mpf(x.numerator) / x.denominator for x in (a, b, goal))
        if a + b > 1e6:
            return None
        scale = mpmath.beta(a, b)

        def below(x):
            return mpmath.betainc(a, b, 0, x, regularized=True)

        x = mpmath.mpf(float(stats.beta.ppf(float(goal), float(a), float(b))))
        for _ in range(6):
            if not 0 < x < 1:
                return None
            x -= (below(x) - goal) * scale / (x ** (a - 1) * (1 - x) ** (b - 1))
        ends = x * (1 - CLOSE), x * (1 + CLOSE)
        if not (0 < ends[0] and ends[1] < 1 and below(ends[0]) < goal < below(ends[1])):
            return None
        return Fraction(str(x))


def _moved(x, sign):
    """Move an end that is known to 25 digits by as much as it may be off."""
    return x * (1 + sign * Fraction(2, 10**25))


def _coefficients(one, two, factor):
    """λ P_s N_z − P_z N_s between two members, as a t² + b t + c."""

    def product(i, j):
        u, v, du, dv = one[i], one[j], two[i] - one[i], two[j] - one[j]
        return du * dv, u * dv + v * du, u * v

    return [factor * x - y for x, y in zip(product(2, 1), product(3, 0), strict=True)]


def _at_least_zero(a, b, c):
    """Whether a t² + b t + c ≥ 0 for 0 ≤ t ≤ 1."""
    if c < 0 or a + b + c < 0:
        return False
    return a <= 0 or not 0 < -b < 2 * a or 4 * a * c >= b * b
