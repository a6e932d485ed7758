"""The notions of privacy of a ``program``: cones, lists of rows D w ≤ 0, and budgets.

A row is {c: a list}, Σ_c e^c (list·w); a budget is its parts, of which the largest counts, and a limit.
A notion that is more than these decides a matrix itself, and takes cuts.
"""

import itertools
import json
import math
from fractions import Fraction

from mpmath import iv

from second_checker.intervals import both, bottom, interval, surely, top, total
from second_checker.leakage import proven as leakage_tree
from second_checker.levels import Set
from second_checker.reading import demand, distribution, epsilon, keys, number, numbers, whole

ANY = [[]]
"""The cones of a notion that has budgets alone: one, of all columns."""


class Robust:
    """Privacy against the members of a set; a cut is the inequality of one member."""

    def __init__(self, params, k):
        keys(params, {"epsilon", "uncertainty"})
        self.k, self.e, self.F = k, epsilon(params), Set(params["uncertainty"])
        demand(self.F.cells == k, "another number of inputs")
        self.shape = self.F.shape

    def decides(self, W):
        return self.F.never_beyond(W, bottom(iv.exp(interval(self.e))))

    def cut(self, cuts):
        demand(isinstance(cuts, list), "cuts are a list")
        rows = []
        for own in cuts:
            keys(own, {"witness", "secrets"})
            s, z = two(own["secrets"], self.shape[0])
            P, inside = self.F.member(own["witness"])
            nothing = [Fraction(0)] * self.k
            given = [
                [
                    p / self.F.share(P, [1] * self.k, i) if x // self.shape[1] == i else 0
                    for x, p in enumerate(P)
                ]
                for i in (s, z)
            ]
            rows.append(
                row(given[0], self.e, [-p for p in given[1]]) if inside else row(nothing, 0, nothing)
            )
        return [rows], []


class Renyi:
    """A divergence of every two rows; a cut is a tangent of w_x^a w_z^(1−a)."""

    shape = None

    def __init__(self, params, k):
        keys(params, {"epsilon", "order"})
        self.k, self.e, self.a = k, epsilon(params), number(params["order"], 1, 60)
        demand(self.a > 1, "an order above 1")

    def decides(self, W):
        limit = iv.exp(interval((self.a - 1) * self.e))
        return both(*(self.kept(p, q, limit) for p, q in itertools.permutations(W, 2)))

    def kept(self, row, other, limit):
        terms = [(x, y) for x, y in zip(row, other, strict=True) if x]
        if any(y == 0 for _, y in terms):
            return False
        a = interval(self.a)
        powers = [
            iv.exp(a * iv.log(interval(x)) + (1 - a) * iv.log(interval(y))) if x != y else interval(x)
            for x, y in terms
        ]
        return surely(total(powers), limit)

    def cut(self, cuts):
        demand(isinstance(cuts, list), "cuts are a list")
        parts = {}
        for own in cuts:
            keys(own, {"pair", "ratio"})
            x, z = two(own["pair"], self.k)
            r, a = number(own["ratio"], 1e-9, 1e9), interval(self.a)
            power = iv.exp((a - 1) * (iv.log(interval(r)) - interval(self.e)))
            tangent = unit(self.k, x, bottom(a * power))
            tangent[z] = -top((a - 1) * power * interval(r))
            parts.setdefault((x, z), []).append({Fraction(0): tangent})
        return ANY, [(own, {Fraction(0): Fraction(1)}) for own in parts.values()]


class Selections:
    """A leakage about a secret of many selections: a tree of prices decides, and some are cuts."""

    shape, tree = None, None

    def __init__(self, k, limit, classes):
        self.k, self.limit, self.classes = k, limit, classes

    def show(self, tree):
        demand(isinstance(tree, dict), "a tree of prices")
        self.tree = tree

    def decides(self, W):
        if self.tree is None or any(sum(row) != 1 for row in W):
            return None
        rows = [[W[x] for x in own] for own in self.classes]
        (level,) = self.limit
        return surely(leakage_tree(self.tree, rows, len(W[0])), iv.exp(interval(level))) or None

    def cut(self, cuts):
        demand(isinstance(cuts, list), "cuts are a list")
        for own in cuts:
            demand(isinstance(own, list) and len(own) == len(self.classes), "an input per secret")
            own[:] = [whole(x, 0, self.k - 1) for x in own]
            demand(all(x in places for x, places in zip(own, self.classes, strict=True)), "in order")
        return ANY, [([{Fraction(0): unit(self.k, x)} for x in own], self.limit) for own in cuts]


def two(pair, count):
    demand(isinstance(pair, list) and len(pair) == 2, "two numbers")
    x, z = (whole(i, 0, count - 1) for i in pair)
    demand(x != z, "two numbers")
    return x, z


def of_notion(own, k):
    """The cones and the budgets of a notion, or an object that decides."""
    demand(isinstance(own, dict) and len(own) == 1, "a notion is an object of one key")
    ((name, params),) = own.items()
    demand(name in READERS, "an unknown notion")
    found = READERS[name](params, k)
    if isinstance(found, tuple):
        cones, budgets = found
        asked = all(any(max(part) > 0 for line in cone for part in line.values()) for cone in cones)
        demand(budgets or asked, "nothing is asked for")
    return found


def unit(k, x, value=1):
    return [Fraction(value if z == x else 0) for z in range(k)]


def pair(k, x, z, c):
    """w_x ≤ e^c w_z."""
    return row(unit(k, x), c, unit(k, z, -1))


def row(plain, c, factor):
    """plain·w + e^c factor·w."""
    if c == 0:
        return {Fraction(0): [a + b for a, b in zip(plain, factor, strict=True)]}
    return {Fraction(0): plain, c: factor}


def ratios(k, level):
    """The rows of all pairs for which level(x, z) is a number."""
    levels = ((x, z, level(x, z)) for x, z in itertools.permutations(range(k), 2))
    return [pair(k, x, z, c) for x, z, c in levels if c is not None]


def ldp(params, k):
    keys(params, {"epsilon"}, {"delta"})
    e, delta = epsilon(params), number(params.get("delta", 0), 0)
    demand(delta < 1, "delta is below 1")
    if not delta:
        return [ratios(k, lambda x, z: e)], []
    nothing = {Fraction(0): [Fraction(0)] * k}
    return ANY, [([nothing, part], {Fraction(0): delta}) for part in ratios(k, lambda x, z: e)]


def labels(given, k):
    demand(isinstance(given, list) and len(given) == k, "a label per input")
    demand(any(a != given[0] for a in given), "two different labels")
    written = {json.dumps(a): a for a in given}
    demand(not any(a == b for a, b in itertools.combinations(written.values(), 2)), "1, 1.0 and true")
    demand("{" not in "".join(json.dumps(a) for a in given if not isinstance(a, str)), "objects")
    return given


def secret(params, k):
    keys(params, {"epsilon", "secrets"})
    e, own = epsilon(params), labels(params["secrets"], k)
    return [ratios(k, lambda x, z: e if own[x] != own[z] else None)], []


def pairs(params, k):
    keys(params, {"levels"})
    given = params["levels"]
    demand(isinstance(given, list) and len(given) == k, "k × k")
    demand(all(isinstance(line, list) and len(line) == k for line in given), "k × k")
    levels = [[None if a is None else number(a, 0, 30) for a in line] for line in given]
    return [ratios(k, lambda x, z: levels[x][z])], []


def metric(params, k):
    keys(params, {"epsilon", "distances"})
    e, given = epsilon(params), params["distances"]
    demand(isinstance(given, list) and len(given) == k, "k × k")
    levels = [[e * a for a in numbers(line, k, 0)] for line in given]
    demand(
        all(levels[x][z] == levels[z][x] <= 30 for x, z in itertools.permutations(range(k), 2)), "far"
    )
    demand(all(a <= 10**6 for line in given for a in line), "distances up to 10^6")
    return [ratios(k, lambda x, z: levels[x][z])], []


def given(params, k):
    keys(params, {"epsilon", "shape"})
    e, shape = epsilon(params), params["shape"]
    demand(isinstance(shape, list) and len(shape) == 2, "two numbers")
    a, b = (whole(n, 1, k) for n in shape)
    demand(a * b == k, "another number of inputs")
    return [ratios(k, lambda x, z: e if x % b == z % b else None)], []


def prior(params, k):
    found = distribution(params["prior"])
    demand(len(found) == k, "another number of inputs")
    return found


def pml(params, k):
    keys(params, {"epsilon", "prior"})
    e, P = epsilon(params), prior(params, k)
    return [[row(unit(k, x), e, [-p for p in P]) for x in range(k)]], []


def information_privacy(params, k):
    e, ((above,), _) = epsilon(params), pml(params, k)
    P = prior(params, k)
    return [above + [row(P, e, unit(k, x, -1)) for x in range(k)]], []


def sensitive(params, k):
    keys(params, {"epsilon", "inputs"})
    e, inputs = epsilon(params), params["inputs"]
    demand(isinstance(inputs, list) and inputs, "no inputs")
    listed = {whole(x, 0, k - 1) for x in inputs}
    demand(len(listed) == len(inputs), "different inputs")
    own = [[{Fraction(0): unit(k, z)} for z in range(k) if z != x] for x in range(k) if x not in listed]
    return [ratios(k, lambda x, z: e), *own], []


def scenarios(params, k):
    keys(params, {"epsilon", "distributions"})
    e, rows = epsilon(params), []
    demand(isinstance(params["distributions"], list) and params["distributions"], "no distributions")
    for lines in params["distributions"]:
        demand(isinstance(lines, list) and len(lines) > 1, "a matrix of two rows or more")
        demand(all(isinstance(line, list) and len(line) == len(lines[0]) for line in lines), "a matrix")
        P, b = distribution([p for line in lines for p in line]), len(lines[0])
        demand(len(P) == k, "another number of inputs")
        means = []
        for s in range(len(lines)):
            mass = sum(P[s * b : s * b + b])
            if mass:
                means.append([p / mass if x // b == s else Fraction(0) for x, p in enumerate(P)])
        rows += [row(p, e, [-a for a in q]) for p, q in itertools.permutations(means, 2)]
    return [rows], []


def cone(params, k):
    keys(params, {"rows"}, {"words"})
    demand(isinstance(params.get("words", ""), str), "the words are a string")
    demand(isinstance(params["rows"], list) and params["rows"], "no rows")
    rows = [numbers(line, k) for line in params["rows"]]
    demand(all(abs(a) <= 10**15 for line in rows for a in line), "entries up to 10^15")
    return [[{Fraction(0): [-a for a in line]} for line in rows]], []


def leakage(params):
    found = number(params["leakage"], 0, 30)
    demand(found > 0, "a leakage above 0")
    return {found: Fraction(1)}


def maximal_leakage(params, k):
    keys(params, {"leakage"})
    return ANY, [([{Fraction(0): unit(k, x)} for x in range(k)], leakage(params))]


def statistic_leakage(params, k):
    keys(params, {"leakage", "secrets"})
    limit, own = leakage(params), labels(params["secrets"], k)
    classes = []
    for x, label in enumerate(own):
        known = next((c for c in classes if own[c[0]] == label), None)
        classes.append([x]) if known is None else known.append(x)
    found = Selections(k, limit, classes)
    if math.prod(map(len, classes)) > 4096:
        return found
    return found.cut([list(choice) for choice in itertools.product(*classes)])


READERS = {
    "ldp": ldp,
    "secret": secret,
    "pairs": pairs,
    "metric": metric,
    "given": given,
    "pml": pml,
    "information-privacy": information_privacy,
    "sensitive": sensitive,
    "scenarios": scenarios,
    "cone": cone,
    "maximal-leakage": maximal_leakage,
    "statistic-leakage": statistic_leakage,
    "robust": Robust,
    "renyi": Renyi,
}
