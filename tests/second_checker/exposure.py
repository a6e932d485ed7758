"""``composition-bound``: cells and break-points are listed."""

import itertools
import math
from fractions import Fraction

from second_checker.reading import demand, keys, number, whole, word

MOST_CELLS, MOST_CHOICES = 500, 20_000
METHODS = ("theorem-2", "theorem-3", "worst-joint", "best")
RULES = ("theorem-2", "theorem-3", "theorem-2-tight", "theorem-3-tight")


def printed(value, least=-math.inf, most=math.inf):
    """The decimal that is printed for a number of the file."""
    number(value, least, most)
    return Fraction(repr(float(value)))


def threshold(value):
    t = printed(value, 0, 1)
    demand(t > 0, "a threshold must be above 0")
    return t


def marginal(value):
    """The positive probabilities, divided by their exact sum."""
    demand(isinstance(value, list) and 1 <= len(value) <= 10_000, "no marginal")
    entries = [printed(x, 0, 1 + 1e-9) for x in value]
    demand(abs(sum(entries) - 1) <= Fraction(1, 10**9), "a marginal must sum to 1")
    return [x / sum(entries) for x in entries if x]


def maximise(found):
    return found["params"].get("method") == "worst-joint"


def claims(found):
    """The claims of the kind, each with its answer."""
    params, proof = found["params"], found["certificate"]["proof"]
    keys(params, {"marginals", "threshold"}, {"method"})
    method, t = word(params.get("method", "best"), METHODS), threshold(params["threshold"])
    demand(isinstance(params["marginals"], list) and 1 <= len(params["marginals"]) <= 64, "no marginals")
    marginals = [marginal(p) for p in params["marginals"]]
    answer, value = found.get("answer"), Fraction(repr(float(found["value"])))
    demand(isinstance(answer, dict), "no answer")
    bound = None if found["bound"] is None else Fraction(repr(float(found["bound"])))
    demand(bound is None or isinstance(proof, dict), "no proof")
    if method == "worst-joint":
        mass = exposure(marginals, t, answer, strict=False)
        yield "value", mass is not None and mass >= value
        if bound is not None:
            yield "bound", at_most(tree(marginals, t, proof), bound)
        return
    dual = method == "best" and answer.get("rule") == "dual"
    if dual:
        rest = {name: part for name, part in answer.items() if name != "rule"}
        yield "value", at_most(tree(marginals, t, rest), value)
    else:
        yield "value", rule_value(marginals, t, method, answer) <= value
    if bound is not None and method == "best":
        keys(proof, {"joint"})
        mass = exposure(marginals, t, proof["joint"], strict=True)
        yield "bound", mass is not None and mass >= bound
    elif bound is not None:
        keys(proof, set())
        yield "bound", no_thresholds_below(marginals, t, method, bound)


def at_most(proven, number):
    return None if proven is None else proven <= number


def rule_value(marginals, t, method, answer):
    """What the rule of the answer proves."""
    keys(answer, {"thresholds", "pivot"} | ({"rule"} if method == "best" else set()))
    rule = word(answer.get("rule", method), RULES)
    demand(
        isinstance(answer["thresholds"], list) and len(answer["thresholds"]) == len(marginals), "size"
    )
    chosen, pivot = [threshold(s) for s in answer["thresholds"]], answer["pivot"]
    if pivot is not None:
        whole(pivot, 0, len(marginals) - 1)
    low = [sum(x for x in p if x < s) for p, s in zip(marginals, chosen, strict=True)]
    if rule == "theorem-3":
        return min(1, sum(low) + t / math.prod(chosen))
    if rule == "theorem-3-tight":
        return min(
            1, sum(low) + t * math.prod(count_from(p, s) for p, s in zip(marginals, chosen, strict=True))
        )
    if pivot is None or math.prod(chosen) < t:
        return 1
    others = [j for j in range(len(marginals)) if j != pivot]
    if rule == "theorem-2":
        return min(1, sum(low) + sum(chosen[j] * len(marginals[j]) for j in others))
    capped = [
        x if chosen[j] == 1 else min(x, chosen[j] * (1 - x) / (1 - chosen[j]))
        for j in others
        for x in marginals[j]
    ]
    return min(1, low[pivot] + sum(capped))


def count_from(p, s):
    return sum(x >= s for x in p)


def no_thresholds_below(marginals, t, rule, bound):
    """Whether no thresholds make the rule prove less: all break-points are listed."""
    if bound > 1:
        return False
    if rule == "theorem-2":
        found = theorem_2_proves(marginals, t, bound, strictly=True)
        return None if found is None else not found
    choices = [sorted({*p, Fraction(1)}) for p in marginals]
    if math.prod(map(len, choices)) > MOST_CHOICES:
        return None
    least = min(
        sum(x for p, s in zip(marginals, chosen, strict=True) for x in p if x < s)
        + t / math.prod(chosen)
        for chosen in itertools.product(*choices)
    )
    return least >= bound


def caps(p):
    """What a threshold may be at most for its Q to be this, for every Q of a marginal."""
    return [(sum(x for x in p if x < cap), cap) for cap in sorted({*p, Fraction(1)})]


def theorem_2_proves(marginals, t, level, *, strictly=False):
    """Whether some thresholds make Theorem 2 prove the level, or strictly less; None if too many.

    Thresholds below their caps have the same t_j n_j = λ in the best choice. Every number of capped ones
    is tried, in the order of c_j n_j: each is a choice with Π t_j = t, and the best is among them.
    """
    listed = [[(Fraction(0), ())]]
    for p in marginals:
        listed.append(
            [
                (Q + low, (*chosen, c))
                for Q, chosen in listed[-1]
                for low, c in caps(p)
                if Q + low <= level
            ]
        )
        if len(listed[-1]) > MOST_CHOICES:
            return None
    for Q, chosen in listed[-1]:
        if math.prod(chosen) < t:
            continue
        for pivot, own in enumerate(chosen):
            others = [
                (c, len(p)) for j, (c, p) in enumerate(zip(chosen, marginals, strict=True)) if j != pivot
            ]
            if _within(sorted(others, key=lambda pair: pair[0] * pair[1]), t / own, level - Q, strictly):
                return True
    return False


def _within(others, product, room, strictly):
    """Whether some t_j ≤ c_j of this product cost Σ t_j n_j at most the room, or less."""
    for capped in range(len(others) + 1):
        fixed, free = others[:capped], others[capped:]
        rest = room - sum(c * n for c, n in fixed)
        if not free:
            return rest > 0 if strictly else rest >= 0
        power = product * math.prod(n for _, n in free) / math.prod(c for c, _ in fixed)  # of λ
        each, f = rest / len(free), len(free)
        if each < 0 or power > (free[0][0] * free[0][1]) ** f:
            continue
        if power < each**f or (power == each**f and not strictly):
            return True
    return False


def digits(value):
    demand(
        isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 4000,
        "no digits",
    )
    return int(value)


def cell(value, marginals):
    demand(isinstance(value, list) and len(value) == len(marginals), "no cell")
    return tuple(whole(a, 0, len(p) - 1) for a, p in zip(value, marginals, strict=True))


def exposure(marginals, t, joint, *, strict):
    """The mass of a joint's rare cells; None if it misses a marginal."""
    keys(joint, {"cells", "masses", "denominator"})
    cells, denominator = [cell(v, marginals) for v in joint["cells"]], digits(joint["denominator"])
    masses = [digits(m) for m in joint["masses"]]
    demand(len(set(cells)) == len(cells) == len(masses) and denominator > 0, "cells without masses")
    shares = {v: Fraction(m, denominator) for v, m in zip(cells, masses, strict=True)}
    for j, p in enumerate(marginals):
        if p != [sum(x for v, x in shares.items() if v[j] == a) for a in range(len(p))]:
            return None
    return sum(x for x in shares.values() if x < t or (x == t and not strict))


def down(value, *limits):
    """A number of a proof, rounded down to a multiple of 2^-96: as good a proof as the number itself."""
    return Fraction(math.floor(number(value, *limits) * 2**96), 2**96)


def tree(marginals, t, proof):
    """The largest bound of the leaves of a proof tree, at most 1; None if there are too many cells."""
    keys(proof, {"cuts", "tree"})
    size = sum(map(len, marginals))
    cells = (
        list(itertools.product(*[range(len(p)) for p in marginals]))
        if math.prod(map(len, marginals)) <= MOST_CELLS
        else None
    )
    if cells is None:
        return None
    starts = list(itertools.accumulate(map(len, marginals), initial=0))
    flat = [x for p in marginals for x in p]
    at = {v: [starts[j] + a for j, a in enumerate(v)] for v in cells}
    most = {v: min(flat[i] for i in at[v]) for v in cells}

    def vector(values):
        demand(isinstance(values, list) and len(values) == size, "a vector of another size")
        return [down(x) for x in values]

    def cover(values):
        c = vector(values)
        w = {v: max(Fraction(0), sum(c[i] for i in at[v])) for v in cells}
        rho = sum(a * x for a, x in zip(c, flat, strict=True)) - sum(
            w[v] * min(t, most[v]) for v in cells
        )
        if rho <= 0:
            return None
        rooms = {v: min(Fraction(1), w[v] * max(0, most[v] - t) / rho) for v in cells}
        return {v: Fraction(math.ceil(room * 2**96), 2**96) for v, room in rooms.items()}

    cuts = [cover(c) for c in proof["cuts"]]
    nodes = iter(proof["tree"])

    def walk(fixed):
        node = next(nodes, None)
        demand(isinstance(node, dict), "the tree is incomplete")
        if "split" in node:
            keys(node, {"split"})
            v = cell(node["split"], marginals)
            demand(v not in fixed, "a cell is split twice")
            return max(walk(fixed | {v: "small"}), walk(fixed | {v: "big"}))
        keys(node, {"dual", "cuts"})
        dual, prize, paid, trivial = (
            vector(node["dual"]),
            dict.fromkeys(cells, Fraction(0)),
            Fraction(0),
            False,
        )
        for pair in node["cuts"]:
            demand(isinstance(pair, list) and len(pair) == 2, "no cut")
            k, mu = whole(pair[0], 0, len(cuts) - 1), down(pair[1], 0)
            paid, trivial = paid + mu, trivial or cuts[k] is None
            for v in cells:
                prize[v] += mu * cuts[k][v] if cuts[k] else 0
        if any(said == "big" and most[v] <= t for v, said in fixed.items()):
            return Fraction(0)  # no joint is here
        if trivial:
            return Fraction(1)
        found = sum(a * x for a, x in zip(dual, flat, strict=True)) - paid
        for v in cells:
            price = sum(dual[i] for i in at[v])
            best = {"small": max(0, (1 - price) * min(t, most[v]))}
            if most[v] > t:
                best["big"] = max(-price * t, -price * most[v]) + prize[v]
            found += best[fixed[v]] if v in fixed else max(best.values())
        return found

    worst = max(Fraction(0), walk({}))
    demand(next(nodes, None) is None, "nodes follow after the last leaf")
    return min(worst, Fraction(1))
