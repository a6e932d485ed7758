"""The checker: reads a result file and decides its claims. Standard library only.

It imports nothing else of ldpopt, runs no optimisation, and takes the *statement* (which privacy, which
utility, which class of mechanisms) from the problem's parameters; the file's proof only supplies numbers
that make the statement easy to verify. Run it alone with ``python checker.py RESULT.json``, or as
``ldpopt verify RESULT.json``: exit code 0 verified, 1 refuted, 2 unreadable.

Arithmetic. Stored floats are dyadic rationals, so sums and ratios are decided exactly with `Fraction`.
Logarithms and e^ε are `Decimal`s of 60 digits, correctly rounded by the standard library. All
quantities here are sums of fewer than 10^9 terms of size below 10^27 (ε ≤ 30), so their errors stay
below 10^-22; every comparison demands a margin of 10^-20.
"""

from __future__ import annotations

import itertools
import json
import math
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from typing import Any, NamedTuple

DIGITS = 60
MARGIN = Decimal("1e-20")
MAX_EPSILON = 30.0
MAX_NODES = 2_000_000


class UnreadableError(ValueError):
    """The file is no result file: claims cannot even be read from it."""


class Claim(NamedTuple):
    """One sentence of the file, how it was decided, and whether it holds."""

    statement: str
    strength: str
    holds: bool


# ---------------------------------------------------------------- reading


class ColumnStatement(NamedTuple):
    """Maximise Σ_y g(W[:, y]) over mechanisms with W[x,y] ≤ e^ε W[x',y] where secrets differ."""

    secrets: tuple[Any, ...]
    epsilon: float
    utility: str
    distributions: tuple[tuple[float, ...], ...]


UTILITIES = {"mutual-information": 1, "kl": 2, "total-variation": 2, "chi-squared": 2}
"""Each utility with the number of distributions that define it."""


def _staircase(params: dict[str, Any]) -> dict[str, Any]:
    pair = "hypotheses" in params
    rows = params["hypotheses"] if pair else [params["prior"]]
    utility = params["utility"] if pair else params.get("utility", "mutual-information")
    secrets = list(range(len(rows[0])))
    return _column_program(secrets, params["epsilon"], utility, rows)


def _secret_staircase(params: dict[str, Any]) -> dict[str, Any]:
    prior = params["prior"]
    secrets = [s for s, row in enumerate(prior) for _ in row]
    flat = [p for row in prior for p in row]
    return _column_program(secrets, params["epsilon"], "mutual-information", [flat])


def _column_program(secrets: Any, epsilon: Any, utility: Any, rows: Any) -> dict[str, Any]:
    return {
        "form": "column-program",
        "secrets": secrets,
        "epsilon": epsilon,
        "utility": utility,
        "distributions": rows,
    }


def _composition_bound(params: dict[str, Any]) -> dict[str, Any]:
    names = ("marginals", "threshold")
    method = params.get("method", "best")
    return {"form": "composition-bound", **{name: params[name] for name in names}, "method": method}


def _feature_release(params: dict[str, Any]) -> dict[str, Any]:
    given = {name: params.get(name) for name in ("marginals", "table")}
    names = ("threshold", "budget", "weights")
    plain = {"form": "feature-release", **given, **{name: params[name] for name in names}}
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


KINDS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "staircase": _staircase,
    "secret-staircase": _secret_staircase,
    "composition-bound": _composition_bound,
    "feature-release": _feature_release,
}
"""How the parameters of each kind become a statement."""


def statement(kind: str, params: dict[str, Any]) -> dict[str, Any]:
    """What a result of this kind with these parameters claims to answer, as plain data."""
    if kind not in KINDS:
        raise UnreadableError(f"the checker does not know the problem kind {kind!r}")
    try:
        return KINDS[kind](params)
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise UnreadableError(f"the parameters of {kind!r} are incomplete: {error!r}") from None


def read_column_statement(plain: dict[str, Any]) -> ColumnStatement:
    """The statement of a column program, every part of it checked."""
    rows = tuple(tuple(_number(p, "a probability") for p in row) for row in plain["distributions"])
    secrets = tuple(plain["secrets"])
    epsilon = _number(plain["epsilon"], "epsilon")
    utility = plain["utility"]
    if not 0 < epsilon <= MAX_EPSILON:
        raise UnreadableError(f"epsilon {epsilon} is not in (0, {MAX_EPSILON:g}]")
    if UTILITIES.get(utility) != len(rows) or any(len(row) != len(secrets) for row in rows):
        raise UnreadableError(f"the utility {utility!r} does not fit its distributions")
    if any(min(row) < 0 or abs(math.fsum(row) - 1) > 1e-9 for row in rows):
        raise UnreadableError("a distribution is negative or does not sum to 1")
    if len(set(secrets)) < 2:
        raise UnreadableError("fewer than two secrets")
    return ColumnStatement(secrets, epsilon, utility, rows)


def _number(value: Any, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise UnreadableError(f"{what} is {value!r}, not a finite number")
    return float(value)


def _numbers(values: Any, what: str) -> list[float]:
    if not isinstance(values, list):
        raise UnreadableError(f"{what} is not a list")
    return [_number(value, what) for value in values]


def _matrix(document: dict[str, Any], rows: int) -> list[list[float]]:
    mechanism = document.get("mechanism")
    if not isinstance(mechanism, dict) or not isinstance(mechanism.get("matrix"), list):
        raise UnreadableError("the file has no mechanism matrix")
    matrix = [_numbers(row, "a row of the mechanism") for row in mechanism["matrix"]]
    if len(matrix) != rows or not matrix[0] or any(len(row) != len(matrix[0]) for row in matrix):
        raise UnreadableError(f"the mechanism is no rectangular matrix of {rows} rows")
    return matrix


# ---------------------------------------------------------------- the mechanism


def is_stochastic(matrix: Sequence[Sequence[float]]) -> bool:
    """Every entry ≥ 0 and every row sums to exactly 1."""
    return all(min(row) >= 0 and sum(map(Fraction, row)) == 1 for row in matrix)


def exp_below(epsilon: float) -> Fraction:
    """A rational number just below e^ε."""
    with localcontext(Context(prec=DIGITS)):
        return Fraction(Decimal(epsilon).exp() * (1 - MARGIN))


def is_private(matrix: Sequence[Sequence[float]], secrets: Sequence[Any], epsilon: float) -> bool:
    """W[x,y] ≤ e^ε W[x',y] for every y and every x, x' with different secrets, exactly."""
    E = exp_below(epsilon)
    for column in zip(*matrix, strict=True):
        extremes: dict[Any, tuple[float, float]] = {}
        for s, entry in zip(secrets, column, strict=True):
            low, high = extremes.get(s, (entry, entry))
            extremes[s] = (min(low, entry), max(high, entry))
        lows = sorted((low, i) for i, (low, _) in enumerate(extremes.values()))
        for i, (_, high) in enumerate(extremes.values()):
            others = lows[0] if lows[0][1] != i else lows[1]
            if Fraction(high) > E * Fraction(others[0]):
                return False
    return True


def utility_below(matrix: Sequence[Sequence[float]], question: ColumnStatement) -> Decimal:
    """A number just below the utility Σ_y g(W[:, y]) of the mechanism."""
    with localcontext(Context(prec=DIGITS)):
        rows = [[Decimal(p) for p in row] for row in question.distributions]
        columns = ([Decimal(entry) for entry in column] for column in zip(*matrix, strict=True))
        return sum((_g(question.utility, rows, T) for T in columns), Decimal(0)) - MARGIN


def _g(utility: str, rows: list[list[Decimal]], T: list[Decimal]) -> Decimal:
    if utility == "mutual-information":
        weighted = [p * t for p, t in zip(rows[0], T, strict=True)]
        own = sum((w * t.ln() for w, t in zip(weighted, T, strict=True) if w), Decimal(0))
        return own - _xlogx(sum(weighted, Decimal(0)))
    q0, q1 = (sum((p * t for p, t in zip(row, T, strict=True)), Decimal(0)) for row in rows)
    if q1 == 0:
        return Decimal(0) if q0 == 0 else Decimal("Infinity")
    return q1 * _f(utility, q0 / q1)


def _xlogx(q: Decimal) -> Decimal:
    return q * q.ln() if q else Decimal(0)


def _f(utility: str, ratio: Decimal) -> Decimal:
    """The convex function with divergence Σ q1 f(q0/q1)."""
    if utility == "kl":
        return _xlogx(ratio)
    return (ratio - 1) ** 2 if utility == "chi-squared" else abs(ratio - 1) / 2


# ---------------------------------------------------------------- the bound


class Box(NamedTuple):
    """Vectors v with v_x ∈ {low_x, high_x}; the corners of all boxes generate the cone."""

    low: list[Decimal]
    high: list[Decimal]


def boxes(secrets: Sequence[Any], epsilon: float) -> Iterator[Box]:
    """The generators of {T ≥ 0 : T_x ≤ e^ε T_x' where secrets differ}; papers/001, (105) times e^ε."""
    E, one = Decimal(epsilon).exp(), Decimal(1)
    yield Box([one for _ in secrets], [E for _ in secrets])
    for secret, count in Counter(secrets).items():
        if count > 1:
            yield Box(
                [one if s == secret else E for s in secrets],
                [E * E if s == secret else E for s in secrets],
            )


def dominates(dual: Sequence[float], question: ColumnStatement) -> bool:
    """β·v ≥ g(v) for every v of the cone; then no mechanism is worth more than Σ_x β_x.

    For W private, Σ_y g(W[:, y]) ≤ Σ_y β·W[:, y] = Σ_x β_x. As g is sublinear, the generators suffice.
    """
    with localcontext(Context(prec=DIGITS)):
        beta = [Decimal(b) for b in dual]
        rows = [[Decimal(p) for p in row] for row in question.distributions]
        for box in boxes(question.secrets, question.epsilon):
            if question.utility == "mutual-information":
                holds = _information_dominated(beta, rows[0], box)
            else:
                holds = _divergence_dominated(beta, rows, question.utility, box)
            if not holds:
                return False
    return True


class Item(NamedTuple):
    """Choosing high, not low, in some of ``copies`` like entries: each adds gain and weight."""

    gain: Decimal
    weight: Decimal
    copies: int


def _information_dominated(beta: list[Decimal], prior: list[Decimal], box: Box) -> bool:
    """Σ P v log v − q log q − β·v ≤ 0 on all corners: branch on how many of each item are high.

    −q log q ≤ r − (1 + log r) q for every r > 0, and the right side splits over the entries. Any r
    gives a valid bound, so r is guessed in floats; a box whose bound is positive is split in two.
    """
    entries = list(zip(beta, prior, box.low, box.high, strict=True))
    gain = sum((p * _xlogx(lo) - b * lo for b, p, lo, _ in entries), Decimal(0))
    weight = sum((p * lo for _, p, lo, _ in entries), Decimal(0))
    counts = Counter(
        (p * (_xlogx(hi) - _xlogx(lo)) - b * (hi - lo), p * (hi - lo))
        for b, p, lo, hi in entries
        if lo < hi
    )
    items = [Item(a, w, n) for (a, w), n in counts.items() if w]
    # an entry of probability zero is high exactly where that helps
    gain += sum((a * n for (a, w), n in counts.items() if not w and a > 0), Decimal(0))
    items.sort(key=lambda item: item.gain / item.weight, reverse=True)
    return _no_corner_positive(items, gain, weight)


def _no_corner_positive(items: list[Item], gain: Decimal, weight: Decimal) -> bool:
    ratios = [float(item.gain / item.weight) for item in items]
    weights = [float(item.weight) for item in items]
    start = ([0] * len(items), [item.copies for item in items])
    pending = [start]
    for _ in range(MAX_NODES):
        if not pending:
            return True
        low, high = pending.pop()
        a = gain + sum((n * i.gain for n, i in zip(low, items, strict=True) if n), Decimal(0))
        q = weight + sum((n * i.weight for n, i in zip(low, items, strict=True) if n), Decimal(0))
        split, slope = _fractional(ratios, weights, low, high, float(q))
        slope_exactly = Decimal(slope)
        best = a + (slope_exactly - 1).exp() - slope_exactly * q
        for n, m, item in zip(low, high, items, strict=True):
            excess = item.gain - slope_exactly * item.weight
            if m > n and excess > 0:
                best += (m - n) * excess
        if best <= -MARGIN:
            continue
        if split is None:
            return False
        place, taken = split
        pending.append((low, [*high[:place], taken, *high[place + 1 :]]))
        pending.append(([*low[:place], taken + 1, *low[place + 1 :]], high))
    return False


def _fractional(
    ratios: list[float], weights: list[float], low: list[int], high: list[int], q: float
) -> tuple[tuple[int, int] | None, float]:
    """The relaxed optimum takes items in order while their ratio exceeds 1 + log q.

    Returns which item to split at which count (None if all are fixed), and a good slope 1 + log r.
    """
    last = None
    for i, (ratio, w, n, m) in enumerate(zip(ratios, weights, low, high, strict=True)):
        if m == n:
            continue
        if ratio <= 1 + math.log(q):
            return (last or (i, n)), 1 + math.log(q)
        room = math.exp(ratio - 1) - q if ratio < 500 else math.inf
        if room < w * (m - n):
            return (i, min(n + int(room / w), m - 1)), ratio
        q += w * (m - n)
        last = (i, m - 1)
    return last, 1 + math.log(q)


def _divergence_dominated(
    beta: list[Decimal], rows: list[list[Decimal]], utility: str, box: Box
) -> bool:
    """q1 f(q0/q1) − β·v ≤ 0 on all corners: cut the range of q0/q1 until chords of f prove it.

    Where q0/q1 lies in [r, s] and A + B·(q0/q1) is the chord of f there, q1 f(q0/q1) ≤ A q1 + B q0,
    which is linear in v and therefore largest entry by entry.
    """
    widest = max(box.high) / min(box.low) * Decimal("1.000001")
    pending = [(1 / widest, Decimal(1)), (Decimal(1), widest)]
    for _ in range(MAX_NODES):
        if not pending:
            return True
        r, s = pending.pop()
        B = (_f(utility, s) - _f(utility, r)) / (s - r)
        A = _f(utility, r) - B * r
        best = Decimal(0)
        for b, p0, p1, lo, hi in zip(beta, *rows, box.low, box.high, strict=True):
            c = A * p1 + B * p0 - b
            best += c * (hi if c > 0 else lo)
        if best <= -MARGIN:
            continue
        if s - r < Decimal("1e-15") * s:
            return False
        middle = (r + s) / 2
        pending += [(r, middle), (middle, s)]
    return False


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
    marginals = [_numbers(p, "a marginal") for p in plain["marginals"]]
    threshold = _number(plain["threshold"], "threshold")
    if any(not p or min(p) < 0 or abs(math.fsum(p) - 1) > 1e-9 for p in marginals) or not marginals:
        raise UnreadableError("a marginal is negative or does not sum to 1")
    if not 0 < threshold <= 1:
        raise UnreadableError(f"the threshold {threshold} is not in (0, 1]")
    if plain["method"] not in COMPOSITION_METHODS:
        raise UnreadableError(f"the method {plain['method']!r} is unknown")
    return Marginals([[x for x in p if x] for p in marginals], threshold, plain["method"])


def rule_proves(question: Marginals, rule: str, answer: dict[str, Any]) -> float:
    """The bound that a composition rule proves with the thresholds of the answer."""
    thresholds = _numbers(answer["thresholds"], "the thresholds")
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
    """The mass of the cells that carry at most the threshold; -1 if the marginals are not met."""
    cells, masses = joint["cells"], _numbers(joint["masses"], "the masses")
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
    return -1.0 if min(masses) < 0 else math.fsum(x for x in masses if x <= question.threshold)


def tree_bound(question: Marginals, proof: dict[str, Any]) -> float:
    """The largest exposure that the leaves of the proof leave possible.

    An inner node splits on whether a cell carries at most the threshold (small) or at least it (big).
    A leaf has a number λ per marginal value, and prizes μ ≥ 0 for cuts that every joint satisfies:
    Σ λ·p − Σ μ + Σ_v (the most that cell v can add) bounds the exposure by Lagrangian duality.
    """
    cells = list(itertools.product(*(range(len(p)) for p in question.marginals)))
    cuts = [_cover(question, cells, _numbers(c, "a cut")) for c in proof["cuts"]]
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
    dual, t = _flat(question, _numbers(leaf["dual"], "the dual of a leaf")), question.threshold
    if any(k not in range(len(cuts)) or weight < 0 for k, weight in leaf["cuts"]):
        raise UnreadableError("a prize of the proof is negative or for no cut")
    prizes: list[tuple[list[float], float]] = []
    for k, weight in leaf["cuts"]:
        cut = cuts[k]
        if cut is None:
            return math.inf
        prizes.append((cut, _number(weight, "a prize")))
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
    value, t = _number(document["value"], "value"), question.threshold
    answer, proof = document["answer"], document["certificate"]["proof"]
    if not isinstance(answer, dict) or not isinstance(proof, dict):
        raise UnreadableError("the file has no answer or no proof")
    lower: Any
    low: float | None
    high: float | None
    bound = None if status == "feasible" else _number(document["bound"], "bound")
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
        tolerance = _number(document["certificate"]["gap"], "the certificate's gap")
        close = abs(bound - value) <= tolerance * max(abs(bound), abs(value), 1e-6)
        yield Claim(f"value and bound agree to a relative {tolerance:g}", "exact", close)


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
    weights = _numbers(plain["weights"], "the weights")
    budget, t = _number(plain["budget"], "budget"), _number(plain["threshold"], "threshold")
    chosen = _features(answer["features"], len(weights))
    value = _number(document["value"], "value")
    heavy = abs(math.fsum(weights[j] for j in chosen) - value) <= COMPOSITION_TOLERANCE
    strength = f"numeric {COMPOSITION_TOLERANCE:g}"
    yield Claim(f"the released features weigh {value!r}", strength, heavy)
    safe = not chosen or _released_exposure(plain, chosen, answer) <= budget + COMPOSITION_TOLERANCE
    yield Claim(f"at most {budget:g} of the users are exposed at {t:g}", strength, safe)
    if status == "optimal":
        bound = _number(document["bound"], "bound")
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


def _table_exposure(plain: dict[str, Any], features: list[int]) -> float:
    rows = Counter(tuple(row[j] for j in features) for row in plain["table"])
    users = sum(rows.values())
    return sum(n for n in rows.values() if n / users < plain["threshold"]) / users


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


# ---------------------------------------------------------------- the file


def check(document: Any, plain: dict[str, Any] | None = None) -> list[Claim]:
    """Decide every claim of a result file; ``plain`` states the question for kinds not in KINDS."""
    if not isinstance(document, dict):
        raise UnreadableError("the file holds no JSON object")
    for key in ("problem", "params", "status", "value", "bound", "mechanism", "certificate"):
        if key not in document:
            raise UnreadableError(f"the file has no {key!r}")
    if not isinstance(document["params"], dict):
        raise UnreadableError("'params' is no JSON object")
    try:
        plain = plain or statement(document["problem"], document["params"])
        if plain.get("form") not in FORMS:
            raise UnreadableError(f"the checker does not know the form {plain.get('form')!r}")
        return list(FORMS[plain["form"]](document, plain))
    except (KeyError, TypeError, ArithmeticError) as error:
        raise UnreadableError(f"the file is malformed: {error!r}") from None


def column_claims(document: dict[str, Any], plain: dict[str, Any]) -> Iterator[Claim]:
    """The claims of a result about a column program."""
    question = read_column_statement(plain)
    if document["status"] not in ("optimal", "gap", "feasible"):
        raise UnreadableError(f"a result of status {document['status']!r} makes no claim")
    matrix = _matrix(document, len(question.secrets))
    value, bound = _number(document["value"], "value"), document["bound"]
    pairs = "inputs with different secrets" if _shares(question.secrets) else "all inputs"
    yield Claim("every row of the mechanism sums to exactly 1", "exact", is_stochastic(matrix))
    yield Claim(
        f"its entries for {pairs} differ by at most a factor e^{question.epsilon:g}",
        "exact",
        is_private(matrix, question.secrets, question.epsilon),
    )
    enough = utility_below(matrix, question) >= Decimal(value)
    yield Claim(f"its utility ({question.utility}) is at least {value!r}", "exact", enough)
    if document["status"] == "feasible":
        return
    bound = _number(bound, "bound")
    proof = (document["certificate"] or {}).get("proof") or {}
    dual = _numbers(proof.get("dual"), "the dual vector")
    fits = len(dual) == len(question.secrets)
    proven = fits and sum(map(Fraction, dual)) <= Fraction(bound) and dominates(dual, question)
    yield Claim(f"no such mechanism has a utility above {bound!r}", "exact", proven)
    if document["status"] == "optimal":
        tolerance = _number((document["certificate"] or {}).get("gap"), "the certificate's gap")
        close = abs(bound - value) <= tolerance * max(abs(bound), abs(value), 1e-4)
        yield Claim(f"value and bound agree to a relative {tolerance:g}", "exact", close)


FORMS: dict[str, Callable[[dict[str, Any], dict[str, Any]], Iterator[Claim]]] = {
    "column-program": column_claims,
    "composition-bound": composition_claims,
    "feature-release": release_claims,
}
"""How the claims about each form are decided, given the document and its statement."""


def _shares(secrets: Sequence[Any]) -> bool:
    return len(set(secrets)) < len(secrets)


def read(path: str) -> Any:
    """The JSON document in a file."""
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError, RecursionError) as error:
        raise UnreadableError(f"cannot read {path}: {error}") from None


def main(path: str) -> int:
    """Check one file and print its claims; the exit code."""
    try:
        claims = check(read(path))
    except UnreadableError as error:
        print(f"unreadable: {error}", file=sys.stderr)
        return 2
    for claim in claims:
        print(f"{'holds  ' if claim.holds else 'REFUTED'}  {claim.statement} [{claim.strength}]")
    return 0 if all(claim.holds for claim in claims) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]) if len(sys.argv) == 2 else 2)
