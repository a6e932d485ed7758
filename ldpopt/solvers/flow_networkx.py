"""The minimum-cost flow of Wang et al. 2024, Algorithm 1, by networkx: a slow check of the matching."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from ldpopt.core import child_process
from ldpopt.core.form import FormSolution
from ldpopt.core.forms.selection_program import SelectionProgram
from ldpopt.core.limits import Limits
from ldpopt.core.solver import Solver
from ldpopt.measures.selection_matching import Matching
from ldpopt.solvers._leakage.matched import accepts_network, matched_solution

Whole = NDArray[np.int64]


class FlowNetworkx(Solver[SelectionProgram]):
    """Algorithm 1 of Wang et al. 2024 as printed, with integer costs −P(θ'|θ) ∈ {−1, 0}.

    Proposition 2, corrected: SML is the logarithm of the *negative* cost.
    """

    name: ClassVar[str] = "flow-networkx"

    def accepts(self, form: SelectionProgram) -> Literal[True] | str:
        """Accept deterministic selection programs with a network of bearable size."""
        return accepts_network(form, 300_000)

    def suits(self, form: SelectionProgram) -> Literal[True] | str:
        """Leave the first choice to other solvers."""
        return "a cross-check, far slower than the matching"

    def run(self, form: SelectionProgram, limits: Limits) -> FormSolution:
        """Build the network, find the flow, read off the matching."""
        limits.check()
        size = np.array(form.matrix.shape)
        task = (form.groups, form.matrix.indices.astype(np.int64), size)
        # up to here the flow takes less than a second; beyond, it runs in a process that can be stopped
        if limits.deadline is None or form.matrix.shape[0] * form.matrix.shape[1] <= 2_000:
            found = cheapest_flow(*task)
        else:
            found = np.asarray(child_process.call(cheapest_flow, *task, limits=limits), np.int64)
        stats: dict[str, float] = {"edges": float(found[0]), "cost": float(found[1])}
        with limits.proving():
            return matched_solution(form, found[2:], stats)


def cheapest_flow(groups: Whole, released: Whole, shape: Whole) -> Whole:
    """Find the number of edges, the cost of the cheapest flow, and the output matched to each group.

    Args:
        groups: the secret of each parameter.
        released: the output of each parameter.
        shape: the numbers of parameters and of outputs.
    """
    network = algorithm_1(groups, released, shape)
    flow = nx.max_flow_min_cost(network, "source", "sink")
    cost = int(nx.cost_of_flow(network, flow))
    return np.array([network.number_of_edges(), cost, *_matching(groups, released, flow)])


def algorithm_1(groups: Whole, released: Whole, shape: Whole) -> nx.DiGraph:
    """Build the network source → secrets → parameters → outputs (all) → sink, every capacity 1.

    Args:
        groups: the secret of each parameter.
        released: the output of each parameter.
        shape: the numbers of parameters and of outputs.
    """
    network = nx.DiGraph()
    outputs = int(shape[1])
    for g in range(int(groups.max()) + 1):
        network.add_edge("source", ("g", g), capacity=1, weight=0)
    for row, g in enumerate(groups.tolist()):
        network.add_edge(("g", g), ("row", row), capacity=1, weight=0)
    for row, own in enumerate(released.tolist()):
        for y in range(outputs):
            network.add_edge(("row", row), ("y", y), capacity=1, weight=-int(y == own))
    for y in range(outputs):
        network.add_edge(("y", y), "sink", capacity=1, weight=0)
    return network


def _matching(groups: Whole, released: Whole, flow: dict[Any, dict[Any, int]]) -> Matching:
    matching = np.full(int(groups.max()) + 1, -1)
    for row, (g, y) in enumerate(zip(groups.tolist(), released.tolist(), strict=True)):
        if flow[("row", row)].get(("y", y), 0):
            matching[g] = y
    return matching
