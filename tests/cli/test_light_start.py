"""What a command imports before it answers: counted in a fresh interpreter, never timed."""

import json
import os
import subprocess
import sys

import pytest

import ldpopt as package
from ldpopt import solve
from ldpopt.experiments import EXPERIMENTS
from ldpopt.problems import PROBLEMS, Staircase
from ldpopt.release.method_summaries import SUMMARIES
from ldpopt.release.methods import METHODS
from ldpopt.solvers import SOLVERS

HEAVY = {
    "cvxpy",
    "highspy",
    "joblib",
    "matplotlib",
    "networkx",
    "numpy",
    "pandas",
    "pyarrow",
    "scipy",
}
LOADED = """
import json, sys
from pathlib import Path
try:
    {code}
except SystemExit as end:
    code = end.code or 0
else:
    code = 0
Path({note!r}).write_text(json.dumps([code, sorted(sys.modules)]))
"""


@pytest.fixture
def loaded(tmp_path):
    """Run code in a fresh interpreter; its exit code, and the modules that it loaded."""

    def run(code):
        note = tmp_path / "modules.json"
        script = LOADED.format(code=code, note=str(note))
        subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)
        code, names = json.loads(note.read_text())
        return code, set(names)

    return run


def command(*words):
    return f"from ldpopt.cli import main; sys.argv[1:] = {[*map(str, words)]!r}; main()"


def of_the_package(names):
    return {name for name in names if name.startswith("ldpopt.")}


def test_import_loads_nothing_else(loaded):
    code, names = loaded("import ldpopt")
    assert code == 0
    assert of_the_package(names) == set()
    assert names.isdisjoint(HEAVY)


def test_every_public_name_is_there():
    for name in package.__all__:
        assert getattr(package, name).__name__.rpartition(".")[2] == name
    assert set(package.__all__) <= set(dir(package))
    with pytest.raises(AttributeError, match="module 'ldpopt' has no attribute 'solved'"):
        _ = package.solved


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["solve", "--help"],
        ["list", "problems"],
        ["list", "solvers"],
        ["list", "experiments"],
        ["list", "methods"],
        ["list", "tables"],
    ],
)
def test_help_and_list_import_no_solver(words, loaded):
    code, names = loaded(command(*words))
    assert code == 0
    assert names.isdisjoint(HEAVY)
    rooms = {name.split(".")[1] for name in of_the_package(names)}
    more = ["release", "mechanisms"] if "methods" in words else []
    assert rooms <= {"checker", "cli", "core", *words, *more}
    assert {name for name in names if name.startswith(("ldpopt.problems.", "ldpopt.solvers."))} == set()


def test_every_method_has_its_summary():
    assert [*SUMMARIES] == [*METHODS]


def test_verify_imports_the_checker_alone(loaded, tmp_path):
    solve(Staircase(1.0, prior=[0.5, 0.3, 0.2])).save(tmp_path / "r.json")
    code, names = loaded(command("verify", tmp_path / "r.json"))
    assert code == 0
    assert names.isdisjoint(HEAVY)
    others = {
        name for name in of_the_package(names) if not name.startswith(("ldpopt.cli", "ldpopt.checker"))
    }
    names = ("children", "ending", "errors", "exact", "memory_limit", "number_text")
    core = {f"ldpopt.core.{name}" for name in names}
    assert others == {"ldpopt.core", *core, "ldpopt.engine", "ldpopt.engine.verifying"}


@pytest.mark.parametrize("registry", [PROBLEMS, SOLVERS, EXPERIMENTS], ids=lambda r: r.what)
def test_the_source_says_what_the_object_says(registry):
    for name in registry:
        source, entry = registry.source(name), registry[name]
        text = (
            entry.__doc__ if isinstance(entry, type) else sys.modules[entry.conclude.__module__].__doc__
        )
        assert source.summary
        assert text.startswith(source.summary.split()[0])
        assert " ".join(text.split()).startswith(source.summary)
        assert tuple(source.constants.get("requires", ())) == getattr(entry, "requires", ())


@pytest.mark.parametrize("module", ["typer", "ldpopt.cli.solve", "numpy"])
def test_ctrl_c_during_an_import_is_one_line(module, tmp_path):
    """The signal arrives while the module is being imported."""
    code = f"""
import os, signal, sys
class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
signal.signal(signal.SIGINT, signal.default_int_handler)  # tests may run behind nohup
sys.meta_path.insert(0, Interrupting())
from ldpopt.cli import main
sys.argv[1:] = ["solve", {str(tmp_path / "absent.json")!r}]
main()
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "ldpopt: interrupted\n")


@pytest.mark.parametrize(("given", "used"), [(None, "1"), ("3", "3")])
def test_linear_algebra_has_one_thread_unless_asked(given, used):
    """Two threads wait for each other on a busy machine: a page then took three times its time limit."""
    env = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    env |= {} if given is None else {"OMP_NUM_THREADS": given}
    code = (
        "import atexit, os, sys; from ldpopt.cli import main; sys.argv = ['ldpopt', '--version']; "
        "atexit.register(lambda: print(os.environ['OMP_NUM_THREADS'])); main()"
    )
    said = subprocess.check_output([sys.executable, "-c", code], env=env, text=True)
    assert said.splitlines()[-1] == used
