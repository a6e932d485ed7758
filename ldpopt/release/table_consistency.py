"""Compare the counts of a table with those of a design: can the mechanism have been made for it?

A mechanism that is private for a confidence set protects the rows of a table whose distribution lies in
the set. Nobody knows that distribution; but the counts of the table may contradict that it lies there,
as they do if the labels of the design have been exchanged.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ldpopt.core.number_text import at_least, at_most
from ldpopt.core.quantiles import chi2_quantile, chi2_tail, hypergeometric_tail
from ldpopt.core.validate import Array, Whole
from ldpopt.models.uncertainty_sets import Chi2Set
from ldpopt.release.designed import Design
from ldpopt.release.designing import AnyDesign

CONTRADICTION = 1e-6
"""Below this p-value the table contradicts the design."""
LEAST_EXPECTED = 5.0
"""Cells with a smaller expected count are taken together: the usual rule for χ² tests."""


class Agreement(NamedTuple):
    """How the counts of a table compare with those of a design.

    Attributes:
        rows: the rows of the table.
        distance: n Σ (p̂ − q)²/q for its frequencies q; the set holds those up to ``radius``.
        radius: the 1 − α quantile of χ².
        statistic: the statistic of the χ² test that table and design are samples of one distribution.
        degrees: its degrees of freedom; 0 if there are too few rows for it.
        p_value: by the χ² distribution; with too few rows that of the rarest count, which is exact.
        alpha: the significance level of the design.
    """

    rows: int
    distance: float
    radius: float
    statistic: float
    degrees: int
    p_value: float
    alpha: float

    @property
    def contradicts(self) -> bool:
        """Whether table and design are very unlikely to be samples of one distribution."""
        return self.p_value < CONTRADICTION

    @property
    def inside(self) -> bool:
        """Whether the frequencies of the table lie in the confidence set of the design."""
        return self.distance <= self.radius

    @property
    def doubtful(self) -> bool:
        """Whether the test at the design's own α rejects that they are samples of one distribution."""
        return self.p_value < self.alpha

    def in_words(self) -> str:
        """Return the numbers in one sentence."""
        where, distance = ("inside", at_most) if self.inside else ("outside", at_least)
        said = (
            f"the frequencies of its {self.rows:,} rows lie {where} the confidence set (χ² "
            f"{distance(self.distance)}, the set ends at {self.radius:.4g})"
        )
        if self.degrees == 0:
            return (
                f"{said}; they are too few for a χ² test; the exact test of each count, that table and "
                f"design come from one distribution, gives p = {self.p_value:.2g}"
            )
        return (
            f"{said}; the χ² test that table and design come from one distribution gives "
            f"{self.statistic:.4g} with {self.degrees} degrees of freedom, p = {self.p_value:.2g}"
        )


def agreement(made: AnyDesign, counts: Any) -> Agreement | None:
    """Compare the counts [s][u] of a table with those of the design.

    The answer is None if the certified promise holds for every distribution of the data, as no table
    contradicts it then, and for a public design, which has no counts.

    >>> from ldpopt.release.designing import design
    >>> asked = {"epsilon": 1.0, "robust": "chi2", "method": "ir"}
    >>> made = design("adult:sex-race", secret="sex", public="race", **asked)
    >>> found = agreement(made, made.question.counts)
    >>> found.distance, found.p_value
    (0.0, 1.0)
    >>> agreement(made, made.question.counts[::-1]).contradicts
    True
    """
    if not isinstance(made, Design):
        return None
    proven = made.result.problem.subject(made.compared(made.uncertainty)[0]).uncertainty
    if not isinstance(proven, Chi2Set):
        return None
    table = np.asarray(counts, dtype=np.float64).ravel()
    p, n = made.question.p_hat.ravel(), proven.n
    rows, cells = float(table.sum()), p.size
    q = table / rows
    test = homogeneity(n * p, table)
    return Agreement(
        rows=int(rows),
        distance=_distance(p, q, n),
        radius=chi2_quantile(proven.alpha, cells - 1),
        statistic=test.statistic,
        degrees=test.degrees,
        p_value=test.p_value,
        alpha=proven.alpha,
    )


def _distance(p: Array, q: Array, n: float) -> float:
    """Compute n Σ (p − q)²/q, infinite if p has mass where q has none.

    Lopuhaä-Zwakenberg and Goseling 2021, (3).
    """
    if (p[q == 0] > 0).any():
        return float("inf")
    seen = q > 0
    return float(n * ((p[seen] - q[seen]) ** 2 / q[seen]).sum())


class Homogeneity(NamedTuple):
    """Pearson's test that two tables of counts are samples of one distribution.

    Attributes:
        statistic: the statistic of the test, rare cells taken together.
        degrees: its degrees of freedom; 0 if there are too few rows for it.
        p_value: by the χ² distribution; with too few rows see :func:`_rarest`.
    """

    statistic: float
    degrees: int
    p_value: float


def homogeneity(first: Any, second: Any) -> Homogeneity:
    """Test whether two tables of counts are samples of one distribution, rare cells taken together.

    >>> homogeneity([[30, 40]], [[30, 40]])
    Homogeneity(statistic=0.0, degrees=1, p_value=1.0)
    """
    cells = [np.asarray(counts, dtype=np.float64).ravel() for counts in (first, second)]
    n, rows = (part.sum() for part in cells)
    groups = _groups(min(n, rows) * sum(cells) / (n + rows))
    one, other = (np.bincount(groups, weights=part) for part in cells)
    both = (one + other) / (n + rows)
    statistic = float((((one - n * both) ** 2 / n + (other - rows * both) ** 2 / rows) / both).sum())
    degrees = len(both) - 1
    return Homogeneity(statistic, degrees, chi2_tail(statistic, degrees) if degrees else _rarest(*cells))


def _rarest(first: Array, second: Array) -> float:
    """Bound the probability that some cell is as far from what is expected, however few rows there are.

    If both tables are samples of one distribution, then of the rows of a cell in both tables any are as
    likely to be those of the smaller one: their number is hypergeometric. Both tails of all cells count.

    >>> _rarest(np.array([429.0, 11.0]), np.array([0.0, 11.0])) < 1e-15
    True
    """
    few, many = sorted((np.rint(first).astype(int), np.rint(second).astype(int)), key=np.sum)
    drawn, size = int(few.sum()), int(few.sum() + many.sum())
    tails = (
        tail
        for hits, other in zip(few.tolist(), many.tolist(), strict=True)
        for tail in (
            hypergeometric_tail(hits, drawn, hits + other, size),
            hypergeometric_tail(drawn - hits, drawn, size - hits - other, size),
        )
    )
    return min(1.0, 2 * len(few) * min(tails))


def _groups(expected: Array) -> Whole:
    """Give every cell a number; cells that are taken together get the same one.

    The rarest cells are taken together, as few as suffice.
    """
    order = np.argsort(expected, kind="stable")
    reached = np.cumsum(expected[order])
    rare = int((expected < LEAST_EXPECTED).sum())
    while 0 < rare < len(order) and reached[rare - 1] < LEAST_EXPECTED:
        rare += 1
    groups = np.empty(len(order), dtype=np.int64)
    groups[order] = np.maximum(np.arange(len(order)) - max(rare - 1, 0), 0)
    return groups
