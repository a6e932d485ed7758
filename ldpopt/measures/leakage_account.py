"""Several releases about the same data: their joint matrix, and an account of their leakage.

Wang et al. 2024, Theorem 2 and Lemma 2. A later mechanism may depend on the earlier outputs. Joint
releases are one mechanism with the product of the rows (Lemma 2), so their statistic maximal leakage is
that of the joint matrix, and at most the sum of the parts. The theorem writes Π of the i-th mechanism;
where that depends on the earlier outputs, the account takes the largest Π over them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ldpopt.core import validate
from ldpopt.core.errors import InvalidInputError
from ldpopt.core.mechanism import Channel, Label, Mechanism
from ldpopt.measures.leakage import EFFORT, statistic_maximal_leakage

History = tuple[Label, ...]
Step = Channel | Mapping[History, Channel]
"""A mechanism, or one for each sequence of earlier outputs."""
MOST_OUTPUTS = 100_000


def compose_adaptively(steps: Sequence[Step]) -> Mechanism:
    """Build the mechanism that releases all outputs: rows are products of rows (Lemma 2).

    Args:
        steps: each a mechanism, or a mapping from the earlier outputs (a tuple) to the mechanism that
            is used after them. All have the same inputs.

    Raises:
        InvalidInputError: no step, other inputs, a history without a mechanism, or too many outputs.

    >>> flip = Mechanism([[0.75, 0.25], [0.25, 0.75]])
    >>> silent = Mechanism([[1.0], [1.0]])
    >>> compose_adaptively([flip, {(0,): silent, (1,): flip}]).outputs
    ((0, 0), (1, 0), (1, 1))
    """
    if not steps:
        raise InvalidInputError("there must be at least one mechanism, not 0")
    inputs = _inputs(steps)
    histories: list[History] = [()]
    matrix = np.ones((len(inputs), 1))
    for place, step in enumerate(steps):
        columns, later = [], []
        for history, column in zip(histories, matrix.T, strict=True):
            used = _after(step, history, place)
            for label, entries in zip(used.outputs, used.matrix.T, strict=True):
                columns.append(column * entries)
                later.append((*history, label))
        if len(later) > MOST_OUTPUTS:
            raise InvalidInputError(
                f"the releases must have at most {MOST_OUTPUTS:,} joint outputs, not {len(later):,}"
            )
        histories, matrix = later, np.array(columns).T
    return Mechanism(matrix / matrix.sum(axis=1, keepdims=True), inputs, histories)


def _inputs(steps: Sequence[Step]) -> tuple[Label, ...]:
    mechanisms = [m for step in steps for m in (step.values() if isinstance(step, Mapping) else [step])]
    if not mechanisms or any(m.inputs != mechanisms[0].inputs for m in mechanisms):
        raise InvalidInputError("there must be a mechanism, and all must have the same inputs")
    return mechanisms[0].inputs


def _after(step: Step, history: History, place: int) -> Channel:
    if not isinstance(step, Mapping):
        return step
    if history not in step:
        raise InvalidInputError(
            f"step {place} must have a mechanism for all earlier outputs; it lacks one for {history!r}"
        )
    return step[history]


def composition_bound(steps: Sequence[Step], secrets: Any, *, effort: float = EFFORT) -> float:
    """Bound the joint SML by Σ_i max over histories of SML of the i-th mechanism (Theorem 2).

    Args:
        steps: as for :func:`compose_adaptively`.
        secrets: the secret of each input.
        effort: the effort of every search, see :func:`statistic_maximal_leakage`.

    >>> flip = Mechanism([[0.75, 0.25], [0.25, 0.75]])
    >>> round(math.exp(composition_bound([flip, flip], [0, 1])), 12)
    2.25
    """
    _inputs(steps)
    account = LeakageAccount(secrets, math.inf)
    for step in steps:
        account.spend(step, effort=effort)
    return account.spent


@dataclass
class LeakageAccount:
    """A budget of statistic maximal leakage about one secret, spent release by release.

    What is recorded is proven: a release that would exceed the budget is refused before it is made.

    Attributes:
        secrets: the secret of each input, the same for all releases.
        budget: the most that all releases together may leak, in nats.
        entries: what each release was recorded with.

    >>> account = LeakageAccount([0, 1], budget=0.5)
    >>> flip = Mechanism([[0.75, 0.25], [0.25, 0.75]])
    >>> round(account.spend(flip), 6), round(account.left, 6)
    (0.405465, 0.094535)
    """

    secrets: Any
    budget: float
    entries: list[float] = field(default_factory=list)

    @property
    def spent(self) -> float:
        """The sum of what was recorded: the joint SML is at most this."""
        return math.fsum(self.entries)

    @property
    def left(self) -> float:
        """What may still be spent."""
        return self.budget - self.spent

    def spend(self, step: Step | float, *, effort: float = EFFORT) -> float:
        """Record a release and return what it costs, an upper end of its SML.

        Args:
            step: a mechanism; one for each earlier history, which costs the largest; or a proven bound
                on the SML of a mechanism that is too large to list, in nats.
            effort: the effort of the search, see :func:`statistic_maximal_leakage`.

        Raises:
            InvalidInputError: the release does not fit into what is left of the budget.
        """
        cost = self._cost(step, effort)
        if self.spent + cost > self.budget:
            raise InvalidInputError(
                f"this release may leak {cost:.6g} nats; of the budget of {self.budget:.6g} only "
                f"{self.left:.6g} are left"
            )
        self.entries.append(cost)
        return cost

    def _cost(self, step: Step | float, effort: float) -> float:
        if isinstance(step, Channel):
            found = statistic_maximal_leakage(step, self.secrets, effort=effort)
            return max(0.0, found.high)
        if isinstance(step, Mapping):
            if not step:
                raise InvalidInputError("an adaptive release must have at least one mechanism, not 0")
            return max(self._cost(m, effort) for m in step.values())
        return 0.0 if step == 0 else validate.positive_number("the bound on the SML", step)


def quantise_without_order(secrets: Sequence[Label], bins: Mapping[Label, Label]) -> Mechanism:
    """Release a uniform θ among all whose secret lies in the data's bin (Wang et al. 2024, V-B).

    Quantisation for secrets that have no order, hence no middle: a bin is any set of secrets. The rows
    of a bin are alike and bins are released on disjoint sets, so the SML is the log of the number of
    bins, exactly.

    Args:
        secrets: the secret of each θ, in the order of the mechanism's inputs.
        bins: the bin of each secret.

    Raises:
        InvalidInputError: a secret has no bin.

    >>> quantise_without_order(["red", "blue", "green"], {"red": 0, "blue": 0, "green": 1}).matrix
    array([[0.5, 0.5, 0. ],
           [0.5, 0.5, 0. ],
           [0. , 0. , 1. ]])
    """
    missing = sorted({str(secret) for secret in secrets if secret not in bins})
    if missing or not secrets:
        raise InvalidInputError(f"bins must name a bin for every secret; they lack {', '.join(missing)}")
    labels = [bins[secret] for secret in secrets]
    same = np.array([[a == b for b in labels] for a in labels], dtype=np.float64)
    return Mechanism(same / same.sum(axis=1, keepdims=True))
