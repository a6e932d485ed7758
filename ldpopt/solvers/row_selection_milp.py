"""The facility-location MILP by HiGHS, proven by a branching tree of prices."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array, csr_array

from ldpopt.core import highs
from ldpopt.core.errors import SolverError
from ldpopt.core.forms.selections import SelectionProgram
from ldpopt.core.solver import Array, FormSolution, Limits, Solver
from ldpopt.measures import row_selection
from ldpopt.solvers._leakage.selection_proof import keep_priced, proven

MOST_ENTRIES = 200_000
QUICK = 2_000


class MilpHighs(Solver[SelectionProgram]):
    """Solve max Σ W[θ,y] z[θ,y], z ≤ x, Σ_θ z[θ,y] ≤ 1, one x per group, x binary, by HiGHS.

    HiGHS finds the selection. Its own bound leaves no trace that could be checked, so the bound of
    the result is what a tree of price LPs proves (``milp_bound`` in the stats is what HiGHS says).
    """

    def accepts(self, form: SelectionProgram) -> Literal[True] | str:
        """Accept selection programs with a model of bearable size."""
        if form.matrix.nnz > MOST_ENTRIES:
            return f"the model has {form.matrix.nnz} assignments, more than {MOST_ENTRIES}"
        return True

    def suits(self, form: SelectionProgram) -> Literal[True] | str:
        """Recommend this solver for small models."""
        if form.matrix.nnz > QUICK:
            return f"slower than cuts beyond {QUICK} entries; here are {form.matrix.nnz}"
        return True

    def run(self, form: SelectionProgram, limits: Limits) -> FormSolution:
        """Solve the MILP, then prove its answer."""
        keep_priced(form, row_selection.first_rows(form), {}, limits)
        limits.check()
        point, said = facility_location(form, limits.part(0.5))
        point = row_selection.improve(form, point, limits)
        stats = {"milp_bound": said}
        keep_priced(form, point, stats, limits)
        # nodes of the proof times entries of the matrix
        return proven(form, point, 10 + 2_000_000 // form.matrix.nnz, stats, limits)


def facility_location(form: SelectionProgram, limits: Limits) -> tuple[row_selection.Selection, float]:
    """Return the selection that HiGHS finds, and its bound on e^SML (inf if it stopped early)."""
    model = FacilityModel(form)
    options: Any = {"mip_rel_gap": 0.0, **highs.scipy_options(limits)}
    integral = (np.arange(len(model.cost)) < len(form.groups)).astype(np.int64)
    found = milp(
        model.cost,
        integrality=integral,
        bounds=Bounds(0, 1),
        constraints=model.constraints,
        options=options,
    )
    if found.status not in (0, 1):
        raise SolverError(f"HiGHS ended with: {found.message}")
    if found.x is None:
        return row_selection.greedily(form, limits), math.inf
    weights = found.x[: len(form.groups)]
    point = np.array([part[weights[part].argmax()] for part in row_selection.members(form)])
    return point, -float(found.mip_dual_bound)


class FacilityModel:
    """The variables x (one per row) and z (one per entry of W), costs −W, and the constraints."""

    def __init__(self, form: SelectionProgram) -> None:
        rows, columns = form.matrix.tocoo().coords
        m, entries = len(form.groups), form.matrix.nnz
        self.cost = np.concatenate([np.zeros(m), -form.matrix.data])
        z = m + np.arange(entries)
        own = _rows(np.arange(entries), rows, np.ones(entries), (entries, m + entries))
        link = _rows(np.arange(entries), z, np.ones(entries), (entries, m + entries)) - own
        assign = _rows(columns, z, np.ones(entries), (form.matrix.shape[1], m + entries))
        count = int(form.groups.max()) + 1
        choose = _rows(form.groups, np.arange(m), np.ones(m), (count, m + entries))
        self.constraints = [
            LinearConstraint(link, -np.inf, 0),
            LinearConstraint(assign, -np.inf, 1),
            LinearConstraint(choose, 1, 1),
        ]


def _rows(places: Any, columns: Any, values: Array, shape: tuple[int, int]) -> csr_array:
    return csr_array(coo_array((values, (places, columns)), shape=shape))
