"""Solve the compact linear program of a utility with few tangents, by an interior-point method.

Let g(w) = max_j a_j·w, a finite list of tangents a_j of the utility. The best mechanism whose columns
lie in a box cone, one column W_j for each tangent and box [l, h], is the linear program

    maximise Σ_j a_j·W_j  with  Σ_j W_j = 1,  W_j = θ_j l + (h − l) z_j,  0 ≤ z_j ≤ θ_j,

of about 2kn variables for k inputs and n pairs of tangent and box. Its dual vector β, of the k
equations, is the dual vector of the column program with this g.

With y the multipliers of z_j ≤ θ_j, Newton's equations of the central path reduce to one k × k matrix
D + Σ_j b_j b_jᵀ/ω_j, with D a positive diagonal: a step costs O(k²n + k³), whatever the number of
variables. A general solver factorises the whole program instead; for k = 200 and 25 tangents it took
some hundred times as long.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from ldpopt.core.limits import Limits
from ldpopt.core.validate import Array
from ldpopt.models.cones import Box

MOST_STEPS = 100
BACK_OFF = 0.99
"""The share of the way to the boundary that a step goes."""


class CompactOptimum(NamedTuple):
    """A nearly optimal point: one column per tangent (summed over the boxes), and the dual vector."""

    matrix: Array
    dual: Array
    steps: int


def solve_compact(
    boxes: Sequence[Box], slopes: Array, accuracy: float, limits: Limits
) -> CompactOptimum:
    """Solve the compact program for tangents ``slopes`` (k × m) to a relative gap of ``accuracy``.

    Summing the columns of one tangent over the boxes loses nothing: its value is linear in them.

    Args:
        boxes: the boxes whose corners generate the cone.
        slopes: a column a_j of k entries for each tangent.
        accuracy: the relative gap to stop at.
        limits: the limits of the run.

    Raises:
        OutOfTime: the time is over before the gap is reached.
    """
    k, m = slopes.shape
    scale = float(np.abs(slopes).max()) or 1.0
    program = _Program(
        np.repeat(np.stack([box.low / box.high.max() for box in boxes], axis=1), m, axis=1),
        np.repeat(np.stack([box.high / box.high.max() for box in boxes], axis=1), m, axis=1),
        np.tile(slopes / scale, len(boxes)),
    )
    point, steps = program.solve(accuracy, limits)
    columns = program.columns(point).reshape(k, len(boxes), m).sum(axis=1)
    return CompactOptimum(columns, point.beta * scale, steps)


class _Point(NamedTuple):
    """A point of the central path: θ, z, the slack u = θ − z; β, y, and the dual slacks of z and θ."""

    theta: Array
    z: Array
    u: Array
    beta: Array
    y: Array
    z_slack: Array
    theta_slack: Array

    def moved(self, step: _Point, lengths: tuple[float, float]) -> _Point:
        """Move θ, z and u by the first length along the step, and the dual variables by the second."""
        primal, dual = lengths
        parts = zip(self, step, [primal] * 3 + [dual] * 4, strict=True)
        return _Point(*(x + t * dx for x, dx, t in parts))


class _Residuals(NamedTuple):
    """The residuals of Σ_j W_j = 1, of z + u = θ, and of the two dual equations."""

    rows: Array
    z: Array
    y: Array
    theta: Array


class _Program:
    """The program over n = boxes × tangents columns; arrays are k × n."""

    def __init__(self, low: Array, high: Array, slopes: Array) -> None:
        self.low, self.wide, self.slopes = low, high - low, slopes
        self.free = (self.wide > 0).astype(np.float64)
        """1 where the box leaves a choice. Elsewhere z, u, y and the slack of z are unused, at 1."""
        self.count = 2 * self.free.sum() + low.shape[1]

    def columns(self, point: _Point) -> Array:
        return self.low * point.theta + self.wide * point.z

    def solve(self, accuracy: float, limits: Limits) -> tuple[_Point, int]:
        """Follow the central path; stop early where rounding prevents further progress."""
        point = self._start()
        best, least = point, np.inf
        for step in range(MOST_STEPS):
            limits.check()
            residuals = self._residuals(point)
            gap = self._gap(point, point)
            size = abs(float(point.beta.sum())) + 1e-12
            error = gap / size + float(np.abs(residuals.rows).max())
            if error < least:
                best, least = point, error
            if error <= accuracy or error > 1e6 * least:
                return best, step
            try:
                point = self._advance(point, residuals, gap / self.count)
            except LinAlgError:
                return best, step
        return best, MOST_STEPS

    def _start(self) -> _Point:
        n = self.low.shape[1]
        theta = np.full(n, 2 / (n * float((2 * self.low + self.wide).mean())))
        half = np.where(self.free, theta / 2, 1.0)
        beta = np.ones(len(self.low))
        excess = self.wide * (self.slopes - 1)
        y = np.where(self.free, np.maximum(excess, 0.0) + 1.0, 1.0)
        paid = (self.low * (1 - self.slopes)).sum(axis=0) - (y * self.free).sum(axis=0)
        z_slack = np.where(self.free, y - excess, 1.0)
        return _Point(theta, half, half.copy(), beta, y, z_slack, np.maximum(paid, 1.0))

    def _residuals(self, point: _Point) -> _Residuals:
        over = point.beta[:, None] - self.slopes
        return _Residuals(
            1 - self.columns(point).sum(axis=1),
            (point.theta - point.z - point.u) * self.free,
            (point.y + self.wide * over - point.z_slack) * self.free,
            (self.low * over - point.y * self.free).sum(axis=0) - point.theta_slack,
        )

    def _gap(self, primal: _Point, dual: _Point) -> float:
        pairs = (primal.z * dual.z_slack + primal.u * dual.y) * self.free
        return float(pairs.sum() + primal.theta @ dual.theta_slack)

    def _advance(self, point: _Point, residuals: _Residuals, centre: float) -> _Point:
        """Do one step of Mehrotra's predictor and corrector."""
        direction = self._newton(point, residuals)
        predicted = direction(0.0, None)
        moved = point.moved(predicted, _lengths(point, predicted, 1.0))
        share = (self._gap(moved, moved) / self.count / centre) ** 3
        step = direction(share * centre, predicted)
        return point.moved(step, _lengths(point, step, BACK_OFF))

    def _newton(self, p: _Point, missing: _Residuals) -> Callable[[float, _Point | None], _Point]:
        """Factorise Newton's matrix; return a function from a target of the products to a direction."""
        z_ratio, u_ratio = p.z / p.z_slack, p.u / p.y
        share = self.free / (z_ratio + u_ratio)
        b = self.low + self.wide * z_ratio * share
        omega = share.sum(axis=0) + p.theta_slack / p.theta
        diagonal = (self.wide**2 * z_ratio * u_ratio * share).sum(axis=1)
        solve = _factorised(diagonal, b, omega)

        def direction(target: float, ahead: _Point | None) -> _Point:
            to_z, to_u, to_theta = (target - x for x in _products(p))
            if ahead is not None:
                second = _products(ahead)
                to_z, to_u, to_theta = to_z - second[0], to_u - second[1], to_theta - second[2]
            both = (to_z / p.z_slack + to_u / p.y - missing.z) * self.free
            paid = to_theta / p.theta - missing.theta + (share * (both - z_ratio * missing.y)).sum(0)
            fixed = (to_z / p.z_slack - z_ratio * share * (both + u_ratio * missing.y)) * self.wide
            beta = solve(b @ (paid / omega) + fixed.sum(axis=1) - missing.rows)
            theta = (paid - b.T @ beta) / omega
            price = self.wide * beta[:, None] + missing.y
            z_slack = share * (both + u_ratio * price - theta)
            y = share * (both - z_ratio * price - theta)
            z = (to_z / p.z_slack - z_ratio * z_slack) * self.free
            u = (to_u / p.y - u_ratio * y) * self.free
            return _Point(theta, z, u, beta, y, z_slack, (to_theta - p.theta_slack * theta) / p.theta)

        return direction


def _products(p: _Point) -> tuple[Array, Array, Array]:
    """Compute the products that are equal on the central path."""
    return p.z * p.z_slack, p.u * p.y, p.theta * p.theta_slack


def _factorised(diagonal: Array, b: Array, omega: Array) -> Callable[[Array], Array]:
    """Factorise diag + Σ_j b_j b_jᵀ/ω_j, scaled to a unit diagonal; solve with refinement."""
    matrix = (b / omega) @ b.T
    matrix[np.diag_indices_from(matrix)] += diagonal
    root = np.sqrt(matrix.diagonal())
    scaled = matrix / (root[:, None] * root)
    # added to the unit diagonal of the scaled matrix; iterative refinement removes its effect
    scaled[np.diag_indices_from(scaled)] += 1e-14
    factors = cho_factor(scaled)

    def solve(right: Array) -> Array:
        found = np.zeros_like(right)
        for _ in range(3):
            found = found + cho_solve(factors, (right - matrix @ found) / root) / root
        return found

    return solve


def _lengths(point: _Point, step: _Point, share: float) -> tuple[float, float]:
    """Compute how far the primal and the dual variables can go, at most 1, and stay positive."""
    primal = [(point.theta, step.theta), (point.z, step.z), (point.u, step.u)]
    dual = [
        (point.y, step.y),
        (point.z_slack, step.z_slack),
        (point.theta_slack, step.theta_slack),
    ]
    return longest_step(primal, share), longest_step(dual, share)


def longest_step(parts: list[tuple[Array, Array]], share: float) -> float:
    """Compute a share of the longest step that keeps x positive along dx for all pairs; at most 1."""
    reach = (float((-x[dx < 0] / dx[dx < 0]).min(initial=np.inf)) for x, dx in parts)
    return min(1.0, share * min(reach))
