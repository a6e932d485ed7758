"""The best mechanism private against an uncertainty set: the kind ``set-optimum``.

The question is that of ``robust_optimum.py`` for the sets of ``stated_sets.py``: maximise I(X; Y) under
the center p of the set over all mechanisms that are private at the level ε against every member. The
claims, and which function decides which:

* stochastic: ``private_rows.py``; private against F, and the audit's level: ``set_privacy.py``;
* the value, I(X; Y) under p: ``column_utilities.py``;
* the listed witnesses describe members of F: :meth:`.sets.UncertaintySet.member`;
* every mechanism private against F has at most the bound: a dual vector is proven over the outer cone
  that the members describe (``outer_cone.py``, whose lemmas hold for every set F), or the bound is not
  below the *ceiling* max I(S; Y) + H(U | S) (``information_ceiling.py``), which holds as p ∈ F.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache, partial
from typing import Any, NamedTuple

from ..kernel.arithmetic import enclose
from ..kernel.claims import Claim, decided
from ..kernel.proofs.column_utilities import MOST_DUAL
from ..kernel.proofs.confidence_set import RobustStatement
from ..kernel.proofs.information_ceiling import CEILING, DUAL, ceiling_claim
from ..kernel.proofs.outer_cone import NODE, Outer
from ..kernel.proofs.private_rows import Rows, stochastic
from ..kernel.proofs.robust_privacy import AUDIT_ERROR, empirical_information, robust_answer
from ..kernel.proofs.set_privacy import ANSWER, Comparison, LevelStatement, is_set_private, told_apart
from ..kernel.proofs.stated_sets import UNCERTAINTY, read_set
from ..kernel.proofs.uncertainty_sets import UncertaintySet
from ..kernel.reading import UnreadableError
from ..kernel.schema import EPSILON, Anything, List, Number, Record, Whole, Word
from ..kernel.section import Case, Decider, Kind, Section, maximise

PARAMS = {"epsilon": EPSILON, "uncertainty": UNCERTAINTY}


class SetOptimum(NamedTuple):
    """The set, and its center and the level as other sections take them."""

    F: UncertaintySet
    robust: RobustStatement


def _statement(params: dict[str, Any]) -> dict[str, Any]:
    return {"form": "set-optimum", **params}


def _question(plain: dict[str, Any]) -> SetOptimum:
    F = read_set(plain["uncertainty"])
    if F.contains(F.center) is not True:
        raise UnreadableError("the center of the set must certainly lie in it")
    a2 = F.shape[1]
    table = [F.center[i : i + a2] for i in range(0, len(F.center), a2)]
    return SetOptimum(
        F, RobustStatement(table, Fraction(1), Fraction(1), plain["epsilon"], len(F.center))
    )


def exact_columns(matrix: Rows) -> list[list[Fraction]]:
    """Return the columns of a mechanism as fractions."""
    return [[Fraction(entry) for entry in column] for column in zip(*matrix, strict=True)]


def _members(case: Case) -> Iterator[Claim]:
    question: SetOptimum = case.question
    epsilon = question.robust.epsilon
    yield stochastic(case.answer)
    words = (
        f"its outputs tell two secrets apart by at most a factor e^{epsilon!r}, for every distribution "
        f"in {question.F.name}"
    )
    columns = exact_columns(case.answer)
    test = partial(is_set_private, columns, question.F, Fraction(epsilon))
    yield decided("privacy", words, test, value=epsilon)


def _value(case: Case) -> Iterator[Claim]:
    name = case.question.F.name
    words = f"its mutual information under the center of {name} is at least {case.value!r}"

    def test() -> bool:
        return Fraction(case.value) <= empirical_information(case.answer, case.question.robust)

    yield decided("value", words, test, value=case.value)


def _bound(case: Case) -> Iterator[Claim]:
    """Check the claims about the ceiling, the members of the set, and the bound over the outer cone."""
    question: SetOptimum = case.question
    proof, bound = case.proof, case.bound
    assert bound is not None
    keys = set(proof)
    if keys == {"ceiling", "secret_dual"}:
        yield ceiling_claim(proof, question.robust, question.F.name)
        words = "the stated bound is not below that ceiling"
        yield decided("bound", words, lambda: bound >= proof["ceiling"], value=bound)
    elif keys == {"dual", "cuts", "tree"}:
        yield from _outer_claims(proof, bound, question)
    else:
        raise UnreadableError(
            "certificate.proof needs 'ceiling' and 'secret_dual', or 'dual', 'cuts' and 'tree'"
        )


def _outer_claims(proof: dict[str, Any], bound: float, question: SetOptimum) -> Iterator[Claim]:
    F, dual = question.F, proof["dual"]
    a1, a2 = F.shape
    if len(dual) != a1 * a2:
        raise UnreadableError("certificate.proof.dual must have one entry per pair (s, u)")
    if any(s == z or max(s, z) >= a1 for s, z in (cut["secrets"] for cut in proof["cuts"])):
        raise UnreadableError(f"a cut must name two of {a1} secrets")
    found = [F.member(cut["witness"], "certificate.proof.cuts.witness") for cut in proof["cuts"]]

    def members() -> bool | None:
        inside = [answer for _, answer in found]
        return None if None in inside and False not in inside else all(inside)

    words = f"the {len(found)} distributions that describe the outer cone lie in {F.name}"
    yield decided("member", words, cache(members))

    def test() -> bool | None:
        if sum(map(Fraction, dual)) > Fraction(bound):
            return False
        if members() is not True:
            return members()
        tables = [[P[i : i + a2] for i in range(0, len(P), a2)] for P, _ in found]
        cuts = [(P, *cut["secrets"]) for P, cut in zip(tables, proof["cuts"], strict=True)]
        return Outer(question.robust, cuts, dual).covers(proof["tree"])

    words = f"no mechanism private against {F.name} has a utility above {bound!r}"
    yield decided("bound", words, test, about=CEILING, value=bound)


def _audit(case: Case) -> Iterator[Claim]:
    """Check a stated level: a member of F attains it, and none exceeds it, to 1e-9."""
    F = case.question.F
    audit = Record({**ANSWER.required, "level": Number(0)}).read(case.audit, "certificate.audit")
    level, y, (s, z) = audit["level"], audit["output"], audit["secrets"]
    columns = exact_columns(case.answer)
    if s == z or max(s, z) >= F.shape[0] or y >= len(columns):
        raise UnreadableError("certificate.audit must name an output and two different secrets")
    P, inside = F.member(audit["witness"], "certificate.audit.witness")
    words = f"certificate.audit.witness is a distribution in {F.name}"
    yield decided("audit", words, lambda: inside)

    def attained() -> bool | None:
        if inside is not True:
            return inside
        top, bottom = told_apart(LevelStatement(columns, F), Comparison(y, s, z, P, inside))
        if not top:
            return False
        ratio = enclose(top / bottom).log() if bottom else None
        return ratio is None or enclose(Fraction(level) - AUDIT_ERROR).at_most(ratio)

    words = f"it tells the secrets {s} and {z} apart by at least a factor e^({level!r} − 1e-9)"
    yield decided("audit", words, attained)
    words = (
        f"no distribution in {F.name} tells two secrets apart by more than a factor e^({level!r} + 1e-9)"
    )

    def exceeded() -> bool | None:
        return is_set_private(columns, F, Fraction(level) + AUDIT_ERROR) or None

    yield decided("audit", words, exceeded, value=level)


CUT = Record({"witness": Anything(), "secrets": List(Whole(0, 10**9), 2, 2)})
SECTION = Section(
    kinds={"set-optimum": Kind(Record(PARAMS), _statement)},
    forms={
        "set-optimum": Decider(
            statement=Record({"form": Word("set-optimum"), **PARAMS}),
            question=_question,
            answer=robust_answer,
            members=_members,
            value=_value,
            bound=_bound,
            sense=maximise,
            proof=Record(
                {},
                {
                    "ceiling": Number(-MOST_DUAL, MOST_DUAL),
                    "secret_dual": DUAL,
                    "dual": DUAL,
                    "cuts": List(CUT),
                    "tree": List(NODE, 1),
                },
            ),
            audit=_audit,
        )
    },
)
