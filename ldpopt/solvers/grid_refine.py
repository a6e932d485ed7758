"""A grid over the box, then finer grids around its best points; nothing is proven."""

from __future__ import annotations

from functools import partial
from typing import Literal

import numpy as np

from ldpopt.core.forms.searches import ScalarSearch
from ldpopt.core.solver import Array, FormSolution, Limits, Solver, Status

CHUNK = 8


class GridRefine(Solver[ScalarSearch]):
    """Refine a grid around the best values: a cross-check of ``bracket`` that needs no upper bounds."""

    def suits(self, form: ScalarSearch) -> Literal[True] | str:
        """Leave the first choice to other solvers."""
        return "proves nothing"

    def run(self, form: ScalarSearch, limits: Limits) -> FormSolution:
        """Refine until the grid is as fine as floats, or the cost is spent."""
        dimensions = len(form.low)
        ticks = max(5, min(129, int((form.cost / 8) ** (1 / dimensions))) | 1)
        step = (form.high - form.low) / (ticks - 1)
        points, values = _valued(form, _grid(form.low, form.high, ticks), limits)
        spent = len(points)
        for _ in range(40):
            best = points[np.argsort(-values, kind="stable")[:3]]
            fine = [
                _grid(np.maximum(p - step, form.low), np.minimum(p + step, form.high), 5) for p in best
            ]
            points, values = _valued(form, np.vstack([best, *fine]), limits)
            spent += len(points)
            step = step / 2
            limits.keep(float(values.max()), np.inf, partial(_best, points, values, spent))
            if spent > form.cost or limits.expired():
                break
        return _best(points, values, spent)


def _best(points: Array, values: Array, spent: int) -> FormSolution:
    top = int(values.argmax())
    return FormSolution(Status.FEASIBLE, points[top], float(values[top]), stats={"nodes": spent})


def _valued(form: ScalarSearch, points: Array, limits: Limits) -> tuple[Array, Array]:
    """Evaluate the points in order, as far as the time reaches, the first few in any case."""
    values: list[Array] = []
    for first in range(0, len(points), CHUNK):
        values.append(form.objective(points[first : first + CHUNK]))
        if limits.expired():
            break
    found = np.concatenate(values)
    return points[: len(found)], found


def _grid(low: Array, high: Array, ticks: int) -> Array:
    axes = [np.linspace(a, b, ticks) for a, b in zip(low, high, strict=True)]
    return np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)
