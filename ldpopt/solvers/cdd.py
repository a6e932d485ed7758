"""Find the rays from the inequalities of the cone by cddlib, then one linear program.

The independent cross-check: nothing here relies on the known description of the rays.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from ldpopt.core import elsewhere
from ldpopt.core.column_lp import solve_listed
from ldpopt.core.errors import SolverError
from ldpopt.core.form import FormSolution
from ldpopt.core.forms.column_program import ColumnProgram
from ldpopt.core.limits import Limits
from ldpopt.core.solver import Solver
from ldpopt.core.validate import Array

MOST_INPUTS = 12
QUICK_INPUTS = 8
"""Up to here cddlib ends within a second; beyond, it runs in a process that can be stopped in time."""
MOST_EPSILON = 4.0


class Cdd(Solver[ColumnProgram]):
    """Vertex enumeration by the double description method, in floating point."""

    name: ClassVar[str] = "cdd"
    requires: ClassVar[tuple[str, ...]] = ("cdd",)

    def accepts(self, form: ColumnProgram) -> Literal[True] | str:
        """Accept column programs of few inputs: the double description method is exponential."""
        if form.cone.dimension > MOST_INPUTS:
            return f"vertex enumeration of {form.cone.dimension} > {MOST_INPUTS} inputs takes too long"
        if form.cone.epsilon > MOST_EPSILON:
            return f"cddlib's floats lose vertices for epsilon > {MOST_EPSILON:g}"
        return True

    def suits(self, form: ColumnProgram) -> Literal[True] | str:
        """Leave the first choice to other solvers."""
        return "a cross-check, slower than the explicit list"

    def run(self, form: ColumnProgram, limits: Limits) -> FormSolution:
        """Enumerate the rays, evaluate, solve."""
        limits.check()
        A = form.cone.inequalities()
        if limits.deadline is None or form.cone.dimension <= QUICK_INPUTS:
            rays = enumerate_rays(A)
        else:  # cddlib knows no time limit
            rays = np.asarray(elsewhere.call(enumerate_rays, A, limits=limits), np.float64)
        return solve_listed(rays, form.utility(rays), limits)


def enumerate_rays(A: Array) -> Array:
    """Enumerate the extreme rays of {T : A T ≥ 0}, scaled to mean entry 1.

    cddlib enumerates the vertices of the slice Σ_x T_x = 1, which is a polytope as T ≥ 0.
    """
    import cdd

    k = A.shape[1]
    A = A / np.abs(A).max(axis=1, keepdims=True)  # unscaled, cddlib's floats lose vertices earlier
    slice_row = np.hstack([[-1.0], np.ones(k)])
    rows = np.vstack([slice_row, np.hstack([np.zeros((len(A), 1)), A])]).tolist()
    matrix = cdd.matrix_from_array(rows, rep_type=cdd.RepType.INEQUALITY)
    matrix.lin_set = {0}
    generators = np.array(cdd.copy_generators(cdd.polyhedron_from_matrix(matrix)).array)
    if generators.ndim != 2 or not (generators[:, 0] == 1).all():
        raise SolverError("cddlib found no polytope: its floating-point run broke down")
    vertices = np.maximum(generators[:, 1:].T, 0.0)
    return vertices / vertices.mean(axis=0)
