"""Selections: one row per group, what they cover, how they improve, and the prices that bound them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array

from ldpopt.core import certify, exact
from ldpopt.core.forms.selections import SelectionProgram
from ldpopt.core.limits import UNLIMITED, Limits
from ldpopt.core.validate import Array, Whole

Selection = Whole
"""The selected row of each group."""
Matching = Whole
"""The output matched to each group, −1 for none."""


def members(form: SelectionProgram) -> list[Whole]:
    """List the rows of each group."""
    order = np.argsort(form.groups, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(form.groups[order])) + 1)


def is_deterministic(matrix: csr_array) -> bool:
    """Return whether every row has a single entry, which is 1."""
    return bool((np.diff(matrix.indptr) == 1).all() and (matrix.data == 1).all())


def adjacency(form: SelectionProgram) -> csr_array:
    """Build the graph in which group g and output y are adjacent if some row of g is the output y."""
    shape = (int(form.groups.max()) + 1, form.matrix.shape[1])
    entries = (np.ones(len(form.groups)), (form.groups, form.matrix.indices))
    graph = csr_array(coo_array(entries, shape=shape))
    graph.sum_duplicates()
    return graph


def matched_selection(form: SelectionProgram, matching: Matching) -> Selection:
    """Select in each group a row whose output is the matched one; without one, the first row."""
    rows = np.arange(len(form.groups))
    wanted = matching[form.groups] == form.matrix.indices
    choice = np.full(len(matching), 2 * len(rows))
    np.minimum.at(choice, form.groups, np.where(wanted, rows, rows + len(rows)))
    return np.where(choice >= len(rows), choice - len(rows), choice)


def covered(matrix: csr_array, selection: Selection) -> Array:
    """Compute max_g W[θ_g, y] for every y."""
    chosen = matrix[selection]
    top = np.zeros(matrix.shape[1])
    np.maximum.at(top, chosen.indices, chosen.data)
    return top


def row_gains(matrix: csr_array, level: Array) -> Array:
    """Compute Σ_y (W[θ, y] − level_y)⁺ for every row θ."""
    excess = np.maximum(matrix.data - level[matrix.indices], 0.0)
    sums = np.concatenate([[0.0], np.cumsum(excess)])
    return sums[matrix.indptr[1:]] - sums[matrix.indptr[:-1]]


MOST_DENSE, ALWAYS_DENSE = 20_000_000, 100_000
"""Entries up to which a matrix may be stored in full, and up to which it is even if most are 0."""


def improve(form: SelectionProgram, start: Selection, limits: Limits = UNLIMITED) -> Selection:
    """Exchange the row of one group for a better one, until there is none or the time is over.

    Args:
        form: the selection program.
        start: the selection to begin with.
        limits: when to stop.
    """
    m, n = form.matrix.shape
    full = form.matrix.nnz > 0.2 * m * n
    dense = m * n <= (MOST_DENSE if full else ALWAYS_DENSE)
    return (_improve_dense if dense else _improve_sparse)(form, start, limits)


def _improve_sparse(form: SelectionProgram, start: Selection, limits: Limits) -> Selection:
    selection = start.copy()
    parts = members(form)
    rows = [form.matrix[part] for part in parts]
    better = True
    while better:
        better = False
        for g, (part, own) in enumerate(zip(parts, rows, strict=True)):
            if len(part) == 1:
                continue
            if limits.expired():
                return selection
            gains = row_gains(own, covered(form.matrix, np.delete(selection, g)))
            best = int(gains.argmax())
            if gains[best] > gains[np.searchsorted(part, selection[g])] + 1e-12:
                selection[g] = part[best]
                better = True
    return selection


def _improve_dense(form: SelectionProgram, start: Selection, limits: Limits) -> Selection:
    """Improve a selection, with the largest and second largest entry of every output at hand."""
    selection = start.copy()
    matrix, parts = form.matrix.toarray(), members(form)
    if len(parts) == 1:
        return _improve_sparse(form, start, limits)
    rows = [matrix[part] for part in parts]
    chosen = matrix[selection]
    second, first = np.partition(chosen, -2, axis=0)[-2:]
    owner = chosen.argmax(axis=0)
    better = True
    while better:
        better = False
        for g, (part, own) in enumerate(zip(parts, rows, strict=True)):
            if limits.expired():
                return selection
            others = np.where(owner == g, second, first)
            values = np.maximum(own, others).sum(axis=1)
            best = int(values.argmax())
            if values[best] > values[np.searchsorted(part, selection[g])] + 1e-12:
                selection[g], chosen[g] = part[best], own[best]
                second, first = np.partition(chosen, -2, axis=0)[-2:]
                owner = chosen.argmax(axis=0)
                better = True
    return selection


def first_rows(form: SelectionProgram) -> Selection:
    """Select the first row of every group, at no cost."""
    return np.array([part[0] for part in members(form)])


def greedily(form: SelectionProgram, limits: Limits = UNLIMITED) -> Selection:
    """Add, step by step, the row of an open group that covers most in addition.

    The selection covers at least half of the optimum if the time suffices. When the time is over, the
    open groups take their first row.
    """
    selection = np.full(form.groups.max() + 1, -1)
    level = np.zeros(form.matrix.shape[1])
    for _ in selection:
        if limits.expired():
            return np.where(selection < 0, first_rows(form), selection)
        gains = np.where(selection[form.groups] < 0, row_gains(form.matrix, level), -1.0)
        best = int(gains.argmax())
        selection[form.groups[best]] = best
        level = np.maximum(level, form.matrix[[best]].toarray()[0])
    return selection


def selections(form: SelectionProgram) -> Iterator[tuple[int, ...]]:
    """List every selection."""
    return product(*(part.tolist() for part in members(form)))


def count_selections(form: SelectionProgram) -> float:
    """Count the selections (inf if beyond floats)."""
    with np.errstate(over="ignore"):
        return float(np.prod(np.bincount(form.groups).astype(np.float64)))


def price_bound(form: SelectionProgram, prices: Array) -> float:
    """Bound max Σ_y max_g W[θ_g, y] by Σ_y v_y + Σ_g max_{θ in g} Σ_y (W[θ, y] − v_y)⁺, any v ≥ 0.

    The minimum over v is the value of the facility-location LP.
    """
    best = np.zeros(form.groups.max() + 1)
    np.maximum.at(best, form.groups, row_gains(form.matrix, prices))
    return float(prices.sum() + best.sum())


def restricted(form: SelectionProgram, group: int, row: int) -> tuple[SelectionProgram, Selection]:
    """Restrict the program to a row of a group; return also the old numbers of its rows.

    Args:
        form: the selection program.
        group: the group that loses its choice.
        row: the row that it keeps.
    """
    kept = np.flatnonzero((form.groups != group) | (np.arange(len(form.groups)) == row))
    return SelectionProgram(form.matrix[kept], form.groups[kept]), kept


# ------------------------------------------------------------ exact claims


def _plain_rows(matrix: csr_array) -> Iterator[tuple[list[int], list[float]]]:
    """List the outputs and entries of each row."""
    columns, entries = matrix.indices.tolist(), matrix.data.tolist()
    ends = matrix.indptr.tolist()
    return ((columns[a:b], entries[a:b]) for a, b in pairwise(ends))


def _released_rows(matrix: csr_array) -> list[exact.SelectionRow]:
    """Write the rows of a mechanism as the checker reads them, each divided by its exact sum."""
    return [exact.released_row(*row, i) for i, row in enumerate(_plain_rows(matrix))]


def exact_value(matrix: csr_array, selection: Sequence[int] | Selection) -> float:
    """Compute log Σ_y max_g W[θ_g, y] of a mechanism, rounded down."""
    return certify.value_below(
        exact.selection_leakage(_released_rows(matrix[np.asarray(selection)])).low
    )


def exact_bound(form: SelectionProgram, proof: dict[str, Any]) -> float:
    """Compute what a proof tree bounds for a mechanism, in nats, rounded up."""
    groups = [part.tolist() for part in members(form)]
    question = exact.SelectionStatement(_released_rows(form.matrix), form.matrix.shape[1], groups)
    total = exact.selection_bound(exact.PriceTree().read(proof, "proof"), question)
    return certify.value_above(exact.log_above(Fraction(total, exact.PRICE_UNIT)))


def leaf(prices: Array) -> dict[str, Any]:
    """Write a proof by prices alone."""
    outputs = np.flatnonzero(prices)
    return {"outputs": outputs.tolist(), "prices": prices[outputs].tolist()}
