"""``set-optimum``: the members by their witnesses, the tree of boxes as for ``robust-optimum``."""

from fractions import Fraction
from types import SimpleNamespace

from mpmath import iv

from second_checker.confidence import AUDIT_ERROR, information
from second_checker.intervals import both, bottom, interval, surely
from second_checker.levels import Set
from second_checker.optimum import cut_row, walk
from second_checker.polyopt import duals, is_ceiling
from second_checker.reading import demand, epsilon, keys, matrix, number, whole


def maximise(found):
    return True


def claims(found):
    """The claims of the kind, each with its answer."""
    params, proof = found["params"], found["certificate"]["proof"]
    keys(params, {"epsilon", "uncertainty"})
    F, e = Set(params["uncertainty"]), epsilon(params)
    W = matrix(found, F.cells)
    yield "stochastic", all(sum(row) == 1 for row in W)
    rows = [F.center[i : i + F.shape[1]] for i in range(0, F.cells, F.shape[1])]
    demand(F.kind != "credible" or F.near(F.center) is not False, "a center outside")
    yield "value", surely(number(found["value"]), information(W, rows))
    yield "private", F.never_beyond(W, bottom(iv.exp(interval(e))))
    audit = found["certificate"].get("audit")
    if audit:
        yield from _audit(audit, W, F)
    if found["bound"] is None:
        return
    bound = number(found["bound"])
    if set(proof) == {"ceiling", "secret_dual"}:
        masses = [sum(row) for row in rows]
        given = [[p / m for p in row] for row, m in zip(rows, masses, strict=True)]
        robust = SimpleNamespace(secrets=masses, given=given, e=e)
        ceiling = number(proof["ceiling"])
        yield "ceiling", is_ceiling(ceiling, duals(proof["secret_dual"]), robust)
        yield "bound", bound >= ceiling
        return
    keys(proof, {"dual", "cuts", "tree"})
    yield from _tree(proof, bound, F, e)


def _tree(proof, bound, F, e):
    beta = duals(proof["dual"])
    demand(len(beta) == F.cells, "another number of duals")
    yield "sum", sum(beta) <= bound
    demand(isinstance(proof["cuts"], list), "no cuts")
    rows = []
    for cut in proof["cuts"]:
        keys(cut, {"witness", "secrets"})
        s, z = _pair(cut["secrets"], F)
        P, inside = F.member(cut["witness"])
        yield "member", inside
        if inside is False:
            return
        table = [P[i : i + F.shape[1]] for i in range(0, F.cells, F.shape[1])]
        rows.append(cut_row(table, s, z, iv.exp(interval(e))))
    demand(isinstance(proof["tree"], list), "no tree")
    nodes = iter(proof["tree"])
    box = [(Fraction(0), 1 / p if p else None) for p in F.center]
    answers = list(walk(nodes, box, F.center, beta, rows))
    demand(next(nodes, None) is None, "nodes after the last leaf")
    yield "tree", both(*answers)


def _pair(secrets, F):
    demand(isinstance(secrets, list) and len(secrets) == 2, "two secrets")
    s, z = (whole(i, 0, F.shape[0] - 1) for i in secrets)
    demand(s != z, "two secrets")
    return s, z


def _audit(audit, W, F):
    keys(audit, {"level", "output", "secrets", "witness"})
    level, (s, z) = number(audit["level"], 0), _pair(audit["secrets"], F)
    column = [row[whole(audit["output"], 0, len(W[0]) - 1)] for row in W]
    P, inside = F.member(audit["witness"])
    yield "audit", inside
    if inside is not True:
        return
    top, low = (F.share(P, column, i) / F.share(P, [1] * F.cells, i) for i in (s, z))
    reached = top > 0 and (low == 0 or surely(level - AUDIT_ERROR, iv.log(interval(top / low))))
    yield "audit", reached
    yield "audit", F.never_beyond(W, bottom(iv.exp(interval(level + AUDIT_ERROR)))) or None
