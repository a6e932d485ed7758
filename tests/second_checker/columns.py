"""``staircase`` and ``secret-staircase``: all corners are listed."""

import itertools
from fractions import Fraction

from mpmath import iv

from second_checker.intervals import both, interval, surely, total, xlogx
from second_checker.reading import (
    demand,
    distribution,
    epsilon,
    keys,
    matrix,
    numbers,
    word,
)

MOST_INPUTS = 9
"""2^k corners are visited for every box."""


def question(kind, params):
    """The secrets, ε, the utility and the distributions."""
    if kind == "secret-staircase":
        keys(params, {"epsilon", "prior"})
        rows = params["prior"]
        demand(isinstance(rows, list) and len(rows) > 1, "no table")
        demand(all(isinstance(row, list) and row for row in rows), "no table")
        demand(len({len(row) for row in rows}) == 1, "not rectangular")
        secrets = [s for s, row in enumerate(rows) for _ in row]
        return (
            secrets,
            epsilon(params),
            "mutual-information",
            [distribution([p for row in rows for p in row])],
        )
    keys(params, {"epsilon"}, {"prior", "hypotheses", "utility"})
    demand(("prior" in params) != ("hypotheses" in params), "one of prior and hypotheses")
    utility = params.get("utility", "mutual-information")
    if "prior" in params:
        word(utility, ("mutual-information",))
        rows = [distribution(params["prior"])]
    else:
        word(utility, ("kl", "total-variation", "chi-squared"))
        demand(
            isinstance(params["hypotheses"], list) and len(params["hypotheses"]) == 2, "two hypotheses"
        )
        rows = [distribution(row) for row in params["hypotheses"]]
        demand(len(rows[0]) == len(rows[1]), "hypotheses of other lengths")
    return list(range(len(rows[0]))), epsilon(params), utility, rows


def worth(utility, rows, column):
    """Enclose g of a column of rational numbers."""
    masses = [sum((p * t for p, t in zip(row, column, strict=True)), Fraction(0)) for row in rows]
    if utility == "mutual-information":
        own = total(interval(p) * xlogx(t) for p, t in zip(rows[0], column, strict=True))
        return own - xlogx(masses[0])
    if masses[1] == 0 or (masses[0] == 0 and utility == "kl"):
        return iv.mpf(0)
    return divergence(utility, *map(interval, masses))


def divergence(utility, q0, q1):
    """Enclose q1 f(q0/q1)."""
    if utility == "kl":
        return q0 * iv.log(q0 / q1)
    return (q0 - q1) ** 2 / q1 if utility == "chi-squared" else abs(q0 - q1) / 2


def is_private(W, secrets, E):
    """Every pair of inputs with different secrets, every output."""
    answers = {True}
    for column in zip(*W, strict=True):
        pairs = itertools.permutations(zip(secrets, column, strict=True), 2)
        ratios = {(t, u) for (s, t), (z, u) in pairs if s != z and t > u}
        if any(u == 0 for _, u in ratios):
            return False
        if ratios:
            answers.add(surely(max(t / u for t, u in ratios), E))
    return both(*answers)


def level(W, secrets):
    """Enclose the largest log ratio; None if it is infinite."""
    worst = Fraction(1)
    for column in zip(*W, strict=True):
        for (s, t), (z, u) in itertools.permutations(zip(secrets, column, strict=True), 2):
            if s != z and t:
                if not u:
                    return None
                worst = max(worst, t / u)
    return iv.log(interval(worst)) if worst > 1 else iv.mpf(0)


def corners(secrets):
    """The corners as powers of E: {0, 1}^k; and {0, 2} where a secret is shared, with 1 elsewhere."""
    yield from itertools.product((0, 1), repeat=len(secrets))
    for secret in dict.fromkeys(secrets):
        if secrets.count(secret) > 1:
            yield from itertools.product(*[(0, 2) if s == secret else (1,) for s in secrets])


def dominates(beta, asked):
    """Whether β·v ≥ g(v) at all corners."""
    secrets, e, utility, rows = asked
    if len(secrets) > MOST_INPUTS:
        return None
    powers = [iv.exp(interval(j * e)) for j in range(3)]
    paid = [[interval(b) * t for t in powers] for b in beta]
    weighed = [[[interval(p) * t for t in powers] for p in row] for row in rows]
    answers = {True}
    for corner in corners(secrets):
        masses = [total(at[j] for at, j in zip(row, corner, strict=True)) for row in weighed]
        if utility == "mutual-information":
            own = total(at[j] * interval(j * e) for at, j in zip(weighed[0], corner, strict=True) if j)
            gain = own - xlogx(masses[0])
        else:
            gain = divergence(utility, *masses)
        answers.add(surely(gain, total(at[j] for at, j in zip(paid, corner, strict=True))))
        if False in answers:
            return False
    return both(*answers)


def claims(found):
    """The claims of the kind, each with its answer."""
    asked = question(found["problem"], found["params"])
    secrets, e, utility, rows = asked
    W = matrix(found, len(secrets))
    yield "stochastic", all(sum(row) == 1 for row in W)
    yield "private", is_private(W, secrets, iv.exp(interval(e)))
    reached = total(worth(utility, rows, column) for column in zip(*W, strict=True))
    yield "value", surely(Fraction(found["value"]), reached)
    proof = found["certificate"]["proof"]
    if proof is not None or found["bound"] is not None:
        keys(proof, {"dual"})
        beta = numbers(proof["dual"])
        if found["bound"] is not None:
            demand(len(beta) == len(secrets), "another number of duals")
            yield "bound", sum(beta) <= Fraction(found["bound"]) and dominates(beta, asked)
    yield from audit(found, W, secrets)


def audit(found, W, secrets):
    """The claim about the level."""
    said = found["certificate"].get("audit", {})
    keys(said, set(), {"level"})
    if "level" in said:
        stated, true = Fraction(said["level"]), level(W, secrets)
        if true is None:
            yield "audit", False
        else:
            yield "audit", surely(abs(true - interval(stated)), Fraction(1, 10**12))


def maximise(found):
    return True
