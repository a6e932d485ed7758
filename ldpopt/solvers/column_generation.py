"""Generate columns as the linear program asks for them; a proven bound at every stop.

The program over all 2^k rays is solved over few: prices (duals) α of the current columns go to
:mod:`ldpopt.models.pricing`, which returns rays with g(v) > α·v and an upper bound δ on
g(v) − α·v. Since every ray is at least 1 in each entry, α + δ·π with any distribution π is a feasible
dual vector: Σα + δ is a proven bound on the optimum (theory of column generation, Lagrangian bound).

Plain duals of a degenerate program jump about, so prices are taken between them and the best proven
dual vector (Wentges smoothing). For mutual information very many columns are nearly optimal, all
with nearly the same P(S). The search starts with random columns that round a relaxation
(:mod:`ldpopt.solvers._columns.relaxation`), whose dual vector is nearly optimal, too. With many inputs
a column stands for its rotations within groups (:mod:`ldpopt.solvers._columns.rotations`) until that
yields nothing more.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import numpy as np

from ldpopt.core.forms.column_program import ColumnProgram
from ldpopt.core.highs import ColumnLP
from ldpopt.core.solver import Array, FormSolution, Limits, Solver
from ldpopt.models.block_cone import has_blocks
from ldpopt.models.cones import SecretCone, has_boxes
from ldpopt.models.pricing import InformationPricer, Mask, Pricer, pricer
from ldpopt.solvers._columns.generation import Generation
from ldpopt.solvers._columns.relaxation import Part, relax, sampled
from ldpopt.solvers._columns.rotations import RotatedLP, Rotations, rotations
from ldpopt.solvers._robust import block_generation

MOST_ROWS = 200
"""With more inputs than this, groups of alike ones share a row of the linear program at first."""


class ColumnGeneration(Solver[ColumnProgram]):
    """Column generation with exact, anytime pricing: memory and time polynomial in k."""

    def accepts(self, form: ColumnProgram) -> Literal[True] | str:
        """Accept column programs with a cone and a utility whose pricing problem is known."""
        if has_blocks(form.cone):
            return block_generation.accepts(form)
        if not has_boxes(form.cone):
            return "needs a cone made of boxes or of blocks, and this one names neither"
        if pricer(form.utility) is None:
            return "needs a utility that can be priced: this one has no method `pricer`"
        return True

    def run(self, form: ColumnProgram, limits: Limits) -> FormSolution:
        """Generate until the gap is proven or the time is over."""
        if has_blocks(form.cone):
            return block_generation.generate(form, limits)
        return BoxSearch(form, limits).run()


class BoxSearch(Generation):
    """Generation over a cone of boxes, with Wentges smoothing."""

    def __init__(self, form: ColumnProgram, limits: Limits) -> None:
        assert has_boxes(form.cone)
        self.cone = form.cone
        found = pricer(form.utility)
        assert found is not None
        self.pricer: Pricer = found
        self.rotations: Rotations | None = None
        turns = self.cone.dimension // MOST_ROWS + 1
        if turns > 1 and len(self.cone.boxes) == 1 and isinstance(found, InformationPricer):
            self.rotations = rotations(found.prior, turns, MOST_ROWS // 4)
        singles = self._corners(np.eye(form.cone.dimension, dtype=bool))
        gain = float((form.utility(singles) / singles.max(axis=0)).max())
        super().__init__(form, limits, singles, self.pricer.reference, gain)
        self.rng = limits.generator()
        self.classes = interchangeable(self.cone, self.pricer)
        self.idle = 0
        self.width = 1000
        self.level = self.excess = 0.0

    def program(self, gain: float) -> ColumnLP:
        """Begin the linear program, with a row per group where inputs are grouped."""
        return super().program(gain) if self.rotations is None else RotatedLP(self.rotations, gain)

    def worth(self, columns: Array) -> Array:
        """Compute the mean utility of the rotations of columns."""
        if self.rotations is None:
            return super().worth(columns)
        return np.mean([self.form.utility(columns[turn]) for turn in self.rotations.turns], axis=0)

    # ---- the three phases

    def open(self) -> None:
        """Add columns of many sizes, and find the best dual vector that is a multiple of the reference.

        The multiple is max_v g(v) / (π·v), found by Newton's (Dinkelbach's) iteration on the bound.
        """
        for order in (np.argsort(self.pricer.order), np.argsort(-self.pricer.order)):
            self.add(self._corners(np.argsort(order)[:, None] < np.arange(1, self.k)[None, :]))
        for _ in range(30):
            size = 1.0
            for rays in self._price(self.level * self.pricer.reference, 0.0, 100):
                self.add(rays)
                best = rays[:, self.form.utility(rays).argmax()]
                size = max(size, float(self.pricer.reference @ best))
            self.level += self.excess / size
            self._keep()
            if abs(self.excess) <= 1e-13 * self.level:
                break
        self.resolve()
        self.scatter()

    def scatter(self) -> None:
        """Add random columns that round the relaxation, whose dual vector is nearly optimal."""
        # fewer inputs have too few subsets for many of them to be nearly optimal
        if not isinstance(self.pricer, InformationPricer) or self.k < 24:
            return
        prior = self.pricer.prior
        relaxed = relax(prior, [Part(box) for box in self.cone.boxes], self.limits)
        if relaxed is not None and any(map(self.pricer.alike, self.cone.boxes)):
            alike = ((share, self.pricer.alike(share.part.box)) for share in relaxed.shares)
            parts = [
                part for share, sized in alike for part in (share.sized() if sized else [share.part])
            ]
            relaxed = relax(prior, parts, self.limits)
        if relaxed is None:
            return
        self._price(self.classes @ relaxed.dual, 0.0, self.width)
        # random columns per row: enough to contain their mean
        rows = self.k if self.rotations is None else len(self.rotations.means)
        for columns in sampled(relaxed.shares, prior, 6 * rows, self.rng):
            self.limits.check()
            self.add(columns)
        self.resolve()

    def step(self) -> None:
        """Do one round.

        Solve, price between the best proven dual and the new one, adjust the mix.
        """
        self.rounds += 1
        dual = self.classes @ self.optimum.dual
        assert self.dual is not None
        centre, bound, columns = self.dual, self.bound, self.lp.rays.shape[1]
        fresh = 0
        for rays in self._price(self.mix * centre + (1 - self.mix) * dual, self.slack(), self.width):
            fresh += self.add(rays[:, self.form.utility(rays) > dual @ rays])
        self._adjust(fresh)
        if self.pricer.many_optima:
            for _ in range(4 + self.k // 8):
                share = self.rng.random(self.k) * 10 ** -self.rng.uniform(0, 4)
                for rays in self._price(centre + share * (dual - centre), self.slack(), 50):
                    self.add(rays[:, self.form.utility(rays) > dual @ rays])
        progressed = self.bound < bound or self.lp.rays.shape[1] > columns
        self.idle = 0 if progressed else self.idle + 1
        self.resolve()
        if self.idle > 2 and self.rotations is not None:
            self.part()

    def part(self) -> None:
        """Go on with every input by itself."""
        best, self.rotations = self.optimum.point.rays, None
        self.lp = self.program(self.gain)
        self._known.clear()
        self.add(self._corners(np.eye(self.k, dtype=bool)))
        self.add(best)
        self.resolve()

    def _adjust(self, fresh: int) -> None:
        """Trust the centre more while it yields columns; without any, approach the LP's own dual."""
        if fresh:
            self.mix = min(0.9, self.mix + 0.1)
            return
        if self.mix == 0:
            # states of a knapsack: some seconds of work between two looks at the clock
            self.width = min(4 * self.width, 64_000)
        self.mix = self.mix / 2 if self.mix > 0.1 else 0.0

    def finished(self) -> bool:
        """Return whether to stop, also after too many rounds without progress."""
        # rounds without a new column or a better bound after which the search ends
        return super().finished() or self.idle > 12

    def close(self) -> None:
        """Do nothing: every round has its own proof."""

    # ---- tools

    def _price(self, dual: Array, slack: float, width: int) -> Iterable[Array]:
        """Price every box, keep the bound that follows, return the rays found."""
        found = []
        for box in self.cone.boxes:
            self.limits.check()
            found.append(self.pricer.price(box, dual, slack, width))
        self.nodes += sum(priced.nodes for priced in found)
        self.excess = max(priced.upper for priced in found)
        lift = max(self.excess, 0.0)
        bound = float(dual.sum()) + lift
        if bound < self.bound:
            self.bound, self.dual = bound, dual + lift * self.pricer.reference
        return [priced.rays for priced in found]

    def _corners(self, chosen: Mask) -> Array:
        """Build rays of the first box: high where chosen."""
        low, high = self.cone.boxes[0]
        return np.where(chosen, high[:, None], low[:, None])


def interchangeable(cone: SecretCone, pricing: Pricer) -> Array:
    """Build the matrix that averages over inputs which neither cone nor utility can tell apart.

    An optimal dual vector may be averaged over them; that tames the duals of symmetric problems and
    keeps their proofs short.
    """
    traits = np.hstack([pricing.traits, *(np.stack(box, axis=1) for box in cone.boxes)])
    _, label = np.unique(traits, axis=0, return_inverse=True)
    same = (label[:, None] == label[None, :]).astype(np.float64)
    return same / same.sum(axis=1, keepdims=True)
