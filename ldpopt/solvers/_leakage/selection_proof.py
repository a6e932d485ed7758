"""What the solvers of a :class:`SelectionProgram` share: the solution with its proof, within limits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ldpopt.core.form import FormSolution, Status
from ldpopt.core.forms.selections import SelectionProgram
from ldpopt.core.limits import Limits
from ldpopt.measures import row_selection
from ldpopt.measures.row_selection import Selection
from ldpopt.measures.row_selection_lp import Branching, Relaxed


def proven(
    form: SelectionProgram,
    point: Selection,
    nodes: int,
    stats: dict[str, float],
    limits: Limits,
    relaxed: Relaxed | None = None,
) -> FormSolution:
    """Branch from a selection, to find a proof tree of prices and perhaps a better selection.

    Args:
        form: the selection program.
        point: the selection to begin with.
        nodes: the most nodes of the branching.
        stats: counts worth printing.
        limits: the limits of the run.
        relaxed: the solution of the linear program of the root, if that is known.
    """
    with limits.proving():
        best, tree = Branching(limits.part(0.8), nodes).run(form, point, relaxed)
        return with_proof(form, best, tree, stats)


def keep_priced(
    form: SelectionProgram, point: Selection, stats: dict[str, float], limits: Limits
) -> None:
    """Keep a selection with the best of three proofs that need no search.

    The prices are what it covers, 0 (they prove the number of groups) and max_θ W[θ, y] (no output is
    worth more).

    Args:
        form: the selection program.
        point: the selection.
        stats: counts worth printing.
        limits: the limits of the run, which keep the solution.
    """
    reached = row_selection.covered(form.matrix, point)
    candidates = [reached, np.zeros_like(reached), form.matrix.max(axis=0).toarray()]
    bounds = [row_selection.price_bound(form, prices) for prices in candidates]
    best = int(np.argmin(bounds))
    limits.keep(
        math.log(reached.sum()),
        math.log(bounds[best]),
        lambda: with_proof(form, point, row_selection.leaf(candidates[best]), stats),
    )


def with_proof(
    form: SelectionProgram, point: Selection, proof: dict[str, Any], stats: dict[str, float]
) -> FormSolution:
    """Return a selection with what a proof tree bounds, in exact arithmetic.

    Args:
        form: the selection program.
        point: the selection.
        proof: the proof tree as plain data.
        stats: counts worth printing.
    """
    return FormSolution(
        status=Status.GAP,
        point=point,
        value=math.log(row_selection.covered(form.matrix, point).sum()),
        bound=row_selection.exact_bound(form, proof),
        proof=proof,
        stats=stats,
    )
