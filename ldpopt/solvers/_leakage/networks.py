"""Statistic maximal leakage as two network problems (Wang et al. 2024, Appendix C).

Both are transformations, not methods: they show which known hard problems the leakage is an instance
of. Flows are integral here; with fractional ones an edge cost would be earned more than once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import networkx as nx
import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array, csr_array

from ldpopt.core.errors import SolverError
from ldpopt.core.forms.selections import SelectionProgram

SOURCE, SINK = "source", "sink"


def edge_cost_network(form: SelectionProgram) -> nx.DiGraph:
    """Build the edge-cost flow: an edge costs its weight as soon as anything flows through it.

    Source → secrets → parameters (cost 1) → outputs (cost −P) → sink, and parameters → sink. In a
    maximum flow |G||Θ'| every secret uses a parameter and a second one costs 1 and gains at most 1,
    so the least cost is |G| − e^SML (Wang et al. 2024 prints |Θ'| − e^SML).
    """
    network = _network(form, secret_cost=1.0)
    for row in range(len(form.groups)):
        network.add_edge(("row", row), SINK, capacity=form.matrix.shape[1], weight=0.0)
    return network


def conflict_network(form: SelectionProgram) -> nx.DiGraph:
    """Build the flow with conflicts: each secret may send flow to one parameter (attribute conflict).

    A maximum flow is |Θ'|; its least cost is −e^SML.
    """
    network = _network(form, secret_cost=0.0)
    for row, g in enumerate(form.groups.tolist()):
        network.edges[("g", g), ("row", row)]["conflict"] = g
    return network


def _network(form: SelectionProgram, secret_cost: float) -> nx.DiGraph:
    dense = form.matrix.toarray()
    rows, outputs = dense.shape
    network = nx.DiGraph()
    for row, g in enumerate(form.groups.tolist()):
        network.add_edge(SOURCE, ("g", g), capacity=outputs, weight=0.0)
        network.add_edge(("g", g), ("row", row), capacity=outputs, weight=secret_cost)
    for row in range(rows):
        for y in range(outputs):
            network.add_edge(("row", row), ("y", y), capacity=1, weight=-float(dense[row, y]))
    for y in range(outputs):
        network.add_edge(("y", y), SINK, capacity=1, weight=0.0)
    return network


def least_edge_cost(network: nx.DiGraph) -> float:
    """Find the least cost of an integral maximum flow that keeps its conflicts.

    It is that of a mixed-integer program with a flow and a 0/1 use of every edge; small networks only.
    """
    edges = list(network.edges(data=True))
    count = len(edges)
    capacity = np.array([data["capacity"] for _, _, data in edges], dtype=np.float64)
    weight = np.array([data["weight"] for _, _, data in edges])
    rules = list(_conservation(network, edges))
    use = csr_array(np.hstack([np.eye(count), -np.diag(capacity)]))  # flow ≤ capacity · use
    used = csr_array(np.hstack([-np.eye(count), np.eye(count)]))  # use ≤ flow
    constraints = [LinearConstraint(use, -np.inf, 0), LinearConstraint(used, -np.inf, 0), *rules]
    found = milp(
        np.concatenate([np.zeros(count), weight]),
        integrality=np.ones(2 * count, np.int64),
        bounds=Bounds(0, np.concatenate([capacity, np.ones(count)])),
        constraints=constraints,
    )
    if found.x is None:
        raise SolverError(f"HiGHS ended with: {found.message}")
    return float(found.fun)


def _conservation(network: nx.DiGraph, edges: list[Any]) -> Iterator[LinearConstraint]:
    """State that what flows in flows out, the source sends the maximum, and conflicts use one edge."""
    count = len(edges)
    places = {node: i for i, node in enumerate(network.nodes)}
    ends = [(places[a], e, 1.0) for e, (a, _, _) in enumerate(edges)]
    ends += [(places[b], e, -1.0) for e, (_, b, _) in enumerate(edges)]
    nodes, columns, signs = (np.array(part) for part in zip(*ends, strict=True))
    balance = csr_array(coo_array((signs, (nodes, columns)), shape=(len(places), 2 * count)))
    supply = np.zeros(len(places))
    # one selection reaches every output, so conflicts do not lower the maximum flow
    supply[places[SOURCE]] = nx.maximum_flow_value(network, SOURCE, SINK)
    supply[places[SINK]] = -supply[places[SOURCE]]
    yield LinearConstraint(balance, supply, supply)
    for label in {data["conflict"] for _, _, data in edges if "conflict" in data}:
        chosen = [count + e for e, (_, _, data) in enumerate(edges) if data.get("conflict") == label]
        row = np.zeros((1, 2 * count))
        row[0, chosen] = 1
        yield LinearConstraint(row, -np.inf, 1)
