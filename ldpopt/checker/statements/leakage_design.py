"""Design under a bound on the leakage: the kind ``leakage-design``.

Statement. Rational costs c[θ, y] ≥ 0, a secret for every θ, a leakage b. Minimise the worst cost
max_θ Σ_y c[θ, y] W[θ, y] over the stochastic matrices W whose statistic maximal leakage is at most b:
for every selection of one θ_g per secret g, Σ_y max_g W[θ_g, y] ≤ e^b. With a level ε, also
W[θ, y] ≤ e^ε W[θ', y] for all θ, θ', y: ε-LDP of the whole data.

Private. The file's proof is a tree of prices for its own mechanism; by the lemmas of
``statistic_leakage.py`` no selection covers more than what it bounds, and the logarithm of that is
compared with b. Decided by :func:`leaks_within`, for exactly stochastic mechanisms only.

Value. Floats are dyadic, costs have one denominator: :func:`worst_cost` is an exact fraction.

Lemma (bound). Let λ ≥ 0 with Σ_θ λ_θ ≤ 1, and cuts k with weights μ_k ≥ 0: a selection θ_g and for every
output y one secret g_k(y). Then every W of the statement costs at least

    Σ_θ min_y (λ_θ c[θ, y] + Σ of μ_k over the cuts that take θ for y) − e^b Σ_k μ_k.

Proof. max_θ c·W ≥ Σ_θ λ_θ Σ_y c W, as costs are ≥ 0 and Σλ ≤ 1. A cut takes Σ_y W[θ_{g_k(y)}, y] ≤
Σ_y max_g W[θ_g, y] ≤ e^b, so adding μ_k (that sum − e^b) ≤ 0 keeps a lower bound. The result is linear
in W, and so least, row by row, where the row has a single 1. Decided by :func:`cost_bound`, with a
rational above e^b.

Lemma (ratios). With a level ε, let r[θ, y] be numbers with Σ_θ r⁻ ≥ e^ε Σ_θ r⁺ for every y, r⁺ and r⁻
their positive and negative parts. Then r may be added to what the minimum above is taken of. Proof. Let
w be the least W[θ, y] over θ. Then Σ_θ r W ≤ e^ε w Σ r⁺ − w Σ r⁻ ≤ 0, so adding Σ r W keeps a lower
bound. Decided with a rational above e^ε.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial
from itertools import combinations, pairwise
from typing import Any, NamedTuple

from ..kernel.arithmetic import exp_above
from ..kernel.budget import reserve, tick
from ..kernel.claims import Claim, decided
from ..kernel.fixed_point import dyadic
from ..kernel.labels import Labels
from ..kernel.optimality import NOISE
from ..kernel.proofs.private_rows import MECHANISM, Rows, is_stochastic, private, read_matrix, stochastic
from ..kernel.proofs.selection_trees import (
    MOST_PLACES,
    Tree,
    by_secret,
    leaks_within,
    selects,
)
from ..kernel.reading import UnreadableError
from ..kernel.schema import EPSILON, List, Number, Record, Whole
from ..kernel.section import Case, Decider, Kind, Section, minimise

MOST_HISTOGRAMS = 1000
"""The most histograms of a design; the mechanism and its costs have the square of it."""
TAU, D = Whole(1, MOST_HISTOGRAMS - 1), Whole(2, MOST_HISTOGRAMS)
LEAKAGE = Number(0, 30)
COST = Whole(0, 10**9)
"""Costs are not negative: the lemma above needs it."""
COSTS, SCALE = List(List(COST, 1), 1), Whole(1, 10**9)


class LeakageStatement(NamedTuple):
    """Minimise max_θ Σ_y c W, c = costs/scale, over mechanisms of at most that leakage."""

    costs: list[list[int]]
    scale: int
    groups: list[list[int]]
    leakage: float
    labels: list[Any] | None = None
    epsilon: float | None = None


# ---------------------------------------------------------------- the question


def count_histograms(tau: int, d: int) -> int:
    """Count C(τ+d−1, d−1), refused if there are more than :data:`MOST_HISTOGRAMS`."""
    count = math.comb(tau + d - 1, d - 1)
    if count > MOST_HISTOGRAMS:
        raise UnreadableError(
            f"{tau} records over {d} categories have more than {MOST_HISTOGRAMS} histograms: "
            "too many to list"
        )
    return count


def _leakage_design(params: dict[str, Any]) -> dict[str, Any]:
    stated = {"form": "leakage-program", **(_own_costs if "costs" in params else _of_histograms)(params)}
    return stated | {name: params[name] for name in ("leakage", "epsilon") if name in params}


def _of_histograms(params: dict[str, Any]) -> dict[str, Any]:
    """State the distances of histograms, whose secret is the first count unless another is given."""
    if "tau" not in params or "d" not in params or "scale" in params:
        raise UnreadableError("leakage-design needs tau and d, or costs and secrets with their scale")
    tau, d = params["tau"], params["d"]
    count_histograms(tau, d)
    space = list(_histograms(tau, d))
    return {
        "costs": _distances(space, tau),
        "scale": 2 * tau,
        "secrets": params.get("secrets", [histogram[0] for histogram in space]),
        "labels": [list(histogram) for histogram in space],
    }


def _own_costs(params: dict[str, Any]) -> dict[str, Any]:
    """State costs of one's own, in whole multiples of 1/scale."""
    if "tau" in params or "d" in params or "secrets" not in params:
        raise UnreadableError("leakage-design with costs needs secrets, and neither tau nor d")
    entries = len(params["costs"]) * max(map(len, params["costs"]))
    if entries > MOST_HISTOGRAMS**2:
        raise UnreadableError(f"costs must have at most {MOST_HISTOGRAMS**2} entries, not {entries}")
    return {
        "scale": 1,
        **{name: params[name] for name in ("costs", "scale", "secrets") if name in params},
    }


def _histograms(tau: int, d: int) -> Iterator[tuple[int, ...]]:
    """List all counts of tau records over d categories, in lexicographic order.

    d − 1 bars among tau records part them into d counts; the counts are in the order of the bars.
    """
    for bars in combinations(range(tau + d - 1), d - 1):
        tick()
        ends = (-1, *bars, tau + d - 1)
        yield tuple(b - a - 1 for a, b in pairwise(ends))


def _distances(space: list[tuple[int, ...]], tau: int) -> list[list[int]]:
    """Compute Σ|p_i − q_i| = 2 τ − 2 Σ min(p_i, q_i), over the few i with p_i > 0."""
    found = []
    for histogram in space:
        tick()
        used = [(i, p) for i, p in enumerate(histogram) if p]
        found.append([2 * (tau - sum(min(p, other[i]) for i, p in used)) for other in space])
    return found


def leakage_question(plain: dict[str, Any]) -> LeakageStatement:
    """Build the question of a statement that its schema has read."""
    costs, secrets, labels = plain["costs"], plain["secrets"], plain.get("labels")
    if any(len(row) != len(costs[0]) for row in costs):
        raise UnreadableError("the rows of costs must have the same length")
    if len(secrets) != len(costs):
        raise UnreadableError(
            f"secrets must be {len(costs)} labels, one per row of costs, not {len(secrets)}"
        )
    if labels is not None and not len(set(labels)) == len(labels) == len(costs) == len(costs[0]):
        raise UnreadableError("labels must be different, one per row and one per column of costs")
    groups, level = by_secret(secrets), plain.get("epsilon")
    return LeakageStatement(costs, plain["scale"], groups, plain["leakage"], labels, level)


# ---------------------------------------------------------------- what decides


def worst_cost(matrix: Sequence[Sequence[float]], question: LeakageStatement) -> Fraction:
    """Add up max_θ Σ_y c[θ,y] W[θ,y], exactly."""
    return max(
        _row_cost(costs, row, question.scale) for costs, row in zip(question.costs, matrix, strict=True)
    )


def _row_cost(costs: Sequence[int], row: Sequence[float], scale: int) -> Fraction:
    tick()
    parts, bits = dyadic(row)
    return Fraction(sum(map(int.__mul__, costs, parts)), scale << bits)


def cost_bound(question: LeakageStatement, proof: dict[str, Any]) -> Fraction:
    """Bound what a permitted mechanism costs from below by a prior λ and weights μ of cuts (the lemma).

    All prices are whole multiples of 1 / (scale · 2^bits).
    """
    count, scale = len(question.costs), question.scale
    ratios = _read_ratios(question, proof.get("ratios", []))
    weighed = [*proof["prior"], *(cut["weight"] for cut in proof["cuts"])]
    numbers, bits = dyadic([*weighed, *(r for row in ratios for r in row)])
    prior, weights = numbers[: len(proof["prior"])], numbers[len(proof["prior"]) : len(weighed)]
    if len(prior) != count or sum(prior) > 1 << bits:
        given = f"{len(prior)} that sum to {sum(prior) / (1 << bits)!r}"
        raise UnreadableError(f"the prior must have {count} entries that sum to at most 1, not {given}")
    reserve(count * len(question.costs[0]), "the prices of the bound")
    prices = [[p * c for c in row] for p, row in zip(prior, question.costs, strict=True)]
    for cut, weight in zip(proof["cuts"], weights, strict=True):
        tick()
        chosen, takers = cut["selection"], cut["outputs"]
        if not selects(chosen, question.groups) or len(takers) != len(prices[0]):
            raise UnreadableError("a cut must select one row per secret, and name a secret per output")
        if max(takers) >= len(question.groups):
            raise UnreadableError(
                f"a cut must name secrets below {len(question.groups)}, not the secret {max(takers)}"
            )
        for y, g in enumerate(takers):
            prices[chosen[g]][y] += weight * scale
    if ratios:
        assert question.epsilon is not None
        _add_ratios(prices, numbers[len(weighed) :], scale, exp_above(question.epsilon))
    least = Fraction(sum(map(min, prices)), scale << bits)
    return least - exp_above(question.leakage) * Fraction(sum(weights), 1 << bits)


def _read_ratios(question: LeakageStatement, ratios: list[list[float]]) -> list[list[float]]:
    if not ratios:
        return ratios
    if question.epsilon is None:
        raise UnreadableError("a proof has ratios only if the question has a level")
    outputs = len(question.costs[0])
    if len(ratios) != len(question.costs) or any(len(row) != outputs for row in ratios):
        raise UnreadableError(f"ratios must be {len(question.costs)} rows of {outputs} numbers")
    reserve(len(ratios) * outputs, "the ratios of the bound")
    return ratios


def _add_ratios(prices: list[list[int]], ratios: list[int], scale: int, limit: Fraction) -> None:
    """Add r to the prices, if Σ r⁻ ≥ e^ε Σ r⁺ in every column (the second lemma)."""
    outputs = len(prices[0])
    for y in range(outputs):
        tick()
        column = ratios[y::outputs]
        if -sum(r for r in column if r < 0) < limit * sum(r for r in column if r > 0):
            raise UnreadableError(f"the ratios of output {y} are larger than the level allows")
    for i, row in enumerate(prices):
        for y in range(outputs):
            row[y] += ratios[i * outputs + y] * scale


# ---------------------------------------------------------------- the claims

PLACE = Whole(0, MOST_PLACES - 1)
CUT = Record({"weight": Number(0), "selection": List(PLACE, 1), "outputs": List(PLACE, 1)})
RATIOS = List(List(Number(), 1))
PROOF = Record(
    {"privacy": Tree()}, {"prior": List(Number(0, 1), 1), "cuts": List(CUT), "ratios": RATIOS}
)


class Answer(NamedTuple):
    """The mechanism, and what it calls its inputs and outputs, if anything."""

    matrix: Rows
    named: list[list[Any]]


def _answer(document: dict[str, Any], question: LeakageStatement) -> Answer:
    matrix = read_matrix(document, len(question.costs))
    outputs = len(question.costs[0])
    if len(matrix[0]) != outputs:
        raise UnreadableError(
            f"the mechanism must have {outputs} outputs, one per column of costs, not {len(matrix[0])}"
        )
    mechanism = MECHANISM.read(document["mechanism"], "mechanism")
    names = [mechanism.get("inputs"), mechanism.get("outputs")]
    return Answer(matrix, [found for found in names if found is not None])


def _members(case: Case) -> Iterator[Claim]:
    question, answer = case.question, case.answer
    if case.proof is None:
        raise UnreadableError("certificate.proof needs the key 'privacy'")
    if question.labels is not None and answer.named:
        words = "its inputs and outputs are named as the question orders them"
        asked = repr(question.labels)
        yield decided("member", words, lambda: all(repr(names) == asked for names in answer.named))
    yield stochastic(answer.matrix)
    words = f"it leaks at most {question.leakage!r} nats about the secret"

    def test() -> bool | None:
        return is_stochastic(answer.matrix) and leaks_within(
            answer.matrix, question.groups, question.leakage, case.proof["privacy"]
        )

    yield decided("privacy", words, test, value=question.leakage)
    if question.epsilon is not None:
        yield private(answer.matrix, range(len(answer.matrix)), question.epsilon)


def _value(case: Case) -> Iterator[Claim]:
    words = f"its worst expected distortion is at most {case.value!r}"
    worst = partial(worst_cost, case.answer.matrix, case.question)
    yield case.claim_value(words, lambda: worst() <= Fraction(case.value))


def _bound(case: Case) -> Iterator[Claim]:
    if "prior" not in case.proof or "cuts" not in case.proof:
        raise UnreadableError("certificate.proof needs the keys 'prior' and 'cuts'")
    level = "" if case.question.epsilon is None else " and of this level"
    yield case.claim_bound(
        f"no such mechanism has a worst expected distortion below {case.bound!r}",
        lambda: cost_bound(case.question, case.proof) >= Fraction(case.bound),
        f"mechanisms of at most this leakage{level}",
    )


SECTION = Section(
    kinds={
        "leakage-design": Kind(
            Record(
                {"leakage": LEAKAGE},
                {
                    "tau": TAU,
                    "d": D,
                    "secrets": Labels(),
                    "costs": COSTS,
                    "scale": SCALE,
                    "epsilon": EPSILON,
                },
            ),
            _leakage_design,
        )
    },
    forms={
        "leakage-program": Decider(
            statement=Record(
                {"costs": COSTS, "scale": SCALE, "secrets": Labels(), "leakage": LEAKAGE},
                {"labels": Labels(), "epsilon": EPSILON},
            ),
            question=leakage_question,
            answer=_answer,
            members=_members,
            value=_value,
            bound=_bound,
            sense=minimise,
            proof=PROOF,
            noise=NOISE,  # costs are multiples of 1/scale, and the scale is at most 10⁹
        )
    },
)
