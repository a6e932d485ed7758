"""Column generation: the part that is the same for all cones.

The linear program over all rays is solved over a few of them. Its duals are prices. A pricing problem
returns rays that the prices undervalue, or proves that there are none. Every proven dual vector
β bounds the optimum by Σ_x β_x.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from ldpopt.core import certify
from ldpopt.core.exact import GAP_FLOOR
from ldpopt.core.form import FormSolution, Status
from ldpopt.core.forms.column_program import ColumnProgram
from ldpopt.core.highs import ColumnLP, Optimum, proof_slack
from ldpopt.core.limits import Limits, OutOfTime
from ldpopt.core.validate import Array


class Generation(ABC):
    """The state of one run: the columns so far, their optimum, the best proven dual vector.

    Args:
        form: the column program.
        limits: the limits of the run.
        start: columns from which at least one mechanism can be made.
        reference: a distribution over the inputs; multiples of it are added to a dual vector to
            give its proof some room.
        gain: the typical size of the utility of a column with largest entry 1.
    """

    search_share = 0.9
    """The share of the time for the search; the rest is for the last linear program and the proof."""
    least_value = GAP_FLOOR
    """Smaller optima count as this large where the gap is relative to them."""

    def __init__(
        self, form: ColumnProgram, limits: Limits, start: Array, reference: Array, gain: float
    ) -> None:
        self.form, self.reference = form, reference
        self.whole, self.limits = limits, limits.part(self.search_share)
        self.k = form.cone.dimension
        self.rounds = self.nodes = 0
        self.mix = 0.5
        self.dual: Array | None = None
        self.bound = np.inf
        self._known: set[bytes] = set()
        self.gain = gain
        self.lp = self.program(gain)
        self.add(start)
        optimum = self.lp.solve(limits)
        if optimum is None:
            raise OutOfTime
        self.optimum: Optimum = optimum

    def program(self, gain: float) -> ColumnLP:
        """Begin the linear program over columns."""
        return ColumnLP(self.k, gain)

    def worth(self, columns: Array) -> Array:
        """Compute what columns gain in the linear program."""
        return self.form.utility(columns)

    @abstractmethod
    def step(self) -> None:
        """Do one round: price, add the columns found, solve again."""

    @abstractmethod
    def open(self) -> None:
        """Prepare the first round."""

    def run(self) -> FormSolution:
        """Generate until the gap is proven or the time is over."""
        self._keep()
        try:
            self.open()
            while not self.finished():
                self._keep()
                self.step()
        except OutOfTime:
            self._solve(self.whole)
        with self.whole.proving():
            self.close()
            return self.solution()

    @abstractmethod
    def close(self) -> None:
        """Use the reserved time, to prove a bound."""

    def _keep(self) -> None:
        self.whole.keep(self.optimum.value, self.bound, self.solution)

    def finished(self) -> bool:
        """Return whether the gap is proven or the time is over.

        The bound must be within half of the gap; the other half is for the slack of the proof.
        """
        least = max(abs(self.optimum.value), self.least_value)
        close = self.bound - self.optimum.value <= self.limits.gap / 2 * least
        return close or self.limits.expired()

    def add(self, columns: Array) -> int:
        """Add the columns that are new; return how many are."""
        scaled = columns / columns.max(axis=0)
        keys = [column.tobytes() for column in np.ascontiguousarray(scaled.T.round(12))]
        fresh = {key: j for j, key in enumerate(keys) if key not in self._known}
        self._known.update(fresh)
        chosen = scaled[:, list(fresh.values())]
        if fresh:
            self.lp.add(chosen, self.worth(chosen))
        return len(fresh)

    def resolve(self) -> None:
        """Solve the linear program over the columns so far; when time is over, keep the last optimum."""
        self._solve(self.limits)
        self.limits.check()

    def _solve(self, limits: Limits) -> None:
        found = self.lp.solve(limits)
        if found is not None and (found.value >= self.optimum.value or not limits.expired()):
            self.optimum = found

    def slack(self) -> float:
        """Compute by how much to raise the sum of a dual vector, so that its proof has room."""
        return proof_slack(self.optimum.value, self.limits.gap)

    def solution(self) -> FormSolution:
        """Return what was found and what is proven about it."""
        dual = None if self.dual is None else self.dual + self.slack() * self.reference
        return FormSolution(
            status=Status.FEASIBLE if dual is None else Status.GAP,
            point=self.optimum.point,
            value=self.optimum.value,
            bound=None if dual is None else certify.dual_bound(dual),
            proof=None if dual is None else {"dual": dual.tolist()},
            stats={
                "iterations": self.rounds,
                "columns": self.lp.rays.shape[1],
                "nodes": self.nodes,
            },
        )
