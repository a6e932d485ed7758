"""Choosing solvers, statuses, the registry, saving and loading."""

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from types import ModuleType
from typing import ClassVar

import numpy as np
import pytest
from alarms import time_is_over

import ldpopt
from ldpopt import Solver, Status, load, problem, solve, verify
from ldpopt.checker import frame
from ldpopt.core import registry
from ldpopt.core.errors import (
    InvalidInputError,
    LdpoptError,
    MissingDependencyError,
    NoSolverError,
    UnknownNameError,
    UnreadableFileError,
)
from ldpopt.core.files import whole_file
from ldpopt.core.form import Form, FormSolution, relative_gap
from ldpopt.core.forms.column_program import ColumnProgram
from ldpopt.core.limits import Limits, OutOfTime
from ldpopt.problems import PROBLEMS, SecretStaircase, Staircase
from ldpopt.solvers import BY_FORM, SOLVERS, ColumnGeneration, Enumerate

QUESTION = Staircase(1.0, prior=[0.4, 0.3, 0.2, 0.1])


def squared_distance(columns):
    """A sublinear utility that nobody registered: Euclidean norm minus its smallest value."""
    return np.linalg.norm(columns, axis=0) - columns.sum(axis=0) / np.sqrt(len(columns))


@dataclass(frozen=True, eq=False)
class NewForm(Form):
    name: ClassVar[str] = "new-form"


class NewQuestion(Staircase):
    kind: ClassVar[str] = "new-question"

    def forms(self):
        return [NewForm()]


def test_a_form_without_a_solver_says_how_to_write_one():
    with pytest.raises(
        NoSolverError, match=r"no solver takes its form\. Write one, a class Solver\[Form\]"
    ):
        solve(NewQuestion(1.0, prior=[0.5, 0.5]))


def test_a_solver_that_was_added_is_asked_too(monkeypatch):
    class Loud(Solver[NewForm]):
        name = "loud"

        def run(self, form, limits):
            return FormSolution(Status.LIMIT)

    monkeypatch.setattr(SOLVERS, "_given", {})
    SOLVERS.add("loud", Loud)
    assert solve(NewQuestion(1.0, prior=[0.5, 0.5])).solver == "loud"


def test_auto_picks_the_list_for_few_inputs_and_generation_beyond():
    assert solve(QUESTION).solver == "enumerate"
    large = solve(Staircase(1.0, prior=np.full(16, 1 / 16)))
    assert large.solver == "column-generation"
    assert "slower than column generation" in large.attempts["enumerate"]
    assert solve(QUESTION).attempts == {}


def test_named_solvers_do_not_fall_back():
    with pytest.raises(NoSolverError, match=r"enumerate: the cone has 1\.68e\+7 rays"):
        solve(Staircase(1.0, prior=np.full(24, 1 / 24)), "enumerate")
    with pytest.raises(UnknownNameError, match="did you mean 'enumerate'"):
        solve(QUESTION, "enumarate")


def test_a_utility_of_ones_own():
    mine = Staircase(1.0, utility=squared_distance, size=5)
    listed, crossed = solve(mine), solve(mine, "cdd")
    assert listed.solver == "enumerate"
    assert listed.status is Status.OPTIMAL
    assert listed.value == pytest.approx(crossed.value, abs=1e-9)
    with pytest.raises(NoSolverError, match="can be priced"):
        solve(mine, "column-generation")
    with pytest.raises(InvalidInputError, match="cannot be written as JSON"):
        listed.save("nowhere.json")
    assert not os.path.exists("nowhere.json")


def test_auto_takes_the_second_best_where_the_best_refuses():
    result = solve(Staircase(1.0, utility=squared_distance, size=15))
    assert result.solver == "enumerate"
    assert "can be priced" in result.attempts["column-generation"]


def test_nobody_accepts():
    with pytest.raises(NoSolverError) as refused:
        solve(Staircase(1.0, utility=squared_distance, size=30))
    for name in BY_FORM["column-program"]:
        assert f"{name}: " in str(refused.value)
    assert "greedy" not in str(refused.value)  # it solves another form, and is not even imported


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setattr(SOLVERS["cdd"], "requires", ("no_such_module",))
    with pytest.raises(MissingDependencyError, match="needs the package 'no_such_module'"):
        solve(QUESTION, "cdd")


def test_solver_objects_are_welcome():
    assert solve(QUESTION, Enumerate()).value == solve(QUESTION, "enumerate").value
    assert issubclass(ColumnGeneration, Solver)


def test_a_time_limit_leaves_a_proven_gap(clock):
    """Each report of progress takes forty seconds of the sixty."""
    prior = np.random.default_rng(3).dirichlet(np.full(40, 0.5))
    result = solve(Staircase(4.0, prior=prior), time_limit=60, progress=lambda *_: clock.move(40))
    assert result.status is Status.GAP
    assert result.value < result.bound
    assert verify(result)


def test_a_limit_without_an_answer():
    result = solve(Staircase(1.0, prior=np.full(16, 1 / 16)), "enumerate", time_limit=1e-6)
    assert result.status is Status.LIMIT
    assert result.value is result.mechanism is result.gap is None
    json.dumps(result.to_json(), allow_nan=False)


def test_an_interrupt_leaves_a_valid_result():
    prior = np.random.default_rng(3).dirichlet(np.full(60, 0.5))
    calls = []

    def interrupt(value, bound):
        calls.append((value, bound))
        if len(calls) == 2:
            raise KeyboardInterrupt

    result = solve(Staircase(4.0, prior=prior), "column-generation", progress=interrupt)
    assert len(calls) == 2
    assert result.stats["interrupted"]
    assert result.status is Status.GAP
    assert verify(result)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gap": 0}, "gap must lie between 0 and 1, not 0"),
        ({"gap": float("nan")}, "not nan"),
        ({"gap": "x"}, "not 'x'"),
        ({"time_limit": -1}, "time_limit must be a finite number > 0, not -1"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(InvalidInputError, match=message):
        solve(QUESTION, **options)


def test_unknown_options_are_named():
    with pytest.raises(InvalidInputError, match="'enumerate' has no option 'typo'; it takes no options"):
        solve(QUESTION, "enumerate", typo=3)
    with pytest.raises(InvalidInputError, match="'enumerate' has no option 'typo'"):
        solve(QUESTION, typo=3)
    with pytest.raises(InvalidInputError, match="'descent' has no option 'start'; it takes starts"):
        solve(problem("square-fidelity", inputs=3, epsilon=1), "descent", start=3)
    with pytest.raises(InvalidInputError, match="given to its constructor"):
        solve(QUESTION, Enumerate(), tuned=False)


def test_a_solver_declares_its_form():
    assert Enumerate.form is ldpopt.ColumnProgram
    with pytest.raises(TypeError, match=r"class Formless\(Solver\[MyForm\]\)"):
        type("Formless", (Solver,), {})


def test_auto_imports_the_solvers_of_the_form_only():
    code = (
        "import sys; from ldpopt import problem, solve; "
        "solve(problem('staircase', epsilon=1, prior=[0.5, 0.5])); "
        "print([m for m in sys.modules if m.startswith('ldpopt.solvers.')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['ldpopt.solvers.ray_enumeration']"


def test_the_time_is_accounted_for():
    result = solve(QUESTION)
    names = ("choice", "search", "proof", "repair", "value", "audit")
    parts = [result.stats[f"{name}_seconds"] for name in names]
    assert all(seconds >= 0 for seconds in parts)
    assert sum(parts) == pytest.approx(result.seconds)


def test_same_seed_same_answer():
    prior = np.random.default_rng(0).dirichlet(np.full(20, 0.5))
    first, second = (solve(Staircase(1.0, prior=prior), seed=5) for _ in range(2))
    assert first.mechanism == second.mechanism
    assert first.bound == second.bound


# ------------------------------------------------------------ files


def test_save_load_verify(tmp_path):
    path = tmp_path / "result.json"
    result = solve(QUESTION)
    result.save(path)
    again = load(path)
    assert again.mechanism == result.mechanism
    assert again.to_json() == result.to_json()
    assert {"problem", "params", "status", "value", "bound", "mechanism", "certificate"} <= set(
        json.loads(path.read_text())
    )
    assert verify(path)
    assert verify(str(path))
    assert [p.name for p in tmp_path.iterdir()] == ["result.json"]


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"problem": "staircase"}', "\x00\x01"])
def test_unreadable_files(tmp_path, text):
    path = tmp_path / "garbage.json"
    path.write_text(text)
    for read in (load, verify):
        with pytest.raises(UnreadableFileError):
            read(path)


def test_unwritable_targets_leave_nothing(tmp_path):
    result = solve(QUESTION)
    with pytest.raises(InvalidInputError, match="cannot write"):
        result.save(tmp_path / "absent" / "result.json")
    (tmp_path / "directory").mkdir()
    with pytest.raises(InvalidInputError, match="cannot write"):
        result.save(tmp_path / "directory")
    assert [p.name for p in tmp_path.iterdir()] == ["directory"]


# ------------------------------------------------------------ registry


def test_registry_is_lazy_and_refuses_duplicates(monkeypatch):
    entry = EntryPoint("mine", "no_such_module:Thing", "group")
    monkeypatch.setattr(registry, "entry_points", lambda group: [entry])
    table = registry.Registry("problem", "group", {"pi": "math:pi"})
    assert list(table) == ["pi", "mine"]
    assert table["pi"] == pytest.approx(np.pi)
    with pytest.raises(LdpoptError, match="'mine' cannot be loaded from no_such_module:Thing"):
        table["mine"]
    twice = registry.Registry("problem", "group", {"mine": "math:pi"})
    assert list(twice) == ["mine"]
    assert twice["mine"] == pytest.approx(np.pi)  # what ships keeps its name
    assert "two packages register the problem 'mine'" in twice.clashes["mine"]
    monkeypatch.setattr(registry, "entry_points", lambda group: [entry, entry])
    strangers = registry.Registry("problem", "group", {"pi": "math:pi"})
    assert strangers["pi"] == pytest.approx(np.pi)
    with pytest.raises(LdpoptError, match="two packages register the problem 'mine'"):
        strangers["mine"]


def test_plugged_in_solvers_run_by_name(monkeypatch):
    """The way of an entry point: the loop back through the registry to a solver of our own."""
    entry = EntryPoint("loopback", "ldpopt.solvers.ray_enumeration:Enumerate", "ldpopt.solvers")
    monkeypatch.setattr(registry, "entry_points", lambda group: [entry])
    monkeypatch.delitem(SOLVERS.__dict__, "_sources", raising=False)
    try:
        assert "loopback" in SOLVERS
        assert solve(QUESTION, "loopback").value == solve(QUESTION, "enumerate").value
    finally:
        SOLVERS.__dict__.pop("_sources", None)


@dataclass(frozen=True, eq=False)
class Renamed(Staircase):
    """A question of another package, which tells the checker itself what is to be proven."""

    kind: ClassVar[str] = "renamed"

    def statement(self):
        return frame.statement("staircase", self.to_params())


def test_a_problem_of_another_package_is_certified_too(monkeypatch, tmp_path):
    entry = EntryPoint("renamed", f"{__name__}:Renamed", "ldpopt.problems")
    monkeypatch.setitem(sys.modules, __name__, sys.modules.get(__name__, ModuleType(__name__)))
    monkeypatch.setattr(sys.modules[__name__], "Renamed", Renamed, raising=False)
    monkeypatch.setattr(registry, "entry_points", lambda group: [entry])
    monkeypatch.delitem(PROBLEMS.__dict__, "_sources", raising=False)
    try:
        result = solve(problem("renamed", epsilon=1, prior=[0.4, 0.3, 0.2, 0.1]))
        assert result.value == solve(QUESTION).value
        result.save(tmp_path / "renamed.json")
        assert verify(tmp_path / "renamed.json")
        document = result.to_json() | {"value": result.value + 1e-6}
        (tmp_path / "renamed.json").write_text(json.dumps(document))
        assert not verify(tmp_path / "renamed.json")
    finally:
        PROBLEMS.__dict__.pop("_sources", None)


def test_problem_by_name():
    built = problem("secret-staircase", epsilon=1, prior=[[0.25, 0.25], [0.25, 0.25]])
    assert isinstance(built, SecretStaircase)
    with pytest.raises(UnknownNameError, match="did you mean 'staircase'"):
        problem("stairs")
    with pytest.raises(InvalidInputError, match="has no parameter 'eps'; it takes epsilon, prior"):
        problem("secret-staircase", eps=1)
    with pytest.raises(InvalidInputError, match="needs either 'prior' or 'hypotheses'"):
        problem("secret-staircase", epsilon=1)
    with pytest.raises(InvalidInputError, match="needs the parameter 'epsilon'"):
        problem("staircase", prior=[0.5, 0.5])


def test_modules_show_their_classes():
    assert "Staircase" in dir(ldpopt.problems)
    assert "Enumerate" in dir(ldpopt.solvers)
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        _ = ldpopt.problems.Nonsense
    assert PROBLEMS["staircase"] is Staircase


def test_relative_gap():
    assert relative_gap(1.0, None) is None
    assert relative_gap(0.0, 0.0) == 0
    assert relative_gap(0.9, 1.0) == pytest.approx(0.1)


def test_a_device_is_not_replaced_by_a_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with (
        pytest.raises(InvalidInputError, match="pipe: it is not a regular file"),
        whole_file(tmp_path / "pipe"),
    ):
        pass
    assert (tmp_path / "pipe").is_fifo()


def test_a_solver_that_forgets_the_clock_is_interrupted():
    class Forgetful(Solver[ColumnProgram]):
        name = "forgetful"

        def run(self, form, limits):
            found = Enumerate().run(form, Limits())  # whatever the machine does, it finds the optimum
            limits.keep(found.value, found.bound, lambda: found)
            while True:
                with suppress(OutOfTime):
                    limits.check()

    result = solve(QUESTION, Forgetful(), time_limit=0.01)
    assert result.value == pytest.approx(solve(QUESTION).value, abs=1e-9)
    assert verify(result)


def test_an_alarm_of_the_caller_goes_on():
    rung = []
    before = signal.signal(signal.SIGALRM, lambda *_: rung.append(True))
    signal.setitimer(signal.ITIMER_REAL, 1000.0)
    try:
        Limits.within(2000.0).in_time(list)
        left, _ = signal.getitimer(signal.ITIMER_REAL)
        assert 0 < left <= 1000
        handler = signal.getsignal(signal.SIGALRM)
        handler()
        assert rung == [True]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_an_audit_that_takes_too_long_is_left_out(monkeypatch):
    """The alarm rings while the answer is audited: everything else is as without it."""
    question = problem("polyopt", epsilon=1.0, p_hat=[[0.3, 0.2], [0.15, 0.35]], n=1000)
    whole = solve(question)
    monkeypatch.setattr(type(question), "audit", lambda *_: time_is_over())
    result = solve(question, time_limit=1000.0)
    assert whole.certificate.audit
    assert result.certificate.audit == {}
    assert result.value == whole.value
    assert verify(result)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: solve({"problem": "staircase"}), "solve takes a problem, such as .*, not {'problem'"),
        (lambda: solve(QUESTION, 3), "solver must be a name or a solver object, not 3"),
        (lambda: solve(QUESTION, seed="a"), "seed must be a whole number >= 0, not 'a'"),
        (lambda: verify(3), "verify takes a result or the name of a file, not 3"),
        (lambda: problem(3), "unknown problem 3; known: asymptotic-utility"),
    ],
)
def test_arguments_of_another_kind(call, said):
    with pytest.raises(InvalidInputError, match=said):
        call()
