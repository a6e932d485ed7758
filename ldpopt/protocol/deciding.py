"""The curator's decision, and what may be said of it.

The marginals of round 1 prove something about *those* users' rows. Round 2 collects rows again, and
nobody can prove that they are the same rows. So the words say what each user who changed may cost, and
beside them stands what was measured on the rows that arrived.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ldpopt.core.errors import InvalidInputError
from ldpopt.protocol.session import Decision, ProtocolError


@dataclass(frozen=True)
class Policy:
    """How the curator decides: see :class:`ldpopt.problems.FeatureRelease`.

    Attributes:
        threshold: t: a user is exposed if less than this fraction of the users have the same row.
        budget: the fraction of users that may be exposed.
        weights: how useful every feature is; 1 each if left out.
        redact: also redact rare values (Bravo-Hermsdorff et al. 2022, Section 8.1): of every feature
            those that less than this fraction of the users have, and the next rarest until the redacted
            users are no rarer themselves. A feature then weighs in proportion to the users who keep
            their value.
        random: with ``redact``: instead of the next rarest values, any value is redacted at random by
            some of its owners, as many as make the redacted expected to be no rarer than that.

    >>> Policy(threshold=float("nan"), budget=0.1)
    Traceback (most recent call last):
    ...
    ldpopt.core.errors.InvalidInputError: threshold must lie in (0, 1], not nan
    """

    threshold: float
    budget: float
    weights: tuple[float, ...] | None = None
    redact: float | None = None
    random: bool = False

    def __post_init__(self) -> None:
        if not 0 < _number("threshold", self.threshold) <= 1:
            raise InvalidInputError(f"threshold must lie in (0, 1], not {self.threshold}")
        if not 0 <= _number("budget", self.budget) <= 1:
            raise InvalidInputError(f"budget must lie in [0, 1], not {self.budget}")
        for weight in self.weights or ():
            if not 0 <= _number("a weight", weight) < math.inf:
                raise InvalidInputError(f"a weight must be a number >= 0, not {weight}")
        if self.redact is not None and not 0 < _number("redact", self.redact) <= 1:
            raise InvalidInputError(f"redact must lie in (0, 1], not {self.redact}")
        if type(self.random) is not bool or (self.random and self.redact is None):
            raise InvalidInputError(
                f"random must be true or false, and needs 'redact', not {self.random!r}"
            )


def _number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InvalidInputError(f"{name} must be a number, not {value!r}")
    return value


def decide(columns: Sequence[Counter[str]], users: int, policy: Policy) -> Decision:
    """Choose the heaviest set of features that the marginals prove to expose few users.

    With :attr:`Policy.redact` the proof is about the marginals after rare values became one, and the
    decision says which values are kept.

    The users whose note could not be read share one value: the proof is about all who took part.

    Args:
        columns: for every feature, how often each readable value was sent.
        users: how many users took part.
        policy: threshold, budget, weights, and from which frequency on values are kept.

    Returns:
        The features to release, none if none is proven to be safe, and what is kept of each.

    Raises:
        ProtocolError: the decision does not pass the independent checker.
    """
    if policy.random:
        from ldpopt.protocol.random_redaction import decide_randomly

        return decide_randomly(columns, users, policy)
    # only the curator needs solvers: the other processes start faster without
    from ldpopt.engine.solving import solve
    from ldpopt.engine.verifying import verify
    from ldpopt.problems.feature_release import FeatureRelease

    marginals = []
    for column in columns:
        unreadable = users - column.total()
        counts = [*column.values(), unreadable] if unreadable else [*column.values()]
        marginals.append([n / users for n in counts])
    problem = FeatureRelease(
        policy.threshold,
        policy.budget,
        marginals=marginals,
        weights=policy.weights,
        redact=policy.redact,
    )
    result = solve(problem)
    if not verify(result):
        raise ProtocolError("the curator's decision does not pass the checker; nothing is released")
    features = tuple(result.answer["features"])
    kept = _kept(columns, [p.tolist() for p in problem.marginals], policy.redact)
    return Decision(features, tuple(kept[j] for j in features))


def _kept(
    columns: Sequence[Counter[str]], marginals: Sequence[Sequence[float]], redact: float | None
) -> list[tuple[str, ...] | None]:
    """List for every feature the values that are not redacted, by the numbers that were proven safe.

    They are sorted: the order in which they came in is not announced.
    """
    from ldpopt.core.exact import printed, rarest_values

    if redact is None:
        return [None] * len(columns)
    found: list[tuple[str, ...] | None] = []
    for column, marginal in zip(columns, marginals, strict=True):
        exact = [printed(p) for p in marginal]
        hidden = rarest_values({i: p / sum(exact) for i, p in enumerate(exact)}, printed(redact))
        common = sorted(value for i, value in enumerate(column) if i not in hidden)
        found.append(tuple(common) if hidden else None)
    return found


def proven(policy: Policy, users: int) -> str:
    """Say what the marginals of round 1, sent by so many users, prove about the rows of round 2.

    Let X users be exposed at most in the table of round 1, redacted as decided, and let m users send
    other values in round 2. Of the users who did not change, one that is exposed now but was not before
    has lost a companion among the m: that happens to at most m rows, each of at most k − 1 users. With
    the m themselves: at most X + m·k.
    """
    # numpy is imported only where these words are asked for
    from ldpopt.problems.feature_release import anonymity

    k = anonymity(policy.threshold, users)
    # the marginals are floats: those of the counts differ by rounding
    most = math.floor(users * (Fraction(str(policy.budget)) + Fraction(1, 10**9)))
    return (
        f"if the shuffler passes on what it gets, at most {most} + {k}·m of the rows are each sent by "
        f"fewer than {k} users, where m counts the users who did not send the same readable values in "
        f"both rounds{', redacted as the decision says' if policy.redact is not None else ''}"
        f"{', whatever is drawn' if policy.random else ''}"
    )


def measured(rows: Mapping[tuple[str, ...], int], policy: Policy, users: int) -> str:
    """Say how many of the rows that the analyst counted are rare.

    Args:
        rows: how often each row of released values occurs.
        policy: its threshold says which rows are rare.
        users: how many users took part in round 1.

    >>> measured({("a",): 8, ("b",): 2}, Policy(0.25, 0.1), 10)
    '2 of the 10 rows that the analyst counted are each sent by fewer than 3 users'
    """
    from ldpopt.problems.feature_release import anonymity

    k = anonymity(policy.threshold, users)
    rare = sum(n for n in rows.values() if n < k)
    total = sum(rows.values())
    return f"{rare} of the {total} rows that the analyst counted are each sent by fewer than {k} users"
