"""The minimum-cost flow of Wang et al. 2024, Algorithm 1, by networkx: a slow check of the matching."""

from __future__ import annotations

from typing import ClassVar

import networkx as nx
import numpy as np

from ldpopt.core import child_process
from ldpopt.core.limits import Limits
from ldpopt.solvers._leakage.flow import Arcs, FlowSolver, Whole


class FlowNetworkx(FlowSolver):
    """Algorithm 1 of Wang et al. 2024 by networkx, far slower than ``flow-ortools``."""

    most_edges: ClassVar[int] = 300_000

    def flow(self, arcs: Arcs, limits: Limits) -> Whole:
        """Find the flow; where it takes more than a second, in a process that can be stopped."""
        if limits.deadline is None or len(arcs.tails) <= 2_000:
            return cheapest_flow(*arcs)
        found = child_process.call(cheapest_flow, *arcs, limits=limits, imports="networkx")
        return np.asarray(found, np.int64)


def cheapest_flow(tails: Whole, heads: Whole, costs: Whole) -> Whole:
    """Find what flows on each arc in a maximum flow of minimum cost.

    Args:
        tails: the node that each arc leaves.
        heads: the node that each arc enters; the two last nodes are source and sink.
        costs: the cost of a unit on each arc.
    """
    ends = list(zip(tails.tolist(), heads.tolist(), strict=True))
    network = nx.DiGraph()
    for (tail, head), cost in zip(ends, costs.tolist(), strict=True):
        network.add_edge(tail, head, capacity=1, weight=cost)
    sink = int(heads.max())
    flow = nx.max_flow_min_cost(network, sink - 1, sink)
    return np.array([flow[tail][head] for tail, head in ends])
