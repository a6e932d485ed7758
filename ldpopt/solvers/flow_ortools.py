"""The minimum-cost flow of Wang et al. 2024, Algorithm 1, by OR-Tools."""

from __future__ import annotations

import io
import subprocess
import sys
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from ldpopt.core.errors import SolverError
from ldpopt.core.form import Form, FormSolution
from ldpopt.core.solver import Progress, Solver
from ldpopt.forms.selection_program import SelectionProgram
from ldpopt.theory.leakage.matching import accepts_network, matched_solution

MOST_EDGES = 20_000_000


class FlowOrtools(Solver):
    """Algorithm 1 to the letter, with the costs −P(θ'|θ) ∈ {−1, 0}, in a fast implementation."""

    name: ClassVar[str] = "flow-ortools"
    requires: ClassVar[tuple[str, ...]] = ("ortools",)

    def accepts(self, form: Form) -> Literal[True] | str:
        """Deterministic selection programs with a network of bearable size."""
        return accepts_network(form, MOST_EDGES)

    def suits(self, form: Form) -> Literal[True] | str:
        """Never the first choice."""
        return "a cross-check, slower than the matching"

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
        flow = _elsewhere(np.array([tails, heads, costs]), time_limit)
        between = flow[count + m : count + m + m * n].reshape(m, n)
        taken = np.flatnonzero(between[np.arange(m), form.matrix.indices])
        matching = np.full(count, -1)
        matching[form.groups[taken]] = form.matrix.indices[taken]
        stats: dict[str, float] = {"edges": len(tails), "cost": int(flow @ costs)}
        return matched_solution(form, matching, stats)


def _elsewhere(arcs: NDArray[np.int64], time_limit: float | None) -> NDArray[np.int64]:
    """The flow, found in another process: OR-Tools and highspy each bring a HiGHS, and these clash."""
    task = io.BytesIO()
    np.save(task, arcs)
    code = "from ldpopt.solvers.flow_ortools import serve; serve()"
    try:
        run = subprocess.run(
            [sys.executable, "-c", code],
            input=task.getvalue(),
            capture_output=True,
            timeout=time_limit,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise SolverError(f"OR-Tools did not end within {time_limit} seconds") from None
    if run.returncode != 0:
        raise SolverError(f"OR-Tools ended with: {run.stderr.decode(errors='replace')[-200:]}")
    return np.load(io.BytesIO(run.stdout))


def serve() -> None:
    """Read arcs from standard input, write their maximum flow of minimum cost to standard output.

    The two last nodes are source and sink; every capacity is 1.
    """
    from ortools.graph.python import min_cost_flow

    tails, heads, costs = np.load(io.BytesIO(sys.stdin.buffer.read()))
    sink = int(heads.max())
    network = min_cost_flow.SimpleMinCostFlow()
    arcs = network.add_arcs_with_capacity_and_unit_cost(tails, heads, np.ones_like(tails), costs)
    groups = int((tails == sink - 1).sum())
    network.set_node_supply(sink - 1, groups)
    network.set_node_supply(sink, -groups)
    if (status := network.solve_max_flow_with_min_cost()) != network.OPTIMAL:
        raise SolverError(f"status {status}")
    np.save(sys.stdout.buffer, network.flows(arcs))
