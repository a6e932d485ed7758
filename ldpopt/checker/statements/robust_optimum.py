"""The best mechanism private against a χ² set itself: the kind ``robust-optimum``.

The claims, and which function decides which:

* stochastic, private against F, value, audit: ``robust_privacy.py``;
* the listed distributions are members of F: ``confidence_set.py``;
* every mechanism private against F has at most the bound (:func:`_bound`): a dual vector is proven over
  the outer cone that the members describe (``outer_cone.py``) or over parts in which two secrets share
  the slack (``shared_slack.py``), or the bound is not below the *ceiling* max I(S; Y) + H(U | S)
  (``information_ceiling.py``).

With the objective "robust" the value is a guarantee, min over P ∈ F of I_P(X; Y). As p̂ ∈ F, it is at
most I(X; Y) under p̂, and has the same bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

from ..kernel.claims import Claim, all_of
from ..kernel.proofs.column_utilities import MOST_DUAL
from ..kernel.proofs.confidence_set import (
    CONFIDENCE,
    PARAMS,
    RobustStatement,
    confidence,
    is_member,
    robust_question,
)
from ..kernel.proofs.information_ceiling import DUAL, ceiling_claim, ceiling_claims, cover_claims
from ..kernel.proofs.outer_cone import NODE, outer_claims
from ..kernel.proofs.robust_claims import robust_answer
from ..kernel.proofs.robust_privacy import information_value, robust_audit, robust_members
from ..kernel.proofs.shared_slack import SharedSlack
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


def _bound(case: Case) -> Iterator[Claim]:
    """Check the claims about the ceiling, the members of the set, and the bound over the outer cone."""
    proof, robust = case.proof, case.question.robust
    if set(proof) - CEILING_KEYS not in (set(), TREE_KEYS, COVER_KEYS) or (
        proof.keys() & CEILING_KEYS and not proof.keys() >= CEILING_KEYS
    ):
        raise UnreadableError(
            "certificate.proof needs 'ceiling' and 'secret_dual', or 'dual' with 'cuts' and 'tree' or "
            "with 'corners', 'shares' and 'cover'"
        )
    if not proof:
        raise UnreadableError("certificate.proof is empty, but a bound is stated")
    if "dual" not in proof:
        yield from ceiling_claims(case, proof)
        return
    if "ceiling" in proof:
        yield ceiling_claim(proof, robust)
    if "tree" in proof:
        cuts = [(cut["member"], *cut["secrets"]) for cut in proof["cuts"]]
        yield from outer_claims(case, cuts, lambda: all_of(is_member(P, robust) for P, _, _ in cuts))
    else:
        yield from _cover_claims(case)


def _cover_claims(case: Case) -> Iterator[Claim]:
    proof, robust = case.proof, case.question.robust
    corners, shares = proof["corners"], proof["shares"]
    a1, a2 = len(robust.p_hat), len(robust.p_hat[0])
    if len(corners) != a1 or any(len(corner) != a2 for own in corners for corner in own):
        raise UnreadableError(f"certificate.proof.corners must be {a1} lists of distributions of {a2}")
    if list(map(len, shares)) != list(map(len, corners)):
        raise UnreadableError("certificate.proof.shares must hold a share for each corner")

    @cache
    def slack() -> SharedSlack:
        listed = [
            [(corner, Fraction(share)) for corner, share in zip(own, theirs, strict=True)]
            for own, theirs in zip(corners, shares, strict=True)
        ]
        return SharedSlack(robust, listed, proof["dual"])

    words = (
        f"any two of {sum(map(len, corners))} distributions of u, of two secrets, fit into the set if "
        f"their shares of its slack are at most 1 in all"
    )
    yield from cover_claims(
        case, words, lambda: slack().holds_corners(), lambda: slack().covers(proof["cover"])
    )


CEILING_KEYS = {"ceiling", "secret_dual"}
TREE_KEYS, COVER_KEYS = {"dual", "cuts", "tree"}, {"dual", "corners", "shares", "cover"}
SECRET = Whole(0, 10**9)
CUT = Record({"member": Joint(2, 2), "secrets": List(SECRET, 2, 2)})
BOX = Record(
    {},
    {
        "input": Whole(0, 10**9),
        "at": Number(0, MOST_DUAL),
        "corners": List(Whole(0, 10**9)),
        "weights": List(Number(-MOST_DUAL, MOST_DUAL)),
    },
)
PART = Record(
    {},
    {
        "secret": SECRET,
        "share": Number(0, 1),
        "side": Word("most", "least"),
        "at": Number(0, MOST_DUAL),
        "slope": Number(-MOST_SLOPE, MOST_SLOPE),
        "pairs": List(List(Whole(0, 10**9), 4, 4)),
        "weights": List(Number(0, MOST_DUAL)),
        "blocks": List(List(BOX, 1)),
    },
)
SECTION = Section(
    kinds={"robust-optimum": Kind(Record(PARAMS.required, {**PARAMS.optional, **OPTIONS}), _statement)},
    forms={
        "robust-optimum": Decider(
            statement=Record({**CONFIDENCE, **OPTIONS}),
            question=lambda plain: RobustOptimum(robust_question(plain), plain["objective"]),
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
                    "shares": List(List(Number(0, 1)), 2),
                    "cover": List(List(PART, 1), 2),
                },
            ),
            audit=robust_audit,
        )
    },
)
