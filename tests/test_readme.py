"""The README's examples, executed as they stand."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from ldpopt import solve, testing
from ldpopt.problems import SecretStaircase, Staircase

ROOT = Path(__file__).parent.parent
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


def test_the_command_line_tour(tmp_path):
    ldpopt = tmp_path / "ldpopt"
    ldpopt.write_text(
        f'#!/bin/sh\nexec {sys.executable} -c "from ldpopt.cli import main; main()" "$@"\n'
    )
    ldpopt.chmod(0o755)
    script = f'set -e\nPATH="{tmp_path}:$PATH"\n' + block("sh", "question.json")
    done = subprocess.run(
        ["sh", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert "verified" in done.stdout
    assert (tmp_path / "frontier" / "ldp-frontier.png").exists()


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
    links = re.findall(r"\]\((docs/[^)#]+)\)", README)
    assert "docs/index.md" in links
    for link in links:
        assert (ROOT / link).is_file(), link
