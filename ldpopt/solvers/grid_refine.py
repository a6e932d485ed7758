"""A grid over the box, then finer grids around its best points; nothing is proven."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np

from ldpopt.core.form import Form, FormSolution
from ldpopt.core.solver import Progress, Solver
from ldpopt.core.status import Status
from ldpopt.core.validate import Array
from ldpopt.forms.scalar_search import ScalarSearch

ROUNDS = 40
BEST = 3


class GridRefine(Solver):
    """The cross-check of ``bracket``: it relies on values alone, never on upper bounds."""

    name: ClassVar[str] = "grid-refine"

    def accepts(self, form: Form) -> Literal[True] | str:
        """Scalar searches."""
        return True if isinstance(form, ScalarSearch) else f"solves scalar searches, not a {form.name}"

    def suits(self, form: Form) -> Literal[True] | str:
        """Never the first choice."""
        return "proves nothing"

    def run(
        self,
        form: Form,
        *,
        gap: float,
        time_limit: float | None,
        seed: int,
        progress: Progress | None,
        **options: Any,
    ) -> FormSolution:
        """Refine until the grid is as fine as floats, or the cost is spent."""
        assert isinstance(form, ScalarSearch)
        dimensions = len(form.low)
        ticks = max(5, min(129, int((form.cost / 8) ** (1 / dimensions))) | 1)
        step = (form.high - form.low) / (ticks - 1)
        points = _grid(form.low, form.high, ticks)
        values = form.objective(points)
        spent = len(points)
        for _ in range(ROUNDS):
            best = points[np.argsort(-values, kind="stable")[:BEST]]
            fine = [
                _grid(np.maximum(p - step, form.low), np.minimum(p + step, form.high), 5) for p in best
            ]
            points = np.vstack([best, *fine])
            values = form.objective(points)
            spent += len(points)
            step = step / 2
            if spent > form.cost:
                break
        top = int(values.argmax())
        return FormSolution(Status.FEASIBLE, points[top], float(values[top]), stats={"nodes": spent})


def _grid(low: Array, high: Array, ticks: int) -> Array:
    axes = [np.linspace(a, b, ticks) for a, b in zip(low, high, strict=True)]
    return np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)
