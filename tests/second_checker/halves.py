"""The proof over half shares of ``robust-optimum``: trees of pieces and of boxes, on intervals."""

from fractions import Fraction

from mpmath import iv

from second_checker.fidelity import larger
from second_checker.intervals import both, interval, surely, top, total, xlogx
from second_checker.polyopt import duals
from second_checker.reading import demand, keys, number, numbers, whole


def down(value):
    """Round a number of a tree down to a multiple of 2^-64: as good a proof as the number itself."""
    return Fraction((value.numerator << 64) // value.denominator, 2**64)


class Halves:
    """p̂, the corners with q_s first, β, and e^ε."""

    def __init__(self, robust, corners, dual):
        self.robust, self.beta = robust, dual
        self.corners = [[q, *own] for q, own in zip(robust.given, corners, strict=True)]
        self.E = iv.exp(interval(robust.e))

    def fits(self):
        """Whether every corner needs at most half of the slack."""
        answers = []
        for own, q, step in zip(self.corners, self.robust.given, self.robust.steps, strict=True):
            most = (1 + step / 2) ** 2
            for R in own[1:]:
                answers.append(
                    surely(sum((a * a / b for a, b in zip(q, R, strict=True)), Fraction(0)), most)
                )
        return both(*answers)

    def pieces(self, nodes, s, box):
        """Whether each piece below a node is proven; a box has ρ first, then the mass of each secret."""
        node = next(nodes, None)
        demand(isinstance(node, dict), "a tree of pieces is incomplete")
        if "interval" in node:
            keys(node, {"interval", "at"})
            i, at = whole(node["interval"], 0, len(box) - 1), number(node["at"])
            low, high = box[i]
            demand(low < at < high, "a cut outside")
            yield from self.pieces(nodes, s, [*box[:i], (low, at), *box[i + 1 :]])
            yield from self.pieces(nodes, s, [*box[:i], (at, high), *box[i + 1 :]])
            return
        keys(node, {"slope", "blocks"})
        slope = down(number(node["slope"], -100, 100))
        demand(isinstance(node["blocks"], list), "no blocks")
        count = len(self.corners)
        own, others = (Fraction(1), top(self.E * interval(box[0][1]))), (box[0][0], top(self.E))
        ends = [own if z == s else others for z in range(count)]
        masses = [(max(lo, m[0]), min(hi, m[1])) for (lo, hi), m in zip(ends, box[1:], strict=True)]
        if any(low > high for low, high in masses):
            yield True
            return
        demand(len(node["blocks"]) == count, "a tree per secret")
        most = [self.block(z, ends[z], masses[z], slope, tree) for z, tree in enumerate(node["blocks"])]
        yield surely(iv.exp(interval(slope) - 1) + total(most), 0)

    def block(self, s, ends, mass, slope, tree):
        """Bound c_s from above."""
        demand(isinstance(tree, list) and tree, "no tree")
        p, m = self.robust.table[s], self.robust.secrets[s]
        nodes = iter(tree)
        box = [(Fraction(0), mass[1] * m / x) for x in p]
        worth = list(self.boxes(nodes, s, (mass, ends), slope, box))
        demand(next(nodes, None) is None, "nodes after the last leaf")
        return larger(*worth) if len(worth) > 1 else worth[0]

    def boxes(self, nodes, s, limits, slope, box):
        node = next(nodes, None)
        demand(isinstance(node, dict), "a tree of boxes is incomplete")
        if "input" in node:
            keys(node, {"input", "at"})
            u, at = whole(node["input"], 0, len(box) - 1), down(number(node["at"]))
            low, high = box[u]
            demand(low < at < high, "a cut outside its box")
            yield from self.boxes(nodes, s, limits, slope, [*box[:u], (low, at), *box[u + 1 :]])
            yield from self.boxes(nodes, s, limits, slope, [*box[:u], (at, high), *box[u + 1 :]])
            return
        keys(node, {"corners", "weights", "centre"})
        demand(isinstance(node["corners"], list) and isinstance(node["weights"], list), "lists")
        own, p = self.corners[s], self.robust.table[s]
        used = [0, *(1 + whole(i, 0, len(own) - 2) for i in node["corners"])]
        weights = [number(node["centre"])]
        weights += list(numbers(node["weights"], len(used) - 1)) if len(used) > 1 else []
        demand(len(used) == len(weights) == 1 + len(node["weights"]), "a weight per corner")
        weights = list(map(down, weights))
        spent = sum((w * limits[i > 0][w > 0] for i, w in zip(used, weights, strict=True)), Fraction(0))
        beta = self.beta[s * len(p) : (s + 1) * len(p)]
        found = interval(spent)
        for u, (low, high) in enumerate(box):
            pull = sum((w * own[i][u] for i, w in zip(used, weights, strict=True)), Fraction(0))
            g = -beta[u] - slope * p[u] - pull
            found += larger(*(interval(p[u]) * xlogx(t) + interval(g * t) for t in (low, high)))
        yield found


def answers(proof, robust, bound):
    """The claims of the corners and of the bound."""
    beta = duals(proof["dual"])
    demand(len(beta) == robust.cells, "another number of duals")
    yield "sum", sum(beta) <= bound
    a1, a2 = len(robust.table), len(robust.table[0])
    demand(isinstance(proof["corners"], list) and len(proof["corners"]) == a1, "corners")
    corners = []
    for own in proof["corners"]:
        demand(isinstance(own, list), "corners")
        read = [numbers(corner, a2, least=0) for corner in own]
        demand(all(min(R) > 0 and abs(sum(R) - 1) <= Fraction(1, 10**9) for R in read), "a corner")
        corners.append([[x / sum(R) for x in R] for R in read])
    halves = Halves(robust, corners, beta)
    yield "corners", halves.fits()
    demand(isinstance(proof["cover"], list) and len(proof["cover"]) == a1, "a tree per secret")
    if any(0 in row for row in robust.table):  # ratios have no end there
        yield "pieces", None
        return
    for s, tree in enumerate(proof["cover"]):
        demand(isinstance(tree, list), "no tree")
        nodes = iter(tree)
        whole_box = [(Fraction(1), top(halves.E)), *[(Fraction(0), top(halves.E**2))] * a1]
        yield "pieces", both(*halves.pieces(nodes, s, whole_box))
        demand(next(nodes, None) is None, "nodes after the last leaf")
