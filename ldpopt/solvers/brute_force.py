"""Try every selection: the reference for small cases."""

from __future__ import annotations

import math
import time
from typing import Any, ClassVar, Literal

import numpy as np

from ldpopt.core.form import Form, FormSolution
from ldpopt.core.solver import Progress, Solver
from ldpopt.core.status import Status
from ldpopt.forms.selection_program import SelectionProgram
from ldpopt.theory.leakage import selection
from ldpopt.theory.leakage.selection_lp import Branching

MOST_SELECTIONS = 1_000_000
QUICK = 256
MOST_NODES = 5_000
"""The proof stops branching here; a result that it does not close says so by its gap."""


class BruteForce(Solver):
    """The best of all selections; the proof is the shortest tree of prices that shows it."""

    name: ClassVar[str] = "brute-force"

    def accepts(self, form: Form) -> Literal[True] | str:
        """Selection programs with at most a million selections."""
        if not isinstance(form, SelectionProgram):
            return f"solves selection programs, not a {form.name}"
        if (count := selection.count_selections(form)) > MOST_SELECTIONS:
            return f"there are {count:.3g} selections, more than {MOST_SELECTIONS}"
        return True

    def suits(self, form: Form) -> Literal[True] | str:
        """A few hundred selections."""
        assert isinstance(form, SelectionProgram)
        if (count := selection.count_selections(form)) > QUICK:
            return f"slower than branching beyond {QUICK} selections; here are {count:.3g}"
        return True

    def run(
        self,
        form: Form,
        *,
        gap: float,
        time_limit: float | None,
        seed: int,
        progress: Progress | None,
        **options: Any,
    ) -> FormSolution:
        """List, take the best, prove it."""
        assert isinstance(form, SelectionProgram)
        deadline = math.inf if time_limit is None else time.monotonic() + time_limit
        best, most, tried, finished = None, -1.0, 0, True
        dense = form.matrix.toarray()
        for rows in selection.selections(form):
            if tried % 1024 == 1023 and time.monotonic() > deadline:
                finished = False
                break
            value = dense[list(rows)].max(axis=0).sum()
            tried += 1
            if value > most:
                best, most = rows, value
        assert best is not None
        point = np.array(best)
        # the tree branches as long as prices do not prove the best selection
        nodes = min(tried + 1, MOST_NODES) if finished else 1
        _, proof = Branching(gap, deadline, nodes).run(form, point)
        return FormSolution(
            status=Status.OPTIMAL,
            point=point,
            value=math.log(most),
            bound=selection.exact_bound(form, proof),
            proof=proof,
            stats={"selections": tried},
        )
