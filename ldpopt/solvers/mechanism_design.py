"""The best design over the rays of the cones: one conic program, whose multipliers are the mechanism.

With the rays (v, t) and x_v = v/√(p·v), a mechanism has weights θ_v ≥ 0, Σ θ_v v = 1 and Σ θ_v t ≤ b,
and J = Σ θ_v x_v x_vᵀ. The dual of its best design has vectors z_i, β and λ ≥ 0 as variables:

    minimise Σβ + λ·b + offset(Z)   subject to   Σ_i (z_i·x_v)² ≤ β·v + λ·t for every ray,

offset(Z) = −2 Σ z_i·c_i for queries, −k − 2 log det Z for log det J. It needs no inverse of J, so that a
best J which is singular, as few queries leave it, is no special case.
"""

from __future__ import annotations

import warnings
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from scipy.optimize import nnls

from ldpopt.core.errors import SolverError
from ldpopt.core.form import FormSolution, Status
from ldpopt.core.forms.mechanism_program import Assigned, Design, MechanismProgram
from ldpopt.core.limits import Limits
from ldpopt.core.solver import Solver
from ldpopt.core.validate import Array
from ldpopt.solvers.mechanism_rays import best_weights, scaled_rays

KEPT = 1e-9
"""Weights below this share of the largest are rounding."""
SINGULAR, BLEND = 1e-7, 1e-10
"""Where an eigenvalue of J is below the first share of the largest, the second share of the mechanism of
the largest determinant is mixed in: rounding the entries would change the error of a singular J."""


class MechanismDesign(Solver[MechanismProgram]):
    """The conic program by Clarabel, through cvxpy."""

    name: ClassVar[str] = "mechanism-design"

    def accepts(self, form: MechanismProgram) -> Literal[True] | str:
        """Accept designs."""
        return True if isinstance(form.utility, Design) else "the objective is a sum over the reports"

    def run(self, form: MechanismProgram, limits: Limits) -> FormSolution:
        """List the rays, solve, and see to it that the information has an inverse."""
        assert isinstance(form.utility, Design)
        limits.check()
        rays, numbers = scaled_rays(form, limits)
        k, most = form.inputs, np.array([budget.most for budget in form.budgets])
        design = form.utility
        best = _best(design, rays, most)
        if best is None:
            return FormSolution(Status.INFEASIBLE)
        weights, vectors, value = best
        X = rays[:k] / np.sqrt(design.prior @ rays[:k])
        spread = np.linalg.eigvalsh((X * weights) @ X.T)
        if spread[0] < SINGULAR * spread[-1]:
            inner = _solved(design._replace(queries=None), rays, most)
            if inner is None:
                raise SolverError("every mechanism of this privacy leaves some frequencies open")
            weights = (1 - BLEND) * weights + BLEND * inner.weights
        weights = _sparse(weights, X, rays[k:])
        gains = ((vectors @ X) ** 2).sum(axis=0)
        proof = best_weights(gains, rays, most, limits)
        assert proof is not None
        kept = weights > 0
        return FormSolution(
            Status.OPTIMAL,
            Assigned(rays[:k, kept] * weights[kept], numbers[kept]),
            value,
            value,
            {
                "dual": proof.equal.tolist(),
                "prices": proof.at_most.tolist(),
                "vectors": vectors.tolist(),
            },
            {"rays": float(rays.shape[1])},
        )


class _Best(NamedTuple):
    """The weights θ, the z_i as rows, and the gain that they bound."""

    weights: Array
    vectors: Array
    value: float


def _sparse(weights: Array, X: Array, spent: Array) -> Array:
    """Find weights of few columns with the same J, J p = Σ θ_v v, and budgets (Carathéodory)."""
    above = np.triu_indices(len(X))
    rows = np.vstack([X[above[0]] * X[above[1]], spent])
    kept = np.flatnonzero(weights)
    found = np.zeros_like(weights)
    found[kept] = nnls(rows[:, kept], rows @ weights)[0]
    return found


def _best(design: Design, rays: Array, most: Array) -> _Best | None:
    """Solve the program of the module; None if there is no mechanism, or none with an inverse of J.

    Queries are divided by a unit, so that the error is about 1: Clarabel is precise there.
    """
    if design.queries is None:
        return _solved(design, rays, most)
    unit = float(np.abs(design.queries).max())
    for _ in range(2):
        found = _solved(design._replace(queries=design.queries / unit), rays, most)
        if found is None:
            return None
        scaled = found._replace(vectors=found.vectors * unit, value=found.value * unit**2)
        unit = float(np.sqrt(-scaled.value))
    return scaled


def _solved(design: Design, rays: Array, most: Array) -> _Best | None:
    import cvxpy

    k, queries = len(design.prior), design.queries
    X = rays[:k] / np.sqrt(design.prior @ rays[:k])
    dual, prices = cvxpy.Variable(k), cvxpy.Variable(len(most), nonneg=True)
    if queries is None:
        vectors = cvxpy.Variable((k, k), PSD=True)
        offset = -k - 2 * cvxpy.log_det(vectors)
    else:
        vectors = cvxpy.Variable(queries.shape)
        offset = -2 * cvxpy.sum(cvxpy.multiply(vectors, queries))
    paid = dual @ rays[:k] + (prices @ rays[k:] if len(most) else 0)
    dominated = cvxpy.sum(cvxpy.square(vectors @ X), axis=0) <= paid
    spent = prices @ most if len(most) else 0
    model = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum(dual) + spent + offset), [dominated])
    try:
        with warnings.catch_warnings():  # what is not accurate shows as a gap
            warnings.simplefilter("ignore", UserWarning)
            model.solve(solver="CLARABEL", tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    except cvxpy.SolverError as error:
        raise SolverError(f"Clarabel failed: {error}") from None
    if model.status == cvxpy.UNBOUNDED:
        return None
    if model.status not in (cvxpy.OPTIMAL, cvxpy.OPTIMAL_INACCURATE):
        raise SolverError(f"Clarabel ended with {model.status}")
    weights = np.maximum(dominated.dual_value, 0.0)
    weights[weights < KEPT * weights.max()] = 0.0
    return _Best(weights, np.asarray(vectors.value), float(model.value))
