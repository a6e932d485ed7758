"""The proof over shared slack of ``robust-optimum``: trees of parts and of boxes, on intervals."""

from fractions import Fraction

from mpmath import iv

from second_checker.fidelity import larger
from second_checker.intervals import both, interval, surely, top, total, xlogx
from second_checker.polyopt import duals
from second_checker.reading import demand, keys, number, numbers, whole, word

CUT, LEAF = {"secret", "share", "side", "at"}, {"slope", "pairs", "weights", "blocks"}


def down(value):
    """Round a number of a tree down to a multiple of 2^-64: as good a proof as the number itself."""
    return Fraction((value.numerator << 64) // value.denominator, 2**64)


class Slack:
    """p̂, the corners of every secret as (R, share) with q_s first, β, and e^ε from both sides."""

    def __init__(self, robust, corners, dual):
        self.robust, self.beta = robust, dual
        self.corners = [[(q, Fraction(0)), *own] for q, own in zip(robust.given, corners, strict=True)]
        self.E = top(iv.exp(interval(robust.e)))

    def fits(self):
        """Whether every corner needs at most its share of the slack."""
        answers = []
        for own, q, step in zip(self.corners, self.robust.given, self.robust.steps, strict=True):
            for R, share in own[1:]:
                size = sum((a * a / b for a, b in zip(q, R, strict=True)), Fraction(0))
                answers.append(surely(size, (1 + interval(share) * step) ** 2))
        return both(*answers)

    def start(self, star):
        """The first part: a pair of ends for each corner of each secret."""
        ends = []
        for s, own in enumerate(self.corners):
            inner = (Fraction(1), self.E**2 if s == star else self.E)
            ends.append([inner if x <= Fraction(1, 2) else (Fraction(0), self.E**3) for _, x in own])
        return ends

    def cut(self, ends, s, x, most, v):
        """Both sides of a cut: all corners of s up to a share keep v, or one does not."""

        def at_least(pair, value):
            return max(pair[0], value), pair[1]

        def at_most(pair, value):
            return pair[0], min(pair[1], value)

        keep, break_ = (at_most, at_least) if most else (at_least, at_most)
        loose, tight = (v * self.E, v / self.E) if most else (v / self.E, v * self.E)
        near, far = [], []
        for z, (own, pairs) in enumerate(zip(self.corners, ends, strict=True)):
            both_ends = list(zip(own, pairs, strict=True))
            if z == s:
                near.append([keep(pair, v) if y <= x else pair for (_, y), pair in both_ends])
                far.append(
                    [break_(pair, v) if x == 0 and y == 0 else pair for (_, y), pair in both_ends]
                )
            else:
                near.append([keep(pair, loose) for _, pair in both_ends])
                far.append([break_(pair, tight) if y <= 1 - x else pair for (_, y), pair in both_ends])
        return near, far

    def parts(self, nodes, ends):
        """Whether each part below a node is proven."""
        node = next(nodes, None)
        demand(isinstance(node, dict), "a tree of parts is incomplete")
        if "secret" in node:
            keys(node, CUT)
            s = whole(node["secret"], 0, len(self.corners) - 1)
            x, v = number(node["share"], 0, 1), number(node["at"], 0)
            side = word(node["side"], ("most", "least"))
            for part in self.cut(ends, s, x, side == "most", v):
                yield from self.parts(nodes, part)
            return
        keys(node, LEAF)
        slope = down(number(node["slope"], -100, 100))
        demand(isinstance(node["blocks"], list), "no blocks")
        demand(isinstance(node["pairs"], list) and isinstance(node["weights"], list), "no pairs")
        if any(own[0][0] > own[0][1] for own in ends):
            yield True
            return
        demand(len(node["blocks"]) == len(self.corners), "a tree per secret")
        linear = self.linear(node, slope)
        most = [self.block(z, ends[z], linear[z], tree) for z, tree in enumerate(node["blocks"])]
        yield surely(iv.exp(interval(slope) - 1) + total(most), 0)

    def linear(self, node, slope):
        """β + κ p + G, exactly, for the E of this checker."""
        width = len(self.robust.table[0])
        found = [
            [self.beta[s * width + u] + slope * p for u, p in enumerate(row)]
            for s, row in enumerate(self.robust.table)
        ]
        weights = numbers(node["weights"], len(node["pairs"]), least=0) if node["pairs"] else []
        demand(len(node["weights"]) == len(weights), "a weight per pair")
        for pair, weight in zip(node["pairs"], map(down, weights), strict=True):
            demand(isinstance(pair, list) and len(pair) == 4, "a pair")
            s, i, z, j = pair
            (R, x), (other, y) = self.corner(s, i), self.corner(z, j)
            demand(s != z and x + y <= 1, "no pair")
            for u, (mine, theirs) in enumerate(zip(R, other, strict=True)):
                found[s][u] += weight * mine
                found[z][u] -= weight * self.E * theirs
        return found

    def corner(self, s, i):
        own = self.corners[whole(s, 0, len(self.corners) - 1)]
        return own[whole(i, 0, len(own) - 1)]

    def block(self, s, ends, linear, tree):
        """Bound c_s from above."""
        demand(isinstance(tree, list) and tree, "no tree")
        nodes = iter(tree)
        box = [(Fraction(0), ends[0][1] / q) for q in self.robust.given[s]]
        worth = list(self.boxes(nodes, s, ends, linear, box))
        demand(next(nodes, None) is None, "nodes after the last leaf")
        return larger(*worth) if len(worth) > 1 else worth[0]

    def boxes(self, nodes, s, ends, linear, box):
        node = next(nodes, None)
        demand(isinstance(node, dict), "a tree of boxes is incomplete")
        if "input" in node:
            keys(node, {"input", "at"})
            u, at = whole(node["input"], 0, len(box) - 1), down(number(node["at"]))
            low, high = box[u]
            demand(low < at < high, "a cut outside its box")
            yield from self.boxes(nodes, s, ends, linear, [*box[:u], (low, at), *box[u + 1 :]])
            yield from self.boxes(nodes, s, ends, linear, [*box[:u], (at, high), *box[u + 1 :]])
            return
        keys(node, {"corners", "weights"})
        demand(isinstance(node["corners"], list) and isinstance(node["weights"], list), "lists")
        used = node["corners"]
        weights = list(map(down, numbers(node["weights"], len(used)))) if used else []
        demand(len(used) == len(weights) == len(node["weights"]), "a weight per corner")
        pulls, spent = list(linear), Fraction(0)
        for i, weight in zip(used, weights, strict=True):
            R, _ = self.corner(s, i)
            spent += weight * ends[i][weight > 0]
            pulls = [pull + weight * x for pull, x in zip(pulls, R, strict=True)]
        found = interval(spent)
        for p, pull, (low, high) in zip(self.robust.table[s], pulls, box, strict=True):
            found += larger(*(interval(p) * xlogx(t) - interval(pull * t) for t in (low, high)))
        yield found


def answers(proof, robust, bound):
    """The claims of the corners and of the bound."""
    beta = duals(proof["dual"])
    demand(len(beta) == robust.cells, "another number of duals")
    yield "sum", sum(beta) <= bound
    a1, a2 = len(robust.table), len(robust.table[0])
    for key in ("corners", "shares", "cover"):
        demand(isinstance(proof[key], list) and len(proof[key]) == a1, key)
    corners = []
    for own, theirs in zip(proof["corners"], proof["shares"], strict=True):
        demand(isinstance(own, list) and isinstance(theirs, list) and len(own) == len(theirs), "corners")
        read = [numbers(corner, a2, least=0) for corner in own]
        demand(all(min(R) > 0 and abs(sum(R) - 1) <= Fraction(1, 10**9) for R in read), "a corner")
        shares = [number(share, 0, 1) for share in theirs]
        corners.append([([x / sum(R) for x in R], share) for R, share in zip(read, shares, strict=True)])
    slack = Slack(robust, corners, beta)
    yield "corners", slack.fits()
    if any(0 in row for row in robust.table):  # ratios have no end there
        yield "parts", None
        return
    for s, tree in enumerate(proof["cover"]):
        demand(isinstance(tree, list), "no tree")
        nodes = iter(tree)
        yield "parts", both(*slack.parts(nodes, slack.start(s)))
        demand(next(nodes, None) is None, "nodes after the last leaf")
