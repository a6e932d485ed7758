"""What the questions of robust LDP share: a χ² confidence set, and privacy against all of it.

Lopuhaä-Zwakenberg and Goseling 2021.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

from ldpopt.core import certify
from ldpopt.core.errors import InvalidInputError
from ldpopt.core.exact import (
    AUDIT_ERROR,
    RobustStatement,
    conditional_entropy_above,
    empirical_information,
    in_polyopt_cone,
    is_confidence_member,
    is_robustly_private,
    read_robust_question,
    robust_information,
    tells_apart,
)
from ldpopt.core.highs import solve_listed
from ldpopt.core.limits import UNLIMITED
from ldpopt.core.mechanism import Mechanism
from ldpopt.core.problem import Problem, Subject
from ldpopt.core.validate import Array
from ldpopt.measures.rldp_level import rldp_level
from ldpopt.models.chi2_ball import RobustInformation
from ldpopt.models.cones import staircase_cone
from ldpopt.models.uncertainty_sets import Chi2Set
from ldpopt.models.utilities import MutualInformation


def confidence_set(
    kind: str, p_hat: Any, n: Any, counts: Any, alpha: float, instead: str = ""
) -> Chi2Set:
    """Build the uncertainty set F, the confidence set of a χ² test.

    Args:
        kind: the kind of the problem, for messages.
        p_hat: the observed distribution [s][u], with ``n``; None if counts are given.
        n: the number of samples.
        counts: the contingency table [s][u]; None if p_hat is given.
        alpha: the significance level.
        instead: what else the problem takes than a table, for messages.

    Raises:
        InvalidInputError: both or neither are given, or the table has a single row or column.
    """
    if counts is not None:
        if p_hat is not None or n is not None:
            raise InvalidInputError(f"{kind} needs either 'p_hat' and 'n' or 'counts', not both")
        found = Chi2Set.from_counts(counts, alpha)
    else:
        if p_hat is None or n is None:
            raise InvalidInputError(f"{kind} needs 'p_hat' and 'n', or 'counts'{instead}")
        found = Chi2Set(p_hat, n, alpha)
    if found.shape[0] < 2:
        raise InvalidInputError("the table must have two or more secrets (rows), not one secret alone")
    if found.shape[1] < 2:
        raise InvalidInputError(
            "the table must have two or more public values (columns), not one; use the kind staircase"
        )
    return found


@dataclass(frozen=True, eq=False)
class TableProblem(Problem):
    """A problem about the χ² confidence set F of a table, with the parameters that describe F.

    Args:
        epsilon: the level, in nats.
        p_hat: the observed distribution [s][u], with ``n``; or else ``counts``.
        n: the number of samples.
        alpha: the significance level of F.
        counts: the contingency table [s][u].
    """

    epsilon: float
    p_hat: Any = None
    n: float | None = None
    alpha: float = 0.05
    counts: Any = None

    def cleaned(self) -> dict[str, Any]:
        """Check the parameters."""
        F = self.uncertainty
        given = {"p_hat": F.p_hat, "n": F.n} if self.counts is None else {}
        return {**super().cleaned(), **given}

    @cached_property
    def uncertainty(self) -> Chi2Set:
        """The confidence set F."""
        return confidence_set(self.kind, self.p_hat, self.n, self.counts, self.alpha)

    @cached_property
    def information(self) -> MutualInformation | RobustInformation:
        """I(X; Y) under p̂, or its guaranteed least value over F where the question asks for that."""
        F = self.uncertainty
        return RobustInformation(F.ball) if self._is_robust else MutualInformation(F.p_hat.ravel())

    @property
    def _is_robust(self) -> bool:
        return getattr(self, "objective", "empirical") == "robust"

    def value(self, answer: Mechanism) -> float:
        """Evaluate the information from the mechanism's matrix."""
        return float(self.information(answer.matrix).sum())

    def claim(self, answer: Mechanism) -> float:
        """Evaluate the information by the checker's exact arithmetic, rounded down."""
        exact = robust_information if self._is_robust else empirical_information
        return certify.value_below(exact(answer.matrix.tolist(), self.question.robust))

    def subject(self, mechanism: Mechanism) -> Subject:
        """Describe that s is hidden against every distribution of F."""
        return robust_subject(mechanism, self.uncertainty, self.epsilon)

    def audit(self, answer: Mechanism) -> dict[str, Any]:
        """Measure the exact level over F, with a member of F that attains it."""
        return audited(answer, self.uncertainty)


def audited(mechanism: Mechanism, uncertainty: Chi2Set) -> dict[str, Any]:
    """Measure the exact robust level of a mechanism with its witness, as plain data.

    The result is empty where the level that floats find cannot be proven, as may happen for ratios such
    as e^30 or a secret of probability 1e-12.
    """
    found = rldp_level(mechanism, uncertainty)
    witness = inside(found.witness, uncertainty)
    rows, level = mechanism.matrix.tolist(), Fraction(found.level)
    exact = [[Fraction(entry) for entry in row] for row in witness.tolist()]
    if not tells_apart(rows, exact, (found.s, found.other), found.y, level):
        return {}
    # for a higher level, a smaller positive cell, or more slack over the probability of the rarest
    # secret, floats may miss a level by 1e-9
    rarest = uncertainty.p_hat[uncertainty.p_hat > 0].min()
    wide = uncertainty.slack > 1e3 * uncertainty.secrets.min()
    extreme = found.level > 10.0 or rarest < 1e-6 or wide
    if extreme and not is_robustly_private(rows, _question(uncertainty, 1.0), level + AUDIT_ERROR):
        return {}
    return {
        "level": found.level,
        "output": found.y,
        "secrets": [found.s, found.other],
        "witness": witness.tolist(),
    }


def inside(witness: Array, uncertainty: Chi2Set) -> Array:
    """Move the witness towards p̂ until it is a member in exact arithmetic."""
    question = _question(uncertainty, 1.0)
    for step in certify.rising(1e-12, 1.0, 4.0):
        moved = (1 - step) * witness + step * uncertainty.p_hat
        exact = [[Fraction(entry) for entry in row] for row in moved.tolist()]
        mass = sum(map(sum, exact), Fraction(0))
        if is_confidence_member([[entry / mass for entry in row] for row in exact], question):
            return moved
    return uncertainty.p_hat.copy()


def _question(F: Chi2Set, epsilon: float) -> RobustStatement:
    plain = {"p_hat": F.p_hat.tolist(), "n": F.n, "alpha": F.alpha, "epsilon": epsilon}
    return read_robust_question(plain, F.cells or F.p_hat.size)


def robust_subject(mechanism: Mechanism, uncertainty: Chi2Set, epsilon: float) -> Subject:
    """Describe the inputs (s, u), with s hidden at the level ε against every distribution of the set.

    Args:
        mechanism: the mechanism on the inputs (s, u).
        uncertainty: the uncertainty set F.
        epsilon: the level ε that is promised, in nats.
    """
    return Subject.of_pairs(mechanism, uncertainty.p_hat, uncertainty, {"robust": epsilon})


def ceiling_of(secret: Array, question: RobustStatement) -> dict[str, Any]:
    """Bound the information of every mechanism that hides s under one distribution, with a proof.

    Args:
        secret: the distribution of s, in floats.
        question: the table whose distribution it is, and the level.
    """
    rays = staircase_cone(len(secret), question.epsilon).rays()
    best = solve_listed(rays, MutualInformation(secret)(rays), UNLIMITED)
    assert best.proof is not None
    dual = best.proof["dual"]
    spent = sum(map(Fraction, dual), conditional_entropy_above(question))
    return {"ceiling": certify.value_above(spent), "secret_dual": dual}


@dataclass(frozen=True)
class RobustPrivacy:
    """(ε, F)-RLDP for a χ² set F: Lopuhaä-Zwakenberg and Goseling 2021, Definition 1."""

    question: RobustStatement

    @classmethod
    def against(cls, uncertainty: Chi2Set, epsilon: float) -> Self:
        """Build the requirement of privacy against a set at the level ε."""
        return cls(_question(uncertainty, epsilon))

    @property
    def epsilon(self) -> float:
        """Return the level, in nats."""
        return self.question.epsilon

    def admits(self, matrix: Array) -> bool:
        """Return whether the mechanism is private against every P ∈ F, in exact arithmetic."""
        return is_robustly_private(matrix.tolist(), self.question)


@dataclass(frozen=True)
class ConePrivacy(RobustPrivacy):
    """Columns in the PolyOpt cone of F; by Theorem 11 such mechanisms are private against F."""

    pairs: str

    def admits(self, matrix: Array) -> bool:
        """Return whether every column lies in the cone, in exact arithmetic."""
        every = range(len(self.question.p_hat[0]))
        return in_polyopt_cone(matrix.tolist(), self.question, self.pairs, every)
