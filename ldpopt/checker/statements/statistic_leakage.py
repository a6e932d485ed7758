"""Statistic maximal leakage of a given mechanism: the kind ``statistic-leakage``.

The statement, and the lemmas on value and bound, stand in ``selection_trees.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..kernel.arithmetic import enclose
from ..kernel.budget import reserve
from ..kernel.claims import Claim, decided
from ..kernel.labels import Labels
from ..kernel.optimality import NOISE
from ..kernel.proofs.selection_trees import (
    MOST_PLACES,
    SelectionStatement,
    Tree,
    by_secret,
    leakage,
    log_at_most,
    released_row,
    selects,
    tree_bound,
)
from ..kernel.reading import UnreadableError
from ..kernel.schema import SUM_TOLERANCE, Either, List, Matrix, Number, Record, Whole
from ..kernel.section import Case, Kind, maximise, stating

PROBABILITY = Number(0, 1 + float(SUM_TOLERANCE))
MATRIX = Either(
    Matrix(PROBABILITY),
    Record(
        {
            "shape": List(Whole(1, MOST_PLACES), 2, 2),
            "rows": List(Whole(0, MOST_PLACES - 1)),
            "columns": List(Whole(0, MOST_PLACES - 1)),
            "values": List(PROBABILITY),
        }
    ),
)


# ---------------------------------------------------------------- the question


def question(plain: dict[str, Any]) -> SelectionStatement:
    """Build the question of a statement that its schema has read."""
    matrix, secrets = plain["matrix"], plain["secrets"]
    sparse = isinstance(matrix, dict)
    count, columns = matrix["shape"] if sparse else (len(matrix), len(matrix[0]))
    if len(secrets) != count:
        raise UnreadableError(
            f"secrets must be {count} labels, one per row of the matrix, not {len(secrets)}"
        )
    # an entry with its place, and a few words per row; the shape alone allocates nothing
    reserve(6 * count + 2 * (len(matrix["values"]) if sparse else count * columns), "the mechanism")
    pairs = _sparse_rows(matrix) if sparse else map(_dense_row, matrix)
    rows = [released_row(places, entries, i) for i, (places, entries) in enumerate(pairs)]
    return SelectionStatement(rows, columns, by_secret(secrets))


def _dense_row(row: list[float]) -> tuple[list[int], list[float]]:
    places = [y for y, p in enumerate(row) if p]
    return places, [row[y] for y in places]


def _sparse_rows(matrix: dict[str, Any]) -> Iterator[tuple[list[int], list[float]]]:
    """Sort triples (row, column, value) by row; no place may occur twice."""
    count, columns = matrix["shape"]
    triples = [matrix["rows"], matrix["columns"], matrix["values"]]
    if len({len(part) for part in triples}) != 1:
        raise UnreadableError("the sparse matrix must have as many rows as columns as values")
    found: list[tuple[list[int], list[float]]] = [([], []) for _ in range(count)]
    for x, y, p in zip(*triples, strict=True):
        if x >= count or y >= columns:
            raise UnreadableError(f"the matrix has no place [{x}][{y}]")
        found[x][0].append(y)
        found[x][1].append(p)
    for x, (places, _) in enumerate(found):
        if len(set(places)) != len(places):
            raise UnreadableError(f"row {x} of the matrix has two entries at one place")
    return iter(found)


# ---------------------------------------------------------------- the claims


def answer(document: dict[str, Any], question: SelectionStatement) -> list[int]:
    schema = Record({"selection": List(Whole(0, len(question.rows) - 1), 1)})
    selection: list[int] = schema.read(document.get("answer"), "answer")["selection"]
    if document["mechanism"] is not None:
        raise UnreadableError("mechanism must be null: the answer is a selection")
    return selection


def members(case: Case) -> Iterator[Claim]:
    words = "the answer selects one parameter per secret"
    yield decided("member", words, lambda: selects(case.answer, case.question.groups))


def value(case: Case) -> Iterator[Claim]:
    def test() -> bool | None:
        return enclose(case.value).at_most(leakage([case.question.rows[i] for i in case.answer]))

    words = f"its leakage is at least {case.value!r} nats"
    yield case.claim_value(words, test)


def bound(case: Case) -> Iterator[Claim]:
    yield case.claim_bound(
        f"no selection leaks more than {case.bound!r} nats",
        lambda: log_at_most(tree_bound(case.proof, case.question), case.bound),
        "selections of one parameter per secret",
    )


statement = Record({"matrix": MATRIX, "secrets": Labels()})
kinds = {"statistic-leakage": Kind(statement, stating("selection-program"))}
sense, proof = maximise, Tree()
noise = NOISE  # leakages are in nats
