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

    search_share = 0.6
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
        self.stuck = False
        self.pricer = BlockPricer(form.cone, plain.prior, self.limits)

    def open(self) -> None:
        """Do nothing: the first round needs no preparation."""

    def finished(self) -> bool:
        """Return whether to stop: as for every generation, or because no round finds anything new."""
        return super().finished() or self.stuck

    def step(self) -> None:
        """Do one round: price between the centre and the duals, and add the columns found.

        Rounds without a new column move the price to the duals, and then try to prove them.
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
        if fresh:
            self.resolve()
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
        """Return whether the bound of the centre, if it were proven, would be within the gap."""
        value = self.optimum.value
        return float(self.centre.sum()) - value <= self.limits.gap / 4 * abs(value)

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

    def _close(self, dual: Array) -> None:
        """Prove the duals, raised a little, or add the columns that refute them."""
        raised = dual + self.slack() / self.k
        proven, found = self._prove(raised)
        if proven:  # no column is missing: the rest of the gap is rounding of the linear program
            self.stuck = True
            return
        fresh = self.add(np.array(found).T) if found else 0
        if not fresh:
            self._settle()
            self.stuck = True
        self.resolve()

    def _prove(self, dual: Array, most: int = 200) -> tuple[bool, list[Array]]:
        blocks = self.pricer.at(dual)
        proven, found = blocks.prove(most)
        self.nodes += blocks.nodes
        if proven and dual.sum() < self.bound:
            self.bound, self.dual = float(dual.sum()), dual
            self._allow(0.95)  # the search may use the time that was reserved for a first proof
        return proven, found

    def _settle(self) -> None:
        """Raise the present duals by growing amounts until a bound is proven.

        A column that refutes one amount says how large the next must be at least.
        """
        raise_by = max(self.slack() / self.k, 1e-6 * abs(self.optimum.value) / self.k)
        while True:
            raised = self.optimum.dual + raise_by
            proven, found = self._prove(raised, most=1)
            if proven:
                return
            columns = np.array(found).reshape(-1, self.k).T
            lack = (self.form.utility(columns) - raised @ columns) / columns.sum(axis=0)
            raise_by = max(2 * raise_by, raise_by + float(lack.max(initial=0.0)))

    def close(self) -> None:
        """Use the reserved time to prove a bound if there is none yet."""
        if self.dual is None:
            self._allow(1.0)
            with suppress(OutOfTime):
                self._settle()

    def _allow(self, share: float) -> None:
        self.limits = self.pricer.limits = self.whole.part(share)
