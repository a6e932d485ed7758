"""Problems, solvers and experiments in a file of one's own; broken ones; what a sweep remembers."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from importlib.metadata import EntryPoint

import pytest

from ldpopt import solve
from ldpopt.core import registry
from ldpopt.core.errors import InvalidInputError, SolverError
from ldpopt.core.limits import Limits
from ldpopt.engine import solving, sweep
from ldpopt.engine.plugins import load_object, load_solver, problem_class
from ldpopt.problems import PROBLEMS, Staircase
from ldpopt.solvers import SOLVERS

MINE = '''
"""A problem, a solver and an experiment of one's own."""

from dataclasses import dataclass

from ldpopt import ColumnProgram, FormSolution, Solver, Status
from ldpopt.engine.sweep import Experiment
from ldpopt.problems import Staircase
from ldpopt.solvers import Enumerate


class Coin(Staircase):
    """Flip a coin, privately."""

    kind = "coin"
    bench_sizes = (2,)


class Slow(Enumerate):
    name = "slow"
    automatic = False


class Nothing(Solver[ColumnProgram]):
    name = "nothing"

    def run(self, form, limits):
        return ANSWER


ANSWER = None
measure = lambda n: {"square": n * n}
draw = lambda rows, out: []
conclude = lambda rows: f"sum {sum(row['square'] for row in rows)}"
SQUARES = Experiment("own-squares", lambda quick: [{"n": n} for n in range(3)], measure, draw, conclude)
'''
OWN = ("--problem", "mine.py:Coin")
SPEC = {"problem": "coin", "params": {"epsilon": 1.0, "prior": [0.5, 0.5]}}


@pytest.fixture
def files(tmp_path, monkeypatch, forgotten):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(PROBLEMS, "_given", {})
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "spec.json").write_text(json.dumps(SPEC))
    return tmp_path


def test_solve_takes_a_problem_and_a_solver_of_ones_own(files, ldpopt):
    answer = ldpopt("solve", "spec.json", *OWN, "--solver", "mine.py:Slow", "--json", cwd=files)
    assert answer.code == 0, answer.err
    found = json.loads(answer.out)
    assert (found["problem"], found["solver"], found["status"]) == ("coin", "slow", "optimal")


@pytest.mark.parametrize("name", ["mine.py:Coin", "./m y.py:Coin", "staircase"])
def test_the_commands_that_show_prints_run_as_printed(name, files, ldpopt):
    (files / "m y.py").write_text(MINE)
    shown = ldpopt("show", name, cwd=files)
    assert shown.code == 0, shown.err
    assert name == "staircase" or shown.out.startswith("coin: Flip a coin, privately.\n")
    one, other = (shlex.split(line) for line in shown.out.splitlines() if line.startswith("  ldpopt "))
    assert one[-2:] == [">", "question.json"]
    written = ldpopt(*one[1:-2], cwd=files)
    (files / "question.json").write_text(written.out)
    solved = ldpopt(*other[1:], cwd=files)
    assert solved.code == 0, solved.err
    plain = json.loads(ldpopt("show", name, "--json", cwd=files).out)
    assert plain["example"] == json.loads(written.out)
    assert not any("class" in words or "typing" in words for words in plain["parameters"].values())


def test_a_result_of_ones_own_problem_is_verified_audited_and_reported(files, ldpopt):
    solved = ldpopt("solve", "spec.json", *OWN, "--out", "r.json", cwd=files)
    assert solved.out.endswith("check it with: ldpopt verify r.json --problem mine.py:Coin\n")
    bare = ldpopt("verify", "r.json", cwd=files)  # the file carries its statement
    assert bare.code == 0, bare.err
    assert "unchecked" in bare.out
    assert ldpopt("verify", "r.json", *OWN, cwd=files).code == 0
    for words in (
        ["audit", "--samples", "1000", "--confidence", "0.999999"],
        ["report", "-o", "r.html", "--curve-seconds", "0"],
    ):
        unknown = ldpopt(words[0], "r.json", *words[1:], cwd=files)
        assert (unknown.code, unknown.err.count("\n")) == (2, 1)
        assert "'coin'" in unknown.err
        found = ldpopt(words[0], "r.json", *words[1:], *OWN, cwd=files)
        assert found.code == 0, found.err
    assert "Flip a coin" in (files / "r.html").read_text()


def test_a_problem_without_examples_has_nothing_to_show(files, ldpopt):
    with (files / "mine.py").open("a") as file:
        file.write("Coin.examples = classmethod(lambda cls: [])\n")
    shown = ldpopt("show", "mine.py:Coin", cwd=files)
    assert (shown.code, shown.out) == (2, "")
    assert "its method examples yields no example" in shown.err


@pytest.mark.parametrize("said", ["None", "''", "1"])
def test_a_solver_that_accepts_in_no_words_gets_a_sentence(said, files, ldpopt):
    with (files / "mine.py").open("a") as file:
        file.write(f"Slow.accepts = lambda self, form: {said}\n")
    answer = ldpopt("solve", "spec.json", *OWN, "--solver", "mine.py:Slow", cwd=files)
    assert answer.code == 2
    assert f"slow: its method accepts must return True or a reason in words, not {said}" in answer.err


def test_bench_takes_a_problem_of_ones_own(files, ldpopt):
    answer = ldpopt("bench", "mine.py:Coin", "--solvers", "enumerate", "--sizes", 2, cwd=files)
    assert answer.code == 0, answer.err
    assert "coin" in answer.out


def test_bench_does_not_call_a_utility_verified_that_the_checker_does_not_know(files, ldpopt):
    words = ("bench", "mine.py:Coin", "--solvers", "enumerate", "--sizes", 2)
    said = " ".join(ldpopt(*words, cwd=files).out.split())
    assert "not verified: its privacy is verified; value, bound and status are not" in said
    rows = json.loads(ldpopt(*words, "--json", cwd=files).out)["rows"]
    assert rows
    assert {row["verified"] for row in rows} == {None}


def test_experiment_takes_one_of_ones_own_and_notices_changed_code(files, ldpopt):
    run = ["experiment", "mine.py:SQUARES", "--out", "results"]
    assert "sum 5" in ldpopt(*run, cwd=files).out
    again = ldpopt(*run, cwd=files).out
    assert "3 of 3 points were there (--force measures them again)" in again
    assert "were there" not in ldpopt(*run, "--force", cwd=files).out
    (files / "mine.py").write_text(MINE.replace("n * n", "n * n + 1"))
    changed = ldpopt(*run, cwd=files).out
    assert "sum 8" in changed
    assert "sum 8" in ldpopt(*run, "--force", "--jobs", 2, cwd=files).out
    assert "were there" not in changed


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("mine.py:ANSWER", "is missing: mine.py has no 'ANSWER'"),
        ("mine.py:Coin", "must be an Experiment, not <class"),
        ("mine.py", "is MODULE:NAME or path/to/file.py:NAME, not 'mine.py'"),
        ("absent.py:X", "there is no file absent.py"),
    ],
)
def test_an_experiment_that_is_none(name, message, files, ldpopt):
    answer = ldpopt("experiment", name, cwd=files)
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert message in answer.err


def test_a_problem_that_is_none(files):
    with pytest.raises(InvalidInputError, match=r"is not a subclass of ldpopt\.Problem"):
        problem_class("mine.py:Slow")
    (files / "taken.py").write_text(MINE.replace('kind = "coin"', 'kind = "staircase"'))
    with pytest.raises(InvalidInputError, match="the problem name 'staircase' is taken"):
        problem_class("taken.py:Coin")


@pytest.mark.parametrize("answer", ["None", "False", "3"])
def test_a_solver_that_returns_no_solution_gets_a_sentence(answer, files, ldpopt):
    (files / "mine.py").write_text(MINE.replace("ANSWER = None", f"ANSWER = {answer}"))
    with pytest.raises(SolverError, match=f"'nothing' must return a FormSolution, not {answer};"):
        solve(Staircase(1.0, prior=[0.5, 0.5]), load_solver("mine.py:Nothing")())
    said = ldpopt("solve", "spec.json", *OWN, "--solver", "mine.py:Nothing", cwd=files)
    assert (said.code, said.err.count("\n")) == (70, 1)


def test_a_file_is_loaded_once_and_finds_its_neighbours(files, ldpopt):
    """A form of one's own is the same class for the problem, the solver, and whoever imports it."""
    (files / "counted.py").write_text("def twice(number):\n    return 2 * number\n")
    (files / "form.py").write_text(
        "from ldpopt import ColumnProgram\nfrom counted import twice\n"
        "print('loaded once')\n\n\nclass Mine(ColumnProgram):\n    name = 'mine'\n    size = twice(2)\n"
    )
    (files / "both.py").write_text(
        "from form import Mine\n"
        + MINE.replace("Nothing(Solver[ColumnProgram])", "Nothing(Solver[Mine])")
        + "\n\ndef run(self, form, limits):\n    from counted import twice\n"
        "    return Enumerate().run(form, limits)\n\n\nNothing.run = run\n"
        "Nothing.accepts = lambda self, form: True\n"
        "Coin.forms = lambda self: (Mine(**vars(form)) for form in Staircase.forms(self))\n"
    )
    text = (files / "both.py").read_text()
    (files / "both.py").write_text(
        text.replace("from dataclasses", "from form import Mine\nfrom dataclasses")
    )
    words = ("bench", "both.py:Coin", "--plugin", "./both.py:Nothing", "--sizes", 2)
    said = ldpopt(*words, "--solvers", "enumerate", cwd=files)
    assert "nothing" in said.out, said
    assert said.out.count("loaded once") == 1
    assert said.code == 0, said.err
    assert load_object("form.py:Mine") is load_object(f"{files}/../{files.name}/form.py:Mine")
    assert load_object("form.py:Mine") is load_object("form:Mine")


def test_a_file_with_the_name_of_an_installed_module_is_itself(files):
    (files / "json.py").write_text("HERE = 1\n")
    assert load_object("json.py:HERE") == 1
    assert json.dumps([1]) == "[1]"
    assert load_object("json.py:HERE") == 1


# ---------------------------------------------------------------- broken packages


@pytest.fixture
def broken(monkeypatch):
    """Packages that register a solver that cannot be imported, and a name that is taken."""
    entries = [
        EntryPoint("bad", "no_such_module:Bad", "ldpopt.solvers"),
        EntryPoint("enumerate", "elsewhere:Mine", "ldpopt.solvers"),
    ]
    monkeypatch.setattr(registry, "entry_points", lambda group: entries)
    monkeypatch.delitem(SOLVERS.__dict__, "_sources", raising=False)
    yield
    SOLVERS.__dict__.pop("_sources", None)


def test_a_broken_plugin_is_a_warning(broken, ldpopt, files):
    answer = ldpopt("list", "solvers")
    assert answer.code == 0
    assert "BROKEN: the module no_such_module is not installed" in answer.out
    assert "column-generation" in answer.out
    assert "warning: two packages register the solver 'enumerate'" in answer.err
    assert solve(Staircase(1.0, prior=[0.5, 0.5])).status.value == "optimal"
    answer = ldpopt("bench", "staircase", "--sizes", 3, "--time-limit", 5)
    assert answer.code == 0, answer.err
    assert ldpopt("show", "staircase").code == 0
    spec = files / "s.json"
    spec.write_text(json.dumps({"problem": "staircase", "params": {"epsilon": 1, "prior": [0.5, 0.5]}}))
    answer = ldpopt("solve", spec, "--solver", "bad")
    assert "the solver 'bad' cannot be loaded" in answer.err


# ---------------------------------------------------------------- specifications and results


def test_a_result_is_not_overwritten(ldpopt, tmp_path):
    spec, out = tmp_path / "s.json", tmp_path / "r.json"
    spec.write_text(json.dumps({"problem": "staircase", "params": {"epsilon": 1, "prior": [0.5, 0.5]}}))
    out.write_text("mine")
    answer = ldpopt("solve", spec, "--out", out)
    assert (answer.code, out.read_text()) == (2, "mine")
    assert "it exists; choose another name, or --force" in answer.err
    assert ldpopt("solve", spec, "--out", out, "--force").code == 0
    assert json.loads(out.read_text())["problem"] == "staircase"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"problem": "staircase", "problem": "polyopt"}', "problem"),
        ('{"problem": "staircase", "params": {"epsilon": 1, "epsilon": 2}}', "epsilon"),
        ('{"problem": "staircase", "params": {"epsilon": NaN}}', "NaN"),
        ('{"problem": "staircase", "parms": {}}', "has no key 'parms'; allowed are problem, params"),
        ("[1]", "holds no JSON object"),
    ],
)
def test_a_specification_is_read_strictly(text, message, ldpopt, tmp_path):
    (tmp_path / "s.json").write_text(text)
    answer = ldpopt("solve", tmp_path / "s.json")
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert message in answer.err


# ---------------------------------------------------------------- interruptions


class Interrupted(load_object("ldpopt.solvers.column_generation:ColumnGeneration")):
    """Keeps a solution, and is interrupted."""

    name = "interrupted"

    def run(self, form, limits):
        whole = super().run(form, Limits())
        limits.keep(whole.value, whole.bound, lambda: whole)
        raise KeyboardInterrupt


def interrupted_value(n):
    return {"value": solve(Staircase(1.0, prior=[0.5, 0.3, 0.2]), Interrupted()).value}


def test_a_sweep_does_not_remember_an_interrupted_solve(tmp_path):
    assert interrupted_value(1)["value"] > 0  # alone, a solve returns what it has
    study = sweep.Experiment(
        "cut", lambda quick: [{"n": 1}], interrupted_value, lambda rows, out: [], lambda rows: "done"
    )
    with pytest.raises(KeyboardInterrupt):
        study.run(out=tmp_path)
    assert sweep.read_journal(tmp_path / "cut.journal.jsonl") == {}
    assert not solving._WHOLE.get()


def test_sigterm_ends_a_benchmark(tmp_path):
    """A solver's crash is caught by the benchmark, the end of the process is not."""
    (tmp_path / "mine.py").write_text(
        MINE
        + """
class Sleeper(Nothing):
    name = "sleeper"

    def run(self, form, limits):
        import pathlib, time
        pathlib.Path("started").touch()
        for _ in range(10_000):
            time.sleep(0.01)
"""
    )
    words = [
        "bench",
        "staircase",
        "--sizes",
        "3",
        "--solvers",
        "enumerate",
        "--plugin",
        "mine.py:Sleeper",
    ]
    code = f"import sys; sys.argv[1:] = {words!r}; from ldpopt.cli import main; main()"
    run = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, stdout=subprocess.DEVNULL)
    while not (tmp_path / "started").exists():
        assert run.poll() is None
        time.sleep(0.05)
    os.kill(run.pid, signal.SIGTERM)
    assert run.wait(timeout=600) == 143
