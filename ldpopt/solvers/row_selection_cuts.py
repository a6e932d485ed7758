"""The price LP by Benders cuts, rounding and local search, then branching: a bound at any size."""

from __future__ import annotations

import math

from ldpopt.core.forms.selections import SelectionProgram
from ldpopt.core.solver import FormSolution, Limits, Solver
from ldpopt.measures import row_selection
from ldpopt.measures.row_selection_lp import PriceLP, rounded
from ldpopt.solvers._leakage.selection_proof import keep_priced, proven, with_proof

MOST_WORK = 5_000_000
"""Nodes of the branching times entries of the matrix."""


class Cuts(Solver[SelectionProgram]):
    """Minimise Σ_y v_y + Σ_g max_θ Σ_y (W[θ,y] − v_y)⁺, and round a selection from its dual.

    Where that leaves a gap (the Fano plane: 2 against 5/3), it branches over the secrets while there is
    time; the better bound of the two is the result's.
    """

    def run(self, form: SelectionProgram, limits: Limits) -> FormSolution:
        """Bound by the LP, round its weights."""
        keep_priced(form, row_selection.first_rows(form), {}, limits)
        relaxed = PriceLP(form).solve(limits.part(0.6))
        rng, enough = limits.generator(), relaxed.bound * (1 - 1e-12)
        point = rounded(form, relaxed.weights, 150, rng, limits.part(0.8), enough)
        proof = row_selection.leaf(relaxed.prices)
        stats: dict[str, float] = {"rounds": relaxed.rounds, "cuts": relaxed.cuts}
        value = math.log(row_selection.covered(form.matrix, point).sum())
        limits.keep(value, math.log(relaxed.bound), lambda: with_proof(form, point, proof, stats))
        return proven(form, point, 10 + MOST_WORK // form.matrix.nnz, stats, limits, relaxed)
