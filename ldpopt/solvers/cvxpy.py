"""Hand the whole convex program to cvxpy and its interior-point solver Clarabel."""

from __future__ import annotations

import warnings
from typing import Literal

import numpy as np

from ldpopt.core.errors import SolverError
from ldpopt.core.forms.convex_program import ConvexProgram
from ldpopt.core.solver import Array, FormSolution, Limits, Solver
from ldpopt.solvers import _convex

SETTINGS = {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10, "equilibrate_enable": False}
"""Of Clarabel. The blocks are conditioned here; with its own scaling too it stalls from 4 values on."""
LARGEST = 300_000
"""Points × atoms × matrix entries up to which the compiled cone program stays small."""


class Cvxpy(Solver[ConvexProgram]):
    """Hand small programs to cvxpy, each log det as semidefinite and exponential cones."""

    def accepts(self, form: ConvexProgram) -> Literal[True] | str:
        """Accept small convex programs."""
        if form.blocks.size > LARGEST:
            return f"the cone program would have {form.blocks.size} coefficients, more than {LARGEST}"
        return True

    def suits(self, form: ConvexProgram) -> Literal[True] | str:
        """Leave the first choice to other solvers."""
        return "slower and less accurate than frank-wolfe"

    def run(self, form: ConvexProgram, limits: Limits) -> FormSolution:
        """Solve the model, and certify the answer."""
        import cvxpy as cp

        start = _convex.value(form, form.start)
        limits.keep(start, np.inf, lambda: _convex.solution(form, form.start, limits, {}))
        limits.check()
        _, atoms, size, _ = form.blocks.shape
        share = cp.Variable(atoms, nonneg=True)  # of the total mass: keeps large columns in scale
        theta = cp.multiply(1 / _convex.masses(form), share)
        terms = []
        for w, blocks in zip(form.weights, _conditioned(form), strict=True):
            matrix = cp.reshape(blocks.reshape(atoms, -1).T @ theta, (size, size), order="C")
            terms.append(w * cp.log_det((matrix + matrix.T) / 2))
        restrictions = [form.constraints @ theta == 1]
        if np.isfinite(form.budget):
            restrictions.append(form.costs @ theta <= form.budget)
        question = cp.Problem(cp.Maximize(cp.sum(cp.hstack(terms))), restrictions)
        try:
            with warnings.catch_warnings():
                # "may be inaccurate": the certificate says how accurate it is
                warnings.simplefilter("ignore", UserWarning)
                question.get_problem_data(cp.CLARABEL)  # compiles; the solve below finds it done
                search = limits.part(0.8)
                search.check()
                seconds = min(search.remaining(), 1e6)
                question.solve(solver=cp.CLARABEL, time_limit=seconds, **SETTINGS)
        except cp.SolverError as error:
            raise SolverError(f"cvxpy: {error}") from None
        if theta.value is None:
            limits.check()
            raise SolverError(f"cvxpy ended with status {question.status}")
        used = _inside(form, np.asarray(theta.value))
        iterations = float(question.solver_stats.num_iters or 0)
        return _convex.solution(form, used, limits, {"iterations": iterations})


def _conditioned(form: ConvexProgram) -> Array:
    """Write the blocks in coordinates where the matrices at the start are multiples of 1.

    log det only shifts; the largest entry of all blocks is 1.
    """
    root = np.linalg.inv(np.linalg.cholesky(_convex.moments(form, form.start)))
    blocks: Array = root[:, None] @ form.blocks @ root[:, None].swapaxes(2, 3)
    return blocks / blocks.max()


def _inside(form: ConvexProgram, theta: Array) -> Array:
    """Find the nearest feasible point: no negligible atoms, and a budget that is met."""
    used = _convex.cleaned(form, np.maximum(theta, 0.0))
    spent = float(form.costs @ used)
    if spent > form.budget:
        room = form.budget - float(form.costs @ form.start)
        share = (spent - form.budget) / (spent - form.budget + room)
        used = (1 - share) * used + share * form.start
    return used
