"""The best mechanism that hides s against every distribution of an uncertainty set."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, ClassVar, Self

import numpy as np

from ldpopt.core.exact import AUDIT_ERROR
from ldpopt.core.form import Form, FormSolution
from ldpopt.core.forms.column_program import ColumnProgram
from ldpopt.core.forms.cut_program import CutProgram
from ldpopt.core.limits import UNLIMITED
from ldpopt.core.mechanism import Mechanism
from ldpopt.core.problem import Example, Subject
from ldpopt.core.validate import Array
from ldpopt.measures.level_over_set import level_question, proven_level
from ldpopt.models.block_cone import BlockCone
from ldpopt.models.convex_set import ConvexSet, convex_set
from ldpopt.models.set_cone import SetCone
from ldpopt.problems._robust.exact_proof import exact_set_proof
from ldpopt.problems.cut_problem import CutProblem


@dataclass(frozen=True, eq=False)
class SetOptimum(CutProblem):
    """Maximise I(X; Y) over all mechanisms that are (ε, F)-RLDP for a convex set F.

    Lopuhaä-Zwakenberg and Goseling 2021, Definition 1, for the sets of
    :class:`~ldpopt.models.convex_set.ConvexSet`; the information is that under the center of the
    set. One known distribution is the setting of the paper's reference [10].

    Args:
        epsilon: the level, in nats.
        uncertainty: a :class:`~ldpopt.models.convex_set.ConvexSet`, or its description
            {"kind": …, …}.

    >>> SetOptimum(1, {"kind": "known", "p": [[0.3, 0.2], [0.15, 0.35]]}).members.shape
    (2, 2)
    """

    kind: ClassVar[str] = "set-optimum"
    most_secrets: ClassVar[int] = 8
    most_inputs: ClassVar[int] = 36
    search_share: ClassVar[float] = 0.5
    epsilon: float
    uncertainty: Any

    def cleaned(self) -> dict[str, Any]:
        """Read the level and the set, and check the size of its table."""
        F = convex_set(self.uncertainty)
        self.check_size(F.shape)
        return {**super().cleaned(), "uncertainty": F.plain}

    @cached_property
    def members(self) -> ConvexSet:
        """The uncertainty set."""
        return convex_set(self.uncertainty)

    @property
    def centre(self) -> Array:
        """The center of the set."""
        return self.members.center

    def forms(self) -> Iterable[Form]:
        """Give one form: the program over the cone of all private columns."""
        cone = SetCone(self.members.exact, self.epsilon)
        inner = ColumnProgram(BlockCone(cone.least_shares(), self.epsilon, "distinct"), self.utility)
        return [CutProgram(cone, self.utility, self.centre.ravel(), inner)]

    def exact_proof(self, proof: dict[str, Any]) -> dict[str, Any]:
        """Move the members of the outer cone into F, and raise the dual vector until it is proven."""
        return exact_set_proof(proof, self.members.exact, self.question.robust)

    def lift(self, form: Form, solution: FormSolution) -> Mechanism:
        """Build the mechanism, private in exact arithmetic."""
        matrix = solution.point.matrix
        touch = 2e-11  # the share of the uniform mechanism that leaves room for a proof of privacy
        mixed = (1 - touch) * matrix + touch / matrix.shape[1]
        rows = SetCone(self.members.exact, self.epsilon).repaired(mixed)
        a1, a2 = self.members.shape
        return Mechanism(rows, inputs=product(range(a1), range(a2)))

    def subject(self, mechanism: Mechanism) -> Subject:
        """Describe that s is hidden against every distribution of F."""
        return Subject.of_pairs(mechanism, self.members.center, self.members, {"robust": self.epsilon})

    def audit(self, answer: Mechanism) -> dict[str, Any]:
        """Measure the level over F, with a member of F that attains it; nothing if it is not proven."""
        question = level_question(answer.matrix.tolist(), self.members.exact)
        place, level, bound = proven_level(answer.matrix, question, UNLIMITED)
        close = bound is not None and bound - level <= AUDIT_ERROR
        return {"level": level, **place.plain()} if close else {}

    @classmethod
    def random(cls, size: int, rng: np.random.Generator) -> Iterable[tuple[str, Self]]:
        """Draw a table of ``size`` secrets with two values each, in a ball of total variation."""
        p_hat = rng.dirichlet(np.full(size * 2, 3.0)).reshape(size, 2)
        radius = float(p_hat.sum(axis=1).min()) / 10
        ball = {"kind": "total-variation", "p_hat": p_hat.tolist(), "radius": radius}
        yield f"total-variation {size}x2 epsilon=1", cls(1.0, ball)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        """Give optima: max I(S; Y) + H(U | S) for a known distribution, and one proven by a tree."""
        p = np.array([[0.3, 0.2], [0.15, 0.35]])
        high = math.e / (1 + math.e)  # both secrets are equally likely
        information = math.log(2) + high * math.log(high) + (1 - high) * math.log(1 - high)
        known = information - float((p * np.log(p / 0.5)).sum())
        yield Example(cls(1.0, {"kind": "known", "p": p.tolist()}), known, 1e-8)
        ball = {"kind": "total-variation", "p_hat": p.tolist(), "radius": 0.02}
        yield Example(cls(1.0, ball), 0.734931826, 1e-8)
