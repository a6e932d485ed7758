"""The reporting protocols: the best parameters by Taylor's theorem on boxes."""

import itertools
import math
from fractions import Fraction

from mpmath import iv

from second_checker import any_reports
from second_checker.confidence import OPTIONAL, Robust, audit, information, is_private
from second_checker.intervals import bottom, interval, root, surely, top
from second_checker.jets import entropy, variables
from second_checker.polyopt import duals, is_ceiling
from second_checker.reading import demand, keys, matrix, number, word

ENTRY_ERROR = Fraction(1, 10**9)
CLOSE = Fraction(1, 10**13)
"""How closely the best utility is enclosed."""
ROUNDING = 1e-13
"""What floats may be off by, in the search with two parameters."""
MOST_BOXES = 200_000


def maximise(found):
    return True


def claims(found):
    """The claims of the kind, each with its answer."""
    params, kind = found["params"], found["problem"]
    keys(params, {"epsilon"}, OPTIONAL | {"blocks", "calibrate"})
    blocks = word(params.get("blocks", "grr"), ("grr", "optimal"))
    calibrate = params.get("calibrate", False)
    demand(isinstance(calibrate, bool), "calibrate is true or false")
    demand(blocks == "grr" or not calibrate, "only grr is calibrated")
    robust = Robust(params)
    demand(kind != "ue-conditional" or len(robust.table) <= 12, "at most 12 secrets")
    if found["mechanism"] is None and kind == "ue-conditional" and blocks == "grr":
        yield "stated by parameters", None
        return
    W = matrix(found, robust.cells)
    yield "stochastic", all(sum(row) == 1 for row in W)
    if blocks == "grr":
        protocol = Protocol(kind, robust)
        yield "member", None if calibrate else protocol.is_one(W)
    if found["bound"] is not None:
        bound, proof = Fraction(found["bound"]), found["certificate"]["proof"]
        if blocks == "grr":
            yield "bound", None if calibrate else protocol.at_most(bound)
        elif kind == "ue-conditional" or (isinstance(proof, dict) and "ceiling" in proof):
            keys(proof, {"ceiling", "secret_dual"})
            ceiling = number(proof["ceiling"])
            yield "ceiling", is_ceiling(ceiling, duals(proof["secret_dual"]), robust)
            yield "bound", bound >= ceiling
        else:
            yield from any_reports.claims(found, W, Protocol(kind, robust))
    yield "private", is_private(W, robust, robust.e)
    yield "value", surely(Fraction(found["value"]), information(W, robust.table))
    yield from audit(found, W, robust)


def radius(q, k):
    """Enclose d_s of a secret; where b may be 1, both formulas."""
    b, m = k * (k + 2), interval(min(q))
    small, large = root(b), (b - 2 * b * m + root(b * b + 4 * b * m * (1 - m))) / (b + 1)
    if top(b) < 1:
        return small
    if bottom(b) >= 1:
        return large
    return iv.mpf([min(small.a, large.a, key=float), max(small.b, large.b, key=float)])


def response(k, odds):
    """The probability of the true value and that of another one, in randomised response on k values."""
    return 1 / (1 + (k - 1) * odds), odds / (1 + (k - 1) * odds)


def told(p, odds):
    """I(p, ·): what randomised response tells about a value of distribution p."""
    right, wrong = response(len(p), odds)
    out = [entropy((right - wrong) * x + wrong) for x in p]
    return sum(out[1:], out[0]) - entropy(right) - (len(p) - 1) * entropy(wrong)


class Protocol:
    """A kind of protocol for a table: what its parameters g = e^e₂ and κ mean, and its utility.

    Its numbers are intervals, or floats where ``cast`` makes them so.
    """

    def __init__(self, kind, robust, cast=interval):
        self.kind, self.robust, self.cast = kind, robust, cast
        self.a1, self.a2 = len(robust.table), len(robust.table[0])
        self.table, self.given = (
            [list(map(cast, row)) for row in t] for t in (robust.table, robust.given)
        )
        self.secrets = list(map(cast, robust.secrets))
        self.values = [cast(sum(column)) for column in zip(*robust.table, strict=True)]
        self.E = iv.exp(interval(robust.e))
        self.d = [radius(q, k) for q, k in zip(robust.given, robust.steps, strict=True)]
        if kind == "independent-reporting":
            apart = max(
                sum(abs(x - y) for x, y in zip(q, r, strict=True))
                for q, r in itertools.product(robust.given, repeat=2)
            )
            wide = 2 * max(self.d, key=lambda x: float(x.mid)) + interval(apart)
            self.d = [wide if top(wide) <= 2 else iv.mpf(2)]
        if cast is float:
            self.E, self.d = float(self.E.mid), [float(d.mid) for d in self.d]

    # what the parameters mean; g and κ are intervals or jets

    def first(self, g):
        return g / self.E

    def blocks(self, g):
        return [1 / (1 + (g - 1) * 2 / d) for d in self.d]

    def hits(self, g, kappa):
        """λ: how often another secret is reported."""
        return kappa / (kappa + (1 - kappa) * self.E / g)

    # the utility

    def independent(self, first, second):
        (right, wrong), (same, other) = response(self.a1, first), response(self.a2, second)
        c, e, found = right - wrong, same - other, -entropy(same) - entropy(right)
        for row, ps in zip(self.table, self.secrets, strict=True):
            for p, pu in zip(row, self.values, strict=True):
                found += entropy(c * e * p + c * other * ps + wrong * e * pu + wrong * other)
        return found - (self.a1 - 1) * entropy(wrong) - (self.a2 - 1) * entropy(other)

    def second(self, odds):
        """Σ p̂_s I(p̂_{·|s}, δ(e₂, d_s))."""
        terms = [told(q, o) * m for m, q, o in zip(self.secrets, self.given, odds, strict=True)]
        return sum(terms[1:], terms[0])

    def utility(self, first, odds, kappa, lam):
        if self.kind == "independent-reporting":
            return self.independent(first, odds[0])
        if self.kind == "grr-conditional":
            return told(self.secrets, first) + response(self.a1, first)[0] * self.second(odds)
        found, k = None, self.a1
        for subset in itertools.product((0, 1), repeat=k):
            j, mass = (
                sum(subset),
                self.cast(sum(m for m, b in zip(self.robust.secrets, subset, strict=True) if b)),
            )
            inside = kappa * lam ** max(j - 1, 0) * (1 - lam) ** (k - j)
            outside = (1 - kappa) * lam**j * (1 - lam) ** max(k - 1 - j, 0)
            term = entropy(inside * mass + outside * (1 - mass))
            found = term if found is None else found + term
        bits = entropy(kappa) + entropy(1 - kappa) + (k - 1) * (entropy(lam) + entropy(1 - lam))
        return found - bits + kappa * self.second(odds)

    def at(self, point):
        """The utility for parameters that are intervals or jets."""
        g, kappa = point[0], point[-1]
        if self.kind != "ue-conditional":
            return self.utility(self.first(g), self.blocks(g), None, None)
        return self.utility(None, self.blocks(g), kappa, self.hits(g, kappa))

    # the best parameters

    def end_bound(self, box):
        """Bound the utility on a box by every level at its best end."""
        (low, high), (k_low, k_high) = ((self.cast(a), self.cast(b)) for a, b in (box[0], box[-1]))
        lam = None
        if self.kind == "ue-conditional":
            lam = min(self.hits(low, k_low), k_high) if k_low else k_low
        return self.utility(self.first(low), self.blocks(high), k_high, lam)

    def box_bound(self, box):
        """Bound the utility on a box by its ends, or by Taylor's theorem at the middle."""
        most = top(self.end_bound(box))
        half = [interval((b - a) / 2) for a, b in box]
        try:
            middle = self.at(variables([interval((a + b) / 2) for a, b in box]))
            whole = self.at(variables([iv.mpf([interval(a).a, interval(b).b]) for a, b in box]))
        except (ZeroDivisionError, ValueError):
            return most
        near = middle.value
        for i, w in enumerate(half):
            near += abs(middle.slope[i]) * w
            for j, v in enumerate(half):
                bend = abs(whole.bend[i][j]) if i != j else max(top(whole.bend[i][j]), 0)
                near += interval(bend) * w * v / 2
        return min(most, top(near))

    def at_most(self, bound):
        """Whether no parameters give more than the bound."""
        if self.kind == "ue-conditional":
            return unary_at_most(Protocol(self.kind, self.robust, float), float(bound))
        key = self.kind, str(self.robust.table), str(self.robust.B), self.robust.e
        if key not in _BEST:
            _BEST[key] = search(self)
        low, high = _BEST[key]
        return True if high <= bound else False if bound < low else None

    # is a mechanism this protocol?

    def is_one(self, W):
        """Whether the mechanism is the protocol with parameters that are read off it, to 1e-9."""
        first, second = self.a2, self.a1 * self.a2
        if self.kind == "ue-conditional":
            return self.is_unary(W)
        if len(W[0]) != second:
            return False
        true, lies = sum(W[0][:first]), sum(W[first][:first])
        guesses = [lies / true * bottom(self.E)] if true else []
        guesses += self.from_block(W[0][0], W[0][1])
        return any(self.agrees(W, self.entries(interval(self.clamped(g)))) for g in guesses)

    def from_block(self, same, other):
        return [1 + (same / other - 1) * bottom(self.d[0]) / 2] if other else []

    def clamped(self, g):
        most = iv.sqrt(self.E) if self.kind == "ue-conditional" else self.E
        return min(max(g, Fraction(1)), bottom(most))

    def drawn(self, g):
        """For every secret the response to its value, and what a value drawn from p̂_{·|s} becomes."""
        odds = self.blocks(g) if len(self.d) > 1 else self.blocks(g) * self.a1
        pairs = [response(self.a2, o) for o in odds]
        return [
            (same, other, [(same - other) * interval(p) + other for p in q])
            for (same, other), q in zip(pairs, self.robust.given, strict=True)
        ]

    def entries(self, g):
        """The rows of a protocol that reports one secret and one value."""
        (right, wrong), parts = response(self.a1, self.first(g)), self.drawn(g)
        conditional = self.kind == "grr-conditional"
        for s, u in itertools.product(range(self.a1), range(self.a2)):
            row = []
            for r, v in itertools.product(range(self.a1), range(self.a2)):
                same, other, fake = parts[r]
                own = same if v == u else other
                row.append(right * own if r == s else wrong * (fake[v] if conditional else own))
            yield row

    def is_unary(self, W):
        silent = -1
        sizes = {
            1: [silent],
            self.a2**self.a1: range(self.a2),
            (1 + self.a2) ** self.a1: range(-1, self.a2),
        }
        if len(W[0]) not in sizes:
            return False
        labels = list(itertools.product(sizes[len(W[0])], repeat=self.a1))
        said = [
            sum(p for p, label in zip(W[0], labels, strict=True) if label[0] == v)
            for v in range(self.a2)
        ]
        kappa = Fraction(len(W[0]) == self.a2**self.a1) or min(sum(said), Fraction(1))
        guesses = self.from_block(said[0], said[1]) or [
            bottom(iv.sqrt(self.E)) if kappa else Fraction(1)
        ]
        g, k = interval(self.clamped(guesses[0])), interval(kappa)
        lam = self.hits(g, k) if kappa else k
        parts = self.drawn(g)

        def rows():
            for s, u in itertools.product(range(self.a1), range(self.a2)):
                row = []
                for label in labels:
                    found = iv.mpf(1)
                    for t, v in enumerate(label):
                        same, other, fake = parts[t]
                        heard = fake[v] if t != s else same if v == u else other
                        chance = k if t == s else lam
                        found *= 1 - chance if v == silent else chance * heard
                    row.append(found)
                yield row

        return self.agrees(W, rows())

    @staticmethod
    def agrees(W, rows):
        return all(
            surely(abs(should - interval(entry)), ENTRY_ERROR)
            for row, entries in zip(W, rows, strict=True)
            for entry, should in zip(row, entries, strict=True)
        )


_BEST = {}
"""What was found for a question, by what decides it."""


def search(protocol):
    """Enclose the best utility: halve boxes of g until what they hold is close to what is reached."""
    whole = (Fraction(1), top(protocol.E))
    pending, reached, closed = [(protocol.box_bound([whole]), whole)], Fraction(0), Fraction(0)
    for _ in range(MOST_BOXES):
        if not pending:
            break
        pending.sort()
        above, (a, b) = pending.pop()
        if above <= reached + CLOSE:
            closed = max(closed, above)
            continue
        middle = Fraction(float((a + b) / 2))
        reached = max(reached, bottom(protocol.at([interval(middle)])))
        pending += [(protocol.box_bound([half]), half) for half in ((a, middle), (middle, b))]
    return reached, max([closed, reached, *(entry[0] for entry in pending)])


def unary_at_most(protocol, bound):
    """The same question in two parameters and floats; what is within their rounding is left open."""
    ranges = [(1.0, math.sqrt(protocol.E)), (0.0, 1.0)]
    pending = [ranges]
    for _ in range(MOST_BOXES):
        if not pending:
            return True
        box = pending.pop()
        if protocol.end_bound(box) <= bound - ROUNDING:
            continue
        if protocol.at([(a + b) / 2 for a, b in box]) > bound + ROUNDING:
            return False
        widths = [(b - a) / (d - c) for (a, b), (c, d) in zip(box, ranges, strict=True)]
        side = widths.index(max(widths))
        a, b = box[side]
        if widths[side] < 1e-14:
            return None
        for half in ((a, (a + b) / 2), ((a + b) / 2, b)):
            pending.append([*box[:side], half, *box[side + 1 :]])
    return None
