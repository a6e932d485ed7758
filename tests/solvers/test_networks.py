"""The network problems of Wang et al. 2024, Appendix C, give the same leakage."""

import itertools
from collections.abc import Iterator
from typing import Any

import networkx as nx
import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array, csr_array

from ldpopt.problems import StatisticLeakage
from ldpopt.solvers._leakage.networks import SINK, SOURCE, conflict_network, edge_cost_network


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
    assert found.x is not None, found.message
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


def random_case(seed: int) -> tuple[StatisticLeakage, float]:
    rng = np.random.default_rng(seed)
    secrets = [0, 1, 1, 2, 2][: rng.integers(2, 6)]
    matrix = rng.dirichlet(np.full(3, 0.5), size=len(secrets))
    rows = [[i for i, s in enumerate(secrets) if s == g] for g in sorted(set(secrets))]
    best = max(matrix[list(c)].max(axis=0).sum() for c in itertools.product(*rows))
    return StatisticLeakage(matrix, secrets), best


@pytest.mark.parametrize("seed", range(6))
def test_edge_cost_flow(seed: int) -> None:
    case, best = random_case(seed)
    groups = len(set(case.secrets))
    assert least_edge_cost(edge_cost_network(case.form)) == pytest.approx(groups - best, abs=1e-7)


def test_printed_constant_is_wrong() -> None:
    """Wang et al. 2024 prints |Θ'| − e^SML; here |G| = 2 and |Θ'| = 3."""
    case = StatisticLeakage([[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]], [0, 1])
    cost = least_edge_cost(edge_cost_network(case.form))
    assert cost == pytest.approx(2 - 2)
    assert cost != pytest.approx(3 - 2)


@pytest.mark.parametrize("seed", range(6))
def test_flow_with_conflicts(seed: int) -> None:
    case, best = random_case(seed)
    assert least_edge_cost(conflict_network(case.form)) == pytest.approx(-best, abs=1e-7)
