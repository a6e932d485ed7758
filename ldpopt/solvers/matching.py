"""A largest matching between groups and outputs: exact for deterministic rows, and fast."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from scipy.sparse.csgraph import maximum_bipartite_matching

from ldpopt.core.form import Form, FormSolution
from ldpopt.core.solver import Progress, Solver
from ldpopt.forms.selection_program import SelectionProgram
from ldpopt.theory.leakage.matching import adjacency, matched_solution
from ldpopt.theory.leakage.selection import is_deterministic


class MaximumMatching(Solver):
    """Hopcroft–Karp (scipy), with the König cover as certificate."""

    name: ClassVar[str] = "matching"

    def accepts(self, form: Form) -> Literal[True] | str:
        """Selection programs whose rows are deterministic."""
        if not isinstance(form, SelectionProgram):
            return f"solves selection programs, not a {form.name}"
        if not is_deterministic(form.matrix):
            return "the mechanism is not deterministic"
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
        """Match groups to outputs."""
        assert isinstance(form, SelectionProgram)
        graph = adjacency(form)
        matching = maximum_bipartite_matching(graph, perm_type="column").astype(np.int64)
        return matched_solution(form, matching, {"edges": graph.nnz})
