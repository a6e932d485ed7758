"""Reporting with the best mechanisms of their levels: what they gain, and the bound over all of them."""

import numpy as np
import pytest
from known import TABLE

from ldpopt import Mechanism, solve, testing, verify
from ldpopt.checker import frame
from ldpopt.checker.kernel.reading import UnreadableError
from ldpopt.measures.rldp_level import rldp_level
from ldpopt.mechanisms import conditional_reporting
from ldpopt.models.utilities import MutualInformation
from ldpopt.problems import GRRConditional, IndependentReporting, PolyOpt, UEConditional
from ldpopt.problems._robust.split_cells import SplitCells
from ldpopt.problems.grr_conditional import Announced
from ldpopt.problems.reporting_problem import best_block

SQUARE = [[0.3, 0.2], [0.15, 0.35]]
BLOCKS = ("grr", "optimal")
KINDS = (IndependentReporting, GRRConditional, UEConditional)


@pytest.mark.parametrize("kind", KINDS)
def test_optimal_blocks_are_no_worse(kind):
    p_hat = np.array([[0.3, 0.1, 0.05], [0.02, 0.03, 0.5]])
    grr, best = (solve(kind(0.4, p_hat, 60, blocks=b), "bracket", gap=1e-4) for b in BLOCKS)
    assert best.value >= grr.value - 1e-9
    assert rldp_level(best.mechanism, best.problem.uncertainty).level <= 0.4
    assert verify(best)


def test_optimal_blocks_group_secrets():
    """Four equally frequent secrets at a small level are best reported in pairs."""
    p_hat = np.repeat([[0.2, 0.05]], 4, axis=0)
    grr, best = (solve(IndependentReporting(0.2, p_hat, 10, blocks=b), gap=1e-6) for b in BLOCKS)
    assert best.value > grr.value * 1.2
    assert best.status.value == "optimal"
    assert verify(best)


def test_conditional_reporting_groups_secrets_too():
    """Its closed form is the utility of its matrix, at every split; the bound holds for all."""
    p_hat = np.random.default_rng(3).dirichlet(np.ones(8)).reshape(4, 2)
    grr, best = (solve(GRRConditional(0.5, p_hat, 1000, blocks=b), gap=1e-6) for b in BLOCKS)
    assert best.value > grr.value * 1.05
    assert best.status.value == "optimal"
    assert verify(best)
    form = next(iter(best.problem.forms()))
    points = np.array([[0.0], [0.1], [0.3], [0.5]])
    for point, value in zip(points, form.objective(points), strict=True):
        mechanism = best.problem.mechanism(point)
        assert best.problem.value(mechanism) == pytest.approx(value, abs=1e-9)
        assert rldp_level(mechanism, best.problem.uncertainty).level <= 0.5 + 1e-9
        assert best.value >= value - 1e-9


def test_the_best_report_on_s_beats_random_ones_that_announce_a_secret():
    """No ε₁-LDP report of three secrets, announcing any secret, tells more at the same split."""
    problem, rng = GRRConditional(1.0, TABLE, 1000, blocks="optimal"), np.random.default_rng(0)
    point, F = np.array([0.4]), problem.uncertainty
    blocks, most = problem.block_mechanisms(point), problem.value(problem.mechanism(point))
    for _ in range(50):
        columns = np.exp(0.6 * rng.choice([0.0, rng.random(), 1.0], size=(3, 2)))
        both = np.hstack([columns, 1 + np.exp(0.6) - columns])  # a column and what it lacks to 1 + E
        first = both * np.tile(rng.dirichlet([1, 1]), 2) / (1 + np.exp(0.6))
        announced = rng.integers(3, size=4).tolist()
        other = conditional_reporting(F.p_hat, Mechanism(first), announced, blocks)
        assert rldp_level(other, F).level <= 1 + 1e-9
        assert problem.value(other) <= most + 1e-9


@pytest.mark.parametrize("announced", [False, True])
def test_lemma_1_what_a_report_is_worth_lies_below_its_chord(announced):
    """In 1/(e^level - 1), for information alone and for information with announced secrets."""
    rng = np.random.default_rng(5)
    for _ in range(10):
        prior = rng.dirichlet(np.ones(3))
        utility = Announced(prior, rng.random(3)) if announced else MutualInformation(prior)
        a, b = np.sort(rng.uniform(0.05, 3.0, size=2))
        middle = np.log1p(1 / (0.5 / np.expm1(a) + 0.5 / np.expm1(b)))
        low, between, high = (best_block(utility, 3, level)[0] for level in (a, middle, b))
        assert between <= (low + high) / 2 + 1e-9


@pytest.mark.parametrize("kind", [IndependentReporting, GRRConditional])
def test_upper_bounds_hold_on_random_cells(kind):
    """At every split in a cell the best mechanisms are within its bound, and near it on small cells."""
    problem, rng = kind(1.5, TABLE, 300, blocks="optimal"), np.random.default_rng(2)
    form, cells = next(iter(problem.forms())), SplitCells(frame.question(problem.statement()))
    for width in (1.5, 0.5, 0.1, 0.01):
        low = rng.uniform(0, 1.5 - width, size=(2, 1)) if width < 1.5 else np.zeros((2, 1))
        above = cells.upper(low, low + width)
        for point in (low, low + width * rng.random(), low + width):
            assert (form.objective(point) <= above + 1e-9).all()
        assert (above - form.objective(low + width / 2) < width).all()


def test_the_bound_with_optimal_blocks_is_one_over_its_protocol():
    """A better mechanism of another kind does not pass for the protocol, and no cell may be missing."""
    document = solve(IndependentReporting(1.0, SQUARE, 1000, blocks="optimal"), gap=1e-2).to_json()
    better = solve(PolyOpt(1.0, SQUARE, 1000)).to_json()
    proof = document["certificate"]["proof"]
    for change in (
        {"mechanism": better["mechanism"]},
        {"certificate": {**document["certificate"], "proof": {**proof, "reports": [[2, 1]]}}},
        {"bound": document["value"]},
    ):
        assert testing.refuted({**document, **change}), change
    shorter = {**proof, **{name: proof[name][1:] for name in ("splits", "public", "secret")}}
    assert testing.refuted({**document, "certificate": {**document["certificate"], "proof": shorter}})


def test_a_better_mechanism_does_not_pass_for_the_protocol():
    """PolyOpt's mechanism is worth more than the protocol: no file passes it off as one."""
    document = solve(IndependentReporting(1.0, SQUARE, 1000, blocks="optimal"), gap=1e-2).to_json()
    better = solve(PolyOpt(1.0, SQUARE, 1000)).to_json()
    assert better["value"] > document["bound"]
    proof = better["certificate"]["proof"]
    ceiling = {name: proof[name] for name in ("ceiling", "secret_dual")}
    outputs = len(better["mechanism"]["outputs"])
    for status, bound, named in (("feasible", None, {}), ("gap", ceiling["ceiling"], ceiling)):
        for reports in ([1, outputs], [outputs, 1], [2, 2]):
            plain = {"status": status, "bound": bound, "value": better["value"]}
            made = {"proof": {"reports": [reports], **named}, "gap": 1e-9}
            forged = {**document, **plain, "mechanism": better["mechanism"], "certificate": made}
            del forged["gap"]
            assert [c.what for c in frame.check(forged) if not c.holds] == ["member"]
        with pytest.raises(UnreadableError, match="reports"):
            frame.check({**forged, "certificate": {"proof": named or None, "gap": 1e-9}})


@pytest.mark.parametrize("kind", [IndependentReporting, GRRConditional])
def test_without_a_bound_the_mechanism_is_still_of_its_kind(kind):
    """As where there are more secrets than the ceiling takes, and no time for cells."""
    table = np.random.default_rng(0).dirichlet(np.ones(8)).reshape(4, 2)
    document = solve(kind(1.0, table, 1000, blocks="optimal"), gap=0.5).to_json()
    proof = {"reports": document["certificate"]["proof"]["reports"]}
    bare = {**document, "status": "feasible", "bound": None, "certificate": {"proof": proof, "gap": 0.5}}
    del bare["gap"]
    found = frame.check(bare)
    assert all(claim.holds for claim in found)
    assert "member" in [claim.what for claim in found]


def test_unary_encoding_with_optimal_blocks_says_what_no_claim_is_about():
    document = solve(UEConditional(1.0, SQUARE, 1000, blocks="optimal"), gap=0.5).to_json()
    assert frame.unchecked(document) == [
        "that the mechanism is ue-conditional: no claim of this file is about its kind"
    ]


def test_optimal_blocks_gain_at_small_levels():
    p_hat = np.full((2, 4), 1 / 8)
    grr, best = (solve(GRRConditional(0.3, p_hat, 20, blocks=b), gap=1e-3) for b in BLOCKS)
    assert best.value > grr.value * 1.05
