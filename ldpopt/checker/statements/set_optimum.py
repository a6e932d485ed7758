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
from functools import partial
from typing import Any, NamedTuple

from ..kernel.claims import Claim, all_of, decided
from ..kernel.proofs.column_utilities import MOST_DUAL
from ..kernel.proofs.confidence_set import RobustStatement
from ..kernel.proofs.information_ceiling import DUAL, ceiling_claims
from ..kernel.proofs.outer_cone import NODE, outer_claims
from ..kernel.proofs.private_rows import Rows, stochastic
from ..kernel.proofs.robust_claims import audit_claims, empirical_information, robust_answer
from ..kernel.proofs.set_privacy import ANSWER, is_set_private
from ..kernel.proofs.stated_sets import UNCERTAINTY, read_set
from ..kernel.proofs.uncertainty_sets import UncertaintySet
from ..kernel.reading import UnreadableError
from ..kernel.schema import EPSILON, Anything, List, Number, Record, Whole
from ..kernel.section import Case, Kind, maximise, stating

statement = Record({"epsilon": EPSILON, "uncertainty": UNCERTAINTY})


class SetOptimum(NamedTuple):
    """The set, and its center and the level as other sections take them."""

    F: UncertaintySet
    robust: RobustStatement


def question(plain: dict[str, Any]) -> SetOptimum:
    F = read_set(plain["uncertainty"])
    if F.contains(F.center) is not True:
        raise UnreadableError("the center of the set must certainly lie in it")
    table, one = _table(F.center, F.shape[1]), Fraction(1)
    return SetOptimum(F, RobustStatement(table, one, one, plain["epsilon"], len(F.center)))


def exact_columns(matrix: Rows) -> list[list[Fraction]]:
    """Return the columns of a mechanism as fractions."""
    return [[Fraction(entry) for entry in column] for column in zip(*matrix, strict=True)]


def members(case: Case) -> Iterator[Claim]:
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


def value(case: Case) -> Iterator[Claim]:
    name = case.question.F.name
    words = f"its mutual information under the center of {name} is at least {case.value!r}"

    def test() -> bool:
        return Fraction(case.value) <= empirical_information(case.answer, case.question.robust)

    yield case.claim_value(words, test)


def bound(case: Case) -> Iterator[Claim]:
    """Check the claims about the ceiling, the members of the set, and the bound over the outer cone."""
    F, proof = case.question.F, case.proof
    if proof.keys() == {"ceiling", "secret_dual"}:
        yield from ceiling_claims(case, proof, F.name)
    elif proof.keys() == {"dual", "cuts", "tree"}:
        found = [F.member(cut["witness"], "certificate.proof.cuts.witness") for cut in proof["cuts"]]
        pairs = zip(found, proof["cuts"], strict=True)
        cuts = [(_table(P, F.shape[1]), *cut["secrets"]) for (P, _), cut in pairs]
        yield from outer_claims(case, cuts, lambda: all_of(answer for _, answer in found), F.name)
    else:
        raise UnreadableError(
            "certificate.proof needs 'ceiling' and 'secret_dual', or 'dual', 'cuts' and 'tree'"
        )


def _table(P: list[Fraction], width: int) -> list[list[Fraction]]:
    return [P[i : i + width] for i in range(0, len(P), width)]


def audit(case: Case) -> Iterator[Claim]:
    """Check a stated level: a member of F attains it, and none exceeds it, to 1e-9."""
    F = case.question.F
    audit = Record({**ANSWER.required, "level": Number(0)}).read(case.audit, "certificate.audit")
    y, (s, z), columns = audit["output"], audit["secrets"], exact_columns(case.answer)
    if s == z or max(s, z) >= F.shape[0] or y >= len(columns):
        raise UnreadableError("certificate.audit must name an output and two different secrets")
    P, inside = F.member(audit["witness"], "certificate.audit.witness")
    yield from audit_claims(
        case.answer,
        {**audit, "witness": _table(P, F.shape[1])},
        F.name,
        lambda: inside,
        partial(is_set_private, columns, F),
    )


CUT = Record({"witness": Anything(), "secrets": List(Whole(0, 10**9), 2, 2)})
kinds = {"set-optimum": Kind(statement, stating("set-optimum"))}
sense, answer = maximise, robust_answer
proof = Record(
    {},
    {
        "ceiling": Number(-MOST_DUAL, MOST_DUAL),
        "secret_dual": DUAL,
        "dual": DUAL,
        "cuts": List(CUT),
        "tree": List(NODE, 1),
    },
)
