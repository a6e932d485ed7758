"""The network problems of Wang et al. 2024, Appendix C, give the same leakage."""

import itertools

import numpy as np
import pytest

from ldpopt.problems import StatisticLeakage
from ldpopt.solvers._leakage.networks import conflict_network, edge_cost_network, least_edge_cost


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
