"""What the solvers of a :class:`ConvexProgram` share: value, gradient, linear step, certificate."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linprog

from ldpopt.core import certify, highs
from ldpopt.core.errors import SolverError
from ldpopt.core.exact import (
    LeakageCover,
    asymptotic_bound,
    asymptotic_shortage,
    asymptotic_slopes,
    column_renamings,
)
from ldpopt.core.form import FormSolution, Status, relative_gap
from ldpopt.core.forms.convex_program import ConvexProgram
from ldpopt.core.limits import UNLIMITED, Limits, OutOfTime
from ldpopt.core.validate import Array
from ldpopt.solvers import _leakage_cover


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

    Args:
        form: the convex program.
        g: the gradient, a number per atom.
        limits: when to give up.

    Raises:
        OutOfTime: the limits are over before the linear program is solved.
    """
    options: Any = highs.scipy_options(limits)
    bounded = math.isfinite(form.budget)
    mass = masses(form)  # the variables are shares of the total mass, whatever the scale of a column
    size = float(np.abs(g / mass).max()) or 1.0  # a steep objective made HiGHS stop without a message
    found = linprog(
        -g / mass / size,
        A_ub=form.costs[None] / mass if bounded else None,
        b_ub=[form.budget] if bounded else None,
        A_eq=form.constraints / mass,
        b_eq=np.ones(len(form.constraints)),
        method="highs",
        options=options,
    )
    if found.status == 1:
        raise OutOfTime
    if found.status != 0:
        raise SolverError(f"the linear step failed: {found.message}")
    price = max(0.0, -float(found.ineqlin.marginals[0])) * size if bounded else 0.0
    dual = -np.asarray(found.eqlin.marginals) * size
    # columns have positive sums, so raising β repairs what rounding broke
    short = ((g - dual @ form.constraints - price * form.costs) / form.constraints.sum(axis=0)).max()
    dual += max(float(short), 0.0)
    return Step(np.asarray(found.x) / mass, dual, price)


def bound(form: ConvexProgram, theta: Array, step: Step) -> float:
    """Compute the upper bound that the duals prove with θ as reference.

    Args:
        form: the convex program.
        theta: the reference, the weights of the atoms.
        step: the linear step at the gradient of the reference.
    """
    size = form.blocks.shape[-1]
    budget = step.price * form.budget if step.price else 0.0
    return float(value(form, theta) - form.scale * size + step.dual.sum() + budget)


def solution(form: ConvexProgram, theta: Array, limits: Limits, stats: dict[str, float]) -> FormSolution:
    """Return the atoms in use with their certificate: value, bound and the numbers that prove it.

    Without time for the linear step there is no bound.

    Args:
        form: the convex program.
        theta: the weights of the atoms.
        limits: the limits of the run; its gap decides between optimal and not.
        stats: counts worth printing.
    """
    reached, used = value(form, theta), weighted(form, theta)
    try:
        with limits.proving():
            step = linear_step(form, gradient(form, theta), limits)
            proven = proof_of(form, theta, step, limits)
    except OutOfTime:
        proven = None
    if proven is None:
        return FormSolution(Status.FEASIBLE, used, reached, stats=stats)
    proof, limit = proven
    measured = relative_gap(reached, max(limit, reached))
    close = measured is not None and measured <= limits.gap
    return FormSolution(
        Status.OPTIMAL if close else Status.GAP,
        point=used,
        value=reached,
        bound=limit,
        proof=proof,
        stats=stats,
    )


def weighted(form: ConvexProgram, theta: Array) -> list[tuple[Any, float]]:
    """List the labels of the atoms in use, with their weights."""
    return [(form.labels[j], float(theta[j])) for j in np.flatnonzero(theta)]


def plain_dual(form: ConvexProgram, step: Step) -> Array:
    """Return β of a linear step as the prices of the inputs; their sum if all α are equal."""
    middle = float(step.dual.mean())
    return (step.dual - middle) / form.spread + middle


def prices_of(form: ConvexProgram, theta: Array, step: Step) -> _leakage_cover.Prices:
    """Return what columns are worth at the gradient of a reference and the duals of its linear step.

    Args:
        form: the convex program.
        theta: the reference, the weights of the atoms.
        step: the linear step at the gradient of the reference.
    """
    return _leakage_cover.Prices(form, moments(form, theta), plain_dual(form, step), step.price)


def proof_of(
    form: ConvexProgram, theta: Array, step: Step, limits: Limits
) -> tuple[dict[str, Any], float] | None:
    """Find numbers that prove a bound, and the bound, by the checker's own arithmetic.

    What rounding left of g_j > β·v_j + λ ℓ(v_j) is repaired by raising β: every v_j has entries ≥ 1.

    Args:
        form: the convex program.
        theta: the reference, the weights of the atoms.
        step: the linear step at the gradient of the reference.
        limits: when to stop.

    Returns:
        The proof as plain data, and the bound rounded up; None if the reference proves nothing.
    """
    if form.over is not None:
        return _covered(form, theta, step, limits)
    used = weighted(form, theta)
    question = form.question
    found = asymptotic_slopes(dict(used), question)
    if found is None:
        return None
    dual = raised(plain_dual(form, step), lambda dual: asymptotic_shortage(found, dual, question))
    reference = [[list(label), weight] for label, weight in used]
    proof = {"reference": reference, "dual": dual, "price": 0.0}
    return proof, certify.value_above(asymptotic_bound(found.value, dual))


def _covered(
    form: ConvexProgram, theta: Array, step: Step, limits: Limits
) -> tuple[dict[str, Any], float] | None:
    """Find numbers that prove a bound over all columns, and the bound; None if no cover is found."""
    dual, prices = plain_dual(form, step), prices_of(form, theta, step)
    found = _leakage_cover.smallest_cover(prices, abs(value(form, theta)), limits.part(0.3))
    if found is None:
        return None
    shares = [len(column_renamings(tuple(sorted(v)))) if prices.equal else 1 for v in form.labels]
    reference = [(form.labels[j], float(theta[j]) / shares[j]) for j in np.flatnonzero(theta)]
    proof: dict[str, Any] = {"reference": reference, "price": step.price, "cover": found}
    cover = LeakageCover(proof, form.question)
    if cover.value is None:
        return None
    room = 1e-15 * (1 + step.price)  # for the rounding of another quadrature than the checker's
    prices_of_inputs = [beta + room for beta in raised(dual, cover.shortage)]
    proof |= {"dual": prices_of_inputs, "reference": [[list(v), weight] for v, weight in reference]}
    return proof, certify.value_above(cover.bound(prices_of_inputs) + Fraction(room))


def raised(dual: Array, shortage: Callable[[list[float]], Fraction]) -> list[float]:
    """Raise β until nothing is short of what it must pay, by the checker's own arithmetic.

    Args:
        dual: β, or their sum.
        shortage: by how much the sum must be raised, all entries alike.
    """
    found: list[float] = dual.tolist()
    while (short := shortage(found)) > 0:
        more = certify.value_above(short / len(found))
        found = [math.nextafter(beta + more, math.inf) for beta in found]
    return found


def masses(form: ConvexProgram) -> Array:
    """Compute the mean of each atom's column: what its weight adds to the total mass of 1."""
    return form.constraints.mean(axis=0)


def cleaned(form: ConvexProgram, theta: Array) -> Array:
    """Drop negligible atoms of the point, and scale it to meet its constraints again."""
    kept = np.where(theta * masses(form) > 1e-9, theta, 0.0)
    return kept / (form.constraints @ kept).mean()
