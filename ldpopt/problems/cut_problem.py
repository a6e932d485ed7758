"""Questions of one shape: the best mechanism of all that are private against a set of distributions."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ldpopt.core import certify
from ldpopt.core.errors import InvalidInputError, SolverError
from ldpopt.core.exact import UnreadableError, empirical_information
from ldpopt.core.form import Form, FormSolution, Stage
from ldpopt.core.mechanism import Mechanism
from ldpopt.core.problem import Measure, Problem, Stages
from ldpopt.core.validate import Array
from ldpopt.models.chi2_ball import RobustInformation
from ldpopt.models.utilities import MutualInformation
from ldpopt.problems.table_problem import ceiling_of


class CutProblem(Problem):
    """Maximise information over the cone of all private columns, which members of the set cut out.

    The bound is the better one of two: that of a tree over an outer cone, whose proof is made exact, and
    the ceiling max I(S; Y) + H(U | S) of :func:`ldpopt.problems.table_problem.ceiling_of`.
    """

    bench_sizes: ClassVar[tuple[int, ...]] = (2, 3, 4)
    most_secrets: ClassVar[int]
    most_inputs: ClassVar[int]
    """More secrets or cells make too many cuts, or climbs over the set."""
    search_share: ClassVar[float] = 1.0
    """The share of the time for the search: the proof of privacy, and the repair after it, may each take
    as long as some two of its rounds."""

    def check_size(self, shape: tuple[int, int]) -> None:
        """Refuse a table [s][u] that is too large."""
        secrets, cells = shape[0], shape[0] * shape[1]
        if secrets > self.most_secrets or cells > self.most_inputs:
            raise InvalidInputError(
                f"a table of {self.kind} may have at most {self.most_secrets} secrets and "
                f"{self.most_inputs} cells, not {secrets} and {cells}; polyopt takes larger ones"
            )

    @property
    @abstractmethod
    def centre(self) -> Array:
        """The distribution [s][u] under which information is measured."""

    @abstractmethod
    def exact_proof(self, proof: dict[str, Any]) -> dict[str, Any]:
        """Turn the proof that floats found over an outer cone into one in exact arithmetic."""

    @cached_property
    def utility(self) -> MutualInformation | RobustInformation:
        """I(X; Y) under the centre."""
        return MutualInformation(self.centre.ravel())

    @property
    def measure(self) -> Measure:
        """What the utility measures."""
        return self.utility.measure

    def stages(self, form: Form) -> Stages:
        """Solve over the cone; the bound is the better one of the tree's and the ceiling."""
        yield Stage(form, self._proven, self.search_share)

    def _proven(self, solution: FormSolution) -> FormSolution:
        """Make the proof exact; where the ceiling is lower, it is the bound."""
        ceiling = ceiling_of(self.centre.sum(axis=1), self.question.robust)
        at_ceiling = replace(solution, bound=ceiling["ceiling"], proof=ceiling)
        if solution.bound is None or solution.bound >= ceiling["ceiling"] or solution.proof is None:
            return at_ceiling
        try:
            proof = self.exact_proof(solution.proof)
        except (SolverError, UnreadableError):  # its multipliers are too coarse, or its boxes too thin
            return at_ceiling
        return replace(solution, bound=certify.dual_bound(np.array(proof["dual"])), proof=proof)

    def value(self, answer: Mechanism) -> float:
        """Evaluate the utility."""
        return float(self.utility(answer.matrix).sum())

    def claim(self, answer: Mechanism) -> float:
        """Evaluate I(X; Y) under the centre by the checker's exact arithmetic, rounded down."""
        return certify.value_below(empirical_information(answer.matrix.tolist(), self.question.robust))
