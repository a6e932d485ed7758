"""A ceiling on the information of every mechanism private against a set: max I(S; Y) + H(U | S)."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from ..arithmetic import enclose, log, total
from ..claims import Claim, decided
from ..reading import UnreadableError
from ..schema import List, Number
from . import corners
from .column_utilities import MOST_DUAL
from .confidence_set import RobustStatement

CEILING = "mechanisms private against the set"
"""What the ceiling is about."""


def ceiling_claim(
    proof: dict[str, Any],
    question: RobustStatement,
    name: str = "the set, within the PolyOpt cone or not,",
) -> Claim:
    """Check the ceiling max I(S; Y) + H(U | S) of every mechanism private against F.

    It holds as I(X; Y) = I(S; Y) + I(U; Y | S).

    As p̂ ∈ F, the channel from S to Y is ε-LDP, and a dual vector bounds its information.

    Args:
        proof: the ceiling, and the dual vector.
        question: p̂ and the level.
        name: the name of the set F, in the claim.
    """
    ceiling, dual = proof["ceiling"], proof["secret_dual"]
    secret = tuple(sum(row, Fraction(0)) for row in question.p_hat)
    if len(dual) != len(secret):
        raise UnreadableError("certificate.proof.secret_dual must have one entry per secret")

    def test() -> bool | None:
        spent = sum(map(Fraction, dual), conditional_entropy_above(question))
        if spent > Fraction(ceiling):
            return False
        secrets = range(len(secret))
        return corners.dominates(dual, secrets, question.epsilon, "mutual-information", [secret])

    words = f"no mechanism private against {name} has a utility above {ceiling!r}"
    return decided("bound", words, test, about=CEILING, value=ceiling)


def conditional_entropy_above(question: RobustStatement) -> Fraction:
    """Compute a number just above H(U | S) under p̂."""
    parts = []
    for row in question.p_hat:
        mass = sum(row, Fraction(0))
        parts += [enclose(p) * log(mass / p) for p in row if p]
    return Fraction(total(parts).high)


DUAL = List(Number(-MOST_DUAL, MOST_DUAL), 2)
