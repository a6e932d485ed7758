"""Histogram mechanisms whose holder misjudges which categories are feasible.

Wang et al. 2024, Appendix H. The holder knows d̂ categories (d̂₀ feasible, d̂₁ not) and misses k
feasible ones. Data whose records fall into the missed categories B are released over the known
categories and B, which betrays B. Everything depends on a data set through its secret, the number of
records in one known category, and B alone, and on a release through its secret and the missed
categories S that occur in it.

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
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array, csr_array, hstack, vstack
from scipy.special import gammaln

from ldpopt.core import validate
from ldpopt.core.errors import SolverError
from ldpopt.core.validate import Array, Whole
from ldpopt.measures.leakage import LeakageBounds
from ldpopt.mechanisms.histograms import HistogramQuantization, HistogramRandomizedResponse, log_count

MOST_GROUPS = 48
"""Bins beyond which neighbours are bounded together."""


def log_reaching(tau: int, known: int, reached: int) -> float:
    """Compute the log of the number of histograms in which no reached category is empty.

    The histograms are over known + reached categories.

    Args:
        tau: the number τ of records.
        known: how many categories may be empty.
        reached: how many may not.
    """
    if known + reached == 0:
        return 0.0 if tau == 0 else -math.inf
    if not 1 <= known + reached <= tau + known:
        return -math.inf
    return math.lgamma(tau + known) - math.lgamma(known + reached) - math.lgamma(tau - reached + 1)


def log_all(tau: int, d: int) -> float:
    """Compute the log of the number of histograms, also over no category at all."""
    return log_count(tau, d) if d > 0 else (0.0 if tau == 0 else -math.inf)


@dataclass(frozen=True)
class MisspecifiedSupport:
    """How many categories the holder knows (feasible or not), and how many feasible ones are missed."""

    tau: int
    known: int
    missed: int

    def __post_init__(self) -> None:
        HistogramQuantization(self.tau, self.known, 1)
        validate.whole_number("missed", self.missed, 0)

    # ---------------------------------------------------------------- randomised response

    def response_bounds(self, epsilon: float) -> LeakageBounds:
        """Bound the SML of randomised response, proven for any number of missed categories."""
        HistogramRandomizedResponse(self.tau, self.known, epsilon)
        sizes = range(self.missed + 1)
        extra = _log_minus_1(epsilon)
        weights = [float(np.logaddexp(log_count(self.tau, self.known + b), extra)) for b in sizes]
        own = np.exp(extra - np.array(weights))  # the weights are log (N_B + E − 1)
        reach = reach_matrix([log_reaching(self.tau, self.known, i) for i in sizes], weights)
        secrets = self.tau + 1
        free = max(secrets - self.missed, 0)
        low, high = cover_bounds(reach, secrets, free=free, own=own)
        # the secrets that cannot choose every set keep B = ∅
        return LeakageBounds(math.log(low + (secrets - free) * own[0]), math.log(high))

    def response_upper(self, epsilon: float) -> float:
        """Bound the SML of randomised response by Proposition 4, corrected.

        The correction is + E − 1 in the first denominator.
        """
        s, k, d, tau = self.tau + 1, self.missed, self.known, self.tau
        few, many = log_count(tau, d), log_count(tau, d + k)
        extra = _log_minus_1(epsilon)
        first = s * math.exp(extra - np.logaddexp(few, extra))
        first += math.exp(many - np.logaddexp(many, extra)) * (1 + tau / (tau + d - 1)) ** k
        second = 1 + s - s * (d / (tau + d + k - 1)) ** k * math.exp(many - np.logaddexp(many, extra))
        return math.log(min(first, second))

    # ---------------------------------------------------------------- quantisation

    def quantisation_bounds(self, interval: int) -> LeakageBounds:
        """Bound the SML of quantisation, proven for any number of missed categories.

        A bin that releases more records outside the secret's category covers more: taking a random
        record out of a uniform histogram leaves a uniform one, whatever its categories, so a smaller
        release is a post-processing of a larger. Where the bins are many, neighbours are thus
        bounded together.
        """
        mechanism = HistogramQuantization(self.tau, self.known, interval)
        lows = np.arange(0, self.tau + 1, interval)
        whole = lows + interval <= self.tau + 1 - self.missed
        total_low = total_high = 0.0
        groups = np.array_split(lows[whole], min(MOST_GROUPS, max(1, int(whole.sum()))))
        for group in [g for g in groups if len(g)] + [lows[[j]] for j in np.flatnonzero(~whole)]:
            first, last = int(group[0]), int(group[-1])
            secrets = min(interval, self.tau + 1 - first)
            free = min(max(self.tau + 1 - self.missed - last, 0), secrets)
            above = self._bin_bounds(mechanism.released_value(first), secrets, free)
            below = above
            if first != last:
                below = self._bin_bounds(mechanism.released_value(last), secrets, free)
            total_low += len(group) * max(1.0, below[0])
            total_high += len(group) * above[1]
        return LeakageBounds(math.log(total_low), math.log(total_high))

    def _bin_bounds(self, released: int, secrets: int, free: int) -> tuple[float, float]:
        rest, known = self.tau - released, self.known - 1
        sizes = range(self.missed + 1)
        reach = reach_matrix(
            [log_reaching(rest, known, i) for i in sizes], [log_all(rest, known + b) for b in sizes]
        )
        return cover_bounds(reach, secrets, free=free)

    def quantisation_upper(self, interval: int) -> float:
        """Bound the SML of quantisation by Proposition 4."""
        s, k, d, tau = self.tau + 1, self.missed, self.known, self.tau
        bins = HistogramQuantization(tau, d, interval).bins
        first = bins * (1 + tau / (tau + d - 2)) ** k
        second = bins + s - s * ((d - 1) / (tau + d + k - 2)) ** k
        return math.log(min(first, second))

    def quantisation_distortion(self, interval: int) -> tuple[float, float]:
        """Bound the distortion as in Appendix H-D, corrected as in Theorem 4."""
        few = HistogramQuantization(self.tau, self.known, interval)
        many = HistogramQuantization(self.tau, self.known + self.missed, interval)
        return few.distortion(), many.distortion()

    def response_distortion(self, epsilon: float) -> tuple[float, float]:
        """Bound the distortion as in Appendix H-D."""
        few = HistogramRandomizedResponse(self.tau, self.known, epsilon)
        many = HistogramRandomizedResponse(self.tau, self.known + self.missed, epsilon)
        return few.distortion(), many.distortion()


def _log_minus_1(epsilon: float) -> float:
    """Compute log (e^ε − 1)."""
    return epsilon + math.log(-math.expm1(-epsilon))


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
    gains = [own + np.maximum(reach - ratios * u, 0).sum(axis=1) for u in trials]
    high = min(float(u.sum() + secrets * gain.max()) for u, gain in zip(trials, gains, strict=True))
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


def _rounded(shares: Array, count: int) -> Whole:
    """Round to whole numbers that sum to count, in about these proportions."""
    exact = shares / shares.sum() * count
    sizes: Whole = np.floor(exact).astype(np.int64)
    for largest in np.argsort(sizes - exact, kind="stable")[: count - int(sizes.sum())]:
        sizes[largest] += 1
    return sizes


def _average(reach: Array, ratios: Array, own: Array, sizes: Whole) -> float:
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
