"""Releasing features: brute force over all subsets, greedy below exact, forged results."""

import json
import math
from collections import Counter
from fractions import Fraction
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from future_exposure import statistical_exposure_ceiling
from hypothesis import given, settings
from hypothesis import strategies as st

from ldpopt import solve, verify
from ldpopt.checker import frame
from ldpopt.checker.kernel import reading
from ldpopt.checker.kernel.printed_numbers import printed
from ldpopt.checker.kernel.proofs.exposure_prices import SafeWeights
from ldpopt.checker.kernel.proofs.exposure_rules import provable
from ldpopt.core.errors import InvalidInputError
from ldpopt.core.form import Status
from ldpopt.core.limits import Limits
from ldpopt.measures.exposure import deviation, exposure_of_table
from ldpopt.measures.exposure_of_future_users import (
    statistical_exposure,
    threshold_for_users,
)
from ldpopt.problems import FeatureRelease
from ldpopt.problems.feature_release import anonymity
from ldpopt.solvers.feature_set_branch import Search, priced
from ldpopt.tables.codes import group_sizes
from ldpopt.tables.datasets import adult_features

ADULT = adult_features()


def heaviest(problem):
    features = range(len(problem.weights))
    subsets = [s for size in range(len(features) + 1) for s in combinations(features, size)]
    safe = [s for s in subsets if not s or problem.exposure(s) <= problem.budget]
    return max(sum(problem.weights[j] for j in s) for s in safe)


@given(seed=st.integers(0, 10_000), budget=st.floats(0, 0.8), t=st.floats(0.001, 0.1))
@settings(max_examples=12)
def test_exact_by_brute_force(seed, budget, t):
    rng = np.random.default_rng(seed)
    weights = rng.integers(1, 9, size=5).tolist()
    marginals = [rng.dirichlet(np.full(rng.integers(2, 6), 2.0)) for _ in weights]
    table = rng.integers(0, rng.integers(2, 5), (80, 5)).tolist()
    for problem in (
        FeatureRelease(t, budget, marginals=marginals, weights=weights),
        FeatureRelease(t, budget, table=table, weights=weights),
    ):
        exact, greedy = solve(problem), solve(problem, "subset-greedy")
        assert exact.status is Status.OPTIMAL
        assert greedy.value <= exact.value == heaviest(problem)
        assert verify(exact)
        assert verify(greedy)


@given(seed=st.integers(0, 10_000), t=st.floats(0.001, 0.1))
@settings(max_examples=20)
def test_risk_only_grows(seed, t):
    rng = np.random.default_rng(seed)
    marginals = [rng.dirichlet(np.full(4, 2.0)) for _ in range(4)]
    problem = FeatureRelease(t, 0.1, marginals=marginals)
    for size in range(1, 4):
        assert problem.exposure(tuple(range(size))) <= problem.exposure(tuple(range(size + 1))) + 1e-12


def test_adult():
    names = list(ADULT.counts)[:6]
    problem = FeatureRelease(1e-3, 0.1, marginals=[ADULT.marginal(name) for name in names])
    result = solve(problem)
    assert verify(result)
    assert result.value == heaviest(problem)


def test_what_is_released_is_safe_in_truth():
    shape = ADULT.joint.shape
    cells = np.repeat(np.indices(shape).reshape(4, -1).T, ADULT.joint.ravel(), axis=0)
    marginals = [ADULT.marginal(name) for name in ADULT.joint_names]
    safe = solve(FeatureRelease(1e-3, 0.05, marginals=marginals)).answer["features"]
    assert safe
    assert exposure_of_table(cells, safe, 1e-3) <= 0.05


def test_greedy_can_be_worse():
    fair, wide = [0.5, 0.5], [0.05] * 20
    problem = FeatureRelease(0.01, 0.3, marginals=[wide, fair, fair, fair], weights=[4, 3, 3, 3])
    greedy, exact = solve(problem, "subset-greedy"), solve(problem)
    assert greedy.value < exact.value
    assert greedy.status is Status.FEASIBLE


@given(seed=st.integers(0, 10_000), at=st.floats(0.01, 0.3))
@settings(max_examples=8)
def test_redacting_rare_values(seed, at):
    rng = np.random.default_rng(seed)
    table = rng.geometric(0.4, (60, 4)).tolist()
    marginals = [rng.dirichlet(np.full(5, 0.7)) for _ in range(4)]
    for data in ({"table": table}, {"marginals": marginals}):
        problem = FeatureRelease(0.02, 0.2, redact=at, **data)
        released = problem.question
        columns = released.columns or [None] * 4
        for p, column, w in zip(
            released.marginals or [None] * 4, columns, released.weights, strict=True
        ):
            shares = p or [Fraction(n, 60) for n in Counter(column).values()]
            assert w <= 1
            assert sum(shares) == 1
            assert min(shares) >= printed(at) or len(shares) == 1
        result = solve(problem)
        assert verify(result)
        assert result.value == pytest.approx(
            max(
                sum(problem.question.weights[j] for j in s)
                for size in range(5)
                for s in combinations(range(4), size)
                if not s or problem.exposure(s) <= 0.2
            )
        )


def test_redaction_can_make_a_feature_safe():
    marginals = [[0.6, 0.3, 0.06, 0.04]]
    assert solve(FeatureRelease(0.05, 0.0, marginals=marginals)).value == 0
    redacted = solve(FeatureRelease(0.05, 0.0, marginals=marginals, redact=0.05))
    assert redacted.value == pytest.approx(0.9)
    assert verify(redacted)


def ceiling(problem, subset):
    """The same risk in floats."""
    sizes = [len(set(column)) for column in zip(*problem.table, strict=True)]
    reach = 2 * deviation(len(problem.table), math.prod(n + 1 for n in sizes) - 1, problem.delta) ** 2
    frequencies = group_sizes(np.array(problem.table), list(subset)) / len(problem.table)
    level, possible = anonymity(problem.threshold, problem.users), math.prod(sizes[j] for j in subset)
    return statistical_exposure_ceiling(frequencies, problem.users, level, reach, support=possible)


@given(seed=st.integers(0, 10_000), t=st.floats(0.001, 0.1), users=st.integers(1, 4000))
@settings(max_examples=8)
def test_future_users_by_brute_force(seed, t, users):
    rng = np.random.default_rng(seed)
    table = rng.integers(0, [2, 3, 2, 4], (1500, 4)) * rng.integers(0, 2, (1500, 4))
    weights = rng.integers(1, 9, size=4).tolist()
    problem = FeatureRelease(t, 0.1, table=table, weights=weights, users=users)
    exact, greedy = solve(problem), solve(problem, "subset-greedy")
    assert greedy.value <= exact.value == heaviest(problem)
    assert verify(exact)
    assert verify(greedy)
    for s in [(0,), (0, 1), (0, 1, 2), (0, 1, 2, 3)]:
        assert problem.exposure(s) == pytest.approx(ceiling(problem, s), abs=1e-10)


@given(seed=st.integers(0, 10_000), users=st.integers(1, 500), delta=st.floats(0.01, 0.9))
@settings(max_examples=25)
def test_the_risk_of_future_users_only_grows(seed, users, delta):
    table = np.random.default_rng(seed).geometric(0.4, (300, 3))
    problem = FeatureRelease(0.03, 0.1, table=table, users=users, delta=delta)
    for smaller, larger in [((0,), (0, 1)), ((2,), (1, 2)), ((0, 1), (0, 1, 2))]:
        assert problem.exposure(smaller) <= problem.exposure(larger) + 1e-12


def test_future_users_are_as_safe_as_promised():
    """Samples of a known distribution: what is released is within the budget for the truth."""
    rng, p = np.random.default_rng(5), np.array([0.55, 0.3, 0.12, 0.03])
    released = []
    for _ in range(30):
        table = rng.choice(4, size=(4000, 2), p=p)
        problem = FeatureRelease(0.02, 0.05, table=table, users=400)
        features = solve(problem).answer["features"]
        joint = np.ones(1)
        for _ in features:
            joint = np.outer(joint, p).ravel()
        assert statistical_exposure(joint, 400, 8) <= problem.exposure(tuple(features)) <= 0.05
        released.append(len(features))
    assert max(released) == 1  # both features: Q = 0.17


def test_future_users_from_marginals():
    """Section 7 with the marginals alone: at the threshold that n users make safe, less the misses."""
    rng, users, k, budget, miss = np.random.default_rng(3), 5000, 5, 0.1, 0.01
    t = threshold_for_users(users, k, miss)
    joint = rng.dirichlet(np.full(12, 3.0)).reshape(2, 3, 2)
    marginals = [joint.sum(axis=tuple({0, 1, 2} - {j})) for j in range(3)]
    features = solve(FeatureRelease(t, budget - miss, marginals=marginals)).answer["features"]
    assert features
    together = joint.sum(axis=tuple({0, 1, 2} - set(features))).ravel()
    assert statistical_exposure(together, users, k) <= budget


def test_forgeries_about_future_users_are_refuted():
    table = [(v % 2, v % 10) for v in range(1000)]
    result = solve(FeatureRelease(0.05, 0.01, table=table, weights=[1, 2], users=1000))
    document = json.loads(json.dumps(result.to_json()))
    assert not refuted(document)
    for key, value in (("users", 10), ("delta", 1e-300), ("budget", 0.9)):
        forged = json.loads(json.dumps(document))
        forged["params"][key] = value
        assert refuted(forged), key
    document["params"]["users"] = "many"
    with pytest.raises(reading.UnreadableError):
        frame.check(document)


def test_data_frames():
    frame = pd.DataFrame({"a": ["x", "x", "y", "y"], "b": [1, 2, 3, 4]})
    assert solve(FeatureRelease(0.4, 0.0, table=frame)).answer["features"] == [0]
    assert solve(FeatureRelease(0.4, 0.0, table=frame.to_numpy())).answer["features"] == [0]


@pytest.fixture
def document():
    marginals = [[0.5, 0.5], [0.5, 0.5], [0.9, 0.07, 0.03]]
    result = solve(FeatureRelease(0.01, 0.1, marginals=marginals, weights=[1, 1, 3]))
    return json.loads(json.dumps(result.to_json()))


def refuted(document):
    return not all(claim.holds for claim in frame.check(document))


def test_forgeries_are_refuted(document):
    assert not refuted(document)
    more = json.loads(json.dumps(document))
    more["value"] = more["bound"] = 5.0
    assert refuted(more)
    unsafe = json.loads(json.dumps(document))
    unsafe["params"]["budget"] = 0.05
    assert refuted(unsafe)
    lazy = json.loads(json.dumps(document))
    lazy["certificate"]["proof"]["conflicts"] = []
    assert refuted(lazy)
    invented = json.loads(json.dumps(document))
    invented["answer"]["features"] = [2]
    invented["answer"]["thresholds"] = invented["answer"]["thresholds"][:1]
    invented["value"] = invented["bound"] = 3.0
    invented["certificate"]["proof"]["conflicts"] = [[0], [1]]
    assert refuted(invented)


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d["answer"].update(features=[7]),
        lambda d: d["params"].pop("weights"),
        lambda d: d["answer"].update(features=[0, 0]),
        lambda d: d["answer"].update(pivot=True),
        lambda d: d["certificate"].update(proof=None),
    ],
)
def test_garbage_is_unreadable(document, change):
    change(document)
    with pytest.raises(reading.UnreadableError):
        frame.check(document)


@pytest.mark.parametrize(
    ("params", "complaint"),
    [
        ({}, "either 'marginals' or 'table'"),
        ({"marginals": [[1.0]], "table": [[1]]}, "either 'marginals' or 'table'"),
        ({"marginals": []}, "marginals must be a list of 1 to 64 entries"),
        ({"marginals": [[1.0]], "budget": 2}, "budget must be a finite number from 0 to 1, not 2"),
        (
            {"marginals": [[1.0]], "threshold": 2},
            "threshold must be a finite number above 0 to 1, not 2",
        ),
        ({"marginals": [[1.0]], "weights": [1, 2]}, "weights must be 1 numbers"),
        ({"table": [[1], [1, 2]]}, "same length"),
        ({"marginals": [[1.0]], "users": 3}, "'users' needs a 'table'"),
        ({"table": [[1]], "users": 3, "redact": 0.1}, "cannot be given together with 'redact'"),
        ({"table": [[1]], "users": 0}, "users must be a whole number from 1 to 2,000,000, not 0"),
        (
            {"table": [[1]], "users": 3, "delta": 1},
            "delta must be a finite number above 0 below 1, not 1",
        ),
    ],
)
def test_bad_input(params, complaint):
    with pytest.raises(InvalidInputError, match=complaint):
        FeatureRelease.from_params(**{"threshold": 0.1, "budget": 0.1} | params)


def test_prices_of_conflicts_bound_the_weight_where_the_search_is_not_finished():
    """No two of three features are safe: a price of 1/2 each proves 3/2 of what one of them weighs."""
    problem = FeatureRelease(0.5, 0.0, table=[[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]])
    pairs = [(0, 1), (0, 2), (1, 2)]
    form = next(iter(problem.forms()))
    prices = priced(form, pairs)
    assert list(prices.values()) == pytest.approx([0.5] * 3, abs=1e-8)
    found = solve(problem).to_json()
    proof = {"conflicts": pairs, "prices": [0.5] * 3}
    claimed = {**found, "status": "gap", "bound": 1.5, "gap": 1 / 3}
    claimed = json.loads(
        json.dumps({**claimed, "certificate": {**found["certificate"], "proof": proof}})
    )
    assert all(claim.holds for claim in frame.check(claimed))

    def refuted(bound=1.5, **changes):
        forged = {**json.loads(json.dumps(claimed)), "bound": bound, "gap": 1 - 1 / bound}
        forged["certificate"]["proof"] |= changes
        return any(claim.holds is False for claim in frame.check(forged))

    assert refuted(bound=1.4999)
    assert refuted(bound=1.25, prices=[0.5, 0.5, 0.75])  # two of them are more than a feature weighs
    assert refuted(conflicts=[[0], [1], [2]], prices=[0.5] * 3)  # one feature alone is safe
    with pytest.raises(reading.UnreadableError, match="must have 3 entries, one per conflict, not 2"):
        refuted(prices=[0.5, 0.5])


def test_a_search_that_is_not_finished_has_a_bound():
    rng = np.random.default_rng(3)
    problem = FeatureRelease(0.05, 0.1, table=rng.integers(0, 3, (200, 12)))
    search = Search(next(iter(problem.forms())), Limits())
    for _ in range(60):
        node = search.pending.pop()
        search.pending += search._branches(*node)
    found = search.solution()
    assert found.value < found.bound < 12
    assert found.proof["prices"]
    assert heaviest(problem) <= found.bound


@pytest.mark.parametrize("seed", range(3))
def test_prices_of_exposure_and_factors_prove_many_features(seed):
    """Eighteen features: the safe sets are grown one by one beside it."""
    [(_, problem)] = FeatureRelease.random(18, np.random.default_rng(seed))
    found = solve(problem)
    assert found.status is Status.OPTIMAL
    safe, heaviest_set = {()}, 0.0
    while safe:
        heaviest_set = max([heaviest_set, *(sum(problem.weights[j] for j in J) for J in safe)])
        larger = {(*J, j) for J in safe for j in range(J[-1] + 1 if J else 0, 18)}
        safe = {J for J in larger if problem.exposure(J) <= problem.budget}
    assert found.value == pytest.approx(heaviest_set, abs=1e-9)
    assert verify(found)
    assert "tree" in found.to_json()["certificate"]["proof"]


def test_a_tree_of_prices_is_forged_in_vain():
    """What is dropped, halved or added is refuted or unreadable."""
    [(_, problem)] = FeatureRelease.random(17, np.random.default_rng(5))
    document = json.loads(json.dumps(solve(problem).to_json()))
    assert all(claim.holds for claim in frame.check(document))

    def refuted(change, bound=document["bound"]):
        forged = json.loads(json.dumps(document)) | {"bound": bound}
        forged["gap"] = abs(bound - forged["value"]) / max(bound, forged["value"])
        forged["status"] = "optimal" if forged["gap"] <= 1e-9 else "gap"
        change(forged["certificate"]["proof"]["tree"])
        try:
            claims = frame.check(forged)
        except reading.UnreadableError:
            return True
        return any(claim.holds is False for claim in claims)

    def leaves(tree, **changes):
        for node in tree:
            if node.get("exposure"):
                node.update({key: factor * node[key] for key, factor in changes.items()})

    assert refuted(lambda tree: None, bound=document["bound"] - 1e-3)
    assert refuted(lambda tree: leaves(tree, exposure=0.0, factors=0.0))
    assert refuted(lambda tree: leaves(tree, factors=-1.0))
    assert refuted(lambda tree: leaves(tree, exposure=0.5))
    assert refuted(lambda tree: tree.pop())
    assert refuted(lambda tree: tree.append({"exposure": 1.0, "factors": 1.0}))
    assert refuted(lambda tree: tree.insert(0, dict(tree[0])))
    assert refuted(lambda tree: tree[0].update(feature=17))


def test_a_feature_that_the_other_rule_proves_safe_alone_counts():
    """Eleven values of more than t are safe alone by theorem-2; theorem-3-tight proves nothing there."""
    wide = [Fraction(1, 2), *[Fraction(1, 20)] * 10]
    known = SafeWeights([wide] * 2, [Fraction(1)] * 2, Fraction(1, 25), Fraction(1, 5))
    asked = known.threshold, "theorem-2", known.budget
    assert provable([wide], *asked, less=False)
    assert not provable([wide], known.threshold, "theorem-3-tight", known.budget, less=False)
    unsafe = {"exposure": 0.0, "factors": 0.0}
    tree = [{"feature": 0}, {"feature": 1}, unsafe, unsafe, unsafe]
    assert known.none_heavier(tree, Fraction(1))
    assert not known.none_heavier(tree, Fraction(9, 10))


@given(st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_what_theorem_2_proves_of_pairs_the_other_rule_proves(seed):
    rng = np.random.default_rng(seed)
    marginals = [
        [Fraction(int(x), int(row.sum())) for x in row]
        for row in (rng.integers(1, 9, rng.integers(1, 5)) for _ in range(rng.integers(2, 4)))
    ]
    t, most = Fraction(int(rng.integers(1, 50)), 1000), Fraction(int(rng.integers(1, 900)), 1000)
    if provable(marginals, t, "theorem-2", most, less=False):
        assert provable(marginals, t, "theorem-3-tight", most, less=False)
