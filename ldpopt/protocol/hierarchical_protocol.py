"""The hierarchical protocol: ask about pairs, triples, … of features where that is proven to be safe.

Bravo-Hermsdorff et al. 2022, Section 8.2. Every level is a session of its own: its features are sets of
features, and the value of a set is the list of the values of its features. Levels are counted only, by
round 1. The last session has the blocks that prove the release as its features: its curator proves it
once more from the counts of that session, and its analyst gets the rows.

Whether a set may be asked about is decided in rationals, from the counts of the levels before: a set
that was asked about is one feature with known counts, so the rules of
:mod:`ldpopt.measures.safe_features` apply to every partition into such blocks.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import Any

from ldpopt.core.errors import InvalidInputError
from ldpopt.protocol.deciding import Policy
from ldpopt.protocol.messages import value_text
from ldpopt.protocol.run import Outcome, run_protocol
from ldpopt.protocol.session import LONGEST

Subset = tuple[int, ...]
"""The numbers of some features, in order."""
Counts = dict[tuple[str, ...], int]
"""How often each list of values occurs; a text that cannot be read as a list counts as one value."""


@dataclass(frozen=True)
class Hierarchy:
    """What the sessions of a hierarchical run have shown.

    Attributes:
        asked: for every set of features that was asked about, how often each list of values occurs.
        refused: the sets that were not proven to be safe to ask about.
        blocks: the sets by whose counts the release is proven; empty if nothing is released.
        outcome: that of the last session, in terms of single features; ``proven`` is about its users.
    """

    asked: dict[tuple[str, ...], Counts]
    refused: tuple[tuple[str, ...], ...]
    blocks: tuple[tuple[str, ...], ...]
    outcome: Outcome


def run_hierarchy(
    rows: Sequence[Sequence[Any]],
    features: Sequence[str],
    policy: Policy,
    *,
    largest: int = 2,
    length: int = 64,
    **options: Any,
) -> Hierarchy:
    """Ask about ever larger sets while that is proven to be safe, then release the heaviest safe set.

    A question about a set is safe if the counts so far prove that at most ``policy.budget`` of the users
    have a list of values that less than ``policy.threshold`` of them share. That is about the users
    of the earlier sessions: a user who answers differently later may leave others with a rarer list.

    Args:
        rows: the private row of every user; values become text.
        features: their names.
        policy: threshold, budget and weights, of the questions as of the release; nothing is redacted.
        largest: how many features a set has at most that is asked about.
        length: bytes of a value at most.
        options: for every session; see :func:`ldpopt.protocol.run_protocol`.

    Raises:
        InvalidInputError: the arguments are not a run, or the policy redacts.
        ProtocolError: one of the sessions failed.
    """
    if policy.redact is not None:
        raise InvalidInputError("the hierarchical protocol does not redact: leave out 'redact'")
    if type(largest) is not int or largest < 1:
        raise InvalidInputError(f"largest must be a whole number >= 1, not {largest!r}")
    asking = _Asking(rows, tuple(features), policy, length, options)
    outcome = asking.count([(j,) for j in range(len(features))])
    refused: list[Subset] = []
    for size in range(2, min(largest, len(features)) + 1):
        sets = list(combinations(range(len(features)), size))
        safe = [subset for subset in sets if asking.proof(subset)]
        refused += [subset for subset in sets if subset not in safe]
        if safe:
            outcome = asking.count(safe)
    blocks = asking.heaviest()
    if blocks:
        outcome = asking.release(blocks)
    return Hierarchy(
        asking.asked,
        tuple(map(asking.names, refused)),
        tuple(map(asking.names, blocks)),
        outcome,
    )


class _Asking:
    """The sessions of one hierarchical run, and what they have shown so far."""

    def __init__(
        self, rows: Any, features: tuple[str, ...], policy: Policy, length: int, options: Any
    ) -> None:
        self.rows = [[value_text(value, length) for value in row] for row in rows]
        self.features, self.policy, self.length, self.options = features, policy, length, options
        self.weights = policy.weights or (1.0,) * len(features)
        self.known: dict[Subset, list[Fraction]] = {}
        self.asked: dict[tuple[str, ...], Counts] = {}

    def names(self, subset: Subset) -> tuple[str, ...]:
        """Name the features of a set."""
        return tuple(self.features[j] for j in subset)

    def _session(self, sets: Sequence[Subset], policy: Policy | None) -> Outcome:
        """Run a session whose features are sets of features."""
        widest = max(map(len, sets))
        room = self.length if widest == 1 else min(LONGEST, widest * (2 * self.length + 4) + 2)
        rows = [[_written([row[j] for j in subset]) for subset in sets] for row in self.rows]
        names = [" + ".join(self.names(subset)) for subset in sets]
        return run_protocol(rows, names, policy, length=room, **self.options)

    def count(self, sets: Sequence[Subset]) -> Outcome:
        """Ask about sets; the users whose note could not be read share one value, as in a decision."""
        outcome = self._session(sets, None)
        users = outcome.users[0]
        for subset, column in zip(sets, outcome.marginals.values(), strict=True):
            counts = [*column.values(), users - sum(column.values())]
            self.known[subset] = [Fraction(n, users) for n in counts if n]
            self.asked[self.names(subset)] = _tallied(
                ((_read((value,), (len(subset),)), n) for value, n in column.items())
            )
        return outcome

    def proof(self, subset: Subset) -> tuple[Subset, ...]:
        """Find blocks whose counts prove that the set exposes few users; none if there are none."""
        # solvers are imported only where a decision is made
        from ldpopt.measures.safe_features import provably_safe

        for blocks in partitions(subset, self.known):
            known = [self.known[block] for block in blocks]
            if provably_safe(known, self.policy.threshold, self.policy.budget):
                return blocks
        return ()

    def heaviest(self) -> tuple[Subset, ...]:
        """Find the blocks that prove the heaviest safe set."""
        every = range(len(self.features))
        subsets = [s for size in every for s in combinations(every, size + 1)]
        for subset in sorted(subsets, key=lambda s: (-self._weight(s), s)):
            if blocks := self.proof(subset):
                return blocks
        return ()

    def _weight(self, subset: Iterable[int]) -> float:
        return sum(self.weights[j] for j in subset)

    def release(self, blocks: Sequence[Subset]) -> Outcome:
        """Run both rounds with the blocks as features; tell the outcome feature by feature."""
        weights = tuple(map(self._weight, blocks))
        outcome = self._session(blocks, replace(self.policy, weights=weights))
        named = {" + ".join(self.names(block)): block for block in blocks}
        sent = [named[name] for name in outcome.released]
        features = [j for block in sent for j in block]
        order = sorted(range(len(features)), key=features.__getitem__)
        rows = _tallied(
            (_read(values, [len(block) for block in sent], order), n)
            for values, n in outcome.rows.items()
        )
        return replace(outcome, released=self.names(tuple(sorted(features))), rows=rows)


def partitions(subset: Subset, known: Container[Subset]) -> Iterator[tuple[Subset, ...]]:
    """List the ways to put a set together from sets that are known, each feature once."""
    if not subset:
        yield ()
        return
    first, rest = subset[0], subset[1:]
    for size in range(len(rest) + 1):
        for others in combinations(rest, size):
            block = (first, *others)
            if block in known:
                left = tuple(j for j in rest if j not in others)
                for blocks in partitions(left, known):
                    yield (block, *blocks)


def _written(values: list[str]) -> str:
    """Write the values of a set as one text; a single value stays as it is."""
    return values[0] if len(values) == 1 else json.dumps(values, ensure_ascii=False)


def _read(
    texts: Sequence[str], sizes: Sequence[int], order: Sequence[int] | None = None
) -> tuple[str, ...]:
    """Read the values of sets that :func:`_written` wrote.

    A user may send any text. If one of them cannot be read as a list of values, all texts stay as they
    are.

    Args:
        texts: one for each set.
        sizes: how many features each set has.
        order: which of all the values comes first, second, …; as they are written if left out.
    """
    values: list[str] = []
    for text, size in zip(texts, sizes, strict=True):
        try:
            read = [text] if size == 1 else json.loads(text)
        except ValueError:
            return tuple(texts)
        if type(read) is not list or len(read) != size or any(type(v) is not str for v in read):
            return tuple(texts)
        values += read
    return tuple(values) if order is None else tuple(values[i] for i in order)


def _tallied(rows: Iterable[tuple[tuple[str, ...], int]]) -> Counts:
    """Add up the counts of equal rows."""
    found: Counter[tuple[str, ...]] = Counter()
    for row, n in rows:
        found[row] += n
    return dict(found)
