"""The best mechanism against an uncertainty set: known optima, other methods, forgeries."""

import json
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from forgeries.contradicting import judged

from ldpopt import problem, solve
from ldpopt.checker.kernel.proofs.set_privacy import is_set_private
from ldpopt.checker.statements.set_optimum import exact_columns
from ldpopt.core.errors import InvalidInputError
from ldpopt.core.form import Status
from ldpopt.measures.rldp_level import rldp_level
from ldpopt.models.convex_set import ConvexSet
from ldpopt.models.set_cone import SetCone
from ldpopt.problems import SetOptimum

TABLE = [[0.3, 0.2], [0.15, 0.35]]
SETS = {
    "known": {"p": TABLE},
    "total-variation": {"p_hat": TABLE, "radius": 0.02},
    "credible": {"counts": [[30, 20], [15, 35]]},
}


@cache
def _solved(kind):
    return json.dumps(solve(SetOptimum(1.0, {"kind": kind, **SETS[kind]})).to_json())


def solved(kind):
    return json.loads(_solved(kind))


@pytest.mark.parametrize("kind", SETS)
def test_optima_are_proven_and_private(kind):
    document = solved(kind)
    assert document["status"] == "optimal"
    assert judged(document) == "verified"
    F = ConvexSet(kind, **SETS[kind])
    level = rldp_level(np.array(document["mechanism"]["matrix"]), F).level
    assert 1 - 1e-6 < level <= 1


def test_a_known_distribution_reaches_the_ceiling():
    """max I(S; Y) + H(U|S): what no mechanism exceeds that hides s under p is reached."""
    p = np.array(TABLE)
    secret = p.sum(axis=1)
    best = solve(problem("staircase", epsilon=1.0, prior=secret.tolist())).value
    rest = -(p * np.log(p / secret[:, None])).sum()
    assert solved("known")["value"] == pytest.approx(best + rest, abs=1e-8)


def test_a_larger_set_has_a_smaller_optimum():
    assert solved("known")["value"] > solved("total-variation")["value"]
    wider = solve(SetOptimum(1.0, {"kind": "total-variation", "p_hat": TABLE, "radius": 0.1}))
    assert wider.status is Status.OPTIMAL
    assert wider.value < solved("total-variation")["value"]


@pytest.mark.slow
def test_the_chi_squared_set_has_the_optimum_of_the_other_kind():
    other = solve(problem("robust-optimum", epsilon=1.0, p_hat=TABLE, n=1000))
    found = solve(SetOptimum(1.0, {"kind": "chi-squared", "p_hat": TABLE, "n": 1000}))
    assert found.value == pytest.approx(other.value, abs=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize(
    "ball",
    [
        {"kind": "kullback-leibler", "radius": 0.003},
        {"kind": "likelihood", "radius": 0.003},
        {"kind": "hellinger", "radius": 0.03},
        {"kind": "wasserstein", "radius": 0.02},
    ],
    ids=lambda ball: ball["kind"],
)
def test_optima_over_other_balls(ball):
    found = solve(SetOptimum(1.0, {**ball, "p_hat": TABLE}))
    assert found.status is Status.OPTIMAL
    assert judged(found.to_json()) == "verified"


def test_the_least_shares_are_those_of_the_set():
    F = ConvexSet("total-variation", p_hat=TABLE, radius=0.02)
    # (0, 0) loses 0.02 and (0, 1) gains 0.02
    assert SetCone(F.exact, 1.0).least_shares()[0, 0] == pytest.approx(0.28 / 0.5, abs=1e-5)


def wide_cone():
    """A ball around a 4 × 2 table: some climbs over it end at a lower maximum than others."""
    (_, question), *_ = SetOptimum.random(4, np.random.default_rng(1))
    return SetCone(question.members.exact, question.epsilon)


def test_the_excess_is_that_of_the_best_climb():
    """The climb from the center of the set ends at 0.18693 for this column and these secrets."""
    cone = wide_cone()
    column = np.array([1.0, 0.0, 0.53, 0.03, 1.0, 1.0, 0.0, 0.16])
    excess = cone.excess(column[:, None])[0][0]
    assert excess[cone.pairs.index((1, 3))] == pytest.approx(0.187752516, abs=1e-8)


def test_columns_outside_are_moved_until_they_are_proven_private():
    cone = wide_cone()
    rows = np.random.default_rng(0).dirichlet(np.full(3, 0.5), 8)
    private = cone.repaired(rows)
    assert is_set_private(exact_columns(private.tolist()), cone.F, Fraction(cone.epsilon))
    assert not is_set_private(exact_columns(rows.tolist()), cone.F, Fraction(cone.epsilon))
    assert np.array_equal(cone.repaired(private), private)
    assert {sum(map(Fraction, row)) for row in private.tolist()} == {1}


@pytest.mark.parametrize("kind", SETS)
def test_forgeries(kind):
    higher = solved(kind)
    higher["value"] = higher["bound"] = higher["bound"] + 1e-6
    higher.pop("gap")
    assert judged(higher) == "refuted"
    lower = solved(kind)
    lower["bound"] = lower["value"] = lower["value"] - 1e-6
    lower.pop("gap")
    assert judged(lower) == "refuted"
    smaller = solved(kind)
    smaller["params"]["epsilon"] = 0.999
    assert judged(smaller) in ("refuted", "undecided")
    assert judged({**smaller, "certificate": {**smaller["certificate"], "audit": {}}}) == "refuted"
    level = solved(kind)
    level["certificate"]["audit"]["level"] += 1e-8
    assert judged(level) == "refuted"
    level["certificate"]["audit"]["level"] -= 3e-8
    assert judged(level) in ("refuted", "undecided")
    outside = solved(kind)
    for cut in outside["certificate"]["proof"].get("cuts", []):
        if kind != "known":
            cut["witness"] = [[0.97, 0.01], [0.01, 0.01]]
    if kind != "known" and "cuts" in outside["certificate"]["proof"]:
        assert judged(outside) == "refuted"


def test_other_questions_are_refused():
    with pytest.raises(InvalidInputError, match="positive probability"):
        SetOptimum(1.0, {"kind": "total-variation", "p_hat": TABLE, "radius": 0.5})
    with pytest.raises(InvalidInputError, match="36 cells"):
        SetOptimum(1.0, {"kind": "known", "p": np.full((7, 7), 1 / 49).tolist()})
    with pytest.raises(InvalidInputError, match="kind"):
        SetOptimum(1.0, "total-variation")
