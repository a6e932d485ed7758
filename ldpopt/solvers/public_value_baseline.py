"""Release the public value unchanged: a known mechanism to compare with."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from ldpopt.core.forms.column_program import ColumnProgram, Columns
from ldpopt.core.solver import FormSolution, Limits, Solver, Status
from ldpopt.models.block_cone import has_blocks


class PublicColumn(Solver[ColumnProgram]):
    """Release u and ignore s: W[(s, u), y] = 1 for y = u, worth H(U).

    It hides s only as far as P(u|s) depends little on s, so it seldom lies in the cone. The problem
    decides whether it is private, and mixes it with a constant release where it is not.
    """

    automatic: ClassVar[bool] = False

    def accepts(self, form: ColumnProgram) -> Literal[True] | str:
        """Accept column programs over PolyOpt's cone, whose inputs are pairs (s, u)."""
        if has_blocks(form.cone):
            return True
        return "needs the cone of a confidence set, and the inputs of this one are no pairs (s, u)"

    def run(self, form: ColumnProgram, limits: Limits) -> FormSolution:
        """Build the columns; a program without public values has none."""
        if not has_blocks(form.cone):
            return FormSolution(Status.LIMIT)
        a1, a2 = form.cone.shape
        rows = np.tile(np.eye(a2), (a1, 1))
        return FormSolution(Status.FEASIBLE, Columns(np.ones(a2), rows), float(form.utility(rows).sum()))
