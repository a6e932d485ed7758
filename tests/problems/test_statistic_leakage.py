"""Statistic maximal leakage: known values, all solvers against brute force, certificates, bad input."""

import copy
import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from ldpopt import Status, load, solve, verify
from ldpopt.checker import frame
from ldpopt.checker.kernel import reading
from ldpopt.core.errors import InvalidInputError, NoSolverError
from ldpopt.core.form import relative_gap
from ldpopt.core.validate import Array
from ldpopt.engine.solving import accepting, problem
from ldpopt.measures.row_selection import leaf
from ldpopt.measures.row_selection_lp import PriceLP
from ldpopt.problems import StatisticLeakage

SMALL = [[3 / 5, 2 / 5], [1 / 2, 1 / 2], [1 / 5, 4 / 5]]
TRAP = [[0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5], [0.5, 0.5, 0, 0]]
EXACT = ("brute-force", "milp-highs")


def deterministic(outputs: list[int], secrets: list[int]) -> StatisticLeakage:
    return StatisticLeakage(np.eye(max(outputs) + 1)[outputs], secrets)


def fano() -> StatisticLeakage:
    return [example.problem for example in StatisticLeakage.examples()][2]  # type: ignore[return-value]


def reference(matrix: Array, secrets: list[int]) -> float:
    """From the definition, with nothing of the package."""
    rows = [[i for i, s in enumerate(secrets) if s == g] for g in sorted(set(secrets))]
    return max(matrix[list(chosen)].max(axis=0).sum() for chosen in itertools.product(*rows))


def random_case(rng: np.random.Generator, simple: bool) -> tuple[Array, list[int]]:
    secrets = rng.integers(0, rng.integers(1, 5), size=rng.integers(1, 8)).tolist()
    outputs = int(rng.integers(1, 6))
    if simple:
        return np.eye(outputs)[rng.integers(0, outputs, size=len(secrets))], secrets
    return rng.dirichlet(np.full(outputs, 0.5), size=len(secrets)), secrets


@pytest.mark.parametrize("name", [*EXACT, "cuts", "auto"])
def test_known_values(name: str) -> None:
    assert math.exp(solve(StatisticLeakage(SMALL, [0, 0, 1]), name).value) == pytest.approx(7 / 5)
    case = deterministic([0, 1, 1, 0, 1, 2, 2], [0, 0, 1, 1, 2, 2, 3])
    assert math.exp(solve(case, name).value) == pytest.approx(3)
    assert math.exp(solve(StatisticLeakage(TRAP, [0, 0, 1]), name).value) == pytest.approx(2)


@pytest.mark.parametrize("name", ["matching", "flow-networkx", "flow-ortools"])
def test_flows_on_the_deterministic_case(name: str) -> None:
    if name == "flow-ortools":
        pytest.importorskip("ortools")
    case = deterministic([0, 1, 1, 0, 1, 2, 2], [0, 0, 1, 1, 2, 2, 3])
    result = solve(case, name)
    assert result.status is Status.OPTIMAL
    assert math.exp(result.value) == pytest.approx(3)
    assert verify(result)


def test_fano_plane_has_an_lp_gap() -> None:
    assert PriceLP(fano().form).solve().bound == pytest.approx(2)  # the optimum is 5/3


@pytest.mark.parametrize("name", [*EXACT, "cuts"])
def test_branching_closes_the_fano_plane(name: str) -> None:
    result = solve(fano(), name)
    assert math.exp(result.bound) == pytest.approx(5 / 3)
    assert result.status is Status.OPTIMAL
    assert "branches" in result.certificate.proof
    assert verify(result)


def test_greedy_falls_into_the_trap_and_says_so() -> None:
    result = solve(StatisticLeakage(TRAP, [0, 0, 1]), "greedy")
    assert math.exp(result.value) == pytest.approx(1)
    assert math.exp(result.bound) == pytest.approx(2)
    assert result.status is Status.GAP
    assert verify(result)


@pytest.mark.parametrize("simple", [False, True])
def test_solvers_agree_with_brute_force(simple: bool) -> None:
    rng = np.random.default_rng(5)
    for _ in range(110):
        matrix, secrets = random_case(rng, simple)
        case = StatisticLeakage(matrix, secrets)
        truth = reference(matrix, secrets)
        for name in [name for name, _ in accepting(case) if name != "flow-ortools"]:
            result = solve(case, name)
            assert verify(result), (name, matrix, secrets)
            assert math.exp(result.value) <= truth + 1e-12
            assert math.exp(result.bound) >= truth - 1e-12
            if name == "greedy":
                assert math.exp(result.value) >= truth / 2 - 1e-12
            elif name != "cuts":
                assert result.status is Status.OPTIMAL
            if result.status is Status.OPTIMAL:
                assert math.exp(result.value) == pytest.approx(truth, abs=1e-9)


@given(st.integers(0, 10**6))
@settings(max_examples=15)
def test_prices_bound_every_selection(seed: int) -> None:
    rng = np.random.default_rng(seed)
    matrix, secrets = random_case(rng, False)
    form = StatisticLeakage(matrix, secrets).form
    from ldpopt.measures.row_selection import price_bound

    prices = rng.random(matrix.shape[1]) * rng.choice([0.0, 0.2, 1.0])
    assert price_bound(form, prices) >= reference(matrix, secrets) - 1e-12


def test_auto_recognises_determinism() -> None:
    assert solve(deterministic([0, 1, 0], [0, 1, 2])).solver == "matching"
    with pytest.raises(NoSolverError, match="not deterministic"):
        solve(StatisticLeakage(SMALL, [0, 0, 1]), "matching")


def test_one_secret_leaks_nothing() -> None:
    result = solve(StatisticLeakage([[1.0, 0.0], [0.25, 0.75]], ["a", "a"]))
    assert result.value == 0
    assert result.bound == 0
    assert verify(result)


def test_labels_of_many_kinds() -> None:
    labels = ["a", ("b", 1), ["b", 1], 1, np.int64(1), None]
    result = solve(StatisticLeakage(np.eye(6), labels))
    assert math.exp(result.value) == pytest.approx(4)
    assert verify(result)


def test_sparse_input_and_files(tmp_path) -> None:
    dense = StatisticLeakage(SMALL, ["a", "a", "b"])
    sparse = StatisticLeakage(csr_array(np.array(SMALL)), ["a", "a", "b"])
    assert isinstance(sparse.to_params()["matrix"], dict)
    again = problem("statistic-leakage", **sparse.to_params())
    for case in (dense, sparse, again):
        result = solve(case, "milp-highs")
        result.save(tmp_path / "result.json")
        assert load(tmp_path / "result.json").to_json() == result.to_json()
        assert frame.main(str(tmp_path / "result.json")) == 0
        assert math.exp(result.value) == pytest.approx(1.4)


def test_hundred_thousand_parameters() -> None:
    rng = np.random.default_rng(0)
    count, outputs, secrets = 100_000, 20_000, 30_000
    entries = (np.ones(count), (np.arange(count), rng.integers(0, outputs, count)))
    matrix = csr_array(entries, shape=(count, outputs))
    result = solve(StatisticLeakage(matrix, rng.integers(0, secrets, count).tolist()))
    assert result.status is Status.OPTIMAL
    assert result.solver == "matching"


def tampered(result, **changes):
    document = copy.deepcopy(result.to_json())
    for path, value in changes.items():
        *parents, last = path.split("__")
        place = document
        for key in parents:
            place = place[key]
        place[last] = value
    return document


def refuted(document) -> bool:
    return not all(claim.holds for claim in frame.check(document))


def test_tampering_is_refuted() -> None:
    result = solve(StatisticLeakage(SMALL, [0, 0, 1]))
    assert not refuted(result.to_json())
    assert refuted(tampered(result, value=result.value + 1e-9))
    assert refuted(tampered(result, bound=result.bound - 1e-9))
    assert refuted(tampered(result, answer={"selection": [1, 2]}))
    assert refuted(tampered(result, answer={"selection": [0, 1]}))
    assert refuted(tampered(result, answer={"selection": [0]}))
    assert refuted(tampered(result, params__secrets=[0, 1, 1]))
    free = {"outputs": [], "prices": []}
    assert refuted(tampered(result, certificate__proof=free))
    relaxed = leaf(PriceLP(fano().form).solve().prices)
    worse = replace(solve(fano()), status=Status.GAP, bound=math.log(2) + 1e-9)
    worse = replace(worse, gap=relative_gap(worse.value, worse.bound))
    worse = replace(worse, certificate=replace(worse.certificate, proof=relaxed))
    assert not refuted(worse.to_json())
    assert refuted(tampered(worse, status="optimal"))
    assert refuted(tampered(worse, bound=math.log(5 / 3)))


@pytest.mark.parametrize(
    "changes",
    [
        {"certificate__proof": None},
        {"certificate__proof": {"outputs": [0], "prices": [-1.0]}},
        {"certificate__proof": {"outputs": [0, 0], "prices": [0.1, 0.1]}},
        {"certificate__proof": {"outputs": [0], "prices": [float("nan")]}},
        {"certificate__proof": {"secret": 0, "branches": [{"outputs": [], "prices": []}]}},
        {"certificate__proof": {"secret": 5, "branches": []}},
        {"params__matrix": [[0.5, 0.4], [0.5, 0.5], [0.5, 0.5]]},
        {"params__matrix": {"shape": [1, 1], "rows": [0], "columns": [3], "values": [1.0]}},
        {"params__secrets": [0, 0]},
        {"answer": None},
        {"value": None},
        {"status": "limit"},
    ],
)
def test_malformed_files_are_unreadable(changes) -> None:
    result = solve(StatisticLeakage(SMALL, [0, 0, 1]))
    with pytest.raises(reading.UnreadableError):
        frame.check(tampered(result, **changes))


@pytest.mark.parametrize(
    ("matrix", "secrets", "message"),
    [
        ([[0.5, 0.4]], [0], "row 0 of the matrix must sum to 1, but sums to 0.9"),
        ([[1.5, -0.5]], [0], "-0.5, not a probability"),
        ([[0.5, 0.5]], [0, 1], "secrets must be 1 labels, one per row of the matrix, not 2"),
        ([[0.5, 0.5]], [{}], "must be a string, a number"),
        (np.eye(2), [1, 1.0], "must write equal labels alike, not both '1' and '1.0'"),
        (np.eye(2), [("a", 1), ("a", True)], "must write equal labels alike"),
        ([[0.5, 0.5]], [10**18], "at most 18 digits"),
        ([[0.5, 0.5]], 3, "list of labels, not 3"),
        ([[0.5], [0.5, 0.5]], [0, 0], "ragged"),
        ([[float("nan"), 1]], [0], "must be a finite number"),
        ({"rows": [0]}, [0], "matrix needs the key 'shape'"),
    ],
)
def test_bad_input(matrix, secrets, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        StatisticLeakage(matrix, secrets)
