"""The minimum-cost flow of Wang et al. 2024, Algorithm 1, by OR-Tools."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from ldpopt.core import child_process
from ldpopt.core.errors import SolverError
from ldpopt.core.form import FormSolution
from ldpopt.core.forms.selection_program import SelectionProgram
from ldpopt.core.limits import Limits
from ldpopt.core.solver import Solver
from ldpopt.solvers._leakage.matched import accepts_network, matched_solution

Whole = NDArray[np.int64]


class FlowOrtools(Solver[SelectionProgram]):
    """Algorithm 1 of Wang et al. 2024, as ``flow-networkx``, in a faster implementation."""

    name: ClassVar[str] = "flow-ortools"
    requires: ClassVar[tuple[str, ...]] = ("ortools",)

    def accepts(self, form: SelectionProgram) -> Literal[True] | str:
        """Accept deterministic selection programs with a network of bearable size."""
        return accepts_network(form, 20_000_000)

    def suits(self, form: SelectionProgram) -> Literal[True] | str:
        """Leave the first choice to other solvers."""
        return "a cross-check, slower than the matching"

    def run(self, form: SelectionProgram, limits: Limits) -> FormSolution:
        """Build the network, find the flow, read off the matching."""
        limits.check()
        m, n = form.matrix.shape
        count = int(form.groups.max()) + 1
        # nodes: groups, then rows, then outputs, then source and sink
        rows, outputs = count + np.arange(m), count + m + np.arange(n)
        source, sink = count + m + n, count + m + n + 1
        cost = np.zeros((m, n), np.int64)
        cost[np.arange(m), form.matrix.indices] = -1
        tails = np.concatenate([np.full(count, source), form.groups, np.repeat(rows, n), outputs])
        heads = np.concatenate([np.arange(count), rows, np.tile(outputs, m), np.full(n, sink)])
        costs = np.concatenate([np.zeros(count + m, np.int64), cost.ravel(), np.zeros(n, np.int64)])
        # in another process: OR-Tools and highspy each bring a HiGHS, and these clash
        flow = child_process.call(cheapest_flow, tails, heads, costs, limits=limits)
        between = flow[count + m : count + m + m * n].reshape(m, n)
        taken = np.flatnonzero(between[np.arange(m), form.matrix.indices])
        matching = np.full(count, -1)
        matching[form.groups[taken]] = form.matrix.indices[taken]
        stats: dict[str, float] = {"edges": len(tails), "cost": int(flow @ costs)}
        with limits.proving():
            return matched_solution(form, matching, stats)


def cheapest_flow(tails: Whole, heads: Whole, costs: Whole) -> Whole:
    """Find the maximum flow of minimum cost.

    The two last nodes are source and sink; every capacity is 1.

    Args:
        tails: the node that each arc leaves.
        heads: the node that each arc enters.
        costs: the cost of a unit on each arc.

    Returns:
        What flows on each arc, 0 or 1.
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
