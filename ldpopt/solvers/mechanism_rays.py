"""List the rays of the cones, then one linear program: for objectives that are not piecewise linear."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ldpopt.core import highs
from ldpopt.core.forms.mechanism_program import Assigned, Design, MechanismProgram
from ldpopt.core.solver import Array, FormSolution, Limits, Solver, Status

TWO_REPORTS = "at most two reports are allowed"
TOUCHED = 1e-9
"""The weight of columns of infinite worth that no rounding of HiGHS explains."""


class MechanismRays(Solver[MechanismProgram]):
    """Double description of each cone with its budgets, and HiGHS over the rays.

    g − λ·t is convex and positively homogeneous on {(w, t) : w in the cone, t_j ≥ h_j(w)}, so that some
    optimal mechanism has rays of it as columns.
    """

    def accepts(self, form: MechanismProgram) -> Literal[True] | str:
        """Accept sums over columns without side conditions, which are about single pieces."""
        if isinstance(form.utility, Design):
            return "the objective is no sum over the reports"
        if form.pairs is not None:
            return TWO_REPORTS
        return "side conditions need mechanism-highs" if form.conditions else True

    def run(self, form: MechanismProgram, limits: Limits) -> FormSolution:
        """List, evaluate, solve."""
        assert not isinstance(form.utility, Design)
        k, (rays, numbers) = form.inputs, scaled_rays(form, limits)
        gains = form.utility(rays[:k])
        most, always = beyond_least(rays, form)
        if (endless := np.isinf(gains)).any():  # is some of them a column of a mechanism?
            found = highs.maximise(endless * 1.0, rays[k:], most, rays[:k], np.ones(k), limits)
            if found is not None and found.value > TOUCHED:
                return FormSolution(Status.UNBOUNDED)
            rays, numbers, gains = rays[:, ~endless], numbers[~endless], gains[~endless]
        found = best_weights(gains, rays, most, limits)
        if found is None:
            return FormSolution(Status.INFEASIBLE)
        prices, weights = found.at_most, found.point
        dual = found.equal - prices @ always / k
        kept = weights > 0
        return FormSolution(
            Status.OPTIMAL,
            Assigned(rays[:k, kept] * weights[kept], numbers[kept]),
            found.value,
            float(found.equal.sum() + prices @ most),
            {"dual": dual.tolist(), "prices": prices.tolist()},
            {"rays": float(rays.shape[1])},
        )


def scaled_rays(form: MechanismProgram, limits: Limits) -> tuple[Array, NDArray[np.integer]]:
    """List the rays (w, t) of all cones with the largest w_x = 1, and the number of the cone of each."""
    listed = limits.in_time(form.rays)
    rays = np.hstack(listed)
    numbers = np.repeat(np.arange(len(listed)), [part.shape[1] for part in listed])
    used = rays[: form.inputs].sum(axis=0) > 0
    return rays[:, used] / rays[: form.inputs, used].max(axis=0), numbers[used]


def beyond_least(rays: Array, form: MechanismProgram) -> tuple[Array, Array]:
    """Count only what rays (w, t) spend beyond the least, in place; return what is left, and the least.

    As the means of the columns sum to 1, every mechanism spends at least s = min t/mean(w) of a budget.
    A leakage of nearly 0 leaves the small number e^L − 1 beside it. With the prices λ of what is left,
    β becomes β − λ·s/k.
    """
    k = form.inputs
    mean = rays[:k].mean(axis=0)
    least = (rays[k:] / mean).min(axis=1, initial=np.inf)
    rays[k:] -= least[:, None] * mean
    return np.array([budget.most for budget in form.budgets]) - least, least


def best_weights(gains: Array, rays: Array, most: Array, limits: Limits) -> highs.Maximum | None:
    """Maximise Σ θ_v g(v) over mechanisms Σ θ_v v = 1 that keep the budgets; None if there are none.

    Its multipliers β, raised by what rounding left short, and λ are the dual of the form.

    Args:
        gains: g of every ray.
        rays: the rays (v, t), one per column.
        most: the budgets.
        limits: the time.
    """
    if not gains.size:  # the cones hold w = 0 alone
        return None
    k = len(rays) - len(most)
    units = np.where(most > 0, most, 1.0)  # HiGHS has absolute tolerances
    spent = rays[k:] / units[:, None]
    found = highs.maximise(gains, spent, most / units, rays[:k], np.ones(k), limits)
    if found is None:
        return None
    found = found._replace(at_most=found.at_most / units)
    slack = gains - found.equal @ rays[:k] - found.at_most @ rays[k:]
    raised = max(0.0, float((slack / rays[:k].sum(axis=0)).max()))
    return found._replace(equal=found.equal + raised)
