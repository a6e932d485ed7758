"""List the rays of the cones, then one linear program: for objectives that are not piecewise linear."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from scipy.optimize import linprog

from ldpopt.core.errors import SolverError
from ldpopt.core.form import FormSolution
from ldpopt.core.highs import scipy_options
from ldpopt.core.limits import Limits, OutOfTime
from ldpopt.core.solver import Solver
from ldpopt.core.status import Status
from ldpopt.forms.mechanism_program import Assigned, MechanismProgram


class MechanismRays(Solver[MechanismProgram]):
    """Double description of each cone with its budgets, and HiGHS over the rays.

    g − λ·t is convex and positively homogeneous on {(w, t) : w in the cone, t_j ≥ h_j(w)}, so that some
    optimal mechanism has rays of it as columns.
    """

    name: ClassVar[str] = "mechanism-rays"

    def accepts(self, form: MechanismProgram) -> bool | str:
        """Accept programs without side conditions, which are about single pieces."""
        return "side conditions need mechanism-highs" if form.conditions else True

    def run(self, form: MechanismProgram, limits: Limits) -> FormSolution:
        """List, evaluate, solve."""
        limits.check()
        listed, k = form.rays(), form.inputs
        rays = np.hstack(listed)
        numbers = np.repeat(np.arange(len(listed)), [part.shape[1] for part in listed])
        used = rays[:k].sum(axis=0) > 0
        rays, numbers = rays[:, used], numbers[used]
        rays = rays / rays[:k].max(axis=0)
        gains = form.utility(rays[:k])
        scale = float(np.abs(gains).max()) or 1.0
        most = np.array([budget.most for budget in form.budgets])
        found = linprog(
            -gains / scale,
            A_ub=rays[k:] if len(most) else None,
            b_ub=most if len(most) else None,
            A_eq=rays[:k],
            b_eq=np.ones(k),
            method="highs",
            options={
                "primal_feasibility_tolerance": 1e-10,
                "dual_feasibility_tolerance": 1e-10,
                **scipy_options(limits),
            },
        )
        if found.status == 1:
            raise OutOfTime
        if found.status == 2:
            return FormSolution(Status.INFEASIBLE)
        if found.status != 0:
            raise SolverError(f"HiGHS ended with: {found.message}")
        dual = -found.eqlin.marginals * scale
        prices = np.maximum(-found.ineqlin.marginals * scale, 0) if len(most) else np.zeros(0)
        slack = gains - dual @ rays[:k] - prices @ rays[k:]
        dual = dual + max(0.0, float((slack / rays[:k].sum(axis=0)).max()))
        weights = found.x
        kept = weights > 0
        return FormSolution(
            Status.OPTIMAL,
            Assigned(rays[:k, kept] * weights[kept], numbers[kept]),
            float(gains @ weights),
            float(dual.sum() + prices @ most),
            {"dual": dual.tolist(), "prices": prices.tolist()},
            {"rays": float(rays.shape[1])},
        )
