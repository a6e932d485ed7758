"""Maximal leakage: in fractions; selections are listed beside what a proof says."""

import itertools
import json
import math
from fractions import Fraction

import numpy as np
from mpmath import iv
from scipy.optimize import linprog

from second_checker.intervals import interval, surely
from second_checker.reading import UnreadableError, demand, keys, matrix, number, numbers, whole

MOST_SELECTIONS = 5000
UNIT = 2**1074


def maximise(found):
    return found["problem"] == "statistic-leakage"


def claims(found):
    """The claims of the kind, each with its answer."""
    yield from (_statistic if maximise(found) else _design)(found)


# ---------------------------------------------------------------- labels and groups


def text(label):
    """A label that is a number, text, null or a list of labels, as it is written."""
    if isinstance(label, list):
        return "[" + ",".join(map(text, label)) + "]"
    demand(label is None or isinstance(label, (str, int, float)), "a label of another type")
    if isinstance(label, int):
        demand(abs(label) < 10**18, "a label of too many digits")
    return json.dumps(label)


def frozen(label):
    return tuple(map(frozen, label)) if isinstance(label, list) else label


def groups(secrets, count):
    """The rows of equal secret, by first appearance."""
    demand(isinstance(secrets, list) and len(secrets) == count, "one secret per row")
    found, written = {}, {}
    for i, secret in enumerate(secrets):
        words, same = text(secret), frozen(secret)
        demand(written.setdefault(same, words) == words, "equal secrets are written differently")
        found.setdefault(words, []).append(i)
    return list(found.values())


# ---------------------------------------------------------------- what is covered


def covered(rows):
    """Σ_y of the largest entry."""
    return sum(map(max, zip(*rows, strict=True)), Fraction(0))


def log(x):
    """Enclose the logarithm; that of 1 is 0."""
    return iv.mpf(0) if x == 1 else iv.log(interval(x))


def up(x):
    """Round up to a multiple of 2^−1074."""
    return Fraction(math.ceil(x * UNIT), UNIT)


def proven(node, parts, width):
    """What a tree proves that no selection covers more than; ``parts``: the rows of every group."""
    demand(isinstance(node, dict), "a tree is missing")
    if "branches" in node:
        keys(node, {"secret", "branches"})
        g = whole(node["secret"], 0, len(parts) - 1)
        demand(
            isinstance(node["branches"], list) and len(node["branches"]) == len(parts[g]),
            "another number of branches",
        )
        return max(
            proven(branch, [*parts[:g], [row], *parts[g + 1 :]], width)
            for row, branch in zip(parts[g], node["branches"], strict=True)
        )
    keys(node, {"outputs", "prices"})
    demand(isinstance(node["outputs"], list) and isinstance(node["prices"], list), "lists")
    outputs = [whole(y, 0, width - 1) for y in node["outputs"]]
    prices = numbers(node["prices"], len(outputs), least=0) if outputs else []
    demand(len(set(outputs)) == len(outputs) == len(node["prices"]), "an output priced twice")
    v = [Fraction(0)] * width
    for y, price in zip(outputs, prices, strict=True):
        v[y] = price
    gains = [
        max(up(sum(max(w - c, 0) for w, c in zip(row, v, strict=True))) for row in rows)
        for rows in parts
    ]
    return up(sum(v)) + sum(gains)


def most_covered(parts):
    """The best selection, all of them listed; None if they are too many."""
    if math.prod(map(len, parts)) > MOST_SELECTIONS:
        return None
    return max(map(covered, itertools.product(*parts)))


# ---------------------------------------------------------------- statistic-leakage


def given_mechanism(value):
    """The rows of the parameters, divided by their exact sums."""
    if isinstance(value, dict):
        keys(value, {"shape", "rows", "columns", "values"})
        demand(isinstance(value["shape"], list) and len(value["shape"]) == 2, "a shape of two numbers")
        count, width = (whole(n, 1, 10**7) for n in value["shape"])
        if count * width > 10**6:
            return None
        parts = value["rows"], value["columns"], value["values"]
        demand(all(isinstance(part, list) for part in parts), "lists")
        demand(len(set(map(len, parts))) == 1, "triples")
        rows = [[Fraction(0)] * width for _ in range(count)]
        places = set()
        for x, y, p in zip(*parts, strict=True):
            place = whole(x, 0, count - 1), whole(y, 0, width - 1)
            demand(place not in places, "a place twice")
            places.add(place)
            rows[x][y] = number(p, 0, 1 + 1e-9)
    else:
        demand(isinstance(value, list) and value and isinstance(value[0], list), "no matrix")
        demand(all(isinstance(row, list) and len(row) == len(value[0]) for row in value), "rectangular")
        rows = [[number(p, 0, 1 + 1e-9) for p in row] for row in value]
    demand(bool(rows[0]), "no outputs")
    demand(all(abs(sum(row) - 1) <= Fraction(1, 10**9) for row in rows), "a row must sum to 1")
    return [[p / sum(row) for p in row] for row in rows]


def _statistic(found):
    keys(found["params"], {"matrix", "secrets"})
    demand(found["mechanism"] is None, "the answer is a selection")
    W = given_mechanism(found["params"]["matrix"])
    if W is None:
        yield "open", None
        return
    places = groups(found["params"]["secrets"], len(W))
    keys(found.get("answer"), {"selection"})
    chosen = found["answer"]["selection"]
    demand(isinstance(chosen, list) and chosen, "no selection")
    chosen = [whole(i, 0, len(W) - 1) for i in chosen]
    fits = len(chosen) == len(places)
    yield "member", fits and all(i in rows for i, rows in zip(chosen, places, strict=True))
    yield "value", surely(Fraction(found["value"]), log(covered([W[i] for i in chosen])))
    proof = found["certificate"]["proof"]
    parts = [[W[i] for i in rows] for rows in places]
    if proof is None and found["bound"] is None:
        return
    most = proven(proof, parts, len(W[0]))
    if found["bound"] is not None:
        bound = Fraction(found["bound"])
        yield "bound", surely(log(most), bound)
        true = most_covered(parts)
        yield "listed", True if true is None else most >= true and surely(log(true), bound)


# ---------------------------------------------------------------- leakage-design


def histograms(tau, d):
    """All counts of tau records over d categories, in lexicographic order."""
    if d == 1:
        return [[tau]]
    return [[first, *rest] for first in range(tau + 1) for rest in histograms(tau - first, d - 1)]


def _design(found):
    params, proof = found["params"], found["certificate"]["proof"]
    space, costs, secrets = _asked(params)
    budget = number(params["leakage"], 0, 30)
    places = groups(secrets, len(costs))
    W = matrix(found, len(costs))
    demand(len(W[0]) == len(costs[0]), "another number of outputs")
    demand(proof is not None, "no proof of privacy")
    keys(proof, {"privacy"}, {"prior", "cuts", "ratios"})
    for side in ("inputs", "outputs"):
        if space is not None and found["mechanism"].get(side) is not None:
            yield side, text(found["mechanism"][side]) == text(space)
    stochastic = all(sum(row) == 1 for row in W)
    yield "stochastic", stochastic
    parts = [[W[i] for i in rows] for rows in places]
    most = proven(proof["privacy"], parts, len(costs[0]))
    true = most_covered(parts)
    yield "private", stochastic and surely(log(most), budget)
    if stochastic and true is not None:
        yield "listed", most >= true and surely(log(true), budget)
    worst = max(sum(c * w for c, w in zip(*pair, strict=True)) for pair in zip(costs, W, strict=True))
    yield "value", worst <= Fraction(found["value"])
    level = None
    if "epsilon" in params:
        level = iv.exp(interval(number(params["epsilon"], 1e-6, 30)))
        for y in range(len(costs[0])):
            column = [row[y] for row in W]
            yield "level", surely(max(column), level * interval(min(column)))
    ratios = _read_ratios(proof, costs, level)
    prior, cuts = _read_bound(proof, len(costs[0]))
    if found["bound"] is not None:
        demand(prior is not None and cuts is not None, "no proof of the bound")
        demand(len(prior) == len(costs) and sum(prior) <= 1, "the prior is not below 1")
        E = iv.exp(interval(budget))
        yield (
            "bound",
            surely(Fraction(found["bound"]), least_cost(prior, cuts, places, costs, E, ratios)),
        )


def _read_ratios(proof, costs, level):
    """The ratios of a level, whose negative parts outweigh the positive ones e^ε times."""
    if not proof.get("ratios"):
        return [[Fraction(0)] * len(costs[0]) for _ in costs]
    rows = [numbers(row) for row in proof["ratios"]]
    demand(level is not None and len(rows) == len(costs), "ratios without a level or of another size")
    demand(all(len(row) == len(costs[0]) for row in rows), "ratios of another size")
    for column in zip(*rows, strict=True):
        above, below = sum(r for r in column if r > 0), -sum(r for r in column if r < 0)
        demand(surely(level * interval(above), below), "ratios beyond the level")
    return rows


def _asked(params):
    """The histograms (None for costs of one's own), the costs and the secrets."""
    if "costs" in params:
        keys(params, {"costs", "secrets", "leakage"}, {"scale", "epsilon"})
        scale = whole(params.get("scale", 1), 1, 10**9)
        rows = [[Fraction(whole(c, 0, 10**9), scale) for c in row] for row in params["costs"]]
        demand(rows and rows[0] and len({len(row) for row in rows}) == 1, "not a matrix of costs")
        return None, rows, params["secrets"]
    keys(params, {"tau", "d", "leakage"}, {"secrets", "epsilon"})
    tau, d = whole(params["tau"], 1, 999), whole(params["d"], 2, 1000)
    demand(math.comb(tau + d - 1, d - 1) <= 1000, "too many histograms")
    space = histograms(tau, d)
    costs = [[Fraction(distance(a, b), 2 * tau) for b in space] for a in space]
    return space, costs, params.get("secrets", [histogram[0] for histogram in space])


def distance(a, b):
    return sum(abs(p - q) for p, q in zip(a, b, strict=True))


def _read_bound(proof, size):
    prior, cuts = proof.get("prior"), proof.get("cuts")
    if "prior" in proof:
        prior = numbers(prior, least=0)
        demand(max(prior) <= 1, "a prior above 1")
    if "cuts" in proof:
        demand(isinstance(cuts, list), "no cuts")
        for cut in cuts:
            keys(cut, {"weight", "selection", "outputs"})
            number(cut["weight"], 0)
            for name in ("selection", "outputs"):
                demand(isinstance(cut[name], list) and cut[name], "no cut")
                for i in cut[name]:
                    whole(i, 0, 10**7 - 1)
    return prior, cuts


def least_cost(prior, cuts, places, costs, E, ratios):
    """Enclose what the dual says a private mechanism costs at least."""
    prices = [
        [p * c + r for c, r in zip(row, more, strict=True)]
        for p, row, more in zip(prior, costs, ratios, strict=True)
    ]
    paid = Fraction(0)
    for cut in cuts:
        chosen, takers, weight = cut["selection"], cut["outputs"], Fraction(cut["weight"])
        if len(chosen) != len(places) or len(takers) != len(costs[0]) or max(takers) >= len(places):
            raise UnreadableError("a cut of another size")
        demand(all(i in rows for i, rows in zip(chosen, places, strict=True)), "a cut of other rows")
        for y, g in enumerate(takers):
            prices[chosen[g]][y] += weight
        paid += weight
    return interval(sum(map(min, prices))) - E * interval(paid)


def listed_optimum(tau, d, budget, places):
    """The least worst cost by a linear program over all selections, in floats."""
    space = histograms(tau, d)
    k = len(space)
    selections = list(itertools.product(*places))
    size = k * k + len(selections) * k + 1
    rows, right = [], []
    for i, selection in enumerate(selections):
        for y in range(k):
            for theta in selection:
                row = np.zeros(size)
                row[theta * k + y], row[k * k + i * k + y] = 1, -1
                rows.append(row)
                right.append(0.0)
        row = np.zeros(size)
        row[k * k + i * k : k * k + (i + 1) * k] = 1
        rows.append(row)
        right.append(math.exp(budget))
    for theta, a in enumerate(space):
        row = np.zeros(size)
        row[theta * k : (theta + 1) * k] = [distance(a, b) / (2 * tau) for b in space]
        row[-1] = -1
        rows.append(row)
        right.append(0.0)
    sums = np.zeros((k, size))
    for theta in range(k):
        sums[theta, theta * k : (theta + 1) * k] = 1
    goal = np.zeros(size)
    goal[-1] = 1
    return linprog(goal, np.array(rows), right, sums, np.ones(k), bounds=(0, None)).fun
