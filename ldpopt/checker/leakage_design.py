"""Design under a leakage budget: the kind ``leakage-design``."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

from .arithmetic import exp_above
from .budget import reserve
from .claims import Claim, decided
from .form import Case, Form, Kind, Section, minimise
from .mechanism import Rows, read_matrix, stochastic
from .reading import UnreadableError
from .schema import Label, List, Number, Object, Record, Whole, Word
from .statistic_leakage import Row, SelectionStatement, by_secret, log_above, selects, tree_bound

MOST_RECORDS, MOST_CATEGORIES = 1000, 1000
BUDGET = Number(0, 30)
COST = Whole(0, 10**9)


def _leakage_design(params: dict[str, Any]) -> dict[str, Any]:
    tau, d = params["tau"], params["d"]
    size = math.comb(tau + d - 1, d - 1)
    reserve(size * size, f"the costs of {size} histograms")
    space = list(_histograms(tau, d))
    return {
        "form": "leakage-program",
        "costs": [[sum(abs(p - q) for p, q in zip(a, b, strict=True)) for b in space] for a in space],
        "scale": 2 * tau,
        "secrets": params.get("secrets", [histogram[0] for histogram in space]),
        "budget": params["budget"],
    }


def _histograms(tau: int, d: int) -> Iterator[tuple[int, ...]]:
    """All counts of tau records over d categories, in lexicographic order."""
    if d == 1:
        yield (tau,)
        return
    for first in range(tau + 1):
        for rest in _histograms(tau - first, d - 1):
            yield (first, *rest)


class LeakageStatement(NamedTuple):
    """Minimise max_θ Σ_y c W over mechanisms whose statistic maximal leakage is at most the budget."""

    costs: list[list[Fraction]]
    groups: list[list[int]]
    budget: float


def leakage_question(plain: dict[str, Any]) -> LeakageStatement:
    """The question of a statement that its schema has read."""
    costs = [[Fraction(cost, plain["scale"]) for cost in row] for row in plain["costs"]]
    if any(len(row) != len(costs[0]) for row in costs):
        raise UnreadableError("the rows of costs must have the same length")
    if len(plain["secrets"]) != len(costs):
        raise UnreadableError(f"secrets must be {len(costs)} labels, one per histogram")
    return LeakageStatement(costs, by_secret(plain["secrets"]), plain["budget"])


def worst_cost(matrix: Sequence[Sequence[float]], question: LeakageStatement) -> Fraction:
    """max_θ Σ_y c[θ,y] W[θ,y], exactly."""
    return max(
        sum((c * Fraction(w) for c, w in zip(costs, row, strict=True) if w), Fraction(0))
        for costs, row in zip(question.costs, matrix, strict=True)
    )


def leaks_within(
    matrix: Sequence[Sequence[float]], groups: list[list[int]], budget: float, proof: Any
) -> bool:
    """Whether a proof tree shows that the leakage of the mechanism is at most the budget."""
    rows: list[Row] = [[(y, p) for y, p in enumerate(row) if p] for row in matrix]
    total = tree_bound(proof, SelectionStatement(rows, len(matrix[0]), groups))
    return log_above(total) <= Decimal(budget)


def cost_bound(question: LeakageStatement, proof: dict[str, Any]) -> Fraction:
    """A number that no permitted mechanism costs less than, from a prior λ and weights μ of cuts.

    For W within the budget: max_θ c·W ≥ Σ_θ λ_θ Σ_y c W + Σ_k μ_k (cut_k(W) − e^b), as λ sums to at
    most 1 and every cut_k(W) = Σ_y W[θ_k(y), y] ≤ e^b; the least of this over stochastic W is taken
    row by row. Each cut names one parameter per secret, and for every output one of them.
    """
    prior = [Fraction(p) for p in proof["prior"]]
    if len(prior) != len(question.costs) or sum(prior) > 1:
        raise UnreadableError("the prior of the proof must have one entry per row, and sum to at most 1")
    prices = [[p * c for c in row] for p, row in zip(prior, question.costs, strict=True)]
    weight = Fraction(0)
    for cut in proof["cuts"]:
        mu, chosen, takers = Fraction(cut["weight"]), cut["selection"], cut["outputs"]
        if not selects(chosen, question.groups) or len(takers) != len(prices[0]):
            raise UnreadableError("a cut must select one row per secret, and name a secret per output")
        if max(takers) >= len(question.groups):
            raise UnreadableError(f"a cut names the secret {max(takers)}, and there is none")
        weight += mu
        for y, g in enumerate(takers):
            prices[chosen[g]][y] += mu
    return sum(map(min, prices), Fraction(0)) - exp_above(question.budget) * weight


# ---------------------------------------------------------------- the claims

CUT = Record(
    {"weight": Number(0), "selection": List(Whole(0, 10**7), 1), "outputs": List(Whole(0, 10**7), 1)}
)


def _answer(document: dict[str, Any], question: LeakageStatement) -> Rows:
    matrix = read_matrix(document, len(question.costs))
    if len(matrix[0]) != len(question.costs[0]):
        raise UnreadableError(
            f"the mechanism must have {len(question.costs[0])} outputs, one per histogram"
        )
    return matrix


def _members(case: Case) -> Iterator[Claim]:
    question = case.question
    if case.proof is None:
        raise UnreadableError("certificate.proof needs the key 'privacy'")
    yield stochastic(case.answer)
    words = f"it leaks at most {question.budget!r} nats about the secret"

    def test() -> bool:
        return leaks_within(case.answer, question.groups, question.budget, case.proof["privacy"])

    yield decided("privacy", words, test, value=question.budget)


def _value(case: Case) -> Iterator[Claim]:
    words = f"its worst expected distortion is at most {case.value!r}"
    yield decided(
        "value",
        words,
        lambda: worst_cost(case.answer, case.question) <= Fraction(case.value),
        value=case.value,
    )


def _bound(case: Case) -> Iterator[Claim]:
    bound = case.bound
    assert bound is not None
    if "prior" not in case.proof or "cuts" not in case.proof:
        raise UnreadableError("certificate.proof needs the keys 'prior' and 'cuts'")
    words = f"no such mechanism has a distortion below {bound!r}"
    yield decided(
        "bound",
        words,
        lambda: cost_bound(case.question, case.proof) >= Fraction(bound),
        about="mechanisms within the leakage budget",
        value=bound,
    )


SECTION = Section(
    kinds={
        "leakage-design": Kind(
            Record(
                {"tau": Whole(1, MOST_RECORDS), "d": Whole(1, MOST_CATEGORIES), "budget": BUDGET},
                {"secrets": List(Label(), 1)},
            ),
            _leakage_design,
        )
    },
    forms={
        "leakage-program": Form(
            statement=Record(
                {
                    "form": Word("leakage-program"),
                    "costs": List(List(COST, 1), 1),
                    "scale": Whole(1, 10**9),
                    "secrets": List(Label(), 1),
                    "budget": BUDGET,
                }
            ),
            question=leakage_question,
            answer=_answer,
            members=_members,
            value=_value,
            bound=_bound,
            sense=minimise,
            proof=Record({"privacy": Object()}, {"prior": List(Number(0), 1), "cuts": List(CUT)}),
        )
    },
)
