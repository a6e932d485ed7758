"""Problems that ask for the best mechanism whose columns lie in a cone, for a sublinear utility."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any

from ldpopt.core import certify
from ldpopt.core.exact import dominates_private_columns, frame
from ldpopt.core.form import Form, FormSolution, Stage
from ldpopt.core.forms.column_program import ColumnProgram, Cone, Sublinear
from ldpopt.core.mechanism import Label, Mechanism
from ldpopt.core.problem import Measure, Problem, Stages, Subject
from ldpopt.models.cones import SecretCone
from ldpopt.models.utilities import MutualInformation


class ColumnProblem(Problem):
    """A problem that is one :class:`ColumnProgram`; subclasses say which cone and which utility."""

    @property
    @abstractmethod
    def cone(self) -> Cone:
        """The cone in which the columns of the mechanism must lie."""

    @property
    @abstractmethod
    def sublinear(self) -> Sublinear:
        """The utility of a column."""

    @property
    def inputs(self) -> Iterable[Label]:
        """The labels of the mechanism's inputs."""
        return range(self.cone.dimension)

    @property
    def measure(self) -> Measure:
        """What the utility measures; a user's utility may state it in an attribute ``measure``."""
        return getattr(self.sublinear, "measure", Measure("utility"))

    def subject(self, mechanism: Mechanism) -> Subject:
        """Describe the secrets of the cone, and its promise: a ratio of at most e^ε between them."""
        cone, utility = self.cone, self.sublinear
        p = utility.prior if isinstance(utility, MutualInformation) else None
        if not isinstance(cone, SecretCone):
            return Subject.of_values(mechanism, p, {})
        if len(set(cone.secrets)) == cone.dimension:
            return Subject.of_values(mechanism, p, {"ldp": cone.epsilon})
        return Subject.of_groups(mechanism, cone.secrets, p, {"indistinguishability": cone.epsilon})

    def forms(self) -> Iterable[Form]:
        """Give one form: the column program over the cone."""
        return [ColumnProgram(self.cone, self.sublinear)]

    def stages(self, form: Form) -> Stages:
        """Declare one stage, the form itself; where the value is tiny, the checker tests its proof."""
        yield Stage(form, self._provable)

    def _provable(self, solution: FormSolution) -> FormSolution:
        if not self._utility_is_known:
            return solution
        return certify.prove_rounded(
            solution, lambda dual: dominates_private_columns(dual, self.question)
        )

    @property
    def _utility_is_known(self) -> bool:
        """Whether the checker knows the utility, and not the privacy alone."""
        return self.question is not None and bool(self.question.objective.name)

    def statement(self) -> dict[str, Any] | None:
        """State the whole question if the checker knows the kind, otherwise the privacy alone.

        A kind of another package overrides this method if the checker knows its utility. If it does not,
        rows, privacy and level of its mechanisms are still verified, and value and bound are reported as
        not certified. The statement is None for a cone that the checker does not know.
        """
        if frame.knows(self.kind):
            return super().statement()
        return self.privacy_statement()

    def privacy_statement(self) -> dict[str, Any] | None:
        """State the privacy alone."""
        if not isinstance(self.cone, SecretCone):
            return None
        secrets = [list(s) if isinstance(s, tuple) else s for s in self.cone.secrets]
        return {"form": "private-mechanism", "secrets": secrets, "epsilon": self.cone.epsilon}

    def lift(self, form: Form, solution: FormSolution) -> Mechanism:
        """Build the mechanism with columns θ_v v, repaired to exact arithmetic."""
        return Mechanism(certify.repair(solution.point.matrix, self.cone), inputs=self.inputs)

    def unrepaired(self, form: Form, solution: FormSolution) -> Mechanism:
        """Build the mechanism with columns θ_v v, its rows divided by their sums."""
        matrix = solution.point.matrix
        return Mechanism(matrix / matrix.sum(axis=1, keepdims=True), inputs=self.inputs)

    def value(self, answer: Mechanism) -> float:
        """Compute Σ_y g(W[:, y])."""
        return float(self.sublinear(answer.matrix).sum())

    def audit(self, answer: Mechanism) -> dict[str, Any]:
        """Measure the exact level at which the mechanism is private in the sense of the problem."""
        return {"level": self.cone.level(answer.matrix)}

    def claim(self, answer: Mechanism) -> float:
        """Evaluate the utility by the checker's exact arithmetic, rounded down."""
        if not self._utility_is_known:
            return self.value(answer)
        return certify.value_below(self.question.gain(answer.matrix.tolist()).low)
