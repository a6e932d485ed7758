"""What the questions of robust LDP share: a χ² confidence set, and privacy against all of it.

Lopuhaä-Zwakenberg and Goseling 2021.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ldpopt.checker.robust import RobustStatement, is_robustly_private, read_robust_question
from ldpopt.core.errors import InvalidInputError
from ldpopt.core.mechanism import Mechanism
from ldpopt.core.subject import Subject
from ldpopt.core.validate import Array
from ldpopt.theory.robust.level import rldp_level
from ldpopt.theory.robust.uncertainty import Chi2Set


def confidence_set(kind: str, p_hat: Any, n: Any, counts: Any, alpha: float) -> Chi2Set:
    """Build the set F from either ``p_hat`` and ``n`` or ``counts``."""
    if counts is not None:
        if p_hat is not None or n is not None:
            raise InvalidInputError(f"{kind} needs either 'p_hat' and 'n' or 'counts', not both")
        found = Chi2Set.from_counts(counts, alpha)
    else:
        if p_hat is None or n is None:
            raise InvalidInputError(f"{kind} needs 'p_hat' and 'n', or 'counts'")
        found = Chi2Set(p_hat, n, alpha)
    if found.shape[0] < 2:
        raise InvalidInputError("the table has one secret (row): there is nothing to protect")
    if found.shape[1] < 2:
        raise InvalidInputError("the table has one public value (column): use a staircase instead")
    return found


def audited(mechanism: Mechanism, uncertainty: Chi2Set) -> dict[str, Any]:
    """Measure the exact robust level of a mechanism with its witness, as plain data."""
    found = rldp_level(mechanism, uncertainty)
    return {
        "level": found.level,
        "product_level": found.product_level,
        "output": found.y,
        "secrets": [found.s, found.other],
        "witness": found.witness.tolist(),
    }


def robust_subject(mechanism: Mechanism, uncertainty: Chi2Set, epsilon: float) -> Subject:
    """Describe the inputs (s, u), with s hidden at the level ε against every distribution of the set."""
    return Subject.of_pairs(mechanism, uncertainty.p_hat, uncertainty, {"robust": epsilon})


@dataclass(frozen=True)
class RobustPrivacy:
    """(ε, F)-RLDP for a χ² set F: Lopuhaä-Zwakenberg and Goseling 2021, Definition 1."""

    uncertainty: Chi2Set
    epsilon: float

    @cached_property
    def _question(self) -> RobustStatement:
        F = self.uncertainty
        plain = {"p_hat": F.p_hat.tolist(), "n": F.n, "alpha": F.alpha, "epsilon": self.epsilon}
        return read_robust_question(plain, F.cells or F.p_hat.size)

    def admits(self, matrix: Array) -> bool:
        """Return whether the mechanism is private against every P ∈ F, in exact arithmetic."""
        return is_robustly_private(matrix.tolist(), self._question)
