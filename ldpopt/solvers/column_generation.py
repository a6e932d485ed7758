"""Generate columns as the linear program asks for them; a proven bound at every stop.

The program over all 2^k rays is solved over few: prices (duals) α of the current columns go to
:mod:`ldpopt.theory.columns.pricing`, which returns rays with g(v) > α·v and an upper bound δ on
g(v) − α·v. Since every ray is at least 1 in each entry, α + δ·π with any distribution π is a feasible
dual vector: Σα + δ is a proven bound on the optimum (theory of column generation, Lagrangian bound).

Plain duals of a degenerate program jump about, so prices are taken between them and the best proven
dual vector (Wentges smoothing). For mutual information an abundance of columns is nearly optimal, all
with the same P(S); they are found by pricing at slightly perturbed duals.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any, ClassVar, Literal

import numpy as np

from ldpopt.core import certify
from ldpopt.core.form import Form, FormSolution
from ldpopt.core.solver import Progress, Solver
from ldpopt.core.status import Status
from ldpopt.core.validate import Array
from ldpopt.forms.column_program import ColumnProgram
from ldpopt.theory.columns.cones import SecretCone
from ldpopt.theory.columns.linear_program import ColumnLP, Optimum, proof_slack
from ldpopt.theory.columns.pricing import Mask, Pricer, pricer
from ldpopt.theory.robust import block_generation as blockgeneration

SCATTER_FROM = 24
"""Fewer inputs have too few subsets for many of them to be nearly optimal."""
MOST_NEWTON_STEPS = 30
MOST_IDLE = 12
"""Rounds without a new column or a better bound after which floats have nothing more to give."""


class ColumnGeneration(Solver):
    """Column generation with exact, anytime pricing: memory and time polynomial in k."""

    name: ClassVar[str] = "column-generation"

    def accepts(self, form: Form) -> Literal[True] | str:
        """Column programs with a cone and a utility whose pricing problem is known."""
        if not isinstance(form, ColumnProgram):
            return f"solves column programs, not a {form.name}"
        if not isinstance(form.cone, SecretCone):
            return blockgeneration.accepts(form)
        if pricer(form.utility) is None:
            return "knows how to price mutual information and divergences, not this utility"
        return True

    def run(
        self,
        form: Form,
        *,
        gap: float,
        time_limit: float | None,
        seed: int,
        progress: Progress | None,
        **options: Any,
    ) -> FormSolution:
        """Generate until the gap is proven, the time is over, or the user interrupts."""
        assert isinstance(form, ColumnProgram)
        if not isinstance(form.cone, SecretCone):
            return blockgeneration.generate(form, gap, time_limit, seed, progress)
        search = Search(form, gap, time_limit, seed)
        try:
            search.open()
            search.scatter()
            while not search.finished():
                if progress is not None:
                    progress(search.optimum.value, search.bound)
                search.step()
        except KeyboardInterrupt:
            search.interrupted = True
        return search.solution()


class Search:
    """The state of one run: the columns so far, the best proven dual, the smoothing."""

    def __init__(self, form: ColumnProgram, gap: float, time_limit: float | None, seed: int) -> None:
        assert isinstance(form.cone, SecretCone)
        self.form, self.cone = form, form.cone
        self.gap = gap
        self.deadline = np.inf if time_limit is None else time.monotonic() + time_limit
        self.rng = np.random.default_rng(seed)
        found = pricer(form.utility)
        assert found is not None
        self.pricer: Pricer = found
        self.k = form.cone.dimension
        self.classes = interchangeable(self.cone, self.pricer)
        self.known: set[bytes] = set()
        self.nodes = self.rounds = self.idle = 0
        self.mix, self.width = 0.5, 1000
        self.level = self.excess = 0.0
        self.interrupted = False
        singles = self._corners(np.eye(self.k, dtype=bool))
        gains = form.utility(singles) / singles.max(axis=0)
        self.lp = ColumnLP(self.k, float(gains.max()))
        self._add(singles)
        self.optimum: Optimum = self._solved()
        self.bound = np.inf
        self.dual = np.full(self.k, np.inf)

    # ---- the three phases

    def open(self) -> None:
        """Columns of many sizes, and the best dual vector that is a multiple of the reference.

        The multiple is max_v g(v) / (π·v), found by Newton's (Dinkelbach's) iteration on the bound.
        """
        for order in (np.argsort(self.pricer.order), np.argsort(-self.pricer.order)):
            self._add(self._corners(np.argsort(order)[:, None] < np.arange(1, self.k)[None, :]))
        for _ in range(MOST_NEWTON_STEPS):
            size = 1.0
            for rays in self._price(self.level * self.pricer.reference, 0.0, 100):
                self._add(rays)
                best = rays[:, self.form.utility(rays).argmax()]
                size = max(size, float(self.pricer.reference @ best))
            self.level += self.excess / size
            if abs(self.excess) <= 1e-13 * self.level:
                break
        self.optimum = self._solved()

    def scatter(self) -> None:
        """Random columns that the reference dual likes as well as its favourite, up to 1e-6."""
        if not self.pricer.many_optima or self.k < SCATTER_FROM:
            return
        # not self.dual: the noise of one lucky trial in it would bias all later ones
        centre = self.level * self.pricer.reference
        covered = np.zeros(self.k, bool)
        for trial in range(3 * self.k):
            if self.finished() or (trial == 30 and covered.mean() < 0.75):
                break
            noise = 1 + 1e-6 * self.rng.standard_normal(self.k)
            for rays in self._price(centre * noise, self._slack(), 50):
                loss = centre @ rays - self.form.utility(rays)
                best = rays[:, np.argsort(loss)[:2]]
                covered |= (best > best.min(axis=0)).any(axis=1)
                self._add(best)
        self.optimum = self._solved()

    def step(self) -> None:
        """One round: solve, price between the best proven dual and the new one, adjust the mix."""
        self.rounds += 1
        dual = self.classes @ self.optimum.dual
        centre, bound, columns = self.dual, self.bound, len(self.known)
        fresh = 0
        for rays in self._price(self.mix * centre + (1 - self.mix) * dual, self._slack(), self.width):
            fresh += self._add(rays[:, self.form.utility(rays) > dual @ rays])
        self._adjust(fresh)
        if self.pricer.many_optima:
            for _ in range(4 + self.k // 8):
                share = self.rng.random(self.k) * 10 ** -self.rng.uniform(0, 4)
                for rays in self._price(centre + share * (dual - centre), self._slack(), 50):
                    self._add(rays[:, self.form.utility(rays) > dual @ rays])
        progressed = self.bound < bound or len(self.known) > columns
        self.idle = 0 if progressed else self.idle + 1
        self.optimum = self._solved()

    def _adjust(self, fresh: int) -> None:
        """Trust the centre more while it yields columns; without any, approach the LP's own dual."""
        if fresh:
            self.mix = min(0.9, self.mix + 0.1)
            return
        if self.mix == 0:
            self.width *= 4
        self.mix = self.mix / 2 if self.mix > 0.1 else 0.0

    # ---- the end

    def finished(self) -> bool:
        """Whether the gap is proven (half of it is kept for the proof's slack) or time is over."""
        close = self.bound - self.optimum.value <= self.gap / 2 * max(abs(self.optimum.value), 1e-4)
        return close or self.idle > MOST_IDLE or time.monotonic() > self.deadline

    def solution(self) -> FormSolution:
        """What was found and what is proven about it."""
        dual = self.dual + proof_slack(self.optimum.value, self.gap) * self.pricer.reference
        proven = bool(np.isfinite(dual).all())
        return FormSolution(
            status=Status.GAP if proven else Status.FEASIBLE,
            point=self.optimum.point,
            value=self.optimum.value,
            bound=certify.dual_bound(dual) if proven else None,
            proof={"dual": dual.tolist()} if proven else None,
            stats={
                "iterations": self.rounds,
                "columns": self.lp.rays.shape[1],
                "nodes": self.nodes,
                "interrupted": float(self.interrupted),
            },
        )

    # ---- tools

    def _price(self, dual: Array, slack: float, width: int) -> Iterable[Array]:
        """Price every box, keep the bound that follows, return the rays found."""
        found = [self.pricer.price(box, dual, slack, width) for box in self.cone.boxes]
        self.nodes += sum(priced.nodes for priced in found)
        self.excess = max(priced.upper for priced in found)
        lift = max(self.excess, 0.0)
        bound = float(dual.sum()) + lift
        if bound < self.bound:
            self.bound, self.dual = bound, dual + lift * self.pricer.reference
        return [priced.rays for priced in found]

    def _slack(self) -> float:
        return proof_slack(self.optimum.value, self.gap)

    def _add(self, rays: Array) -> int:
        keys = [column.tobytes() for column in np.ascontiguousarray(rays.T)]
        fresh = [j for j, key in enumerate(keys) if key not in self.known]
        fresh = list({keys[j]: j for j in fresh}.values())
        self.known.update(keys[j] for j in fresh)
        if fresh:
            self.lp.add(rays[:, fresh], self.form.utility(rays[:, fresh]))
        return len(fresh)

    def _solved(self) -> Optimum:
        optimum = self.lp.solve()
        assert optimum is not None
        return optimum

    def _corners(self, chosen: Mask) -> Array:
        """Rays of the first box: high where chosen."""
        low, high = self.cone.boxes[0]
        return np.where(chosen, high[:, None], low[:, None])


def interchangeable(cone: SecretCone, pricing: Pricer) -> Array:
    """The matrix that averages over inputs which neither cone nor utility can tell apart.

    An optimal dual vector may be averaged over them; that tames the duals of symmetric problems and
    keeps their proofs short.
    """
    traits = np.hstack([pricing.traits, *(np.stack(box, axis=1) for box in cone.boxes)])
    _, label = np.unique(traits, axis=0, return_inverse=True)
    same = (label[:, None] == label[None, :]).astype(np.float64)
    return same / same.sum(axis=1, keepdims=True)
