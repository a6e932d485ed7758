"""Leakage when only the number of missed categories matters: bounds without listing their subsets.

Every secret chooses a set B of the k missed categories; a release shows a subset S of B, and
C(b, i) sets S of size i share the probability ``reach[b, i]``, b = |B|. The coverage of a choice is
Σ_S max over the secrets of P(S given B), plus what each secret adds by itself, ``own[b]``; its
logarithm is the leakage. The largest coverage is a selection program of 2^k columns, but symmetric:

* Above: prices v_S bound it by Σ v_S + n max_B (own + Σ_S (P(S given B) − v_S)⁺) for n secrets. By
  symmetry the best prices depend on |S| alone, so k + 1 numbers u_i = C(k, i) v_i are a small LP.
* Below: sets drawn at random, as many of each size as the LP says, have an *average* coverage in
  closed form, so some choice has at least that. Disjoint sets of equal size have a coverage in closed
  form, too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import coo_array, csr_array, hstack, vstack
from scipy.special import gammaln

from ldpopt.core.errors import SolverError
from ldpopt.core.validate import Array


def cover_bounds(
    reach: Array, secrets: int, *, free: int | None = None, own: Array | None = None
) -> tuple[float, float]:
    """Bound the largest coverage: what is reached at least, and at most.

    Args:
        reach: ``reach[b, i]``, the probability that data in b missed categories show i of them.
        secrets: how many secrets choose a set.
        free: how many of them can choose any set; all if not given. The lower bound ignores the others.
        own: what a secret adds by itself when it chooses b categories; nothing if not given.

    >>> sure = np.eye(3)  # whatever the data fall into is seen: 4 secrets show all 4 subsets of 2
    >>> low, high = cover_bounds(sure, 4)
    >>> round(low, 9), round(high, 9)
    (4.0, 4.0)
    """
    k = len(reach) - 1
    own = np.zeros(k + 1) if own is None else own
    ratios = subset_ratios(k)
    prices, shares = _best_prices(reach, ratios, own, secrets)
    trials = (prices, np.zeros(k + 1))
    high = min(float(u.sum() + secrets * _gains(reach, ratios, own, u).max()) for u in trials)
    free = secrets if free is None else free
    some = _rounded(shares, free)
    none = np.zeros(k + 1, np.int64)
    none[0] = free
    low = max(_average(reach, ratios, own, sizes) for sizes in (some, none))
    return min(max(low, _disjoint(reach, own, free)), high), high


def reach_matrix(ways: Sequence[float], among: Sequence[float]) -> Array:
    """Compute how likely data in b missed categories show i of them: C(b, i) e^ways[i] / e^among[b].

    Args:
        ways: log of the number of releases that show i given categories and no other missed one.
        among: log of the number of releases that are possible with b categories.

    >>> reach_matrix([0.0, 0.0], [0.0, math.log(2)]).round(9).tolist()
    [[1.0, 0.0], [0.5, 0.5]]
    """
    b, i = np.nonzero(np.tri(len(ways), dtype=bool))
    subsets = gammaln(b + 1) - gammaln(i + 1) - gammaln(b - i + 1)
    reach = np.zeros((len(ways), len(ways)))
    reach[b, i] = np.exp(subsets + np.asarray(ways)[i] - np.asarray(among)[b])
    return reach


def subset_ratios(k: int) -> Array:
    """Compute C(b, i)/C(k, i): the share of the i-subsets of k things that lie in a given b of them.

    >>> subset_ratios(2).tolist()
    [[1.0, 0.0, 0.0], [1.0, 0.5, 0.0], [1.0, 1.0, 1.0]]
    """
    b, i = np.meshgrid(np.arange(k + 1), np.arange(k + 1), indexing="ij")
    inside = i <= b
    i = np.where(inside, i, 0)
    logs = gammaln(b + 1) - gammaln(b - i + 1) - gammaln(k + 1) + gammaln(k - i + 1)
    return np.where(inside, np.exp(logs), 0.0)


def _gains(reach: Array, ratios: Array, own: Array, prices: Array) -> Array:
    """Compute what a secret gains above the prices, by the size of its set."""
    return own + np.maximum(reach - ratios * prices, 0).sum(axis=1)


def _best_prices(reach: Array, ratios: Array, own: Array, secrets: int) -> tuple[Array, Array]:
    """Minimise Σ u_i + n max_b (own_b + Σ_i z_bi) with z_bi ≥ reach_bi − ratio_bi u_i; and the dual.

    All is multiplied by n, so that the tolerances of the LP are about the coverage. Whatever u ≥ 0
    comes out proves a bound.
    """
    k = len(reach) - 1
    b, i = np.nonzero(np.tri(k + 1, dtype=bool))
    cells, rows = len(b), np.arange(len(b))
    priced = coo_array((secrets * ratios[b, i], (rows, i)), shape=(cells, k + 1))
    each = coo_array((np.ones(cells), (rows, rows)), shape=(cells, cells))
    above = hstack([-priced, csr_array((cells, 1)), -each])
    sums = coo_array((np.ones(cells), (b, rows)), shape=(k + 1, cells))
    most = hstack([csr_array((k + 1, k + 1)), csr_array(-np.ones((k + 1, 1))), sums])
    rows_of_both: Any = csr_array(vstack([most, above]))
    found = linprog(
        np.concatenate([np.ones(k + 2), np.zeros(cells)]),
        A_ub=rows_of_both,
        b_ub=np.concatenate([-secrets * own, -secrets * reach[b, i]]),
        method="highs",
    )
    if found.x is None:
        raise SolverError(f"HiGHS found no prices: {found.message}")
    return np.maximum(found.x[: k + 1], 0), np.maximum(-found.ineqlin.marginals[: k + 1], 0)


def _rounded(shares: Array, count: int) -> NDArray[np.int64]:
    """Round to whole numbers that sum to count, in about these proportions."""
    exact = shares / shares.sum() * count
    sizes: NDArray[np.int64] = np.floor(exact).astype(np.int64)
    for largest in np.argsort(sizes - exact, kind="stable")[: count - int(sizes.sum())]:
        sizes[largest] += 1
    return sizes


def _average(reach: Array, ratios: Array, own: Array, sizes: NDArray[np.int64]) -> float:
    """Average the coverage of ``sizes[b]`` random sets of b categories, or of all if there are no more.

    S of size i is shown best by the smallest set around it: each size counts only if no smaller one
    has a set around S.
    """
    k = len(reach) - 1
    total, missed = float(sizes @ own), np.ones(k + 1)
    for b in range(k + 1):
        if sizes[b] == 0:
            continue
        if sizes[b] >= math.comb(k, b):
            hit = (ratios[b] > 0).astype(np.float64)
        else:
            with np.errstate(divide="ignore"):
                hit = -np.expm1(sizes[b] * np.log1p(-ratios[b]))
        inside = ratios[b] > 0
        total += float((reach[b, inside] / ratios[b, inside] * missed[inside] * hit[inside]).sum())
        missed *= 1 - hit
    return total


def _disjoint(reach: Array, own: Array, count: int) -> float:
    """Compute the coverage of sets without a common category, which share the empty S alone.

    Wang et al. 2024, proof of Proposition 5.
    """
    if count == 0:
        return 0.0
    size = (len(reach) - 1) // count
    return float(count * own[size] + reach[size, 0] + count * reach[size, 1:].sum())
