"""The comparison with other packages: they agree with ldpopt, and who does not is named."""

import importlib.util
import json

import numpy as np
import pytest

from ldpopt.bench import benchmark as bench
from ldpopt.bench import comparison, peer_errors, peers
from ldpopt.bench.comparison import Contender, Contest, contest_rows
from ldpopt.core.errors import InvalidInputError, SolverError
from ldpopt.problems import PolyOpt, Staircase, StatisticLeakage

PEERS = ("multi_freq_ldpy", "pure_ldp")


def contest(*contenders, difference=peers.relative_difference):
    ours = Contender("ldpopt", lambda: 2.0)
    return Contest("twice one", "1", (ours, *contenders), difference, 1e-6)


def failing():
    raise ZeroDivisionError("in two\nlines")


def test_who_differs_crashes_or_is_absent_is_named():
    (rows,) = contest_rows(
        [
            contest(
                Contender("right", lambda: 2.0),
                Contender("wrong", lambda: 2.1),
                Contender("broken", failing),
                Contender("missing", lambda: 2.0, module="no_such_package.part"),
                Contender("humble", lambda: 2.0, refusal="too large"),
                Contender("negative", lambda: -2.0, like=lambda answer: -answer),
            )
        ],
        60,
    )
    said = {row["method"]: (row["agrees"], row["reason"]) for row in rows}
    assert said == {
        "ldpopt": (None, ""),
        "right": (True, ""),
        "wrong": (False, ""),
        "broken": (None, "crashed: ZeroDivisionError: in two lines"),
        "missing": (None, "absent"),
        "humble": (None, "too large"),
        "negative": (True, ""),
    }
    assert rows[0]["ratio"] == 1
    assert comparison.disagreements(rows) == ["wrong on twice one, 1: differs by 0.05"]
    assert comparison.absent_line(rows) == "absent: missing (pip install 'ldpopt[cdd,peers]')"


def test_nothing_is_said_of_nobody():
    assert comparison.absent_line([]) == ""
    assert bench.Benchmark("peers", [], 1e-9, 60.0).disagreements == []


def test_the_first_call_does_not_count():
    calls = []
    first = contest(Contender("slow", lambda: calls.append(1) or 2.0))
    list(contest_rows([first, first], 60))
    assert len(calls) == 1 + 2 * comparison.REPEATS


@pytest.mark.parametrize("k", [3, 6])
def test_the_linear_programs_of_others_find_our_optimum(k):
    prior = np.random.default_rng(k).dirichlet(np.ones(k))
    problem = Staircase(1.0, prior=prior)
    ours = peers._ours(problem, 60).answer()
    columns = peers.staircase_columns(k, 1.0)
    assert columns.shape == (k, 2**k)
    for value in (
        peers.by_linprog(prior, columns),
        peers.by_cvxpy(prior, columns),
        peers.by_linprog(prior, peers.by_cdd(problem.cone.inequalities())),
    ):
        assert peers.relative_difference(ours, value) < 1e-6


def test_an_infeasible_program_is_an_error():
    with pytest.raises(SolverError, match="linprog"):
        peers.by_linprog(np.array([0.5, 0.5]), np.array([[1.0], [2.0]]))


def test_vertices_and_flows_find_our_optimum():
    p_hat = np.array([[0.3, 0.2], [0.15, 0.35]])
    problem = PolyOpt(1.0, p_hat, 1000)
    value = peers.by_linprog(p_hat.ravel(), peers.by_cdd(problem.cone.inequalities()))
    assert value == pytest.approx(peers._ours(problem, 60).answer(), rel=1e-9)
    outputs, secrets = [0, 1, 1, 0, 1, 2, 2], [0, 0, 1, 1, 2, 2, 3]
    assert peers.by_flow(StatisticLeakage(np.eye(3)[outputs], secrets)) == pytest.approx(np.log(3))


def test_reports_of_another_law_are_noticed():
    law = np.array([0.5, 0.25, 0.25])
    assert peers.errors_off(np.array([500, 250, 250]), law, 1000) == 0
    assert peers.errors_off(np.array([600, 200, 200]), law, 1000) > 6


def test_frequencies_are_clipped_and_scaled():
    assert peers.clipped(np.array([-0.2, 0.6, 0.6])) == pytest.approx([0.0, 0.5, 0.5])


def test_all_packages_that_are_here_agree_and_the_others_are_named(monkeypatch, ldpopt, tmp_path):
    few = [peers._best_ldp(4, 60), peers._best_robust(2, 60), peers._leakage(12, 60)]
    few += peers._frequencies(8, 2_000)
    monkeypatch.setattr(peers, "contests", lambda full, time_limit: iter(few))
    monkeypatch.setattr(peer_errors, "error_rows", lambda full, time_limit: iter([]))
    answer = ldpopt("bench", "peers", "--out", tmp_path / "there")
    assert answer.code == 0, answer.err
    rows = bench.run("peers").peers
    assert {row["agrees"] for row in rows if row["method"] != "ldpopt" and not row["reason"]} == {True}
    absent = [name for name in PEERS if importlib.util.find_spec(name) is None]
    missing = {row["method"] for row in rows if row["reason"] == "absent"}
    assert missing == {
        {"multi_freq_ldpy": "multi-freq-ldpy", "pure_ldp": "pure-ldp"}[name] for name in absent
    }
    assert answer.out.count("absent: ") == bool(absent)
    assert sorted(path.name for path in (tmp_path / "there").iterdir()) == [
        *("bench.html", "bench.md", "peers.csv")
    ]


def test_a_wrong_peer_is_a_contradiction(monkeypatch, ldpopt):
    wrong = contest(Contender("wrong", lambda: 3.0))
    monkeypatch.setattr(peers, "contests", lambda full, time_limit: iter([wrong]))
    monkeypatch.setattr(peer_errors, "error_rows", lambda full, time_limit: iter([]))
    answer = ldpopt("bench", "peers", "--json")
    assert answer.code == 1
    assert "contradicted: wrong on twice one" in answer.err
    assert [row["agrees"] for row in json.loads(answer.out)["peers"]] == [None, False]


def test_the_lists_of_instances_are_drawn():
    quick = list(peers.contests(False, 60))
    assert len(quick) < len(list(peers.contests(True, 60)))
    assert len({(one.task, one.label) for one in quick}) == len(quick)


def test_what_the_comparison_does_not_take():
    with pytest.raises(InvalidInputError, match="sizes differ"):
        bench.run("peers", sizes=[3])
    with pytest.raises(InvalidInputError, match="the solver that ldpopt chooses itself"):
        bench.run("peers", solvers=["cdd"])
