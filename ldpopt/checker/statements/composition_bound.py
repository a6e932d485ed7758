"""What marginals say about the exposure of a joint distribution: the kind ``composition-bound``.

Statement. Given marginals and a threshold t, each number as printed (:mod:`printed_numbers`), each
marginal divided by its exact sum, values of probability 0 left out. By method:

* ``theorem-2``, ``theorem-3`` (minimise): *value* is what the rule proves with the thresholds of the
  answer: no joint with these marginals has more mass in cells below t. *Bound*: no thresholds make the
  rule prove less.
* ``worst-joint`` (maximise): *value* is the mass in cells of **at most** t of the joint in the answer.
  *Bound*: no joint has more there.
* ``best`` (minimise): *value* is proven by one of the rules or by a tree: no joint has more mass in
  cells **below** t. *Bound* is what the joint in the proof has there, so no proof can go lower.

Which function decides what: the rules :func:`exposure_rules.proven`, all thresholds
:func:`exposure_rules.provable`, a joint :func:`rare_cells.rare_mass`, a tree
:func:`rare_cells.tree_bound`; the lemmas stand there.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, Literal, NamedTuple

from ..kernel.claims import Claim, decided
from ..kernel.printed_numbers import printed
from ..kernel.proofs.exposure_rules import (
    MARGINALS,
    RULES,
    THRESHOLD,
    Marginals,
    provable,
    proven,
    rule_schema,
)
from ..kernel.proofs.rare_cells import rare_mass, tree_bound
from ..kernel.schema import Object, Record, Word
from ..kernel.section import Case, Kind, stating

METHODS = ("theorem-2", "theorem-3", "worst-joint", "best")


class Question(NamedTuple):
    """How much mass can cells have that are rare at the threshold?"""

    marginals: Marginals
    threshold: Fraction
    method: str

    @property
    def rare(self) -> str:
        """Which cells count, in words."""
        limit = "of at most" if self.method == "worst-joint" else "below"
        return f"in cells {limit} {float(self.threshold)!r}"


statement = Record({"marginals": MARGINALS, "threshold": THRESHOLD, "method": Word(*METHODS)})


def proven_by(question: Question, answer: Any, where: str) -> Fraction:
    """Compute the exposure that no joint exceeds, by the rule or the tree of an answer.

    Args:
        question: the marginals, the threshold t and the method.
        answer: thresholds and pivot of a rule, or the nodes of a tree, as plain data.
        where: the place of the answer in the file, for messages.
    """
    marginals, t, method = question
    if method == "worst-joint":
        return tree_bound(marginals, t, answer, where)
    plain = Object().read(answer, where)
    if method == "best" and plain.get("rule") == "dual":
        rest = {name: part for name, part in plain.items() if name != "rule"}
        return tree_bound(marginals, t, rest, where)
    rules = RULES if method == "best" else (method,)
    found = rule_schema(len(marginals), rules).read(plain, where)
    rule = found.get("rule", method)
    return proven(marginals, t, rule, found["thresholds"], found["pivot"])


def reached_by(question: Question, joint: Any, where: str) -> Fraction | None:
    """Compute the mass that a joint has in rare cells; None if it does not meet the marginals.

    Args:
        question: the marginals, the threshold t and the method.
        joint: cells, masses and denominator, as plain data.
        where: the place of the joint in the file, for messages.
    """
    strict = question.method != "worst-joint"
    return rare_mass(question.marginals, question.threshold, joint, where, strict=strict)


# ---------------------------------------------------------------- the claims


def value(case: Case) -> Iterator[Claim]:
    if case.question.method == "worst-joint":
        yield _reached(case, case.answer, "answer", case.value, "value")
    else:
        yield _exceeded_by_none(case, case.answer, "answer", case.value, "value")


def bound(case: Case) -> Iterator[Claim]:
    question, bound = case.question, case.bound
    if question.method == "worst-joint":
        yield _exceeded_by_none(case, case.proof, "certificate.proof", bound, "bound")
    elif question.method == "best":
        joint = Record({"joint": Object()}).read(case.proof, "certificate.proof")["joint"]
        yield _reached(case, joint, "certificate.proof.joint", bound, "bound")
    else:
        Record({}).read(case.proof, "certificate.proof")
        marginals, t, rule = question
        words = f"no thresholds make {rule} prove less than {bound!r}"

        def test() -> bool:
            return not provable(marginals, t, rule, printed(bound), less=True)

        yield case.claim_bound(words, test, "thresholds")


def _exceeded_by_none(case: Case, proof: Any, where: str, most: float, what: str) -> Claim:
    question = case.question
    words = f"no joint with these marginals has more than {most!r} of its mass {question.rare}"

    def test() -> bool:
        return proven_by(question, proof, where) <= printed(most)

    return decided(what, words, test, about="joints with these marginals", value=most)


def _reached(case: Case, joint: Any, where: str, least: float, what: str) -> Claim:
    question = case.question
    words = f"a joint with these marginals has at least {least!r} of its mass {question.rare}"

    def test() -> bool:
        reached = reached_by(question, joint, where)
        return reached is not None and reached >= printed(least)

    return decided(what, words, test, value=least)


def question(plain: dict[str, Any]) -> Question:
    return Question(**{name: plain[name] for name in Question._fields})


def answer(document: dict[str, Any], question: Question) -> Any:
    return Object().read(document.get("answer"), "answer")


def members(case: Case) -> Iterator[Claim]:
    yield from ()


def sense(question: Question) -> Literal["maximise", "minimise"]:
    return "maximise" if question.method == "worst-joint" else "minimise"


kinds = {
    "composition-bound": Kind(
        Record({"marginals": MARGINALS, "threshold": THRESHOLD}, {"method": Word(*METHODS)}),
        stating("composition-bound", method="best"),
    )
}
proof = Object()
