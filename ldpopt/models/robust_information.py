"""Mutual information that is guaranteed for every distribution of a χ² ball."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import xlogy

from ldpopt.core.problem import Measure
from ldpopt.core.validate import Array
from ldpopt.models.chi2_ball import Chi2Ball
from ldpopt.models.utilities import MutualInformation


@dataclass(frozen=True, eq=False)
class RobustInformation:
    """A lower bound, with a small error, of μ²(T) = min_{P∈F} μ_P(T) for a χ² ball F.

    Lopuhaä-Zwakenberg and Goseling 2021, (46). −q log q = min_λ e^(λ−1) − λ q, so μ² = min_λ e^(λ−1) +
    min_P P·(T log T − λ T). The inner minimum is concave in λ; on each of a number of intervals its
    chord is a lower bound, and the sum with e^(λ−1) has an explicit least value. μ² is a minimum of
    sublinear functions, and not sublinear itself; but Σ_y μ²(W[:, y]) is a guarantee for every P ∈ F.

    >>> from ldpopt.models.chi2_ball import Chi2Ball
    >>> round(float(RobustInformation(Chi2Ball([0.5, 0.5], 0.1))(np.eye(2)).sum()), 3)
    0.559
    """

    measure: ClassVar[Measure] = Measure(
        "information released, I(X; Y), at least this for every distribution of the set", "nats"
    )
    ball: Chi2Ball
    pieces: int = 32

    @property
    def nominal(self) -> MutualInformation:
        """The information under the centre of the ball, which is at least this."""
        return MutualInformation(self.ball.center)

    def __call__(self, columns: Array) -> Array:
        """Evaluate every column."""
        low, high = self.ball.minima(columns), -self.ball.minima(-columns)
        flat = ~(low < high)
        low, high = np.where(flat, 1.0, np.maximum(low, 1e-12 * high)), np.where(flat, 2.0, high)
        shares = np.linspace(0, 1, self.pieces + 1)[:, None]
        cuts = 1 + np.log(low) + shares * np.log(high / low)
        own = xlogy(columns, columns)
        ends = np.array([self.ball.minima(own - cut * columns) for cut in cuts])
        slopes = np.diff(ends, axis=0) / np.diff(cuts, axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            stationary = np.where(slopes < 0, 1 + np.log(-slopes), -np.inf)
        best = np.clip(stationary, cuts[:-1], cuts[1:])
        least = (np.exp(best - 1) + ends[:-1] + slopes * (best - cuts[:-1])).min(axis=0)
        return np.where(flat, 0.0, least)
