"""Fully corrective Frank–Wolfe: linear steps over all atoms find the few that matter."""

from __future__ import annotations

from contextlib import suppress
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ldpopt.core.form import FormSolution, relative_gap
from ldpopt.core.forms.convex_program import ConvexProgram
from ldpopt.core.limits import UNLIMITED, Limits, OutOfTime
from ldpopt.core.solver import Solver
from ldpopt.core.validate import Array
from ldpopt.solvers import _convex
from ldpopt.solvers._leakage_cover import new_columns

Indices = NDArray[np.intp]
MOST_STEPS = 400


class FrankWolfe(Solver[ConvexProgram]):
    """Column generation for concave programs.

    Each round maximises the linearised objective over all atoms (a linear program whose duals prove a
    bound), adds the atoms of its vertex, and re-optimises over the atoms found so far by Newton's method
    with a barrier. Where other columns may be better than the atoms, the program goes on over those in
    use and new ones that pay at the duals, until none does.
    """

    name: ClassVar[str] = "frank-wolfe"

    def run(self, form: ConvexProgram, limits: Limits) -> FormSolution:
        """Alternate linear steps and corrections until the proven gap is small."""
        stats = {"steps": 0.0}
        theta = best = form.start
        best_gap, since, before = np.inf, 0, -np.inf
        search = limits.part(0.7 if form.over is None else 0.5)

        def found() -> FormSolution:
            used = _convex.cleaned(form, best)
            counts = {**stats, "atoms": float(np.count_nonzero(used))}
            return _convex.solution(form, used, limits, counts)

        with suppress(OutOfTime):
            limits.keep(_convex.value(form, theta), np.inf, found)
            theta = correct(form, theta, search)
            for steps in range(1, MOST_STEPS):
                step = _convex.linear_step(form, _convex.gradient(form, theta), search)
                stats["steps"] = float(steps)
                reached, limit = _convex.value(form, theta), _convex.bound(form, theta, step)
                measured = relative_gap(reached, max(limit, reached))
                assert measured is not None
                if measured < best_gap:
                    best, best_gap = theta, measured
                    limits.keep(reached, limit if form.over is None else np.inf, found)
                since += 1
                if measured <= limits.gap / 4 or (measured > 0.999 * best_gap and since > 20):
                    wider = _widened(form, best, limits.gap / 8, search) if reached > before else None
                    if wider is None:
                        break
                    (form, theta), best_gap, since = wider, np.inf, 0
                    best, before = theta, reached + 1e-3 * limits.gap * abs(reached)
                    continue
                theta = correct(form, 0.9 * theta + 0.1 * np.maximum(step.vertex, 0.0), search)
        return found()


def _widened(
    form: ConvexProgram, theta: Array, gap: float, limits: Limits
) -> tuple[ConvexProgram, Array] | None:
    """Write the program over the atoms in use and new columns that pay at its duals; None without any.

    Args:
        form: the program.
        theta: the best weights of its atoms.
        gap: what a column must add to the bound, relative to the value.
        limits: when to stop.
    """
    if form.over is None:
        return None
    step = _convex.linear_step(form, _convex.gradient(form, theta), limits)
    prices = _convex.prices_of(form, theta, step)
    used = np.flatnonzero(theta * _convex.masses(form) > 1e-12)
    least = gap * abs(_convex.value(form, theta)) / prices.k
    columns = new_columns([form.labels[j] for j in used], prices, least, limits)
    if not columns:
        return None
    labels = [form.labels[j] for j in used]
    wider = form.over([*labels, *columns])
    return wider, np.append(theta[used], np.zeros(len(columns)))


def correct(form: ConvexProgram, theta: Array, limits: Limits = UNLIMITED) -> Array:
    """Maximise over the atoms in use: Newton steps on the objective plus μ Σ log θ, μ falling.

    Args:
        form: the convex program.
        theta: the weights of the atoms; those that are 0 stay 0.
        limits: when to stop.
    """
    active = np.flatnonzero(theta > 0)
    part = _Restricted(form, active)
    x = part.with_slack(theta[active])
    mu = 1e-3
    while mu > 1e-14:
        x = part.centre(x, mu, limits)
        mu /= 8
    result = np.zeros_like(theta)
    result[active] = x[: len(active)]
    return result


class _Restricted:
    """The program over some atoms, with the budget as an equation through a slack variable."""

    def __init__(self, form: ConvexProgram, active: Indices) -> None:
        self.weights = form.scale * form.weights
        self.blocks = form.blocks[:, active]
        self.rows, self.right = form.constraints[:, active], np.ones(len(form.constraints))
        self.bounded = bool(np.isfinite(form.budget))
        if self.bounded:
            empty = np.zeros_like(self.blocks[:, :1])
            self.blocks = np.concatenate([self.blocks, empty], axis=1)
            self.rows = np.block(
                [[self.rows, np.zeros((len(self.rows), 1))], [form.costs[None, active], np.ones((1, 1))]]
            )
            self.right = np.append(self.right, form.budget)

    def with_slack(self, theta: Array) -> Array:
        if not self.bounded:
            return theta
        room = self.right[-1] - self.rows[-1, :-1] @ theta
        return np.append(theta, max(float(room), 1e-12))

    def centre(self, x: Array, mu: float, limits: Limits) -> Array:
        """Solve at a fixed μ by Newton's method, in the relative variables dx / x.

        Args:
            x: the weights of the atoms, and the slack of the budget.
            mu: the weight of the barrier.
            limits: when to stop.
        """
        for _ in range(25):
            limits.check()
            inverse = np.linalg.inv(np.tensordot(self.blocks, x, axes=(1, 0)))
            product = np.einsum("ixz,ijzy->ijxy", inverse, self.blocks, optimize=True)
            slope = self.weights @ np.einsum("ijxx->ij", product) * x + mu
            flat = np.moveaxis(product, 1, 0).reshape(len(x), -1)
            turned = (self.weights[:, None, None, None] * product).swapaxes(2, 3)
            bend = (np.moveaxis(turned, 1, 0).reshape(len(x), -1) @ flat.T) * np.outer(x, x)
            bend[np.diag_indices(len(x))] += mu
            move = self._newton(bend, slope, x)
            decrement = float(move @ bend @ move)
            x = self._search(x, move, mu)
            if decrement < 1e-3 * mu:
                break
        return x

    def _newton(self, bend: Array, slope: Array, x: Array) -> Array:
        C = self.rows * x
        r = len(C)
        system = np.block([[-bend, C.T], [C, np.zeros((r, r))]])
        right = np.concatenate([-slope, self.right - self.rows @ x])
        return np.linalg.lstsq(system, right, rcond=1e-15)[0][: len(x)]

    def _search(self, x: Array, move: Array, mu: float) -> Array:
        """Shorten the step until it stays inside and does not lose."""
        length = min(1.0, 0.9 / max(float(-move.min()), 1e-30))
        before = self._merit(x, mu)
        for _ in range(30):
            after = x * (1 + length * move)
            if self._merit(after, mu) >= before - 1e-15 * abs(before):
                return after
            length /= 2
        return x

    def _merit(self, x: Array, mu: float) -> float:
        sign, log_det = np.linalg.slogdet(np.tensordot(self.blocks, x, axes=(1, 0)))
        if (sign <= 0).any():
            return -np.inf
        return float(self.weights @ log_det) + mu * float(np.log(x).sum())
