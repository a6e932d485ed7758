"""The minimum-cost flow of Wang et al. 2024, Algorithm 1, by networkx: a slow check of the matching."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import networkx as nx
import numpy as np

from ldpopt.core.form import Form, FormSolution
from ldpopt.core.solver import Progress, Solver
from ldpopt.forms.selection_program import SelectionProgram
from ldpopt.theory.leakage.matching import Matching, accepts_network, matched_solution

MOST_EDGES = 300_000


class FlowNetworkx(Solver):
    """Algorithm 1 to the letter, with the costs −P(θ'|θ) ∈ {−1, 0} as integers.

    Wang et al. 2024, Proposition 2, corrected: SML is the logarithm of the *negative* cost.
    """

    name: ClassVar[str] = "flow-networkx"

    def accepts(self, form: Form) -> Literal[True] | str:
        """Deterministic selection programs with a network of bearable size."""
        return accepts_network(form, MOST_EDGES)

    def suits(self, form: Form) -> Literal[True] | str:
        """Never the first choice."""
        return "a cross-check, far slower than the matching"

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
        """Build the network, find the flow, read off the matching."""
        assert isinstance(form, SelectionProgram)
        network = algorithm_1(form)
        flow = nx.max_flow_min_cost(network, "source", "sink")
        matching = _matching(form, flow)
        cost = int(nx.cost_of_flow(network, flow))
        return matched_solution(form, matching, {"edges": network.number_of_edges(), "cost": cost})


def algorithm_1(form: SelectionProgram) -> nx.DiGraph:
    """Source → secrets → parameters → outputs (all of them) → sink, every capacity 1."""
    network = nx.DiGraph()
    rows, outputs = form.matrix.shape
    for g in range(int(form.groups.max()) + 1):
        network.add_edge("source", ("g", g), capacity=1, weight=0)
    for row, g in enumerate(form.groups.tolist()):
        network.add_edge(("g", g), ("row", row), capacity=1, weight=0)
    for row, released in zip(range(rows), form.matrix.indices.tolist(), strict=True):
        for y in range(outputs):
            network.add_edge(("row", row), ("y", y), capacity=1, weight=-int(y == released))
    for y in range(outputs):
        network.add_edge(("y", y), "sink", capacity=1, weight=0)
    return network


def _matching(form: SelectionProgram, flow: dict[Any, dict[Any, int]]) -> Matching:
    matching = np.full(int(form.groups.max()) + 1, -1)
    for row, (g, y) in enumerate(zip(form.groups.tolist(), form.matrix.indices.tolist(), strict=True)):
        if flow[("row", row)].get(("y", y), 0):
            matching[g] = y
    return matching
