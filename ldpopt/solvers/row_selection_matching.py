"""A largest matching between groups and outputs: exact for deterministic rows, and fast."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from scipy.sparse.csgraph import maximum_bipartite_matching

from ldpopt.core.forms.selections import SelectionProgram
from ldpopt.core.solver import FormSolution, Limits, Solver
from ldpopt.measures.row_selection import adjacency, is_deterministic
from ldpopt.solvers._leakage.matched import matched_solution


class MaximumMatching(Solver[SelectionProgram]):
    """Hopcroft–Karp (scipy), with the König cover as certificate."""

    name: ClassVar[str] = "matching"

    def accepts(self, form: SelectionProgram) -> Literal[True] | str:
        """Accept selection programs whose rows are deterministic."""
        if not is_deterministic(form.matrix):
            return "the mechanism is not deterministic"
        return True

    def run(self, form: SelectionProgram, limits: Limits) -> FormSolution:
        """Match groups to outputs."""
        graph = adjacency(form)
        matching = maximum_bipartite_matching(graph, perm_type="column").astype(np.int64)
        with limits.proving():
            return matched_solution(form, matching, {"edges": graph.nnz})
