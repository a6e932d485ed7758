"""A benchmark that can be published: one clock, fair ratios, repetitions, ranks, files, provenance."""

import hashlib
import json
from pathlib import Path

import pytest
from matplotlib import pyplot
from matplotlib.figure import Figure
from naughty import Liar

from ldpopt.bench import benchmark as bench
from ldpopt.bench.attempt import Rules
from ldpopt.bench.benchmark import Benchmark
from ldpopt.bench.entrants import named
from ldpopt.bench.ranking import ROUGH, gap_steps, shifted_mean, standings, time_to
from ldpopt.bench.rows import rate
from ldpopt.core import child_process
from ldpopt.core import limits as all_limits
from ldpopt.core.errors import InvalidInputError
from ldpopt.core.limits import Limits, on_processor_time
from ldpopt.core.problem import Problem
from ldpopt.engine.plugins import load_object
from ldpopt.engine.sweep import read_csv
from ldpopt.problems import PROBLEMS, Staircase
from ldpopt.solvers import SOLVERS

SPENT = [0.0]


@pytest.fixture
def counted(monkeypatch):
    """Let processor time be what the solvers below say that they work."""
    monkeypatch.setattr(all_limits, "processor_time", lambda: SPENT[0])


class Honest(Liar):
    """Takes a tenth of a second per input; the third run of three takes a tenth longer."""

    name = "honest"
    runs = 0

    def run(self, form, limits):
        type(self).runs += 1
        SPENT[0] += 0.1 * form.cone.dimension * (1.1 if self.runs % 3 == 0 else 1.0)
        return SOLVERS["enumerate"]().run(form, limits)


class Slowed(Honest):
    """Secretly does its work twice."""

    name = "slowed"

    def run(self, form, limits):
        super().run(form, limits)
        return super().run(form, limits)


def ranks(found):
    return [(entry.solver, entry.rank) for entry in standings(found.rows, found)]


def test_a_solver_that_is_secretly_slowed_down_is_ranked_so_and_again(counted):
    def once():
        return bench.run("staircase", sizes=[3, 4], solvers=[], plugins=[Slowed, Honest], repeats=3)

    found = once()
    assert ranks(found) == ranks(once()) == [("honest", 1), ("slowed", 2)]
    honest, slowed = standings(found.rows, found)
    assert honest.solved == slowed.solved == honest.instances
    assert slowed.mean / honest.mean == pytest.approx(2, rel=0.1)
    assert all(row["baseline"] == "slowed" for row in found.rows)


def test_solvers_that_are_not_clearly_apart_share_a_rank(counted):
    class Twin(Honest):
        name = "twin"

    found = bench.run("staircase", sizes=[3], solvers=[], plugins=[Twin, Honest], repeats=2)
    assert [rank for _, rank in ranks(found)] == [1, 1]


def test_repetitions_of_the_same_instance_have_median_and_quartiles(counted):
    times = iter([9.0, 5.0, 1.0, 2.0, 3.0, 4.0])  # the first pays for imports

    class Noisy(Honest):
        name = "noisy"

        def run(self, form, limits):
            SPENT[0] += next(times, 1.0)
            return SOLVERS["enumerate"]().run(form, limits)

    row = bench.run("staircase", sizes=[3], solvers=[], plugins=[Noisy], repeats=5).rows[0]
    assert [row[name] for name in ("runs", "cpu_low", "cpu", "cpu_high")] == [5, 2.0, 3.0, 4.0]


def test_a_run_that_proves_nothing_is_not_repeated_and_never_faster():
    found = bench.run("staircase", sizes=[3], solvers=["randomized-response", "cdd"], repeats=2)
    for row in found.rows:
        proven = row["solver"] == "cdd"
        assert row["runs"] == (2 if proven else 1)
        assert row["solved"] is proven
        assert (row["speedup"] is not None) is proven
    assert ranks(found) == [("cdd", 1), ("randomized-response", None)]


def rated(solver, cpu, **others):
    names = {"form": "f", "problem": "p", "instance": "i", "size": 1, "seed": 0, "solver": solver}
    return names | {"cpu": cpu, "status": "optimal", "agrees": True, "verified": True} | others


def test_nobody_is_faster_than_a_run_that_did_not_finish():
    rows = [rated("fast", 1.0), rated("cdd", 30.0, status="limit"), rated("late", 61.0)]
    rows.append(rated("refuted", 2.0, verified=False))
    for baseline in ("cdd", "late", "refuted"):
        rate(rows, 60.0, baseline)
        assert [row["speedup"] for row in rows] == [None] * 4
    rate(rows, 60.0)
    assert {row["baseline"] for row in rows} == {"fast"}


def test_the_limit_counts_processor_time_and_not_the_wall(monkeypatch, clock):
    spent = [0.0]
    monkeypatch.setattr(all_limits, "processor_time", lambda: spent[0])
    with on_processor_time():
        limits = Limits.within(10.0)
    clock.move(1000.0)
    assert limits.remaining() == 10.0
    spent[0] = 11.0
    assert limits.expired()
    assert limits.elapsed() == 11.0


def test_the_start_of_a_process_and_its_memory_are_told_apart():
    from shared_work import growing

    limits = Limits()
    child_process.call(growing, limits=limits, imports="statistics")
    (child,) = limits.children
    assert child.start > 0
    assert child.megabytes > 40
    found = bench.run("statistic-leakage", sizes=[6], solvers=["flow-ortools"])
    assert all(row["start"] > 0 and row["child_megabytes"] is not None for row in found.measured)


def test_a_process_ends_when_its_processor_time_is_over():
    from shared_work import forever

    with on_processor_time(), pytest.raises(all_limits.OutOfTime):
        child_process.call(forever, limits=Limits.within(0.3), imports="statistics")


def test_shifted_means_and_times_to_a_gap():
    assert shifted_mean([0.09, 0.39]) == pytest.approx((0.1 * 0.4) ** 0.5 - 0.01)
    rows = [rated("a", 3.0, value=1.0, bound=1.0)]
    told = [(0.5, None, None), (1.0, 1.0, 2.0), (2.0, 1.0, 1.005), (3.0, 1.0, 1.0)]
    curves = [rows[0] | {"cpu": at, "value": v, "bound": b} for at, v, b in told]
    steps = gap_steps(Benchmark("all", rows, curves=tuple(curves)))["i", 1, 0, "a"]
    assert [at for at, _ in steps] == [1.0, 2.0, 3.0]
    assert [time_to(steps, gap, 60.0) for gap in (0.5, ROUGH, 1e-9, -1.0)] == [1.0, 2.0, 3.0, 60.0]
    refuted = Benchmark("all", [rows[0] | {"verified": False}], curves=tuple(curves))
    assert gap_steps(refuted) == {}


def test_options_of_solvers_seed_and_baseline(ldpopt):
    words = ("bench", "square-fidelity", "--sizes", 3, "--seed", 7, "--json")
    two = "descent(starts=2),descent(starts=3)"
    code, out, _ = ldpopt(*words, "--solvers", two, "--baseline", "descent(starts=3)")
    rows = json.loads(out)["rows"]
    assert code == 0
    assert {row["solver"] for row in rows} == {"descent(starts=2)", "descent(starts=3)"}
    assert {row["baseline"] for row in rows} == {"descent(starts=3)"}
    assert {row["seed"] for row in rows} == {7}
    assert "has no option 'tol'; it takes starts" in ldpopt(*words, "--solvers", "descent(tol=1)").err
    assert "written name=value, not '3'" in ldpopt(*words, "--solvers", "descent(3)").err
    told = ldpopt(*words, "--solvers", "descent", "--baseline", "cdd").err
    assert "the baseline must be one of the solvers, descent, not 'cdd'" in told


def test_a_value_is_a_literal_or_text():
    found = named("mechanism-cvxpy( backend = SCS )")
    assert (found.name, found.options) == ("mechanism-cvxpy(backend=SCS)", {"backend": "SCS"})
    with pytest.raises(InvalidInputError, match="NAME"):
        named("descent(starts=3")


@pytest.fixture
def questions(tmp_path):
    directory = tmp_path / "two-levels"
    directory.mkdir()
    for level in (1, 2):
        text = json.dumps({"problem": "staircase", "params": {"epsilon": level, "prior": [0.5, 0.5]}})
        (directory / f"level-{level}.json").write_text(text)
    return directory


def test_a_directory_of_questions_is_a_test_set_with_a_name_and_a_hash(questions, tmp_path, ldpopt):
    lines = "".join(
        f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n"
        for file in sorted(questions.iterdir())
    )
    digest = hashlib.sha256(lines.encode()).hexdigest()
    words = ("bench", questions, "--solvers", "enumerate", "--out", tmp_path / "page")
    code, out, _ = ldpopt(*words)
    assert code == 0
    assert "2 of 2" in out
    assert "measured by ldpopt" in out
    page = (tmp_path / "page" / "bench.html").read_text(encoding="utf-8")
    assert f"the test set <b>two-levels</b> (SHA-256 <code>{digest}</code>)" in page
    for row in read_csv(tmp_path / "page" / "bench.csv"):
        assert (row["test_set"], row["size"]) == (digest, None)
        assert row["commit"]
        assert row["processor"]
    found = json.loads(ldpopt("bench", questions / "level-1.json", "--json", "--solvers", "cdd").out)
    assert [row["instance"] for row in found["rows"]] == ["level-1"]
    assert {"commit", "processor", "highspy", "numpy"} <= set(found["provenance"])
    with pytest.raises(InvalidInputError, match="sizes and draws are for random instances"):
        bench.run(questions, sizes=[3])
    assert "cannot read" in ldpopt("bench", "missing.json").err


def test_a_second_run_measures_what_is_missing(questions, tmp_path, monkeypatch):
    journal = tmp_path / "journal.jsonl"
    first = bench.run(questions, solvers=["enumerate"], journal=journal)
    assert first.reused == 0
    again = bench.run(questions, solvers=["enumerate", "cdd"], journal=journal)
    assert again.reused == 2
    mine = [row["cpu"] for row in again.rows if row["solver"] == "enumerate"]
    assert mine == [row["cpu"] for row in first.rows]
    assert bench.run(questions, solvers=["enumerate"], journal=journal, gap=1e-6).reused == 0
    monkeypatch.setattr("ldpopt.bench.journal.code_digest", lambda: "other code")
    assert bench.run(questions, solvers=["enumerate"], journal=journal).reused == 0


def test_a_plugin_alone(questions):
    found = bench.run(questions, solvers=[f"{__file__}:Honest"])
    assert {row["solver"] for row in found.rows} == {"honest"}
    assert all(row["solved"] for row in found.rows)


def test_a_kind_of_ones_own_without_random_instances_is_benchmarked_by_files(monkeypatch):
    class Bare(Staircase):
        kind = "bare"
        bench_sizes = ()

        @classmethod
        def random(cls, size, rng):
            return Problem.random.__func__(cls, size, rng)

    monkeypatch.setattr(PROBLEMS, "_given", {"bare": Bare})
    with pytest.raises(InvalidInputError, match="bare lists no sizes to benchmark: choose sizes, or"):
        bench.run("bare")
    with pytest.raises(InvalidInputError, match="a method random, or benchmark files of questions"):
        bench.run("bare", sizes=[2])


def test_rules_are_whole_numbers():
    for rule in ({"repeats": 0}, {"draws": 0}, {"seed": -1}):
        with pytest.raises(InvalidInputError, match=next(iter(rule))):
            bench.run("staircase", sizes=[2], **rule)
    assert Rules().repeats == 1


@pytest.mark.usefixtures("forgotten")
def test_the_test_set_is_what_its_tool_draws(tmp_path):
    root = Path(__file__).parents[2]
    load_object(f"{root}/tools/draw_test_set.py:write")(tmp_path)
    committed = root / "docs" / "test-set"
    drawn = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert len(drawn) >= 100
    assert drawn == {path.name: path.read_text() for path in committed.iterdir()}


def test_the_times_are_drawn_on_axes():
    found = bench.run("staircase", sizes=[3, 4], solvers=["enumerate", "cdd"])
    axes = Figure().subplots()
    assert found.plot(axes) is axes
    assert [line.get_label() for line in axes.lines] == ["enumerate", "cdd"]
    assert axes.get_legend() is not None
    assert found.plot() is not axes
    pyplot.close("all")
