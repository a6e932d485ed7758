"""The best encoding of its kind, stated by parameters, not by a matrix: the kind ``frequency-encoding``.

What the encodings are, and the lemmas on level and error, stand in ``encodings.py``.

Lemma (bound). Let the estimates of all frequencies from n reports of an ε-LDP mechanism be unbiased,
whatever the distribution of the users. At the uniform distribution their expected squared errors add
up to at least (φ* − 1)/(k n), φ* of :func:`..kernel.proofs.fidelity_bounds.phi_bound`. Proof. With M = W
diag(pW)⁻¹Wᵀ, Σ = M⁻¹ − p pᵀ is the inverse of M on the vectors that sum to 0 (``fidelity_bounds.py``),
and δᵀMδ is the Fisher information of a report in the direction δ; so the covariance is at least Σ/n
(Cramér–Rao), and where M has no inverse there no unbiased estimate exists. At p = 1/k, M = k W D⁻¹Wᵀ, D
the column sums, so the trace of Σ is φ(W)/k − 1/k, and φ(W) ≥ φ*. ∎ Subset selection attains it.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

from ..kernel.arithmetic import exp_above
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
from ..kernel.proofs.fidelity_bounds import phi_bound
from ..kernel.reading import UnreadableError
from ..kernel.schema import EPSILON, Record, Whole, Word
from ..kernel.section import Case, Kind, minimise, stating

PARAMS = statement = Record(
    {"encoding": Word(*LAWS), "inputs": INPUTS, "epsilon": EPSILON}, {"buckets": Whole(2, MOST_BUCKETS)}
)


class Question(NamedTuple):
    """Which encoding is asked for: its name and further parameters, k, and ε."""

    encoding: str
    inputs: int
    epsilon: float
    buckets: int | None


def question(plain: dict[str, Any]) -> Question:
    if "buckets" not in plain:
        return Question(plain["encoding"], plain["inputs"], plain["epsilon"], None)
    if "buckets" not in LAWS[plain["encoding"]].parameters:
        raise UnreadableError(f"the encoding {quoted(plain['encoding'])} has no buckets")
    return Question(plain["encoding"], plain["inputs"], plain["epsilon"], _prime(plain["buckets"]))


def answer(document: dict[str, Any], question: Question) -> tuple[dict[str, Any], Encoding]:
    if document["mechanism"] is not None:
        raise UnreadableError("mechanism must be null: an encoding is stated in answer")
    plain = ENCODING.read(document.get("answer"), "answer")
    return plain, read_encoding(plain)


def members(case: Case) -> Iterator[Claim]:
    asked, (plain, found) = case.question, case.answer
    g = asked.buckets
    words = f"it is {quoted(asked.encoding)} for {asked.inputs} inputs"
    words += "" if g is None else f" with {g} buckets"

    def is_asked_for() -> bool:
        same = (plain["kind"], plain["inputs"]) == (asked.encoding, asked.inputs)
        return same and g in (None, plain.get("buckets"))

    yield decided("member", words, is_asked_for)
    yield private(found, asked.epsilon)


def value(case: Case) -> Iterator[Claim]:
    found = case.answer[1]
    words = (
        f"from n reports, its estimates of the frequencies of all {found.inputs} inputs have together "
        f"an expected squared error of at most {case.value!r}/n, whatever the distribution"
    )
    yield case.claim_value(words, lambda: error(found) <= Fraction(case.value))


def bound(case: Case) -> Iterator[Claim]:
    k, epsilon = case.question.inputs, case.question.epsilon
    words = (
        "no mechanism of this privacy, whatever its reports, has unbiased estimates of the frequencies "
        f"of all {k} inputs whose expected squared errors add up to less than {case.bound!r}/n for the "
        "uniform distribution"
    )
    least = partial(phi_bound, k, exp_above(epsilon))
    about = "mechanisms of this privacy, whatever their reports"
    yield case.claim_bound(words, lambda: Fraction(case.bound) * k <= least() - 1, about)


kinds = {"frequency-encoding": Kind(statement, stating("encoding"))}
sense = minimise
