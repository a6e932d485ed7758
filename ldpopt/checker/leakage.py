"""The checker's section on statistic maximal leakage: standard library and the checker only.

Floats are whole multiples of 2^-1074, so every sum here is an exact sum of integers; logarithms and
exponentials are those of the checker, with its margin.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from typing import Any, NamedTuple

from .frame import (
    DIGITS,
    FORMS,
    KINDS,
    MARGIN,
    MAX_EPSILON,
    Claim,
    UnreadableError,
    agreement,
    is_stochastic,
    read_matrix,
    read_number,
    read_numbers,
)

# ---------------------------------------------------------------- selections


UNIT = 1 << 1074
"""Every finite float is a whole multiple of 1/UNIT: sums of floats are exact sums of integers."""

Row = Sequence[tuple[int, float]]
"""One row of a sparse matrix: (column, entry) pairs."""


def _statistic_leakage(params: dict[str, Any]) -> dict[str, Any]:
    return {"form": "selection-program", "matrix": params["matrix"], "secrets": params["secrets"]}


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
    return SelectionStatement(rows, columns, by_secret(plain["secrets"]))


def by_secret(secrets: list[Any]) -> list[list[int]]:
    """The places of equal secrets, in order of first appearance; 1 and 1.0 are equal."""
    groups: dict[Any, list[int]] = {}
    for i, secret in enumerate(secrets):
        groups.setdefault(_hashable(secret), []).append(i)
    return list(groups.values())


def _hashable(secret: Any) -> Any:
    return tuple(map(_hashable, secret)) if isinstance(secret, list) else secret


def _dense_rows(matrix: Any) -> tuple[list[Row], int]:
    dense = [read_numbers(row, "a row of the matrix") for row in matrix]
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
        entries[x][y] = read_number(p, "an entry of the matrix")
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
    prices = read_numbers(node.get("prices"), "the prices")
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
    chosen, value = document["answer"]["selection"], read_number(document["value"], "value")
    fits = selects(chosen, question.groups)
    yield Claim("the answer selects one parameter per secret", "exact", fits)
    enough = fits and log_below(coverage(question.rows[i] for i in chosen)) >= Decimal(value)
    yield Claim(f"its leakage is at least {value!r} nats", "exact", enough)
    if document["status"] == "feasible":
        return
    bound = read_number(document["bound"], "bound")
    proof = (document["certificate"] or {}).get("proof")
    proven = log_above(tree_bound(proof, question)) <= Decimal(bound)
    yield Claim(f"no selection leaks more than {bound!r} nats", "exact", proven)
    if document["status"] == "optimal":
        yield agreement(document, value, bound)


# ---------------------------------------------------------------- design under a leakage budget


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
    budget = read_number(plain["budget"], "budget")
    if not 0 <= budget <= MAX_EPSILON:
        raise UnreadableError(f"the budget {budget} is not in [0, {MAX_EPSILON:g}]")
    return LeakageStatement(costs, by_secret(plain["secrets"]), budget)


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
    prior = [Fraction(p) for p in read_numbers(proof["prior"], "the prior")]
    if len(prior) != len(question.costs) or min(prior) < 0 or sum(prior) > 1:
        raise UnreadableError("the prior of the proof is no distribution")
    prices = [[p * c for c in row] for p, row in zip(prior, question.costs, strict=True)]
    weight = Fraction(0)
    for cut in proof["cuts"]:
        mu, chosen, takers = read_number(cut["weight"], "a weight"), cut["selection"], cut["outputs"]
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
    matrix = read_matrix(document, len(question.costs))
    if len(matrix[0]) != len(question.costs[0]):
        raise UnreadableError("the mechanism does not release histograms")
    value, proof = read_number(document["value"], "value"), (document["certificate"] or {})["proof"]
    yield Claim("every row of the mechanism sums to exactly 1", "exact", is_stochastic(matrix))
    private = leaks_within(matrix, question.groups, question.budget, proof["privacy"])
    yield Claim(f"it leaks at most {question.budget!r} nats about the secret", "exact", private)
    cheap = worst_cost(matrix, question) <= Fraction(value)
    yield Claim(f"its worst expected distortion is at most {value!r}", "exact", cheap)
    if document["status"] == "feasible":
        return
    bound = read_number(document["bound"], "bound")
    proven = cost_bound(question, proof) >= Fraction(bound)
    yield Claim(f"no such mechanism has a distortion below {bound!r}", "exact", proven)
    if document["status"] == "optimal":
        yield agreement(document, value, bound)


KINDS["statistic-leakage"] = _statistic_leakage
KINDS["leakage-design"] = _leakage_design
FORMS["selection-program"] = selection_claims
FORMS["leakage-program"] = leakage_claims
