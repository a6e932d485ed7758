"""The house: few rooms, all installed, under one top-level name."""

import ast
import inspect
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from pkgutil import resolve_name

import pytest

from ldpopt.core.measure import Measure
from ldpopt.core.problem import Problem
from ldpopt.problems import PROBLEMS

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


# ------------------------------------------------------------ problems describe themselves

NAMED_IN = {"problems/__init__.py", "release/methods.py"}
"""The registry, and the methods of ``ldpopt design``, some of which bear the name of a kind."""
DESCRIBING = ("engine", "audit", "report", "bench")
"""Rooms that treat every problem alike, those of other packages too."""


def constants(tree: ast.AST) -> set[object]:
    return {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}


def imported(tree: ast.AST) -> list[object]:
    froms = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module]
    return [
        getattr(import_module(node.module), name.name, None) for node in froms for name in node.names
    ]


def test_the_name_of_a_kind_stands_in_its_own_file_the_registry_and_the_checker() -> None:
    rooms = [path for path in (ROOT / "ldpopt").iterdir() if path.name not in ("checker", "experiments")]
    for path in [file for room in rooms for file in room.rglob("*.py")]:
        name = path.relative_to(ROOT / "ldpopt").as_posix()
        found = constants(ast.parse(path.read_text(encoding="utf-8"))) & set(PROBLEMS)
        own = {kind for kind in PROBLEMS if Path(str(inspect.getsourcefile(PROBLEMS[kind]))) == path}
        assert name in NAMED_IN or found <= own, (name, found - own)


@pytest.mark.parametrize("room", DESCRIBING)
def test_no_room_that_describes_problems_knows_a_class_of_them(room: str) -> None:
    for path in (ROOT / "ldpopt" / room).rglob("*.py"):
        for found in imported(ast.parse(path.read_text(encoding="utf-8"))):
            other = not (isinstance(found, type) and issubclass(found, Problem))
            assert other or found is Problem, (path.name, found)


def test_every_problem_says_what_its_value_measures() -> None:
    for kind in PROBLEMS:
        for example in PROBLEMS[kind].examples():
            assert example.problem.measure != Measure("objective"), kind
            assert example.problem.sense in ("maximise", "minimise")


def test_one_place_for_the_version(ldpopt) -> None:
    stated = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert ldpopt("--version").out == f"ldpopt {stated}\n"
    for path in (ROOT / "ldpopt").rglob("*.py"):
        assert f'"{stated}"' not in path.read_text(encoding="utf-8"), path


def test_an_unknown_name_at_the_top_level() -> None:
    with pytest.raises(AttributeError, match="module 'ldpopt' has no attribute 'nothing'"):
        resolve_name("ldpopt:nothing")


def test_frozen_fields_are_set_in_one_place() -> None:
    setters = [
        path for path in (ROOT / "ldpopt").rglob("*.py") if "object.__setattr__" in path.read_text()
    ]
    assert [path.name for path in setters] == ["cleaned.py"]


def test_the_source_distribution_holds_the_whole_project() -> None:
    """Every entry of the tree that git keeps is named in MANIFEST.in, or taken by setuptools itself."""
    words = {word for line in read("MANIFEST.in") if line[0] != "#" for word in line.split()}
    itself = {"LICENSE", "MANIFEST.in", "README.md", "ldpopt", "pyproject.toml"}
    made = {"PKG-INFO", "setup.cfg", ".git"}
    for entry in ROOT.iterdir():
        ignored = any(
            fnmatch(f"{entry.name}/", mark) or entry.name == mark for mark in read(".gitignore")
        )
        assert ignored or entry.name in words | itself | made, entry.name


def test_the_wheel_holds_templates_and_data() -> None:
    packaged = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = packaged["tool"]["setuptools"]["package-data"]["*"]
    others = [p for p in (ROOT / "ldpopt").rglob("*") if p.is_file() and p.suffix not in (".py", ".pyc")]
    assert {path.suffix for path in others} >= {".json", ".html", ".css"}
    for path in others:
        assert any(path.match(pattern) for pattern in patterns), path


def read(name: str) -> list[str]:
    """The lines of a file of the project, without empty ones."""
    return [line for line in (ROOT / name).read_text(encoding="utf-8").splitlines() if line]
