"""How private a mechanism is against every distribution of an uncertainty set."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from ldpopt.core.form import Form, FormSolution
from ldpopt.core.forms.searches import LevelSearch
from ldpopt.core.problem import Example, Measure, Problem
from ldpopt.measures.channel import matrix_of
from ldpopt.measures.level_over_set import exact_level
from ldpopt.models.convex_set import convex_set
from ldpopt.models.set_climb import Place


@dataclass(frozen=True, eq=False)
class RobustLevel(Problem):
    """Compute the level max log P(y|s)/P(y|z) over the members P of a set F, all y and s ≠ z.

    Lopuhaä-Zwakenberg and Goseling 2021, Definition 1, for any of the sets of
    :class:`~ldpopt.models.convex_set.ConvexSet`. The answer is {"output", "secrets", "witness"}:
    a member that attains the level, and where.

    Args:
        matrix: the mechanism, one row per input (s, u), or a :class:`Mechanism`.
        uncertainty: a :class:`~ldpopt.models.convex_set.ConvexSet`, or its
            description {"kind": …, …}.

    >>> known = {"kind": "known", "p": [[0.25, 0.25], [0.25, 0.25]]}
    >>> problem = RobustLevel([[0.6, 0.4], [0.6, 0.4], [0.3, 0.7], [0.3, 0.7]], known)
    >>> problem.uncertainty["kind"], problem.matrix.shape
    ('known', (4, 2))
    """

    kind: ClassVar[str] = "robust-level"
    measure: ClassVar[Measure] = Measure("robust LDP level", "nats")
    bench_sizes: ClassVar[tuple[int, ...]] = (2, 3, 4)
    matrix: Any
    uncertainty: Any

    def cleaned(self) -> dict[str, Any]:
        """Check the parameters."""
        return {"matrix": matrix_of(self.matrix), "uncertainty": convex_set(self.uncertainty).plain}

    def forms(self) -> Iterable[Form]:
        """Give one form."""
        return [LevelSearch(self.matrix, self.question)]

    def lift(self, form: Form, solution: FormSolution) -> dict[str, Any]:
        """Return the output, the two secrets and the member at which the level is attained."""
        return solution.point

    def value(self, answer: Any) -> float:
        """Compute log P(y|s)/P(y|z) at the output, secrets and member of the answer."""
        a1, a2 = self.question.F.shape
        P = np.array(self.question.F.cells(answer["witness"])).reshape(a1, a2)
        column = self.matrix[:, answer["output"]].reshape(a1, a2)
        s, z = answer["secrets"]
        top, bottom = ((P[i] @ column[i]) / P[i].sum() for i in (s, z))
        return float(np.log(top / bottom))

    def claim(self, answer: Any) -> float:
        """Evaluate the level of the answer in exact arithmetic, rounded down."""
        s, z = answer["secrets"]
        place = Place(0.0, answer["output"], s, z, np.array(answer["witness"]))
        return exact_level(place, self.question)

    @classmethod
    def random(cls, size: int, rng: np.random.Generator) -> Iterable[tuple[str, Self]]:
        """Draw a table of ``size`` secrets and two values, a mechanism of ``size`` outputs, two sets."""
        p_hat = rng.dirichlet(np.full(size * 2, 3.0)).reshape(size, 2)
        rows = 0.5 * rng.dirichlet(np.ones(size), size=size * 2) + 0.5 / size
        ball = {"p_hat": p_hat.tolist(), "radius": float(p_hat.sum(axis=1).min()) / 4}
        for kind in ("total-variation", "kullback-leibler"):
            yield f"{kind} {size}x2", cls(rows, {"kind": kind, **ball})

    @classmethod
    def examples(cls) -> Iterable[Example]:
        """Give levels of one mechanism that are known in closed form."""
        rows = [[0.6, 0.4], [0.5, 0.5], [0.3, 0.7], [0.3, 0.7]]
        p_hat = [[0.25, 0.25], [0.25, 0.25]]
        # P(y|0) is a mean of 0.6 and 0.5, P(y|1) is 0.3
        yield Example(cls(rows, {"kind": "known", "p": p_hat}), math.log(0.55 / 0.3))
        # 0.05 of the mass moves from (0, 1) to (0, 0)
        ball = {"kind": "total-variation", "p_hat": p_hat, "radius": 0.05}
        yield Example(cls(rows, ball), math.log(0.56 / 0.3))
        # 0.05 moves by one step of u, or 0.05 by one step of s
        ball = {"kind": "wasserstein", "p_hat": p_hat, "radius": 0.05}
        yield Example(cls(rows, ball), math.log(0.56 / 0.3))
        # given s = 0 the values are at the shares r and 1 − r, with 4 r (1 − r) as follows
        for kind, product in (("likelihood", math.exp(-0.04)), ("hellinger", (1 - 0.0796) ** 2)):
            share = (1 + math.sqrt(1 - product)) / 2
            radius = 0.01 if kind == "likelihood" else 0.1
            ball = {"kind": kind, "p_hat": p_hat, "radius": radius}
            yield Example(cls(rows, ball), math.log((0.5 + 0.1 * share) / 0.3))
