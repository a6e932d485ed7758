"""Column generation over the cone of PolyOpt, with a proven bound at every stop.

If μ(T) ≤ β·T for the whole cone then Σ_x β_x is a bound. Prices are taken between the linear
program's duals and the best β proven so far (Wentges smoothing); for the price α the smallest δ of a
ladder is sought for which β = α + δ is proven.
"""

from __future__ import annotations

import time
from typing import Literal

import numpy as np

from ldpopt.core import certify
from ldpopt.core.form import FormSolution
from ldpopt.core.solver import Progress
from ldpopt.core.status import Status
from ldpopt.core.validate import Array
from ldpopt.forms.column_program import ColumnProgram
from ldpopt.theory.columns.linear_program import ColumnLP, Optimum, proof_slack
from ldpopt.theory.columns.utilities import MutualInformation
from ldpopt.theory.robust.block_cone import BlockCone
from ldpopt.theory.robust.block_pricing import BlockPricer, PricedBlocks

MOST_FOUND = 200
MOST_VALUES = 12
"""Public values up to which the 2^a2 subsets of a block are listed."""


def accepts(form: ColumnProgram) -> Literal[True] | str:
    """True if the program is PolyOpt with blocks that can be listed, or the reason why not."""
    if not isinstance(form.cone, BlockCone):
        return f"prices block cones, not a {type(form.cone).__name__}"
    if not isinstance(form.utility, MutualInformation):
        return "prices mutual information on block cones, no other utility"
    if form.cone.shape[1] > MOST_VALUES:
        return f"the {form.cone.shape[1]} > {MOST_VALUES} public values must be merged first (width)"
    return True


def generate(
    form: ColumnProgram, gap: float, time_limit: float | None, seed: int, progress: Progress | None
) -> FormSolution:
    """Generate columns until the gap is proven, the time is over, or the user interrupts."""
    search = BlockSearch(form, gap, time_limit, seed)
    try:
        while not search.finished():
            search.step()
            if progress is not None:
                progress(search.optimum.value, search.bound)
    except KeyboardInterrupt:
        search.interrupted = True
    return search.solution()


class BlockSearch:
    """The state of one run: the columns so far, the best proven dual, the smoothing."""

    def __init__(self, form: ColumnProgram, gap: float, time_limit: float | None, seed: int) -> None:
        assert isinstance(form.cone, BlockCone)
        assert isinstance(form.utility, MutualInformation)
        self.form, self.gap = form, gap
        self.deadline = np.inf if time_limit is None else time.monotonic() + time_limit
        self.pricer = BlockPricer(form.cone, form.utility.prior)
        self.rng = np.random.default_rng(seed)
        self.best = [0] * form.cone.shape[0] if form.cone.pairs == "distinct" else []
        self.k = form.cone.dimension
        self.known: set[bytes] = set()
        self.rounds = self.nodes = 0
        self.interrupted = False
        self.mix = 0.5
        self.wide = False  # first the columns that both pair rules share, as they are cheap
        self.lp = ColumnLP(self.k, 1.0)
        self._add(np.ones((self.k, 1)))
        self.optimum = self._solved()
        self.centre = self.optimum.dual
        self.dual: Array | None = None
        self.bound = np.inf

    def finished(self) -> bool:
        """Whether the gap is proven (half of it is kept for the proof's slack) or time is over."""
        close = self.bound - self.optimum.value <= self.gap / 2 * max(abs(self.optimum.value), 1e-6)
        return close or time.monotonic() > self.deadline

    def step(self) -> None:
        """One round: price between the centre and the duals; without a new column, try to prove."""
        self.rounds += 1
        dual = self.optimum.dual
        price = self.mix * self.centre + (1 - self.mix) * dual
        blocks = self.pricer.at(price)
        columns = self._probed(blocks)
        self.nodes += blocks.nodes
        size = columns.sum(axis=0)
        gains = self.form.utility(columns)
        excess = max(0.0, float(((gains - price @ columns) / size).max()))
        fresh = self._add(columns[:, gains - dual @ columns > 1e-12 * size])
        if not fresh or (price + excess).sum() < self.centre.sum() or self.rounds == 1:
            self.centre = price + excess
        if fresh:
            self.optimum = self._solved()
        if fresh and not self._close_to_done():
            self.mix = min(0.8, self.mix + 0.05)
        elif self.mix > 0.05:
            self.mix /= 2
        elif not self.wide:
            self.wide, self.mix = True, 0.5
        else:
            self.mix = 0.0
            self._close(self.optimum.dual)

    def _close_to_done(self) -> bool:
        """Whether the centre, if it is as good as it looks, would be within the gap."""
        return float(self.centre.sum()) - self.optimum.value <= self.gap / 4 * abs(self.optimum.value)

    def _probed(self, blocks: PricedBlocks) -> Array:
        """Good columns; where s* is known, a random local search over the break-points of ρ."""
        columns = [blocks.probe(None, 0)]
        for s, best in enumerate(self.best if self.wide else []):
            last = len(self.pricer.cuts[s]) - 1
            steps = self.rng.integers(1, last + 2, size=2) * self.rng.random(2) ** 3
            tries = {0, best, int(self.rng.integers(last + 1))}
            tries |= {min(max(best + int(d), 0), last) for d in (steps[0], -steps[1])}
            found = {i: blocks.probe(s, i) for i in sorted(tries)}
            self.best[s] = max(found, key=lambda i: blocks.value(found[i]) / found[i].sum())
            columns += found.values()
        return np.array(columns).T

    def _close(self, dual: Array) -> None:
        """Prove the duals within the gap, or add the columns that refute them."""
        raised = dual + self._slack()
        proven, found = self._prove(raised)
        if proven:
            return
        fresh = self._add(np.array(found).T) if found else 0
        if not fresh:
            self._settle()
            self.deadline = -np.inf
        self.optimum = self._solved()

    def _prove(self, dual: Array, most: int = MOST_FOUND) -> tuple[bool, list[Array]]:
        blocks = self.pricer.at(dual)
        proven, found = blocks.prove(most)
        self.nodes += blocks.nodes
        if proven and dual.sum() < self.bound:
            self.bound, self.dual = float(dual.sum()), dual
        return proven, found

    def _settle(self) -> None:
        """A bound for the present duals: the smallest raise of a ladder that is proven.

        A column that refutes a step says how much higher the next one must be at least.
        """
        raise_by = max(self._slack(), 1e-6 * abs(self.optimum.value) / self.k)
        while True:
            raised = self.optimum.dual + raise_by
            proven, found = self._prove(raised, most=1)
            if proven:
                return
            columns = np.array(found).reshape(-1, self.k).T
            lack = (self.form.utility(columns) - raised @ columns) / columns.sum(axis=0)
            raise_by = max(2 * raise_by, raise_by + float(lack.max(initial=0.0)))

    def solution(self) -> FormSolution:
        """What was found and what is proven about it."""
        if self.dual is None and not self.interrupted:
            self._settle()
        value = self.optimum.value
        dual = None if self.dual is None else self.dual + self._slack()
        return FormSolution(
            status=Status.FEASIBLE if dual is None else Status.GAP,
            point=self.optimum.point,
            value=value,
            bound=None if dual is None else certify.dual_bound(dual),
            proof=None if dual is None else {"dual": dual.tolist()},
            stats={
                "iterations": self.rounds,
                "columns": self.lp.rays.shape[1],
                "nodes": self.nodes,
                "interrupted": float(self.interrupted),
            },
        )

    def _slack(self) -> float:
        return proof_slack(self.optimum.value, self.gap) / self.k

    def _add(self, columns: Array) -> int:
        scaled = columns / columns.max(axis=0)
        keys = [column.round(12).tobytes() for column in scaled.T]
        fresh = {key: j for j, key in enumerate(keys) if key not in self.known}
        self.known.update(fresh)
        chosen = scaled[:, list(fresh.values())]
        if fresh:
            self.lp.add(chosen, self.form.utility(chosen))
        return len(fresh)

    def _solved(self) -> Optimum:
        optimum = self.lp.solve()
        assert optimum is not None
        return optimum
