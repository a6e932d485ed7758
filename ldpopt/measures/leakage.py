"""How much a mechanism leaks about a secret, whatever the prior, in nats (Wang et al. 2024).

``matrix[θ][θ'] = P(θ'|θ)`` and ``secrets`` gives the label g(θ) of each row θ. The worst-case priors of
the first two families put their mass on one θ_g per secret, so these measures are maxima over
selections (NP-hard in general). Branch and bound over price LPs brackets them: the two ends are equal on
small and medium sizes, where the search ends. For a certificate, solve
:class:`ldpopt.problems.StatisticLeakage`.
"""

from __future__ import annotations

import math
import sys
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from ldpopt.core import validate
from ldpopt.core.forms.selections import SelectionProgram
from ldpopt.core.limits import Limits
from ldpopt.core.mechanism import Channel
from ldpopt.core.validate import Array, InvalidInputError
from ldpopt.measures import row_selection
from ldpopt.measures.number_with_error import Estimate
from ldpopt.measures.row_selection import adjacency, matched_selection
from ldpopt.measures.row_selection_lp import Branching, PriceLP
from ldpopt.models.cones import worst_log_ratio
from ldpopt.models.secret_labels import read_matrix, selection_program

EFFORT = 1_000_000
"""Nodes of the branching times entries of the matrix: a minute, roughly."""
PROVEN = 1e-12
"""A selection within this share of what is proven is the largest, up to rounding."""
LISTED = 10_000
"""The most selections that are listed where rounding hides what they leave."""
ROUNDED = 1e-9
"""What is left by a selection is a value, not a bracket, if it is known up to this share."""


class LeakageBounds(NamedTuple):
    """A leakage lies between these, in nats; where they are equal, it is known up to rounding."""

    low: float
    high: float


def statistic_maximal_leakage(
    matrix: Any, secrets: Any, *, effort: float = EFFORT, time_limit: float | None = None
) -> LeakageBounds:
    """Compute the SML: the log of the largest Σ_θ' max_g P(θ'|θ_g) over selections.

    Wang et al. 2024, Proposition 1.

    The lower end is what a selection attains, the upper end what prices prove. They are equal if the
    search comes to its end.

    Args:
        matrix: P(θ'|θ), a row for each θ.
        secrets: the secret g(θ) of each row.
        effort: nodes of the search times entries of the matrix, at most.
        time_limit: the seconds after which the search stops; None for no limit.

    >>> low, high = statistic_maximal_leakage([[0.6, 0.4], [0.5, 0.5], [0.2, 0.8]], [0, 0, 1])
    >>> low == high, round(math.exp(low), 12)
    (True, 1.4)
    """
    form = selection_program(matrix, secrets)
    chosen, excess = _nearly_largest(form, effort, time_limit)
    cover = float(row_selection.covered(form.matrix, chosen).sum())
    return LeakageBounds(math.log(cover), math.log(cover + excess))


def maximal_leakage(matrix: Any) -> Estimate:
    """Compute log Σ_θ' max_θ P(θ'|θ), the leakage about every function of θ for the worst prior.

    Wang et al. 2024, Section IV; Issa et al. 2020. It is the largest min-entropy leakage as well, that
    of the uniform prior.

    >>> maximal_leakage([[1, 0], [0, 1]]) == math.log(2)
    True
    """
    known = isinstance(matrix, Channel)
    return Estimate(math.log(matrix.cover() if known else read_matrix(matrix).max(axis=0).sum()))


def sandwich(matrix: Any, secrets: Any) -> tuple[float, float]:
    """Bound the SML by maximal leakage from above, by that less log(most θ per secret) from below.

    Wang et al. 2024, Property 1.

    >>> low, high = sandwich([[0.6, 0.4], [0.5, 0.5], [0.2, 0.8]], [0, 0, 1])
    >>> low <= math.log(1.4) <= high + 1e-15
    True
    """
    groups = selection_program(matrix, secrets).groups
    most = float(maximal_leakage(matrix))
    return most - math.log(np.bincount(groups).max()), most


def infimum_leakage(
    matrix: Any, secrets: Any, *, effort: float = EFFORT, time_limit: float | None = None
) -> LeakageBounds:
    """Compute Π^inf = max over selections of −log Σ_θ' min_g P(θ'|θ_g): what the secret is *not*.

    Wang et al. 2024, Appendix K, in the closed form of the page on the paper. Let c_θ' be the least,
    over the secrets g, of the largest P(θ'|θ) with g(θ) = g. For every selection min_g P(θ'|θ_g) ≤ c_θ',
    as the secret that attains c_θ' has no larger entry. So, with W = min(P, c),

        Σ min_g P(θ'|θ_g) = Σ c − Σ max_g (c − W)(θ_g, θ'),

    and the selection that leaves least is one that covers most of c − W. If no selection covers more
    than m + x, none leaves less than Σ c − m − x. Rounding adds less than 1e-12 max c for each output to
    x. Where that is much of what is left, few selections are listed; of many, none leaves less than
    Σ min_θ P(θ'|θ).

    Args:
        matrix: P(θ'|θ), a row for each θ.
        secrets: the secret g(θ) of each row.
        effort: nodes of the search times entries of the matrix, at most.
        time_limit: the seconds after which the search stops; None for no limit.
    """
    dense = selection_program(matrix, secrets).matrix.toarray()
    form, scale = _lacking(matrix, secrets)
    if scale == 0:
        return LeakageBounds(math.inf, math.inf)
    chosen, excess = _nearly_largest(form, effort, time_limit)
    left = math.fsum(dense[chosen].min(axis=0))
    rounding = PROVEN * scale * form.matrix.shape[1]
    if excess == 0 and rounding <= ROUNDED * left:
        return LeakageBounds(_minus_log(left), _minus_log(left))
    if row_selection.count_selections(form) <= LISTED:
        listed = map(list, row_selection.selections(form))
        left = min(math.fsum(dense[rows].min(axis=0)) for rows in listed)
        return LeakageBounds(_minus_log(left), _minus_log(left))
    least = max(left - scale * excess - rounding, math.fsum(dense.min(axis=0)) * (1 - PROVEN))
    return LeakageBounds(_minus_log(left), _minus_log(least))


def _lacking(matrix: Any, secrets: Any) -> tuple[SelectionProgram, float]:
    """Build the program of (c − min(P, c))/scale, and return the scale, the largest c."""
    form = selection_program(matrix, secrets)
    dense = form.matrix.toarray()
    cap = _extremes(form)[1].min(axis=0)
    scale = float(cap.max())
    lacking = (cap - np.minimum(dense, cap)) / (scale or 1.0)
    return SelectionProgram(csr_array(lacking), form.groups), scale


def pointwise_leakage(matrix: Any, secrets: Any) -> float:
    """Compute Π̃: the gain in guessing the secret after the worst output, for the worst prior.

    Wang et al. 2024, Appendix K, corrected: the worst prior is uniform on a *subset* of the secrets, so
    Π̃ = log max over θ', g*, j of j x*/(x* + the j − 1 smallest others), where x* is the largest
    P(θ'|θ) of g* and the others count with their smallest.

    >>> round(math.exp(pointwise_leakage([[0.75, 0.25], [0.25, 0.75]], [0, 1])), 12)
    1.5
    """
    low, high = _extremes(selection_program(matrix, secrets))
    best, sizes = 1.0, np.arange(1, len(low) + 1)
    for g in range(len(low)):
        others = np.sort(np.delete(low, g, axis=0), axis=0)
        totals = high[g] + np.vstack([np.zeros_like(high[g]), np.cumsum(others, axis=0)])
        possible = high[g] > 0
        ratios = sizes[:, None] * high[g][possible] / totals[:, possible]
        best = max(best, float(ratios.max(initial=1.0)))
    return math.log(best)


def pointwise_infimum_leakage(matrix: Any, secrets: Any) -> float:
    """Compute Π̃^inf: how far a secret is ruled out after the worst output.

    Wang et al. 2024, Proposition 7, sharpened: the worst prior puts nearly all mass on the likeliest
    other secret, so Π̃^inf alone *is* the indistinguishability level.
    """
    return indistinguishability(matrix, secrets)


def indistinguishability(matrix: Any, secrets: Any) -> float:
    """Find the smallest μ with P(θ'|θ1) ≤ e^μ P(θ'|θ2) wherever g(θ1) ≠ g(θ2).

    Wang et al. 2024, (10).

    >>> indistinguishability([[1, 0], [1, 0], [0.5, 0.5]], ["a", "a", "b"])
    inf
    """
    low, high = _extremes(selection_program(matrix, secrets))
    return max(0.0, worst_log_ratio(high, low)) if len(low) > 1 else 0.0


def _nearly_largest(
    form: SelectionProgram, effort: float, time_limit: float | None
) -> tuple[row_selection.Selection, float]:
    """Find a selection, and by how much at most another covers more (0 if proven up to rounding)."""
    if row_selection.is_deterministic(form.matrix):
        return largest_selection(form), 0.0
    nodes = max(1, int(min(effort / max(form.matrix.nnz, 1000), sys.maxsize)))
    branching = Branching(Limits.within(time_limit, gap=PROVEN), nodes)
    best, _ = branching.run(form)
    excess = branching.bound - branching.most
    return best, excess if excess > PROVEN * branching.most else 0.0


def _minus_log(left: float) -> float:
    return max(0.0, -math.log(left)) if left > 0 else math.inf


def additive_noise_leakage(
    noise: Any, cells: ArrayLike, secrets: Any, edges: ArrayLike
) -> LeakageBounds:
    """Compute the SML of releasing θ + noise for continuous θ, by discretisation.

    Wang et al. 2024, Appendix L.

    Proposition 8: e^Π is the supremum over one θ_g per secret of ∫ sup_g f(θ'|θ_g) dθ'. Below: the
    midpoints of the cells with the output rounded to the bins, by post-processing. Above: on every bin
    the density is at most its supremum over the cell and the bin.

    Args:
        noise: a frozen scipy distribution with a density symmetric around 0 that falls to both sides.
        cells: intervals [low, high] that cover the parameters.
        secrets: the secret of each cell. A cell may hold many secrets (θ itself, say), if no other
            cell has its label.
        edges: the borders of the output's bins, reaching beyond all cells.
    """
    intervals = validate.array("cells", cells, 2)
    borders = validate.array("edges", edges, 1)
    if intervals.shape[1] != 2 or (intervals[:, 1] < intervals[:, 0]).any():
        raise InvalidInputError(
            f"cells must be intervals [low, high] with low <= high, not {cells!r:.80}"
        )
    if (np.diff(borders) <= 0).any() or borders[0] > intervals.min() or borders[-1] < intervals.max():
        raise InvalidInputError(f"edges must increase and reach beyond all cells, not be {edges!r:.80}")
    if len(labels := list(secrets)) != len(intervals):
        raise InvalidInputError(
            f"secrets must be {len(intervals)} labels, one per cell, not {len(labels)}"
        )
    low, high = intervals[:, :1], intervals[:, 1:]
    cumulative = noise.cdf(borders[None, :] - (low + high) / 2)
    ends = np.zeros((len(low), 1)), np.ones((len(low), 1))
    rounded = np.diff(np.hstack([ends[0], cumulative, ends[1]]), axis=1)
    distance = np.maximum(np.maximum(borders[:-1] - high, low - borders[1:]), 0.0)
    inner = noise.pdf(distance) * np.diff(borders)
    tails = noise.cdf(borders[0] - low), noise.sf(borders[-1] - high)
    above = np.hstack([tails[0], inner, tails[1]])
    below = selection_program(rounded, labels)
    cover = row_selection.covered(below.matrix, largest_selection(below)).sum()
    most = PriceLP(SelectionProgram(csr_array(above), below.groups)).solve().bound
    return LeakageBounds(math.log(cover), math.log(most))


def largest_selection(form: SelectionProgram) -> row_selection.Selection:
    """Find a selection with a large Σ_y max_g W[θ_g, y]: the largest if the branching finishes."""
    if row_selection.is_deterministic(form.matrix):
        from scipy.sparse.csgraph import maximum_bipartite_matching

        matching = maximum_bipartite_matching(adjacency(form), perm_type="column")
        return matched_selection(form, matching.astype(np.int64))
    return _nearly_largest(form, EFFORT, None)[0]


def _extremes(form: SelectionProgram) -> tuple[Array, Array]:
    """Compute the smallest and the largest P(θ'|θ) of each secret (rows) and output (columns)."""
    dense = form.matrix.toarray()
    parts = row_selection.members(form)
    low = np.array([dense[part].min(axis=0) for part in parts])
    high = np.array([dense[part].max(axis=0) for part in parts])
    return low, high
