"""The best private report of a bounded number, for the mean of many."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np

from ldpopt.core import certify, validate
from ldpopt.core.errors import SolverError
from ldpopt.core.exact import covers_interval, exact_moments
from ldpopt.core.form import Form, FormSolution
from ldpopt.core.forms.numeric_program import NumericProgram
from ldpopt.core.mechanism import Mechanism
from ldpopt.core.problem import Example, Measure, Problem
from ldpopt.core.validate import Array
from ldpopt.measures.numeric_report_variance import mean_variance, worst_variance
from ldpopt.models.cones import SecretCone, staircase_cone


@dataclass(frozen=True, eq=False)
class NumericMean(Problem):
    """Report a number x of [−1, 1] without bias, ε-LDP, with the least worst or mean variance.

    n times the squared error of the mean of n reports, as an estimate of the mean of their n numbers, is
    the mean of their variances: at most the worst one, and that under the prior where the numbers have
    these frequencies.

    The answer is a mechanism on a grid, whose outputs are the reported numbers; a number between two
    points is rounded to one of them at random, without bias. Its value holds for every x in [−1, 1], and
    its bound for every unbiased ε-LDP mechanism on [−1, 1], on this grid, another, or none. So value and
    bound differ by some quarter of the squared distance of two points: more points bring them together.
    Under a prior both are means over the points, and meet.

    Duchi, Jordan and Wainwright 2018 use two points; Wang et al. 2019 (the piecewise mechanism and its
    hybrid with the former) report a number of an interval. None of them is optimal.

    Args:
        epsilon: the level, in nats.
        points: the number of equally spaced points of the grid, from 2 to 101.
        prior: positive probabilities of the points, if the mean variance is to be least, not the worst.

    >>> NumericMean(1.0, 5).grid
    array([-1. , -0.5,  0. ,  0.5,  1. ])
    """

    kind: ClassVar[str] = "numeric-mean"
    sense: ClassVar[Literal["maximise", "minimise"]] = "minimise"
    bench_sizes: ClassVar[tuple[int, ...]] = (3, 9, 21)
    epsilon: float
    points: int
    prior: Any = None

    def cleaned(self) -> dict[str, Any]:
        """Check the parameters."""
        return {} if self.prior is None else {"prior": validate.distribution("prior", self.prior)}

    @property
    def measure(self) -> Measure:
        """The variance that is minimised."""
        which = "worst" if self.prior is None else "mean"
        return Measure(f"{which} variance of the report of a number of [−1, 1]")

    @property
    def grid(self) -> Array:
        """The inputs of the mechanism."""
        return np.array([float(x) for x in self.question.points])

    @property
    def cone(self) -> SecretCone:
        """The columns of ε-LDP mechanisms."""
        return staircase_cone(self.points, self.epsilon)

    def forms(self) -> Iterable[Form]:
        """Give one form."""
        return [NumericProgram(self.question)]

    def lift(self, form: Form, solution: FormSolution) -> Mechanism:
        """Repair the mechanism to exact arithmetic, then its reports, so that they are unbiased.

        The reports are moved until the mean of each input is its point up to rounding, and stretched by
        the few units in the last place that make the means reach −1 and 1. Numbers are rounded to these
        means, so that not even the rounding of floats leaves a bias. Outputs of equal reports are one.
        """
        matrix, reports = certify.repair(solution.point.matrix, self.cone), solution.point.numbers
        reports = reports + np.linalg.lstsq(matrix, self.grid - matrix @ reports)[0]
        stretch = certify.GRID
        while not covers_interval(exact_moments(matrix.tolist(), reports.tolist())[0]):
            reports, stretch = reports * (1 + stretch), 2 * stretch
            if stretch > 1e-9:
                raise SolverError("the solver's reports are too far from unbiased to be repaired")
        numbers, output = np.unique(reports, return_inverse=True)
        merged = np.zeros((self.points, len(numbers)))
        np.add.at(merged.T, output, matrix.T)
        return Mechanism(merged, inputs=self.grid.tolist(), outputs=numbers.tolist())

    def value(self, answer: Mechanism) -> float:
        """Compute the largest variance of the report of a number of [−1, 1], or the mean one."""
        reports = np.array(answer.outputs)
        if self.prior is None:
            return worst_variance(answer.matrix, reports)
        return mean_variance(answer.matrix, reports, self.grid, self.prior)

    def claim(self, answer: Mechanism) -> float:
        """Compute the same exactly, rounded up."""
        reports: Any = answer.outputs
        return certify.value_above(
            self.question.variance(*exact_moments(answer.matrix.tolist(), reports))
        )

    def audit(self, answer: Mechanism) -> dict[str, Any]:
        """Measure the exact level of the mechanism."""
        return {"level": self.cone.level(answer.matrix)}

    @classmethod
    def random(cls, size: int, rng: np.random.Generator) -> Iterable[tuple[str, Self]]:
        """Draw a low and a high level, for a grid of ``size`` points."""
        for low, high in ((0.2, 1.0), (1.0, 4.0)):
            epsilon = round(float(rng.uniform(low, high)), 3)
            yield f"points={size} epsilon={epsilon}", cls(epsilon, size)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        """Give grids whose brackets contain the optimum of the interval, known from finer grids."""
        yield Example(cls(1.0, 2), 3.9907, 1e-4)
        yield Example(cls(1.0, 3), 3.9907, 1e-4)
        yield Example(cls(1.0, 9), 3.9907, 1e-4)
        yield Example(cls(4.0, 5), 0.1273, 3e-4)
        yield Example(cls(1.0, 3, [0.2, 0.5, 0.3]), 3.932129037, 1e-8)
