"""Numeric programs: unbiased private reports of a number, with the least worst variance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ldpopt.core.exact import NumericQuestion
from ldpopt.core.form import Form
from ldpopt.core.validate import Array


@dataclass(frozen=True)
class NumericProgram(Form):
    """Minimise the worst variance of an unbiased ε-LDP report of x, x on a grid of [−1, 1] or between.

    Where there is a prior on the grid, the mean variance is minimised.

    Attributes:
        question: the level, the points of the grid and the prior, as the checker reads them.
    """

    question: NumericQuestion

    @property
    def epsilon(self) -> float:
        """The level, in nats."""
        return self.question.epsilon

    @property
    def points(self) -> int:
        """The number of equally spaced points of the grid."""
        return len(self.question.points)

    @property
    def grid(self) -> Array:
        """The points of the grid."""
        return np.array(self.question.points, dtype=float)

    @property
    def prior(self) -> Array | None:
        """The prior on the grid, if the mean variance counts."""
        prior = self.question.prior
        return None if prior is None else np.array(prior, dtype=float)


class Reports(NamedTuple):
    """A mechanism, one row for each point of the grid, and the number that each output reports."""

    matrix: Array
    numbers: Array
