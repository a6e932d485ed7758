"""The best design over the rays of the cones: one conic program, whose multipliers are the mechanism.

With the rays (v, t) and x_v = v/√(p·v), a mechanism has weights θ_v ≥ 0, Σ θ_v v = 1 and Σ θ_v t ≤ b,
and J = Σ θ_v x_v x_vᵀ. The dual of its best design has vectors z_i, β and λ ≥ 0 as variables:

    minimise Σβ + λ·b + offset(Z)   subject to   Σ_i (z_i·x_v)² ≤ β·v + λ·t for every ray,

offset(Z) = −2 Σ z_i·c_i for queries, −k − 2 log det Z for log det J. It needs no inverse of J, so that a
best J which is singular, as few queries leave it, is no special case. Newton's method
(:mod:`ldpopt.solvers._newton_steps`) gives the last digits.

At a small level all rays are nearly constant, and J is nearly 11ᵀ. So the program is solved in
coordinates in which the J of a typical mechanism is 1, and budgets count what exceeds the least.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.optimize import nnls

from ldpopt.core.errors import SolverError
from ldpopt.core.exact import apart
from ldpopt.core.forms.mechanism_program import Assigned, Design, MechanismProgram
from ldpopt.core.solver import Array, FormSolution, Limits, Solver, Status
from ldpopt.solvers._newton_steps import Best, sharpened
from ldpopt.solvers.mechanism_rays import best_weights, beyond_least, scaled_rays

Indices = NDArray[np.integer]
KEPT = 1e-9
"""Weights below this share of the largest are rounding."""
SINGULAR, BLEND = 1e-7, 1e-10
"""Where an eigenvalue of J is below the first share of the largest, the second share of the mechanism of
the largest determinant is mixed in: rounding the entries would change the error of a singular J."""
ROUNDS, A_LITTLE, EMPTY = 3, 1e-6, 1e-14
"""How often coordinates are improved, the share of all rays in them, and what is 0 but for rounding."""
BLIND = "every mechanism of this privacy leaves some frequencies open"


class MechanismDesign(Solver[MechanismProgram]):
    """The conic program by Clarabel, through cvxpy."""

    def accepts(self, form: MechanismProgram) -> Literal[True] | str:
        """Accept designs."""
        return True if isinstance(form.utility, Design) else "the objective is a sum over the reports"

    def run(self, form: MechanismProgram, limits: Limits) -> FormSolution:
        """List the rays, solve, and see to it that the information has an inverse."""
        assert isinstance(form.utility, Design)
        limits.check()
        rays, numbers = scaled_rays(form, limits)
        k, design = form.inputs, form.utility
        most, always = beyond_least(rays, form)
        mean = design.prior @ rays[:k]
        if best_weights(mean, rays, most, limits) is None:
            return FormSolution(Status.INFEASIBLE)
        weights, vectors, value = np.zeros(rays.shape[1]), np.zeros((_count(design), k)), 0.0
        whole = np.arange(k), np.arange(rays.shape[1])
        for inputs, own in [whole] if len(most) else _blocks(rays[:k]):
            turned, of = _restricted(design, inputs)
            part = rays[np.ix_(np.append(inputs, np.arange(k, len(rays))), own)]
            found = _best_determining(of, part, most, limits)
            weights[own], value = found.weights, value + found.value
            vectors[:, inputs] += turned @ found.vectors
        gains = ((vectors @ rays[:k]) ** 2).sum(axis=0) / mean
        proof = best_weights(gains, rays, most, limits)
        assert proof is not None
        kept = weights > 0
        return FormSolution(
            Status.OPTIMAL,
            Assigned(rays[:k, kept] * weights[kept], numbers[kept]),
            value,
            value,
            {
                "dual": (proof.equal - proof.at_most @ always / k).tolist(),
                "prices": proof.at_most.tolist(),
                "vectors": vectors.tolist(),
            },
            {"rays": float(rays.shape[1])},
        )


def _count(design: Design) -> int:
    """Return how many vectors z_i a proof has."""
    return len(design.prior) if design.queries is None else len(design.queries)


def _blocks(rays: Array) -> Iterator[tuple[Indices, Indices]]:
    """Yield the inputs and the rays of each part where no ray has entries in two parts.

    There J is block diagonal, so that each part has a design of its own, and their values add up.
    """
    for inputs in apart([np.flatnonzero(ray) for ray in rays.T], len(rays)):
        yield np.array(inputs), np.flatnonzero(rays[inputs].any(axis=0))


def _restricted(design: Design, inputs: Indices) -> tuple[Array, Design]:
    """Return the design of a part, and the Q that turns its vectors into those of all queries.

    Of the queries C = QR of the part only CᵀC matters: R has as many rows as inputs at most.
    """
    prior = design.prior[inputs]
    if design.queries is None:
        return np.eye(len(design.prior))[:, inputs], Design(prior, None)
    if len(design.queries) <= len(inputs):
        return np.eye(len(design.queries)), Design(prior, design.queries[:, inputs])
    turned, queries = np.linalg.qr(design.queries[:, inputs])
    return turned, Design(prior, queries)


def _best_determining(design: Design, rays: Array, most: Array, limits: Limits) -> Best:
    """Solve a part, and see to it that few columns, whose information has an inverse, have weights."""
    k = len(design.prior)
    factor = typical_factor(design.prior, rays, most, limits)
    rough = best_design(design, rays, most, factor)
    found = sharpened(rough, design, rays, most, factor) or rough
    X = rays[:k] / np.sqrt(design.prior @ rays[:k])
    whitened, weights = solve_triangular(factor, X, lower=True), found.weights
    spread = np.linalg.eigvalsh((whitened * weights) @ whitened.T)
    if spread[0] < SINGULAR * spread[-1]:
        inner = _solved(design._replace(queries=None), rays, most, factor)
        weights = (1 - BLEND) * weights + BLEND * inner.weights
    return found._replace(weights=sparse_weights(weights, whitened, rays[k:]))


def sparse_weights(weights: Array, X: Array, spent: Array) -> Array:
    """Find weights of few columns with the same J, J p = Σ θ_v v, and budgets (Carathéodory).

    Args:
        weights: the weights.
        X: the x_v, in any coordinates.
        spent: what each column spends of each budget.
    """
    above = np.triu_indices(len(X))
    used = np.flatnonzero(weights)
    rows = np.vstack([X[above[0]] * X[above[1]], spent])[:, used]
    rows = rows / np.maximum(np.abs(rows).max(axis=1, initial=0.0, keepdims=True), EMPTY)
    wanted = rows @ weights[used]
    few = nnls(rows, wanted)[0]
    on = few > 0
    sharper = few[on] + np.linalg.lstsq(rows[:, on], wanted - rows @ few, rcond=1e-12)[0]
    if sharper.min() > 0:
        few[on] = sharper
    found = np.zeros_like(weights)
    found[used] = few
    return found


def typical_factor(prior: Array, rays: Array, most: Array, limits: Limits) -> Array:
    """Find L with L Lᵀ about the J of a mechanism that tells of all directions.

    Linear programs look for the most that a mechanism tells of each coordinate L⁻¹x; the mean of all J
    so far has the next L. A little of all rays makes what they leave out large, so that it is seen then.

    Args:
        prior: p.
        rays: the rays (v, t), one per column.
        most: the budgets b.
        limits: the time.

    Raises:
        SolverError: if a direction is left that no mechanism tells of.
    """
    k = len(prior)
    X = rays[:k] / np.sqrt(prior @ rays[:k])
    rest = A_LITTLE * X / np.sqrt(X.shape[1])
    factor, weights = _lower(X), np.zeros(X.shape[1])
    for _ in range(ROUNDS):
        coordinates: Array = solve_triangular(factor, X, lower=True)
        for gains in list(coordinates**2):
            found = best_weights(gains, rays, most, limits)
            assert found is not None
            weights += np.maximum(found.point, 0) / (k * ROUNDS)
        factor = _lower(np.hstack([X * np.sqrt(weights), rest]))
    told = np.linalg.svd(solve_triangular(factor, X * np.sqrt(weights), lower=True), compute_uv=False)
    if told[-1] < A_LITTLE * told[0]:
        raise SolverError(BLIND)
    return factor


def _lower(matrix: Array) -> Array:
    """Factor matrix matrixᵀ into a lower triangle and its transpose, without multiplying it out."""
    lower: Array = np.transpose(np.asarray(np.linalg.qr(matrix.T, mode="r")))
    square = lower.shape[0] == lower.shape[1]  # else there are fewer rays than inputs
    if not square or np.abs(lower.diagonal()).min() <= EMPTY * np.abs(lower).max():
        raise SolverError(BLIND)
    return lower


def best_design(design: Design, rays: Array, most: Array, factor: Array) -> Best:
    """Solve the program of the module.

    Queries are divided by a unit, so that the error is about 1: Clarabel is precise there.

    Args:
        design: the objective, its queries with c_i·p = 0.
        rays: the rays (v, t), one per column.
        most: the budgets b.
        factor: the coordinates, from :func:`typical_factor`.
    """
    if design.queries is None:
        return _solved(design, rays, most, factor)
    unit = float(np.linalg.norm(solve_triangular(factor, design.queries.T, lower=True)))
    for _ in range(2):
        found = _solved(design._replace(queries=design.queries / unit), rays, most, factor)
        square = unit**2
        scaled = Best(
            found.weights,
            found.vectors * unit,
            found.value * square,
            found.dual * square,
            found.prices * square,
        )
        unit = float(np.sqrt(-scaled.value))
    return scaled


def _solved(design: Design, rays: Array, most: Array, factor: Array) -> Best:
    """Solve in the coordinates L⁻¹x and Lᵀz, in which every J is about 1, with rays of one length."""
    import cvxpy

    k, queries = len(design.prior), design.queries
    X = solve_triangular(factor, rays[:k] / np.sqrt(design.prior @ rays[:k]), lower=True)
    lengths = (X**2).sum(axis=0)
    X, scaled = X / np.sqrt(lengths), rays / lengths
    whitened = solve_triangular(factor, scaled[:k], lower=True)
    dual, prices = cvxpy.Variable(k), cvxpy.Variable(len(most), nonneg=True)
    if queries is None:
        vectors = cvxpy.Variable((k, k), PSD=True)
        offset = -k - 2 * cvxpy.log_det(vectors)
    else:
        vectors = cvxpy.Variable(queries.shape)
        asked = solve_triangular(factor, queries.T, lower=True).T
        offset = -2 * cvxpy.sum(cvxpy.multiply(vectors, asked))
    units = np.where(most > 0, most, 1.0)
    dominating = dual @ whitened + (prices @ (scaled[k:] / units[:, None]) if len(most) else 0)
    dominated = cvxpy.sum(cvxpy.square(vectors @ X), axis=0) <= dominating
    spent = prices @ (most / units) if len(most) else 0
    total = dual @ solve_triangular(factor, np.ones(k), lower=True)
    model = cvxpy.Problem(cvxpy.Minimize(total + spent + offset), [dominated])
    try:
        with warnings.catch_warnings():  # what is not accurate shows as a gap
            warnings.simplefilter("ignore", UserWarning)
            model.solve(solver="CLARABEL", tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    except cvxpy.SolverError as error:
        raise SolverError(f"Clarabel failed: {error}") from None
    if model.status not in (cvxpy.OPTIMAL, cvxpy.OPTIMAL_INACCURATE):
        raise SolverError(f"Clarabel ended with {model.status}")
    weights = np.maximum(dominated.dual_value, 0.0)
    weights[weights < KEPT * weights.max()] = 0.0
    back = solve_triangular(factor, np.asarray(vectors.value).T, lower=True, trans="T").T
    shift = 0.0 if queries is not None else 2 * float(np.log(np.abs(factor.diagonal())).sum())
    beta = solve_triangular(factor, np.asarray(dual.value), lower=True, trans="T")
    paid = np.asarray(prices.value) / units if len(most) else most
    return Best(weights / lengths, back, float(model.value) + shift, beta, paid)
