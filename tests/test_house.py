"""The house: few rooms, all installed, under one top-level name."""

import ast
import inspect
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from pkgutil import resolve_name

import pytest

from ldpopt.cli.app import COMMANDS
from ldpopt.core.problem import Measure, Problem
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


LINKS = ("problems", "solvers", "experiments")


@pytest.mark.parametrize("room", LINKS)
def test_the_first_look_shows_questions_methods_and_figures(room: str) -> None:
    """Links, so that nothing is mapped: an sdist, which has none, holds the packages all the same."""
    link = ROOT / room
    if (ROOT / ".git").exists():
        assert link.is_symlink()
    assert not link.exists() or link.resolve() == (ROOT / "ldpopt" / room).resolve()


@pytest.mark.parametrize("first", ["certify", "validate", "problems", "testing"])
def test_rooms_and_tools_are_attributes(first: str, tmp_path: Path) -> None:
    """What was imported before does not matter: each of these is asked for first once."""
    code = f"import ldpopt; ldpopt.{first}; print([getattr(ldpopt, n) is None for n in ldpopt.__all__])"
    assert "True" not in run_elsewhere(code, tmp_path)


def test_every_room_says_what_it_is_for() -> None:
    for package in PACKAGES:
        assert (package / "__init__.py").read_text(encoding="utf-8").startswith('"""')


# ------------------------------------------------------------ problems describe themselves

NAMED_IN = {
    "problems/__init__.py",
    "release/methods.py",
    "release/method_summaries.py",
    "models/privacy.py",
    "problems/composed_problem.py",
}
"""The registry; the methods of ``ldpopt design``, the notions of privacy and the form of compositions,
some of which bear the name of a kind."""
DESCRIBING = ("engine", "audit", "report", "bench")
"""Rooms that treat every problem alike, those of other packages too."""
PARTICULAR = {"peers.py", "peer_errors.py"}
"""Files of theirs about particular questions, which other packages are asked too."""


@cache
def modules() -> dict[str, ast.Module]:
    """Every file of ldpopt, by its path inside of it."""
    house = ROOT / "ldpopt"
    paths = {path.relative_to(house).as_posix(): path for path in sorted(house.rglob("*.py"))}
    return {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in paths.items()}


def constants(tree: ast.AST) -> set[object]:
    return {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}


def imported(tree: ast.AST) -> list[object]:
    froms = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module]
    return [
        getattr(import_module(node.module), name.name, None) for node in froms for name in node.names
    ]


def test_the_name_of_a_kind_stands_in_its_own_file_the_registry_and_the_checker() -> None:
    sources = {kind: Path(str(inspect.getsourcefile(PROBLEMS[kind]))) for kind in PROBLEMS}
    for name, module in modules().items():
        if name.startswith(("checker/", "experiments/")):
            continue
        found = constants(module) & set(PROBLEMS)
        own = {kind for kind, path in sources.items() if path == ROOT / "ldpopt" / name}
        assert name in NAMED_IN or found <= own, (name, found - own)


@pytest.mark.parametrize("room", DESCRIBING)
def test_no_room_that_describes_problems_knows_a_class_of_them(room: str) -> None:
    for name, module in modules().items():
        if not name.startswith(f"{room}/") or Path(name).name in PARTICULAR:
            continue
        for found in imported(module):
            other = not (isinstance(found, type) and issubclass(found, Problem))
            assert other or found is Problem, (name, found)


def test_every_problem_says_what_its_value_measures() -> None:
    for kind in PROBLEMS:
        for example in PROBLEMS[kind].examples():
            assert example.problem.measure != Measure("objective"), kind
            assert example.problem.sense in ("maximise", "minimise")


# ------------------------------------------------------------ docstrings say what arguments are

MOST_LINES = 400
SECTION = re.compile(r"^Args:\n((?: {4}.*\n|\n)+)", re.MULTILINE)
ARGUMENTS = re.compile(r"^    \**(\w+): \S", re.MULTILINE)


def functions(body: list[ast.stmt]) -> Iterator[ast.FunctionDef]:
    """The functions of a module and the methods of its classes; not what is nested in them."""
    for node in body:
        if isinstance(node, ast.FunctionDef):
            yield node
        if isinstance(node, ast.ClassDef):
            yield from functions(node.body)


def parameters(function: ast.FunctionDef) -> list[str]:
    """The parameters in order, without self and cls."""
    given = function.args
    listed = [*given.posonlyargs, *given.args, given.vararg, *given.kwonlyargs, given.kwarg]
    return [one.arg for one in listed if one is not None and one.arg not in ("self", "cls")]


def arguments(docstring: str | None) -> list[str] | None:
    """The names in the section Args of a docstring; None if there is none."""
    found = SECTION.search(f"{docstring or ''}\n")
    return None if found is None else ARGUMENTS.findall(found[1])


def is_described_elsewhere(path: str, function: ast.FunctionDef) -> bool:
    """Commands list their "Options", an experiment's ``measure`` is documented by its grid."""
    command = path.startswith("cli/") and COMMANDS.get(Path(path).stem) == function.name
    return command or (path.startswith("experiments/") and function.name == "measure")


def test_three_parameters_are_explained() -> None:
    """Public functions and methods with three parameters or more say what each of them is."""
    for path, module in modules().items():
        for function in functions(module.body):
            if function.name.startswith("_") or is_described_elsewhere(path, function):
                continue
            names, told = parameters(function), arguments(ast.get_docstring(function))
            assert told is not None or len(names) < 3, (path, function.name, names)


def test_explained_arguments_exist() -> None:
    for path, module in modules().items():
        for function in functions(module.body):
            told = arguments(ast.get_docstring(function))
            assert told in (None, parameters(function)), (path, function.name, told)
        for node in module.body:
            told = arguments(ast.get_docstring(node)) if isinstance(node, ast.ClassDef) else None
            if told is not None:
                found = import_module(f"ldpopt.{path.removesuffix('.py').replace('/', '.')}")
                constructor = inspect.signature(getattr(found, node.name)).parameters
                assert set(told) <= set(constructor), (path, node.name, told)


def test_the_section_of_arguments_is_read() -> None:
    text = "Do.\n\nArgs:\n    x: one,\n        two: of it.\n    *y: more.\n\nReturns:\n    z: it."
    assert arguments(text) == ["x", "y"]
    assert arguments("Do x: it.") is None


def test_files_are_short() -> None:
    for path in (ROOT / "ldpopt").rglob("*.py"):
        assert len(path.read_text(encoding="utf-8").splitlines()) <= MOST_LINES, path


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
    assert [path.name for path in setters] == ["validate.py"]


def test_the_source_distribution_holds_the_whole_project() -> None:
    """Every entry of the tree that git keeps is named in MANIFEST.in, or taken by setuptools itself."""
    words = {word for line in read("MANIFEST.in") if line[0] != "#" for word in line.split()}
    itself = {"LICENSE", "MANIFEST.in", "README.md", "ldpopt", "pyproject.toml"}
    made = {"PKG-INFO", "setup.cfg", ".git", *LINKS}
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


PROGRAM = """
import numpy as np
from ldpopt import Mechanism, Program, Result, audit, objective, privacy, report
from ldpopt import solve, solve_many, verify
from ldpopt.problems import Staircase

result: Result = solve(Staircase(1, [0.5, 0.3, 0.2]))
print(result.mechanism.matrix.shape, result.mechanism.epsilon(), (result.mechanism @ np.eye(3)).shape)
print([found.value for found in solve_many([Staircase(1, [0.5, 0.5])], certify=False)])
print(verify(result).verdict, audit(result), audit(np.eye(2)), audit([[1.0, 0.0], [0.0, 1.0]]))
report([result, result], "page.html")
report(result)
result.mechanism.save("m.json")
result.mechanism.plot().set_title("the best")
question = Program(privacy.LDP(1), objective.MutualInformation([0.5, 0.5]))
print(Mechanism.load("m.json").mutual_information([0.5, 0.5]), solve(question).dual)
"""


@pytest.mark.slow
def test_a_strict_type_checker_has_nothing_to_say_of_a_program(tmp_path: Path) -> None:
    """A program of somebody else, who asserts nothing: mechanisms are there after a solve."""
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "mypy", "--strict", "program.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_an_editable_install_is_a_path() -> None:
    """Else setuptools installs an import hook, which type checkers do not follow."""
    packaged = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert packaged["tool"]["setuptools"]["package-dir"] == {"": "."}


def read(name: str) -> list[str]:
    """The lines of a file of the project, without empty ones."""
    return [line for line in (ROOT / name).read_text(encoding="utf-8").splitlines() if line]
