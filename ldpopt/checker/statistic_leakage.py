"""Statistic maximal leakage of a given mechanism: the kind ``statistic-leakage``.

Floats are whole multiples of 2^-1074, so every sum here is an exact sum of integers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from decimal import Context, Decimal, localcontext
from typing import Any, NamedTuple

from .budget import reserve
from .claims import Claim, decided
from .decimals import DIGITS, MARGIN
from .form import Case, Form, Kind, Section, maximise
from .reading import UnreadableError
from .schema import SUM_TOLERANCE, Either, Label, List, Matrix, Number, Object, Record, Whole, Word

MOST_PLACES = 10_000_000
PROBABILITY = Number(0, 1 + float(SUM_TOLERANCE))
MATRIX = Either(
    Matrix(PROBABILITY),
    Record(
        {
            "shape": List(Whole(1, MOST_PLACES), 2, 2),
            "rows": List(Whole(0, MOST_PLACES)),
            "columns": List(Whole(0, MOST_PLACES)),
            "values": List(PROBABILITY),
        }
    ),
)
SECRETS = List(Label(), 1)

UNIT = 1 << 1074
"""Every finite float is a whole multiple of 1/UNIT: sums of floats are exact sums of integers."""

Row = Sequence[tuple[int, float]]
"""One row of a sparse matrix: (column, entry) pairs."""


def _statistic_leakage(params: dict[str, Any]) -> dict[str, Any]:
    return {"form": "selection-program", **params}


class SelectionStatement(NamedTuple):
    """Maximise log Σ_y max_g W[θ_g, y] over one row θ_g of every group, in order of appearance."""

    rows: list[Row]
    columns: int
    groups: list[list[int]]


def selection_question(plain: dict[str, Any]) -> SelectionStatement:
    """The question of a statement that its schema has read."""
    matrix = plain["matrix"]
    rows, columns = _sparse_rows(matrix) if isinstance(matrix, dict) else _dense_rows(matrix)
    if len(plain["secrets"]) != len(rows):
        raise UnreadableError(f"secrets must be {len(rows)} labels, one per row of the matrix")
    for i, row in enumerate(rows):
        if abs(sum(units(p) for _, p in row) - UNIT) > SUM_TOLERANCE * UNIT:
            raise UnreadableError(f"row {i} of the matrix must sum to 1 within 1e-9")
    return SelectionStatement(rows, columns, by_secret(plain["secrets"]))


def by_secret(secrets: Sequence[Any]) -> list[list[int]]:
    """The places of equal secrets, in order of first appearance; 1 and 1.0 are equal."""
    groups: dict[Any, list[int]] = {}
    for i, secret in enumerate(secrets):
        groups.setdefault(secret, []).append(i)
    return list(groups.values())


def _dense_rows(dense: list[list[float]]) -> tuple[list[Row], int]:
    return [[(y, p) for y, p in enumerate(row) if p] for row in dense], len(dense[0])


def _sparse_rows(matrix: dict[str, Any]) -> tuple[list[Row], int]:
    """Triples (row, column, value) next to the shape."""
    count, columns = matrix["shape"]
    reserve(count, "the sparse matrix")
    entries: list[dict[int, float]] = [{} for _ in range(count)]
    triples = [matrix["rows"], matrix["columns"], matrix["values"]]
    if len({len(part) for part in triples}) != 1:
        raise UnreadableError("the sparse matrix has not as many rows as columns as values")
    for x, y, p in zip(*triples, strict=True):
        if x >= count or y >= columns:
            raise UnreadableError(f"the matrix has no place [{x}][{y}]")
        if y in entries[x]:
            raise UnreadableError(f"the matrix has two entries at [{x}][{y}]")
        entries[x][y] = p
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
    branching = Record({"secret": Whole(0, len(groups) - 1), "branches": List(Object(), 1)})
    inner = branching.read(node, "a branching of the proof")
    g, branches = inner["secret"], inner["branches"]
    if len(branches) != len(groups[g]):
        raise UnreadableError("a branching of the proof must have one branch per row of a secret")
    children = zip(groups[g], branches, strict=True)
    return max(_tree_bound(child, [*groups[:g], [row], *groups[g + 1 :]]) for row, child in children)


LEAF = Record({"outputs": List(Whole(0, MOST_PLACES)), "prices": List(Number(0))})


def _prices(node: dict[str, Any]) -> dict[int, float]:
    leaf = LEAF.read(node, "a leaf of the proof")
    outputs, prices = leaf["outputs"], leaf["prices"]
    if not len(set(outputs)) == len(outputs) == len(prices):
        raise UnreadableError("the outputs of a leaf must be different, with one price each")
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


def selects(chosen: Sequence[int], groups: list[list[int]]) -> bool:
    """Whether there is one row of every group, in order."""
    fits = len(chosen) == len(groups)
    return fits and all(i in rows for i, rows in zip(chosen, groups, strict=True))


# ---------------------------------------------------------------- the claims


def _answer(document: dict[str, Any], question: SelectionStatement) -> list[int]:
    schema = Record({"selection": List(Whole(0, len(question.rows) - 1))})
    selection: list[int] = schema.read(document.get("answer"), "answer")["selection"]
    return selection


def _members(case: Case) -> Iterator[Claim]:
    words = "the answer selects one parameter per secret"
    yield decided("member", words, lambda: selects(case.answer, case.question.groups))


def _value(case: Case) -> Iterator[Claim]:
    rows = case.question.rows
    words = f"its leakage is at least {case.value!r} nats"
    yield decided(
        "value",
        words,
        lambda: log_below(coverage(rows[i] for i in case.answer)) >= Decimal(case.value),
        value=case.value,
    )


def _bound(case: Case) -> Iterator[Claim]:
    bound = case.bound
    assert bound is not None
    words = f"no selection leaks more than {bound!r} nats"
    yield decided(
        "bound",
        words,
        lambda: log_above(tree_bound(case.proof, case.question)) <= Decimal(bound),
        about="selections of one parameter per secret",
        value=bound,
    )


SECTION = Section(
    kinds={
        "statistic-leakage": Kind(Record({"matrix": MATRIX, "secrets": SECRETS}), _statistic_leakage)
    },
    forms={
        "selection-program": Form(
            statement=Record({"form": Word("selection-program"), "matrix": MATRIX, "secrets": SECRETS}),
            question=selection_question,
            answer=_answer,
            members=_members,
            value=_value,
            bound=_bound,
            sense=maximise,
            proof=Object(),
        )
    },
)
