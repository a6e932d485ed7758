"""The reporting protocols: ``independent-reporting``, ``grr-conditional`` and ``ue-conditional``."""

from fractions import Fraction

from second_checker import any_reports, stated, unary
from second_checker.confidence import OPTIONAL, Robust, audit, information, is_private, joint
from second_checker.intervals import both, surely, top
from second_checker.membership import is_member, last
from second_checker.polyopt import duals, is_ceiling
from second_checker.protocols import Protocol
from second_checker.reading import demand, keys, matrix, number, whole, word

MOST_MEMBERS = 1000


def maximise(found):
    return True


def claims(found):
    """The claims of the kind, each with its answer."""
    params, kind, proof = found["params"], found["problem"], found["certificate"]["proof"]
    keys(params, {"epsilon"}, OPTIONAL | {"blocks", "calibrate"})
    blocks = word(params.get("blocks", "grr"), ("grr", "optimal"))
    calibrate = params.get("calibrate", False)
    demand(isinstance(calibrate, bool), "calibrate is true or false")
    demand(blocks == "grr" or not calibrate, "only grr is calibrated")
    robust = Robust(params)
    demand(kind != "ue-conditional" or len(robust.table) <= 12, "at most 12 secrets")
    if found["mechanism"] is None and kind == "ue-conditional" and blocks == "grr":
        yield from stated.claims(found, Protocol(kind, robust, () if calibrate else None))
        W = None
    else:
        W = matrix(found, robust.cells)
        yield from of_matrix(found, W, robust, calibrate)
    if found["bound"] is not None:
        bound = Fraction(found["bound"])
        if calibrate:
            yield from calibrated(kind, robust, proof, bound)
        elif blocks == "grr":
            yield "bound", at_most(Protocol(kind, robust), bound, None)
        elif kind == "ue-conditional" or "ceiling" in proof:
            keys(proof, any_reports.CEILING, {"reports"} if kind != "ue-conditional" else set())
            ceiling = number(proof["ceiling"])
            yield "ceiling", is_ceiling(ceiling, duals(proof["secret_dual"]), robust)
            yield "bound", bound >= ceiling
        else:
            yield "bound", any_reports.at_most(bound, proof, Protocol(kind, robust))


def of_matrix(found, W, robust, calibrate):
    """The claims about a mechanism: stochastic, of its kind, private, worth its value; and the audit."""
    kind, blocks = found["problem"], found["params"].get("blocks", "grr")
    yield "stochastic", all(sum(row) == 1 for row in W)
    if blocks == "grr":
        yield "member", is_member(W, Protocol(kind, robust, () if calibrate else None))
    yield "private", is_private(W, robust, robust.e)
    yield "value", surely(Fraction(found["value"]), information(W, robust.table))
    yield from audit(found, W, robust)


KNOWN = {}
"""For every question that was met: a utility that some parameters exceed, and one that none do."""


def at_most(protocol, bound, member):
    """Whether no parameters give more than the bound."""
    robust = protocol.robust
    key = protocol.kind, str(robust.table), str(robust.B), robust.e, protocol.pairs, str(member)
    low, high = KNOWN.setdefault(key, [Fraction(-1), None])
    if bound <= low or (high is not None and bound >= high):
        return bound > low
    if protocol.kind != "ue-conditional":
        found = protocol.at_most(bound)
    else:
        end = unary.last_split(protocol, member) if member else top(last(protocol))
        found = unary.at_most(protocol, bound, end)
    if found is not None:
        KNOWN[key][int(found)] = bound
    return found


def calibrated(kind, robust, proof, bound):
    """The claims of a calibrated protocol's bound: its members, and that no parameters give more."""
    keys(proof, {"members"})
    demand(isinstance(proof["members"], list) and len(proof["members"]) <= MOST_MEMBERS, "members")
    members = [read_member(entry, robust) for entry in proof["members"]]
    used = {"independent-reporting": members, "grr-conditional": [], "ue-conditional": members[:1]}[kind]
    yield "members", both(True, *(robust.is_member(P) for P, _, _ in used))
    pairs = []
    if kind == "independent-reporting":
        for P, (s, z), (v, w) in members:
            demand(v == w, "one value")
            pairs.append((P[s][v] / sum(P[s]), P[z][v] / sum(P[z])))
    yield "bound", at_most(Protocol(kind, robust, tuple(pairs)), bound, used[0] if used else None)


def read_member(entry, robust):
    """A distribution, two secrets and two values."""
    keys(entry, {"distribution", "secrets", "values"})
    P = joint(entry["distribution"])
    demand((len(P), len(P[0])) == (len(robust.table), len(robust.table[0])), "another size")
    for name in ("secrets", "values"):
        demand(isinstance(entry[name], list) and len(entry[name]) == 2, "pairs")
    s, z = (whole(i, 0, len(P) - 1) for i in entry["secrets"])
    demand(s != z and sum(P[s]) > 0 and sum(P[z]) > 0, "two secrets with a probability")
    return P, (s, z), [whole(v, 0, len(P[0]) - 1) for v in entry["values"]]
