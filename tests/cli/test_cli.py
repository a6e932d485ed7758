"""The command line as a user runs it."""

import contextlib
import json
import os
import pty
import signal
import subprocess
import sys

import numpy as np
import pytest
from rich.console import Console

from ldpopt.cli import terminal

LDPOPT = [sys.executable, "-c", "from ldpopt.cli import main; main()"]
SPEC = {"problem": "staircase", "params": {"epsilon": 1, "prior": [0.4, 0.3, 0.2, 0.1]}}


def ldpopt(*words, cwd=None):
    return subprocess.run(
        [*LDPOPT, *map(str, words)], capture_output=True, text=True, check=False, cwd=cwd, timeout=120
    )


@pytest.fixture
def spec(tmp_path):
    path = tmp_path / "spec.json"
    path.write_text(json.dumps(SPEC))
    return path


def test_solve_and_verify(tmp_path, spec):
    out = tmp_path / "result.json"
    solved = ldpopt("solve", spec, "--out", out)
    assert solved.returncode == 0, solved.stderr
    assert "optimal" in solved.stdout
    assert "0.121973473181" in solved.stdout
    assert solved.stderr == ""
    verified = ldpopt("verify", out)
    assert verified.returncode == 0
    assert verified.stdout.count("holds") == 5
    assert verified.stdout.endswith("verified\n")
    assert json.loads(ldpopt("verify", out, "--json").stdout)["verified"] is True


def test_solve_json(spec):
    answer = json.loads(ldpopt("solve", spec, "--json", "--solver", "cdd", "--gap", "1e-6").stdout)
    assert {"status", "value", "bound", "gap", "solver", "seconds"} <= set(answer)
    assert answer["solver"] == "cdd"
    assert answer["value"] == pytest.approx(0.121973473181, abs=1e-12)


def test_refuted_and_unreadable(tmp_path, spec):
    out = tmp_path / "result.json"
    ldpopt("solve", spec, "--out", out)
    text = out.read_text()
    document = json.loads(text)
    out.write_text(json.dumps(document | {"value": document["value"] + 1e-6}))
    refuted = ldpopt("verify", out)
    assert refuted.returncode == 1
    assert "REFUTED  its utility" in refuted.stdout
    for garbage in (text[: len(text) // 2], "garbage", ""):
        out.write_text(garbage)
        assert ldpopt("verify", out).returncode == 2
    assert ldpopt("verify", tmp_path / "absent.json").returncode == 2


@pytest.mark.parametrize(
    ("spec_text", "options", "message"),
    [
        (json.dumps(SPEC | {"params": {"epsilon": 0, "prior": [0.5, 0.5]}}), [], "> 0, not 0"),
        ('{"problem": "staircase", "params": {"epsilon": NaN, "prior": [1]}}', [], "not nan"),
        (json.dumps(SPEC | {"params": {"epsilon": 1, "prior": [0.5, 0.4]}}), [], "sums to 0.9"),
        (json.dumps(SPEC | {"params": {"epsilon": 1, "prior": [1.5, -0.5]}}), [], "negative: -0.5"),
        (json.dumps(SPEC | {"params": {"epsilon": 1, "priors": [1]}}), [], "no parameter 'priors'"),
        (json.dumps(SPEC | {"params": [1]}), [], "must be a JSON object"),
        (json.dumps(SPEC | {"problem": "stair"}), [], "did you mean 'staircase'"),
        (json.dumps([SPEC]), [], "must look like"),
        ("{", [], "is not JSON"),
        (json.dumps(SPEC), ["--solver", "simplex"], "unknown solver 'simplex'"),
        (json.dumps(SPEC), ["--gap", "2"], "gap must lie between 0 and 1"),
        (json.dumps(SPEC), ["--time-limit", "-3"], "not -3"),
        (json.dumps(SPEC), ["--out", "no/such/dir/r.json"], "there is no directory no/such/dir"),
        (json.dumps(SPEC), ["--out", "."], "it is a directory"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(tmp_path, spec_text, options, message):
    spec = tmp_path / "spec.json"
    spec.write_text(spec_text)
    answer = ldpopt("solve", spec, *options, cwd=tmp_path)
    assert answer.returncode == 2
    assert message in answer.stderr
    assert answer.stderr.count("\n") == 1
    assert answer.stdout == ""
    assert [path.name for path in tmp_path.iterdir()] == ["spec.json"]


def test_missing_spec(tmp_path):
    answer = ldpopt("solve", tmp_path / "absent.json")
    assert answer.returncode == 2
    assert "cannot read" in answer.stderr


@pytest.mark.parametrize(
    ("what", "name"),
    [("problems", "staircase"), ("solvers", "column-generation"), ("experiments", "ldp-frontier")],
)
def test_list(what, name):
    assert name in ldpopt("list", what).stdout
    assert name in json.loads(ldpopt("list", what, "--json").stdout)
    assert ldpopt("list", "nonsense").returncode == 2


def test_experiment(tmp_path):
    answer = ldpopt("experiment", "ldp-frontier", "--quick", "--out", tmp_path / "out")
    assert answer.returncode == 0, answer.stderr
    assert "randomised response from" in answer.stdout
    assert {p.suffix for p in (tmp_path / "out").iterdir()} == {".csv", ".png", ".svg", ".jsonl"}
    assert ldpopt("experiment", "nonsense").returncode == 2
    (tmp_path / "file").write_text("")
    assert ldpopt("experiment", "ldp-frontier", "--out", tmp_path / "file").returncode == 2


def test_bench(tmp_path):
    answer = ldpopt("bench", "staircase", "--sizes", "3,4", "--out", tmp_path / "bench")
    assert answer.returncode == 0, answer.stderr
    assert "cdd" in answer.stdout
    assert "NO" not in answer.stdout
    assert {p.name for p in (tmp_path / "bench").iterdir()} == {"bench.csv", "profile.png"}
    assert ldpopt("bench", "staircase", "--sizes", "x").returncode == 2
    assert ldpopt("bench", "nonsense").returncode == 2
    assert ldpopt("bench", "staircase", "--solvers", "nonsense").returncode == 2


def test_demo(tmp_path):
    answer = ldpopt("demo", "--out", tmp_path / "demo")
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.count("yes") == 4
    names = {path.name for path in (tmp_path / "demo").iterdir()}
    assert {"comparison.png", "sex-race.json", "sex-race.png"} <= names
    assert ldpopt("verify", tmp_path / "demo" / "sex-race.json").returncode == 0


@pytest.fixture
def long_spec(tmp_path):
    """Without a gap that floats can prove, this one runs until it is told to stop."""
    prior = np.random.default_rng(3).dirichlet(np.full(150, 0.5)).tolist()
    path = tmp_path / "long.json"
    path.write_text(json.dumps({"problem": "staircase", "params": {"epsilon": 6, "prior": prior}}))
    return path


def start_on_a_terminal(*words):
    """Start a command whose standard error is a terminal; the process and our end of it."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen([*LDPOPT, *map(str, words)], stderr=theirs, stdout=subprocess.DEVNULL)
    os.close(theirs)
    return process, ours


def read_until(terminal, words):
    """What the terminal shows up to and including the words, or all of it if they never come."""
    shown = b""
    with contextlib.suppress(OSError):  # the other end is closed
        while words not in shown and (chunk := os.read(terminal, 4096)):
            shown += chunk
    return shown


def test_interrupt_leaves_a_valid_partial_result(tmp_path, long_spec):
    out = tmp_path / "partial.json"
    process, terminal = start_on_a_terminal("solve", long_spec, "--gap", "1e-14", "--out", out)
    assert b"bound" in read_until(terminal, b"bound")
    process.send_signal(signal.SIGINT)
    read_until(terminal, b"never")
    assert process.wait(timeout=60) == 130
    os.close(terminal)
    assert json.loads(out.read_text())["status"] == "gap"
    assert ldpopt("verify", out).returncode == 0


def test_progress_on_a_terminal_only(long_spec):
    """The same command shows the bound moving on a terminal, and nothing in a pipe."""
    command = ["solve", long_spec, "--time-limit", "4", "--gap", "1e-14", "--json"]
    assert ldpopt(*command).stderr == ""
    process, terminal = start_on_a_terminal(*command)
    assert b"bound" in read_until(terminal, b"never")
    process.wait(timeout=60)
    os.close(terminal)


@pytest.mark.parametrize(("width", "framed"), [(80, False), (160, True)])
def test_a_narrow_terminal_shows_a_wide_table_as_lines(width, framed, monkeypatch, capsys):
    console = Console(width=width, force_terminal=True, color_system=None)
    monkeypatch.setattr(terminal, "out_console", console)
    titles = [f"column-{i}" for i in range(9)]
    terminal.print_table(titles, [["[red]", *range(8)]], title="Many columns")
    said = capsys.readouterr().out
    assert ("┃" in said) == framed
    assert all(title in said for title in titles[1:])
    assert "[red]" in said
    assert "…" not in said
