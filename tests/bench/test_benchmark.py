"""The benchmark: agreement, ratios, memory, plugins, and that it notices a contradiction."""

import gc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naughty import (
    Clumsy,
    Crash,
    Defeatist,
    Impatient,
    Liar,
    Polite,
    Quitter,
    Recluse,
    Unproven,
    of,
    small,
)

from ldpopt import Form, Solver
from ldpopt.bench import benchmark as bench
from ldpopt.bench.attempt import Curve, peak_memory
from ldpopt.bench.figures import draw_gaps
from ldpopt.bench.rows import exponent, judge
from ldpopt.core.errors import InvalidInputError, UnknownNameError
from ldpopt.core.limits import Limits
from ldpopt.problems import PROBLEMS, Staircase
from ldpopt.solvers import BY_FORM, SOLVERS, solvers_of


def test_solvers_agree_and_one_is_the_baseline():
    names = ["enumerate", "column-generation", "cdd"]
    found = bench.run("staircase", sizes=[3], draws=2, solvers=names)
    assert found.disagreements == found.crashes == []
    assert {row["solver"] for row in found.rows} == set(names)
    (baseline,) = {row["baseline"] for row in found.rows}
    assert all(row["speedup"] == 1 for row in of(found, baseline))
    slowest = max(names, key=lambda name: sum(row["cpu"] for row in of(found, name)))
    assert baseline == slowest
    assert all(row["megabytes"] >= 0 and row["verified"] for row in found.rows)


def judged(sense, *entries):
    names = ("first", "second", "third")
    empty = {"cpu": 1.0, "status": "optimal", "verified": True, "reason": ""}
    group = [empty | {"solver": name} | entry for name, entry in zip(names, entries, strict=False)]
    judge(group, sense)
    return [entry["agrees"] for entry in group]


def test_a_heuristic_is_judged_by_the_best_bound_known():
    empty = {"cpu": 1.0, "verified": True, "reason": "", "bound": None}
    heuristic = empty | {"solver": "heuristic", "status": "feasible", "value": 0.4}
    loose = empty | {"solver": "loose", "status": "gap", "value": 0.3, "bound": 0.8}
    sharp = empty | {"solver": "sharp", "status": "gap", "value": 0.3, "bound": 0.5}
    nothing = empty | {"solver": "nothing", "status": "limit", "value": None}
    lying = empty | {"solver": "lying", "status": "gap", "value": 0.1, "bound": 0.2, "verified": False}
    group = [heuristic, loose, sharp, nothing, lying]
    judge(group, "maximise")
    assert [row["known_gap"] for row in group] == pytest.approx([0.2, 0.4, 0.4, None, 0.8])
    smaller = [row | {"value": row["value"] and 1 - row["value"]} for row in group[:3]]
    for row, bound in zip(smaller, (None, 0.2, 0.5), strict=True):
        row["bound"] = bound
    judge(smaller, "minimise")
    assert [row["known_gap"] for row in smaller] == pytest.approx([1 / 6, 2 / 7, 2 / 7])
    judge(group[:1], "maximise")
    assert heuristic["known_gap"] is None


def test_the_curve_of_a_solve_ends_with_its_result():
    found = bench.run("staircase", sizes=[4], solvers=["column-generation", "randomized-response"])
    for row in found.rows:
        told = [point for point in found.curves if point["instance"] == row["instance"]]
        told = [point for point in told if point["solver"] == row["solver"]]
        names = ("cpu", "value", "bound")
        assert [told[-1][name] for name in names] == [row[name] for name in names]
        assert [point["cpu"] for point in told] == sorted(point["cpu"] for point in told)
        if row["solver"] == "column-generation":
            assert len(told) > 1
            assert all(point["bound"] >= row["value"] * (1 - 1e-9) for point in told if point["bound"])
    figure = draw_gaps(found.rows, found)
    assert [len(axes.lines) for axes in figure.axes] == [1, 1, 1]  # the other solver proves nothing


def test_a_report_without_a_bound_is_kept_without():
    curve = Curve(Limits())
    curve(0.25, np.inf)
    assert curve.points[0][1:] == (0.25, None)


def test_a_contradiction_is_noticed():
    high, low = {"value": 0.5, "bound": 0.5}, {"value": 0.4, "bound": 0.45}
    assert judged("maximise", high, low) == [False, False]
    assert judged("minimise", {"value": 0.5, "bound": 0.4}, {"value": 0.45, "bound": 0.4}) == [
        True,
        True,
    ]
    assert judged("minimise", {"value": 0.5, "bound": 0.4}, {"value": 0.3, "bound": 0.3}) == [
        False,
        False,
    ]
    assert judged("maximise", {"value": 0.5, "bound": None}, {"value": None, "bound": 0.5}) == [
        True,
        True,
    ]
    assert judged("maximise", high, high | {"bound": float("nan")})[1] is False
    assert judged("maximise", high | {"bound": 0.4}) == [False]


def test_the_checker_decides_who_is_to_blame():
    high, low = {"value": 0.5, "bound": 0.5}, {"value": 0.4, "bound": 0.4}
    assert judged("maximise", high, low | {"verified": False}, high) == [True, False, True]
    assert judged("maximise", high | {"verified": False}, low) == [False, True]


def test_the_sense_is_that_of_the_instance():
    found = bench.run("composition-bound", sizes=[2])
    assert found.disagreements == []
    assert {row["form"] for row in found.rows} == {"threshold-search", "joint-program", "best-bound"}


def test_what_the_checker_cannot_know_is_not_refuted(monkeypatch):
    monkeypatch.setattr(Staircase, "statement", lambda self: None)
    found = small()
    assert {row["verified"] for row in found.rows} == {None}
    assert found.disagreements == []
    assert not any(row["agrees"] for row in of(small(Liar), "liar"))  # the others still contradict it


@pytest.mark.parametrize("kind", list(PROBLEMS))
def test_every_problem_has_random_instances(kind):
    cls = PROBLEMS[kind]
    for sizes in (cls.bench_sizes, cls.full_bench_sizes or cls.bench_sizes):
        assert len(set(sizes)) >= 3  # enough for the growth
        assert sorted(sizes) == list(sizes)
    labels, problems = zip(*cls.random(cls.bench_sizes[0], np.random.default_rng(0)), strict=True)
    assert len(set(labels)) == len(labels)
    assert all(isinstance(problem, cls) for problem in problems)


def test_a_form_stands_for_all_its_problems_and_for_its_own_instances():
    kinds = {cls.kind for cls in bench.targets("column-program")}
    assert kinds == {"staircase", "secret-staircase", "polyopt", "program"}
    assert {cls.kind for cls in bench.targets("all")} == set(PROBLEMS)
    found = bench.run("joint-program", sizes=[2])
    assert {row["instance"] for row in found.rows} == {"composition-bound features=2 worst-joint"}


def test_every_solver_takes_an_example_of_its_form():
    examples = [example.problem for kind in PROBLEMS for example in PROBLEMS[kind].examples()]
    forms = [form for problem in examples for form in problem.forms()]
    taking = {
        name for form in forms for name in solvers_of(type(form)) if SOLVERS[name]().takes(form) is True
    }
    assert taking == set(SOLVERS)
    assert {form.name for form in forms} == set(BY_FORM)
    assert all(SOLVERS[name].form.name == form for form in BY_FORM for name in BY_FORM[form])


def test_the_name_of_a_problem_builds_no_example(monkeypatch):
    for kind in PROBLEMS:
        monkeypatch.delattr(PROBLEMS[kind], "examples", raising=False)
    assert [cls.kind for cls in bench.targets("staircase")] == ["staircase"]
    assert bench.run("staircase", sizes=[3]).disagreements == []


def test_unknown_targets():
    with pytest.raises(UnknownNameError, match="did you mean 'column-program'"):
        bench.run("column-programme")
    with pytest.raises(InvalidInputError, match=r"no solver of.*14 > 12 inputs"):
        bench.run("staircase", sizes=[14], solvers=["cdd"])
    with pytest.raises(InvalidInputError, match="sizes differ from problem to problem"):
        bench.run("all", sizes=[3])
    with pytest.raises(InvalidInputError, match="gap must lie between 0 and 1, not 2"):
        bench.run("staircase", gap=2)
    with pytest.raises(InvalidInputError, match="not -3"):
        bench.run("staircase", time_limit=-3)


def test_memory_is_seen():
    with peak_memory() as memory:
        block = bytearray(60_000_000)
        block[::4096] = b"x" * len(block[::4096])
    assert memory["megabytes"] > 40


@given(st.floats(-3, 6), st.floats(1e-6, 1e3), st.sets(st.integers(1, 99), min_size=3, max_size=5))
def test_the_exponent_of_a_power_law(a, c, sizes):
    values = [c * size**a for size in sizes]
    assert exponent(list(sizes), values) == pytest.approx(a, abs=1e-5)


def test_no_exponent_from_two_sizes():
    assert exponent([2, 4, 4], [1, 2, 3]) is None
    assert exponent([2, 4, 8], [1, 2, 0]) is None


# ------------------------------------------------------------ plugins


def test_a_solver_that_refuses_says_why():
    found = small(sizes=(3, 13))
    refused = [row for row in found.rows if row["status"] == "refused"]
    assert {(row["solver"], row["size"]) for row in refused} == {("cdd", 13)}
    assert all("13 > 12 inputs" in row["reason"] for row in refused)
    assert found.disagreements == []


@pytest.mark.parametrize("cls", [Liar, Unproven])
def test_a_lie_is_contradicted_and_only_the_liar_is_blamed(cls):
    found = small(cls)
    assert len(found.rows) == 18
    for row in found.rows:
        assert row["agrees"] is row["verified"] is (row["solver"] != cls.name)
    (sentence,) = found.disagreements
    assert sentence.startswith(f"{cls.name} on staircase k=3")
    assert "refuted" in sentence
    assert "contradicts enumerate, cdd" in sentence


def test_claiming_that_there_is_no_answer_is_contradicted():
    found = small(Defeatist)
    assert not any(row["agrees"] for row in of(found, "defeatist"))
    assert any(sentence.startswith("defeatist") for sentence in found.disagreements)


@pytest.mark.parametrize(
    ("cls", "reason"),
    [
        (Crash, "ZeroDivisionError: in two lines"),
        (Quitter, "SystemExit: 0"),
        (Clumsy, "KeyError: 'accepts'"),
    ],
)
def test_a_crash_loses_no_other_row(cls, reason):
    found = small(cls)
    assert [row["reason"] for row in of(found, cls.name)] == [reason] * 6
    assert len(found.measured) == 12
    assert found.disagreements == []
    assert found.crashes == [
        f"{cls.name} on staircase k=3 epsilon=0.5 (seed 0): {reason} – and on 5 more"
    ]


class OwnForm(Form):
    name = "own-form"


def test_a_plugin_that_takes_nothing_is_shown():
    class Stranger(Solver[OwnForm]):
        name = "stranger"

        def run(self, form, limits):
            raise AssertionError("nobody has such a form")

    refusals = of(small(Stranger), "stranger")
    assert {row["reason"] for row in refusals} == {"solves a own-form, not a column-program"}
    refusals = of(small(Recluse), "recluse")
    assert [row["reason"] for row in refusals] == ["never <b>any|thing</b>"] * 6
    assert of(small(Liar, target="joint-program", sizes=(2,), solvers=["joint-milp"]), "liar") == []


@pytest.mark.parametrize("cls", [Impatient, Polite])
def test_an_interruption_keeps_what_is_done(cls):
    found = small(cls, sizes=(3, 5, 7))
    assert found.interrupted
    assert [(row["size"], row["solver"]) for row in found.rows[18:]] == [(5, "enumerate"), (5, "cdd")]
    assert all(row["agrees"] for row in found.rows)


def test_a_taken_name_from_python():
    with pytest.raises(InvalidInputError, match="'greedy' of a plugin is taken"):
        small(SOLVERS["greedy"])


@pytest.mark.parametrize("frozen", [True, False])
def test_what_the_caller_has_frozen_stays_so(frozen):
    gc.unfreeze()
    if frozen:
        gc.freeze()
    bench.run("staircase", sizes=[2], solvers=["enumerate"])
    after = gc.get_freeze_count()
    gc.freeze()  # as the other tests are run
    assert (after > 0) is frozen
