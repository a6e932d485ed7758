"""Which features to release: the kind ``feature-release``.

Statement. A user is *exposed* if less than a fraction t of the users share its released values. A set J
of features is *safe* if risk(J) ≤ budget and a *conflict* if risk(J) > budget; the empty set has risk 0.
Every number is read as printed (:mod:`printed_numbers`). Risk is, by what is given:

* ``marginals``: the least bound, at most 1, that theorem-3-tight or theorem-2 proves with any thresholds
  (:mod:`exposure_rules`) for all joints with these marginals, each divided by its exact sum;
* ``table``: the fraction of its users that are exposed;
* ``table`` and ``users``: the upper bound of :mod:`future_users` on the *expected* fraction of so many
  future users that are exposed.

With ``redact`` r, rare values are merged first. In each feature that has a value of probability below
r, the rarest values (of equally rare ones those listed, or numbered, first) become one value, different
from all others, until all values below r are among them and their probabilities sum to at least r, or
until all values are. The feature's weight is then multiplied by the probability of the other values.

**Lemma (monotone).** J ⊂ K has risk(J) ≤ risk(K). *Marginals*: take thresholds for K, and those of them
that belong to J. In theorem-3-tight the sum falls and so does the product, unless some N_j is 0, but
then Q_j = 1 and the bound is the trivial one. In theorem-2 the product of thresholds rises, as they are
at most 1, and the sum falls, also if the pivot is left out and another feature takes its place. *Table*:
users who share the values of K share those of J. *Users*: the lemma of :mod:`future_users`.

So a set that contains a conflict is a conflict, as :mod:`conflicts` asks.

Which function decides what: risk ≤ x :func:`risk_within`, for answers and conflicts alike; the bound
:mod:`conflicts`, or for marginals a tree of :mod:`exposure_prices`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import islice
from typing import Any, NamedTuple

from ..kernel.arithmetic import enclose
from ..kernel.budget import reserve, tick
from ..kernel.claims import Claim, decided
from ..kernel.printed_numbers import Printed, printed
from ..kernel.proofs.conflicts import all_heavier_conflict, priced_weight
from ..kernel.proofs.exposure_prices import SafeWeights
from ..kernel.proofs.exposure_rules import (
    MARGINALS,
    MOST_FEATURES,
    THRESHOLD,
    provable,
    proven,
    rule_schema,
)
from ..kernel.proofs.future_users import Sample, expected_exposure, sample
from ..kernel.reading import UnreadableError
from ..kernel.schema import List, Nullable, Number, Record, Whole
from ..kernel.section import Case, Kind, maximise

SAFETY_RULES = ("theorem-3-tight", "theorem-2")
MOST_USERS = 2_000_000
MOST_CONFLICTS = 100_000
BUDGET = Printed(Number(0, 1))
NODE = Record({}, {"feature": Whole(0, MOST_FEATURES), "exposure": Number(0), "factors": Number(0)})
OPTIONS = {
    "marginals": MARGINALS,
    "table": List(List(Whole(0, 10**9), 1, MOST_FEATURES), 1),
    "weights": List(Printed(Number(0)), 1, MOST_FEATURES),
    "redact": Printed(Number(above=0)),
    "users": Whole(1, MOST_USERS),
    "delta": Printed(Number(above=0, below=1)),
}
REDACTED = -1
"""What redacted values become; the values of a table are at least 0."""
Columns = list[Sequence[int]]


class Release(NamedTuple):
    """Which features may be released? One of marginals and columns (values by user) is None."""

    threshold: Fraction
    budget: Fraction
    weights: list[Fraction]
    marginals: list[list[Fraction]] | None
    columns: Columns | None
    users: int | None
    delta: Fraction
    redact: Fraction | None = None

    @property
    def redacted(self) -> str:
        """What happened to the features first, in words; empty if nothing."""
        return "" if self.redact is None else f", rare values redacted at {float(self.redact)!r},"


def _statement(params: dict[str, Any]) -> dict[str, Any]:
    names = ("marginals", "table", "weights", "redact", "users")
    given = {name: params.get(name) for name in names}
    fixed = {name: params[name] for name in ("threshold", "budget")}
    return {"form": "feature-release", **fixed, **given, "delta": params.get("delta", 0.05)}


def question(plain: dict[str, Any]) -> Release:
    marginals, table, weights = plain["marginals"], plain["table"], plain["weights"]
    if (marginals is None) == (table is None):
        raise UnreadableError("feature-release needs either 'marginals' or 'table', not both")
    if table is not None and len({len(row) for row in table}) != 1:
        raise UnreadableError("the rows of table must have the same length")
    columns: Columns | None = None if table is None else list(zip(*table, strict=True))
    features = len(marginals if columns is None else columns)
    if weights is None or len(weights) != features:
        given = "null" if weights is None else len(weights)
        raise UnreadableError(f"weights must be {features} numbers >= 0, one per feature, not {given}")
    if plain["users"] is not None and (table is None or plain["redact"] is not None):
        raise UnreadableError("'users' needs a 'table' and cannot be given together with 'redact'")
    if plain["delta"] is None:
        raise UnreadableError("delta must be a number between 0 and 1, not null")
    if plain["redact"] is not None:
        rows: Any = zip(weights, marginals or columns or [], strict=True)
        found = [_redacted(weight, plain["redact"], row, table is not None) for weight, row in rows]
        weights = [weight for weight, _ in found]
        if table is None:
            marginals = [row for _, row in found]
        else:
            columns = [row for _, row in found]
    fixed = plain["threshold"], plain["budget"]
    counted = plain["users"], plain["delta"], plain["redact"]
    return Release(*fixed, weights, marginals, columns, *counted)


def _redacted(
    weight: Fraction, at: Fraction, row: Sequence[Any], is_column: bool
) -> tuple[Fraction, list[Any]]:
    """Merge the rare values of a feature; return its weight, and its marginal or column of values."""
    if is_column:
        shares = {v: Fraction(n, len(row)) for v, n in Counter(row).items()}
    else:
        shares = dict(enumerate(row))
    hidden = rarest(shares, at)
    mass = sum((shares[v] for v in hidden), Fraction(0))
    if is_column:
        return weight * (1 - mass), [REDACTED if v in hidden else v for v in row]
    kept = [p for v, p in shares.items() if v not in hidden]
    return weight * (1 - mass), kept + [mass] * bool(hidden)


def rarest(shares: dict[int, Fraction], at: Fraction) -> set[int]:
    """List all values below ``at`` and, if there are any, the next rarest until their sum reaches it."""
    hidden: set[int] = set()
    mass = Fraction(0)
    order = sorted(shares, key=lambda v: (shares[v], v))
    for v in order if shares[order[0]] < at else []:
        if shares[v] >= at and mass >= at:
            break
        hidden.add(v)
        mass += shares[v]
    return hidden


# ---------------------------------------------------------------- risk


def risk_within(question: Release, features: Sequence[int], most: Fraction) -> bool | None:
    """Return whether the risk of a set of features is at most ``most``.

    None if that is too close to tell.

    Args:
        question: the marginals or the table, and the threshold.
        features: the numbers of the features that are released.
        most: the risk that is allowed.
    """
    if not features or most >= 1:
        return True
    if question.marginals is not None:
        chosen = [question.marginals[j] for j in features]
        return any(provable(chosen, question.threshold, rule, most, less=False) for rule in SAFETY_RULES)
    groups = group_sizes(question, features)
    if question.users is None:
        return table_exposure(question, groups) <= most
    values, known = sample_of(question)
    possible = math.prod(values[j] for j in features)
    return expected_exposure(known, groups, possible).at_most(enclose(most))


def group_sizes(question: Release, features: Sequence[int]) -> list[int]:
    """Count how many users share each row of the table's features."""
    assert question.columns is not None
    rows = zip(*(question.columns[j] for j in features), strict=True)
    counts: Counter[tuple[int, ...]] = Counter()
    while some := list(islice(rows, 256)):  # a file can choose rows of one hash: counting is slow
        tick()
        counts.update(some)
    return list(counts.values())


def table_exposure(question: Release, groups: list[int]) -> Fraction:
    """Compute the fraction of users in groups that are less than t of all users.

    A whole number is less than x iff it is less than ⌈x⌉.
    """
    users = sum(groups)
    crowd = math.ceil(question.threshold * users)
    return Fraction(sum(n for n in groups if n < crowd), users)


def sample_of(question: Release) -> tuple[list[int], Sample]:
    """Count the values of every feature, and describe the table as a sample."""
    assert question.columns is not None
    assert question.users is not None
    values = [len(set(column)) for column in question.columns]
    level = math.ceil(question.threshold * question.users)
    size = len(question.columns[0])
    return values, sample(size, values, question.delta, question.users, level)


# ---------------------------------------------------------------- the claims


def _features(given: Any, count: int, where: str) -> list[int]:
    found = List(Whole(0, count - 1), 0, count).read(given, where)
    if len(set(found)) != len(found):
        raise UnreadableError(f"{where} must be different features")
    return sorted(found)


def answer(document: dict[str, Any], question: Release) -> dict[str, Any]:
    """Read the features; with marginals the rule, its thresholds and its pivot may stand beside them."""
    plain = document.get("answer")
    features = plain.get("features") if isinstance(plain, dict) else None
    count = len(question.weights)
    found = _features(features, count, "answer.features")
    proof = rule_schema(len(found), SAFETY_RULES).required if question.marginals is not None else {}
    options = {"exposure": Printed(Number(0, 1)), **proof}
    read = Record({"features": List(Whole(0, count - 1))}, options).read(plain, "answer")
    if proof and read.keys() & proof.keys() not in (set(), proof.keys()):
        raise UnreadableError(f"answer must have all of {', '.join(proof)}, or none of them")
    return {**read, "features": found}


def members(case: Case) -> Iterator[Claim]:
    question, answer = case.question, case.answer
    budget = question.budget
    by = f", by {answer['rule']} with the thresholds of the answer" if "rule" in answer else ""
    yield decided(
        "privacy",
        _words(question, budget) + by,
        lambda: _answer_within(question, answer, budget),
        about=_whom(question),
        value=float(budget),
    )
    if "exposure" in answer:
        exposure = answer["exposure"]
        words = _words(question, exposure) + by
        yield decided("privacy", words, lambda: _answer_within(question, answer, exposure))


def _answer_within(question: Release, answer: dict[str, Any], most: Fraction) -> bool | None:
    """Return whether the answer's risk is at most so much: by the thresholds it names, or by any."""
    features = answer["features"]
    if "thresholds" not in answer or not features or question.marginals is None:
        return risk_within(question, features, most)
    chosen = [question.marginals[j] for j in features]
    rule, thresholds, pivot = answer["rule"], answer["thresholds"], answer["pivot"]
    return proven(chosen, question.threshold, rule, thresholds, pivot) <= most


def _whom(question: Release) -> str:
    if question.marginals is not None:
        return "joints with these marginals"
    return "the users of the table" if question.users is None else f"{question.users} future users"


def _words(question: Release, most: Fraction) -> str:
    """Say what a set of features with a risk of at most ``most`` promises."""
    share, t = repr(float(most)), repr(float(question.threshold))
    released = f"the released features{question.redacted}"
    if question.marginals is not None:
        users = f"{share} of the users at {t}"
        return f"{released} expose at most {users}, whatever the joint of these marginals"
    if question.users is None:
        return f"{released} expose at most {share} of the users of the table at {t}"
    return (
        f"with confidence 1 - {float(question.delta)!r} over the sample, if its users and the future "
        "ones are drawn independently from one distribution and the table has all possible values, the "
        f"expected fraction of {question.users} future users that {released} expose is at most {share} "
        f"at {t}"
    )


def value(case: Case) -> Iterator[Claim]:
    weights = case.question.weights
    words = f"the released features{case.question.redacted} weigh at least {case.value!r}"

    def test() -> bool:
        return sum((weights[j] for j in case.answer["features"]), Fraction(0)) >= printed(case.value)

    yield case.claim_value(words, test)


def bound(case: Case) -> Iterator[Claim]:
    question, bound = case.question, case.bound
    if question.marginals is not None:
        about = f"sets of features that {' or '.join(SAFETY_RULES)} proves safe"
    elif question.users is None:
        about = "safe sets of features"
    else:
        about = "sets of features whose bound on the expected exposure is within the budget"
    words = f"none of the {about}{question.redacted} weighs more than {bound!r}"
    if "tree" in case.proof and question.marginals is not None:
        asked = question.marginals, question.weights, question.threshold, question.budget
        tree = case.proof["tree"]
        yield case.claim_bound(
            words, lambda: SafeWeights(*asked).none_heavier(tree, printed(bound)), about
        )
        return
    where = "certificate.proof.conflicts"
    if "conflicts" not in case.proof:
        raise UnreadableError("certificate.proof needs the key 'conflicts'")
    listed = enumerate(case.proof["conflicts"])
    conflicts = [_features(given, len(question.weights), f"{where}[{i}]") for i, given in listed]
    reserve(len(conflicts) * len(question.weights), "the conflicts")
    prices = case.proof.get("prices")
    if prices is not None and len(prices) != len(conflicts):
        raise UnreadableError(
            f"certificate.proof.prices must have {len(conflicts)} entries, one per conflict, "
            f"not {len(prices)}"
        )

    def test() -> bool | None:
        if prices is not None:
            most = priced_weight(question.weights, conflicts, prices)
            covered = most is not None and most <= printed(bound)
        else:
            covered = all_heavier_conflict(question.weights, conflicts, printed(bound))
        if not covered:
            return False
        safe = [risk_within(question, conflict, question.budget) for conflict in conflicts]
        return None if None in safe and True not in safe else True not in safe

    yield case.claim_bound(words, test, about)


kinds = {
    "feature-release": Kind(Record({"threshold": THRESHOLD, "budget": BUDGET}, OPTIONS), _statement)
}
statement = Record(
    {
        "threshold": THRESHOLD,
        "budget": BUDGET,
        **{name: Nullable(schema) for name, schema in OPTIONS.items()},
    }
)
sense = maximise
proof = Record(
    {},
    {
        "conflicts": List(List(Whole(0, MOST_FEATURES)), 0, MOST_CONFLICTS),
        "prices": List(Number(0), 0, MOST_CONFLICTS),
        "tree": List(NODE, 1, MOST_CONFLICTS),
    },
)
