"""The best mechanism private against a χ² set itself: the kind ``robust-optimum``.

The claims, and which function decides which:

* stochastic, private against F, value, audit: ``robust_privacy.py``;
* the listed distributions are members of F: ``confidence_set.py``;
* every mechanism private against F has at most the bound (:func:`_bound`): a dual vector is proven over
  the outer cone that the members describe (``outer_cone.py``) or over that of half of the slack for each
  of two secrets (``half_cone.py``), or the bound is not below the *ceiling* max I(S; Y) + H(U | S)
  (``information_ceiling.py``).

With the objective "robust" the value is a guarantee, min over P ∈ F of I_P(X; Y). As p̂ ∈ F, it is at
most I(X; Y) under p̂, and has the same bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

from ..kernel.claims import Claim, decided
from ..kernel.proofs.column_utilities import MOST_DUAL
from ..kernel.proofs.confidence_set import (
    CONFIDENCE,
    PARAMS,
    RobustStatement,
    confidence,
    is_member,
    robust_question,
)
from ..kernel.proofs.half_cone import HalfCone
from ..kernel.proofs.information_ceiling import CEILING, DUAL, ceiling_claim
from ..kernel.proofs.outer_cone import NODE, Outer
from ..kernel.proofs.robust_privacy import information_value, robust_answer, robust_audit, robust_members
from ..kernel.reading import UnreadableError
from ..kernel.schema import Distribution, Joint, List, Number, Record, Whole, Word
from ..kernel.section import Case, Decider, Kind, Section, maximise

MOST_SLOPE = 100.0
"""Ratios of probabilities beyond e^100 are not used."""
OPTIONS = {"objective": Word("empirical", "robust")}


class RobustOptimum(NamedTuple):
    """The robust statement, and what is maximised."""

    robust: RobustStatement
    objective: str


def _statement(params: dict[str, Any]) -> dict[str, Any]:
    objective = params.get("objective", "empirical")
    return {"form": "robust-optimum", **confidence(params), "objective": objective}


def _question(plain: dict[str, Any]) -> RobustOptimum:
    return RobustOptimum(robust_question(plain), plain["objective"])


def _bound(case: Case) -> Iterator[Claim]:
    """Check the claims about the ceiling, the members of the set, and the bound over the outer cone."""
    question: RobustOptimum = case.question
    proof, bound = case.proof, case.bound
    assert bound is not None
    if set(proof) - CEILING_KEYS not in (set(), TREE_KEYS, COVER_KEYS) or (
        proof.keys() & CEILING_KEYS and not proof.keys() >= CEILING_KEYS
    ):
        raise UnreadableError(
            "certificate.proof needs 'ceiling' and 'secret_dual', or 'dual' with 'cuts' and 'tree' or "
            "with 'corners' and 'cover'"
        )
    if "ceiling" in proof:
        yield ceiling_claim(proof, question.robust)
    if "tree" in proof:
        yield from _outer_claims(proof, bound, question)
    elif "cover" in proof:
        yield from _half_claims(proof, bound, question)
    elif "ceiling" in proof:
        words = "the stated bound is not below that ceiling"
        yield decided("bound", words, lambda: bound >= proof["ceiling"], value=bound)
    else:
        raise UnreadableError("certificate.proof is empty, but a bound is stated")


def _outer_claims(proof: dict[str, Any], bound: float, question: RobustOptimum) -> Iterator[Claim]:
    robust, dual = question.robust, proof["dual"]
    a1, a2 = len(robust.p_hat), len(robust.p_hat[0])
    cuts = [(cut["member"], *cut["secrets"]) for cut in proof["cuts"]]
    if len(dual) != a1 * a2:
        raise UnreadableError("certificate.proof.dual must have one entry per pair (s, u)")
    if any((len(member), len(member[0])) != (a1, a2) for member, _, _ in cuts):
        raise UnreadableError(f"members of the set must be tables of {a1} × {a2} cells")
    if any(s == z or max(s, z) >= a1 for _, s, z in cuts):
        raise UnreadableError(f"a cut must name two of {a1} secrets")

    @cache
    def members() -> bool | None:
        found = [is_member(member, robust) for member, _, _ in cuts]
        return None if None in found and False not in found else all(found)

    words = f"the {len(cuts)} distributions that describe the outer cone lie in the set"
    yield decided("member", words, members)

    def test() -> bool | None:
        if sum(map(Fraction, dual)) > Fraction(bound):
            return False
        if members() is not True:
            return members()
        return Outer(robust, cuts, dual).covers(proof["tree"])

    words = f"no mechanism private against the set has a utility above {bound!r}"
    yield decided("bound", words, test, about=CEILING, value=bound)


def _half_claims(proof: dict[str, Any], bound: float, question: RobustOptimum) -> Iterator[Claim]:
    robust, dual, corners = question.robust, proof["dual"], proof["corners"]
    a1, a2 = len(robust.p_hat), len(robust.p_hat[0])
    if len(dual) != a1 * a2:
        raise UnreadableError("certificate.proof.dual must have one entry per pair (s, u)")
    if len(corners) != a1 or any(len(corner) != a2 for own in corners for corner in own):
        raise UnreadableError(f"certificate.proof.corners must be {a1} lists of distributions of {a2}")

    @cache
    def cone() -> HalfCone:
        return HalfCone(robust, corners, dual)

    words = f"any two of {sum(map(len, corners))} distributions of u, of two secrets, fit into the set"
    yield decided("member", words, lambda: cone().holds_corners())

    def test() -> bool | None:
        if sum(map(Fraction, dual)) > Fraction(bound):
            return False
        fit = cone().holds_corners()
        return cone().covers(proof["cover"]) if fit else fit

    words = f"no mechanism private against the set has a utility above {bound!r}"
    yield decided("bound", words, test, about=CEILING, value=bound)


CEILING_KEYS = {"ceiling", "secret_dual"}
TREE_KEYS, COVER_KEYS = {"dual", "cuts", "tree"}, {"dual", "corners", "cover"}
SECRET = Whole(0, 10**9)
CUT = Record({"member": Joint(2, 2), "secrets": List(SECRET, 2, 2)})
BOX = Record(
    {},
    {
        "input": Whole(0, 10**9),
        "at": Number(0, MOST_DUAL),
        "corners": List(Whole(0, 10**9)),
        "weights": List(Number(-MOST_DUAL, MOST_DUAL)),
        "centre": Number(-MOST_DUAL, MOST_DUAL),
    },
)
PIECE = Record(
    {},
    {
        "interval": Whole(0, 10**9),
        "at": Number(0, MOST_DUAL),
        "slope": Number(-MOST_SLOPE, MOST_SLOPE),
        "blocks": List(List(BOX, 1)),
    },
)
SECTION = Section(
    kinds={"robust-optimum": Kind(Record(PARAMS.required, {**PARAMS.optional, **OPTIONS}), _statement)},
    forms={
        "robust-optimum": Decider(
            statement=Record({"form": Word("robust-optimum"), **CONFIDENCE, **OPTIONS}),
            question=_question,
            answer=robust_answer,
            members=robust_members,
            value=information_value,
            bound=_bound,
            sense=maximise,
            proof=Record(
                {},
                {
                    "ceiling": Number(),
                    "secret_dual": DUAL,
                    "dual": DUAL,
                    "cuts": List(CUT),
                    "tree": List(NODE, 1),
                    "corners": List(List(Distribution(2, positive=True)), 2),
                    "cover": List(List(PIECE, 1), 2),
                },
            ),
            audit=robust_audit,
        )
    },
)
