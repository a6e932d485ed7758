"""Column programs: the kinds ``staircase`` and ``secret-staircase``.

The claims, and which function decides which:

* stochastic, private (:mod:`mechanism`): exact comparisons of fractions, e^ε enclosed;
* the utility Σ_y g(W[:, y]) is at least the value: :func:`utility_of` encloses it;
* no private mechanism has more than the bound: :func:`bounded`; the lemmas stand in ``corners.py``.

Distributions are fractions that sum to exactly 1 (see ``schema.py``); every claim is about them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

from . import corners
from .arithmetic import ZERO, Interval, enclose, log, total
from .budget import tick
from .claims import Claim, decided
from .form import Case, Form, Kind, Section, maximise
from .mechanism import level_claims, private, read_matrix, stochastic
from .reading import UnreadableError
from .schema import EPSILON, Distribution, Joint, Label, List, Number, Record, Word

MOST_DUAL = 1e30
"""The size of a number of the dual vector: E² at ε = 30 is 1.1e26."""


class ColumnStatement(NamedTuple):
    """Maximise Σ_y g(W[:, y]) over mechanisms with W[x,y] ≤ e^ε W[x',y] where secrets differ."""

    secrets: tuple[Any, ...]
    epsilon: float
    utility: str
    distributions: tuple[tuple[Fraction, ...], ...]


UTILITIES = {"mutual-information": 1, "kl": 2, "total-variation": 2, "chi-squared": 2}
"""Each utility with the number of distributions that define it."""


STATEMENT = Record(
    {
        "form": Word("column-program"),
        "secrets": List(Label(), 2),
        "epsilon": EPSILON,
        "utility": Word(*UTILITIES),
        "distributions": List(Distribution(2), 1, 2),
    }
)


def _staircase(params: dict[str, Any]) -> dict[str, Any]:
    pair = "hypotheses" in params
    if pair == ("prior" in params):
        raise UnreadableError("staircase needs either 'prior' or 'hypotheses', not both")
    if pair and params.get("utility") in (None, "mutual-information"):
        raise UnreadableError("hypotheses need the utility kl, total-variation or chi-squared")
    rows = params["hypotheses"] if pair else [params["prior"]]
    utility = params.get("utility", "mutual-information")
    return _column_program(list(range(len(rows[0]))), params["epsilon"], utility, rows)


def _secret_staircase(params: dict[str, Any]) -> dict[str, Any]:
    prior = params["prior"]
    secrets = [s for s, row in enumerate(prior) for _ in row]
    flat = [p for row in prior for p in row]
    return _column_program(secrets, params["epsilon"], "mutual-information", [flat])


def _column_program(secrets: Any, epsilon: Any, utility: Any, rows: Any) -> dict[str, Any]:
    return {
        "form": "column-program",
        "secrets": secrets,
        "epsilon": epsilon,
        "utility": utility,
        "distributions": rows,
    }


def column_question(plain: dict[str, Any]) -> ColumnStatement:
    """Build the question of a statement that its schema has read."""
    secrets, rows, utility = tuple(plain["secrets"]), plain["distributions"], plain["utility"]
    if UTILITIES[utility] != len(rows):
        raise UnreadableError(
            f"the utility {utility} needs {UTILITIES[utility]} distributions, not {len(rows)}"
        )
    if any(len(row) != len(secrets) for row in rows):
        raise UnreadableError(
            f"every distribution must have {len(secrets)} entries, one per input, "
            f"not {' and '.join(str(len(row)) for row in rows)}"
        )
    if len(set(secrets)) < 2:
        raise UnreadableError(
            "secrets must be at least two different labels: with one nothing is hidden"
        )
    return ColumnStatement(secrets, plain["epsilon"], utility, tuple(map(tuple, rows)))


# ---------------------------------------------------------------- the value


def utility_of(matrix: Sequence[Sequence[float]], question: ColumnStatement) -> Interval:
    """Enclose the utility Σ_y g(W[:, y]) of the mechanism.

    Lemma. q = P·T, q0 = p0·T and q1 = p1·T are rational, so total variation and χ² are exact, and every
    logarithm is of a rational number and enclosed. A column adds at least 0 to the information: by
    Jensen's inequality Σ P T log T ≥ q log q, as P sums to exactly 1.
    """
    rows = [_weights(row) for row in question.distributions]
    return total(_column_utility(question.utility, rows, column) for column in zip(*matrix, strict=True))


def utility_below(matrix: Sequence[Sequence[float]], question: ColumnStatement) -> Fraction:
    """Compute a rational number just below the utility."""
    return Fraction(utility_of(matrix, question).low)


class Weights(NamedTuple):
    """A distribution as whole numbers over a common denominator."""

    numerators: list[int]
    denominator: int


def _weights(row: Sequence[Fraction]) -> Weights:
    denominator = math.lcm(*(p.denominator for p in row))
    return Weights([p.numerator * (denominator // p.denominator) for p in row], denominator)


def _column_utility(utility: str, rows: list[Weights], column: Sequence[float]) -> Interval:
    tick()
    if utility == "mutual-information":
        return _information(rows[0], column)
    return _divergence(utility, rows, [Fraction(t) for t in column])


def _information(prior: Weights, column: Sequence[float]) -> Interval:
    """Enclose Σ P T log T − q log q; entries of equal T share one logarithm."""
    masses: Counter[float] = Counter()
    for n, t in zip(prior.numerators, column, strict=True):
        masses[t] += n
    used = {Fraction(t): Fraction(n, prior.denominator) for t, n in masses.items() if n}
    if len(used) == 1:
        return ZERO  # T is constant where P is positive
    q = sum((p * t for t, p in used.items()), Fraction(0))
    own = total(enclose(p * t) * log(t) for t, p in used.items() if t)
    found = own - enclose(q) * log(q)
    return Interval(max(found.low, ZERO.low), found.high)


def _divergence(utility: str, rows: list[Weights], column: list[Fraction]) -> Interval:
    """Enclose q1 f(q0/q1); a column with q1 = 0 < q0, which is infinite, counts as 0."""
    q0, q1 = (
        sum((n * t for n, t in zip(w.numerators, column, strict=True) if n), Fraction(0)) / w.denominator
        for w in rows
    )
    if q1 == 0 or (q0 == 0 and utility == "kl"):
        return ZERO
    if utility == "kl":
        return enclose(q0) * log(q0 / q1)
    return enclose((q0 - q1) ** 2 / q1 if utility == "chi-squared" else abs(q0 - q1) / 2)


# ---------------------------------------------------------------- the bound


def dominates(dual: Sequence[float], question: ColumnStatement) -> bool | None:
    """Return whether β·v ≥ g(v) for every private column v; then no mechanism exceeds Σ_x β_x."""
    return corners.dominates(dual, *question)


def bounded(dual: Sequence[float], bound: float, question: ColumnStatement) -> bool | None:
    """Return whether the dual vector proves the bound.

    Args:
        dual: β, an entry per input.
        bound: the bound that is claimed.
        question: the column program.
    """
    return sum(map(Fraction, dual)) <= Fraction(bound) and dominates(dual, question)


# ---------------------------------------------------------------- the claims


def _answer(document: dict[str, Any], question: ColumnStatement) -> list[list[float]]:
    return read_matrix(document, len(question.secrets))


def _members(case: Case) -> Iterator[Claim]:
    yield stochastic(case.answer)
    yield private(case.answer, case.question.secrets, case.question.epsilon)


def _value(case: Case) -> Iterator[Claim]:
    words = f"its utility ({case.question.utility}) is at least {case.value!r}"

    def test() -> bool | None:
        return enclose(case.value).at_most(utility_of(case.answer, case.question))

    yield decided("value", words, test, value=case.value)


def _bound(case: Case) -> Iterator[Claim]:
    question, dual, bound = case.question, case.proof["dual"], case.bound
    if len(dual) != len(question.secrets):
        raise UnreadableError(
            f"certificate.proof.dual must have {len(question.secrets)} entries, not {len(dual)}"
        )
    assert bound is not None
    words = f"no such mechanism has a utility above {bound!r}"
    test = partial(bounded, dual, bound, question)
    yield decided("bound", words, test, about="mechanisms of this privacy", value=bound)


def _audit(case: Case) -> Iterator[Claim]:
    yield from level_claims(case.answer, case.question.secrets, case.audit)


SECTION = Section(
    kinds={
        "staircase": Kind(
            Record(
                {"epsilon": EPSILON},
                {
                    "prior": Distribution(2),
                    "hypotheses": List(Distribution(2), 2, 2),
                    "utility": Word(*UTILITIES),
                },
            ),
            _staircase,
        ),
        "secret-staircase": Kind(Record({"epsilon": EPSILON, "prior": Joint()}), _secret_staircase),
    },
    forms={
        "column-program": Form(
            statement=STATEMENT,
            question=column_question,
            answer=_answer,
            members=_members,
            value=_value,
            bound=_bound,
            sense=maximise,
            proof=Record({"dual": List(Number(-MOST_DUAL, MOST_DUAL), 2)}),
            audit=_audit,
        )
    },
)
