"""Column programs: the kinds ``staircase`` and ``secret-staircase``.

The claims, and which function decides which:

* stochastic, private (:mod:`private_rows`): exact comparisons of fractions, e^ε enclosed;
* the utility Σ_y g(W[:, y]) is at least the value: ``column_utilities.py`` encloses it;
* no private mechanism has more than the bound: :func:`bounded`; the lemmas stand in ``corners.py``,
  ``private_cone.py``, ``two_hypotheses.py`` and ``piecewise_linear.py``.

A kind of another package whose utility is not among these states a ``private-mechanism``: the first
claims and the audit are decided, and nothing is said about a utility.

Distributions are fractions that sum to exactly 1 (see ``schema.py``); every claim is about them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

from ..kernel.arithmetic import enclose
from ..kernel.claims import Claim, decided
from ..kernel.labels import Labels
from ..kernel.proofs import corners
from ..kernel.proofs.column_utilities import (
    MOST_DUAL,
    MOST_LOG_POWER,
    OF_A_PRIOR,
    OF_HYPOTHESES,
    ORDER,
    UTILITIES,
    ColumnStatement,
    utility_of,
)
from ..kernel.proofs.private_rows import level_claims, private, read_matrix, stochastic
from ..kernel.reading import UnreadableError
from ..kernel.schema import EPSILON, Distribution, Joint, List, Number, Record, Word
from ..kernel.section import Case, Decider, Kind, Section, maximise, nothing

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
        "column-program": Decider(
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
        "private-mechanism": Decider(
            statement=Record(
                {"form": Word("private-mechanism"), "secrets": Labels(2), "epsilon": EPSILON}
            ),
            question=private_question,
            answer=_answer,
            members=_members,
            value=nothing,
            bound=nothing,
            sense=maximise,
            audit=_audit,
            states_objective=lambda question: False,
        ),
    },
)
