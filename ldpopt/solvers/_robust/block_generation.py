"""Column generation over the cone of PolyOpt, with a proven bound at every stop.

If μ(T) ≤ β·T for every T in the cone, then Σ_x β_x is a bound. Prices α are taken between the linear
program's duals and a centre, the best dual vector estimated so far (Wentges smoothing). To prove a
bound, the duals are raised by growing δ until μ(T) ≤ β·T is proven for the raised vector β.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Literal

import numpy as np

from ldpopt.core.form import FormSolution, Status
from ldpopt.core.forms.column_program import ColumnProgram, Columns
from ldpopt.core.highs import solve_listed
from ldpopt.core.limits import Limits, OutOfTime
from ldpopt.core.validate import Array
from ldpopt.models.block_cone import has_blocks
from ldpopt.models.cones import response_columns
from ldpopt.models.utilities import nominal
from ldpopt.solvers._columns.generation import Generation
from ldpopt.solvers._robust.block_pricing import BlockPricer, PricedBlocks

MOST_VALUES = 12
"""The most public values a2 for which the 2^a2 subsets of a block are listed."""

MOST_COMBINED = 2**20
"""The most partial columns of a proof that is kept: the checker forms them all, and some more, again."""
MOST_SEARCHED = 2**25
"""The most partial columns of the last search for columns."""


def accepts(form: ColumnProgram) -> Literal[True] | str:
    """Return True if the program is PolyOpt with blocks that can be listed, otherwise the reason."""
    if not has_blocks(form.cone):
        return "needs a cone made of blocks, and this one names none"
    if nominal(form.utility) is None:
        return "needs mutual information, under p̂ or for every distribution of a set, over blocks"
    if form.cone.shape[1] > MOST_VALUES:
        return f"takes up to {MOST_VALUES} public values, not {form.cone.shape[1]}: merge some by width"
    return True


def generate(form: ColumnProgram, limits: Limits) -> FormSolution:
    """Solve PolyOpt by column generation.

    Its robust objective, the least information over F, has no pricing problem. For it, columns are
    generated for the mutual information under p̂. The best mechanism made of them is returned, without
    a bound.
    """
    plain = nominal(form.utility)
    if plain is form.utility:
        return BlockSearch(form, limits).run()
    assert plain is not None
    k = form.cone.dimension
    constant = Columns(np.ones(1), np.ones((k, 1)))
    limits.keep(0.0, np.inf, lambda: FormSolution(Status.FEASIBLE, constant, 0.0))
    inner = replace(form, utility=plain)
    # with the robust objective, the share of the time to generate columns for I(X; Y) under p̂
    search = BlockSearch(inner, replace(limits.part(0.5), progress=None))
    search.run()
    first = search.optimum.point
    value = float(form.utility(first.rays) @ first.weights)
    limits.keep(value, np.inf, lambda: FormSolution(Status.FEASIBLE, first, value))
    found = solve_listed(search.lp.rays, form.utility(search.lp.rays), limits)
    return replace(found, status=Status.FEASIBLE, bound=None, proof=None)


class BlockSearch(Generation):
    """Column generation over a cone of blocks; some time is reserved to prove a bound at the end."""

    least_value = 1e-6

    def __init__(self, form: ColumnProgram, limits: Limits) -> None:
        assert has_blocks(form.cone)
        plain = nominal(form.utility)
        assert plain is not None
        k = form.cone.dimension
        start = response_columns(k, form.cone.epsilon)
        super().__init__(form, limits, start, np.full(k, 1 / k), gain=1.0)
        self.rng = limits.generator()
        self.best = [0] * form.cone.shape[0] if form.cone.pairs == "distinct" else []
        self.wide = False  # at first only columns that both pair rules allow: they are cheap to find
        self.centre = self.optimum.dual
        self.room = self.noise = 0.0
        self.idle, self.stuck = 0, False
        self.due = 0  # how many nodes there will be when the search has had as many as the last proof
        self.pricer = BlockPricer(form.cone, plain.prior, self.limits)

    def open(self) -> None:
        """Do nothing: the first round needs no preparation."""

    def finished(self) -> bool:
        """Return whether to stop: as for every generation, or because no round finds anything new."""
        return super().finished() or self.stuck

    def step(self) -> None:
        """Do one round: price between the centre and the duals, and add the columns found.

        Rounds without a new column move the price to the duals. The centre is proven wherever that
        would halve the gap and is not more work than the search was since the last proof, whatever gap
        is asked for: a smaller one continues the same search.
        """
        self.rounds += 1
        dual = self.optimum.dual
        price = self.mix * self.centre + (1 - self.mix) * dual
        blocks = self.pricer.at(price)
        columns = self._probed(blocks)
        self.nodes += blocks.nodes
        size = columns.sum(axis=0)
        gains = self.form.utility(columns)
        excess = max(0.0, float(((gains - price @ columns) / size).max()))
        fresh = self.add(columns[:, gains - dual @ columns > 1e-12 * size])
        if not fresh or (price + excess).sum() < self.centre.sum() or self.rounds == 1:
            self.centre = price + excess
        settled = self.wide and not fresh and self.mix == 0
        if fresh:
            self.resolve()
            self.mix = min(0.8, self.mix + 0.05)
        elif self.mix > 0.05:
            self.mix /= 2
        elif self.wide:
            self.mix = 0.0
        else:
            self.wide, self.mix = True, 0.5
        halves = self._promised() <= (self.bound - self.optimum.value) / 2
        if self.wide and (settled or (halves and self.nodes >= self.due)):
            self._prove_centre()
        if settled and not self.finished():
            self._prove(self.optimum.dual + self._least() / self.k, 20, MOST_SEARCHED)

    def _promised(self) -> float:
        """Compute the gap that a proof of the centre, raised a little, would leave."""
        own = max(float(self.centre.sum()) - self.optimum.value, 0.0)
        return own + max(own / 4, self.room, self._least())

    def _least(self) -> float:
        """Compute the least gap, for the rounding of floats and the tolerance of the linear program."""
        return max(1e-10 * max(abs(self.optimum.value), self.least_value), self.noise)

    def _probed(self, blocks: PricedBlocks) -> Array:
        """Find good columns; for each s* by a random local search over the break-points of ρ."""
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

    def _prove_centre(self, most: int = 200) -> None:
        """Prove the centre, raised a little.

        Where nothing refutes it, but its proof is too long, the next proof has more room.

        Args:
            most: how many columns are enough to refute it.
        """
        rise = self.optimum.value + self._promised() - float(self.centre.sum())
        lack = self._prove(self.centre + rise / self.k, most, MOST_COMBINED)
        self.room = self.room / 2 if lack is None else 1.5 * rise if lack == 0 else self.room

    def _prove(self, dual: Array, most: int, most_combined: int) -> float | None:
        """Prove a dual vector, or add the columns that refute it.

        Args:
            dual: the vector.
            most: how many columns are enough to refute it.
            most_combined: the most partial columns that may be formed.

        Returns:
            None if it is proven, by what the checker can repeat; otherwise by how much its entries fall
            short, 0 if nothing refutes it.
        """
        last = most_combined == MOST_SEARCHED
        blocks = self.pricer.at(dual, most_combined)
        proven, found = blocks.prove(most)
        self.nodes += blocks.nodes
        self.due = self.nodes + blocks.nodes
        self.stuck = proven and last
        if proven and blocks.combined <= MOST_COMBINED:
            if dual.sum() < self.bound:
                self.bound, self.dual = float(dual.sum()), dual
            return None
        columns = np.array(found).reshape(-1, self.k).T
        gains = self.form.utility(columns) - dual @ columns
        lack = float((gains / columns.sum(axis=0)).max(initial=0.0))
        if lack > 0:
            self.centre = dual + lack
        fresh = self.add(columns)
        if last and not fresh:  # the linear program takes what its tolerance allows
            self.noise = max(self.noise, 2 * self.k * lack)
            self.idle += 1
            # searches without a new column after which the search ends
            self.stuck = self.stuck or self.idle > 12
        self.resolve()
        return lack

    def close(self) -> None:
        """Use the reserved time to prove a better bound than that of the last round, if there is one."""
        self.limits = self.pricer.limits = self.whole
        with suppress(OutOfTime):
            while not super().finished() and self._promised() < self.bound - self.optimum.value:
                self._prove_centre(most=1)
