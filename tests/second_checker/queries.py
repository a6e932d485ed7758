"""``robust-fidelity``: the information is inverted exactly, and generators of the cone are listed."""

import math
from fractions import Fraction

from mpmath import iv

from second_checker import columns, polyopt
from second_checker.confidence import OPTIONAL, Robust, audit, is_private, joint
from second_checker.fidelity import inverted
from second_checker.intervals import both, interval, top
from second_checker.reading import demand, epsilon, keys, matrix, numbers

MOST_INPUTS, MOST_SPREAD = 9, 32
FINE = 2**100


def maximise(found):
    return False


def dot(a, b):
    return sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0))


def claims(found):
    """The claims of the kind, each with its answer."""
    params, proof = found["params"], found["certificate"]["proof"]
    keys(params, {"epsilon"}, {"queries", "prior"} | OPTIONAL)
    demand("prior" not in params or not set(params) & OPTIONAL, "a prior and a confidence set")
    robust = Robust(params) if "prior" not in params else None
    table = robust.table if robust else joint(params["prior"], columns=1)
    e, p = epsilon(params), [entry for row in table for entry in row]
    secrets = [s for s, row in enumerate(table) for _ in row]
    rows = params.get("queries", [[int(x == z) for z in range(len(p))] for x in range(len(p))])
    demand(isinstance(rows, list) and 0 < len(rows) <= 1000, "no queries")
    queries = [numbers(row, len(p)) for row in rows]
    demand(all(abs(c) <= 10**6 for row in queries for c in row), "entries of queries")
    demand(any(len(set(row)) > 1 for row in queries), "constant queries")
    W = matrix(found, len(p))
    stochastic = all(sum(row) == 1 for row in W)
    yield "stochastic", stochastic
    if robust is None:
        yield "private", columns.is_private(W, secrets, iv.exp(interval(e)))
    else:
        yield "private", is_private(W, robust, robust.e)
    if proof is not None:
        keys(proof, {"Y", "beta"})
        demand(isinstance(proof["Y"], list), "Y is a matrix")
        Y, beta = [numbers(row) for row in proof["Y"]], numbers(proof["beta"])
        demand(max(abs(x) for row in [*Y, beta] for x in row) <= Fraction(1e40), "numbers of the proof")
        demand(len({len(row) for row in Y}) == 1 and len(Y[0]) > 1 and len(beta) > 1, "Y is a matrix")
    if stochastic:
        yield "value", _at_most(error(W, p, queries), Fraction(found["value"]))
    if found["bound"] is not None:
        bound = Fraction(found["bound"])
        if proof is None:
            clear = sum(dot(p, [x * x for x in c]) - dot(p, c) ** 2 for c in queries)
            yield "bound", bound <= clear
        else:
            demand(0 <= len(Y) - len(queries) <= len(p), "a row per query, and at most one per input")
            demand(len(Y[0]) == len(beta) == len(p), "an entry per input")
            if robust is not None:
                yield "cone", polyopt.in_cone(W, robust, "distinct")
            vectors = generators(secrets, e, robust)
            E = Fraction(math.ceil(top(iv.exp(interval(e))) * FINE), FINE)
            spread = robust is None and len(set(secrets)) == len(p) and ratio(p, E)
            yield "bound", proven(p, queries, Y, beta, bound, vectors, spread)
    if robust is not None:
        yield from audit(found, W, robust)
    else:
        yield from columns.audit(found, W, secrets)


def _at_most(found, value):
    return found if found is None or found is False else found <= value


def error(W, p, queries):
    """Σ_i c_iᵀ(J⁻¹ − p pᵀ)c_i, exactly; False if it is not finite, None if the file is large."""
    k = len(p)
    if k > MOST_INPUTS or len(W[0]) > 300:
        return None
    used = [column for column in zip(*W, strict=True) if any(column)]
    masses = [dot(p, column) for column in used]
    if 0 in masses:
        return False
    J = [
        [sum(w[a] * w[b] / q for w, q in zip(used, masses, strict=True)) for b in range(k)]
        for a in range(k)
    ]
    R = inverted(J)
    if R is None:
        return False
    return sum(dot(c, [dot(row, c) for row in R]) - dot(p, c) ** 2 for c in queries)


def generators(secrets, e, robust):
    """Vectors that generate a cone which contains that of the file; None if there are too many."""
    if robust is None:
        if len(secrets) > MOST_INPUTS:
            return None
        E = Fraction(math.ceil(top(iv.exp(interval(e))) * FINE), FINE)
        return [[E**j for j in corner] for corner in columns.corners(secrets)]
    return polyopt.cone_rays(robust, "distinct")


def ratio(p, E):
    """The largest Var T / (p·T)² over T with entries 1 and E: by the share p(S) of the entries E."""
    k = len(p)
    if min(p) <= 0:
        return False
    shares = [Fraction(m, k) for m in range(k + 1)] if len(set(p)) == 1 else [1 / (E + 1)]
    return max(x * (1 - x) * (E - 1) ** 2 / (1 + x * (E - 1)) ** 2 for x in shares)


def semidefinite(M):
    """Whether xᵀMx ≥ 0 for all x: by elimination, without rounding."""
    M = [list(row) for row in M]
    for i, lead in enumerate(M):
        if lead[i] < 0 or (lead[i] == 0 and any(lead[i:])):
            return False
        for row in M[i + 1 :]:
            if row[i]:
                factor = row[i] / lead[i]
                row[i:] = [a - factor * b for a, b in zip(row[i:], lead[i:], strict=True)]
    return True


def proven(p, queries, Y, beta, bound, vectors, spread):
    """Whether bound ≤ (Σ c·y)²/Σβ, and Σ (y·T)² ≤ (β·T)(p·T) for every T.

    With many inputs the latter follows from Σ (y·T)² ≤ λ/τ Var T, β ≥ λp, Var T ≤ τ (p·T)².
    """
    rows = [[x - sum(row) / len(row) for x in row] for row in Y]
    gain = sum(dot(c, y) for c, y in zip(queries, rows, strict=False))
    if sum(beta) <= 0 or gain <= 0 or bound * sum(beta) > gain * gain:
        return False
    if vectors is None:
        if not spread or len(p) > MOST_SPREAD:
            return None
        level = min(b / x for b, x in zip(beta, p, strict=True)) / spread
        left = [[level * ((x == z) * p[x] - p[x] * p[z]) for z in range(len(p))] for x in range(len(p))]
        for y in rows:
            for row, a in zip(left, y, strict=True):
                row[:] = [m - a * b for m, b in zip(row, y, strict=True)]
        return semidefinite(left) or None
    return both(
        *(
            dot(beta, T) >= 0 and sum(dot(y, T) ** 2 for y in rows) <= dot(beta, T) * dot(p, T)
            for T in vectors
        )
    )
