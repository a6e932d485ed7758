"""The checker's section for statistical anonymity: composition bounds and the release of features.

Like the rest of the checker it needs the standard library alone, and takes every statement from the
problem's parameters (Bravo-Hermsdorff et al. 2022, corrected).
"""

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from .frame import (
    FORMS,
    KINDS,
    MAX_NODES,
    Claim,
    UnreadableError,
    agreement,
    read_number,
    read_numbers,
)

# ---------------------------------------------------------------- from parameters to statements


def _composition_bound(params: dict[str, Any]) -> dict[str, Any]:
    names = ("marginals", "threshold")
    method = params.get("method", "best")
    return {"form": "composition-bound", **{name: params[name] for name in names}, "method": method}


def _feature_release(params: dict[str, Any]) -> dict[str, Any]:
    given = {name: params.get(name) for name in ("marginals", "table")}
    names = ("threshold", "budget", "weights")
    plain = {"form": "feature-release", **given, **{name: params[name] for name in names}}
    plain |= {"users": params.get("users"), "delta": params.get("delta", 0.05)}
    return {**_redacted(plain, params.get("redact")), "method": "theorem-3"}


def _redacted(plain: dict[str, Any], at: float | None) -> dict[str, Any]:
    """The question about features whose rare values are merged into one, "redacted"."""
    if at is None:
        return plain
    table, weights, marginals = plain["table"], [], []
    columns = list(zip(*table, strict=True)) if table is not None else plain["marginals"]
    for j, column in enumerate(columns):
        counts = Counter(column) if table is not None else dict(enumerate(column))
        total = sum(counts.values())
        shares = {v: n / total if table is not None else n for v, n in counts.items()}
        hidden = _rarest(shares, at)
        mass = math.fsum(shares[v] for v in hidden)
        weights.append(plain["weights"][j] * (1 - mass))
        marginals.append([p for v, p in shares.items() if v not in hidden] + [mass] * bool(hidden))
        if table is not None:
            columns[j] = [-1 if v in hidden else v for v in column]
    rows = None if table is None else [list(row) for row in zip(*columns, strict=True)]
    return {**plain, "marginals": marginals, "table": rows, "weights": weights}


def _rarest(shares: dict[Any, float], at: float) -> set[Any]:
    """All values below ``at`` and, if there are any, the next rarest until they reach it together."""
    hidden: set[Any] = set()
    mass = 0.0
    order = sorted(shares, key=lambda v: (shares[v], v))
    for v in order if order and shares[order[0]] < at else []:
        if shares[v] >= at and mass >= at:
            break
        hidden.add(v)
        mass += shares[v]
    return hidden


# ---------------------------------------------------------------- bounds on the joint exposure

COMPOSITION_TOLERANCE = 1e-9
COMPOSITION_METHODS = ("theorem-2", "theorem-3", "worst-joint", "best")
SMALL, BIG = "small", "big"


class Marginals(NamedTuple):
    """What is the exposure at the threshold of a joint distribution with these marginals?"""

    marginals: list[list[float]]
    threshold: float
    method: str


def read_marginals(plain: dict[str, Any]) -> Marginals:
    """The statement of a composition bound, every part of it checked."""
    marginals = [read_numbers(p, "a marginal") for p in plain["marginals"]]
    threshold = read_number(plain["threshold"], "threshold")
    if any(not p or min(p) < 0 or abs(math.fsum(p) - 1) > 1e-9 for p in marginals) or not marginals:
        raise UnreadableError("a marginal is negative or does not sum to 1")
    if not 0 < threshold <= 1:
        raise UnreadableError(f"the threshold {threshold} is not in (0, 1]")
    if plain["method"] not in COMPOSITION_METHODS:
        raise UnreadableError(f"the method {plain['method']!r} is unknown")
    return Marginals([[x for x in p if x] for p in marginals], threshold, plain["method"])


def rule_proves(question: Marginals, rule: str, answer: dict[str, Any]) -> float:
    """The bound that a composition rule proves with the thresholds of the answer."""
    thresholds = read_numbers(answer["thresholds"], "the thresholds")
    if len(thresholds) != len(question.marginals) or not all(0 < t <= 1 for t in thresholds):
        raise UnreadableError("there is not one threshold in (0, 1] per marginal")
    pairs = list(zip(question.marginals, thresholds, strict=True))
    below = [math.fsum(x for x in p if x < t) for p, t in pairs]
    if rule == "theorem-3":
        return math.fsum([*below, question.threshold / math.prod(thresholds)])
    if rule == "theorem-3-tight":
        cells = math.prod(sum(x >= t for x in p) for p, t in pairs)
        return math.fsum([*below, question.threshold * cells])
    pivot: int = answer["pivot"]
    if pivot not in range(len(pairs)):
        raise UnreadableError(f"the pivot {pivot!r} is none of the marginals")
    if math.prod(thresholds) < question.threshold * (1 - 1e-12):
        return math.inf
    others = [(q, *pair) for j, (q, pair) in enumerate(zip(below, pairs, strict=True)) if j != pivot]
    if rule == "theorem-2":
        return below[pivot] + math.fsum(q + t * len(p) for q, p, t in others)
    if rule == "theorem-2-tight":
        tops = ([x if t == 1 else min(x, t * (1 - x) / (1 - t)) for x in p] for _, p, t in others)
        return below[pivot] + math.fsum(x for top in tops for x in top)
    raise UnreadableError(f"the checker does not know the rule {rule!r}")


def no_thresholds_below(question: Marginals, rule: str, least: float) -> bool:
    """No thresholds make a rule prove less: every combination of break-points is tried.

    Between two break-points Q_j is constant. A combination is given up as soon as its exposures and
    the least slack that they allow reach ``least``; the trivial bound 1 is always there.
    """
    if least > 1 + COMPOSITION_TOLERANCE:
        return False
    options = []
    for p in question.marginals:
        points = sorted({*p, 1.0})
        options.append([(t, math.fsum(x for x in p if x < t)) for t in points])
    pivots: Sequence[int | None] = range(len(options)) if rule == "theorem-2" else [None]
    for pivot in pivots:
        pending: list[tuple[list[float], float]] = [([], 0.0)]
        for _ in range(MAX_NODES):
            if not pending:
                break
            caps, exposed = pending.pop()
            full = caps + [1.0] * (len(options) - len(caps))
            if exposed + _least_slack(question, rule, full, pivot) >= least - COMPOSITION_TOLERANCE:
                continue
            if len(caps) == len(options):
                return False
            pending += [([*caps, cap], exposed + q) for cap, q in options[len(caps)]]
        if pending:
            return False
    return True


def _least_slack(question: Marginals, rule: str, caps: list[float], pivot: int | None) -> float:
    """The least t/Π t_j, t Π N_j(t_j), or Σ_{j≠j*} t_j |V_j| with Π t_j ≥ t, for t_j ≤ cap_j."""
    if rule == "theorem-3-tight":
        pairs = zip(question.marginals, caps, strict=True)
        # a marginal without values ≥ t_j is exposed as a whole: there the slack does not matter
        return question.threshold * math.prod(max(1, sum(x >= t for x in p)) for p, t in pairs)
    if pivot is None:
        return float(question.threshold / math.prod(caps))
    if math.prod(caps) < question.threshold * (1 - 1e-12):
        return math.inf
    others = [(cap, len(p)) for cap, p in zip(caps, question.marginals, strict=True)]
    del others[pivot]
    product = question.threshold / caps[pivot]
    low, high = 0.0, max((cap * size for cap, size in others), default=0.0)
    for _ in range(60):
        level = (low + high) / 2
        enough = math.prod(min(level / size, cap) for cap, size in others) >= product
        low, high = (low, level) if enough else (level, high)
    return math.fsum(min(low, cap * size) for cap, size in others)


def joint_exposure(question: Marginals, joint: dict[str, Any]) -> float:
    """The mass of the rare cells; -1 if the marginals are not met.

    "worst-joint" counts cells up to the threshold, "best" those strictly below it, as Definition 1 does.
    """
    cells, masses = joint["cells"], read_numbers(joint["masses"], "the masses")
    if len({tuple(v) for v in cells}) != len(cells) or len(cells) != len(masses):
        raise UnreadableError("the joint does not have one mass per cell")
    for j, p in enumerate(question.marginals):
        sums: list[list[float]] = [[] for _ in p]
        for v, x in zip(cells, masses, strict=True):
            if len(v) != len(question.marginals) or v[j] not in range(len(p)):
                raise UnreadableError(f"{v} is no cell of the joint")
            sums[v[j]].append(x)
        if any(abs(math.fsum(s) - x) > COMPOSITION_TOLERANCE for s, x in zip(sums, p, strict=True)):
            return -1.0
    t = question.threshold
    rare = [x for x in masses if x < t or (x == t and question.method == "worst-joint")]
    return -1.0 if min(masses) < 0 else math.fsum(rare)


def tree_bound(question: Marginals, proof: dict[str, Any]) -> float:
    """The largest exposure that the leaves of the proof leave possible.

    An inner node splits on whether a cell carries at most the threshold (small) or at least it (big).
    A leaf has a number λ per marginal value, and prizes μ ≥ 0 for cuts that every joint satisfies:
    Σ λ·p − Σ μ + Σ_v (the most that cell v can add) bounds the exposure by Lagrangian duality.
    """
    cells = list(itertools.product(*(range(len(p)) for p in question.marginals)))
    cuts = [_cover(question, cells, read_numbers(c, "a cut")) for c in proof["cuts"]]
    nodes = iter(proof["tree"])
    pending: list[dict[tuple[int, ...], str]] = [{}]
    worst = -math.inf
    while pending:
        fixed, node = pending.pop(), next(nodes, None)
        if node is None:
            raise UnreadableError("the proof tree is incomplete")
        if "split" in node:
            cell = tuple(node["split"])
            pending += [{**fixed, cell: BIG}, {**fixed, cell: SMALL}]
        else:
            worst = max(worst, _leaf_bound(question, cells, cuts, node, fixed))
    return worst


def _flat(question: Marginals, numbers: list[float]) -> list[list[float]]:
    """One number per marginal value, arranged as the marginals are."""
    if len(numbers) != sum(map(len, question.marginals)):
        raise UnreadableError("there is not one number per marginal value")
    rest = iter(numbers)
    return [[next(rest) for _ in p] for p in question.marginals]


Cells = list[tuple[int, ...]]


def _cover(question: Marginals, cells: Cells, numbers: list[float]) -> list[float] | None:
    """Coefficients α ≥ 0 with Σ_{v big} α_v ≥ 1, if small cells alone cannot meet Σ c·p."""
    c, t = _flat(question, numbers), question.threshold
    w = [max(0.0, math.fsum(c[j][a] for j, a in enumerate(v))) for v in cells]
    most = [_capacity(question, v) for v in cells]
    asked = math.fsum(a * x for a, x in zip(numbers, itertools.chain(*question.marginals), strict=True))
    rho = asked - math.fsum(wv * min(t, u) for wv, u in zip(w, most, strict=True))
    if rho <= 1e-10:
        return None
    return [min(1.0, wv * max(u - t, 0.0) / rho) for wv, u in zip(w, most, strict=True)]


def _capacity(question: Marginals, cell: Sequence[int]) -> float:
    return min(p[a] for p, a in zip(question.marginals, cell, strict=True))


def _leaf_bound(
    question: Marginals,
    cells: Cells,
    cuts: list[list[float] | None],
    leaf: dict[str, Any],
    fixed: dict[tuple[int, ...], str],
) -> float:
    dual, t = _flat(question, read_numbers(leaf["dual"], "the dual of a leaf")), question.threshold
    if any(k not in range(len(cuts)) or weight < 0 for k, weight in leaf["cuts"]):
        raise UnreadableError("a prize of the proof is negative or for no cut")
    prizes: list[tuple[list[float], float]] = []
    for k, weight in leaf["cuts"]:
        cut = cuts[k]
        if cut is None:
            return math.inf
        prizes.append((cut, read_number(weight, "a prize")))
    rows = zip(dual, question.marginals, strict=True)
    terms = [a * x for row, p in rows for a, x in zip(row, p, strict=True)]
    terms += [-weight for _, weight in prizes]
    for i, v in enumerate(cells):
        price, most = math.fsum(dual[j][a] for j, a in enumerate(v)), _capacity(question, v)
        small = max(0.0, (1 - price) * min(t, most))
        big = max(-price * t, -price * most) + math.fsum(w * cut[i] for cut, w in prizes)
        ways = {SMALL: small, BIG: big} if most > t else {SMALL: small}
        terms.append(ways.get(fixed[v], -math.inf) if v in fixed else max(ways.values()))
    return math.fsum(terms)


def composition_claims(document: dict[str, Any], plain: dict[str, Any]) -> Iterator[Claim]:
    """The claims of a result about a composition bound."""
    question, status = read_marginals(plain), document["status"]
    if status not in ("optimal", "gap", "feasible"):
        raise UnreadableError(f"a result of status {status!r} makes no claim")
    value, t = read_number(document["value"], "value"), question.threshold
    answer, proof = document["answer"], document["certificate"]["proof"]
    if not isinstance(answer, dict) or not isinstance(proof, dict):
        raise UnreadableError("the file has no answer or no proof")
    lower: Any
    low: float | None
    high: float | None
    bound = None if status == "feasible" else read_number(document["bound"], "bound")
    strength = f"numeric {COMPOSITION_TOLERANCE:g}"
    if question.method == "worst-joint":
        lower, upper, low, high = answer, proof, value, bound
    else:
        lower, upper, low, high = proof.get("joint"), answer, bound, value
    if high is not None:
        proven = _upper_bound(question, upper) <= high + COMPOSITION_TOLERANCE
        sentence = f"no joint with these marginals has an exposure above {high!r} at {t:g}"
        yield Claim(sentence, strength, proven)
    if question.method in ("theorem-2", "theorem-3"):
        if low is not None:
            least = no_thresholds_below(question, question.method, low)
            yield Claim(f"no thresholds make {question.method} prove less than {low!r}", strength, least)
    elif low is not None:
        reached = joint_exposure(question, lower) >= low - COMPOSITION_TOLERANCE
        yield Claim(f"a joint with these marginals has exposure {low!r} at {t:g}", strength, reached)
    if status == "optimal" and bound is not None:
        yield agreement(document, value, bound)


def _upper_bound(question: Marginals, proof: dict[str, Any]) -> float:
    names = {"worst-joint": "dual", "best": str(proof.get("rule"))}
    rule = names.get(question.method, question.method)
    found = tree_bound(question, proof) if rule == "dual" else rule_proves(question, rule, proof)
    return min(1.0, found)


# ---------------------------------------------------------------- which features to release


def release_claims(document: dict[str, Any], plain: dict[str, Any]) -> Iterator[Claim]:
    """The claims of a result about releasing features."""
    status, answer, proof = document["status"], document["answer"], document["certificate"]["proof"]
    if status not in ("optimal", "feasible") or not isinstance(answer, dict):
        raise UnreadableError(f"a result of status {status!r} makes no claim about features")
    weights = read_numbers(plain["weights"], "the weights")
    budget, t = read_number(plain["budget"], "budget"), read_number(plain["threshold"], "threshold")
    chosen = _features(answer["features"], len(weights))
    value = read_number(document["value"], "value")
    heavy = abs(math.fsum(weights[j] for j in chosen) - value) <= COMPOSITION_TOLERANCE
    strength = f"numeric {COMPOSITION_TOLERANCE:g}"
    yield Claim(f"the released features weigh {value!r}", strength, heavy)
    safe = not chosen or _released_exposure(plain, chosen, answer) <= budget + COMPOSITION_TOLERANCE
    yield Claim(f"at most {budget:g} of the {_whom(plain)} are exposed at {t:g}", strength, safe)
    if status == "optimal":
        bound = read_number(document["bound"], "bound")
        conflicts = [_features(c, len(weights)) for c in proof["conflicts"]]
        real = all(_too_exposed(plain, conflict, budget) for conflict in conflicts)
        covered = real and _every_heavier_set_has_a_conflict(weights, conflicts, bound)
        yield Claim(f"no safe set of features weighs more than {bound!r}", strength, covered)
        close = abs(bound - value) <= COMPOSITION_TOLERANCE * max(1.0, abs(bound))
        yield Claim("value and bound agree", strength, close)


def _features(numbers: Any, count: int) -> list[int]:
    if not isinstance(numbers, list) or any(j not in range(count) for j in numbers):
        raise UnreadableError(f"{numbers!r} is no list of features")
    return sorted(set(numbers))


def _subquestion(plain: dict[str, Any], features: list[int]) -> Marginals:
    return read_marginals({**plain, "marginals": [plain["marginals"][j] for j in features]})


def _released_exposure(plain: dict[str, Any], features: list[int], answer: dict[str, Any]) -> float:
    if plain["table"] is not None:
        return _table_exposure(plain, features)
    return min(1.0, rule_proves(_subquestion(plain, features), str(answer["rule"]), answer))


def _whom(plain: dict[str, Any]) -> str:
    if plain["users"] is None:
        return "users"
    return f"{plain['users']} future users (with confidence {1 - plain['delta']:g})"


def _table_exposure(plain: dict[str, Any], features: list[int]) -> float:
    if plain["users"] is not None:
        return _future_exposure(plain, features)
    rows = Counter(tuple(row[j] for j in features) for row in plain["table"])
    users = sum(rows.values())
    return sum(n for n in rows.values() if n / users < plain["threshold"]) / users


def _future_exposure(plain: dict[str, Any], features: list[int]) -> float:
    """An upper bound on the statistical exposure: Σ max x F(k−2; n−1, x) over |x − p̂| ≤ γ.

    With probability 1 − δ no frequency of any value of any set of features is off by more than γ
    (Hoeffding); every combination of values that occur may occur.
    """
    n, delta = plain["users"], read_number(plain["delta"], "delta")
    if not isinstance(n, int) or not 1 <= n <= MAX_NODES or not 0 < delta < 1:
        raise UnreadableError(f"{n!r} users with delta {delta} are no question")
    near = math.ceil(plain["threshold"] * n)
    k = next(k for k in range(max(near - 1, 0), near + 2) if k / n >= plain["threshold"])
    rows = Counter(tuple(row[j] for j in features) for row in plain["table"])
    sizes = [len(set(column)) for column in zip(*plain["table"], strict=True)]
    cells = math.prod(size + 1 for size in sizes) - 1
    gamma = min(1.0, math.sqrt(math.log(2 * cells / delta) / (2 * len(plain["table"]))))
    peak = _exposure_peak(n, k)
    unseen = math.prod(sizes[j] for j in features) - len(rows)
    total = unseen * _exposure_term(n, k, min(peak, gamma))
    for count, times in Counter(rows.values()).items():
        p = count / len(plain["table"])
        total += times * _exposure_term(n, k, min(max(peak, p - gamma), p + gamma, 1.0))
    return min(1.0, total)


def _binomial_masses(n: int, most: int, x: float) -> list[float]:
    """P(0), …, P(most) of n trials that succeed with probability 0 < x < 1."""
    whole, yes, no = math.lgamma(n + 1), math.log(x), math.log1p(-x)
    logs = (
        whole - math.lgamma(j + 1) - math.lgamma(n - j + 1) + j * yes + (n - j) * no
        for j in range(most + 1)
    )
    return [math.exp(log) for log in logs]


def _exposure_term(n: int, k: int, x: float) -> float:
    """x F(k−2; n−1, x): how much a value of probability x adds to the statistical exposure."""
    if k <= 1:
        return 0.0
    if k > n or x in (0.0, 1.0):
        return x if k > n else 0.0
    return x * math.fsum(_binomial_masses(n - 1, k - 2, x))


@functools.cache
def _exposure_peak(n: int, k: int) -> float:
    """Where this is largest: F(k−2; n−1, x) = (k−1) b(k−1; n−1, x), by bisection."""
    if not 1 < k <= n:
        return 1.0
    low, high = 0.0, (k - 1) / (n - 1)
    for _ in range(60):
        middle = (low + high) / 2
        *fewer, last = _binomial_masses(n - 1, k - 1, middle)
        low, high = (middle, high) if math.fsum(fewer) > (k - 1) * last else (low, middle)
    return low


def _too_exposed(plain: dict[str, Any], features: list[int], budget: float) -> bool:
    """The features cannot be released: too exposed, or no rule proves that they are not."""
    if plain["table"] is not None:
        return _table_exposure(plain, features) > budget
    question = _subquestion(plain, features)
    return all(no_thresholds_below(question, rule, budget) for rule in RELEASE_RULES)


RELEASE_RULES = ("theorem-2", "theorem-3", "theorem-3-tight")


def _every_heavier_set_has_a_conflict(
    weights: list[float], conflicts: list[list[int]], bound: float
) -> bool:
    """A larger set is never less exposed, so a set that contains a conflict is not safe either."""
    order = sorted(range(len(weights)), key=lambda j: -weights[j])
    pending: list[tuple[frozenset[int], int]] = [(frozenset(), 0)]
    for _ in range(MAX_NODES):
        if not pending:
            return True
        chosen, depth = pending.pop()
        most = math.fsum(weights[j] for j in [*chosen, *order[depth:]])
        if most <= bound + COMPOSITION_TOLERANCE or any(chosen.issuperset(c) for c in conflicts):
            continue
        if depth == len(order):
            return False
        pending += [(chosen, depth + 1), (chosen | {order[depth]}, depth + 1)]
    return False


KINDS |= {"composition-bound": _composition_bound, "feature-release": _feature_release}
FORMS |= {"composition-bound": composition_claims, "feature-release": release_claims}
