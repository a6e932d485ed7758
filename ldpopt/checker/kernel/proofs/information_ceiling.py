"""A ceiling on the information of every mechanism private against a set: max I(S; Y) + H(U | S)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from typing import Any

from ..arithmetic import enclose, log, total
from ..claims import Claim, decided
from ..reading import UnreadableError
from ..schema import List, Number
from ..section import Case
from . import corners
from .column_utilities import MOST_DUAL
from .confidence_set import RobustStatement

CEILING = "mechanisms private against the set"
"""What the ceiling is about."""
ANYWHERE = "the set, within the PolyOpt cone or not,"


def ceiling_claims(case: Case, proof: dict[str, Any], name: str = ANYWHERE) -> Iterator[Claim]:
    """Check that the stated bound is not below a ceiling, and that this holds.

    Args:
        case: the file.
        proof: the ceiling, and the dual vector of the secret.
        name: the name of the set F, in the claim.
    """
    yield ceiling_claim(proof, case.question.robust, name)
    words = "the stated bound is not below that ceiling"
    yield case.claim_bound(words, lambda: case.bound >= proof["ceiling"])


def ceiling_claim(proof: dict[str, Any], question: RobustStatement, name: str = ANYWHERE) -> Claim:
    """Check the ceiling max I(S; Y) + H(U | S) of every mechanism private against F.

    It holds as I(X; Y) = I(S; Y) + I(U; Y | S).

    As p̂ ∈ F, the channel from S to Y is ε-LDP, and a dual vector bounds its information.

    Args:
        proof: the ceiling, and the dual vector.
        question: p̂ and the level.
        name: the name of the set F, in the claim.
    """
    ceiling, dual = proof["ceiling"], proof["secret_dual"]
    secret = question.secrets
    if len(dual) != len(secret):
        raise UnreadableError("certificate.proof.secret_dual must have one entry per secret")

    def test() -> bool | None:
        spent = sum(map(Fraction, dual), conditional_entropy_above(question))
        if spent > Fraction(ceiling):
            return False
        secrets = range(len(secret))
        return corners.dominates(dual, secrets, question.epsilon, [secret])

    words = f"no mechanism private against {name} has a utility above {ceiling!r}"
    return decided("bound", words, test, about=CEILING, value=ceiling)


def cover_claims(
    case: Case,
    words: str,
    fits: Callable[[], bool | None],
    covers: Callable[[], bool],
    name: str = "the set",
) -> Iterator[Claim]:
    """Check that a cone holds every private column, and that the dual vector is proven over the cone.

    By weak duality Σ β is then at least the utility of every mechanism private against F.

    Args:
        case: the file, with its dual vector.
        words: what makes the cone hold every private column: distributions that lie in F.
        fits: whether they do.
        covers: whether the proof covers the cone.
        name: the name of the set F, in the claim.
    """
    dual, known = case.proof["dual"], cache(fits)
    if len(dual) != sum(map(len, case.question.robust.p_hat)):
        raise UnreadableError("certificate.proof.dual must have one entry per pair (s, u)")
    yield decided("member", words, known)

    def test() -> bool | None:
        if sum(map(Fraction, dual)) > Fraction(case.bound):
            return False
        return covers() if known() is True else known()

    words = f"no mechanism private against {name} has a utility above {case.bound!r}"
    yield case.claim_bound(words, test, CEILING)


def conditional_entropy_above(question: RobustStatement) -> Fraction:
    """Compute a number just above H(U | S) under p̂."""
    pairs = zip(question.p_hat, question.secrets, strict=True)
    return Fraction(total(enclose(p) * log(mass / p) for row, mass in pairs for p in row if p).high)


DUAL = List(Number(-MOST_DUAL, MOST_DUAL), 2)
