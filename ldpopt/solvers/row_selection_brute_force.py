"""Try every selection: the reference for small cases."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ldpopt.core.forms.selections import SelectionProgram
from ldpopt.core.solver import FormSolution, Limits, Solver
from ldpopt.measures import row_selection
from ldpopt.solvers._leakage.selection_proof import keep_priced, proven

MOST_SELECTIONS = 1_000_000
QUICK = 256


class BruteForce(Solver[SelectionProgram]):
    """The best of all selections; the proof is the shortest tree of prices that shows it."""

    def accepts(self, form: SelectionProgram) -> Literal[True] | str:
        """Accept selection programs with at most a million selections."""
        if (count := row_selection.count_selections(form)) > MOST_SELECTIONS:
            return f"there are {count:.3g} selections, more than {MOST_SELECTIONS}"
        return True

    def suits(self, form: SelectionProgram) -> Literal[True] | str:
        """Recommend this solver for a few hundred selections."""
        if (count := row_selection.count_selections(form)) > QUICK:
            return f"slower than branching beyond {QUICK} selections; here are {count:.3g}"
        return True

    def run(self, form: SelectionProgram, limits: Limits) -> FormSolution:
        """List, take the best, prove it."""
        search = limits.part(0.5)
        best, most, tried, finished = None, -1.0, 0, True
        dense = form.matrix.toarray()
        for rows in row_selection.selections(form):
            if tried % 256 == 255 and search.expired():
                finished = False
                break
            value = dense[list(rows)].max(axis=0).sum()
            tried += 1
            if value > most:
                best, most = rows, value
        assert best is not None
        stats: dict[str, float] = {"selections": tried}
        keep_priced(form, np.array(best), stats, limits)
        # the tree branches as long as prices do not prove the best selection
        # the proof has at most this many nodes; where they do not suffice, the result has a gap
        nodes = min(tried + 1, 5_000) if finished else 1
        return proven(form, np.array(best), nodes, stats, limits)
