"""Robust privacy: enclosures, extremes that verify, and forgeries that do not."""

import copy
import json
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path

import mpmath
import numpy as np
import pytest
from forgeries.contradicting import judged
from hypothesis import given
from hypothesis import strategies as st

from ldpopt import solve, verify
from ldpopt.checker import frame
from ldpopt.checker.kernel import fixed_point, fixed_point_log
from ldpopt.checker.kernel.budget import UndecidedError, limited
from ldpopt.checker.kernel.claims import verdict
from ldpopt.checker.kernel.proofs import confidence_set, linear_minimum, polyopt_blocks, robust_privacy
from ldpopt.checker.kernel.reading import UnreadableError
from ldpopt.core.errors import InvalidInputError
from ldpopt.models.uncertainty_sets import Chi2Set
from ldpopt.problems import (
    GRRConditional,
    IndependentReporting,
    PolyOpt,
    RobustOptimum,
    UEConditional,
)

FORGERIES = sorted((Path(__file__).parents[2] / "forgeries" / "robust").glob("*.json"))
TABLE = [[0.20, 0.10, 0.05], [0.05, 0.25, 0.10], [0.02, 0.08, 0.15]]
SMALL = [[0.3, 0.2], [0.1, 0.4]]
KINDS = {
    "polyopt": PolyOpt(1.0, SMALL, 1000),
    "wide": PolyOpt(1.0, [[0.1, 0.1, 0.05, 0.1, 0.15], [0.05, 0.25, 0.05, 0.1, 0.05]], 1000),
    "merged": PolyOpt(1.0, [[0.2, 0.1, 0.05, 0.1], [0.05, 0.25, 0.1, 0.15]], 1000, width=3),
    "independent": IndependentReporting(1.0, SMALL, 1000),
    "conditional": GRRConditional(1.0, SMALL, 1000),
    "unary": UEConditional(1.0, SMALL, 1000),
}


@cache
def solved(name):
    return json.dumps(solve(KINDS[name]).to_json())


def document(name):
    return json.loads(solved(name))


# ---------------------------------------------------------------- enclosures


@given(st.integers(1, 2**400))
def test_logarithms_of_units(n):
    with mpmath.workprec(800):
        true = mpmath.log(mpmath.mpf(n) / fixed_point.UNIT) * fixed_point.UNIT
        found = fixed_point_log.log_units(n)
        assert found <= true <= found + fixed_point_log.LOG_ERROR


@given(st.integers(1, 2**1100 - 1), st.integers(1, 2**1100 - 1))
def test_logarithms_of_ratios(a, b):
    top, bottom = max(a, b), min(a, b)
    with mpmath.workprec(2600):
        true = mpmath.log(mpmath.mpf(top) / bottom) * fixed_point.UNIT
        found = fixed_point_log.log_of_ratio(top, bottom)
        assert found <= true <= found + fixed_point_log.LOG_ERROR + 1


@pytest.mark.parametrize("bottom", [1, 3, 2**900 + 1])
def test_logarithms_of_the_largest_ratios(bottom):
    limit = bottom << fixed_point_log.MOST_TWOS
    with mpmath.workprec(4000):
        true = mpmath.log(mpmath.mpf(limit - 1) / bottom) * fixed_point.UNIT
        found = fixed_point_log.log_of_ratio(limit - 1, bottom)
        assert found <= true <= found + fixed_point_log.LOG_ERROR + 1
    with pytest.raises(UndecidedError, match="are not compared"):
        fixed_point_log.log_of_ratio(limit, bottom)


@given(st.integers(0, fixed_point.UNIT), st.integers(0, 50), st.integers(0, 50))
def test_entropies_of_units(n, before, width):
    width = max(width, before)
    with mpmath.workprec(800):
        p = mpmath.mpf(n + before) / fixed_point.UNIT
        true = -p * mpmath.log(p) * fixed_point.UNIT if p else mpmath.mpf(0)
        assert fixed_point_log.entropy_below(n, width) <= true <= fixed_point_log.entropy_above(n, width)


@pytest.mark.parametrize("degrees", [1, 2, 3, 8, 99, 1000])
@pytest.mark.parametrize("alpha", [1e-12, 0.05, 0.5, 1 - 1e-12])
def test_the_quantile_lies_between_its_ends(degrees, alpha):
    found = confidence_set.chi_squared_quantile(degrees, Fraction(alpha))
    assert found.high - found.low <= found.high * Decimal("1e-19")
    with mpmath.workdps(60):
        for end, inside in ((found.low, True), (found.high, False)):
            tail = mpmath.gammainc(mpmath.mpf(degrees) / 2, mpmath.mpf(str(end)) / 2, regularized=True)
            assert (tail > mpmath.mpf(alpha)) == inside


def test_least_values_are_below_every_member():
    rng = np.random.default_rng(3)
    F = Chi2Set(TABLE, 100, 0.05)
    question = confidence_set.read_robust_question(
        {"p_hat": TABLE, "n": 100.0, "alpha": 0.05, "epsilon": 1.0}
    )
    q = [p for row in confidence_set.uncertain(question).given[:1] for p in row]
    step = confidence_set.uncertain(question).step[0]
    r = (confidence_set.ONE + step) * (confidence_set.ONE + step)
    for _ in range(20):
        c = rng.random(3)
        lowest = float(linear_minimum.least([Decimal(x) for x in c], q, r)[0])
        for _ in range(20):
            R = F.conditionals[0].sample(rng)
            assert lowest <= R @ c + 1e-12
        assert lowest == pytest.approx(F.conditionals[0].minimum(c)[0], abs=1e-9)


# ---------------------------------------------------------------- genuine results


@pytest.mark.parametrize("name", KINDS)
def test_genuine_results_verify(name):
    found = frame.check(document(name))
    assert all(claim.holds for claim in found), "\n".join(map(str, found))
    assert {claim.strength for claim in found} == {"exact"}
    assert {"member", "audit"} <= {claim.what for claim in found}


EXTREMES = [
    PolyOpt(1e-6, TABLE, 1000),
    PolyOpt(1.0, SMALL, 1e12),
    PolyOpt(1.0, SMALL, 0.01),
    PolyOpt(1.0, SMALL, 1000, alpha=1e-12),
    PolyOpt(1.0, [[1e-60, 0.5 - 1e-60], [0.5, 5e-300]], 1000),
    PolyOpt(1.0, [[5e-60, 3e-60], [0.5, 0.5]], 1000),
    PolyOpt(20.0, SMALL, 1000),
    IndependentReporting(20.0, SMALL, 1000),
    IndependentReporting(1.0, [[1e-60, 0.5 - 1e-60], [0.5, 5e-300]], 1000),
    GRRConditional(1e-6, SMALL, 1000),
    GRRConditional(1.0, SMALL, 1e12),
    UEConditional(1.0, SMALL, 1e12),
    UEConditional(0.1, SMALL, 1e12, alpha=1 - 1e-12),
    IndependentReporting(1.0, [[0.5, 0.0], [0.0, 0.5]], 1000, calibrate=True),
    IndependentReporting(20.0, [[1e-12, 1e-12], [0.5, 0.5 - 2e-12]], 0.001),
    RobustOptimum(20.0, [[5e-13, 5e-13], [0.5, 0.5 - 1e-12]], 1e12),
]


@pytest.mark.parametrize("question", EXTREMES, ids=repr)
def test_extreme_but_legal(question):
    found = verify(solve(question, time_limit=600))
    assert found, str(found)


@pytest.mark.parametrize(
    ("epsilon", "level", "proofs", "holds"),
    [
        (1.0, 2.0, 1, True),  # privacy at 1 is proven, and 2 follows
        (1.0, 0.9, 2, None),  # so 0.9, which is false, needs a proof of its own
        (0.5, 0.6, 2, None),  # privacy at 0.5 is refuted: nothing follows for 0.6
        (0.5, 2.0, 2, True),
    ],
)
def test_a_level_follows_from_a_lower_one_that_is_proven(monkeypatch, epsilon, level, proofs, holds):
    changed = document("polyopt")
    found = changed["certificate"]["audit"]["level"]
    assert 0.95 < found <= 1
    changed["params"]["epsilon"], changed["certificate"]["audit"]["level"] = epsilon, level
    proven = []
    proof = robust_privacy.is_robustly_private
    monkeypatch.setattr(robust_privacy, "is_robustly_private", lambda *a: proven.append(a) or proof(*a))
    claims = frame.check(changed)
    assert claims[-1].holds is holds, str(claims[-1])
    assert len(proven) == proofs
    assert verdict(claims) is not True


def test_an_audit_that_is_not_proven_is_left_out():
    """At e^30 and a secret of 1e-12, floats miss the level by more than the checker allows."""
    rare = solve(IndependentReporting(30.0, [[1e-12, 1e-12], [0.5, 0.5 - 2e-12]], 0.001))
    assert rare.certificate.audit == {}
    assert solve(IndependentReporting(1.0, SMALL, 1000)).certificate.audit["level"] > 0.5


@pytest.mark.parametrize(("n", "alpha"), [(1e300, 0.05), (0.0, 0.05), (1000, 1e-13), (1000, 1.0)])
def test_both_sides_refuse_the_same(n, alpha):
    with pytest.raises(InvalidInputError):
        Chi2Set(SMALL, n, alpha)
    plain = {"p_hat": SMALL, "n": n, "alpha": alpha, "epsilon": 1.0}
    with pytest.raises(UnreadableError, match="must be a finite number"):
        confidence_set.read_robust_question(plain)
    with pytest.raises(UnreadableError, match="must be a finite number"):
        frame.statement("polyopt", plain)


@pytest.mark.parametrize("table", [[[1e-61, 0.0], [0.5, 0.5]], [[0.5, 5e-324], [0.2, 0.3]]])
def test_both_sides_refuse_tables_beyond_floats(table):
    with pytest.raises(InvalidInputError, match="at least 1e-"):
        Chi2Set(table, 1000, 0.05)
    with pytest.raises(UnreadableError, match="at least 1e-"):
        confidence_set.read_robust_question({"p_hat": table, "n": 1000, "alpha": 0.05, "epsilon": 1.0})


def test_claims_say_which_protocol_and_which_cone_they_are_about():
    """Two files about one table may have bounds of other splits, pairs or values: their words differ."""
    said = set()
    for question in (
        GRRConditional(1.0, SMALL, 1000),
        GRRConditional(1.0, SMALL, 1000, calibrate=True),
        UEConditional(1.0, SMALL, 30),
        UEConditional(1.0, SMALL, 30, calibrate=True),
        PolyOpt(1.0, SMALL, 1000),
        PolyOpt(1.0, SMALL, 1000, pairs="all"),
    ):
        claims = frame.check(json.loads(json.dumps(solve(question).to_json())))
        said.add(next(c.about for c in reversed(claims) if c.what == "bound"))
    assert said == {
        "splits of the level of grr-conditional with randomised responses by Theorem 17",
        "parameters of grr-conditional with randomised responses that are private against the set",
        "splits of the level and values of kappa of ue-conditional with randomised responses "
        "by Theorem 19",
        "splits of the level and values of kappa of ue-conditional with calibrated randomised responses "
        "that are private against the set",
        "mechanisms within the PolyOpt cone",
        "mechanisms within the PolyOpt cone of all pairs",
    }


# ---------------------------------------------------------------- forgeries


@pytest.mark.parametrize("path", FORGERIES, ids=lambda path: path.stem)
def test_forgeries(path):
    forgery = json.loads(path.read_text(encoding="utf-8"))
    assert judged(forgery["document"]) == forgery["verdict"], forgery["why"]
    if forgery["verdict"] == "refuted":
        claims = frame.check(forgery["document"])
        assert {claim.what for claim in claims if claim.holds is False} == set(forgery["refuted"])


def test_there_are_forgeries():
    assert len(FORGERIES) >= 20


def test_thirteen_secrets_are_refused_by_the_problem_too():
    table = [[1 / 32, 1 / 32]] * 10 + [[1 / 16, 1 / 16]] * 3
    with pytest.raises(InvalidInputError, match="12"):
        UEConditional(1.0, table, 100)


def test_a_column_below_all_floats_is_worth_nothing_and_stops_nothing():
    """The slope of a chord is 5e-324 times a probability there: no float, but a number."""
    claimed = document("polyopt") | {"status": "feasible", "bound": None, "gap": None, "value": 0.0}
    claimed["params"]["objective"] = "robust"
    claimed["mechanism"] = {"matrix": [[1.0, 5e-324 * (x == 1)] for x in range(4)]}
    claimed["certificate"] = {"proof": None, "gap": 1e-9}
    found = {claim.what: claim.holds for claim in frame.check(claimed)}
    assert found == {"stochastic": False, "privacy": False, "value": True}


# ---------------------------------------------------------------- budgets


def test_a_spent_budget_is_no_verdict():
    claimed = copy.deepcopy(document("wide"))
    question = frame.question(frame.statement("polyopt", claimed["params"]))
    with limited(seconds=0), pytest.raises(UndecidedError):
        polyopt_blocks.dominates(claimed["certificate"]["proof"]["dual"], question.robust, "distinct")


def test_blocks_too_wide_for_memory():
    """A block of 32 values would take a list of 2^32 vertices."""
    question = confidence_set.read_robust_question(
        {"p_hat": [[1 / 64] * 32] * 2, "n": 1000.0, "alpha": 0.05, "epsilon": 1.0}
    )
    with limited(), pytest.raises(UndecidedError, match="would take"):
        polyopt_blocks.dominates([0.1] * 64, question, "distinct")


def test_a_long_list_of_vertices_is_left_when_the_time_is_up():
    """Sorting out the vertices of a wide table went on for seconds after the budget of a page."""
    with limited(seconds=-1), pytest.raises(UndecidedError, match="not decided within"):
        polyopt_blocks._undominated([(0, 0, 0)], 0, 0)
