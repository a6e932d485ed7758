"""A level for each pair of secret values, where some must be hidden from each other more than others."""

from __future__ import annotations

from typing import Any

from ldpopt.core.errors import InvalidInputError
from ldpopt.core.exact import LEAST_EPSILON, MOST_EPSILON
from ldpopt.tables.batches import open_table
from ldpopt.tables.cells import is_number, numbered, quoted, text_cells
from ldpopt.tables.domain import Attribute

Multiples = tuple[tuple[float | None, ...], ...]
NO_LIMIT = "inf"
"""How a table writes that a pair needs no hiding."""


def multiples(secret: Attribute, table: Any) -> Multiples:
    """Read which multiple of ε is the level of each pair of secrets; 1 for those that are not listed.

    Args:
        secret: the secret, whose values are named as :attr:`Attribute.labels` has them.
        table: what :func:`ldpopt.tables.batches.open_table` reads, of three columns: a value, another
            one, and the multiple, "inf" for no limit.

    Raises:
        InvalidInputError: a row names no pair, or one that was named before, or no multiple.
    """
    labels, reader = list(secret.labels), open_table(table)
    if len(reader.columns) != 3:
        raise InvalidInputError(
            f"{reader.name} must have three columns: a value, another one, and the multiple of epsilon "
            f"that is the level of the two, not {len(reader.columns)}"
        )
    found: list[list[float | None]] = [[None if s == t else 1.0 for t in labels] for s in labels]
    seen: set[frozenset[str]] = set()
    for first_row, batch in numbered(reader.batches(reader.columns)):
        columns = [
            text_cells(name, batch.column(name), first_row, text=True).to_pylist()
            for name in reader.columns
        ]
        for row, (one, other, said) in enumerate(zip(*columns, strict=True), first_row):
            where, pair = f"row {row} of {reader.name}", frozenset((one, other))
            for value in (one, other):
                if value not in labels:
                    raise InvalidInputError(
                        f"{where} names {quoted(value)}, and {secret.name} has the values "
                        f"{', '.join(labels)}"
                    )
            if len(pair) == 1 or pair in seen:
                raise InvalidInputError(
                    f"{where} must name two different values, each pair once, not {one} and {other}"
                )
            seen.add(pair)
            s, t = labels.index(one), labels.index(other)
            found[s][t] = found[t][s] = _multiple(where, said)
    if not any(m is not None for row in found for m in row):
        raise InvalidInputError(
            f"{reader.name} lets every pair of values be told apart: nothing is hidden"
        )
    return tuple(map(tuple, found))


def _multiple(where: str, said: str) -> float | None:
    if said == NO_LIMIT:
        return None
    if is_number(said) and LEAST_EPSILON <= (multiple := float(said)) <= MOST_EPSILON:
        return multiple
    raise InvalidInputError(
        f"{where} must have a multiple of epsilon from {LEAST_EPSILON:g} to {MOST_EPSILON:g}, or "
        f"{NO_LIMIT} for no limit, not {quoted(said)}"
    )


def in_words(secret: Attribute, multiples: Multiples, named: int) -> str:
    """Name the pairs whose multiple is not 1, and say what the others have.

    Args:
        secret: the secret.
        multiples: what :func:`multiples` reads.
        named: how many pairs are named at most.
    """
    labels, said, pairs = secret.labels, [], 0
    for s, row in enumerate(multiples):
        for t, m in enumerate(row[:s]):
            pairs += 1
            if m is None:
                said.append(f"without limit for {labels[t]} and {labels[s]}")
            elif m != 1:
                said.append(f"{m:g} for {labels[t]} and {labels[s]}")
    more = len(said) - named
    last = [*([f"what the file says for {more} more"] if more > 0 else [])]
    last += [f"1 for {'all' if not said else 'all other'} pairs"] * (len(said) < pairs)
    return ", ".join([*said[:named], *last])
