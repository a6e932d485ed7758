"""List every ray of the cone, then one linear program."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from ldpopt.core.form import Form, FormSolution
from ldpopt.core.solver import Progress, Solver
from ldpopt.forms.column_program import ColumnProgram
from ldpopt.theory.columns.linear_program import solve_listed

MOST_COLUMNS = 2**20
FASTER_BELOW = 2**14
"""Where column generation overtakes the full list (``ldpopt bench staircase``)."""


class Enumerate(Solver):
    """The explicit LP by HiGHS: exact and simple, but the list has 2^k columns and more."""

    name: ClassVar[str] = "enumerate"
    tuned: ClassVar[bool] = True

    def accepts(self, form: Form) -> Literal[True] | str:
        """Column programs with at most a million rays."""
        if not isinstance(form, ColumnProgram):
            return f"solves column programs, not a {form.name}"
        if (columns := form.cone.size()) > MOST_COLUMNS:
            return f"the cone has {columns:.3g} rays, more than {MOST_COLUMNS} cannot be listed"
        return True

    def suits(self, form: Form) -> Literal[True] | str:
        """Small lists only."""
        assert isinstance(form, ColumnProgram)
        if (columns := form.cone.size()) > FASTER_BELOW:
            return f"slower than column generation beyond {FASTER_BELOW} rays; here are {columns}"
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
        """List, evaluate, solve."""
        assert isinstance(form, ColumnProgram)
        rays, tuned = form.cone.rays(), self.tuned
        return solve_listed(rays, form.utility(rays), gap=gap, time_limit=time_limit, tuned=tuned)


class EnumerateDefault(Enumerate):
    """The same LP with HiGHS's default settings: a baseline for the benchmark."""

    name: ClassVar[str] = "enumerate-default"
    tuned: ClassVar[bool] = False

    def suits(self, form: Form) -> Literal[True] | str:
        """Never."""
        return "a baseline for the benchmark"
