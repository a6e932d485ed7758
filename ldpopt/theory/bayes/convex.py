"""What the solvers of a :class:`ConvexProgram` share: value, gradient, linear step, certificate."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linprog

from ldpopt.core import highs
from ldpopt.core.errors import SolverError
from ldpopt.core.form import FormSolution
from ldpopt.core.limits import UNLIMITED, Limits, OutOfTime
from ldpopt.core.status import Status, relative_gap
from ldpopt.core.validate import Array
from ldpopt.forms.convex_program import ConvexProgram


class Step(NamedTuple):
    """The linear program over all atoms at a gradient: its vertex and its duals."""

    vertex: Array
    dual: Array
    price: float


def moments(form: ConvexProgram, theta: Array) -> Array:
    """Compute the matrices Σ_j θ_j F_ij, one for every point i."""
    return np.tensordot(form.blocks, theta, axes=(1, 0))


def value(form: ConvexProgram, theta: Array) -> float:
    """Evaluate the objective; it is −inf where a matrix is singular."""
    sign, log_det = np.linalg.slogdet(moments(form, theta))
    if (sign <= 0).any():
        return -math.inf
    return form.offset + form.scale * float(form.weights @ log_det)


def gradient(form: ConvexProgram, theta: Array) -> Array:
    """Compute g_j = scale Σ_i w_i tr(M_i⁻¹ F_ij)."""
    inverse = np.linalg.inv(moments(form, theta))
    total: Array = np.einsum("i,ijxy,iyx->j", form.weights, form.blocks, inverse, optimize=True)
    return form.scale * total


def linear_step(form: ConvexProgram, g: Array, limits: Limits = UNLIMITED) -> Step:
    """Maximise g·θ over the feasible set; its duals satisfy β·a_j + λ c_j ≥ g_j exactly.

    Raises:
        OutOfTime: the limits are over before the linear program is solved.
    """
    options: Any = highs.scipy_options(limits)
    bounded = math.isfinite(form.budget)
    found = linprog(
        -g,
        A_ub=form.costs[None] if bounded else None,
        b_ub=[form.budget] if bounded else None,
        A_eq=form.constraints,
        b_eq=np.ones(len(form.constraints)),
        method="highs",
        options=options,
    )
    if found.status == 1:
        raise OutOfTime
    if found.status != 0:
        raise SolverError(f"the linear step failed: {found.message}")
    price = max(0.0, -float(found.ineqlin.marginals[0])) if bounded else 0.0
    dual = -np.asarray(found.eqlin.marginals)
    # every entry of a column is at least 1/k-th of its sum, so raising β repairs what rounding broke
    short = float((g - dual @ form.constraints - price * form.costs).max())
    least = float(form.constraints.sum(axis=0).min())
    dual += max(short, 0.0) / least
    return Step(np.asarray(found.x), dual, price)


def bound(form: ConvexProgram, theta: Array, step: Step) -> float:
    """Compute the upper bound that the duals prove with θ as reference."""
    size = form.blocks.shape[-1]
    budget = step.price * form.budget if step.price else 0.0
    return float(value(form, theta) - form.scale * size + step.dual.sum() + budget)


def solution(form: ConvexProgram, theta: Array, limits: Limits, stats: dict[str, float]) -> FormSolution:
    """Return the point with its certificate: value, bound and the numbers that prove it.

    Without time for the linear step there is no bound.
    """
    reached = value(form, theta)
    try:
        with limits.proving():
            step = linear_step(form, gradient(form, theta), limits)
    except OutOfTime:
        return FormSolution(Status.FEASIBLE, theta, reached, stats=stats)
    limit = max(bound(form, theta, step), reached)
    used = np.flatnonzero(theta)
    proof = {
        "reference": [[list(form.labels[j]), float(theta[j])] for j in used],
        "dual": step.dual.tolist(),
        "price": step.price,
    }
    measured = relative_gap(reached, limit)
    close = measured is not None and measured <= limits.gap
    return FormSolution(
        Status.OPTIMAL if close else Status.GAP,
        point=theta,
        value=reached,
        bound=limit,
        proof=proof,
        stats=stats,
    )


def cleaned(form: ConvexProgram, theta: Array) -> Array:
    """Drop negligible atoms of the point, and scale it to meet its constraints again."""
    kept = np.where(theta > 1e-9, theta, 0.0)
    return kept / (form.constraints @ kept).mean()
