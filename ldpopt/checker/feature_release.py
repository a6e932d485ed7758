"""Which features to release: the kind ``feature-release``."""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from .claims import Claim, decided
from .composition import (
    COMPOSITION_TOLERANCE,
    MARGINALS,
    NUMERIC,
    THRESHOLD,
    Marginals,
    no_thresholds_below,
    rule_proves,
)
from .decimals import MAX_NODES
from .form import Case, Form, Kind, Section, maximise
from .reading import UnreadableError
from .schema import List, Nullable, Number, Object, Record, Whole, Word

MOST_USERS = 2_000_000
CODE = Whole(-(10**9), 10**9)
OPTIONS = {
    "marginals": MARGINALS,
    "table": List(List(CODE, 1), 1),
    "weights": List(Number(0), 1),
    "redact": Number(above=0),
    "users": Whole(1, MOST_USERS),
    "delta": Number(above=0, below=1),
}


def _statement(params: dict[str, Any]) -> dict[str, Any]:
    names = ("marginals", "table", "weights", "redact", "users")
    given = {name: params.get(name) for name in names}
    fixed = {name: params[name] for name in ("threshold", "budget")}
    return {"form": "feature-release", **fixed, **given, "delta": params.get("delta", 0.05)}


def _question(plain: dict[str, Any]) -> dict[str, Any]:
    """The statement, with rare values merged where that is asked for."""
    if (plain["marginals"] is None) == (plain["table"] is None):
        raise UnreadableError("feature-release needs either 'marginals' or 'table', not both")
    if plain["table"] is not None and len({len(row) for row in plain["table"]}) != 1:
        raise UnreadableError("the rows of table must have the same length")
    features = len(plain["marginals"] if plain["table"] is None else plain["table"][0])
    if plain["weights"] is None or len(plain["weights"]) != features:
        raise UnreadableError(f"weights must be {features} numbers >= 0, one per feature")
    if plain["users"] is not None and (plain["table"] is None or plain["redact"] is not None):
        raise UnreadableError("'users' needs a 'table', and no 'redact'")
    return _redacted(plain, plain["redact"])


def _redacted(plain: dict[str, Any], at: float | None) -> dict[str, Any]:
    """The question about features whose rare values are merged into one, "redacted"."""
    if at is None:
        return plain
    table, weights, marginals = plain["table"], [], []
    columns = list(zip(*table, strict=True)) if table is not None else plain["marginals"]
    for j, column in enumerate(columns):
        counts = Counter(column) if table is not None else dict(enumerate(column))
        total = sum(counts.values())
        shares = {v: n / total if table is not None else n for v, n in counts.items()}
        hidden = _rarest(shares, at)
        mass = math.fsum(shares[v] for v in hidden)
        weights.append(plain["weights"][j] * (1 - mass))
        marginals.append([p for v, p in shares.items() if v not in hidden] + [mass] * bool(hidden))
        if table is not None:
            columns[j] = [-1 if v in hidden else v for v in column]
    rows = None if table is None else [list(row) for row in zip(*columns, strict=True)]
    return {**plain, "marginals": marginals, "table": rows, "weights": weights}


def _rarest(shares: dict[Any, float], at: float) -> set[Any]:
    """All values below ``at`` and, if there are any, the next rarest until they reach it together."""
    hidden: set[Any] = set()
    mass = 0.0
    order = sorted(shares, key=lambda v: (shares[v], v))
    for v in order if order and shares[order[0]] < at else []:
        if shares[v] >= at and mass >= at:
            break
        hidden.add(v)
        mass += shares[v]
    return hidden


def _answer(document: dict[str, Any], plain: dict[str, Any]) -> dict[str, Any]:
    answer = Object().read(document.get("answer"), "answer")
    if document["status"] == "gap":
        raise UnreadableError("a result of status 'gap' makes no claim about features")
    return {
        **answer,
        "features": _features(answer.get("features"), len(plain["weights"]), "answer.features"),
    }


def _members(case: Case) -> Iterator[Claim]:
    plain, chosen = case.question, case.answer["features"]
    budget = plain["budget"]
    words = f"at most {budget!r} of the {_whom(plain)} are exposed at {plain['threshold']!r}"

    def test() -> bool:
        return (
            not chosen
            or _released_exposure(plain, chosen, case.answer) <= budget + COMPOSITION_TOLERANCE
        )

    yield decided("privacy", words, test, strength=NUMERIC, value=budget)


def _value(case: Case) -> Iterator[Claim]:
    weights = case.question["weights"]
    words = f"the released features weigh {case.value!r}"

    def test() -> bool:
        weight = math.fsum(weights[j] for j in case.answer["features"])
        return abs(weight - case.value) <= COMPOSITION_TOLERANCE

    yield decided("value", words, test, strength=NUMERIC, value=case.value)


def _bound(case: Case) -> Iterator[Claim]:
    plain, bound = case.question, case.bound
    assert bound is not None
    count = len(plain["weights"])
    if "conflicts" not in case.proof:
        raise UnreadableError("certificate.proof needs the key 'conflicts'")
    listed = List(List(Whole(0, count - 1))).read(case.proof["conflicts"], "certificate.proof.conflicts")
    conflicts = [sorted(set(conflict)) for conflict in listed]
    words = f"no safe set of features weighs more than {bound!r}"

    def test() -> bool:
        real = all(_too_exposed(plain, conflict, plain["budget"]) for conflict in conflicts)
        return real and _every_heavier_set_has_a_conflict(plain["weights"], conflicts, bound)

    yield decided("bound", words, test, strength=NUMERIC, about="safe sets of features", value=bound)


def _features(given: Any, count: int, where: str) -> list[int]:
    return sorted(set(List(Whole(0, count - 1)).read(given, where)))


def _subquestion(plain: dict[str, Any], features: list[int]) -> Marginals:
    chosen = [[x for x in plain["marginals"][j] if x] for j in features]
    return Marginals(chosen, plain["threshold"], "theorem-3")


def _released_exposure(plain: dict[str, Any], features: list[int], answer: dict[str, Any]) -> float:
    if plain["table"] is not None:
        return _table_exposure(plain, features)
    return min(1.0, rule_proves(_subquestion(plain, features), str(answer["rule"]), answer))


def _whom(plain: dict[str, Any]) -> str:
    if plain["users"] is None:
        return "users"
    return f"{plain['users']} future users (with confidence {float(1 - Fraction(plain['delta']))!r})"


def _table_exposure(plain: dict[str, Any], features: list[int]) -> float:
    if plain["users"] is not None:
        return _future_exposure(plain, features)
    rows = Counter(tuple(row[j] for j in features) for row in plain["table"])
    users = sum(rows.values())
    return sum(n for n in rows.values() if n / users < plain["threshold"]) / users


def _future_exposure(plain: dict[str, Any], features: list[int]) -> float:
    """An upper bound on the statistical exposure: Σ max x F(k−2; n−1, x) over |x − p̂| ≤ γ.

    With probability 1 − δ no frequency of any value of any set of features is off by more than γ
    (Hoeffding); every combination of values that occur may occur.
    """
    n, delta = plain["users"], plain["delta"]
    near = math.ceil(plain["threshold"] * n)
    k = next(k for k in range(max(near - 1, 0), near + 2) if k / n >= plain["threshold"])
    rows = Counter(tuple(row[j] for j in features) for row in plain["table"])
    sizes = [len(set(column)) for column in zip(*plain["table"], strict=True)]
    cells = math.prod(size + 1 for size in sizes) - 1
    gamma = min(1.0, math.sqrt(math.log(2 * cells / delta) / (2 * len(plain["table"]))))
    peak = _exposure_peak(n, k)
    unseen = math.prod(sizes[j] for j in features) - len(rows)
    total = unseen * _exposure_term(n, k, min(peak, gamma))
    for count, times in Counter(rows.values()).items():
        p = count / len(plain["table"])
        total += times * _exposure_term(n, k, min(max(peak, p - gamma), p + gamma, 1.0))
    return min(1.0, total)


def _binomial_masses(n: int, most: int, x: float) -> list[float]:
    """P(0), …, P(most) of n trials that succeed with probability 0 < x < 1."""
    whole, yes, no = math.lgamma(n + 1), math.log(x), math.log1p(-x)
    logs = (
        whole - math.lgamma(j + 1) - math.lgamma(n - j + 1) + j * yes + (n - j) * no
        for j in range(most + 1)
    )
    return [math.exp(log) for log in logs]


def _exposure_term(n: int, k: int, x: float) -> float:
    """x F(k−2; n−1, x): how much a value of probability x adds to the statistical exposure."""
    if k <= 1:
        return 0.0
    if k > n or x in (0.0, 1.0):
        return x if k > n else 0.0
    return x * math.fsum(_binomial_masses(n - 1, k - 2, x))


@functools.cache
def _exposure_peak(n: int, k: int) -> float:
    """Where this is largest: F(k−2; n−1, x) = (k−1) b(k−1; n−1, x), by bisection."""
    if not 1 < k <= n:
        return 1.0
    low, high = 0.0, (k - 1) / (n - 1)
    for _ in range(60):
        middle = (low + high) / 2
        *fewer, last = _binomial_masses(n - 1, k - 1, middle)
        low, high = (middle, high) if math.fsum(fewer) > (k - 1) * last else (low, middle)
    return low


def _too_exposed(plain: dict[str, Any], features: list[int], budget: float) -> bool:
    """The features cannot be released: too exposed, or no rule proves that they are not."""
    if plain["table"] is not None:
        return _table_exposure(plain, features) > budget
    question = _subquestion(plain, features)
    return all(no_thresholds_below(question, rule, budget) for rule in RELEASE_RULES)


RELEASE_RULES = ("theorem-2", "theorem-3", "theorem-3-tight")


def _every_heavier_set_has_a_conflict(
    weights: list[float], conflicts: list[list[int]], bound: float
) -> bool:
    """A larger set is never less exposed, so a set that contains a conflict is not safe either."""
    order = sorted(range(len(weights)), key=lambda j: -weights[j])
    pending: list[tuple[frozenset[int], int]] = [(frozenset(), 0)]
    for _ in range(MAX_NODES):
        if not pending:
            return True
        chosen, depth = pending.pop()
        most = math.fsum(weights[j] for j in [*chosen, *order[depth:]])
        if most <= bound + COMPOSITION_TOLERANCE or any(chosen.issuperset(c) for c in conflicts):
            continue
        if depth == len(order):
            return False
        pending += [(chosen, depth + 1), (chosen | {order[depth]}, depth + 1)]
    return False


SECTION = Section(
    kinds={
        "feature-release": Kind(
            Record({"threshold": THRESHOLD, "budget": Number(0, 1)}, OPTIONS), _statement
        )
    },
    forms={
        "feature-release": Form(
            statement=Record(
                {
                    "form": Word("feature-release"),
                    "threshold": THRESHOLD,
                    "budget": Number(0, 1),
                    **{name: Nullable(schema) for name, schema in OPTIONS.items()},
                }
            ),
            question=_question,
            answer=_answer,
            members=_members,
            value=_value,
            bound=_bound,
            sense=maximise,
            proof=Record({}, {"conflicts": List(List(Whole(0, 10**6)))}),
        )
    },
)
