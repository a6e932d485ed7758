"""The README's examples, executed as they stand."""

import re
from pathlib import Path

import pytest

from ldpopt import solve, testing
from ldpopt.problems import SecretStaircase, Staircase

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", README, flags=re.DOTALL)


def block(language, containing):
    (found,) = [code for name, code in BLOCKS if name == language and containing in code]
    return found


def run(code):
    names = {"__name__": "readme"}
    exec(compile(code, "README.md", "exec"), names)
    return names


def test_the_tour(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code = block("python", "best.json")
    assert len(code.strip().splitlines()) <= 12
    run(code)
    assert "0.12197347" in capsys.readouterr().out
    assert (tmp_path / "best.json").exists()


def test_the_command_line_tour(tmp_path, follow):
    lines = block("sh", "question.json").splitlines(keepends=True)
    assert "verified" in "".join(follow(line, tmp_path) for line in lines)
    assert (tmp_path / "frontier" / "ldp-frontier.svg").exists()


def test_from_a_table_to_a_report(tmp_path, follow):
    first, then = block("sh", "ldpopt privatize"), block("sh", "ldpopt estimate")
    assert len(first.strip().splitlines()) == 3
    said = follow(first + then, tmp_path)
    for words in ("the independent checker verifies every claim", "From 32,561 reports", "PASSED"):
        assert words in said
    for name in ("mech.json", "released.csv", "estimate.png", "report.html"):
        assert (tmp_path / name).stat().st_size > 1000


def test_adding_a_problem():
    Guessing = run(block("python", "class Guessing"))["Guessing"]
    for example in Guessing.examples():
        for solver in ("enumerate", "cdd"):
            assert solve(example.problem, solver).value == pytest.approx(example.optimum, abs=1e-12)
        testing.check_parameters(example.problem)


def test_adding_a_solver():
    Linprog = run(block("python", "class Linprog"))["Linprog"]
    cases = testing.cases(problems=[Staircase, SecretStaircase], solvers=[Linprog()])
    assert len(cases) >= 10
    for case in cases:
        testing.check(case)


def test_the_readme_leads_to_pages_that_exist():
    links = re.findall(r"\]\(([^):#]+)\)", README)
    assert {"docs/tutorial.md", "docs/assets/census.svg"} <= set(links)
    for link in links:
        assert (ROOT / link).exists(), link
