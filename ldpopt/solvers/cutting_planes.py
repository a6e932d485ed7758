"""Cut out the cone as columns ask for it, then prove a bound over the cuts or over half shares."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from scipy.special import entr

from ldpopt.core import certify
from ldpopt.core.errors import SolverError
from ldpopt.core.exact import GAP_FLOOR
from ldpopt.core.form import FormSolution, Status
from ldpopt.core.forms.cut_program import CutProgram
from ldpopt.core.highs import proof_slack
from ldpopt.core.limits import Limits, OutOfTime
from ldpopt.core.solver import Solver
from ldpopt.core.validate import Array
from ldpopt.models.block_cone import has_blocks
from ldpopt.models.half_slack_cone import HalfCone
from ldpopt.solvers._robust.block_generation import BlockSearch, accepts
from ldpopt.solvers._robust.column_search import ColumnSearch
from ldpopt.solvers._robust.half_bound import HalfSearch
from ldpopt.solvers._robust.half_proof import half_proof
from ldpopt.solvers._robust.outer_bound import BoundTree

Proof = dict[str, Any]
TREE_INPUTS, MOST_VALUES = 12, 5
"""The inputs from which the tree is of no use beside the pieces of half shares; the most public values
whose blocks have their vertices listed."""
SMALL_INPUTS = 9
"""Inputs up to which the tree closes the gap by itself."""
LEAST_ROUNDS, LITTLE = 3, 1e-4
"""After at least so many rounds, the tree begins when a round gains less than this, relatively."""


class CuttingPlanes(Solver[CutProgram]):
    """Cutting planes with a climb along tangents; a tree of boxes or of pieces proves the bound."""

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
            search.take(_start(form, limits))
            self._keep(search, None, limits)
        half = None
        larger = _halves(form)
        # with fewer seconds left, no bound over half shares is computed: it would hardly be finished
        if larger is not None and limits.remaining() > 8.0:
            with suppress(OutOfTime):
                # the largest shares of the time left: for better columns before the bound over half
                # shares; for that bound; and, of the time of that bound, for prices and pieces
                self._improve(search, limits.part(0.35), limits, None)
            half = self._half(larger, search, limits.part(0.65))
            self._keep(search, None, limits, half)
        with suppress(OutOfTime):
            # the largest shares of the time left: for better columns in place of those in use (small
            # tables find them soon); for those of other methods; for the tree. The rest is for the
            # proof.
            self._improve(search, limits.part(0.7), limits, half)
        with suppress(OutOfTime):
            self._search(search, limits.part(0.35), limits, half)
        search.resolve(limits)
        if half is not None and form.cone.dimension > TREE_INPUTS:
            return _solution(search, None, limits.gap, half)
        tree = BoundTree(search)
        with suppress(OutOfTime):
            self._bound(tree, limits.part(0.6), limits, half)
        with limits.proving():
            return _solution(search, tree, limits.gap, half)

    def _half(self, larger: HalfCone, search: ColumnSearch, limits: Limits) -> Proof | None:
        """Prove a bound over half shares; its columns, moved inside, make the mechanism better."""
        with suppress(OutOfTime, SolverError):
            known = search.optimum.point.rays
            half = HalfSearch(larger, search.form.prior, known, limits.part(0.3))
            half.run()
            search.begin(half.optimum.point.rays)
            return half_proof(half, limits)
        return None

    def _improve(self, search: ColumnSearch, part: Limits, limits: Limits, half: Proof | None) -> None:
        while search.improve(part) > LITTLE * search.optimum.value:
            self._keep(search, None, limits, half)

    def _search(self, search: ColumnSearch, part: Limits, limits: Limits, half: Proof | None) -> None:
        while True:
            gain = search.round(part)
            self._keep(search, None, limits, half)
            if search.rounds >= LEAST_ROUNDS and gain <= LITTLE * search.optimum.value:
                return

    def _bound(self, tree: BoundTree, part: Limits, limits: Limits, half: Proof | None) -> None:
        search = tree.search
        tree.open(part)
        target = part.gap / 2
        while tree.step(target * max(search.optimum.value, GAP_FLOOR), part):
            self._keep(search, tree, limits, half)

    def _keep(
        self, search: ColumnSearch, tree: BoundTree | None, limits: Limits, half: Proof | None = None
    ) -> None:
        everything = float(entr(search.form.prior).sum())  # I(X; Y) ≤ H(X)
        bound = min(everything, np.inf if tree is None else tree.bound, _half_bound(half))
        limits.keep(search.optimum.value, bound, lambda: _solution(search, tree, limits.gap, half))


def _halves(form: CutProgram) -> HalfCone | None:
    """Return the cone of half shares if a bound over it is worth its time."""
    if form.cone.dimension <= SMALL_INPUTS or (form.prior <= 0).any():
        return None
    larger: HalfCone | None = form.cone.half_shares()
    return larger if larger is not None and larger.shape[1] <= MOST_VALUES else None


def _start(form: CutProgram, limits: Limits) -> Array:
    """Return columns of a good mechanism of the inner cone, or the constant one if it has no pricing."""
    cone = form.inner.cone
    if accepts(form.inner) is not True or not has_blocks(cone):
        return np.ones((form.cone.dimension, 1))
    # with many secrets, and so many pairs of them, the inner cone has better columns: it gets more time
    share = 0.7 if cone.shape[0] > 8 else 0.3
    part = replace(limits.part(share), gap=1e-3, progress=None)
    columns: Array = BlockSearch(form.inner, part).run().point.rays
    return columns


def _half_bound(half: Proof | None) -> float:
    return np.inf if half is None else certify.dual_bound(np.array(half["dual"]))


def _solution(
    search: ColumnSearch, tree: BoundTree | None, gap: float, half: Proof | None = None
) -> FormSolution:
    """Return the best mechanism, and the better bound of the tree and of half shares with its proof.

    Args:
        search: the columns so far.
        tree: a tree of the cuts.
        gap: the relative gap that counts as none.
        half: the proof over half shares.
    """
    best = search.answer()
    stats: dict[str, float] = {
        "iterations": search.rounds,
        "columns": search.lp.rays.shape[1],
        "cuts": search.known_cuts,
    }
    grown = tree is not None and bool(tree.leaves)
    if not grown and half is None:
        return FormSolution(Status.FEASIBLE, best.point, best.value, stats=stats)
    if grown and tree is not None and tree.bound < _half_bound(half):
        proof = tree.proof(proof_slack(search.optimum.value, gap))
        stats["nodes"] = len(proof["tree"])
    else:
        assert half is not None
        proof = half
        stats["nodes"] = sum(len(nodes) for nodes in half["cover"])
    return FormSolution(
        status=Status.GAP,
        point=best.point,
        value=best.value,
        bound=certify.dual_bound(np.array(proof["dual"])),
        proof=proof,
        stats=stats,
    )
