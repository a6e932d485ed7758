"""The minimum-cost flow of Wang et al. 2024, Algorithm 1, by OR-Tools."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ldpopt.core import child_process
from ldpopt.core.errors import SolverError
from ldpopt.core.limits import Limits
from ldpopt.solvers._leakage.flow import Arcs, FlowSolver, Whole


class FlowOrtools(FlowSolver):
    """Algorithm 1 of Wang et al. 2024, as ``flow-networkx``, in a faster implementation."""

    requires: ClassVar[tuple[str, ...]] = ("ortools",)
    most_edges: ClassVar[int] = 20_000_000

    def flow(self, arcs: Arcs, limits: Limits) -> Whole:
        """Find the flow in another process: OR-Tools and highspy each bring a HiGHS, and these clash."""
        library = "ortools.graph.python.min_cost_flow"
        found = child_process.call(cheapest_flow, *arcs, limits=limits, imports=library)
        return np.asarray(found, np.int64)


def cheapest_flow(tails: Whole, heads: Whole, costs: Whole) -> Whole:
    """Find what flows on each arc in a maximum flow of minimum cost.

    Args:
        tails: the node that each arc leaves.
        heads: the node that each arc enters; the two last nodes are source and sink.
        costs: the cost of a unit on each arc.
    """
    from ortools.graph.python import min_cost_flow

    sink = int(heads.max())
    network = min_cost_flow.SimpleMinCostFlow()
    arcs = network.add_arcs_with_capacity_and_unit_cost(tails, heads, np.ones_like(tails), costs)
    groups = int((tails == sink - 1).sum())
    network.set_node_supply(sink - 1, groups)
    network.set_node_supply(sink, -groups)
    if (status := network.solve_max_flow_with_min_cost()) != network.OPTIMAL:
        raise SolverError(f"OR-Tools ended with status {status}")
    return network.flows(arcs)
