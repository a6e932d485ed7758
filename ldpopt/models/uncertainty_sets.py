"""Sets F of possible distributions of the data x = (s, u), against all of which privacy must hold.

Lopuhaä-Zwakenberg and Goseling 2021, Sections II to IV: all distributions, a single one, or the
confidence set of a χ² test. A set of joint distributions is described by matrices [s][u]; a set of
distributions of u alone, such as what a confidence set says about u given s, is a :class:`Chi2Ball`.

Choose which public values of a wide table to merge, so that a mechanism can still tell much.

A mechanism that is private against F has I(X; Y) ≤ I(S; Y) + H(U | S), and in the merged table H(G | S)
takes the place of H(U | S), where G is the group of U. So the groups are chosen to keep H(G | S) large:
each step merges the two groups for which it falls least, of values with an order neighbours alone.
Merging the rarest values instead would leave one group that is often large and tells little.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ldpopt.core import validate
from ldpopt.core.errors import InvalidInputError
from ldpopt.core.exact import SET_ALPHA, SET_SAMPLES, UnreadableError, check_table, normalised
from ldpopt.core.quantiles import chi2_quantile
from ldpopt.core.validate import Array, Cleaned
from ldpopt.models.chi2_ball import Chi2Ball, bound_of


@dataclass(frozen=True, eq=False)
class Chi2Set(Cleaned):
    """The 1 − α confidence set of a χ² test around p̂ from n samples.

    Lopuhaä-Zwakenberg and Goseling 2021, (3).

    Args:
        p_hat: the observed distribution as a matrix [s][u]. Cells may be zero, but not a whole row: the
            data say nothing about a secret that was never seen.
        n: the number of samples.
        alpha: the significance level.
        cells: the number of cells of the χ² test, where p̂ is a merged version of a larger table.

    >>> F = Chi2Set([[0.20, 0.10, 0.05], [0.05, 0.25, 0.10], [0.02, 0.08, 0.15]], 1000, 0.05)
    >>> round(F.bound, 12)
    0.015507313056
    """

    p_hat: Any
    n: float
    alpha: float = 0.05
    cells: int | None = None

    def cleaned(self) -> dict[str, Any]:
        """Check the parameters."""
        p_hat = validate.distribution("p_hat", self.p_hat, ndim=2)
        n = validate.positive_number("n", self.n)
        alpha = validate.positive_number("alpha", self.alpha)
        if p_hat.size < 2:
            raise InvalidInputError("p_hat must have two or more cells, not one")
        _check_secrets("p_hat", p_hat)
        try:
            SET_SAMPLES.read(n, "n")
            SET_ALPHA.read(alpha, "alpha")
            check_table(normalised(np.asarray(self.p_hat, dtype=float).tolist(), "p_hat"))
        except UnreadableError as error:
            raise InvalidInputError(str(error)) from None
        return {"p_hat": p_hat, "n": n, "alpha": alpha}

    @classmethod
    def from_counts(cls, counts: Any, alpha: float = 0.05) -> Self:
        """Build the set around the frequencies of a contingency table [s][u].

        >>> Chi2Set.from_counts([[3, 1], [2, 4]], 0.05).n
        10.0
        """
        table = validate.array("counts", counts, 2)
        if (table < 0).any() or (table != np.floor(table)).any():
            bad = table[(table < 0) | (table != np.floor(table))].flat[0]
            raise InvalidInputError(f"counts must be whole numbers >= 0, not {bad}")
        if table.sum() == 0:
            raise InvalidInputError("counts are all zero: there are no data")
        _check_secrets("counts", table)
        return cls(table / table.sum(), float(table.sum()), alpha)

    @property
    def shape(self) -> tuple[int, int]:
        """The number of secrets s and of public values u."""
        return self.p_hat.shape[0], self.p_hat.shape[1]

    @cached_property
    def bound(self) -> float:
        """B of (3): the quantile of χ² with (number of cells − 1) degrees of freedom, over n."""
        return chi2_quantile(self.alpha, (self.cells or self.p_hat.size) - 1) / self.n

    def merged(self, groups: NDArray[np.int64]) -> Chi2Set:
        """Merge public values: ``groups`` is the new value of each old one.

        Merging contracts the χ² divergence. So with the same B the new set contains the merged version
        of every member of the old one. A mechanism that sees only the merged values, private against the
        new set, is therefore private against the old one.

        >>> F = Chi2Set([[0.1, 0.2, 0.1], [0.1, 0.4, 0.1]], 100, 0.05).merged(np.array([0, 1, 0]))
        >>> F.p_hat.round(3).tolist()
        [[0.2, 0.2], [0.2, 0.4]]
        """
        joined = np.zeros((self.shape[0], int(groups.max()) + 1))
        np.add.at(joined.T, groups, self.p_hat.T)
        return Chi2Set(joined, self.n, self.alpha, self.cells or self.p_hat.size)

    @cached_property
    def ball(self) -> Chi2Ball:
        """The same set as a ball of flat vectors."""
        return Chi2Ball(self.p_hat.ravel(), self.bound)

    @cached_property
    def secrets(self) -> Array:
        """P̂_s."""
        return self.p_hat.sum(axis=1)

    @cached_property
    def conditionals(self) -> tuple[Chi2Ball, ...]:
        """For every s the set of all P_{U|s}, P ∈ F: Lemma 8, (23)."""
        rows, steps = (row / row.sum() for row in self.p_hat), self.slack / self.secrets
        given = (row / row.sum() for row in rows)
        return tuple(map(Chi2Ball, given, bound_of(steps)))

    @cached_property
    def given(self) -> Array:
        """P̂_{u|s} as a matrix [s][u]."""
        return np.array([ball.center for ball in self.conditionals])

    @cached_property
    def slack(self) -> float:
        """t = √(B+1) − 1: members have Σ_s P̂_s √r_s ≤ 1 + t, r_s = Σ_u P̂_{u|s}²/P_{u|s}."""
        return self.bound / (math.sqrt(self.bound + 1) + 1)

    def lower_conditionals(self) -> Array:
        """Compute P^min_{u|s} as a matrix [s][u]: Lemmas 8 and 9."""
        return np.array([ball.lower() for ball in self.conditionals])

    def with_conditionals(self, changed: Mapping[int, tuple[Array, Any]]) -> Array:
        """Build the member in which some secrets have other conditional distributions than in p̂.

        P_s ∝ P̂_s √r_s makes them fit, by the Cauchy–Schwarz inequality.

        Args:
            changed: for a secret s its P_{U|s}, and √r_s − 1; together they use the slack.
        """
        given, mass = self.given.copy(), self.secrets.copy()
        for s, (row, step) in changed.items():
            given[s] = row
            mass[s] *= 1 + step
        return given * (mass / mass.sum())[:, None]

    def contains(self, p: Any) -> bool:
        """Return whether the joint distribution p is a member (up to rounding)."""
        return self.ball.contains(np.asarray(p, dtype=float).ravel())

    def sample(self, rng: np.random.Generator) -> Array:
        """Draw a member."""
        return self.ball.sample(rng).reshape(self.shape)


@dataclass(frozen=True, eq=False)
class AllDistributions:
    """All joint distributions of a1 secrets and a2 public values.

    Lopuhaä-Zwakenberg and Goseling 2021, Section III.
    """

    a1: int
    a2: int

    @property
    def shape(self) -> tuple[int, int]:
        """The number of secrets s and of public values u."""
        return self.a1, self.a2

    def contains(self, p: Any) -> bool:
        """Return whether p is a distribution of the right shape."""
        q = np.asarray(p, dtype=float)
        return q.shape == self.shape and bool((q >= 0).all()) and abs(q.sum() - 1) <= 1e-9

    def sample(self, rng: np.random.Generator) -> Array:
        """Draw uniformly from the simplex."""
        return rng.dirichlet(np.ones(self.a1 * self.a2)).reshape(self.shape)


@dataclass(frozen=True, eq=False)
class Single(Cleaned):
    """One known joint distribution, a matrix [s][u]."""

    p: Any

    def cleaned(self) -> dict[str, Any]:
        """Check the parameters."""
        p = validate.distribution("p", self.p, ndim=2)
        _check_secrets("p", p)
        return {"p": p}

    @property
    def shape(self) -> tuple[int, int]:
        """The number of secrets s and of public values u."""
        return self.p.shape[0], self.p.shape[1]

    def contains(self, p: Any) -> bool:
        """Return whether p is that distribution (up to rounding)."""
        return np.shape(p) == self.shape and bool(np.allclose(p, self.p, rtol=1e-9, atol=1e-12))

    def sample(self, rng: np.random.Generator) -> Array:
        """Return the distribution."""
        return self.p.copy()


def _check_secrets(name: str, table: Array) -> None:
    for s, row in enumerate(table):
        if not row.any():
            raise InvalidInputError(
                f"{name}[{s}] is all zero: nothing is known about that secret; leave its row out"
            )


SKIPPED = 1e3
"""What a skipped value counts for when groups are merged, in nats: more than all information."""


def entropy_keeping_groups(
    p_hat: Array, width: int, ranks: Sequence[Sequence[float]] = ()
) -> NDArray[np.int64]:
    """Group the public values so that ``width`` groups are left; return the group of each value.

    The loss of merging the groups g and h is Σ_s η(P_sg + P_sh) − η(P_sg) − η(P_sh) with η(p) = p log p.
    Of values with an order, neighbours alone are merged: of the pairs that skip the fewest values, the
    one that loses least. Groups are numbered in the order of their first values.

    Args:
        p_hat: the distribution [s][u].
        width: how many groups are left.
        ranks: for each column of u with an order the place of every value in it, 0, 1, …; not a number
            for a value without a place, such as an empty cell, which skips nothing.

    >>> p_hat = np.array([[0.1, 0.2, 0.1], [0.1, 0.4, 0.1]])
    >>> entropy_keeping_groups(p_hat, 2), entropy_keeping_groups(p_hat, 2, [[0, 1, 2]])
    (array([0, 1, 0]), array([0, 0, 1]))
    """
    columns = np.asarray(p_hat, float).T.copy()
    group = np.arange(len(columns))
    alive = np.ones(len(columns), bool)
    lowest = np.array(ranks, float).reshape(-1, len(columns))
    highest = lowest.copy()

    def worse(g: np.intp | int, others: Any) -> Array:
        """Return what is lost by merging g with others: a skipped value is more than any information."""
        up = lowest[:, others] - highest[:, g, None] - 1
        down = lowest[:, g, None] - highest[:, others] - 1
        skipped = np.nan_to_num(np.maximum(np.maximum(up, down), 0)).sum(axis=0)
        found: Array = _losses(columns[g], columns[others]) + SKIPPED * skipped
        return found

    losses = np.full((len(columns), len(columns)), np.inf)
    for g in range(len(columns)):
        losses[g, g + 1 :] = worse(g, slice(g + 1, None))
    for _ in range(len(columns) - width):
        first, second = np.unravel_index(int(losses.argmin()), losses.shape)
        columns[first] += columns[second]
        lowest[:, first] = np.fmin(lowest[:, first], lowest[:, second])
        highest[:, first] = np.fmax(highest[:, first], highest[:, second])
        group[group == second] = first
        alive[second] = False
        losses[second], losses[:, second] = np.inf, np.inf
        others = np.flatnonzero(alive)
        new = worse(first, others)
        below, above = others < first, others > first
        losses[others[below], first], losses[first, others[above]] = new[below], new[above]
    return np.unique(group, return_inverse=True)[1].astype(np.int64)


def _losses(column: Array, others: Array) -> Array:
    lost = _eta(column + others) - _eta(column) - _eta(others)
    # losses are rounded to so many digits before they are compared, so that all machines agree
    return np.round(lost.sum(axis=1), 12)


def _eta(p: Array) -> Array:
    return p * np.log(p, where=p > 0, out=np.zeros_like(p))
