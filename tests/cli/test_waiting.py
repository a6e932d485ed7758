"""Long work names its step, its method, value, bound and gap, and the time left; on a terminal only."""

import io
import json
import math
import os
import signal

import pytest
from rich.console import Console

from ldpopt.cli import terminal
from ldpopt.release.comparing import compare
from ldpopt.release.designing import design
from ldpopt.release.methods import METHODS

TABLE = {"s": ["a", "b", "a", "b", "a", "a"] * 50, "u": ["x", "y", "y", "x", "x", "y"] * 50}


@pytest.fixture
def screen(monkeypatch):
    """A terminal of 100 columns instead of standard error; what it was sent."""
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    monkeypatch.setattr(terminal, "err_console", console)
    return console.file


def test_a_watch_tells_step_value_bound_gap_and_time(screen):
    with terminal.watching("reading", 60) as watch:
        watch.step("staircase by tangents")
        watch(0.25, math.inf)
        watch._bar.refresh()
        watch(0.25, 0.5)
        watch._bar.refresh()
        watch.step("[red]another", 7)
        watch._bar.refresh()
    shown = screen.getvalue()
    assert "staircase by tangents: value 0.25, no bound yet" in shown
    assert "staircase by tangents: value 0.25, bound 0.5, gap 0.5" in shown
    assert "≤ 60 s left" in shown
    assert "[red]another" in shown
    assert "≤ 7 s left" in shown
    assert "…" not in shown


def test_a_narrow_terminal_cuts_the_step_and_keeps_the_time(screen):
    with terminal.watching("reading a table with " + "a long " * 20 + "name", 60) as watch:
        watch._bar.refresh()
    shown = screen.getvalue()
    assert "reading a table" in shown
    assert "…" in shown
    assert "≤ 60 s left" in shown


@pytest.mark.usefixtures("heard")
@pytest.mark.parametrize("step", ["start", "stop"])
def test_ctrl_c_while_a_bar_appears_or_goes_leaves_nothing_of_it(screen, monkeypatch, step):
    """Its thread would draw on, below the line that ends the command."""
    plain, bars = getattr(terminal.progress.Progress, step), []

    def pressed(bar):
        bars.append(bar)
        if step == "start":
            plain(bar)
        os.kill(os.getpid(), signal.SIGINT)
        if step == "stop":
            plain(bar)

    monkeypatch.setattr(terminal.progress.Progress, step, pressed)
    with pytest.raises(KeyboardInterrupt), terminal.watching("reading", 60):
        pass
    assert len(bars) == 1
    assert not bars[0].live.is_started
    assert "reading" not in screen.getvalue().rpartition("\x1b[2K")[2]  # the line is erased


def test_a_watch_is_silent_without_a_terminal(capsys):
    with terminal.watching("reading", 60) as watch:
        watch.step("another", 5)
        watch(0.25, 0.5)
    assert capsys.readouterr() == ("", "")


def test_counting_tells_what_is_being_done(screen):
    with terminal.counting("levels") as count:
        count(1, 4, "ε = 1 by srr")
    assert "levels: ε = 1 by srr" in screen.getvalue()
    assert "1/4" in screen.getvalue()


def test_solve_names_the_method(screen, ldpopt, tmp_path):
    spec = tmp_path / "q.json"
    spec.write_text(json.dumps({"problem": "staircase", "params": {"epsilon": 1, "prior": [0.5, 0.5]}}))
    assert ldpopt("solve", spec).code == 0
    assert "checking the certificate" in screen.getvalue()


def test_quick_methods_come_first_and_each_is_told_of():
    made = design(TABLE, "s", "u", epsilon=1.0, method="srr")
    steps, rows = [], []
    found = compare(
        made,
        time_limit=600,  # that much only on a machine busy with other work
        step=lambda done, of, name: steps.append((done, of, name)),
        row=lambda name, other: rows.append((name, other)),
    )
    names = [name for _, _, name in steps]
    assert [(done, of) for done, of, _ in steps] == [(i, len(METHODS)) for i in range(len(METHODS))]
    assert dict(rows) == found
    assert [name for name, _ in rows] == names
    assert list(found) == list(METHODS)  # in the order of the table, whatever was tried first
    at_once = [name for name, method in METHODS.items() if method.solver != "auto"]
    assert set(names[: len(at_once)]) == set(at_once)
    assert METHODS[names[-1]].repeats is not None
    assert names.index("staircase") < names.index("polyopt") < names.index("optimum")


def test_design_tells_of_every_method_on_a_terminal(screen, ldpopt, tmp_path):
    words = ("design", "adult:sex-race", "--secret", "sex", "--epsilon", "1", "--compare")
    answer = ldpopt(*words, "-o", tmp_path / "m.json")
    assert answer.code == 0, answer.err
    shown = screen.getvalue()  # while a line is live, rich sends standard error there
    assert "grr: " in shown
    assert "staircase: " in shown
    assert "reading adult:sex-race" in shown


def test_without_a_terminal_only_the_table_is_printed(ldpopt, tmp_path):
    words = ("design", "adult:sex-race", "--secret", "sex", "--epsilon", "1", "--compare")
    answer = ldpopt(*words, "-o", tmp_path / "m.json")
    assert answer.code == 0
    assert answer.err == ""


def test_an_audit_says_what_it_does(screen, ldpopt, tmp_path):
    made = tmp_path / "m.json"
    design(TABLE, "s", "u", epsilon=1.0, method="srr").save(made)
    assert ldpopt("audit", made, "--samples", 100, "--confidence", 0.999999).code == 0
    assert "auditing" in screen.getvalue()
