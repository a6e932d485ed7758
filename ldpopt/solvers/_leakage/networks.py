"""Statistic maximal leakage as two network problems (Wang et al. 2024, Appendix C).

Both are transformations, not methods: they show which known hard problems the leakage is an instance
of. Flows are integral here; with fractional ones an edge cost would be earned more than once.
"""

from __future__ import annotations

import networkx as nx

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
