"""The house: few rooms, all installed, under one top-level name."""

import subprocess
import sys
from importlib.resources import files
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = [path.parent for path in (ROOT / "ldpopt").rglob("__init__.py")]


def run_elsewhere(code: str, cwd: Path) -> str:
    """Run code in a fresh interpreter that sees the installed packages only."""
    run = subprocess.run(
        [sys.executable, "-I", "-c", code], cwd=cwd, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


def test_only_top_level_name(tmp_path: Path) -> None:
    find = "from importlib.metadata import distribution; "
    code = f"{find}print(distribution('ldpopt').read_text('top_level.txt'))"
    assert run_elsewhere(code, tmp_path) == "ldpopt"


def test_typed() -> None:
    assert files("ldpopt").joinpath("py.typed").is_file()


def test_a_room_is_found_at_a_glance() -> None:
    entries = [path for path in (ROOT / "ldpopt").iterdir() if path.name != "__pycache__"]
    assert len(entries) <= 20


def test_every_room_says_what_it_is_for() -> None:
    for package in PACKAGES:
        assert (package / "__init__.py").read_text(encoding="utf-8").startswith('"""')
