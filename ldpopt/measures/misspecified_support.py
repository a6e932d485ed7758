"""Histogram mechanisms whose holder misjudges which categories are feasible.

Wang et al. 2024, Appendix H. The holder knows d̂ categories (d̂₀ feasible, d̂₁ not) and misses k
feasible ones. Data whose records fall into the missed categories B are released over the known
categories and B, which betrays B. Everything depends on a data set through its secret and B alone, and
on a release through its secret and the missed categories S that occur in it: the leakage is a small
selection program, one B per secret. The secret is the number of records in one known category. For many
missed categories, whose subsets cannot be listed, :mod:`ldpopt.measures.missed_category_leakage` bounds
the leakage from both sides.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from scipy.sparse import csr_array

from ldpopt.core import validate
from ldpopt.core.errors import InvalidInputError
from ldpopt.core.forms.selection_program import SelectionProgram
from ldpopt.core.limits import Limits
from ldpopt.measures import leakage_selection
from ldpopt.measures.leakage import LeakageBounds
from ldpopt.measures.leakage_selection_lp import Branching
from ldpopt.measures.missed_category_leakage import cover_bounds, reach_matrix
from ldpopt.mechanisms.histograms import HistogramQuantization, HistogramRandomizedResponse, log_count

MOST_MISSED = 12
MOST_GROUPS = 48


def log_binomial(n: int, r: int) -> float:
    """Compute log C(n, r), −inf where it is 0."""
    if not 0 <= r <= n:
        return -math.inf
    return math.lgamma(n + 1) - math.lgamma(r + 1) - math.lgamma(n - r + 1)


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
    return log_binomial(tau + known - 1, known + reached - 1)


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

    @cached_property
    def supports(self) -> list[frozenset[int]]:
        """The subsets of the missed categories, smallest first."""
        if self.missed > MOST_MISSED:
            raise InvalidInputError(
                f"the subsets of {self.missed} missed categories are too many for an exact leakage "
                f"(at most {MOST_MISSED}); bounds have no limit"
            )
        sizes = range(self.missed + 1)
        return [frozenset(c) for i in sizes for c in combinations(range(self.missed), i)]

    def possible(self, secret: int) -> list[frozenset[int]]:
        """List the missed categories that data with this secret can fall into."""
        return [B for B in self.supports if len(B) <= self.tau - secret]

    # ---------------------------------------------------------------- randomised response

    def response_program(self, epsilon: float) -> SelectionProgram:
        """Build a row per secret and B; a column per S, and one per secret for the data themselves.

        With E = e^ε and N_B histograms over the known categories and B, a release other than the data
        has probability 1/(N_B + E − 1), the data E times that.
        """
        HistogramRandomizedResponse(self.tau, self.known, epsilon)
        rows, groups = [], []
        for secret in range(self.tau + 1):
            for B in self.possible(secret):
                row = np.zeros(len(self.supports) + self.tau + 1)
                row[: len(self.supports)] = [self._response(S, B, epsilon) for S in self.supports]
                row[len(self.supports) + secret] = self._kept(len(B), epsilon)
                rows.append(row)
                groups.append(secret)
        return SelectionProgram(csr_array(np.array(rows)), np.array(groups))

    def _response(self, S: frozenset[int], B: frozenset[int], epsilon: float) -> float:
        if not S <= B:
            return 0.0
        count = log_reaching(self.tau, self.known, len(S))
        return math.exp(count - self._log_weight(len(B), epsilon))

    def _kept(self, size: int, epsilon: float) -> float:
        return math.exp(_log_minus_1(epsilon) - self._log_weight(size, epsilon))

    def _log_weight(self, size: int, epsilon: float) -> float:
        """Compute log (N_B + E − 1)."""
        return float(np.logaddexp(log_count(self.tau, self.known + size), _log_minus_1(epsilon)))

    def response_sml(self, epsilon: float) -> LeakageBounds:
        """Compute the SML of randomised response, exactly where the branching closes.

        Elsewhere these are proven bounds.

        A secret adds most by itself with B = ∅, and two secrets need not share a B, so beyond 2^k
        secrets all others keep B = ∅; where secrets allow every B, this leaves 2^k groups.
        """
        secrets, flexible = self.tau + 1, len(self.supports)
        if self.tau + 1 - self.missed <= flexible:
            return _bounded(self.response_program(epsilon), 0.0)
        supports = self.supports
        shared = [[self._response(S, B, epsilon) for S in supports] for B in supports]
        private = np.kron(np.eye(flexible), [[self._kept(len(B), epsilon)] for B in supports])
        matrix = np.hstack([np.tile(shared, (flexible, 1)), private])
        form = SelectionProgram(csr_array(matrix), np.repeat(np.arange(flexible), len(supports)))
        return _bounded(form, (secrets - flexible) * self._kept(0, epsilon))

    def response_bounds(self, epsilon: float) -> LeakageBounds:
        """Bound the SML of randomised response, proven for any number of missed categories."""
        HistogramRandomizedResponse(self.tau, self.known, epsilon)
        own = np.array([self._kept(b, epsilon) for b in range(self.missed + 1)])
        sizes = range(self.missed + 1)
        reach = reach_matrix(
            [log_reaching(self.tau, self.known, i) for i in sizes],
            [self._log_weight(b, epsilon) for b in sizes],
        )
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

    def quantisation_programs(self, interval: int) -> list[SelectionProgram]:
        """Build one program per bin of secrets: a row per secret and B, a column per S.

        A release of the bin's secret R over the known categories and B is uniform.
        """
        mechanism = HistogramQuantization(self.tau, self.known, interval)
        lows = range(0, self.tau + 1, interval)
        return [self._bin_program(low, low + interval, mechanism.released_value(low)) for low in lows]

    def _quantised(self, S: frozenset[int], B: frozenset[int], released: int) -> float:
        if not S <= B:
            return 0.0
        rest = self.tau - released
        count = log_reaching(rest, self.known - 1, len(S))
        return math.exp(count - log_all(rest, self.known - 1 + len(B)))

    def quantisation_sml(self, interval: int) -> LeakageBounds:
        """Compute the SML of quantisation.

        The bins release different secrets, so their coverages add up.
        """
        mechanism = HistogramQuantization(self.tau, self.known, interval)
        if interval >= len(self.supports) and self.tau + 1 - self.missed >= len(self.supports):
            return self._long_bins(mechanism)
        parts = [_coverage(form) for form in self.quantisation_programs(interval)]
        low, high = (math.log(sum(part[i] for part in parts)) for i in (0, 1))
        return LeakageBounds(low, high)

    def _long_bins(self, mechanism: HistogramQuantization) -> LeakageBounds:
        """Cover the bins with a secret for every B: the best B for S is S itself.

        The last bins are covered one by one.
        """
        total_low = total_high = 0.0
        for low in range(0, self.tau + 1, mechanism.interval):
            high = min(low + mechanism.interval, self.tau + 1)
            free = [g for g in range(low, high) if self.tau - g >= self.missed]
            if len(free) >= len(self.supports):
                part = self._every_support(mechanism.released_value(low))
                total_low, total_high = total_low + part, total_high + part
            else:
                # more secrets than subsets add nothing; the smaller ones allow more
                last = min(high, low + len(self.supports))
                few, many = _coverage(self._bin_program(low, last, mechanism.released_value(low)))
                total_low, total_high = total_low + few, total_high + many
        return LeakageBounds(math.log(total_low), math.log(total_high))

    def _bin_program(self, low: int, high: int, released: int) -> SelectionProgram:
        rows, groups = [], []
        for g, secret in enumerate(range(low, min(high, self.tau + 1))):
            for B in self.possible(secret):
                rows.append([self._quantised(S, B, released) for S in self.supports])
                groups.append(g)
        return SelectionProgram(csr_array(np.array(rows)), np.array(groups))

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

    def _every_support(self, released: int) -> float:
        rest = self.tau - released
        total = 0.0
        for i in range(self.missed + 1):
            count = log_reaching(rest, self.known - 1, i) - log_all(rest, self.known - 1 + i)
            total += math.comb(self.missed, i) * math.exp(count)
        return total

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


def _coverage(form: SelectionProgram) -> tuple[float, float]:
    """Bound the largest coverage: what is reached, and what is proven."""
    start = leakage_selection.improve(form, leakage_selection.greedily(form))
    branching = Branching(Limits(gap=1e-10), 300)
    best, tree = branching.run(form, start)
    reached = float(leakage_selection.covered(form.matrix, best).sum())
    return reached, max(reached, leakage_selection.coverage_bound(form, tree))


def _bounded(form: SelectionProgram, more: float) -> LeakageBounds:
    low, high = _coverage(form)
    return LeakageBounds(math.log(low + more), math.log(high + more))
