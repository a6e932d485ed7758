"""Numeric programs: unbiased private reports of a number, with the least worst variance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from ldpopt.core.form import Form
from ldpopt.core.validate import Array


@dataclass(frozen=True)
class NumericProgram(Form):
    """Minimise the worst variance of an unbiased ε-LDP report of x, x on a grid of [−1, 1] or between.

    Attributes:
        epsilon: the level, in nats.
        points: the number of equally spaced points of the grid.
    """

    name: ClassVar[str] = "numeric-program"
    epsilon: float
    points: int


class Reports(NamedTuple):
    """A mechanism, one row for each point of the grid, and the number that each output reports."""

    matrix: Array
    numbers: Array
