"""Scalar searches: the best point of a box of few dimensions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from ldpopt.core.form import Form
from ldpopt.core.validate import Array


@dataclass(frozen=True, eq=False)
class ScalarSearch(Form):
    """Maximise an explicit function on a box of few dimensions.

    Attributes:
        low, high: the corners of the box, one entry per variable.
        objective: the values at the rows of a matrix of points.
        upper: for boxes given by the rows of two matrices, values that the objective does not exceed
            there; they must converge to the objective as the boxes shrink.
        cost: how many evaluations a solver may spend at most.
    """

    name: ClassVar[str] = "scalar-search"
    low: Array
    high: Array
    objective: Callable[[Array], Array]
    upper: Callable[[Array, Array], Array]
    cost: int = 40_000
