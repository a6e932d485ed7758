"""The best encoding of its kind, stated by parameters, not by a matrix: the kind ``frequency-encoding``.

What the encodings are, and the lemmas on level and error, stand in ``encodings.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

from ..kernel.claims import Claim, decided, quoted
from ..kernel.proofs.encodings import (
    ENCODING,
    INPUTS,
    LAWS,
    MOST_BUCKETS,
    Encoding,
    _prime,
    error,
    private,
    read_encoding,
)
from ..kernel.reading import UnreadableError
from ..kernel.schema import EPSILON, Record, Whole, Word
from ..kernel.section import Case, Decider, Kind, Section, minimise, stating

PARAMS = Record(
    {"encoding": Word(*LAWS), "inputs": INPUTS, "epsilon": EPSILON}, {"buckets": Whole(2, MOST_BUCKETS)}
)


class Question(NamedTuple):
    """Which encoding is asked for: its name and further parameters, k, and ε."""

    encoding: str
    inputs: int
    epsilon: float
    buckets: int | None


def _question(plain: dict[str, Any]) -> Question:
    if "buckets" not in plain:
        return Question(plain["encoding"], plain["inputs"], plain["epsilon"], None)
    if "buckets" not in LAWS[plain["encoding"]].parameters:
        raise UnreadableError(f"the encoding {quoted(plain['encoding'])} has no buckets")
    return Question(plain["encoding"], plain["inputs"], plain["epsilon"], _prime(plain["buckets"]))


def _answer(document: dict[str, Any], question: Question) -> tuple[dict[str, Any], Encoding]:
    if document["mechanism"] is not None:
        raise UnreadableError("mechanism must be null: an encoding is stated in answer")
    plain = ENCODING.read(document.get("answer"), "answer")
    return plain, read_encoding(plain)


def _members(case: Case) -> Iterator[Claim]:
    asked, (plain, found) = case.question, case.answer
    g = asked.buckets
    words = f"it is {quoted(asked.encoding)} for {asked.inputs} inputs"
    words += "" if g is None else f" with {g} buckets"

    def is_asked_for() -> bool:
        same = (plain["kind"], plain["inputs"]) == (asked.encoding, asked.inputs)
        return same and g in (None, plain.get("buckets"))

    yield decided("member", words, is_asked_for)
    yield private(found, asked.epsilon)


def _value(case: Case) -> Iterator[Claim]:
    found = case.answer[1]
    words = (
        f"from n reports, its estimates of the frequencies of all {found.inputs} inputs have together "
        f"an expected squared error of at most {case.value!r}/n, whatever the distribution"
    )
    yield case.claim_value(words, lambda: error(found) <= Fraction(case.value))


def _no_bound(case: Case) -> Iterator[Claim]:
    raise UnreadableError("bound must be null: nothing is proven about other encodings")


SECTION = Section(
    kinds={"frequency-encoding": Kind(PARAMS, stating("encoding"))},
    forms={
        "encoding": Decider(
            statement=PARAMS,
            question=_question,
            answer=_answer,
            members=_members,
            value=_value,
            bound=_no_bound,
            sense=minimise,
        )
    },
)
