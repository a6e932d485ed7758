"""Find the rays from the inequalities of the cone by cddlib, then one linear program.

The independent cross-check: nothing here relies on the known description of the rays.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from scipy.optimize import linprog

from ldpopt.core import child_process
from ldpopt.core.errors import SolverError
from ldpopt.core.forms.column_program import ColumnProgram
from ldpopt.core.highs import solve_listed
from ldpopt.core.solver import Array, FormSolution, Limits, Solver

MOST_INPUTS = 12
MOST_EPSILON = 4.0
TOLERANCE = 1e-6
ANOTHER = "another solver may answer"


class Cdd(Solver[ColumnProgram]):
    """Vertex enumeration by the double description method, in floating point."""

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
        # up to here cddlib ends within a second; beyond, it runs in a process that can be stopped
        if limits.deadline is None or form.cone.dimension <= 8:
            rays = enumerate_rays(A)
        else:  # cddlib knows no time limit
            rays = np.asarray(
                child_process.call(enumerate_rays, A, limits=limits, imports="cdd"), np.float64
            )
        return solve_listed(rays, form.utility(rays), limits)


def enumerate_rays(A: Array) -> Array:
    """Enumerate the extreme rays of {T : A T ≥ 0}, scaled to mean entry 1.

    cddlib enumerates the vertices of the slice Σ_x T_x = 1, which is a polytope as T ≥ 0.

    Raises:
        SolverError: cddlib's floats lost vertices: a linear program finds points of the cone that lie
            outside of what the listed rays span, or a listed ray lies outside of the cone.
    """
    import cdd

    k = A.shape[1]
    A = A / np.abs(A).max(axis=1, keepdims=True)  # unscaled, cddlib's floats lose vertices earlier
    slice_row = np.hstack([[-1.0], np.ones(k)])
    rows = np.vstack([slice_row, np.hstack([np.zeros((len(A), 1)), A])]).tolist()
    matrix = cdd.matrix_from_array(rows, rep_type=cdd.RepType.INEQUALITY)
    matrix.lin_set = {0}
    try:
        generators = np.array(cdd.copy_generators(cdd.polyhedron_from_matrix(matrix)).array)
    except RuntimeError:  # "Numerical inconsistency is found"
        generators = np.zeros(0)
    if generators.ndim != 2 or not (generators[:, 0] == 1).all():
        raise SolverError(f"cddlib found no polytope: its floating-point run broke down; {ANOTHER}")
    vertices = np.maximum(generators[:, 1:].T, 0.0)
    rays = vertices / vertices.mean(axis=0)
    _check(A, rays)
    return rays


def _check(A: Array, rays: Array) -> None:
    """Compare the rays with the cone {T : A T ≥ 0, Σ_x T_x = k} in many directions d.

    The largest d·T over the cone, by a linear program, is that of a ray if none is missing.
    """
    k, m = rays.shape
    rng = np.random.default_rng(0)
    # random directions per input in which the list of rays is checked
    directions = np.vstack([np.eye(k), -np.eye(k), rng.normal(size=(20 * k, k))])
    wrong = (A @ rays).min() < -TOLERANCE * k
    for d in directions:
        found = linprog(-d, -A, np.zeros(len(A)), A_eq=np.ones((1, k)), b_eq=[k])
        if wrong or found.fun is None or -found.fun > (d @ rays).max() + TOLERANCE * k * np.abs(d).sum():
            raise SolverError(
                f"cddlib's floats lost rays: the {m:,} that it found do not span the cone; {ANOTHER}"
            )
