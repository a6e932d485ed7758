"""Cut out the cone as columns ask for it, then prove a bound over the cuts."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import ClassVar

import numpy as np

from ldpopt.core import certify
from ldpopt.core.errors import SolverError
from ldpopt.core.form import FormSolution
from ldpopt.core.limits import Limits, OutOfTime
from ldpopt.core.solver import Solver
from ldpopt.core.status import Status
from ldpopt.core.validate import Array
from ldpopt.forms.column_program import ColumnProgram
from ldpopt.forms.cut_program import CutProgram
from ldpopt.theory.columns.linear_program import proof_slack
from ldpopt.theory.robust.block_generation import BlockSearch, accepts
from ldpopt.theory.robust.column_search import ColumnSearch
from ldpopt.theory.robust.outer_bound import BoundTree

START_SHARE, START_GAP = 0.3, 1e-3
"""Of the time, at most, and the gap, for a mechanism of the inner cone."""
IMPROVE_SHARE, SEARCH_SHARE, TREE_SHARE = 0.7, 0.35, 0.6
"""Of the time left, at most: for better columns in place of those in use, which small tables have soon;
for columns from elsewhere; for the tree. The rest is for the proof."""
LEAST_ROUNDS, LITTLE = 3, 1e-4
"""The search goes on to the tree when a round gains less than this, relatively; not before so many."""


class CuttingPlanes(Solver[CutProgram]):
    """Cutting planes with a climb along tangents; a tree of boxes proves the bound."""

    name: ClassVar[str] = "cutting-planes"

    def run(self, form: CutProgram, limits: Limits) -> FormSolution:
        """Search columns, then close the gap with the tree; the best so far is kept on the way.

        At extreme levels and probabilities a linear program of the cuts may be beyond floats: then the
        best mechanism so far is the answer, without a bound over the cuts, and ``failed_programs`` of
        the statistics is 1.
        """
        search = ColumnSearch(form, limits)
        self._keep(search, None, limits)
        search.begin(form.cone.plain_columns())
        self._keep(search, None, limits)
        try:
            return self._closed(form, search, limits)
        except SolverError:
            found = _solution(search, None, limits.gap)
            return replace(found, stats={**(found.stats or {}), "failed_programs": 1.0})

    def _closed(self, form: CutProgram, search: ColumnSearch, limits: Limits) -> FormSolution:
        """Search columns, and prove a bound over the cuts by a tree of boxes."""
        with suppress(OutOfTime):
            search.take(_start(form.inner, limits))
            self._keep(search, None, limits)
        with suppress(OutOfTime):
            self._improve(search, limits.part(IMPROVE_SHARE), limits)
        with suppress(OutOfTime):
            self._search(search, limits.part(SEARCH_SHARE), limits)
        search.resolve(limits)
        tree = BoundTree(search)
        with suppress(OutOfTime):
            self._bound(tree, limits.part(TREE_SHARE), limits)
        with limits.proving():
            return _solution(search, tree, limits.gap)

    def _improve(self, search: ColumnSearch, part: Limits, limits: Limits) -> None:
        while search.improve(part) > LITTLE * search.optimum.value:
            self._keep(search, None, limits)

    def _search(self, search: ColumnSearch, part: Limits, limits: Limits) -> None:
        while True:
            gain = search.round(part)
            self._keep(search, None, limits)
            if search.rounds >= LEAST_ROUNDS and gain <= LITTLE * search.optimum.value:
                return

    def _bound(self, tree: BoundTree, part: Limits, limits: Limits) -> None:
        search = tree.search
        tree.open(part)
        target = part.gap / 2
        while tree.step(target * max(search.optimum.value, 1e-4), part):
            self._keep(search, tree, limits)

    def _keep(self, search: ColumnSearch, tree: BoundTree | None, limits: Limits) -> None:
        bound = np.inf if tree is None else tree.bound
        limits.keep(search.optimum.value, bound, lambda: _solution(search, tree, limits.gap))


def _start(form: ColumnProgram, limits: Limits) -> Array:
    """Return columns of a good mechanism of the inner cone, or the constant one if it has no pricing."""
    if accepts(form) is not True:
        return np.ones((form.cone.dimension, 1))
    part = replace(limits.part(START_SHARE), gap=START_GAP, progress=None)
    columns: Array = BlockSearch(form, part).run().point.rays
    return columns


def _solution(search: ColumnSearch, tree: BoundTree | None, gap: float) -> FormSolution:
    """Return the best mechanism, and the bound of the tree with its proof."""
    best = search.answer()
    stats: dict[str, float] = {
        "iterations": search.rounds,
        "columns": search.lp.rays.shape[1],
        "cuts": search.known_cuts,
    }
    if tree is None or not tree.leaves:
        return FormSolution(Status.FEASIBLE, best.point, best.value, stats=stats)
    proof = tree.proof(proof_slack(search.optimum.value, gap))
    return FormSolution(
        status=Status.GAP,
        point=best.point,
        value=best.value,
        bound=certify.dual_bound(np.array(proof["dual"])),
        proof=proof,
        stats={**stats, "nodes": len(proof["tree"])},
    )
