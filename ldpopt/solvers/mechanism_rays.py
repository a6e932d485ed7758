"""List the rays of the cones, then one linear program: for objectives that are not piecewise linear."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from ldpopt.core import highs
from ldpopt.core.form import FormSolution
from ldpopt.core.forms.mechanism_program import Assigned, MechanismProgram
from ldpopt.core.limits import Limits
from ldpopt.core.solver import Solver
from ldpopt.core.status import Status

TOUCHED = 1e-9
"""The weight of columns of infinite worth that no rounding of HiGHS explains."""


class MechanismRays(Solver[MechanismProgram]):
    """Double description of each cone with its budgets, and HiGHS over the rays.

    g − λ·t is convex and positively homogeneous on {(w, t) : w in the cone, t_j ≥ h_j(w)}, so that some
    optimal mechanism has rays of it as columns.
    """

    name: ClassVar[str] = "mechanism-rays"

    def accepts(self, form: MechanismProgram) -> Literal[True] | str:
        """Accept programs without side conditions, which are about single pieces."""
        return "side conditions need mechanism-highs" if form.conditions else True

    def run(self, form: MechanismProgram, limits: Limits) -> FormSolution:
        """List, evaluate, solve."""
        listed, k = form.rays(), form.inputs
        rays = np.hstack(listed)
        numbers = np.repeat(np.arange(len(listed)), [part.shape[1] for part in listed])
        used = rays[:k].sum(axis=0) > 0
        rays, numbers = rays[:, used], numbers[used]
        rays = rays / rays[:k].max(axis=0)
        gains = form.utility(rays[:k])
        most = np.array([budget.most for budget in form.budgets])
        if (endless := np.isinf(gains)).any():  # is some of them a column of a mechanism?
            found = highs.maximise(endless * 1.0, rays[k:], most, rays[:k], np.ones(k), limits)
            if found is not None and found.value > TOUCHED:
                return FormSolution(Status.UNBOUNDED)
            rays, numbers, gains = rays[:, ~endless], numbers[~endless], gains[~endless]
        found = highs.maximise(gains, rays[k:], most, rays[:k], np.ones(k), limits)
        if found is None:
            return FormSolution(Status.INFEASIBLE)
        dual, prices, weights = found.equal, found.at_most, found.point
        slack = gains - dual @ rays[:k] - prices @ rays[k:]
        dual = dual + max(0.0, float((slack / rays[:k].sum(axis=0)).max()))
        kept = weights > 0
        return FormSolution(
            Status.OPTIMAL,
            Assigned(rays[:k, kept] * weights[kept], numbers[kept]),
            float(gains @ weights),
            float(dual.sum() + prices @ most),
            {"dual": dual.tolist(), "prices": prices.tolist()},
            {"rays": float(rays.shape[1])},
        )
