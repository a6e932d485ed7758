"""Which features may be released, so that few users are exposed and the data are most useful?"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from ldpopt.core import validate
from ldpopt.core.certify import printed_above, printed_below
from ldpopt.core.exact import (
    Marginals,
    SafeWeights,
    UserSample,
    expected_exposure,
    printed,
    proven_exposure,
    sample_of,
    table_exposure,
)
from ldpopt.core.form import Form, FormSolution
from ldpopt.core.forms.selections import Subset, SubsetProgram
from ldpopt.core.limits import UNLIMITED, Limits
from ldpopt.core.problem import Example, Measure, Problem
from ldpopt.measures.safe_features import least_risk, risk_beside
from ldpopt.problems.composition_bound import read_marginals
from ldpopt.tables.codes import Codes, chosen_columns, group_sizes, value_codes


def anonymity(threshold: float, users: int) -> int:
    """Compute the fewest users whose fraction reaches the threshold: the k of statistical exposure.

    >>> anonymity(0.1, 30), anonymity(0.1, 31)
    (3, 4)
    """
    return math.ceil(printed(threshold) * users)


@dataclass(frozen=True, eq=False)
class FeatureRelease(Problem):
    """Choose the heaviest set of features that is safe to release, by what the curator knows.

    A user is *exposed* if less than a fraction t of the users share its released values. A set J of
    features is *safe* if risk(J) ≤ budget, and a *conflict* if risk(J) > budget; risk never falls when a
    feature is added, so conflicts prove optimality. What the risk is, and what a result then claims:

    * ``marginals`` (all that the curator of Bravo-Hermsdorff et al. 2022, Section 5 knows): the least
      bound on the exposure that the rules theorem-3-tight and theorem-2 prove with any thresholds, for
      all joint distributions with these marginals (:mod:`ldpopt.measures.safe_features`). Claimed: no
      joint with these marginals exposes more than the budget. OPTIMAL: no heavier set is *proven* safe
      by these two rules. A heavier set may still be safe.
    * ``table``: the fraction of its users that are exposed, as a trusted curator would compute it.
      OPTIMAL: no heavier set is safe.
    * ``table`` and ``users``: the table is a sample, and n other users of the same distribution will be
      released (Section 7). Risk is an upper bound on the *expected* fraction of those users whose row
      fewer than k = ⌈t·n⌉ of them have (the statistical exposure of Definition 7). With probability at
      least 1 − delta over the sample it holds for all sets of features at once (the corrected Theorem 8,
      :func:`ldpopt.checker.kernel.proofs.future_users.expected_exposure`). The fraction
      that comes out in one release scatters around its expectation and may exceed the budget. OPTIMAL:
      no heavier set has such a bound within the budget.

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
        """Replace the values of a table by numbers, as only their equality matters; fill in weights."""
        given, features = super().cleaned(), 0
        if self.marginals is not None:
            given["marginals"] = read_marginals(self.marginals)
            features = len(given["marginals"])
        if self.table is not None:
            columns = [value_codes(column).tolist() for column in chosen_columns(self.table)]
            given["table"], features = [list(row) for row in zip(*columns, strict=True)], len(columns)
        if self.weights is None:
            return {**given, "weights": (1.0,) * features or None}
        return {**given, "weights": tuple(validate.array("weights", self.weights, 1).tolist())}

    def forms(self) -> Iterable[Form]:
        """Give one form."""
        asked, safe = self.question, None
        if asked.marginals is not None:
            safe = SafeWeights(asked.marginals, asked.weights, asked.threshold, asked.budget)
        return [SubsetProgram(tuple(asked.weights), self.exposure, self.budget, safe)]

    def exposure(self, subset: Subset, limits: Limits = UNLIMITED) -> float:
        """Compute the risk of the features, which is compared with the budget.

        Answers and conflicts are judged by the risk.

        Raises:
            OutOfTime: the limits are over before the risk is known.
        """
        if subset not in self._risks:
            limits.check()
            self._risks[subset] = self._risk(subset, limits)
        return self._risks[subset]

    @cached_property
    def _risks(self) -> dict[Subset, float]:
        """The risks that were computed so far, by set of features."""
        return {}

    def _risk(self, subset: Subset, limits: Limits) -> float:
        """Return a float on the same side of the budget as the exact risk, rounded up otherwise."""
        if self.table is None:
            return risk_beside(self._chosen(subset), self.threshold, self.budget, limits)
        groups = group_sizes(self._columns, subset).tolist()
        if self.users is None:
            return printed_above(table_exposure(self.question, groups))
        values, known = self._sample
        possible = math.prod(values[j] for j in subset)
        return printed_above(Fraction(expected_exposure(known, groups, possible).high))

    @cached_property
    def _columns(self) -> dict[int, Codes]:
        """The columns of the table by their number, rare values redacted if asked for."""
        return {j: np.array(column, np.int64) for j, column in enumerate(self.question.columns)}

    @cached_property
    def _sample(self) -> tuple[list[int], UserSample]:
        return sample_of(self.question)

    def _chosen(self, subset: Subset) -> Marginals:
        return [self.question.marginals[j] for j in subset]

    def lift(self, form: Form, solution: FormSolution) -> dict[str, Any]:
        """Return the features; with marginals also thresholds that prove them safe, as printed."""
        features: Subset = solution.point
        answer: dict[str, Any] = {"features": list(features)}
        if features:
            answer["exposure"] = self.exposure(features)
            if self.table is None:
                rule, choice = least_risk(self._chosen(features), self.threshold)
                named = {"rule": rule, "thresholds": list(choice.thresholds), "pivot": choice.pivot}
                answer |= named if self._proves(answer, named) else {}
        return answer

    def _proves(self, answer: dict[str, Any], named: dict[str, Any]) -> bool:
        """Return whether the thresholds prove the exposure, and the budget, in exact arithmetic."""
        exact = [printed(t) for t in named["thresholds"]]
        question = self._chosen(answer["features"]), self.question.threshold
        most = min(self.question.budget, printed(answer["exposure"]))
        return proven_exposure(*question, named["rule"], exact, named["pivot"]) <= most

    def value(self, answer: dict[str, Any]) -> float:
        """Add up the weight that is released."""
        return float(self._weight(answer))

    def claim(self, answer: dict[str, Any]) -> float:
        """Add up the weight, rounded down."""
        return printed_below(self._weight(answer))

    def _weight(self, answer: dict[str, Any]) -> Fraction:
        return sum((self.question.weights[j] for j in answer["features"]), Fraction(0))

    @classmethod
    def random(cls, size: int, rng: np.random.Generator) -> Iterable[tuple[str, Self]]:
        """Draw ``size`` features of three values each with random weights, t = 1 %, budget 20 %."""
        marginals = rng.dirichlet(np.ones(3), size=size).tolist()
        weights = rng.random(size).round(3).tolist()
        yield f"features={size}", cls(0.01, 0.2, marginals=marginals, weights=weights)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        """Give cases solved by hand.

        Three of four features are safe together; two columns identify nobody.
        """
        fair, rare = [0.5, 0.5], [0.9, 0.07, 0.03]
        yield Example(cls(0.01, 0.1, marginals=[fair, fair, rare], weights=[1, 1, 3]), 4.0)
        yield Example(cls(0.01, 0.1, marginals=[fair, fair, fair]), 3.0)
        yield Example(cls(0.5, 0.0, marginals=[rare, rare]), 0.0)
        table = [(1, 0, 0)] * 4 + [(0, 0, 1)] + [(0, 1, 2)] * 4
        yield Example(cls(1 / 8, 0.0, table=table, weights=[2, 1, 5]), 2.0)
        yield Example(cls(1 / 8, 0.2, table=table, weights=[2, 1, 5]), 8.0)
        sample = [(v % 2, v % 10) for v in range(1000)]
        yield Example(cls(0.06, 0.01, table=sample, weights=[1, 2], users=1000), 1.0)
        yield Example(cls(0.01, 0.01, table=sample, weights=[1, 2], users=1000), 2.0)
        yield Example(cls(0.05, 0.0, marginals=[[0.6, 0.3, 0.06, 0.04]], redact=0.05), 0.9)
