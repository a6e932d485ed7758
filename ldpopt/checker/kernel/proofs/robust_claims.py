"""Claims about a mechanism on inputs (s, u) that is private against a set of distributions of any sort.

Value. I(X; Y) under the center p̂ of the set is enclosed by ``column_utilities.py``.

Level. A member of the set tells two secrets apart by a factor, which no member exceeds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

from ..arithmetic import Interval, enclose, log
from ..claims import Claim, decided
from ..section import Case
from .column_utilities import gained, information
from .confidence_set import RobustStatement
from .private_rows import Rows, read_matrix

AUDIT_ERROR = Fraction(1, 10**9)
"""How far a stated robust level may be from what its witness and the proof show."""


def robust_answer(document: dict[str, Any], question: Any) -> Rows:
    """Read the mechanism, one row per pair (s, u) of ``question.robust``."""
    secrets = [s for s, row in enumerate(question.robust.p_hat) for _ in row]
    return read_matrix(document, len(secrets), secrets)


def empirical_information(matrix: Sequence[Sequence[float]], question: RobustStatement) -> Fraction:
    """Compute a number just below I(X; Y) under p̂."""
    return Fraction(_information(matrix, question).low)


def _information(matrix: Sequence[Sequence[float]], question: RobustStatement) -> Interval:
    return gained(information([entry for row in question.p_hat for entry in row]), matrix)


def empirical_value(case: Case) -> Iterator[Claim]:
    """Check the claim about the information under p̂."""
    words = f"its mutual information under p_hat is at least {case.value!r}"

    def test() -> bool | None:
        return enclose(case.value).at_most(_information(case.answer, case.question.robust))

    yield case.claim_value(words, test)


def audit_claims(
    matrix: Rows,
    audit: dict[str, Any],
    name: str,
    inside: Callable[[], bool | None],
    private: Callable[[Fraction], bool],
) -> Iterator[Claim]:
    """Check that a distribution is a member of a set and attains a level, which no member exceeds.

    Args:
        matrix: the mechanism.
        audit: the level, the output, the two secrets, and the distribution [s][u].
        name: the name of the set, in the claims.
        inside: whether the distribution is a member.
        private: whether the mechanism is proven private against the set at a level.
    """
    level, (s, z) = audit["level"], audit["secrets"]
    yield decided("audit", f"certificate.audit.witness is a distribution in {name}", inside)
    words = f"it tells the secrets {s} and {z} apart by at least a factor e^({level!r} − 1e-9)"
    attained = partial(tells_apart, matrix, audit["witness"], (s, z), audit["output"], Fraction(level))
    yield decided("audit", words, attained)
    words = (
        f"no distribution in {name} tells two secrets apart by more than a factor e^({level!r} + 1e-9)"
    )
    yield decided("audit", words, lambda: private(Fraction(level) + AUDIT_ERROR) or None, value=level)


def tells_apart(
    matrix: Rows, P: list[list[Fraction]], pair: tuple[int, int], y: int, level: Fraction
) -> bool | None:
    """Return whether log P(y|s)/P(y|z) ≥ level − AUDIT_ERROR.

    Args:
        matrix: the mechanism, one row per input (s, u).
        P: a distribution of (s, u).
        pair: the secrets s and z.
        y: the output.
        level: the level that is stated.
    """
    a2 = len(P[0])
    given = [
        sum((p * Fraction(matrix[s * a2 + u][y]) for u, p in enumerate(P[s])), Fraction(0)) / sum(P[s])
        for s in pair
        if sum(P[s]) > 0
    ]
    if len(given) < 2 or given[0] == 0:
        return False
    return given[1] == 0 or enclose(level - AUDIT_ERROR).at_most(log(given[0] / given[1]))
