"""The least distorting mechanism on histograms whose leakage about a secret statistic is bounded."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import permutations
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ldpopt.core import certify, validate
from ldpopt.core.exact import worst_cost
from ldpopt.core.form import Form, FormSolution
from ldpopt.core.forms.selections import LeakageProgram
from ldpopt.core.mechanism import Mechanism
from ldpopt.core.problem import Example, Measure, Problem, Subject
from ldpopt.mechanisms import histograms
from ldpopt.models.secret_labels import read_secrets

MOST_PERMUTED = 5
"""The most categories whose permutations are tried: they have 120, of which 24 keep the first count."""


@dataclass(frozen=True, eq=False)
class LeakageDesign(Problem):
    """Minimise the worst-case expected distortion subject to SML ≤ leakage.

    Wang et al. 2024 compares three mechanisms on histograms of τ records over d categories (Section V)
    and leaves open how far they are from the best. e^SML is a maximum of linear functions of the
    mechanism, so the best one is the solution of a linear program with many cuts. The distortion is the
    total variation distance of histograms, or any cost that the user gives.

    Args:
        tau: the number of records.
        d: the number of categories; there are C(τ+d−1, d−1) histograms.
        leakage: the largest statistic maximal leakage, in nats.
        secrets: the secret of each histogram, in lexicographic order; by default its first count. With
            costs: the secret of each row.
        costs: instead of tau and d, whole numbers c[θ][y] ≥ 0: what it costs to release y for θ.
        scale: the unit of the costs is 1/scale.
        epsilon: if given, the mechanism must also be ε-LDP for the data as a whole.

    >>> LeakageDesign(tau=3, d=3, leakage=0.5).form.costs.shape
    (10, 10)
    >>> LeakageDesign(leakage=0.5, costs=[[0, 3], [1, 0]], secrets=["a", "b"], scale=2).form.costs
    array([[0. , 1.5],
           [0.5, 0. ]])
    """

    kind: ClassVar[str] = "leakage-design"
    bench_sizes: ClassVar[tuple[int, ...]] = (2, 3, 4, 5)
    full_bench_sizes: ClassVar[tuple[int, ...]] = (2, 3, 4, 5, 6, 8, 12)
    sense: ClassVar = "minimise"
    measure: ClassVar[Measure] = Measure("worst expected distortion")
    tau: int | None = None
    d: int | None = None
    leakage: float = 0.0
    secrets: Any = None
    costs: Any = None
    scale: int | None = None
    epsilon: float | None = None

    def cleaned(self) -> dict[str, Any]:
        """Read the level, the secrets and the costs, whole numbers as such."""
        found = super().cleaned()
        if self.secrets is not None:
            found["secrets"] = read_secrets(self.secrets)
        if self.costs is not None:
            rows = validate.array("costs", self.costs, 2).tolist()
            found["costs"] = tuple(tuple(int(c) if c.is_integer() else c for c in row) for row in rows)
            found["scale"] = 1 if self.scale is None else self.scale
        return found

    @property
    def space(self) -> histograms.Histogram:
        """Every histogram, in lexicographic order."""
        assert self.tau is not None
        assert self.d is not None
        return histograms.histograms(self.tau, self.d)

    @property
    def form(self) -> LeakageProgram:
        """The costs are total variation distances or the user's; the groups are the secrets."""
        secrets = self.space[:, 0].tolist() if self.secrets is None else self.secrets
        numbers: dict[Any, int] = {}
        groups = np.array([numbers.setdefault(secret, len(numbers)) for secret in secrets])
        if self.tau is None:
            counts = np.array(self.costs)
            return LeakageProgram(counts, self.scale or 1, groups, self.leakage, self.epsilon)
        counts = np.rint(2 * self.tau * histograms.distances(self.space, self.space)).astype(np.int64)
        same = _symmetries(self.space, groups)
        return LeakageProgram(counts, 2 * self.tau, groups, self.leakage, self.epsilon, same)

    def forms(self) -> Iterable[Form]:
        """Give one form."""
        return [self.form]

    def subject(self, mechanism: Mechanism) -> Subject:
        """Describe the secret of a histogram; its maximal leakage is promised."""
        secrets = self.form.groups.tolist()
        promises = {"statistic-maximal-leakage": self.leakage}
        if self.epsilon is not None:
            promises["ldp"] = self.epsilon
        return Subject.of_groups(mechanism, secrets, None, promises)

    def lift(self, form: Form, solution: FormSolution) -> Mechanism:
        """Build the mechanism; its inputs and outputs are histograms unless the user gave costs."""
        if self.tau is None:
            return Mechanism(solution.point)
        labels = [tuple(row) for row in self.space.tolist()]
        return Mechanism(solution.point, labels, labels)

    def value(self, answer: Mechanism) -> float:
        """Compute max_θ Σ_θ' W[θ, θ'] c(θ, θ') (Wang et al. 2024, Lemma 1)."""
        return float((answer.matrix * self.form.costs).sum(axis=1).max())

    def claim(self, answer: Mechanism) -> float:
        """Evaluate the distortion in exact arithmetic, rounded up."""
        return certify.value_above(worst_cost(answer.matrix.tolist(), self.question))

    @classmethod
    def random(cls, size: int, rng: np.random.Generator) -> Iterable[tuple[str, Self]]:
        """Draw ``size`` records over three categories at a random leakage."""
        leakage = round(float(rng.uniform(0.1, math.log(size + 1))), 3)
        yield f"tau={size} d=3 leakage={leakage:g}", cls(size, 3, leakage)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        """Give the constant release (no leakage), the data (log(τ+1)), and a case between, by an LP."""
        yield Example(cls(2, 2, 0.0), 0.5)
        yield Example(cls(2, 2, math.log(2)), 1 / 6)
        yield Example(cls(3, 3, math.log(3)), 4 / 33)
        yield Example(cls(2, 3, math.log(3)), 0.0)


def _symmetries(space: histograms.Histogram, groups: NDArray[np.int64]) -> NDArray[np.int64]:
    """List the permutations of categories that keep every secret, as permutations of histograms.

    Total variation does not change where categories change places; those that keep the secrets are a
    group. With many categories only the identity is tried: a proof lists the images of every cut.
    """
    d = space.shape[1]
    places = {row.tobytes(): i for i, row in enumerate(space)}
    orders = permutations(range(d)) if d <= MOST_PERMUTED else [range(d)]
    moved = (np.ascontiguousarray(space[:, list(order)]) for order in orders)
    found = (np.array([places[row.tobytes()] for row in rows]) for rows in moved)
    return np.array([images for images in found if (groups[images] == groups).all()])
