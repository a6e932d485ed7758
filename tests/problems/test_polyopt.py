"""PolyOpt: the paper's table of values, agreement, order, limits, calibration, certificates, scale."""

import copy
import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from alarms import time_is_over
from known import TABLE

from ldpopt import Status, solve, testing, verify
from ldpopt.checker import frame
from ldpopt.checker.kernel.proofs.least_information import robust_information
from ldpopt.core import certify
from ldpopt.core.errors import InvalidInputError, NoSolverError
from ldpopt.core.limits import Limits
from ldpopt.engine.stages import run_stages
from ldpopt.measures.rldp_level import rldp_level
from ldpopt.mechanisms import randomized_response, secret_randomized_response
from ldpopt.models.chi2_ball import RobustInformation
from ldpopt.models.uncertainty_sets import Chi2Set
from ldpopt.models.utilities import MutualInformation
from ldpopt.problems import PolyOpt, SecretStaircase, Staircase
from ldpopt.problems.table_problem import RobustPrivacy
from ldpopt.solvers import ColumnGeneration, Enumerate
from ldpopt.tables.datasets import table

VALUES = [
    (0.5, "all", 0.492305507873),
    (0.5, "distinct", 0.552714053374),
    (1.0, "all", 0.801185563490),
    (1.0, "distinct", 0.908081315593),
    (2.0, "all", 1.135308068661),
    (2.0, "distinct", 1.141053319382),
    (4.0, "all", 1.720364712025),
    (4.0, "distinct", 1.720364712025),
]

SMALL = [[0.25, 0.15, 0.1], [0.1, 0.15, 0.25]]


def jeffreys(seed, a1, a2, n):
    rng = np.random.default_rng(seed)
    return rng.multinomial(n, rng.dirichlet(np.full(a1 * a2, 0.5))).reshape(a1, a2)


@pytest.mark.parametrize(("epsilon", "pairs", "value"), VALUES)
@pytest.mark.parametrize("solver", ["enumerate", "cdd", "column-generation"])
def test_known_values(epsilon, pairs, value, solver):
    result = solve(PolyOpt(epsilon, TABLE, 1000, pairs=pairs), solver)
    assert result.status is Status.OPTIMAL
    assert result.value == pytest.approx(value, abs=2e-9)
    assert rldp_level(result.mechanism, result.problem.uncertainty).level <= epsilon


def test_the_optimum_is_more_private_than_asked():
    result = solve(PolyOpt(1.0, TABLE, 1000), "cdd")
    assert rldp_level(result.mechanism, result.problem.uncertainty).level == pytest.approx(
        0.857198, abs=1e-6
    )


@pytest.mark.parametrize("shape", [(2, 2), (2, 3), (3, 2), (3, 3)])
@pytest.mark.parametrize("pairs", ["all", "distinct"])
def test_explicit_vertices_and_cddlib_agree(shape, pairs):
    p_hat = np.random.default_rng(sum(shape)).dirichlet(np.ones(np.prod(shape))).reshape(shape)
    problem = PolyOpt(0.8, p_hat, 500, pairs=pairs)
    assert solve(problem, "enumerate").value == pytest.approx(solve(problem, "cdd").value, abs=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_order_of_the_optima(seed):
    """PolyOpt ≥ the best for all distributions ≥ SRR, and that ≥ GRR's bound; all levels are kept."""
    check_order(seed)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(4))
def test_order_of_the_optima_of_two_hundred(block):
    for seed in range(6 + 50 * block, 56 + 50 * block):
        check_order(seed)


def check_order(seed):
    rng = np.random.default_rng(seed)
    a1, a2 = (int(x) for x in rng.integers(2, 4, size=2))
    epsilon, n = float(rng.uniform(0.3, 3)), float(10 ** rng.uniform(2, 4))
    p_hat = rng.dirichlet(np.full(a1 * a2, 0.5)).reshape(a1, a2)
    utility = MutualInformation(p_hat.ravel())
    secret = secret_randomized_response(a1, a2, epsilon)
    polyopt = solve(PolyOpt(epsilon, p_hat, n), "enumerate")
    staircase = solve(SecretStaircase(epsilon, p_hat), "enumerate")
    values = [
        polyopt.value,
        staircase.value,
        utility(secret.matrix).sum(),
        utility(randomized_response(a1 * a2, epsilon).matrix).sum(),
    ]
    assert all(better >= worse - 1e-9 for better, worse in pairwise(values))
    F = polyopt.problem.uncertainty
    for mechanism in (polyopt.mechanism, staircase.mechanism, secret):
        assert rldp_level(mechanism, F).level <= epsilon + 1e-12


def test_between_known_distribution_and_all_distributions():
    """As n falls, the optimum falls from what a known distribution allows to that of all of them."""
    values = [solve(PolyOpt(1.0, TABLE, n), "enumerate").value for n in (1e8, 1e5, 1e3, 1e2, 10, 1e-6)]
    assert values == sorted(values, reverse=True)
    assert values[-1] == pytest.approx(solve(SecretStaircase(1.0, TABLE)).value, abs=1e-5)
    known = known_distribution_optimum(np.array(TABLE), 1.0)
    assert values[0] <= known
    assert values[0] == pytest.approx(known, rel=2e-3)


def known_distribution_optimum(p, epsilon):
    """F = {P̂}: columns with one entry per secret, P(Y=y|S=s) at 1 or e^ε; one linear program."""
    from itertools import product

    from ldpopt.core.highs import solve_listed

    rays = []
    for ends in product((1.0, np.exp(epsilon)), repeat=3):
        for place in product(range(3), repeat=3):
            T = np.zeros((3, 3))
            for s, (end, u) in enumerate(zip(ends, place, strict=True)):
                T[s, u] = end * p[s].sum() / p[s, u]
            rays.append(T.ravel())
    columns = np.array(rays).T
    found = solve_listed(columns, MutualInformation(p.ravel())(columns), Limits())
    return found.value


def test_calibration_gains_and_stays_private():
    plain = solve(PolyOpt(1.0, TABLE, 1000, pairs="all"), "enumerate")
    result = solve(PolyOpt(1.0, TABLE, 1000, pairs="all", calibrate=True), "enumerate")
    level = rldp_level(result.mechanism, result.problem.uncertainty).level
    assert result.value > plain.value * 1.02
    assert 0.999 < level <= 1.0
    assert verify(result)


TWISTED = np.random.default_rng(9).dirichlet(np.ones(6)).reshape(2, 3)
COUNTED = jeffreys(0, 3, 3, 1000) / 1000


@pytest.mark.parametrize(
    ("table", "least"), [(TWISTED, 0.8323), pytest.param(COUNTED, 0.7816, marks=pytest.mark.slow)]
)
def test_calibration_searches_beyond_the_first_level_that_is_too_high(table, least):
    """A bisection ends at 0.8021 and 0.6832: the exact level is not monotone in that of the cone.

    In the second case it ends at the exact level 0.4215, though the cone of 0.58 has 0.4516 and 0.7379.
    """
    result = solve(PolyOpt(0.5, table, 1000, calibrate=True), "enumerate")
    assert result.value > least
    assert 0.5 * (1 - 1e-6) <= rldp_level(result.mechanism, result.problem.uncertainty).level <= 0.5


@pytest.mark.parametrize("seed", [0, *(pytest.param(s, marks=pytest.mark.slow) for s in range(1, 50))])
def test_calibrated_is_never_worth_less(seed):
    rng = np.random.default_rng(seed)
    table = rng.dirichlet(np.ones(6)).reshape(2, 3)
    plain = solve(PolyOpt(1.0, table, 1000), "enumerate")
    result = solve(PolyOpt(1.0, table, 1000, calibrate=True), "enumerate")
    assert result.value >= plain.value - 1e-9
    assert 1 - 1e-6 <= rldp_level(result.mechanism, result.problem.uncertainty).level <= 1.0


def test_the_robust_objective_is_a_guarantee():
    problem = PolyOpt(1.0, TABLE, 1000, objective="robust", pairs="all")
    result, rng = solve(problem, "enumerate"), np.random.default_rng(0)
    assert verify(result)
    F, matrix = problem.uncertainty, result.mechanism.matrix
    worst = min(MutualInformation(F.sample(rng).ravel())(matrix).sum() for _ in range(300))
    assert 0.7 < result.value <= worst
    empirical = solve(PolyOpt(1.0, TABLE, 1000, pairs="all"), "enumerate")
    guarantee = RobustInformation(F.ball)(empirical.mechanism.matrix).sum()
    assert guarantee <= result.value + 1e-9


def test_robust_information_against_brute_force():
    F, rng = Chi2Set([[0.3, 0.2], [0.1, 0.4]], 50, 0.05), np.random.default_rng(1)
    columns = rng.random((4, 5))
    found = RobustInformation(F.ball, pieces=256)(columns)
    samples = np.array([F.ball.sample(rng) for _ in range(1500)])
    sampled = np.min([MutualInformation(p)(columns) for p in samples], axis=0)
    assert (found <= sampled + 1e-12).all()
    edges = [F.ball.minimum(rng.normal(size=4))[1] for _ in range(1500)]
    close = np.min([MutualInformation(p)(columns) for p in edges], axis=0)
    assert np.abs(found - close).max() < 2e-3


def test_the_exact_least_information_is_close():
    """The checker cuts pieces where that helps; here there are 2000 equal ones."""
    F, rng = Chi2Set([[0.3, 0.2], [0.1, 0.4]], 50, 0.05), np.random.default_rng(2)
    rows = rng.dirichlet(np.ones(6), size=4)
    question = RobustPrivacy.against(F, 1.0).question
    exact = float(robust_information(rows.tolist(), question))
    assert exact == pytest.approx(RobustInformation(F.ball, pieces=2000)(rows).sum(), abs=1e-6)


def test_the_robust_objective_beyond_the_list():
    rng = np.random.default_rng(5)
    wide = PolyOpt(1.0, rng.dirichlet(np.ones(16)).reshape(4, 4), 1000, objective="robust")
    found = solve(wide, gap=5e-2)
    assert found.solver == "column-generation"
    assert found.value > 0.1
    assert verify(found)


def test_sharper_facets_gain():
    values = [solve(PolyOpt(1.0, SMALL, 200, facets=f), "cdd").value for f in (0, 3)]
    assert values[1] > values[0] * 1.001
    with pytest.raises(NoSolverError):
        solve(PolyOpt(1.0, SMALL, 200, facets=3), "enumerate")


def test_merging_wide_tables():
    counts = table("relationship-native_country").counts
    result = solve(PolyOpt(1.0, counts=counts, width=3), "column-generation", gap=1e-3)
    assert result.mechanism.shape[0] == 252
    assert result.value == pytest.approx(0.3932, abs=5e-4)  # independent reporting has 0.086
    assert result.certificate.proof["ceiling"] == pytest.approx(0.7635, abs=5e-5)
    assert verify(result)


@pytest.mark.parametrize("objective", ["empirical", "robust"])
def test_more_values_than_can_be_listed_are_to_be_merged(objective):
    """Of 2 × 14 values, the cone has more vertices than can be listed."""
    p_hat = np.random.default_rng(3).dirichlet(np.full(28, 2.0)).reshape(2, 14)
    with pytest.raises(NoSolverError, match="up to 12 public values, not 14: merge some by width"):
        solve(PolyOpt(1.0, p_hat, 300, pairs="all", objective=objective))
    merged = solve(PolyOpt(1.0, p_hat, 300, pairs="all", objective=objective, width=3), gap=1e-3)
    assert merged.value > 0
    assert verify(merged)


@pytest.mark.parametrize("pairs", ["all", "distinct"])
def test_four_by_four_is_proven_optimal(pairs):
    problem = PolyOpt(1.0, counts=jeffreys(1, 4, 4, 1000), pairs=pairs)
    result = solve(problem, "column-generation", gap=1e-8)
    assert result.status is Status.OPTIMAL
    assert result.gap <= 1e-8
    assert verify(result)


def test_a_smaller_gap_and_more_time_are_never_worse():
    for question, *_ in PolyOpt.examples():
        (form,) = question.forms()
        testing.check_patience(ColumnGeneration(), form, question.sense)


def test_the_bound_of_a_large_table_is_decided():
    """At the last break point all vertices of a block are one, and were combined as many."""
    table = np.random.default_rng(0).dirichlet(np.full(49, 0.5)).reshape(7, 7)
    result = solve(PolyOpt(1.0, table, 1000), gap=1e-3)
    assert result.gap <= 1e-3
    assert verify(result)


@pytest.mark.slow
@pytest.mark.parametrize(("size", "gap", "n"), [(7, 1e-4, 1000), (10, 1e-3, 10_000)])
@pytest.mark.parametrize("pairs", ["all", "distinct"])
def test_large_tables_have_a_proven_gap(size, gap, n, pairs):
    problem = PolyOpt(1.0, counts=jeffreys(1, size, size, n), pairs=pairs)
    result = solve(problem, "column-generation", gap=gap)
    assert result.gap <= gap
    assert rldp_level(result.mechanism, problem.uncertainty).level <= 1.0


@pytest.mark.parametrize("solver", ["enumerate", "column-generation"])
def test_forgeries_are_refuted(solver):
    document = solve(PolyOpt(1.0, TABLE, 1000, pairs="all"), solver).to_json()
    for what, forged in testing.tampered(document):
        assert testing.refuted(forged), what
    for change in ({"n": 10_000.0}, {"alpha": 0.5}, {"epsilon": 1.01}, {"pairs": "distinct"}):
        forged = copy.deepcopy(document)
        forged["params"] |= change
        # a larger n, alpha or epsilon only weakens the privacy claim; the bound is then false
        assert testing.refuted(forged), change
    for change in ({"n": 100.0}, {"alpha": 1e-6}, {"epsilon": 0.8}):
        forged = copy.deepcopy(document)
        forged["params"] |= change
        assert testing.refuted(forged), change


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"epsilon": 1}, "needs 'p_hat' and 'n', or 'counts'"),
        ({"epsilon": 1, "p_hat": TABLE, "n": 10, "counts": TABLE}, "not both"),
        ({"epsilon": -1, "p_hat": TABLE, "n": 10}, "epsilon must be"),
        ({"epsilon": 1, "p_hat": TABLE, "n": 10, "pairs": "no"}, "pairs must be one of"),
        ({"epsilon": 1, "p_hat": TABLE, "n": 10, "objective": "no"}, "objective must be one of"),
        ({"epsilon": 1, "p_hat": TABLE, "n": 10, "calibrate": 1}, "calibrate must be true or false"),
        ({"epsilon": 1, "p_hat": TABLE, "n": 10, "facets": -1}, "facets must be"),
        ({"epsilon": 1, "p_hat": TABLE, "n": 10, "width": 1}, "width must be"),
        ({"epsilon": 1, "p_hat": [[0.5, 0.5]], "n": 10}, "one secret"),
        ({"epsilon": 1, "p_hat": [[0.5], [0.5]], "n": 10}, "two or more public values"),
    ],
)
def test_bad_input(params, words):
    with pytest.raises(InvalidInputError, match=words):
        PolyOpt(**params)


@pytest.mark.slow
def test_vertex_enumeration_agrees_on_three_by_four():
    """Which takes how long, ``ldpopt bench polyopt`` measures."""
    p_hat = np.random.default_rng(0).dirichlet(np.ones(12)).reshape(3, 4)
    problem = PolyOpt(1.0, p_hat, 1000, pairs="all")
    ours, theirs = solve(problem), solve(problem, "cdd")
    assert ours.value == pytest.approx(theirs.value, abs=1e-9)
    assert verify(ours)
    assert verify(theirs)


@pytest.mark.parametrize(
    ("table", "options"), [(TABLE, {}), (SMALL, {"calibrate": True}), (SMALL, {"facets": 3})]
)
def test_no_mechanism_passes_the_ceiling_and_the_audit_is_carried(table, options):
    """I(X; Y) ≤ max I(S; Y) + H(U | S): a bound for every mechanism private against F."""
    question = PolyOpt(1.0, table, 1000, **options)
    result = solve(question)
    P = np.array(table)
    secret = solve(Staircase(1.0, prior=P.sum(axis=1)))
    ceiling = secret.value - float((P * np.log(P / P.sum(axis=1, keepdims=True))).sum())
    assert result.certificate.proof["ceiling"] == pytest.approx(ceiling, abs=1e-8)
    assert result.value < ceiling
    assert verify(result)
    audit = result.certificate.audit
    assert audit["level"] <= 1.0 + 1e-12
    assert question.uncertainty.contains(np.array(audit["witness"]))
    if options:
        assert result.status is Status.GAP
        assert result.bound == result.certificate.proof["ceiling"]
    for forged in ({"ceiling": ceiling - 1e-4}, {"secret_dual": [0.01] * len(P)}):
        document = json.loads(json.dumps(result.to_json()))
        document["certificate"]["proof"] |= forged
        assert not all(claim.holds for claim in frame.check(document))


class Loose(Enumerate):
    """Proves less than it could, as a run that was stopped early does."""

    def run(self, form, limits):
        found = super().run(form, limits)
        if form.cone.dimension == 3:  # the secret alone
            return found
        dual = np.array(found.proof["dual"]) + 1.25 / form.cone.dimension
        return replace(found, bound=certify.dual_bound(dual), proof={"dual": dual.tolist()})


def test_the_best_of_several_proven_bounds_is_the_bound():
    """Its own dual vector proves 2.158, the ceiling in the same file 1.034."""
    result = solve(PolyOpt(1.0, TABLE, 1000), Loose())
    assert result.status is Status.GAP
    assert result.value == pytest.approx(0.908081315593, abs=1e-9)
    assert result.bound == pytest.approx(result.certificate.proof["ceiling"], abs=1e-9)
    assert result.bound < 1.04
    assert verify(result)


def test_no_stage_is_started_after_the_deadline():
    runs = []

    class Slow(Enumerate):
        def run(self, form, limits):
            runs.append(form)
            return super().run(form, Limits())

    question = PolyOpt(1.0, TABLE, 1000, calibrate=True)
    form = next(iter(question.forms()))
    _, solution = run_stages(question, form, Slow(), Limits(deadline=0.0))
    assert len(runs) == 2  # the ceiling and the cone itself, no calibration
    assert solution.point is not None
    assert solution.bound is not None


class Stopped(Enumerate):
    """Is stopped at the beginning of one of the stages, when that has kept nothing yet."""

    def __init__(self, stage, stop):
        self.stage, self.stop, self.runs = stage, stop, 0

    def run(self, form, limits):
        self.runs += 1
        if self.runs == self.stage:
            self.stop()
        return super().run(form, limits)


def ctrl_c():
    raise KeyboardInterrupt


@pytest.mark.parametrize("stop", [ctrl_c, time_is_over])
def test_a_stop_in_a_later_stage_keeps_the_answer_of_an_earlier_one(stop):
    question = PolyOpt(1.0, TABLE, 1000, calibrate=True)
    solver = Stopped(3, stop)
    result = solve(question, solver, time_limit=1000.0)
    assert result.stats.get("interrupted") == (1.0 if stop is ctrl_c else None)
    assert solver.runs == 3 or stop is time_is_over  # the time of one stage may be over, not of all
    assert result.value >= solve(replace(question, calibrate=False)).value * (1 - 1e-9)
    assert verify(result)


def test_ctrl_c_before_there_is_an_answer_ends_the_solve():
    with pytest.raises(KeyboardInterrupt):
        solve(PolyOpt(1.0, TABLE, 1000), Stopped(1, ctrl_c))


@pytest.mark.parametrize("options", [{}, {"width": 2}, {"pairs": "all"}])
def test_a_run_without_a_bound_of_its_own_states_the_ceiling(options):
    def stop(value, bound):
        raise KeyboardInterrupt

    result = solve(PolyOpt(1.0, TABLE, 1000, **options), "column-generation", progress=stop)
    assert result.stats["interrupted"]
    assert result.status is Status.GAP
    assert result.bound <= result.certificate.proof["ceiling"] + 1e-9
    assert verify(result)


@pytest.mark.parametrize("seed", range(5))
def test_the_dual_vector_of_the_ceiling_dominates_the_cone(seed):
    """β·T ≥ μ(T) on every ray, and Σβ is the ceiling."""
    rng = np.random.default_rng(seed)
    table = rng.dirichlet(np.full(6, 0.5)).reshape(2, 3)
    question = PolyOpt(1.0, table, 1000)
    secret = solve(Staircase(1.0, prior=table.sum(axis=1)))
    dual = question._ceiling_dual(np.array(secret.certificate.proof["dual"]))
    rays = question.cone.rays()
    assert (dual @ rays >= question.sublinear(rays)).all()
    given = table / table.sum(axis=1, keepdims=True)
    assert dual.sum() == pytest.approx(secret.bound - (table * np.log(given)).sum(), abs=1e-9)


@pytest.mark.parametrize("which", [2, 4])
def test_ctrl_c_ends_the_calibration(which):
    runs = []

    class Interrupted(Enumerate):
        def run(self, form, limits):
            found = super().run(form, limits)
            runs.append(form)
            if len(runs) == which:
                raise KeyboardInterrupt
            return found

    result = solve(PolyOpt(1.0, SMALL, 1000, calibrate=True), Interrupted())
    assert len(runs) == which  # the first is that of the ceiling
    assert result.stats["interrupted"]
    assert verify(result)
