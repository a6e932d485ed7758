"""Answering queries: the kind ``robust-fidelity``.

Statement. The inputs are pairs (s, u) with the distribution p, s is the secret, and the queries c_i are
vectors with an entry per input. Minimise the error Σ_i c_iᵀΣc_i, Σ = J⁻¹ − p pᵀ, J = Σ_y w_y
w_yᵀ/(p·w_y), which is n times the squared error that efficient estimates of all c_i·P have together,
over mechanisms that hide s at the level ε: whatever the distribution of (s, u), if p is a ``prior``;
against every distribution of the χ² confidence set, if p is the p̂ of n samples.

The claims, and which function decides which:

* stochastic, private, audit: :mod:`private_rows`, or ``robust_privacy.py`` for a χ² set;
* the error is at most the value: :func:`error_above`;
* no mechanism has less than the bound: ``query_bound.py``. Without a proof that is the error of the data
  as they are. With one and a χ² set it is a bound *within the PolyOpt cone*, where the mechanism lies.

Lemma (:func:`error_above`). ``second_moments.py`` finds R with every entry within r of J⁻¹, so cᵀJ⁻¹c ≤
cᵀRc + r (Σ|c_x|)². ∎ Adding a number to all entries of c changes nothing, as Σ1 = 0. So the mean of c
over the inputs is subtracted first, which makes cᵀJ⁻¹c and (c·p)² smaller.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial
from operator import mul
from typing import Any, NamedTuple

from ..kernel.arithmetic import exp_above
from ..kernel.claims import Claim, decided
from ..kernel.proofs.confidence_set import (
    ALPHA,
    PARAMS,
    SAMPLES,
    RobustStatement,
    confidence,
    robust_question,
)
from ..kernel.proofs.polyopt_cone import in_cone
from ..kernel.proofs.private_rows import (
    Rows,
    is_stochastic,
    level_claims,
    private,
    read_matrix,
    stochastic,
)
from ..kernel.proofs.quadratic_forms import QuadraticForm
from ..kernel.proofs.query_bound import clear_error, dominated_on_polyopt, dual_error
from ..kernel.proofs.robust_privacy import robust_audit, robust_members
from ..kernel.proofs.second_moments import inverse_information
from ..kernel.reading import UnreadableError
from ..kernel.schema import EPSILON, Joint, List, Matrix, Nullable, Number, Record
from ..kernel.section import Case, Kind, minimise

MOST_QUERIES = 1000
MOST_WEIGHT = 1e6
"""The size of an entry of a query."""
NUMBER = Number(-1e40, 1e40)
"""The size of a number of a proof."""
QUERIES = Matrix(Number(-MOST_WEIGHT, MOST_WEIGHT), 1, 2)


class Queries(NamedTuple):
    """The table, its queries less their means, and the χ² set; None for all distributions."""

    p: list[Fraction]
    secrets: list[int]
    queries: list[list[Fraction]]
    epsilon: float
    robust: RobustStatement | None


def _statement(params: dict[str, Any]) -> dict[str, Any]:
    if "prior" not in params:
        table = confidence(params)
    elif any(name in params for name in ("p_hat", "n", "counts", "alpha")):
        raise UnreadableError(
            "a prior stands for all distributions: p_hat, n, counts and alpha must not be given with it"
        )
    else:
        table = {"p_hat": params["prior"], "n": None, "alpha": 0.05, "epsilon": params["epsilon"]}
    given = "queries" in params
    queries = params["queries"] if given else _frequencies(sum(map(len, table["p_hat"])))
    return {"form": "query-program", "queries": queries, **table}


def _frequencies(cells: int) -> list[list[float]]:
    """List the queries that are asked if none are given: the frequency of every cell."""
    if cells > MOST_QUERIES:
        raise UnreadableError(f"queries must be given for more than {MOST_QUERIES} cells")
    return [[float(i == j) for j in range(cells)] for i in range(cells)]


def question(plain: dict[str, Any]) -> Queries:
    prior, rows = plain["p_hat"], plain["queries"]
    p = [entry for row in prior for entry in row]
    if any(len(row) != len(p) for row in rows):
        raise UnreadableError(
            f"every query must have {len(p)} entries, one per input, not {len(rows[0])}"
        )
    if len(rows) > MOST_QUERIES:
        raise UnreadableError(f"queries must be at most {MOST_QUERIES}, not {len(rows)}")
    if all(len(set(row)) == 1 for row in rows):
        raise UnreadableError("some query must have two different entries: else every answer is known")
    queries = [_centred(row) for row in rows]
    robust = None
    if plain["n"] is not None:
        if len(prior[0]) < 2:
            raise UnreadableError(
                "a χ² set needs two public values (columns) or more; give a prior instead"
            )
        robust = robust_question(plain)
    secrets = [s for s, row in enumerate(prior) for _ in row]
    return Queries(p, secrets, queries, plain["epsilon"], robust)


def _centred(row: Sequence[float]) -> list[Fraction]:
    """Take the mean of the entries off."""
    mean = sum(map(Fraction, row), Fraction(0)) / len(row)
    return [Fraction(c) - mean for c in row]


# ---------------------------------------------------------------- the value


def error_above(matrix: Sequence[Sequence[float]], question: Queries) -> Fraction | None:
    """Compute a number just above the error; None if no precision shows that it is finite."""
    p = question.p
    for column in zip(*matrix, strict=True):
        if any(column) and not any(t and x for t, x in zip(column, p, strict=True)):
            return None  # a report of probability 0 under p
    J = inverse_information(matrix, p)
    if J is None:
        return None
    unit, found = 1 << J.bits, Fraction(0)
    for c in question.queries:
        shared = math.lcm(*(x.denominator for x in c))
        whole = [x.numerator * (shared // x.denominator) for x in c]  # c · shared
        image = [sum(map(mul, whole, row)) for row in J.entries]
        size, mean = sum(map(abs, c), Fraction(0)), sum(map(mul, c, p), Fraction(0))
        square = Fraction(sum(map(mul, image, whole)), shared * shared * unit)
        found += square + J.radius * size**2 - mean * mean
    return found


# ---------------------------------------------------------------- the claims


def members(case: Case) -> Iterator[Claim]:
    if case.question.robust is not None:
        yield from robust_members(case)
        return
    yield stochastic(case.answer)
    yield private(case.answer, case.question.secrets, case.question.epsilon)


def value(case: Case) -> Iterator[Claim]:
    def test() -> bool:
        found = error_above(case.answer, case.question) if is_stochastic(case.answer) else None
        return found is not None and found <= Fraction(case.value)

    words = (
        "the error of the queries if the data are distributed as the table, n times the variance of "
        f"efficient estimates, is at most {case.value!r}"
    )
    yield case.claim_value(words, test)


def bound_below(question: Queries, proof: dict[str, Any] | None) -> Fraction | None:
    """Compute the bound that a proof proves; None if it proves nothing."""
    if proof is None:
        return clear_error(question.p, question.queries)

    def dominated(form: QuadraticForm) -> bool:
        if question.robust is not None:
            return dominated_on_polyopt(form, question.robust)
        E, every = exp_above(question.epsilon), len(set(question.secrets)) == len(question.p)
        return (every and form.on_spread(E)) or form.on_corners(question.secrets, E)

    return dual_error(question.p, question.queries, proof["Y"], proof["beta"], dominated)


def bound(case: Case) -> Iterator[Claim]:
    question, proof, bound = case.question, case.proof, case.bound
    members = "mechanism of this privacy"
    if proof is not None:
        k, r = len(question.p), len(question.queries)
        rows = len(proof["Y"])
        if not r <= rows <= r + k or {len(proof["Y"][0]), len(proof["beta"])} != {k}:
            raise UnreadableError(
                f"certificate.proof must have {r} to {r + k} rows of {k} entries as Y, and {k} entries "
                f"of beta, not {rows} rows"
            )
        if question.robust is not None:
            members = "mechanism within the PolyOpt cone"
            values = range(k // len(set(question.secrets)))
            inside = partial(in_cone, case.answer, question.robust, "distinct", values)
            yield decided("member", "it lies in the PolyOpt cone", inside)

    def test() -> bool:
        found = bound_below(question, proof)
        return found is not None and Fraction(bound) <= found

    words = f"no {members} has an error below {bound!r} if the data are distributed as the table"
    yield case.claim_bound(words, test, members.replace("mechanism", "mechanisms"))


def audit(case: Case) -> Iterator[Claim]:
    if case.question.robust is not None:
        yield from robust_audit(case)
    else:
        yield from level_claims(case.answer, case.question.secrets, case.audit)


def answer(document: dict[str, Any], question: Queries) -> Rows:
    return read_matrix(document, len(question.p), question.secrets)


kinds = {
    "robust-fidelity": Kind(
        Record({"epsilon": EPSILON}, {"queries": QUERIES, "prior": Joint(), **PARAMS.optional}),
        _statement,
    )
}
statement = Record(
    {
        "epsilon": EPSILON,
        "p_hat": Joint(),
        "queries": QUERIES,
        "n": Nullable(SAMPLES),
        "alpha": ALPHA,
    }
)
sense = minimise
proof = Nullable(Record({"Y": Matrix(NUMBER, 1, 2), "beta": List(NUMBER, 2)}))
