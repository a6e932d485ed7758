"""``robust-optimum``: the tree of boxes, every leaf on intervals."""

import math
from fractions import Fraction

from mpmath import iv

from second_checker import shared_slack
from second_checker.confidence import (
    OPTIONAL,
    Robust,
    joint,
)
from second_checker.fidelity import larger
from second_checker.intervals import both, interval, surely, total, xlogx
from second_checker.polyopt import duals, is_ceiling, mechanism_claims
from second_checker.reading import demand, keys, matrix, number, numbers, whole, word


def maximise(found):
    return True


def claims(found):
    """The claims of the kind, each with its answer."""
    params, proof = found["params"], found["certificate"]["proof"]
    keys(params, {"epsilon"}, OPTIONAL | {"objective"})
    objective = word(params.get("objective", "empirical"), ("empirical", "robust"))
    robust = Robust(params)
    W = matrix(found, robust.cells)
    yield "stochastic", all(sum(row) == 1 for row in W)
    if proof is not None or found["bound"] is not None:
        keys(
            proof,
            set(),
            {"ceiling", "secret_dual", "dual", "cuts", "tree", "corners", "shares", "cover"},
        )
    if found["bound"] is not None:
        demand(("ceiling" in proof) == ("secret_dual" in proof), "a ceiling with its dual")
        rest = set(proof) - {"ceiling", "secret_dual"}
        demand(
            rest in (set(), {"dual", "cuts", "tree"}, {"dual", "corners", "shares", "cover"}),
            "one proof",
        )
        demand(rest or "ceiling" in proof, "no proof")
        yield from _bounds(proof, robust, Fraction(found["bound"]))
    yield from mechanism_claims(found, W, robust, objective)


def _bounds(proof, robust, bound):
    if "ceiling" in proof:
        ceiling = number(proof["ceiling"])
        yield "ceiling", is_ceiling(ceiling, duals(proof["secret_dual"]), robust)
        if "dual" not in proof:
            yield "bound", bound >= ceiling
    if "cover" in proof:
        yield from shared_slack.answers(proof, robust, bound)
    if "tree" not in proof:
        return
    beta = duals(proof["dual"])
    demand(len(beta) == robust.cells, "another number of duals")
    yield "sum", sum(beta) <= bound
    demand(isinstance(proof["cuts"], list), "no cuts")
    rows = []
    for cut in proof["cuts"]:
        keys(cut, {"member", "secrets"})
        P = joint(cut["member"])
        demand(len(P) == len(robust.table) and len(P[0]) == len(robust.table[0]), "a member")
        demand(isinstance(cut["secrets"], list) and len(cut["secrets"]) == 2, "two secrets")
        s, z = (whole(i, 0, len(P) - 1) for i in cut["secrets"])
        demand(s != z and sum(P[s]) > 0 and sum(P[z]) > 0, "two secrets with a probability")
        yield "member", robust.is_member(P)
        rows.append(cut_row(P, s, z, iv.exp(interval(robust.e))))
    flat = [p for row in robust.table for p in row]
    demand(isinstance(proof["tree"], list), "no tree")
    nodes = iter(proof["tree"])
    box = [(Fraction(0), 1 / p if p else None) for p in flat]
    answers = list(walk(nodes, box, flat, beta, rows))
    demand(next(nodes, None) is None, "nodes after the last leaf")
    yield "tree", both(*answers)


def cut_row(P, s, z, E):
    """Enclose a: E P_{·|z} on the rows of z, −P_{·|s} on those of s."""
    a2 = len(P[0])
    row = [iv.mpf(0)] * (len(P) * a2)
    for u in range(a2):
        row[z * a2 + u] = E * interval(P[z][u] / sum(P[z]))
        row[s * a2 + u] = -interval(P[s][u] / sum(P[s]))
    return row


def down(number):
    """Round a number of the tree down to a multiple of 2^-64: as good a proof as the number itself."""
    return Fraction(math.floor(number * 2**64), 2**64)


def walk(nodes, box, flat, beta, rows):
    """Whether each leaf below a node is proven."""
    node = next(nodes, None)
    demand(isinstance(node, dict), "the tree is incomplete")
    if "input" in node:
        keys(node, {"input", "at"})
        x, at = whole(node["input"], 0, len(flat) - 1), down(number(node["at"]))
        low, high = box[x]
        demand(high is not None and low < at < high, "a cut outside its box")
        yield from walk(nodes, [*box[:x], (low, at), *box[x + 1 :]], flat, beta, rows)
        yield from walk(nodes, [*box[:x], (at, high), *box[x + 1 :]], flat, beta, rows)
        return
    keys(node, {"price", "cuts", "weights"})
    price = interval(down(number(node["price"])))
    demand(isinstance(node["cuts"], list) and isinstance(node["weights"], list), "lists")
    used = [whole(i, 0, len(rows) - 1) for i in node["cuts"]]
    weights = list(map(down, numbers(node["weights"], len(used), least=0))) if used else []
    demand(len(weights) == len(used) == len(node["weights"]), "a weight per cut")
    g = [
        total(interval(w) * rows[i][x] for i, w in zip(used, weights, strict=True))
        - interval(b)
        - price * interval(p)
        for x, (b, p) in enumerate(zip(beta, flat, strict=True))
    ]
    yield both(*(surely(gx, 0) for gx, p in zip(g, flat, strict=True) if not p))
    yield surely(
        price
        + total(
            larger(*(interval(p) * xlogx(t) + gx * interval(t) for t in ends))
            for gx, p, ends in zip(g, flat, box, strict=True)
            if p
        ),
        0,
    )
