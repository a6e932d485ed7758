"""The benchmark: agreement, ratios, plugins, the page, and that it notices a contradiction."""

import csv
import json
import re
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldpopt import ColumnProgram, Columns, FormSolution, Solver, Status
from ldpopt.bench import benchmark as bench
from ldpopt.bench import page as benchpage
from ldpopt.core.errors import InvalidInputError, UnknownNameError
from ldpopt.engine import plugins
from ldpopt.problems import PROBLEMS, CompositionBound, Staircase
from ldpopt.solvers import SOLVERS


class Liar(Solver[ColumnProgram]):
    """Claims that no mechanism tells anything."""

    name = "liar"

    def run(self, form, limits):
        k = form.cone.dimension
        nothing = Columns(np.ones(1), np.ones((k, 1)))
        return FormSolution(Status.OPTIMAL, nothing, 0.0, bound=0.0, proof={"dual": [0.0] * k})


class Unproven(Liar):
    name = "unproven"

    def run(self, form, limits):
        return FormSolution(Status.OPTIMAL, super().run(form, limits).point, 0.0, bound=0.0)


class Defeatist(Liar):
    name = "defeatist"

    def run(self, form, limits):
        return FormSolution(Status.INFEASIBLE)


class Crash(Liar):
    name = "crash"

    def run(self, form, limits):
        raise ZeroDivisionError("in two\nlines")


class Quitter(Liar):
    name = "quitter"

    def run(self, form, limits):
        raise SystemExit(0)


class Clumsy(Liar):
    name = "clumsy"

    def accepts(self, form):
        raise KeyError("accepts")


class Recluse(Liar):
    name = "recluse"

    def accepts(self, form):
        return "never <b>any|thing</b>"


class Impatient(Liar):
    """The user presses Ctrl-C at the fifth input."""

    name = "impatient"

    def run(self, form, limits):
        if form.cone.dimension == 5:
            raise KeyboardInterrupt
        return SOLVERS["enumerate"]().run(form, limits)


class Polite(Impatient):
    """It ends with what it has, as column generation does."""

    name = "polite"

    def run(self, form, limits):
        try:
            return super().run(form, limits)
        except KeyboardInterrupt:
            return FormSolution(Status.LIMIT, stats={"interrupted": 1.0})


def small(*added, target="staircase", sizes=(3,), solvers=("enumerate", "cdd")):
    return bench.run(target, sizes=sizes, solvers=solvers, plugins=added)


def of(found, solver):
    return [row for row in found.rows if row["solver"] == solver]


def test_solvers_agree_and_one_is_the_baseline(tmp_path):
    names = ["enumerate", "column-generation", "cdd"]
    found = bench.run("staircase", sizes=[3], repeats=2, solvers=names)
    assert found.disagreements == found.crashes == []
    assert {row["solver"] for row in found.rows} == set(names)
    (baseline,) = {row["baseline"] for row in found.rows}
    assert all(row["speedup"] == 1 for row in of(found, baseline))
    slowest = max(names, key=lambda name: sum(row["seconds"] for row in of(found, name)))
    assert baseline == slowest
    assert all(row["megabytes"] >= 0 and row["verified"] for row in found.rows)
    bench.draw_profile(found, tmp_path / "profile.png")
    assert (tmp_path / "profile.png").stat().st_size > 1000


def judged(sense, *entries):
    names = ("first", "second", "third")
    empty = {"seconds": 1.0, "status": "optimal", "verified": True, "reason": ""}
    group = [empty | {"solver": name} | entry for name, entry in zip(names, entries, strict=False)]
    bench._judge(group, sense)
    return [entry["agrees"] for entry in group]


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
    assert kinds == {"staircase", "secret-staircase", "polyopt"}
    assert {cls.kind for cls in bench.targets("all")} == set(PROBLEMS)
    found = bench.run("joint-program", sizes=[2])
    assert {row["instance"] for row in found.rows} == {"composition-bound features=2 worst-joint"}


def test_every_solver_belongs_to_a_form():
    forms = bench.catalogue()
    assert {name for entry in forms.values() for name in entry.solvers} == set(SOLVERS)


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
    with bench.peak_memory() as memory:
        block = bytearray(60_000_000)
        block[::4096] = b"x" * len(block[::4096])
    assert memory["megabytes"] > 40


@given(st.floats(-3, 6), st.floats(1e-6, 1e3), st.sets(st.integers(1, 99), min_size=3, max_size=5))
def test_the_exponent_of_a_power_law(a, c, sizes):
    values = [c * size**a for size in sizes]
    assert bench.exponent(list(sizes), values) == pytest.approx(a, abs=1e-5)


def test_no_exponent_from_two_sizes():
    assert bench.exponent([2, 4, 4], [1, 2, 3]) is None
    assert bench.exponent([2, 4, 8], [1, 2, 0]) is None


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
    assert len(found.rows) == 12
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
    assert [row["reason"] for row in of(found, cls.name)] == [reason] * 4
    assert len(found.measured) == 8
    assert found.disagreements == []
    assert found.crashes == [
        f"{cls.name} on staircase k=3 epsilon=0.5 (seed 0): {reason} – and on 3 more"
    ]


def test_a_plugin_that_takes_nothing_is_shown_everywhere():
    refusals = of(small(Recluse), "recluse")
    assert [row["reason"] for row in refusals] == ["never <b>any|thing</b>"] * 4
    assert of(small(Liar, target="joint-program", sizes=(2,), solvers=["joint-milp"]), "liar") == []


@pytest.mark.parametrize("cls", [Impatient, Polite])
def test_an_interruption_keeps_what_is_done(cls):
    found = small(cls, sizes=(3, 5, 7))
    assert found.interrupted
    assert [(row["size"], row["solver"]) for row in found.rows[12:]] == [(5, "enumerate"), (5, "cdd")]
    assert all(row["agrees"] for row in found.rows)


BROKEN = "raise RuntimeError('broken')\n"
FINE = """
from dataclasses import dataclass
from ldpopt import ColumnProgram, Solver

@dataclass
class Own(Solver[ColumnProgram]):
    name = "own"
    def accepts(self, form):
        return "no"
    def run(self, form, limits):
        pass

class Nameless(Solver[ColumnProgram]):
    accepts = run = Own.run

class Half(Solver[ColumnProgram]):
    name = "half"
    def accepts(self, form):
        return "no"

number = 3
"""


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.py").write_text(BROKEN)
    (tmp_path / "fine.py").write_text(FINE)
    return tmp_path


def test_a_plugin_is_a_module_or_a_file(files):
    assert [cls.name for cls in plugins.load_solvers(["fine.py:Own"])] == ["own"]
    assert plugins.load_solver(f"{files / 'fine.py'}:Own").name == "own"
    assert plugins.load_solver("ldpopt.solvers.greedy:Greedy") is SOLVERS["greedy"]


@pytest.mark.parametrize(
    ("references", "message"),
    [
        (["fine.py"], "is MODULE:CLASS or"),
        (["absent.py:Own"], "there is no file absent.py"),
        (["ldpopt.absent:Own"], "No module named 'ldpopt.absent'"),
        (["broken.py:Own"], "cannot be imported: RuntimeError: broken"),
        (["fine.py:Absent"], "fine.py has no 'Absent'"),
        (["fine.py:number"], "not a subclass of ldpopt.Solver"),
        (["fine.py:Half"], "does not define run"),
        (["fine.py:Nameless"], "has no name"),
        (["ldpopt.solvers.greedy:Greedy"], "'greedy', which is taken"),
        (["fine.py:Own", "fine.py:Own"], "'own', which is taken"),
    ],
)
def test_bad_plugins(files, references, message):
    with pytest.raises(InvalidInputError, match=re.escape(message)) as caught:
        plugins.load_solvers(references)
    assert "\n" not in str(caught.value)


def test_a_taken_name_from_python():
    with pytest.raises(InvalidInputError, match="'greedy' of a plugin is taken"):
        small(SOLVERS["greedy"])


# ------------------------------------------------------------ the page


def row(solver, size, seconds, **others):
    found = {"form": "column-program", "problem": "staircase", "instance": f"staircase k={size}"}
    found |= {"size": size, "seed": 0, "solver": solver, "status": "optimal", "reason": ""}
    found |= {"seconds": seconds, "speedup": 1.0, "baseline": solver, "value": 0.5, "bound": 0.5}
    found |= {"gap": 0.0, "iterations": 1, "columns": 1, "megabytes": 0.02 * size}
    return found | {"verified": True, "agrees": True} | others


def page_of(rows, **others):
    found = bench.Benchmark("all", rows, 1e-9, 60.0, **others)
    return benchpage.facts(found, "ldpopt bench all", datetime(2020, 1, 2, tzinfo=UTC))


def test_growth_is_fitted_or_said_not_to_be():
    rows = [row("enumerate", size, 1e-3 * size**2) for size in (2, 4, 8)]
    rows += [row("cdd", size, 1e-3 * size, megabytes=float(size**3)) for size in (2, 4, 8)]
    rows += [row("column-generation", size, 60.5 if size == 8 else 0.1) for size in (2, 4, 8)]
    rows.append(row("column-generation", 8, 0.1, seed=1))  # the other one of this size ran out of time
    (form,) = page_of(rows)["forms"]
    assert form.problems[0].growth.rows == [
        ("enumerate", "2, 4, 8", "2.00", "too few sizes"),
        ("cdd", "2, 4, 8", "1.00", "3.00"),
        ("column-generation", "2, 4", "too few sizes", "too few sizes"),
    ]
    assert "matching" in form.others
    assert "Maximise" in form.asks


def test_the_summary_of_several_instances():
    rows = [row("cdd", 4, 1.0, gap=1e-3), row("cdd", 4, 3.0, seed=1, status="gap", megabytes=9.0)]
    rows += [row("cdd", 4, 2.0, seed=2, verified=False), row("enumerate", 4, 0.5, agrees=None)]
    (form,) = page_of(rows)["forms"]
    assert form.problems[0].times.rows == [
        ("cdd", "4", "3", "2", "1", "1 gap, 2 optimal", "0.001", "9", "NO", "yes"),
        ("enumerate", "4", "1", "0.5", "1", "optimal", "0", "0.08", "yes", "–"),
    ]


def test_only_a_proof_of_every_instance_counts_as_the_fastest():
    rows = [row("cdd", 4, 2.0), row("enumerate", 4, 1.0, verified=False, agrees=False)]
    rows += [row("cdd", 8, 2.0, status="gap"), row("enumerate", 8, 1.0, status="feasible")]
    assert page_of(rows)["overview"].rows == [
        ("staircase", "column-program", "4", "cdd", "2", "1", "cdd")
    ]
    assert "none proves" in page_of(rows[2:])["overview"].rows[0][3]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A real benchmark of two forms, with a solver of every bad kind."""
    directory = tmp_path_factory.mktemp("page")
    added = [Liar, Crash, Recluse]
    found = small(*added, sizes=(3, 4, 5), solvers=None)
    others = bench.run("joint-program", sizes=[2], plugins=added)
    both = bench.Benchmark("all", found.rows + others.rows, 1e-9, 60.0)
    benchpage.write(both, directory, "ldpopt bench <all>", datetime(2020, 1, 2, 3, 4, tzinfo=UTC), added)
    return directory, both


def test_the_page_stands_alone(written):
    html = (written[0] / "bench.html").read_text(encoding="utf-8")
    assert not re.search(r"<script|<link|<img|src=|@import|url\((?!#)", html)
    assert set(re.findall(r"https?://[^/\"]+", html)) <= {"http://www.w3.org"}
    assert html.count("<svg") == 2
    for words in ("2020-01-02 03:04 UTC", "usable", "highspy", "ldpopt bench &lt;all&gt;"):
        assert words in html
    assert "never &lt;b&gt;any|thing&lt;/b&gt;" in html
    assert "<b>any" not in html


def test_the_curves_differ_without_colour(written):
    html = (written[0] / "bench.html").read_text(encoding="utf-8")
    plot = html[html.index("<svg") : html.index("</svg>")]
    dashes = re.findall(r"stroke-dasharray: ([^;]+);", plot)
    assert len(set(dashes)) == 5  # six curves, one of them solid
    markers = re.findall(r'<path id="m\w+" d="([^"]+)"', plot)
    assert len(set(markers)) >= 6


def test_no_solver_is_missing_from_the_page(written):
    directory, _ = written
    for name in ("bench.html", "bench.md"):
        text = (directory / name).read_text(encoding="utf-8")
        for solver in [*SOLVERS, "liar", "crash", "recluse"]:
            assert solver in text
        for section in ("column-program", "joint-program"):
            assert section in text
        assert "Contradicted or refuted" in text
        assert "ZeroDivisionError: in two lines" in text


def test_the_tables_of_the_markdown_are_whole(written):
    text = (written[0] / "bench.md").read_text(encoding="utf-8")
    tables = re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE)
    assert len(tables) == 2 + 2 + 2 + 2  # machine, overview; times and growth; refusals of the recluse
    for table in tables:
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1
        assert len(table.splitlines()) > 2
    (code,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    exec(compile(code, "bench.md", "exec"), {})


def test_the_rows_of_the_csv_are_all_rows(written):
    directory, found = written
    with (directory / "bench.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(found.rows)
    assert {row["status"] for row in rows} == {"optimal", "feasible", "refused", "crashed"}
    assert [float(row["seconds"]) for row in rows if row["seconds"]] == [
        row["seconds"] for row in found.measured
    ]


def test_an_interrupted_page_says_so(tmp_path):
    found = bench.Benchmark("all", [row("cdd", 3, 1.0)], 1e-9, 60.0, interrupted=True)
    for path in benchpage.write(found, tmp_path, "ldpopt", datetime(2020, 1, 2, tzinfo=UTC))[:2]:
        assert "Interrupted: only what was finished" in path.read_text(encoding="utf-8")


# ------------------------------------------------------------ the command line


@pytest.fixture
def command(tmp_path, monkeypatch, ldpopt):
    """``ldpopt bench all`` on two problems with few sizes."""
    monkeypatch.setattr(bench, "targets", lambda name, forms=None: [Staircase, CompositionBound])
    monkeypatch.setattr(Staircase, "bench_sizes", (3, 5))
    monkeypatch.setattr(Staircase, "full_bench_sizes", (4,))
    monkeypatch.setattr(CompositionBound, "bench_sizes", (2,))
    monkeypatch.setattr(CompositionBound, "full_bench_sizes", ())
    return lambda *words: ldpopt("bench", *words, cwd=tmp_path)


def test_everything_on_one_page(command, tmp_path):
    code, out, err = command("all", "--solvers", "enumerate,cdd,joint-milp")
    assert code == 0
    assert "composition-bound" in out
    files = sorted((tmp_path / "results" / "bench").iterdir())
    assert [file.name for file in files] == ["bench.csv", "bench.html", "bench.md"]
    assert "wrote results/bench/bench.html" in err
    assert "ldpopt bench all --solvers enumerate,cdd,joint-milp\n" in files[2].read_text(
        encoding="utf-8"
    )


def test_full_sizes_and_json(command, tmp_path):
    code, out, _ = command("all", "--full", "--json", "--solvers", "enumerate", "--out", "there")
    assert code == 0
    assert {row["size"] for row in json.loads(out)["rows"]} == {4}
    text = (tmp_path / "there" / "bench.md").read_text(encoding="utf-8")
    assert "\nldpopt bench all --full --solvers enumerate\n" in text


@pytest.mark.parametrize(
    ("plugin", "code", "words"),
    [
        ("Liar", 1, "contradicted: liar on staircase k=3"),
        ("Crash", 3, "crashed: crash on staircase k=3"),
        ("Impatient", 130, "kept the 14 rows that were done"),
        ("Missing", 2, "has no 'Missing'"),
    ],
)
def test_exit_codes_with_plugins(command, tmp_path, plugin, code, words):
    reference = f"{__file__}:{plugin}"
    found, _, err = command("all", "--solvers", "enumerate,cdd", "--plugin", reference)
    assert found == code
    assert words in err
    page = tmp_path / "results" / "bench" / "bench.html"
    assert page.exists() == (code != 2)
    if code != 2:
        assert plugin.lower() in page.read_text(encoding="utf-8")
