"""``program``: composed questions; multipliers entry by entry, rays where k − 1 planes meet.

A number is {c: a rational}, Σ_c a e^c, and a linear function {c: a list}. So what holds without
exponentials is decided exactly, and all else by one comparison of intervals.
"""

import itertools
import math
from fractions import Fraction
from operator import mul

from mpmath import iv

from second_checker import columns, queries
from second_checker.flats import rays
from second_checker.intervals import both, interval, surely, top, total
from second_checker.levels import Set
from second_checker.notions import ANY, of_notion
from second_checker.reading import demand, distribution, in_order, keys, matrix, number, numbers, whole

LARGEST = 1e15
"""What numbers of a question may be."""


def maximise(found):
    return "maximise" in found["params"]


def is_at_most(one, other):
    """Whether one number is at most another."""
    parts = {c: one.get(c, 0) - other.get(c, 0) for c in {*one, *other}}
    parts = {c: a for c, a in parts.items() if a}
    if set(parts) <= {0}:
        return parts.get(0, 0) <= 0
    if len(parts) == 2 and 0 in parts:
        ((c, a),) = [(c, a) for c, a in parts.items() if c]
        limit, E = -parts[0] / a, iv.exp(interval(c))
        return surely(E, limit) if a > 0 else surely(limit, E)
    return surely(total(interval(a) * iv.exp(interval(c)) for c, a in parts.items()), 0)


def at(function, w):
    """The number that a linear function has at w."""
    return {
        c: sum((a * x for a, x in zip(row, w, strict=True)), Fraction(0)) for c, row in function.items()
    }


def added(*numbers_):
    return {
        c: sum((n.get(c, 0) for n in numbers_), Fraction(0)) for c in {c for n in numbers_ for c in n}
    }


def times(factor, number_):
    return {c: factor * a for c, a in number_.items()}


class Goal:
    """The objective: its worth of a column, and its pieces if it has any."""

    def __init__(self, params):
        demand(("maximise" in params) != ("minimise" in params), "one of maximise and minimise")
        sense = "maximise" if "maximise" in params else "minimise"
        demand(isinstance(params[sense], dict) and len(params[sense]) == 1, "one objective")
        ((self.name, own),) = params[sense].items()
        minimised = self.name in ("loss", "queries")
        demand(minimised == (sense == "minimise"), "only a loss and an error are minimised")
        self.extra, self.rows, self.pieces, self.design = None, [], None, None
        if self.name in (*columns.OF_A_PRIOR, *columns.OF_TWO, "bayes"):
            self.of_columns(own)
        elif self.name == "fisher":
            keys(own, {"prior", "score"})
            self.rows = [distribution(own["prior"])]
            self.extra = table([own["score"]])[0]
            demand(len(self.extra) == len(self.rows[0]), "a score per input")
            mean = sum(p * s for p, s in zip(self.rows[0], self.extra, strict=True))
            demand(abs(mean) <= max(map(abs, self.extra)) / 10**9, "the mean of the score")
        elif self.name in ("queries", "log-det"):
            self.of_information(own)
        elif self.name == "largest":
            keys(own, {"pieces"})
            self.pieces = table(own["pieces"])
        else:
            demand(self.name == "loss", "an unknown objective")
            keys(own, {"prior", "loss"})
            prior = distribution(own["prior"])
            loss = table(own["loss"], len(prior))
            self.pieces = [
                [-p * row[d] for p, row in zip(prior, loss, strict=True)] for d in range(len(loss[0]))
            ]
        self.k = len((self.pieces or self.rows)[0])
        demand(self.k > 1, "two inputs or more")

    def of_columns(self, own):
        needed = "prior" if self.name in columns.OF_A_PRIOR else "hypotheses"
        optional = {"weights"} if self.name == "bayes" else set()
        keys(own, {needed} | ({"order"} if self.name == "renyi" else set()), optional)
        given = [own["prior"]] if needed == "prior" else own["hypotheses"]
        demand(isinstance(given, list), "no hypotheses")
        demand(needed == "prior" or len(given) == 2 or (self.name == "bayes" and len(given) > 2), "two")
        self.rows = [distribution(row) for row in given]
        demand(len({len(row) for row in self.rows}) == 1, "other lengths")
        if self.name == "renyi":
            self.extra = number(own["order"], 0.01, 60)
            demand(self.extra != 1, "an order other than 1")
        elif self.name == "guessing":
            (P,) = self.rows
            self.pieces = [
                [p if i == x else Fraction(0) for i in range(len(P))] for x, p in enumerate(P)
            ]
        elif self.name == "bayes":
            count = len(self.rows)
            self.extra = distribution(own.get("weights", [1 / count] * count))
            demand(len(self.extra) == count, "a weight per hypothesis")
            self.pieces = [[v * p for p in row] for v, row in zip(self.extra, self.rows, strict=True)]
        elif self.name == "total-variation":
            half = [(p - q) / 2 for p, q in zip(*self.rows, strict=True)]
            self.pieces = [half, [-h for h in half]]

    def of_information(self, own):
        keys(own, {"prior", "queries"} if self.name == "queries" else {"prior"})
        self.rows = [distribution(own["prior"])]
        demand(0 not in self.rows[0], "a prior without zeros")
        given = table(own["queries"]) if self.name == "queries" else []
        demand(all(len(c) == len(self.rows[0]) for c in given), "an entry per input")
        demand(not given or any(len(set(c)) > 1 for c in given), "constant queries")
        self.design = given

    def reached(self, W):
        """The design of a mechanism, an error with the sign changed; None if it is not known."""
        (p,) = self.rows
        if self.name == "queries":
            found = queries.error(W, p, self.design)
            return None if found is None or found is False else -found
        if len(p) > queries.MOST_INPUTS:
            return None
        used = [(w, dot(p, w)) for w in zip(*W, strict=True) if any(w)]
        J = [[sum(w[a] * w[b] / q for w, q in used) for b in range(len(p))] for a in range(len(p))]
        found = determinant(J)
        return iv.log(interval(found)) if found > 0 else None

    def offset(self, vectors):
        """What a bound of Σ_y worth(w_y), with these vectors, is short of one of the design."""
        rows = len(self.design) if self.design else self.k
        demand(isinstance(vectors, list) and len(vectors) == rows, "a vector per query or input")
        self.vectors = [numbers(z, self.k) for z in vectors]
        demand(all(abs(a) <= 1e30 for z in self.vectors for a in z), "numbers up to 10^30")
        if self.name == "log-det":
            size = abs(determinant(self.vectors))
            demand(size > 0, "independent vectors")
            return -self.k - 2 * iv.log(interval(size))
        (p,) = self.rows
        return -2 * sum(
            dot(z, c) - dot(p, c) * sum(z) for z, c in zip(self.vectors, self.design, strict=True)
        )

    def worth(self, w):
        """g(w), or an interval around it: its limit where a mass is 0, None if that is infinite."""
        if self.design is not None:
            return sum(dot(z, w) ** 2 for z in self.vectors) / dot(self.rows[0], w)
        if self.pieces:
            return max(dot(piece, w) for piece in self.pieces)
        masses = [dot(row, w) for row in self.rows]
        if self.name == "fisher":
            part = sum(
                (p * s * x for p, s, x in zip(self.rows[0], self.extra, w, strict=True)), Fraction(0)
            )
            return part * part / masses[0] if masses[0] else Fraction(0)
        if self.name in columns.OF_TWO and masses[0] == masses[1]:
            return Fraction(0)
        if self.name in columns.OF_TWO and masses[1] == 0:
            order = {"hellinger": Fraction(0), "renyi": self.extra}.get(self.name, Fraction(1))
            return masses[0] / (1 - order) if order < 1 else None
        return columns.worth(self.name, self.rows, w, self.extra)


def determinant(matrix):
    """The determinant of a square matrix of fractions."""
    rows, found = [list(row) for row in matrix], Fraction(1)
    while rows:
        pivot = next((row for row in rows if row[0]), None)
        if pivot is None:
            return Fraction(0)
        found *= pivot[0] * (-1) ** rows.index(pivot)
        rows = [
            [a - row[0] * b / pivot[0] for a, b in zip(row[1:], pivot[1:], strict=True)]
            for row in rows
            if row is not pivot
        ]
    return found


class Unstated:
    """The objective that a statement leaves out: it says how many inputs there are instead."""

    pieces = design = None

    def __init__(self, params):
        demand("maximise" not in params and "minimise" not in params, "inputs instead of an objective")
        self.k = whole(params["inputs"], 2, 400)


def least(one, other):
    """Whether one is at most the other: exactly, if both are rational."""
    exact = isinstance(one, Fraction) and isinstance(other, Fraction)
    return one <= other if exact else surely(one, other)


def dot(a, w):
    return sum((x * y for x, y in zip(a, w, strict=True)), Fraction(0))


def whole_multiples(vectors):
    """Whole numbers, and the one by which all are divided: sums of them need no common divisors."""
    size = math.lcm(*(x.denominator for vector in vectors for x in vector))
    return [[x.numerator * (size // x.denominator) for x in vector] for vector in vectors], size


def table(rows, count=None):
    """A rectangular matrix."""
    demand(isinstance(rows, list) and rows and isinstance(rows[0], list), "a matrix is missing")
    demand(count is None or len(rows) == count, "another number of rows")
    found = [numbers(row, len(rows[0])) for row in rows]
    demand(all(abs(a) <= LARGEST for row in found for a in row), "numbers up to 10^15")
    return found


def sides(params, goal):
    """The side conditions Σ costs ≤ b, those of at_least with both signs changed."""
    found = []
    for name, key, sign in (("at_most", "most", 1), ("at_least", "least", -1)):
        given = params.get(name, [])
        demand(isinstance(given, list), "side conditions are a list")
        for own in given:
            demand(goal.pieces is not None, "side conditions need pieces")
            keys(own, {"costs", key})
            costs = table(own["costs"], goal.k)
            demand(len(costs[0]) == len(goal.pieces), "a cost for every piece")
            found.append(
                ([[sign * c for c in row] for row in costs], sign * number(own[key], -LARGEST, LARGEST))
            )
    return found


def claims(found):
    """The claims of the kind, each with its answer."""
    params = found["params"]
    own_kind = found["problem"] == "program"
    keys(
        params,
        {"privacy"},
        {
            "maximise",
            "minimise",
            "at_most",
            "at_least",
            "max_outputs",
            *([] if own_kind else ["inputs"]),
        },
    )
    goal = Unstated(params) if "inputs" in params else Goal(params)
    demand(isinstance(params["privacy"], list) and 1 <= len(params["privacy"]) <= 8, "1 to 8 notions")
    notions = [of_notion(own, goal.k) for own in params["privacy"]]
    open_ones = {i: own for i, own in enumerate(notions) if hasattr(own, "decides")}
    help_with(None if "inputs" in params else found["certificate"]["proof"], open_ones, len(notions))
    notions = [(ANY, []) if i in open_ones else own for i, own in enumerate(notions)]
    budgets = [budget for _, own in notions for budget in own]
    conditions = sides(params, goal)
    two = "max_outputs" in params and whole(params["max_outputs"], 2, 2)
    demand(not two or (not conditions and goal.design is None), "two reports of a sum")
    W = matrix(found, goal.k)
    for a, b in tables(params["privacy"]):
        names = found["mechanism"].get("inputs") or range(goal.k)
        demand(in_order(list(names), {"prior": [[0] * b] * a}), "pairs in another order")
    own = list(zip(*W, strict=True))
    yield "stochastic", all(sum(row) == 1 for row in W)
    for cones, _ in notions:
        yield "private", both(*(some(is_inside(cone, w) for cone in cones) for w in own))
    yield "private", both(True, *(one.decides(W) for one in open_ones.values()))
    for budget in budgets:
        yield "budget", is_kept(budget, own)
    yield "reports", not two or sum(map(any, own)) <= 2
    if conditions:
        demand(len(own) % len(goal.pieces) == 0, "as many columns for every piece")
        share = len(own) // len(goal.pieces)
        for costs, most in conditions:
            spread = [[c for c in row for _ in range(share)] for row in costs]
            yield "side", sum(map(dot, spread, W)) <= most
    if "inputs" in params:
        return
    sign = 1 if maximise(found) else -1
    yield "value", is_reached(sign * Fraction(found["value"]), goal, W, conditions)
    proof = found["certificate"]["proof"]
    if proof is not None or found["bound"] is not None:
        optional = {"cuts", "privacy", *([] if two else ["prices", "costs", "rows", "budgets"])}
        needed = {"dual", *(["vectors"] if goal.design is not None else [])}
        keys(proof, set() if two else needed, optional)
        demand(two or numbers(proof["dual"], goal.k), "a dual vector")
    if found["bound"] is not None:
        notions = with_cuts(proof.get("cuts"), notions, open_ones)
        budgets = [budget for _, own in notions for budget in own]
        bound = sign * Fraction(found["bound"])
        if two:
            yield "bound", is_bound_of_two(bound, goal, notions, budgets)
        else:
            yield "bound", is_bound(bound, proof, goal, notions, budgets, conditions)


def is_reached(value, goal, W, conditions):
    """Whether a mechanism is worth so much."""
    own = list(zip(*W, strict=True))
    if goal.design is not None:
        reached = goal.reached(W)
        return None if reached is None else least(value, reached)
    if conditions:
        share = len(own) // len(goal.pieces)
        return value <= sum(dot(goal.pieces[y // share], w) for y, w in enumerate(own))
    reached = summed([goal.worth(w) for w in own])
    return reached is None or least(value, reached)


def help_with(proof, open_ones, count):
    """Hand each notion what the file says to show that it is kept."""
    given = proof.get("privacy") if isinstance(proof, dict) else None
    if given is None:
        return
    demand(isinstance(given, list) and len(given) == count, "an entry per notion")
    for i, own in enumerate(given):
        if own is not None:
            demand(hasattr(open_ones.get(i), "show"), "a notion without help")
            open_ones[i].show(own)


def with_cuts(cuts, notions, open_ones):
    """The notions, those with cuts being the cones and budgets of their cuts."""
    if cuts is None:
        return notions
    demand(isinstance(cuts, list) and len(cuts) == len(notions), "an entry per notion")
    demand(all(own is None or i in open_ones for i, own in enumerate(cuts)), "a notion without cuts")
    pairs = enumerate(zip(notions, cuts, strict=True))
    return [known if own is None else open_ones[i].cut(own) for i, (known, own) in pairs]


def summed(worths):
    """Their sum, rational if all are; None if one is infinite."""
    if None in worths:
        return None
    exact = all(isinstance(worth, Fraction) for worth in worths)
    return sum(worths) if exact else total(map(interval, worths))


def tables(notions):
    """The shapes (s, u) of the notions that read inputs as pairs."""
    for notion in notions:
        ((name, own),) = notion.items()
        if name == "given":
            yield own["shape"]
        elif name == "robust":
            yield Set(own["uncertainty"]).shape
        elif name == "scenarios":
            yield from ((len(rows), len(rows[0])) for rows in own["distributions"])


def some(answers):
    """The disjunction of True, False and None."""
    answers = list(answers)
    return True if True in answers else None if None in answers else False


def is_inside(cone, w):
    return both(True, *(is_at_most(at(row, w), {}) for row in cone))


def is_kept(budget, own):
    """Whether Σ_y max_l c_l·w_y is at most the limit."""
    parts, limit = budget
    spent = []
    for w in own:
        best = at(parts[0], w)
        for part in parts[1:]:
            other = at(part, w)
            less = is_at_most(other, best)
            if less is None:
                return None
            best = best if less else other
        spent.append(best)
    return is_at_most(added(*spent), limit)


def is_bound_of_two(bound, goal, notions, budgets):
    """Whether no mechanism (w, 1 − w) is worth more: the vertices of the polytope of these w."""
    k, answers = goal.k, {True}
    cones = [
        list(itertools.chain(*choice)) for choice in itertools.product(*(own for own, _ in notions))
    ]
    shared = [[Fraction(int(x == z)) for z in range(k)] + [Fraction(-1)] for x in range(k)]
    for parts, limit in budgets:
        pieces = [rational(part) for part in parts]
        most = sum(a * (top(iv.exp(interval(c))) if c else 1) for c, a in limit.items())
        for one, other in itertools.product(pieces, repeat=2):
            shared.append([a - b for a, b in zip(one, other, strict=True)] + [sum(other) - most])
    for first, second in itertools.combinations_with_replacement(cones, 2):
        rows = shared + [[*rational(row), Fraction(0)] for row in first]
        rows += [[*(-a for a in row), sum(row)] for row in map(rational, second)]
        found = rays(k + 1, tuple(map(tuple, rows)))
        if found is None:
            return None
        for ray in found:
            w = [a / ray[k] for a in ray[:k]]
            pair = [w, [1 - a for a in w]]
            worths = summed([goal.worth(v) if any(v) else Fraction(0) for v in pair])
            if worths is None:
                return False
            answers.add(least(worths, bound))
    return both(*answers)


def is_bound(bound, proof, goal, notions, budgets, conditions):
    """Whether the numbers of the proof show that no mechanism is worth more."""
    beta = [number(b, -1e30, 1e30) for b in listed(proof["dual"], goal.k)]
    prices, kappa = (
        [number(x, 0, 1e30) for x in listed(proof.get(name, [0] * count), count)]
        for name, count in (("prices", len(budgets)), ("costs", len(conditions)))
    )
    spent = [times(price, limit) for price, (_, limit) in zip(prices, budgets, strict=True)]
    spent += [{0: price * most} for price, (_, most) in zip(kappa, conditions, strict=True)]
    if goal.design is None:
        answer = is_at_most(added({0: sum(beta)}, *spent), {0: bound})
    else:
        paid = [interval(a) * iv.exp(interval(c)) for part in spent for c, a in part.items() if a]
        answer = least(summed([goal.offset(proof["vectors"]), *beta, *paid]), bound)
    if answer is False:
        return False
    cones = [
        list(itertools.chain(*choice)) for choice in itertools.product(*(own for own, _ in notions))
    ]
    if "rows" in proof or "budgets" in proof:
        demand(goal.pieces is not None, "multipliers need pieces")
        return both(answer, compared(proof, goal, cones, budgets, conditions, beta, prices, kappa))
    demand(not conditions, "side conditions need multipliers")
    paid = [(price, parts) for price, (parts, _) in zip(prices, budgets, strict=True) if price]
    return both(answer, *(dominates(beta, goal, cone, paid) for cone in cones))


def listed(values, count):
    demand(isinstance(values, list) and len(values) == count, "a list of another length")
    return values


def multipliers(proof, name, fields):
    """The entries of a list of multipliers, each (places…, a number ≥ 0)."""
    if name not in proof:
        return []
    own = proof[name]
    keys(own, {*fields, "times"})
    demand(all(isinstance(own[field], list) for field in own), "lists")
    demand(len({len(own[field]) for field in own}) == 1, "lists of other lengths")
    entries = zip(*(own[field] for field in fields), own["times"], strict=True)
    return [([whole(i, 0, 10**18) for i in places], number(x, 0, 1e30)) for *places, x in entries]


def compared(proof, goal, cones, budgets, conditions, beta, prices, kappa):
    """Whether a_i − Σ η c − Σ κ costs − Σ ν D ≤ β, entry by entry, and Σ η ≤ λ, for all of them."""
    taken = {(i, c): [] for i in range(len(goal.pieces)) for c in range(len(cones))}
    shares = {}
    for (i, c, r), x in multipliers(proof, "rows", ("piece", "cone", "row")):
        if (i, c) in taken:  # what is of no piece or cone counts for nothing
            demand(r < len(cones[c]), "no such row")
            taken[i, c].append((x, cones[c][r]))
    for (i, c, j, part), x in multipliers(proof, "budgets", ("piece", "cone", "budget", "part")):
        if (i, c) in taken:
            demand(j < len(budgets) and part < len(budgets[j][0]), "no such part")
            taken[i, c].append((x, budgets[j][0][part]))
            shares[i, c, j] = shares.get((i, c, j), Fraction(0)) + x
    answers = [share <= prices[j] for (_, _, j), share in shares.items()]
    for (i, _), functions in taken.items():
        for x in range(goal.k):
            own = sum(
                (p * costs[x][i] for p, (costs, _) in zip(kappa, conditions, strict=True)), Fraction(0)
            )
            needed = [{c: -v * row[x] for c, row in D.items()} for v, D in functions]
            answers.append(is_at_most(added({0: goal.pieces[i][x] - own}, *needed), {0: beta[x]}))
    return both(True, *answers)


def rational(function):
    """The function with numbers just above e^c."""
    E = {c: Fraction(1) if c == 0 else top(iv.exp(interval(c))) for c in function}
    return [
        sum(E[c] * row[x] for c, row in function.items())
        for x in range(len(next(iter(function.values()))))
    ]


def at_least_zero(parts):
    """The parts of a budget, and 0 where all may be negative: no report is paid less than 0."""
    zero = [Fraction(0)] * len(parts[0])
    return parts if zero in parts or any(min(part) >= 0 for part in parts) else [*parts, zero]


def dominates(beta, goal, cone, paid):
    """Whether g(w) − Σ λ_j max_l c_jl·w ≤ β·w for all w of a cone.

    The planes c_jl·w = c_jl'·w cut the cone into parts on which the left side is convex: the rays of the
    parts suffice.
    """
    k = goal.k
    rows = [rational(row) for row in cone]
    paid = [(price, at_least_zero([rational(part) for part in parts])) for price, parts in paid]
    planes = [
        [a - b for a, b in zip(*pair, strict=True)]
        for _, parts in paid
        for pair in itertools.combinations(parts, 2)
    ]
    found = rays(k, tuple(map(tuple, rows)), tuple(map(tuple, planes)))
    if found is None:
        return None
    answers = {True}
    (beta,), unit = whole_multiples([beta])
    paid = [(price, *whole_multiples(parts)) for price, parts in paid]
    for w in found:
        worth = goal.worth(w)
        if worth is None:
            return False
        (own,), scale = whole_multiples([w])
        spent = Fraction(sum(map(mul, beta, own)), unit * scale)
        for price, parts, size in paid:
            spent += price * Fraction(max(sum(map(mul, part, own)) for part in parts), size * scale)
        answers.add(least(worth, spent))
        if False in answers:
            return False
    return both(*answers)
