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

import importlib
import json
import math
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
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


def _statistic_leakage(params: dict[str, Any]) -> dict[str, Any]:
    return {"form": "selection-program", "matrix": params["matrix"], "secrets": params["secrets"]}


def _leakage_design(params: dict[str, Any]) -> dict[str, Any]:
    tau, d = params["tau"], params["d"]
    space = list(_histograms(tau, d))
    return {
        "form": "leakage-program",
        "costs": [[sum(abs(p - q) for p, q in zip(a, b, strict=True)) for b in space] for a in space],
        "scale": 2 * tau,
        "secrets": params.get("secrets", [histogram[0] for histogram in space]),
        "budget": params["budget"],
    }


def _histograms(tau: int, d: int) -> Iterator[tuple[int, ...]]:
    """All counts of tau records over d categories, in lexicographic order."""
    if d == 1:
        yield (tau,)
        return
    for first in range(tau + 1):
        for rest in _histograms(tau - first, d - 1):
            yield (first, *rest)


KINDS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "staircase": _staircase,
    "secret-staircase": _secret_staircase,
    "statistic-leakage": _statistic_leakage,
    "leakage-design": _leakage_design,
}
"""How the parameters of each kind become a statement."""


SECTIONS: dict[str, str] = {}
"""Kinds whose forms are decided in a file of their own: standard library and this module only."""


def knows(kind: Any) -> bool:
    """Whether the checker can read the statement of this kind off its parameters."""
    if kind in SECTIONS and kind not in KINDS:
        importlib.import_module(SECTIONS[kind])  # adds its lines to KINDS and FORMS
    return kind in KINDS


def statement(kind: str, params: dict[str, Any]) -> dict[str, Any]:
    """What a result of this kind with these parameters claims to answer, as plain data."""
    if not knows(kind):
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


# ---------------------------------------------------------------- selections


UNIT = 1 << 1074
"""Every finite float is a whole multiple of 1/UNIT: sums of floats are exact sums of integers."""

Row = Sequence[tuple[int, float]]
"""One row of a sparse matrix: (column, entry) pairs."""


class SelectionStatement(NamedTuple):
    """Maximise log Σ_y max_g W[θ_g, y] over one row θ_g of every group, in order of appearance."""

    rows: list[Row]
    columns: int
    groups: list[list[int]]


def read_selection_statement(plain: dict[str, Any]) -> SelectionStatement:
    """The statement of a selection program, every part of it checked."""
    matrix = plain["matrix"]
    rows, columns = _sparse_rows(matrix) if isinstance(matrix, dict) else _dense_rows(matrix)
    if not isinstance(plain["secrets"], list) or len(plain["secrets"]) != len(rows):
        raise UnreadableError("there is not one secret per row of the matrix")
    for i, row in enumerate(rows):
        if any(p < 0 for _, p in row) or abs(math.fsum(p for _, p in row) - 1) > 1e-9:
            raise UnreadableError(f"row {i} of the matrix is no distribution")
    groups: dict[str, list[int]] = {}
    for i, secret in enumerate(plain["secrets"]):
        groups.setdefault(json.dumps(secret), []).append(i)
    return SelectionStatement(rows, columns, list(groups.values()))


def _dense_rows(matrix: Any) -> tuple[list[Row], int]:
    dense = [_numbers(row, "a row of the matrix") for row in matrix]
    if not dense or not dense[0] or any(len(row) != len(dense[0]) for row in dense):
        raise UnreadableError("the matrix is not rectangular")
    return [[(y, p) for y, p in enumerate(row) if p] for row in dense], len(dense[0])


def _sparse_rows(matrix: dict[str, Any]) -> tuple[list[Row], int]:
    """Triples (row, column, value) next to the shape."""
    count, columns = matrix["shape"]
    entries: list[dict[int, float]] = [{} for _ in range(count)]
    triples = [matrix["rows"], matrix["columns"], matrix["values"]]
    if len({len(part) for part in triples}) != 1:
        raise UnreadableError("the sparse matrix has not as many rows as columns as values")
    for x, y, p in zip(*triples, strict=True):
        if not (isinstance(x, int) and isinstance(y, int) and 0 <= x < count and 0 <= y < columns):
            raise UnreadableError(f"the matrix has no place [{x!r}][{y!r}]")
        if y in entries[x]:
            raise UnreadableError(f"the matrix has two entries at [{x}][{y}]")
        entries[x][y] = _number(p, "an entry of the matrix")
    return [list(row.items()) for row in entries], columns


def units(number: float) -> int:
    """A float, exactly, as a multiple of 1/UNIT."""
    numerator, denominator = number.as_integer_ratio()
    return numerator * (UNIT // denominator)


def coverage(rows: Iterable[Row]) -> int:
    """Σ_y max over the rows, exactly, in units."""
    top: dict[int, float] = {}
    for row in rows:
        for y, p in row:
            if p > top.get(y, 0.0):
                top[y] = p
    return sum(map(units, top.values()))


def price_bound(groups: Sequence[Sequence[Row]], prices: dict[int, float]) -> int:
    """Σ_y v_y + Σ_g max_{θ in g} Σ_y (W[θ,y] − v_y)⁺, exactly, in units; v is 0 where not named.

    No selection covers more: its max_g W[θ_g, y] is at most v_y + Σ_g (W[θ_g, y] − v_y)⁺.
    """
    total = sum(map(units, prices.values()))
    for rows in groups:
        total += max(
            sum(units(p) - units(prices.get(y, 0.0)) for y, p in row if p > prices.get(y, 0.0))
            for row in rows
        )
    return total


def tree_bound(node: Any, question: SelectionStatement) -> int:
    """What a proof tree bounds: prices at a leaf; at a branching, one child per row of a group."""
    return _tree_bound(node, [[question.rows[i] for i in rows] for rows in question.groups])


def _tree_bound(node: Any, groups: list[Sequence[Row]]) -> int:
    if not isinstance(node, dict):
        raise UnreadableError("a node of the proof is no JSON object")
    if "branches" not in node:
        return price_bound(groups, _prices(node))
    g, branches = node["secret"], node["branches"]
    if not (isinstance(g, int) and 0 <= g < len(groups) and len(branches) == len(groups[g])):
        raise UnreadableError("a branching of the proof has not one branch per row of a secret")
    children = zip(groups[g], branches, strict=True)
    return max(_tree_bound(child, [*groups[:g], [row], *groups[g + 1 :]]) for row, child in children)


def _prices(node: dict[str, Any]) -> dict[int, float]:
    prices = _numbers(node.get("prices"), "the prices")
    outputs = node.get("outputs")
    if not isinstance(outputs, list) or any(not isinstance(y, int) for y in outputs):
        raise UnreadableError("the priced outputs are no list of indices")
    if not len(set(outputs)) == len(outputs) == len(prices) or any(v < 0 for v in prices):
        raise UnreadableError("the outputs have not one price >= 0 each")
    return dict(zip(outputs, prices, strict=True))


def log_below(total: int) -> Decimal:
    """A number just below log(total / UNIT); log 1 is exactly 0."""
    return _log(total) - (0 if total == UNIT else MARGIN)


def log_above(total: int) -> Decimal:
    """A number just above log(total / UNIT); log 1 is exactly 0."""
    return _log(total) + (0 if total == UNIT else MARGIN)


def _log(total: int) -> Decimal:
    with localcontext(Context(prec=DIGITS)):
        return (Decimal(total) / UNIT).ln()


def selects(chosen: Any, groups: list[list[int]]) -> bool:
    """Whether there is one row of every group, in order."""
    fits = isinstance(chosen, list) and len(chosen) == len(groups)
    return fits and all(i in rows for i, rows in zip(chosen, groups, strict=True))


def selection_claims(document: dict[str, Any], plain: dict[str, Any]) -> Iterator[Claim]:
    """The claims of a result about a selection program."""
    question = read_selection_statement(plain)
    if document["status"] not in ("optimal", "gap", "feasible"):
        raise UnreadableError(f"a result of status {document['status']!r} makes no claim")
    chosen, value = document["answer"]["selection"], _number(document["value"], "value")
    fits = selects(chosen, question.groups)
    yield Claim("the answer selects one parameter per secret", "exact", fits)
    enough = fits and log_below(coverage(question.rows[i] for i in chosen)) >= Decimal(value)
    yield Claim(f"its leakage is at least {value!r} nats", "exact", enough)
    if document["status"] == "feasible":
        return
    bound = _number(document["bound"], "bound")
    proof = (document["certificate"] or {}).get("proof")
    proven = log_above(tree_bound(proof, question)) <= Decimal(bound)
    yield Claim(f"no selection leaks more than {bound!r} nats", "exact", proven)
    if document["status"] == "optimal":
        yield _agreement(document, value, bound)


def _agreement(document: dict[str, Any], value: float, bound: float) -> Claim:
    tolerance = _number((document["certificate"] or {}).get("gap"), "the certificate's gap")
    close = abs(bound - value) <= tolerance * max(abs(bound), abs(value), 1e-6)
    return Claim(f"value and bound agree to a relative {tolerance:g}", "exact", close)


# ---------------------------------------------------------------- design under a leakage budget


class LeakageStatement(NamedTuple):
    """Minimise max_θ Σ_y c W over mechanisms whose statistic maximal leakage is at most the budget."""

    costs: list[list[Fraction]]
    groups: list[list[int]]
    budget: float


def read_leakage_statement(plain: dict[str, Any]) -> LeakageStatement:
    """The statement of a leakage program, every part of it checked."""
    costs = [[Fraction(cost, plain["scale"]) for cost in row] for row in plain["costs"]]
    if not isinstance(plain["secrets"], list) or len(plain["secrets"]) != len(costs):
        raise UnreadableError("there is not one secret per histogram")
    groups: dict[str, list[int]] = {}
    for i, secret in enumerate(plain["secrets"]):
        groups.setdefault(json.dumps(secret), []).append(i)
    budget = _number(plain["budget"], "budget")
    if not 0 <= budget <= MAX_EPSILON:
        raise UnreadableError(f"the budget {budget} is not in [0, {MAX_EPSILON:g}]")
    return LeakageStatement(costs, list(groups.values()), budget)


def worst_cost(matrix: Sequence[Sequence[float]], question: LeakageStatement) -> Fraction:
    """max_θ Σ_y c[θ,y] W[θ,y], exactly."""
    return max(
        sum((c * Fraction(w) for c, w in zip(costs, row, strict=True) if w), Fraction(0))
        for costs, row in zip(question.costs, matrix, strict=True)
    )


def leaks_within(
    matrix: Sequence[Sequence[float]], groups: list[list[int]], budget: float, proof: Any
) -> bool:
    """Whether a proof tree shows that the leakage of the mechanism is at most the budget."""
    rows: list[Row] = [[(y, p) for y, p in enumerate(row) if p] for row in matrix]
    total = tree_bound(proof, SelectionStatement(rows, len(matrix[0]), groups))
    return log_above(total) <= Decimal(budget)


def cost_bound(question: LeakageStatement, proof: dict[str, Any]) -> Fraction:
    """A number that no permitted mechanism costs less than, from a prior λ and weights μ of cuts.

    For W within the budget: max_θ c·W ≥ Σ_θ λ_θ Σ_y c W + Σ_k μ_k (cut_k(W) − e^b), as λ sums to at
    most 1 and every cut_k(W) = Σ_y W[θ_k(y), y] ≤ e^b; the least of this over stochastic W is taken
    row by row. Each cut names one parameter per secret, and for every output one of them.
    """
    prior = [Fraction(p) for p in _numbers(proof["prior"], "the prior")]
    if len(prior) != len(question.costs) or min(prior) < 0 or sum(prior) > 1:
        raise UnreadableError("the prior of the proof is no distribution")
    prices = [[p * c for c in row] for p, row in zip(prior, question.costs, strict=True)]
    weight = Fraction(0)
    for cut in proof["cuts"]:
        mu, chosen, takers = _number(cut["weight"], "a weight"), cut["selection"], cut["outputs"]
        if mu < 0 or not selects(chosen, question.groups) or len(takers) != len(prices[0]):
            raise UnreadableError("a cut of the proof is malformed")
        weight += Fraction(mu)
        for y, g in enumerate(takers):
            prices[chosen[g]][y] += Fraction(mu)
    with localcontext(Context(prec=DIGITS)):
        E = Fraction(Decimal(question.budget).exp() * (1 + MARGIN))
    return sum(map(min, prices), Fraction(0)) - E * weight


def leakage_claims(document: dict[str, Any], plain: dict[str, Any]) -> Iterator[Claim]:
    """The claims of a result about a leakage program."""
    question = read_leakage_statement(plain)
    if document["status"] not in ("optimal", "gap", "feasible"):
        raise UnreadableError(f"a result of status {document['status']!r} makes no claim")
    matrix = _matrix(document, len(question.costs))
    if len(matrix[0]) != len(question.costs[0]):
        raise UnreadableError("the mechanism does not release histograms")
    value, proof = _number(document["value"], "value"), (document["certificate"] or {})["proof"]
    yield Claim("every row of the mechanism sums to exactly 1", "exact", is_stochastic(matrix))
    private = leaks_within(matrix, question.groups, question.budget, proof["privacy"])
    yield Claim(f"it leaks at most {question.budget!r} nats about the secret", "exact", private)
    cheap = worst_cost(matrix, question) <= Fraction(value)
    yield Claim(f"its worst expected distortion is at most {value!r}", "exact", cheap)
    if document["status"] == "feasible":
        return
    bound = _number(document["bound"], "bound")
    proven = cost_bound(question, proof) >= Fraction(bound)
    yield Claim(f"no such mechanism has a distortion below {bound!r}", "exact", proven)
    if document["status"] == "optimal":
        yield _agreement(document, value, bound)


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
    "selection-program": selection_claims,
    "leakage-program": leakage_claims,
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
    sys.modules["ldpopt.checker"] = sys.modules["__main__"]
    sys.exit(main(sys.argv[1]) if len(sys.argv) == 2 else 2)
