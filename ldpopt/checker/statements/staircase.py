"""Column programs: the kinds ``staircase`` and ``secret-staircase``.

The claims, and which function decides which:

* stochastic, private (:mod:`private_rows`): exact comparisons of fractions, e^ε enclosed;
* the utility Σ_y g(W[:, y]) is at least the value: :func:`utility_of` encloses it;
* no private mechanism has more than the bound: :func:`bounded`; the lemmas stand in ``corners.py``,
  ``private_cone.py``, ``two_hypotheses.py`` and ``piecewise_linear.py``.

A kind of another package whose utility is not among these states a ``private-mechanism``: the first
claims and the audit are decided, and nothing is said about a utility.

Distributions are fractions that sum to exactly 1 (see ``schema.py``); every claim is about them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

from ..kernel.arithmetic import ZERO, Interval, dyadic, enclose, log, total
from ..kernel.budget import tick
from ..kernel.claims import Claim, decided
from ..kernel.labels import Labels
from ..kernel.proofs import corners
from ..kernel.proofs.private_rows import level_claims, private, read_matrix, stochastic
from ..kernel.proofs.two_hypotheses import Divergence
from ..kernel.reading import UnreadableError
from ..kernel.schema import EPSILON, Distribution, Joint, List, Number, Record, Word
from ..kernel.section import Case, Form, Kind, Section, maximise, nothing

MOST_DUAL = 1e30
"""The largest size of an entry of the dual vector; E² at ε = 30 is 1.1e26."""


class ColumnStatement(NamedTuple):
    """Maximise Σ_y g(W[:, y]) over mechanisms with W[x,y] ≤ e^ε W[x',y] where secrets differ.

    ``weights`` are the probabilities of the hypotheses of bayes, ``order`` is the order of renyi.
    """

    secrets: tuple[Any, ...]
    epsilon: float
    utility: str
    distributions: tuple[tuple[Fraction, ...], ...]
    weights: tuple[Fraction, ...] = ()
    order: float | None = None


OF_A_PRIOR = ("mutual-information", "guessing")
OF_TWO_HYPOTHESES = ("kl", "total-variation", "chi-squared", "hellinger", "renyi")
OF_HYPOTHESES = (*OF_TWO_HYPOTHESES, "bayes")
UTILITIES = (*OF_A_PRIOR, *OF_HYPOTHESES)
ORDER = Number(0.01, 60)
MOST_LOG_POWER = 30
"""(order − 1) ε of renyi: the power of a ratio of two entries is at most e^60."""

STATEMENT = Record(
    {
        "form": Word("column-program"),
        "secrets": Labels(2),
        "epsilon": EPSILON,
        "utility": Word(*UTILITIES),
        "distributions": List(Distribution(2), 1),
    },
    {"weights": Distribution(2), "order": ORDER},
)


class PrivateMechanism(NamedTuple):
    """A mechanism with W[x,y] ≤ e^ε W[x',y] where secrets differ, without an objective."""

    secrets: tuple[Any, ...]
    epsilon: float


def private_question(plain: dict[str, Any]) -> PrivateMechanism:
    """Build the question of a statement without a utility."""
    return PrivateMechanism(_secrets(plain), plain["epsilon"])


def _staircase(params: dict[str, Any]) -> dict[str, Any]:
    rows = _rows("staircase", params)
    return _column_program(list(range(len(rows[0]))), params, rows)


def _secret_staircase(params: dict[str, Any]) -> dict[str, Any]:
    tables = _rows("secret-staircase", params)
    if len({(len(table), len(table[0])) for table in tables}) != 1:
        raise UnreadableError("hypotheses must be matrices of one shape")
    secrets = [s for s, row in enumerate(tables[0]) for _ in row]
    return _column_program(secrets, params, [[p for row in table for p in row] for table in tables])


def _rows(kind: str, params: dict[str, Any]) -> list[Any]:
    """List the prior alone, or the hypotheses; refuse a utility that needs the other."""
    given = "hypotheses" in params
    if given == ("prior" in params):
        raise UnreadableError(f"{kind} needs either 'prior' or 'hypotheses', not both")
    utility, allowed = params.get("utility"), OF_HYPOTHESES if given else OF_A_PRIOR
    if utility not in allowed and (given or utility is not None):
        what = "hypotheses need" if given else "a prior needs"
        raise UnreadableError(f"{what} the utility {', '.join(allowed[:-1])} or {allowed[-1]}")
    return params["hypotheses"] if given else [params["prior"]]


def _column_program(secrets: Any, params: dict[str, Any], rows: list[Any]) -> dict[str, Any]:
    found = {
        "form": "column-program",
        "secrets": secrets,
        "epsilon": params["epsilon"],
        "utility": params.get("utility", "mutual-information"),
        "distributions": rows,
    }
    if found["utility"] == "bayes" and "weights" not in params:
        found["weights"] = [1 / len(rows)] * len(rows)
    return found | {key: params[key] for key in ("weights", "order") if key in params}


def column_question(plain: dict[str, Any]) -> ColumnStatement:
    """Build the question of a statement that its schema has read."""
    secrets, rows, utility = _secrets(plain), plain["distributions"], plain["utility"]
    weights, order = plain.get("weights", ()), plain.get("order")
    _check_count(utility, len(rows), weights)
    _check_order(utility, order, plain["epsilon"])
    if any(len(row) != len(secrets) for row in rows):
        raise UnreadableError(
            f"every distribution must have {len(secrets)} entries, one per input, "
            f"not {' and '.join(str(len(row)) for row in rows)}"
        )
    distributions = tuple(map(tuple, rows))
    return ColumnStatement(secrets, plain["epsilon"], utility, distributions, tuple(weights), order)


def _secrets(plain: dict[str, Any]) -> tuple[Any, ...]:
    secrets = tuple(plain["secrets"])
    if len(set(secrets)) < 2:
        raise UnreadableError(
            "secrets must be at least two different labels: with one nothing is hidden"
        )
    return secrets


def _check_count(utility: str, rows: int, weights: Sequence[Fraction]) -> None:
    if utility == "bayes":
        if len(weights) != rows:
            raise UnreadableError(
                f"the utility bayes needs one weight for each of {rows} hypotheses, not {len(weights)}"
            )
        return
    if weights:
        raise UnreadableError(f"weights belong to the utility bayes, not to {utility}")
    needed = 1 if utility in OF_A_PRIOR else 2
    if rows != needed:
        raise UnreadableError(f"the utility {utility} needs {needed} distributions, not {rows}")


def _check_order(utility: str, order: float | None, epsilon: float) -> None:
    if utility != "renyi":
        if order is not None:
            raise UnreadableError(f"an order belongs to the utility renyi, not to {utility}")
        return
    if order is None or order == 1:
        raise UnreadableError("the utility renyi needs an order other than 1; at 1 it is kl")
    if (Fraction(order) - 1) * Fraction(epsilon) > MOST_LOG_POWER:
        raise UnreadableError(
            f"(order - 1) * epsilon must be at most {MOST_LOG_POWER}, not ({order!r} - 1) * {epsilon!r}"
        )


# ---------------------------------------------------------------- the value


def utility_of(matrix: Sequence[Sequence[float]], question: ColumnStatement) -> Interval:
    """Enclose the utility Σ_y g(W[:, y]) of the mechanism.

    Lemma. q = P·T, q0 = p0·T and q1 = p1·T are rational, so total variation, χ², bayes and guessing are
    exact, and every logarithm, root or power is of a rational number and enclosed. A column adds at
    least 0 to the information: by Jensen's inequality Σ P T log T ≥ q log q, as P sums to exactly 1.
    """
    rows = [_weights(row) for row in question.distributions]
    return total(_column_utility(question, rows, column) for column in zip(*matrix, strict=True))


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


def _column_utility(question: ColumnStatement, rows: list[Weights], column: Sequence[float]) -> Interval:
    tick()
    if question.utility == "mutual-information":
        return _information(rows[0], column)
    entries, bits = dyadic(column)
    if question.utility == "guessing":
        best = max(n * t for n, t in zip(rows[0].numerators, entries, strict=True))
        return enclose(Fraction(best, rows[0].denominator << bits))
    masses = [_mass(row, entries, bits) for row in rows]
    if question.utility == "bayes":
        return enclose(max(w * q for w, q in zip(question.weights, masses, strict=True)))
    return Divergence(question.utility, question.order).of_masses(*masses)


def _mass(row: Weights, entries: list[int], bits: int) -> Fraction:
    """Compute p·T for a column T of whole multiples of 2^−bits."""
    found = sum(n * t for n, t in zip(row.numerators, entries, strict=True))
    return Fraction(found, row.denominator << bits)


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


def _answer(document: dict[str, Any], question: ColumnStatement | PrivateMechanism) -> list[list[float]]:
    return read_matrix(document, len(question.secrets), question.secrets)


def _members(case: Case) -> Iterator[Claim]:
    yield stochastic(case.answer)
    yield private(case.answer, case.question.secrets, case.question.epsilon)


def _value(case: Case) -> Iterator[Claim]:
    name, order = case.question.utility, case.question.order
    power = f", the power divergence (Σ q₀^α q₁^(1−α) − 1)/(α − 1) at α = {order!r}"
    words = f"its utility ({name}{power if name == 'renyi' else ''}) is at least {case.value!r}"

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


UTILITY_PARAMETERS = {"utility": Word(*UTILITIES), "weights": Distribution(2), "order": ORDER}

SECTION = Section(
    kinds={
        "staircase": Kind(
            Record(
                {"epsilon": EPSILON},
                {
                    "prior": Distribution(2),
                    "hypotheses": List(Distribution(2), 2),
                    **UTILITY_PARAMETERS,
                },
            ),
            _staircase,
        ),
        "secret-staircase": Kind(
            Record(
                {"epsilon": EPSILON},
                {"prior": Joint(), "hypotheses": List(Joint(), 2), **UTILITY_PARAMETERS},
            ),
            _secret_staircase,
        ),
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
        ),
        "private-mechanism": Form(
            statement=Record(
                {"form": Word("private-mechanism"), "secrets": Labels(2), "epsilon": EPSILON}
            ),
            question=private_question,
            answer=_answer,
            members=_members,
            value=None,
            bound=nothing,
            sense=maximise,
            audit=_audit,
        ),
    },
)
