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


OF_A_PRIOR = ("mutual-information", "guessing")
OF_TWO = ("kl", "total-variation", "chi-squared", "hellinger", "renyi")


def question(kind, params):
    """The secrets, ε, the utility, the distributions, and the weights or the order of the utility."""
    keys(params, {"epsilon"}, {"prior", "hypotheses", "utility", "weights", "order"})
    demand(("prior" in params) != ("hypotheses" in params), "one of prior and hypotheses")
    utility = params.get("utility", "mutual-information")
    word(utility, OF_A_PRIOR if "prior" in params else (*OF_TWO, "bayes"))
    given = [params["prior"]] if "prior" in params else params["hypotheses"]
    demand(isinstance(given, list) and len(given) >= 1, "no hypotheses")
    demand(
        "prior" in params or len(given) == 2 or (utility == "bayes" and len(given) > 2), "their number"
    )
    if kind == "secret-staircase":
        demand(all(map(_is_table, given)), "no table")
        demand(len({(len(rows), len(rows[0])) for rows in given}) == 1, "tables of other shapes")
        secrets = [s for s, row in enumerate(given[0]) for _ in row]
        given = [[p for row in rows for p in row] for rows in given]
    rows = [distribution(row) for row in given]
    demand(len({len(row) for row in rows}) == 1, "distributions of other lengths")
    if kind == "staircase":
        secrets = list(range(len(rows[0])))
    return secrets, epsilon(params), utility, rows, _extra(params, utility, len(rows))


def _is_table(rows):
    return (
        isinstance(rows, list)
        and len(rows) > 1
        and all(isinstance(row, list) and row for row in rows)
        and len({len(row) for row in rows}) == 1
    )


def _extra(params, utility, count):
    """The weights of bayes, the order of renyi; no other utility has either."""
    demand("weights" not in params or utility == "bayes", "weights without bayes")
    demand(("order" in params) == (utility == "renyi"), "an order without renyi")
    if utility == "bayes":
        weights = distribution(params.get("weights", [1 / count] * count))
        demand(len(weights) == count, "a weight per hypothesis")
        return weights
    if utility == "renyi":
        (order,) = numbers([params["order"]])
        demand(Fraction(0.01) <= order <= 60 and order != 1, "the range of the order")
        demand((order - 1) * epsilon(params) <= 30, "the power of a ratio")
        return order
    return None


def worth(utility, rows, column, extra):
    """Enclose g of a column of rational numbers."""
    masses = [sum((p * t for p, t in zip(row, column, strict=True)), Fraction(0)) for row in rows]
    if utility == "mutual-information":
        own = total(interval(p) * xlogx(t) for p, t in zip(rows[0], column, strict=True))
        return own - xlogx(masses[0])
    if utility == "guessing":
        return interval(max(p * t for p, t in zip(rows[0], column, strict=True)))
    if utility == "bayes":
        return interval(max(w * q for w, q in zip(extra, masses, strict=True)))
    if masses[1] == 0 or (masses[0] == 0 and utility in ("kl", "renyi")):
        return iv.mpf(0)
    return divergence(utility, *map(interval, masses), extra)


def divergence(utility, q0, q1, order):
    """Enclose q1 f(q0/q1)."""
    if utility == "kl":
        return q0 * iv.log(q0 / q1)
    if utility == "renyi":
        return (iv.exp(interval(order) * iv.log(q0) + interval(1 - order) * iv.log(q1)) - q0) / interval(
            order - 1
        )
    if utility == "hellinger":
        return (iv.sqrt(q0) - iv.sqrt(q1)) ** 2
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
    secrets, e, utility, rows, extra = asked
    if len(secrets) > MOST_INPUTS:
        return None
    powers = [iv.exp(interval(j * e)) for j in range(3)]
    paid = [[interval(b) * t for t in powers] for b in beta]
    weighed = [[[interval(p) * t for t in powers] for p in row] for row in rows]
    answers = {True}
    for corner in corners(secrets):
        masses = [total(at[j] for at, j in zip(row, corner, strict=True)) for row in weighed]
        cost = total(at[j] for at, j in zip(paid, corner, strict=True))
        entries = [at[j] for at, j in zip(weighed[0], corner, strict=True)]
        if utility == "mutual-information":
            own = total(p * interval(j * e) for p, j in zip(entries, corner, strict=True) if j)
            gains = [own - xlogx(masses[0])]
        elif utility == "guessing":
            gains = entries
        elif utility == "bayes":
            gains = [interval(w) * q for w, q in zip(extra, masses, strict=True)]
        else:
            gains = [divergence(utility, *masses, extra)]
        answers.update(surely(gain, cost) for gain in gains)
        if False in answers:
            return False
    return both(*answers)


def claims(found):
    """The claims of the kind, each with its answer."""
    asked = question(found["problem"], found["params"])
    secrets, e, utility, rows, extra = asked
    W = matrix(found, len(secrets))
    yield "stochastic", all(sum(row) == 1 for row in W)
    yield "private", is_private(W, secrets, iv.exp(interval(e)))
    reached = total(worth(utility, rows, column, extra) for column in zip(*W, strict=True))
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
