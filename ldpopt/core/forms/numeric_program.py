"""Numeric programs: unbiased private reports of a number, with the least worst variance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from ldpopt.core.exact import NumericQuestion
from ldpopt.core.form import Form
from ldpopt.core.validate import Array


@dataclass(frozen=True)
class NumericProgram(Form):
    """Minimise the worst variance of an unbiased ε-LDP report of x, x on a grid of [−1, 1] or between.

    Attributes:
        question: the level and the points of the grid, as the checker reads them.
    """

    name: ClassVar[str] = "numeric-program"
    question: NumericQuestion

    @property
    def epsilon(self) -> float:
        """The level, in nats."""
        return self.question.epsilon

    @property
    def points(self) -> int:
        """The number of equally spaced points of the grid."""
        return len(self.question.points)


class Reports(NamedTuple):
    """A mechanism, one row for each point of the grid, and the number that each output reports."""

    matrix: Array
    numbers: Array
