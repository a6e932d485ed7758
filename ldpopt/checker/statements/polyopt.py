"""PolyOpt: the bound over its cone, and the ceiling over every mechanism private against the set.

The claims, and which function decides which:

* stochastic, private against F, value, audit: ``robust_privacy.py``;
* every mechanism private against F has at most the *ceiling* (``information_ceiling.py``);
* where the answer is sought in the PolyOpt cone Γ alone (no calibration, no extra facets, the empirical
  objective), the mechanism's columns lie in Γ (``polyopt_cone.py``), whatever the status, and the bound
  is one *within the cone*: no mechanism with columns in Γ has more (``polyopt_blocks.py``). As they are
  private against F, that follows where the bound is not below a proven ceiling. Elsewhere the bound is
  the ceiling, and no claim is about the cone.

Merging. With ``width`` some values of u become one, as ``groups`` says (:func:`grouping`); why that is
allowed stands in ``polyopt_cone.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

from ..kernel.claims import Claim, decided, quoted
from ..kernel.proofs import polyopt_blocks
from ..kernel.proofs.confidence_set import (
    CONFIDENCE,
    PARAMS,
    RobustStatement,
    confidence,
    robust_question,
)
from ..kernel.proofs.information_ceiling import DUAL, ceiling_claim, ceiling_claims
from ..kernel.proofs.polyopt_cone import in_cone, merged
from ..kernel.proofs.robust_claims import robust_answer
from ..kernel.proofs.robust_privacy import (
    information_value,
    robust_audit,
    robust_members,
)
from ..kernel.reading import UnreadableError
from ..kernel.schema import Flag, List, Nullable, Number, Record, Whole, Word
from ..kernel.section import Case, Kind, maximise

MOST_WIDTH = 1_000_000
OPTIONS = {
    "pairs": Word("distinct", "all"),
    "objective": Word("empirical", "robust"),
    "calibrate": Flag(),
    "facets": Whole(0, 1_000_000),
    "width": Whole(2, MOST_WIDTH),
    "groups": List(Whole(0, MOST_WIDTH), 2),
}
DEFAULTS = {
    "pairs": "distinct",
    "objective": "empirical",
    "calibrate": False,
    "facets": 0,
    "width": None,
    "groups": None,
}


class Polyopt(NamedTuple):
    """The robust statement, which cone is searched for which objective, and the group of each u."""

    robust: RobustStatement
    pairs: str
    objective: str
    cone: bool
    groups: list[int]

    @property
    def named(self) -> str:
        """The name of the cone in claims, which says its pairs and how many merged values it has."""
        width = max(self.groups) + 1
        pairs = " of all pairs" if self.pairs == "all" else ""
        table = "" if width == len(self.groups) else f" of {width} merged values"
        return f"the PolyOpt cone{pairs}{table}"


def _statement(params: dict[str, Any]) -> dict[str, Any]:
    options = {name: params.get(name, default) for name, default in DEFAULTS.items()}
    return {"form": "polyopt", **confidence(params), **options}


def question(plain: dict[str, Any]) -> Polyopt:
    cone = not (plain["calibrate"] or plain["facets"] or plain["objective"] != "empirical")
    robust = robust_question(plain)
    group = grouping(robust.p_hat, plain["width"], plain["groups"])
    return Polyopt(robust, plain["pairs"], plain["objective"], cone, group)


def grouping(
    p_hat: Sequence[Sequence[Fraction]], width: int | None, given: list[int] | None
) -> list[int]:
    """Read the group of each value of u: numbers from 0 to ``width`` − 1, in order of first appearance.

    A file that gives none means :func:`rarest_together`.

    Args:
        p_hat: the observed distribution [s][u].
        width: how many groups the mechanism tells apart; None for all values.
        given: the groups that the file states, or None.
    """
    values = len(p_hat[0])
    if width is None or width >= values:
        if given is not None:
            raise UnreadableError(f"groups must be null where no value is merged, not {quoted(given)}")
        return list(range(values))
    if given is None:
        return rarest_together(p_hat, width)
    if len(given) != values:
        raise UnreadableError(f"groups must be {values} numbers, one per public value, not {len(given)}")
    if list(dict.fromkeys(given)) != list(range(width)):
        raise UnreadableError(f"groups must number {width} groups from 0 in order of appearance")
    return given


def rarest_together(p_hat: Sequence[Sequence[Fraction]], width: int) -> list[int]:
    """Group the values of u: the ``width`` − 1 most frequent alone, in order, then all others.

    Of equally frequent values the first come first; frequencies are compared exactly.
    """
    weights = [sum(column, Fraction(0)) for column in zip(*p_hat, strict=True)]
    heaviest = sorted(range(len(weights)), key=lambda u: (-weights[u], u))[: width - 1]
    alone = {u: i for i, u in enumerate(sorted(heaviest))}
    return [alone.get(u, width - 1) for u in range(len(weights))]


def members(case: Case) -> Iterator[Claim]:
    """Check the claims that the mechanism is private and, where the cone is asked about, lies in it."""
    yield from robust_members(case)
    plan: Polyopt = case.question
    if plan.cone:
        test = partial(in_cone, case.answer, plan.robust, plan.pairs, plan.groups)
        yield decided("member", f"it lies in {plan.named}", test)


def bound(case: Case) -> Iterator[Claim]:
    """Check the claims about the ceiling of all private mechanisms, and about PolyOpt's own bound."""
    proof, bound = case.proof, case.bound
    plan: Polyopt = case.question
    if not plan.cone:
        yield from ceiling_claims(case, proof)
        return
    ceiling = ceiling_claim(proof, plan.robust)
    yield ceiling
    if "dual" not in proof:
        raise UnreadableError("certificate.proof needs the key 'dual'")
    dual, seen = proof["dual"], merged(plan.robust, plan.groups)
    if len(dual) != len(seen.p_hat) * len(seen.p_hat[0]):
        raise UnreadableError("certificate.proof.dual must have one entry per pair (s, u)")

    def test() -> bool:
        if ceiling.holds and bound >= proof["ceiling"]:
            return True  # what lies in Γ is private against F
        return sum(map(Fraction, dual)) <= Fraction(bound) and polyopt_blocks.dominates(
            dual, seen, plan.pairs
        )

    words = f"no mechanism within {plan.named} has a utility above {bound!r}"
    yield case.claim_bound(words, test, f"mechanisms within {plan.named}")


kinds = {"polyopt": Kind(Record(PARAMS.required, {**PARAMS.optional, **OPTIONS}), _statement)}
statement = Record(
    {**CONFIDENCE, **OPTIONS, **{name: Nullable(OPTIONS[name]) for name in ("width", "groups")}}
)
sense, answer, value, audit = maximise, robust_answer, information_value, robust_audit
proof = Record({"ceiling": Number(), "secret_dual": DUAL}, {"dual": DUAL})
