"""Which features may be released, so that few users are exposed and the most useful data get out?"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ldpopt.core import validate
from ldpopt.core.errors import InvalidInputError
from ldpopt.core.form import Form, FormSolution
from ldpopt.core.limits import UNLIMITED, Limits
from ldpopt.core.measure import Measure
from ldpopt.core.problem import Example, Problem
from ldpopt.core.validate import Array
from ldpopt.forms.subset_program import Subset, SubsetProgram
from ldpopt.tables.codes import chosen_columns, group_sizes, value_codes
from ldpopt.theory.anonymity.exposure import deviation, exposure_of_table
from ldpopt.theory.anonymity.safety import least_risk, risk_beside
from ldpopt.theory.anonymity.statistical_exposure import statistical_exposure_ceiling


class Released(NamedTuple):
    """Marginals, table (or None) and weights of what would be released."""

    marginals: tuple[Array, ...]
    table: NDArray[np.int64] | None
    weights: tuple[float, ...]


def rarest(p: Array, at: float) -> list[int]:
    """List the values to redact: all below ``at``, and the next rarest until they reach it together.

    A redacted value is itself a value, and may be a rare one (Bravo-Hermsdorff et al. 2022, Section
    8.1).

    >>> rarest(np.array([0.5, 0.3, 0.15, 0.05]), 0.1)
    [2, 3]
    >>> rarest(np.array([0.5, 0.3, 0.2]), 0.1)
    []
    """
    order = np.argsort(p, kind="stable")
    if p[order[0]] >= at:
        return []
    redacted: list[int] = []
    mass = 0.0
    for v in order.tolist():
        if p[v] >= at and mass >= at:
            break
        redacted.append(v)
        mass += float(p[v])
    return sorted(redacted)


def anonymity(threshold: float, users: int) -> int:
    """Compute the fewest users whose fraction reaches the threshold: the k of statistical exposure.

    >>> anonymity(0.1, 30), anonymity(0.1, 31)
    (3, 4)
    """
    near = math.ceil(threshold * users)
    return next(k for k in range(max(near - 1, 0), near + 2) if k / users >= threshold)


def _empirical(table: NDArray[np.int64]) -> tuple[Array, ...]:
    return tuple(np.bincount(column) / len(table) for column in table.T)


@dataclass(frozen=True, eq=False)
class FeatureRelease(Problem):
    """Release the heaviest set of features that is safe, by what the curator knows.

    A user is *exposed* if less than a fraction t of the users share its released values. A set J of
    features is *safe* if risk(J) ≤ budget, and a *conflict* if risk(J) > budget; risk never falls when a
    feature is added, so conflicts prove optimality. What risk is, and what is thereby claimed:

    * ``marginals`` (all that the curator of Bravo-Hermsdorff et al. 2022, Section 5 knows): the least
      bound on the exposure that the rules theorem-3-tight and theorem-2 prove with any thresholds, for
      all joint distributions with these marginals (:mod:`ldpopt.theory.anonymity.safety`). Claimed: no
      joint with these marginals exposes more than the budget. OPTIMAL: no heavier set is *proven* safe
      by these two rules. A heavier set may still be safe.
    * ``table``: the fraction of its users that are exposed, as a trusted curator would compute it.
      OPTIMAL: no heavier set is safe.
    * ``table`` and ``users``: the table is a sample, and n other users of the same distribution will be
      released (Section 7). Risk is an upper bound on the *expected* fraction of those users whose row
      fewer than k = ⌈t·n⌉ of them have (the statistical exposure of Definition 7). With probability at
      least 1 − delta over the sample it holds for all sets of features at once (the corrected Theorem 8,
      :func:`ldpopt.theory.anonymity.statistical_exposure.statistical_exposure_ceiling`). The fraction
      that comes out
      in one release scatters around its expectation and may exceed the budget. OPTIMAL: no heavier set
      has such a bound within the budget.

    Args:
        threshold: t, in (0, 1].
        budget: the fraction of users that may be exposed, in [0, 1].
        marginals: the distribution of every feature.
        table: instead, the data: a matrix with a user per row, a data frame, or a dictionary of columns.
        weights: how useful every feature is, each >= 0; 1 each if left out.
        redact: also redact rare values (local suppression, Section 8.1): in every feature those of
            probability below this, and the next rarest until the redacted users are no rarer
            themselves. They share one value, different from all others. A feature then weighs in
            proportion to the users who keep their value.
        users: how many users will be released who are not those of the table. Every value that a
            feature can have must occur in the table.
        delta: the probability that the sample misleads; for ``users`` only.

    >>> FeatureRelease(threshold=0.01, budget=0.1, marginals=[[0.5, 0.5], [0.9, 0.1]]).weights
    (1.0, 1.0)
    """

    kind: ClassVar[str] = "feature-release"
    measure: ClassVar[Measure] = Measure("weight of the released features")
    bench_sizes: ClassVar[tuple[int, ...]] = (4, 6, 8)
    full_bench_sizes: ClassVar[tuple[int, ...]] = (4, 8, 12, 16)
    threshold: float
    budget: float
    marginals: Any = None
    table: Any = None
    weights: Any = None
    redact: float | None = None
    users: int | None = None
    delta: float = 0.05

    def cleaned(self) -> dict[str, Any]:
        """Check the parameters."""
        if (self.marginals is None) == (self.table is None):
            raise InvalidInputError("feature-release needs either 'marginals' or 'table', not both")
        threshold = validate.positive_number("threshold", self.threshold)
        if threshold > 1:
            raise InvalidInputError(f"threshold must lie in (0, 1], not {threshold:g}")
        budget = validate.array("budget", [self.budget], 1)[0]
        if not 0 <= budget <= 1:
            raise InvalidInputError(f"budget must lie in [0, 1], not {budget:g}")
        given: dict[str, Any] = {"threshold": threshold, "budget": float(budget)}
        given |= self._marginals() if self.table is None else self._codes()
        features = len(given["marginals"] if self.table is None else given["table"][0])
        weights = validate.array(
            "weights", [1.0] * features if self.weights is None else self.weights, 1
        )
        if len(weights) != features or (weights < 0).any():
            raise InvalidInputError(f"weights must be {features} numbers >= 0, one per feature")
        given["weights"] = tuple(weights.tolist())
        if self.redact is not None:
            given["redact"] = validate.positive_number("redact", self.redact)
        if self.users is not None:
            self._check_users()
        return given

    def _check_users(self) -> None:
        if self.table is None or self.redact is not None:
            raise InvalidInputError("'users' needs a 'table', and no 'redact'")
        if isinstance(self.users, bool) or not isinstance(self.users, int) or self.users < 1:
            raise InvalidInputError(f"users must be a whole number >= 1, not {self.users!r}")
        if not 0 < self.delta < 1:
            raise InvalidInputError(f"delta must lie between 0 and 1, not {self.delta}")

    def _marginals(self) -> dict[str, Any]:
        rows = [validate.distribution(f"marginals[{j}]", p) for j, p in enumerate(self.marginals)]
        if not rows:
            raise InvalidInputError("marginals must be a list of distributions, at least one")
        return {"marginals": tuple(p[p > 0] for p in rows)}

    def _codes(self) -> dict[str, Any]:
        """Write the table as small numbers: values of any type become JSON, and nothing else matters."""
        columns = [value_codes(column).tolist() for column in chosen_columns(self.table)]
        return {"table": [list(row) for row in zip(*columns, strict=True)]}

    @cached_property
    def released(self) -> Released:
        """The features as they would be released, rare values redacted if that was asked for."""
        columns = None if self.table is None else np.array(self.table)
        marginals = self.marginals if columns is None else _empirical(columns)
        if self.redact is None:
            return Released(marginals, columns, self.weights)
        hidden = [rarest(p, self.redact) for p in marginals]
        # a correctly rounded sum: the checker must meet the same number as a break-point
        masses = [math.fsum(p[h]) for p, h in zip(marginals, hidden, strict=True)]
        weights = tuple(w * (1 - mass) for w, mass in zip(self.weights, masses, strict=True))
        merged = tuple(
            np.append(np.delete(p, h), mass) if h else p
            for p, h, mass in zip(marginals, hidden, masses, strict=True)
        )
        if columns is not None:
            columns = np.array(
                [
                    # the codes of a column count from 0, so their number is a value of its own
                    np.where(np.isin(column, h), len(p), column)
                    for column, p, h in zip(columns.T, marginals, hidden, strict=True)
                ]
            ).T
        return Released(merged, columns, weights)

    def forms(self) -> Iterable[Form]:
        """One form."""
        return [SubsetProgram(self.released.weights, self.exposure, self.budget)]

    def exposure(self, subset: Subset, limits: Limits = UNLIMITED) -> float:
        """Compute the risk of the features, which is compared with the budget.

        Answers and conflicts are judged by it.

        Raises:
            OutOfTime: the limits are over before the risk is known.
        """
        if subset not in self._risks:
            limits.check()
            self._risks[subset] = self._risk(subset, limits)
        return self._risks[subset]

    @cached_property
    def _risks(self) -> dict[Subset, float]:
        """What was computed before."""
        return {}

    def _risk(self, subset: Subset, limits: Limits) -> float:
        if self.users is not None:
            return self._future_exposure(subset, self.users)
        if self.released.table is not None:
            return float(exposure_of_table(self.released.table, list(subset), self.threshold))
        return risk_beside(self._chosen(subset), self.threshold, self.budget, limits)

    def _future_exposure(self, subset: Subset, users: int) -> float:
        """Bound the statistical exposure, with probability 1 − δ over the table (Hoeffding)."""
        sizes = [len(p) for p in self.released.marginals]
        gamma = min(1.0, deviation(len(self.table), math.prod(n + 1 for n in sizes) - 1, self.delta))
        frequencies = group_sizes(self.released.table, list(subset)) / len(self.table)
        possible = math.prod(sizes[j] for j in subset)
        level = anonymity(self.threshold, users)
        return statistical_exposure_ceiling(frequencies, users, level, gamma, support=possible)

    def _chosen(self, subset: Subset) -> list[Array]:
        return [self.released.marginals[j] for j in subset]

    def lift(self, form: Form, solution: FormSolution) -> dict[str, Any]:
        """Return the features; with marginals also the thresholds that prove them safe."""
        features: Subset = solution.point
        answer: dict[str, Any] = {"features": list(features)}
        if features:
            answer["exposure"] = self.exposure(features)
            if self.table is None:
                rule, choice = least_risk(self._chosen(features), self.threshold)
                answer |= {"rule": rule, "thresholds": list(choice.thresholds), "pivot": choice.pivot}
        return answer

    def value(self, answer: dict[str, Any]) -> float:
        """Add up the weight that is released."""
        return float(sum(self.released.weights[j] for j in answer["features"]))

    @classmethod
    def random(cls, size: int, rng: np.random.Generator) -> Iterable[tuple[str, Self]]:
        """``size`` features of three values each with random weights, t = 1 %, budget 20 %."""
        marginals = rng.dirichlet(np.ones(3), size=size).tolist()
        weights = rng.random(size).round(3).tolist()
        yield f"features={size}", cls(0.01, 0.2, marginals=marginals, weights=weights)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        """By hand: three of four features are safe together; two columns identify nobody."""
        fair, rare = [0.5, 0.5], [0.9, 0.07, 0.03]
        yield Example(cls(0.01, 0.1, marginals=[fair, fair, rare], weights=[1, 1, 3]), 4.0)
        yield Example(cls(0.01, 0.1, marginals=[fair, fair, fair]), 3.0)
        yield Example(cls(0.5, 0.0, marginals=[rare, rare]), 0.0)
        table = [(1, 0, 0)] * 4 + [(0, 0, 1)] + [(0, 1, 2)] * 4
        yield Example(cls(1 / 8, 0.0, table=table, weights=[2, 1, 5]), 2.0)
        yield Example(cls(1 / 8, 0.2, table=table, weights=[2, 1, 5]), 8.0)
        sample = [(v % 2, v % 10) for v in range(1000)]
        yield Example(cls(0.05, 0.01, table=sample, weights=[1, 2], users=1000), 1.0)
        yield Example(cls(0.01, 0.01, table=sample, weights=[1, 2], users=1000), 2.0)
        yield Example(cls(0.05, 0.0, marginals=[[0.6, 0.3, 0.06, 0.04]], redact=0.05), 0.9)
