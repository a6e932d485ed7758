"""Cut out the cone as columns ask for it, then prove a bound over the cuts or over shared slack."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import entr

from ldpopt.core import certify
from ldpopt.core.errors import SolverError
from ldpopt.core.exact import GAP_FLOOR
from ldpopt.core.forms.cut_program import CutProgram
from ldpopt.core.highs import proof_slack
from ldpopt.core.solver import Array, FormSolution, Limits, OutOfTime, Solver, Status
from ldpopt.models.block_cone import has_blocks
from ldpopt.models.shared_slack_cone import SlackCone
from ldpopt.solvers._robust.block_generation import BlockSearch, accepts
from ldpopt.solvers._robust.column_search import ColumnSearch
from ldpopt.solvers._robust.outer_bound import BoundTree
from ldpopt.solvers._robust.slack_bound import SlackSearch
from ldpopt.solvers._robust.slack_proof import slack_proof

Proof = dict[str, Any]
TREE_INPUTS, MOST_VALUES = 12, 5
"""The inputs from which the tree is of no use beside the parts that share the slack; the most public
values whose blocks have their vertices listed."""
SMALL_INPUTS = 9
"""Inputs up to which the tree closes the gap by itself."""
WIDER = (1.1, 1.25)
"""The levels of the inner cones whose columns the search starts from, in multiples of ε."""
SLACK_SHARES = ((0.4, 0.35, 0.3), (0.25, 0.5, 0.9))
"""In two rounds, the largest shares of the time left: for better columns, parts, and their proof."""


class CuttingPlanes(Solver[CutProgram]):
    """Cutting planes with a climb along tangents; a tree of boxes or of parts proves the bound."""

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
            search.begin(_start(form, limits))
            self._keep(search, None, limits)
        shared, proof = _shared_slack(form), None
        if shared is not None:
            proof = self._over_shared_slack(shared, search, limits)
        # the largest shares of the time left: for columns, and for the tree. The rest is for the proof.
        self._search(search, limits.part(0.5), limits, proof)
        if proof is not None and form.cone.dimension > TREE_INPUTS:
            return _solution(search, None, limits.gap, proof)
        tree = BoundTree(search)
        with suppress(OutOfTime):
            self._bound(tree, limits.part(0.6), limits, proof)
        with limits.proving():
            return _solution(search, tree, limits.gap, proof)

    def _over_shared_slack(self, cone: SlackCone, search: ColumnSearch, limits: Limits) -> Proof | None:
        """Prove a bound over shared slack, first a quick one; its columns make the mechanism better."""
        proof: Proof | None = None
        found: SlackSearch | None = None
        for columns, parts, proving in SLACK_SHARES:
            self._search(search, limits.part(columns), limits, proof)
            with suppress(OutOfTime, SolverError):
                found = found or SlackSearch(cone, search.form.prior, limits)
                found.run(search.lp.rays, search.optimum.value, limits.part(parts))
                proof = min(proof, slack_proof(found, limits.part(proving)), key=_proven)
                search.begin(found.columns())
            self._keep(search, None, limits, proof)
        return proof

    def _search(self, search: ColumnSearch, part: Limits, limits: Limits, proof: Proof | None) -> None:
        """Find better columns until the time is over, or a step per input in a row gains little."""
        search.idle = 0
        with suppress(OutOfTime):
            while search.idle < search.form.cone.dimension:
                search.step(part)
                self._keep(search, None, limits, proof)
        search.resolve(limits)

    def _bound(self, tree: BoundTree, part: Limits, limits: Limits, proof: Proof | None) -> None:
        search = tree.search
        tree.open(part)
        target = part.gap / 2
        while tree.step(target * max(search.optimum.value, GAP_FLOOR), part):
            self._keep(search, tree, limits, proof)

    def _keep(
        self, search: ColumnSearch, tree: BoundTree | None, limits: Limits, proof: Proof | None = None
    ) -> None:
        everything = float(entr(search.form.prior).sum())  # I(X; Y) ≤ H(X)
        bound = min(everything, np.inf if tree is None else tree.bound, _proven(proof))
        limits.keep(search.optimum.value, bound, lambda: _solution(search, tree, limits.gap, proof))


def _shared_slack(form: CutProgram) -> SlackCone | None:
    """Return the parts in which two secrets share the slack, if a bound over them is worth its time."""
    if form.cone.dimension <= SMALL_INPUTS or (form.prior <= 0).any():
        return None
    cone: SlackCone | None = form.cone.shared_slack()
    return cone if cone is not None and cone.shape[1] <= MOST_VALUES else None


def _start(form: CutProgram, limits: Limits) -> Array:
    """Return columns of good mechanisms of wider inner cones, or the constant one if without pricing.

    Columns of the inner cone are more private than they must be, and those of a wider one nearly enough.
    """
    cone = form.inner.cone
    if accepts(form.inner) is not True or not has_blocks(cone):
        return np.ones((form.cone.dimension, 1))
    # with many secrets, and so many pairs of them, the inner cone has better columns: it gets more time
    share = 0.4 if cone.shape[0] > 8 else 0.15
    found = []
    for factor in WIDER:
        inner = replace(form.inner, cone=replace(cone, epsilon=factor * cone.epsilon))
        part = replace(limits.part(share), gap=1e-3, progress=None)
        found.append(BlockSearch(inner, part).run().point.rays)
    return np.hstack(found)


def _proven(proof: Proof | None) -> float:
    """Return the bound that a proof over shared slack proves."""
    return np.inf if proof is None else certify.dual_bound(np.array(proof["dual"]))


def _solution(
    search: ColumnSearch, tree: BoundTree | None, gap: float, proof: Proof | None = None
) -> FormSolution:
    """Return the best mechanism, and the better bound of the tree and of shared slack with its proof.

    Args:
        search: the columns so far.
        tree: a tree of the cuts.
        gap: the relative gap that counts as none.
        proof: the proof over shared slack.
    """
    best = search.answer()
    stats: dict[str, float] = {
        "iterations": search.steps,
        "columns": search.lp.rays.shape[1],
        "cuts": search.known_cuts,
    }
    grown = tree is not None and bool(tree.leaves)
    if not grown and proof is None:
        return FormSolution(Status.FEASIBLE, best.point, best.value, stats=stats)
    if grown and tree is not None and tree.bound < _proven(proof):
        proof = tree.proof(proof_slack(search.optimum.value, gap))
        stats["nodes"] = len(proof["tree"])
    else:
        assert proof is not None
        stats["nodes"] = sum(len(nodes) for nodes in proof["cover"])
    return FormSolution(
        status=Status.GAP,
        point=best.point,
        value=best.value,
        bound=certify.dual_bound(np.array(proof["dual"])),
        proof=proof,
        stats=stats,
    )
