"""List every ray of the cone, then one linear program."""

from __future__ import annotations

from decimal import Decimal
from typing import ClassVar, Literal

import numpy as np

from ldpopt.core.forms.column_program import ColumnProgram, Cone
from ldpopt.core.highs import ColumnLP, solve_listed
from ldpopt.core.solver import Array, FormSolution, Limits, Solver

MOST_COLUMNS = 2**20
FASTER_BELOW = 2**14
"""Where column generation overtakes the full list (``ldpopt bench staircase``)."""


class Enumerate(Solver[ColumnProgram]):
    """The explicit LP by HiGHS: exact and simple, but the list has 2^k columns and more.

    A solver that is used again for the same cone starts from the optimum that it found last.
    """

    tuned: ClassVar[bool] = True
    _last: tuple[Cone, Array, ColumnLP] | None = None

    def accepts(self, form: ColumnProgram) -> Literal[True] | str:
        """Accept column programs with at most a million rays."""
        if (columns := form.cone.size()) > MOST_COLUMNS:
            return f"the cone has {Decimal(columns):.3g} rays, more than {MOST_COLUMNS} cannot be listed"
        return True

    def suits(self, form: ColumnProgram) -> Literal[True] | str:
        """Recommend this solver for small lists only."""
        if (columns := form.cone.size()) > FASTER_BELOW:
            here = f"{Decimal(columns):.3g}"
            return f"slower than column generation beyond {FASTER_BELOW} rays; here are {here}"
        return True

    def run(self, form: ColumnProgram, limits: Limits) -> FormSolution:
        """List, evaluate, solve."""
        limits.check()
        if self._last is None or self._last[0] is not form.cone:
            rays = form.cone.rays()
            lp = ColumnLP(len(rays), tuned=self.tuned)
            lp.add(rays, np.zeros(rays.shape[1]))
            self._last = form.cone, rays, lp
        _, rays, lp = self._last
        return solve_listed(rays, form.utility(rays), limits, lp)


class EnumerateDefault(Enumerate):
    """The LP of ``enumerate`` with HiGHS's default settings: a baseline for the benchmark."""

    tuned: ClassVar[bool] = False

    def suits(self, form: ColumnProgram) -> Literal[True] | str:
        """Decline to be chosen by ``auto``."""
        return "a baseline for the benchmark"
