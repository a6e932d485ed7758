"""How private a given mechanism is against an uncertainty set: the kind ``robust-level``.

Statement. The mechanism is W, every row of the file divided by its exact sum, on the cells (s, u) of the
table, and F an uncertainty set (``stated_sets.py``). The *level* is the largest log P(y|s)/P(y|z) over
P ∈ F, outputs y and secrets s ≠ z (Lopuhaä-Zwakenberg and Goseling 2021, Definition 1).

The claims, and which function decides which:

* the witness describes a member of F: :meth:`.sets.UncertaintySet.member`, exactly or enclosed;
* it tells two secrets apart by e^value: two sums of fractions, and one enclosed logarithm;
* no member tells any two secrets apart by more than e^bound: ``set_privacy.py``. It is refuted where the
  witness itself does, and undecided where the proof of ``set_privacy.py`` fails. The level is at least
  0, as the probabilities of all outputs sum to 1 for either secret.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from ..kernel.arithmetic import enclose, log
from ..kernel.claims import Claim, decided
from ..kernel.proofs.set_privacy import ANSWER, Comparison, LevelStatement, is_set_private, told_apart
from ..kernel.proofs.stated_sets import UNCERTAINTY, read_set
from ..kernel.reading import UnreadableError
from ..kernel.schema import Distribution, List, Record
from ..kernel.section import Case, Kind, maximise, stating

statement = Record({"matrix": List(Distribution(1), 4), "uncertainty": UNCERTAINTY})


def question(plain: dict[str, Any]) -> LevelStatement:
    F, rows = read_set(plain["uncertainty"]), plain["matrix"]
    if len({len(row) for row in rows}) != 1:
        raise UnreadableError("the rows of the matrix must have one length")
    if len(rows) != len(F.center):
        raise UnreadableError(
            f"the matrix must have one row for each of {len(F.center)} cells (s, u), not {len(rows)}"
        )
    return LevelStatement([list(column) for column in zip(*rows, strict=True)], F)


def answer(document: dict[str, Any], question: LevelStatement) -> Comparison:
    found = ANSWER.read(document.get("answer"), "answer")
    (s, z), y, a1 = found["secrets"], found["output"], question.F.shape[0]
    if s == z or max(s, z) >= a1 or y >= len(question.columns):
        raise UnreadableError(
            f"answer must name one of {len(question.columns)} outputs and two of {a1} secrets"
        )
    return Comparison(y, s, z, *question.F.member(found["witness"], "answer.witness"))


def members(case: Case) -> Iterator[Claim]:
    words = f"the witness is a distribution in {case.question.F.name}"
    yield decided("member", words, lambda: case.answer.inside)


def value(case: Case) -> Iterator[Claim]:
    words = (
        f"it tells the secrets {case.answer.s} and {case.answer.z} apart by at least a factor "
        f"e^{case.value!r}"
    )

    def test() -> bool | None:
        if case.answer.inside is not True:
            return case.answer.inside
        top, bottom = told_apart(case.question, case.answer)
        if not top:
            return False
        return not bottom or enclose(case.value).at_most(log(top / bottom))

    yield case.claim_value(words, test)


def _exceeds(case: Case, bound: float) -> bool:
    """Return whether the witness itself is a member that tells secrets apart by more than e^bound."""
    if case.answer.inside is not True:
        return False
    top, bottom = told_apart(case.question, case.answer)
    return top > 0 and (not bottom or log(top / bottom).at_most(enclose(bound)) is False)


def bound(case: Case) -> Iterator[Claim]:
    bound, question = case.bound, case.question
    words = (
        f"no distribution in {question.F.name} tells two secrets apart by more than a factor e^{bound!r}"
    )

    def test() -> bool | None:
        if bound < 0 or _exceeds(case, bound):
            return False
        return is_set_private(question.columns, question.F, Fraction(bound)) or None

    yield case.claim_bound(words, test, "distributions in the set")


kinds = {"robust-level": Kind(statement, stating("robust-level"))}
sense = maximise
