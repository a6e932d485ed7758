"""The minimum-cost flow of Wang et al. 2024, Algorithm 1: the part that is alike for all libraries."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldpopt.core.forms.selections import SelectionProgram
from ldpopt.core.solver import FormSolution, Limits, Solver
from ldpopt.measures.row_selection import is_deterministic
from ldpopt.solvers._leakage.matched import matched_solution

Whole = NDArray[np.int64]


class Arcs(NamedTuple):
    """A network by its arcs, every capacity 1; the two last nodes are source and sink.

    Attributes:
        tails: the node that each arc leaves.
        heads: the node that each arc enters.
        costs: the cost of a unit on each arc.
    """

    tails: Whole
    heads: Whole
    costs: Whole


def algorithm_1(form: SelectionProgram) -> Arcs:
    """Build source → secrets → parameters → outputs (all) → sink, with costs −P(θ'|θ) ∈ {−1, 0}."""
    m, n = form.matrix.shape
    secrets = int(form.groups.max()) + 1
    rows, outputs = secrets + np.arange(m), secrets + m + np.arange(n)
    source, sink = secrets + m + n, secrets + m + n + 1
    cost = np.zeros((m, n), np.int64)
    cost[np.arange(m), form.matrix.indices] = -1
    return Arcs(
        np.concatenate([np.full(secrets, source), form.groups, np.repeat(rows, n), outputs]),
        np.concatenate([np.arange(secrets), rows, np.tile(outputs, m), np.full(n, sink)]),
        np.concatenate([np.zeros(secrets + m, np.int64), cost.ravel(), np.zeros(n, np.int64)]),
    )


class FlowSolver(Solver[SelectionProgram]):
    """Algorithm 1 of Wang et al. 2024 as printed.

    Proposition 2, corrected: SML is the logarithm of the *negative* cost.
    """

    most_edges: ClassVar[int]
    """The most edges between parameters and outputs; more take too long."""

    def accepts(self, form: SelectionProgram) -> Literal[True] | str:
        """Accept deterministic selection programs with a network of bearable size."""
        if not is_deterministic(form.matrix):
            return "the mechanism is not deterministic: the flow would divide a secret"
        if (edges := form.matrix.shape[0] * form.matrix.shape[1]) > self.most_edges:
            return f"the network has {edges} edges; more than {self.most_edges} take too long"
        return True

    def suits(self, form: SelectionProgram) -> Literal[True] | str:
        """Leave the first choice to other solvers."""
        return "a cross-check, slower than the matching"

    @abstractmethod
    def flow(self, arcs: Arcs, limits: Limits) -> Whole:
        """Find what flows on each arc, 0 or 1, in a maximum flow of minimum cost."""

    def run(self, form: SelectionProgram, limits: Limits) -> FormSolution:
        """Build the network, find the flow, read off the matching."""
        limits.check()
        arcs = algorithm_1(form)
        flow = self.flow(arcs, limits)
        (m, n), matching = form.matrix.shape, np.full(int(form.groups.max()) + 1, -1)
        between = flow[len(matching) + m :][: m * n].reshape(m, n)
        taken = np.flatnonzero(between[np.arange(m), form.matrix.indices])
        matching[form.groups[taken]] = form.matrix.indices[taken]
        stats: dict[str, float] = {"edges": len(flow), "cost": int(flow @ arcs.costs)}
        with limits.proving():
            return matched_solution(form, matching, stats)
