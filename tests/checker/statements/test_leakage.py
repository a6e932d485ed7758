"""Leakage in the checker: forgeries, accepted claims against brute force, extreme numbers."""

import itertools
import json
import math
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from ldpopt import Status, solve, verify
from ldpopt.checker import frame
from ldpopt.checker.kernel import reading
from ldpopt.checker.kernel.arithmetic import exp, log
from ldpopt.checker.kernel.budget import UndecidedError, limited
from ldpopt.checker.kernel.claims import verdict
from ldpopt.checker.kernel.proofs import selection_trees
from ldpopt.checker.statements import leakage_design
from ldpopt.core.errors import InvalidInputError
from ldpopt.measures.row_selection_lp import MOST_DEPTH
from ldpopt.problems import LeakageDesign, StatisticLeakage

FORGERIES = sorted((Path(__file__).parents[2] / "forgeries" / "leakage").glob("*.json"))
Exact = list[list[Fraction]]


def decide(document: Any, plain: dict[str, Any] | None = None) -> str:
    """The verdict on a file, read from its text."""
    words = {True: "verified", False: "refuted", None: "undecided"}
    try:
        with limited(60):
            return words[verdict(frame.check(reading.parse(json.dumps(document).encode()), plain))]
    except reading.UnreadableError:
        return "unreadable"


@pytest.mark.parametrize("path", FORGERIES, ids=lambda path: path.stem)
def test_forgeries(path: Path) -> None:
    forgery = json.loads(path.read_text())
    assert forgery["why"]
    assert decide(forgery["document"]) == forgery["verdict"], forgery["why"]


def test_there_are_forgeries() -> None:
    assert len(FORGERIES) >= 40


# ---------------------------------------------------------------- brute force


def document(
    kind: str, params: Any, value: float, bound: float, proof: Any, **answer: Any
) -> dict[str, Any]:
    return {
        "format": 1,
        "problem": kind,
        "params": params,
        "status": "gap",
        "value": value,
        "bound": bound,
        "mechanism": answer.get("mechanism"),
        "answer": answer.get("answer"),
        "certificate": {"proof": proof, "gap": 1e-6},
    }


def grouped(secrets: list[int]) -> list[list[int]]:
    return [[i for i, s in enumerate(secrets) if s == g] for g in dict.fromkeys(secrets)]


def covered(rows: list[list[float]]) -> Fraction:
    """Σ_y max over the rows in fractions, each row divided by its sum."""
    exact = [[Fraction(p) / sum(map(Fraction, row)) for p in row] for row in rows]
    return sum(map(max, zip(*exact, strict=True)), Fraction(0))


def best_coverage(rows: list[list[float]], secrets: list[int]) -> Fraction:
    """The most that a selection covers, of all selections."""
    return max(covered([rows[i] for i in chosen]) for chosen in itertools.product(*grouped(secrets)))


def random_rows(rng: random.Random, m: int, n: int) -> list[list[float]]:
    """Rows whose sums are off by rounding, by up to 9e-10, or not; some with tiny entries."""
    style, rows = rng.randrange(4), []
    for _ in range(m):
        cuts = [0.0, *sorted(rng.randrange(9) / 8 for _ in range(n - 1)), 1.0]
        row = [b - a for a, b in itertools.pairwise(cuts)]
        if style:
            noise = [p * rng.random() + 0.1 for p in row]
            total = math.fsum(noise) * (1 + (9e-10 * rng.uniform(-1, 1) if style == 2 else 0.0))
            row = [p / total for p in noise]
        if style == 3:
            row[rng.randrange(n)] += rng.choice([5e-324, 1e-200, 1e-17])
        rows.append(row)
    return rows


def random_leaf(rng: random.Random, rows: list[list[float]]) -> dict[str, Any]:
    """Prices that bound well: 0, an entry of the output, or anything."""
    prices = [rng.choice([0.0, rng.choice(column), rng.random()]) for column in zip(*rows, strict=True)]
    kept = [y for y in range(len(prices)) if rng.random() < 0.9]
    return {"outputs": kept, "prices": [prices[y] for y in kept]}


def random_tree(
    rng: random.Random, rows: list[list[float]], secrets: list[int], depth: int
) -> dict[str, Any]:
    if depth == 0 or rng.random() < 0.5:
        return random_leaf(rng, rows)
    names = list(dict.fromkeys(secrets))
    g = rng.randrange(len(names))
    size = 1 if depth == 1 and len(names) > 1 and rng.random() < 0.05 else secrets.count(names[g])
    return {"secret": g, "branches": [random_tree(rng, rows, secrets, depth - 1) for _ in range(size)]}


def around(x: float, rng: random.Random) -> float:
    """A number near x, on both sides, from one rounding to 1e-9 away."""
    return rng.choice([x, x - 1e-16, x * (1 - 1e-15), x + 1e-16, x * (1 + 1e-15), x - 1e-9, x + 1e-9])


def test_accepted_claims_about_a_mechanism_are_true() -> None:
    rng = random.Random(0)
    accepted = {"value": 0, "bound": 0}
    for _ in range(2000):
        m, n = rng.randint(1, 6), rng.randint(1, 4)
        rows, secrets = random_rows(rng, m, n), [rng.randrange(3) for _ in range(m)]
        best, chosen = best_coverage(rows, secrets), [rng.choice(g) for g in grouped(secrets)]
        own = covered([rows[i] for i in chosen])
        value, bound = around(math.log(own), rng), around(math.log(best), rng)
        tree = random_tree(rng, rows, secrets, rng.randrange(3))
        params, answer = {"matrix": rows, "secrets": secrets}, {"selection": chosen}
        file = document("statistic-leakage", params, value, bound, tree, answer=answer)
        try:
            claims = {claim.what: claim.holds for claim in frame.check(file)}
        except reading.UnreadableError:  # a tree with too few branches
            continue
        assert not claims["value"] or Fraction(value) <= Fraction(log(own).high), file
        assert claims["value"] or Fraction(value) >= Fraction(log(own).low), file
        assert not claims["bound"] or Fraction(bound) >= Fraction(log(best).low), file
        for what in accepted:
            accepted[what] += claims[what] is True
    assert min(accepted.values()) > 150, accepted


def mutated(honest: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """A design with other numbers in its proof, its mechanism and its claims."""
    file: dict[str, Any] = json.loads(json.dumps(honest))
    file.pop("gap")
    proof, rows = file["certificate"]["proof"], file["mechanism"]["matrix"]
    for numbers in (proof["prior"], proof["privacy"]["prices"]):
        if numbers and rng.random() < 0.5:
            numbers[rng.randrange(len(numbers))] *= rng.choice([0.0, 0.5, 1 - 1e-9, 1 + 1e-9, 1.5])
    for cut in proof["cuts"]:
        cut["weight"] *= rng.choice([0.0, 1 - 1e-9, 1 + 1e-9, 2.0, 1.0, 1.0, 1.0])
        if rng.random() < 0.2:
            cut["outputs"][rng.randrange(3)] = rng.randrange(3)
    t = rng.choice([0.0, 0.0, 1 / 1024, 1 / 2])
    for i, row in enumerate(rows):
        row[:] = [(1 - t) * w + t * (i == y) for y, w in enumerate(row)]
    file["value"] = around(honest["value"], rng)
    file["bound"] = rng.choice(
        [around(honest["value"], rng), honest["bound"], honest["bound"] - 0.1, -1.0]
    )
    return file


@pytest.mark.parametrize("budget", [0.0, 0.2, math.log(2), 1.0])
def test_accepted_claims_about_a_design_are_true(budget: float) -> None:
    """The honest mechanism costs at most its value, so a bound above that is false."""
    rng = random.Random(1)
    accepted = {"bound": 0, "privacy": 0, "value": 0}
    honest = solve(LeakageDesign(2, 2, budget)).to_json()
    for _ in range(400):
        file = mutated(honest, rng)
        try:
            claims = {claim.what: claim.holds for claim in frame.check(file)}
        except reading.UnreadableError:  # a prior beyond 1
            continue
        rows = file["mechanism"]["matrix"]
        costs = [
            sum(Fraction(abs(i - y), 2) * Fraction(w) for y, w in enumerate(row))
            for i, row in enumerate(rows)
        ]
        assert not claims["bound"] or file["bound"] <= honest["value"]
        assert claims["value"] == (max(costs) <= Fraction(file["value"]))
        if claims["privacy"]:
            assert best_coverage(rows, [0, 1, 2]) <= Fraction(exp(budget).high)
        for what in accepted:
            accepted[what] += claims[what] is True
    assert min(accepted.values()) > 20, accepted


# ---------------------------------------------------------------- normalisation


def test_a_constant_mechanism_leaks_nothing_whatever_its_sums() -> None:
    rows = [[0.1 * (1 + off)] * 10 for off in (9e-10, 0.0, -9e-10)]
    result = solve(StatisticLeakage(rows, [0, 1, 2]))
    assert result.status is Status.OPTIMAL
    assert result.value == 0.0
    assert result.bound < 1e-15
    assert verify(result)
    sparse = StatisticLeakage(csr_array(np.array(rows)), [0, 1, 2])
    assert solve(sparse).value == 0.0


def test_a_tiny_leakage_is_found_below_the_noise_of_sums() -> None:
    rows = [[(0.5 + 1e-11) * (1 + 9e-10), (0.5 - 1e-11) * (1 + 9e-10)], [0.5, 0.5]]
    result = solve(StatisticLeakage(rows, [0, 1]))
    assert result.value == pytest.approx(1e-11, rel=1e-4)
    assert result.bound == pytest.approx(1e-11, rel=1e-4)
    assert verify(result)


def test_both_sides_of_the_tolerance() -> None:
    near, far = [0.5 * (1 + 9.9e-10)] * 2, [0.5 * (1 + 1.1e-9)] * 2
    plain = {"form": "selection-program", "matrix": [near], "secrets": [0]}
    parts = frame.question(plain).rows[0].parts
    assert parts[0] == parts[1]
    assert StatisticLeakage([near], [0]).matrix.tolist() == [[0.5, 0.5]]
    with pytest.raises(reading.UnreadableError, match="row 0 of the matrix must sum to 1"):
        frame.question({**plain, "matrix": [far]})
    with pytest.raises(InvalidInputError, match="row 0 of the matrix must sum to 1, but sums to"):
        StatisticLeakage([far], [0])


@pytest.mark.parametrize(
    "rows",
    [
        [[1.0, 5e-324], [1.0, 0.0]],
        [[1.0, 1e-300], [1.0, 0.0]],
        [[1 - 2.0**-53, 2.0**-53], [1.0, -0.0]],
        [[5e-324, 1.0], [1.0, 5e-324]],
    ],
)
def test_numbers_at_the_ends_of_floats(rows: list[list[float]]) -> None:
    result = solve(StatisticLeakage(rows, [0, 1]))
    truth = log(best_coverage(rows, [0, 1]))
    assert 0 <= Fraction(result.value) <= Fraction(truth.high)
    assert Fraction(result.bound) >= Fraction(truth.low)
    assert verify(result)


@pytest.mark.parametrize("budget", [0.0, -0.0, 1e-300, 1e-12, 1e-6, 30.0])
def test_designs_at_extreme_budgets_verify(budget: float) -> None:
    result = solve(LeakageDesign(2, 2, budget))
    assert result.status is Status.OPTIMAL
    assert verify(result)


def test_negative_entries_of_a_linear_program_are_repaired() -> None:
    from ldpopt.solvers._leakage.repair import repair_leakage

    rows = np.array([[1 + 1e-14, -1e-14], [0.5, 0.5]])
    prices = {"outputs": [0, 1], "prices": [1.0, 0.5]}
    matrix, tree = repair_leakage(rows, prices, np.array([0, 1]), math.log(2))
    assert matrix.min() >= 0
    assert min(tree["prices"]) >= 0


# ---------------------------------------------------------------- statements of other packages


def program(**changes: Any) -> dict[str, Any]:
    plain = {
        "form": "leakage-program",
        "costs": [[0, 1], [1, 0]],
        "scale": 1,
        "secrets": [0, 1],
        "leakage": 0.0,
    }
    return {**plain, **changes}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"costs": [[0, -1], [1, 0]]}, "whole number from 0"),
        ({"costs": [[0, 0.5], [1, 0]]}, "whole number from 0"),
        ({"costs": [[0, 1], [1]]}, "the same length"),
        ({"scale": 0}, "scale must be a whole number from 1"),
        ({"scale": -1}, "scale must be a whole number from 1"),
        ({"secrets": [0]}, "secrets must be 2 labels"),
        ({"secrets": [1, True]}, "must write equal labels alike"),
        ({"labels": ["a", "a"]}, "labels must be different"),
        ({"labels": ["a"]}, "labels must be different"),
        ({"leakage": -1.0}, "leakage must be a finite number from 0"),
        ({"level": 1}, "no key 'level'"),
    ],
)
def test_other_statements_are_as_strict(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(reading.UnreadableError, match=message):
        frame.question(program(**changes))


def test_a_statement_of_another_package_is_decided() -> None:
    proof = {
        "privacy": {"outputs": [0], "prices": [1.0]},
        "prior": [0.5, 0.5],
        "cuts": [{"weight": 0.5, "selection": [0, 1], "outputs": [0, 1]}],
    }
    file = document("mine", {}, 1.0, 0.0, proof, mechanism={"matrix": [[1.0, 0.0], [1.0, 0.0]]})
    assert decide(file, program()) == "verified"
    assert decide({**file, "value": 0.999}, program()) == "refuted"
    named = {"matrix": [[1.0, 0.0], [1.0, 0.0]], "inputs": ["b", "a"]}
    assert decide({**file, "mechanism": named}, program(labels=["a", "b"])) == "refuted"
    assert decide({**file, "mechanism": named}, program(labels=["b", "a"])) == "verified"


# ---------------------------------------------------------------- the budget


def test_time_and_memory_are_limited() -> None:
    result = solve(StatisticLeakage([[0.6, 0.4], [0.5, 0.5], [0.2, 0.8]], [0, 0, 1])).to_json()
    with limited(seconds=-1), pytest.raises(UndecidedError):
        frame.check(result)
    matrix = {"shape": [4, 2], "rows": [0, 1, 2, 3], "columns": [0] * 4, "values": [1.0] * 4}
    plain = {"form": "selection-program", "matrix": matrix, "secrets": [0] * 4}
    with limited(memory=120 * 31), pytest.raises(UndecidedError, match="the mechanism would take"):
        frame.question(plain)
    with limited(memory=120 * 32):
        assert frame.question(plain).groups == [[0, 1, 2, 3]]


def test_the_deepest_tree_of_a_solver_can_be_read() -> None:
    node: dict[str, Any] = {"outputs": [], "prices": []}
    for _ in range(MOST_DEPTH):
        node = {"secret": 0, "branches": [node]}
    params = {"matrix": [[1.0]], "secrets": ["a"]}
    file = document("statistic-leakage", params, 0.0, 0.0, node, answer={"selection": [0]})
    assert decide(file) == "verified"


def test_both_sides_of_the_most_histograms() -> None:
    assert leakage_design.count_histograms(999, 2) == leakage_design.MOST_HISTOGRAMS
    LeakageDesign(999, 2, 1.0)
    with pytest.raises(InvalidInputError, match="too many to list"):
        LeakageDesign(44, 3, 1.0)
    with pytest.raises(reading.UnreadableError, match="too many to list"):
        frame.statement("leakage-design", {"tau": 44, "d": 3, "leakage": 1.0})


def test_values_and_bounds_are_exact_where_sums_are() -> None:
    rows = [[0.5, 0.5], [0.25, 0.75]]
    question = frame.question({"form": "selection-program", "matrix": rows, "secrets": [0, 1]})
    low, high = selection_trees.coverage(question.rows)
    assert low == high == selection_trees.UNIT * 5 // 4
    leaf = selection_trees.Tree().read({"outputs": [0, 1], "prices": [0.5, 0.75]}, "proof")
    assert selection_trees.tree_bound(leaf, question) == selection_trees.UNIT * 5 // 4


def test_histograms_of_many_categories():
    """They are listed one after the other, however many categories there are."""
    space = list(leakage_design._histograms(1, 999))
    assert len(space) == 999
    assert space == sorted(space)
    assert leakage_design._distances(space[:3], 1) == [[0, 2, 2], [2, 0, 2], [2, 2, 0]]
