"""The command line as a user runs it."""

import contextlib
import inspect
import io
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
from decimal import Decimal
from importlib import import_module

import numpy as np
import pytest
from rich.console import Console
from typer.main import get_command

from ldpopt import load
from ldpopt.cli import app, demonstration, terminal, verify
from ldpopt.cli.app import COMMANDS, OPTION, application

PATIENCE = 600
"""Seconds after which a process counts as hanging: nothing is as slow, whatever runs beside it."""

SPEC = {"problem": "staircase", "params": {"epsilon": 1, "prior": [0.4, 0.3, 0.2, 0.1]}}


@pytest.fixture
def spec(tmp_path):
    path = tmp_path / "spec.json"
    path.write_text(json.dumps(SPEC))
    return path


def test_solve_and_verify(tmp_path, spec, ldpopt):
    out = tmp_path / "result.json"
    solved = ldpopt("solve", spec, "--out", out)
    assert solved.code == 0, solved.err
    assert "optimal" in solved.out
    assert printed(solved.out, "value") == Decimal("0.12197347318")
    assert printed(solved.out, "value") <= Decimal(load(out).value) <= printed(solved.out, "bound")
    assert solved.err == ""
    verified = ldpopt("verify", out)
    assert verified.code == 0
    assert verified.out.count("holds") == 8
    assert verified.out.endswith("verified\n")
    assert json.loads(ldpopt("verify", out, "--json").out)["verified"] is True


def printed(out, name):
    """The number on the line of a name."""
    (line,) = [line for line in out.splitlines() if line.startswith(f"{name} ")]
    return Decimal(line.split()[1])


def test_a_proven_value_is_rounded_to_its_proven_side(tmp_path, ldpopt):
    """Least errors are rounded up: 62.14875700861973, to the nearest, is 62.1487570086."""
    out = tmp_path / "result.json"
    (tmp_path / "spec.json").write_text(
        '{"problem": "broad-fidelity", "params": {"inputs": 5, "epsilon": 1}}'
    )
    solved = ldpopt("solve", tmp_path / "spec.json", "--out", out)
    assert printed(solved.out, "value") == Decimal("62.1487570087")
    assert printed(solved.out, "bound") == Decimal("62.1487570086")


def test_solve_json(spec, ldpopt):
    answer = json.loads(ldpopt("solve", spec, "--json", "--solver", "cdd", "--gap", "1e-6").out)
    assert {"status", "value", "bound", "gap", "solver", "seconds"} <= set(answer)
    assert answer["solver"] == "cdd"
    assert answer["value"] == pytest.approx(0.121973473181, abs=1e-12)


def test_refuted_and_unreadable(tmp_path, spec, ldpopt):
    out = tmp_path / "result.json"
    ldpopt("solve", spec, "--out", out)
    text = out.read_text()
    document = json.loads(text)
    out.write_text(json.dumps(document | {"value": document["value"] + 1e-6}))
    refuted = ldpopt("verify", out)
    assert refuted.code == 1
    assert "REFUTED  its information" in refuted.out
    for garbage in (text[: len(text) // 2], "garbage", ""):
        out.write_text(garbage)
        assert ldpopt("verify", out).code == 2
    assert ldpopt("verify", tmp_path / "absent.json").code == 2


@pytest.mark.parametrize(
    ("spec_text", "options", "message"),
    [
        (json.dumps(SPEC | {"params": {"epsilon": 0, "prior": [0.5, 0.5]}}), [], "> 0, not 0"),
        ('{"problem": "staircase", "params": {"epsilon": NaN, "prior": [0.5, 0.5]}}', [], "NaN"),
        (json.dumps(SPEC | {"params": {"epsilon": 1, "prior": [0.5, 0.4]}}), [], "sums to 0.9"),
        (
            json.dumps(SPEC | {"params": {"epsilon": 1, "prior": [1.5, -0.5]}}),
            [],
            "prior[1] must be at least 0, not -0.5",
        ),
        (json.dumps(SPEC | {"params": {"epsilon": 1, "priors": [1]}}), [], "no parameter 'priors'"),
        (json.dumps(SPEC | {"params": [1]}), [], "must be a JSON object"),
        (json.dumps(SPEC | {"problem": "stair"}), [], "did you mean 'staircase'"),
        (json.dumps([SPEC]), [], "holds no JSON object"),
        ("{", [], "is not JSON"),
        (json.dumps(SPEC), ["--solver", "simplex"], "unknown solver 'simplex'"),
        (json.dumps(SPEC), ["--gap", "2"], "gap must lie between 0 and 1"),
        (json.dumps(SPEC), ["--time-limit", "-3"], "not -3"),
        (json.dumps(SPEC), ["--out", "no/such/dir/r.json"], "there is no directory no/such/dir"),
        (json.dumps(SPEC), ["--out", "."], "it is a directory"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(tmp_path, spec_text, options, message, ldpopt):
    spec = tmp_path / "spec.json"
    spec.write_text(spec_text)
    answer = ldpopt("solve", spec, *options, cwd=tmp_path)
    assert answer.code == 2
    assert message in answer.err
    assert answer.err.count("\n") == 1
    assert answer.out == ""
    assert [path.name for path in tmp_path.iterdir()] == ["spec.json"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["solve"], "missing argument 'spec' (see ldpopt solve --help)"),
        (["solve", "x.json", "--gap", "wide"], "invalid value for '--gap'"),
        (["solve", "x.json", "--zzz"], "no such option: --zzz (see ldpopt solve --help)"),
        (["verify", "a.json", "b.json"], "got unexpected extra argument"),
        (["list", "nonsense"], "'nonsense' is not one of 'problems', 'solvers', 'experiments'"),
        (["sovle"], "no such command 'sovle'. Did you mean 'solve'? (see ldpopt --help)"),
        (
            ["design", "t.csv", "--secret", "age", "--secret", "sex"],
            "--secret may be given only once, not 2 times (see ldpopt design --help)",
        ),
        (["--nope"], "no such option: --nope (see ldpopt --help)"),
    ],
)
def test_a_usage_error_is_one_sentence(words, sentence, ldpopt):
    code, out, err = ldpopt(*words)
    assert (code, out) == (2, "")
    assert err.startswith("ldpopt: ")
    assert sentence in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_explained_and_nothing_else(name):
    command = getattr(import_module(f"ldpopt.cli.{name}"), COMMANDS[name])
    options = get_command(application([name])).commands[name].params
    assert all(option.help for option in options if option.name not in ("help", "context"))
    listed = OPTION.findall(inspect.cleandoc(command.__doc__).partition("Options:\n")[2])
    assert {word for word, _ in listed} <= {option.name for option in options}


def test_help_is_shown_to_whoever_says_nothing(ldpopt):
    said = ldpopt()
    assert said == ldpopt("--help")
    assert said.code == 0
    assert all(f"\n  {name} " in said.out for name in app.COMMANDS)


def test_missing_spec(tmp_path, ldpopt):
    answer = ldpopt("solve", tmp_path / "absent.json")
    assert answer.code == 2
    assert "cannot read" in answer.err


@pytest.mark.parametrize(
    ("what", "name"),
    [("problems", "staircase"), ("solvers", "column-generation"), ("experiments", "ldp-frontier")],
)
def test_list(what, name, ldpopt):
    assert name in ldpopt("list", what).out
    assert name in json.loads(ldpopt("list", what, "--json").out)
    assert ldpopt("list", "nonsense").code == 2


def test_experiment(tmp_path, ldpopt):
    answer = ldpopt("experiment", "ldp-frontier", "--quick", "--out", tmp_path / "out")
    assert answer.code == 0, answer.err
    assert "randomised response from" in answer.out
    assert {p.suffix for p in (tmp_path / "out").iterdir()} == {".csv", ".svg", ".jsonl"}
    assert ldpopt("experiment", "nonsense").code == 2
    (tmp_path / "file").write_text("")
    assert ldpopt("experiment", "ldp-frontier", "--out", tmp_path / "file").code == 2


def test_bench(tmp_path, ldpopt):
    answer = ldpopt("bench", "staircase", "--sizes", "3,4", "--out", tmp_path / "bench")
    assert answer.code == 0, answer.err
    assert "cdd" in answer.out
    assert "NO" not in answer.out
    assert {p.name for p in (tmp_path / "bench").iterdir()} == {
        "bench.csv",
        "bench.html",
        "bench.journal.jsonl",
        "bench.md",
        "curves.csv",
    }
    assert ldpopt("bench", "staircase", "--sizes", "x").code == 2
    assert ldpopt("bench", "nonsense").code == 2
    assert ldpopt("bench", "staircase", "--solvers", "nonsense").code == 2


def test_demo(tmp_path, ldpopt, monkeypatch):
    monkeypatch.setattr(demonstration, "TABLES", demonstration.TABLES[:2])  # the small ones
    answer = ldpopt("demo", "--out", tmp_path / "demo")
    assert answer.code == 0, answer.err
    assert answer.out.count("yes") == 2
    names = {path.name for path in (tmp_path / "demo").iterdir()}
    assert {"comparison.png", "sex-race.json", "sex-race.png"} <= names
    assert ldpopt("verify", tmp_path / "demo" / "sex-race.json").code == 0


@pytest.fixture
def long_spec(tmp_path):
    """Without a gap that floats can prove, this one runs until it is told to stop."""
    prior = np.random.default_rng(3).dirichlet(np.full(150, 0.5)).tolist()
    path = tmp_path / "long.json"
    path.write_text(json.dumps({"problem": "staircase", "params": {"epsilon": 6, "prior": prior}}))
    return path


def read_until(words, terminal):
    """What the terminal shows up to and including a pattern, or all of it if it never comes."""
    shown = b""
    with contextlib.suppress(OSError):  # the other end is closed
        while not re.search(words, shown) and select.select([terminal], [], [], PATIENCE)[0]:
            shown += os.read(terminal, 4096)
    return shown


@pytest.mark.usefixtures("heard")
def test_interrupt_leaves_a_valid_partial_result(tmp_path, long_spec, ldpopt):
    """Ctrl-C in a real terminal, once it shows the first bound."""
    out = tmp_path / "partial.json"
    command = [sys.executable, "-m", "ldpopt", "solve", long_spec, "--gap", "1e-14", "--out", out]
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, stderr=theirs, stdout=subprocess.DEVNULL) as process:
        os.close(theirs)
        try:
            assert b"bound" in read_until(rb"bound \d", ours)  # "bound inf" is not yet one
            process.send_signal(signal.SIGINT)
            assert b"ldpopt: interrupted" in read_until(b"ldpopt: interrupted", ours)
            assert process.wait(PATIENCE) == 130
        finally:
            process.kill()
            os.close(ours)
    assert json.loads(out.read_text())["status"] == "gap"
    assert ldpopt("verify", out).code == 0


@pytest.mark.parametrize("on_a_terminal", [True, False])
def test_progress_on_a_terminal_only(on_a_terminal, spec, ldpopt, monkeypatch):
    """The same command shows value and bound on a terminal, and nothing in a pipe."""
    console = Console(file=io.StringIO(), force_terminal=on_a_terminal)
    monkeypatch.setattr(terminal, "err_console", console)
    assert ldpopt("solve", spec, "--solver", "column-generation").code == 0
    shown = console.file.getvalue()
    assert ("bound" in shown) == on_a_terminal
    assert bool(shown) == on_a_terminal


@pytest.mark.parametrize(("width", "gone"), [(60, [2, 3, 8]), (70, [3, 8]), (80, [8]), (160, [])])
def test_a_narrow_terminal_leaves_out_columns(width, gone, monkeypatch, capsys):
    console = Console(width=width, force_terminal=True, color_system=None)
    monkeypatch.setattr(terminal, "out_console", console)
    titles = [f"col-{i}" for i in range(9)]
    rows = [["[red] and some more words", *range(1, 9)]]
    spare = ["col-8", "col-3", "col-2"]
    terminal.print_table(titles, rows, left=["col-0"], title="Many columns", spare=spare)
    table, _, left_out = capsys.readouterr().out.partition("left out at this width: ")
    assert [i for i in range(9) if f"col-{i}" not in table] == gone
    assert [f"col-{i}" for i in gone] == left_out.replace(",", "").split()
    assert max(map(len, table.splitlines())) <= width
    assert "[red]" in table
    assert "…" not in table


def test_a_table_with_nothing_to_leave_out_breaks_words_before_numbers(monkeypatch, capsys):
    console = Console(width=40, force_terminal=True, color_system=None)
    monkeypatch.setattr(terminal, "out_console", console)
    titles = ["what", "first", "second", "third"]
    terminal.print_table(titles, [["incomprehensibilities", 1.2345, 0.0123, 123.4]], left=["what"])
    said = capsys.readouterr().out
    assert all(number in said for number in ("1.234", "0.0123", "123.4"))
    assert max(map(len, said.splitlines())) <= 40


def test_wrapped_lines_hang_on_a_terminal_only(monkeypatch, capsys):
    text = "many words " * 10
    terminal.print_facts({"name": text})
    assert capsys.readouterr().out == f"name  {text}\n"
    console = Console(width=40, force_terminal=True, color_system=None)
    monkeypatch.setattr(terminal, "out_console", console)
    terminal.print_facts({"name": text})
    first, *others = capsys.readouterr().out.splitlines()
    assert first.startswith("name  many words")
    assert others
    assert all(line.startswith("      m") or line.startswith("      w") for line in others)
    assert max(map(len, [first, *others])) <= 40
    claims = "holds    " + text.strip() + "\nunchecked  a = 1"
    verify._print_claims(claims)
    assert capsys.readouterr().out == claims + "\n"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    verify._print_claims(claims)
    first, second, *_, last = capsys.readouterr().out.splitlines()
    assert (first[:13], second[:9], last) == ("holds    many", " " * 9, "unchecked  a = 1")


def test_a_part_of_an_experiment(tmp_path, ldpopt):
    chosen = ("--only", "2x2", "--methods", "srr, grr", "--draws", "3", "--out", tmp_path)
    answer = ldpopt("experiment", "rldp-synthetic", *chosen)
    assert answer.code == 0, answer.err
    assert "a part of the study (8 of its points)" in answer.out
    wrong = ldpopt("experiment", "rldp-synthetic", "--methods", "best")
    assert wrong.code == 2
    assert "'polyopt', 'ir', 'grr-cr'" in wrong.err


def test_an_interrupted_experiment_goes_on(tmp_path, ldpopt):
    study = """
from ldpopt.engine.sweep import Experiment
from pathlib import Path
def points(quick): return [{"n": 0}, {"n": 1}]
def measure(n):
    if n and not Path("again").exists():
        raise KeyboardInterrupt
    return {"square": n * n}
def draw(rows, out): return []
HALF = Experiment("half", points, measure, draw, lambda rows: f"all {len(rows)} are there")
"""
    (tmp_path / "half.py").write_text(study)
    first = ldpopt("experiment", "half.py:HALF", "--out", tmp_path / "out", cwd=tmp_path)
    assert first.code == 130
    assert "1 points are missing; the same command goes on from here" in first.out
    (tmp_path / "again").write_text("")
    second = ldpopt("experiment", "half.py:HALF", "--out", tmp_path / "out", cwd=tmp_path)
    assert second.code == 0
    assert "all 2 are there" in second.out
