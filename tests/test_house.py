"""The rooms lie at the top level and are imported from within ldpopt."""

import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("problems", "solvers", "experiments")


def run_elsewhere(code: str, cwd: Path) -> str:
    """Run code in a fresh interpreter that sees the installed packages only."""
    run = subprocess.run(
        [sys.executable, "-I", "-c", code], cwd=cwd, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


@pytest.mark.parametrize("room", ROOMS)
def test_symlink(room: str) -> None:
    link = ROOT / "ldpopt" / room
    assert link.is_symlink()
    assert link.readlink() == Path("..", room)
    assert (link / "__init__.py").is_file()


@pytest.mark.parametrize("room", ROOMS)
def test_room_is_installed_under_ldpopt_alone(room: str, tmp_path: Path) -> None:
    find = "from importlib.util import find_spec; "
    code = f"{find}print(find_spec('ldpopt.{room}') is not None, find_spec('{room}'))"
    assert run_elsewhere(code, tmp_path) == "True None"


def test_only_top_level_name(tmp_path: Path) -> None:
    find = "from importlib.metadata import distribution; "
    code = f"{find}print(distribution('ldpopt').read_text('top_level.txt'))"
    assert run_elsewhere(code, tmp_path) == "ldpopt"


def test_typed() -> None:
    assert files("ldpopt").joinpath("py.typed").is_file()
