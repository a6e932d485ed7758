"""Reporting protocols: the best parameters of independent and of conditional reporting.

Lopuhaä-Zwakenberg and Goseling 2021, Sections VI and VII. Each protocol reports s by one randomiser
and u by randomised responses. Its parameters are g = e^ε₂ and, for unary encoding, κ. With E = e^ε:

* *independent-reporting*: s by randomised response of odds o₁ = g/E (the probability of a wrong
  value over that of the right one), u by one of odds 1/(1 + 2 (g − 1)/d), d of (66); 1 ≤ g ≤ E.
* *grr-conditional*: s by the same; where it came out true, u by a response of odds 1/(1 + 2 (g −
  1)/d_s), d_s of (65), and else by the same response to a value drawn from p̂_{U|s'}; 1 ≤ g ≤ E.
* *ue-conditional*: the true secret is reported with probability κ, every other one with probability
  λ = κ/(κ + (1 − κ) E/g), each with a value as before; 1 ≤ g ≤ √E, 0 ≤ κ ≤ 1.

With *calibrate* the odds for u do not follow from Theorems 15 and 17 but from privacy itself:

* *independent-reporting*, *grr-conditional*: any odds, for u and s (and for every s), from 0 to 1,
  with which the protocol is private against F.
* *ue-conditional*: the least odds for u at which, for every member of F, its reports are at most g
  times as frequent as, and not less than 1/g times as frequent as, those for a value drawn from
  p̂_{U|s}; λ as before; 1 ≤ g ≤ E; only g and κ that are private against F count.

Claims. Privacy, value and audit: ``robust_privacy.py``. With other blocks than randomised responses:
``block_reports.py`` and ``block_splits.py``. With these, two more:

Member (:func:`of_kind`), whether there is a bound or not: the mechanism is the protocol with some
parameters, up to :func:`entry_error` in each entry (for its repair to exact numbers). The parameters
are guessed from it, in exact numbers; then every entry is compared. Lemma. A product of numbers
in [0, 1] that are each rounded down by less than a unit, with every product rounded down, is off by
less than two units per factor. ∎

Bound: ``reporting_search.py``, whose lemma is the first one here.

Lemma 2 (the limits of a calibrated protocol). Let it be private against F. *independent-reporting*, g
= E o₁: the output (s, v) has under s and z ≠ s probabilities in the ratio 1/o₁ times that of v in the
report of u, so each member of F limits the block for u by Lemma 1 of ``response_limits.py`` (a, b: the
probabilities of v given s and z). The proof lists members for this; g ≥ 1, as two distributions of the
report of u have a v of ratio at least 1, and g ≤ E. *grr-conditional*: the output (s, v) has under s
and z ≠ s the ratio 1/o₁ times that of v for R_s and for p̂_{U|s}. Hence the limits of (P^max, p̂) by g
and of (p̂, P^min) by E/o₁ = E²/g; both are attained in F (Lemma 3 of ``confidence_set.py``). *ue-
conditional*: the definition has the limits of both pairs by g. Where s and z are both reported, with
values v and w, the ratio is that of v for R_s and p̂_{U|s} times that of w for p̂_{U|z} and R_z. With
smaller odds, as at a larger g, a ratio of two distributions that is above 1 rises. So if a member of F
has both ratios above 1 and the product above E at some g, no larger g is private. ∎
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from typing import Any

from ..kernel.claims import Claim, all_of, decided, quoted
from ..kernel.proofs.block_reports import made_of_reports, unchecked_kind
from ..kernel.proofs.block_splits import best_blocks
from ..kernel.proofs.confidence_set import CONFIDENCE, PARAMS, confidence, is_member, robust_question
from ..kernel.proofs.private_rows import Rows
from ..kernel.proofs.reporting_protocols import (
    Member,
    Reporting,
    entries,
    entry_error,
    of_kind,
)
from ..kernel.proofs.reporting_search import Search
from ..kernel.proofs.robust_claims import empirical_value, robust_answer
from ..kernel.proofs.robust_privacy import (
    private_words,
    robust_audit,
    robust_members,
)
from ..kernel.proofs.unary_encoding import (
    Unary,
    is_private,
    read_unary,
    value_below,
)
from ..kernel.reading import UnreadableError
from ..kernel.schema import Flag, Joint, List, Record, Whole, Word
from ..kernel.section import Case, Kind, maximise

PROTOCOLS = ("independent-reporting", "grr-conditional", "ue-conditional")
THEOREMS = dict(zip(PROTOCOLS, ("Theorem 15", "Theorem 17", "Theorem 19"), strict=True))
"""The theorem that says how often the responses on u may be right, unless they are calibrated."""
OPTIONS = {"blocks": Word("grr", "optimal"), "calibrate": Flag()}
MOST_SECRETS = 12
"""The utility of unary encoding is a sum over all subsets of the secrets."""
MOST_MEMBERS = 1000
PROOF = Record(
    {
        "members": List(
            Record(
                {
                    "distribution": Joint(2, 2),
                    "secrets": List(Whole(0, 10**9), 2, 2),
                    "values": List(Whole(0, 10**9), 2, 2),
                }
            ),
            0,
            MOST_MEMBERS,
        )
    }
)
"""The proof of a calibrated protocol: members of the set that limit the responses."""


def _statement(protocol: str, params: dict[str, Any]) -> dict[str, Any]:
    options = {"blocks": params.get("blocks", "grr"), "calibrate": params.get("calibrate", False)}
    return {"form": "reporting", "protocol": protocol, **options, **confidence(params)}


def question(plain: dict[str, Any]) -> Reporting:
    robust = robust_question(plain)
    if plain["protocol"] == "ue-conditional" and len(robust.p_hat) > MOST_SECRETS:
        raise UnreadableError(
            f"unary encoding takes at most {MOST_SECRETS} secrets, not {len(robust.p_hat)}"
        )
    if plain["calibrate"] and plain["blocks"] != "grr":
        raise UnreadableError(f"calibrate needs the blocks 'grr', not {quoted(plain['blocks'])}")
    return Reporting(robust, plain["protocol"], plain["blocks"], plain["calibrate"])


# ---------------------------------------------------------------- the bound


# ---------------------------------------------------------------- the claims


def named(question: Reporting) -> str:
    """Name the protocol in claims, with what says how often its responses on u are right."""
    how, by = "", f" by {THEOREMS[question.protocol]}"
    if question.calibrate:
        how, by = "calibrated " if question.protocol == "ue-conditional" else "", ""
    return f"{question.protocol} with {how}randomised responses{by}"


def varied(question: Reporting) -> str:
    """Name what the bound is over: all parameters only where these are free."""
    if question.protocol == "ue-conditional":
        return "splits of the level and values of kappa"
    return "parameters" if question.calibrate else "splits of the level"


def _member(case: Case) -> Claim:
    """Check the claim that the mechanism is of its kind."""
    question = case.question
    entry = "parameter" if isinstance(case.answer, Unary) else "entry"
    within = float(entry_error(question, entries(case.answer)))
    words = f"it is {named(question)}, each {entry} to within {within!r}"
    return decided("member", words, partial(of_kind, case.answer, question))


def bound(case: Case) -> Iterator[Claim]:
    """Check the claims about the best parameters, or about the best reports (``block_splits.py``)."""
    question, bound = case.question, case.bound
    if question.blocks != "grr":
        yield from best_blocks(case)
        return
    members = _read_members(case.proof, question)
    private = " that are private against the set" if question.calibrate else ""
    about = f"{varied(question)} of {named(question)}{private}"
    words = f"no {about} have a utility above {bound!r}"

    def test() -> bool | None:
        inside = all_of(is_member(member.distribution, question.robust) for member in members)
        return Search(question, members).holds(bound) if inside else inside

    yield case.claim_bound(words, test, about)


def _read_members(proof: Any, question: Reporting) -> list[Member]:
    """Read the members of the set that the proof names; only calibrated protocols need any."""
    if not question.calibrate:
        return []
    p_hat = question.robust.p_hat
    found = [Member(**plain) for plain in PROOF.read(proof, "certificate.proof")["members"]]
    for member in found:
        s, z = member.secrets
        shape = len(member.distribution), len(member.distribution[0])
        if shape != (len(p_hat), len(p_hat[0])) or s == z or max(s, z) >= shape[0]:
            raise UnreadableError("a member must have the cells of the table, and name two secrets")
        if max(member.values) >= shape[1] or min(sum(member.distribution[t]) for t in (s, z)) <= 0:
            raise UnreadableError("a member must name two values, and give both secrets a probability")
        if question.protocol == "independent-reporting" and len(set(member.values)) > 1:
            raise UnreadableError("a member must name one value twice: it is reported for both secrets")
    return found


def answer(document: dict[str, Any], question: Reporting) -> Rows | Unary:
    """Read the mechanism; of unary encoding with randomised responses, its parameters suffice."""
    stated = document["mechanism"] is None and question.blocks == "grr"
    if stated and question.protocol == "ue-conditional":
        return read_unary(document.get("answer"), question.robust)
    return robust_answer(document, question)


def members(case: Case) -> Iterator[Claim]:
    robust = case.question.robust
    if isinstance(case.answer, Unary):
        words = f"the reports of unary encoding with these parameters {private_words(robust)}"
        yield decided("privacy", words, partial(is_private, case.answer, robust), value=robust.epsilon)
    else:
        yield from robust_members(case)
    if case.question.blocks == "grr":
        yield _member(case)
    else:
        yield from made_of_reports(case)


def value(case: Case) -> Iterator[Claim]:
    robust = case.question.robust
    if not isinstance(case.answer, Unary):
        yield from empirical_value(case)
        return
    words = f"its mutual information under p_hat is at least {case.value!r}"
    yield case.claim_value(words, lambda: Fraction(case.value) <= value_below(case.answer, robust))


def audit(case: Case) -> Iterator[Claim]:
    if isinstance(case.answer, Unary):
        raise UnreadableError("a protocol that is stated by its parameters has no audit")
    yield from robust_audit(case)


kinds = {
    protocol: Kind(
        Record(PARAMS.required, {**PARAMS.optional, **OPTIONS}), partial(_statement, protocol)
    )
    for protocol in PROTOCOLS
}
statement = Record({"protocol": Word(*PROTOCOLS), **OPTIONS, **CONFIDENCE})
sense, unchecked = maximise, unchecked_kind
