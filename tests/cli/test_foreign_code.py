"""Nobody else's code runs: neither that of the directory with the table, nor code that a file names."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ldpopt.core import children

HOSTILE = (
    *("__future__", "argparse", "ast", "base64", "cdd", "collections", "cryptography", "cvxpy"),
    *("ctypes", "dataclasses", "enum", "functools", "hashlib", "highspy", "hmac", "inspect"),
    *("jinja2", "joblib", "json", "math", "multiprocessing", "networkx", "numpy", "pandas"),
    *("pickle", "pkgutil", "pyarrow", "random", "re", "rich", "scipy", "secrets", "selectors"),
    *("signal", "sitecustomize", "socket", "struct", "tempfile", "threading", "traceback", "typer"),
    *("types", "typing", "usercustomize"),
)
"""Modules that some program of ldpopt, or Python for it, imports."""
MARK = "from_here = open({marker!r}, 'a').write({name!r})\nraise SystemExit('hostile')\n"
QUESTION = {"problem": "staircase", "params": {"epsilon": 1, "prior": [0.4, 0.3, 0.2, 0.1]}}
DESIGN = ("--secret", "sex", "--public", "job", "--epsilon", "1", "--method", "srr")
LDPOPT = str(Path(sys.executable).with_name("ldpopt"))
MODULE = [sys.executable, "-m", "ldpopt"]


@pytest.fixture(scope="module")
def trap(tmp_path_factory, ldpopt):
    """A directory with tables, a mechanism, and modules that leave a mark when they are imported."""
    folder = tmp_path_factory.mktemp("trap")
    (folder / "parts").mkdir()
    rows = "".join(f"{s},{j}\n" for s in "fm" for j in "abc" for _ in range(30))
    for part in "12":
        (folder / "parts" / f"{part}.csv").write_text(f"sex,job\n{rows}")
    (folder / "q.json").write_text(json.dumps(QUESTION))
    assert ldpopt("design", "parts", *DESIGN, "-o", "m.json", cwd=folder).code == 0
    assert ldpopt("privatize", "parts", "-m", "m.json", "-o", "released", cwd=folder).code == 0
    assert ldpopt("export", "m.json", "--target", "python", "-o", "sampler.py", cwd=folder).code == 0
    (folder / "matplotlibrc").write_bytes(b"text.usetex: True\n\xff")  # whoever reads it fails
    for name in HOSTILE:
        (folder / f"{name}.py").write_text(MARK.format(marker=str(folder / "marker"), name=name))
    return folder


def run(folder, *command, **environment):
    """Run a program in the trap; it must do its work, and leave no mark."""
    before = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    said = subprocess.run(
        list(map(str, command)),
        cwd=folder,
        env=before | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    marker = folder / "marker"
    assert not marker.exists(), marker.read_text()
    assert said.returncode == 0, said.stderr
    return said.stdout


@pytest.mark.skipif(not Path(LDPOPT).exists(), reason="the command is not installed here")
@pytest.mark.parametrize(
    "words",
    [
        ["privatize", "parts", "-m", "m.json", "-o", "out", "--jobs", "2"],
        ["estimate", "released", "-m", "m.json", "--jobs", "2"],
        ["estimate", "released", "-m", "m.json", "--plot", "out.png"],
        ["report", "m.json", "-o", "page.html"],
        ["report", "m.public.json", "-o", "public.html"],
        ["plan", "parts", "--secret", "sex", "--target", "10%", "--plot", "plan.png"],
        ["solve", "q.json", "--solver", "cdd"],
        ["experiment", "theorem-8", "--jobs", "2", "--out", "study"],
    ],
    ids=lambda words: words[0],
)
def test_children_of_the_command(words, trap):
    run(trap, LDPOPT, *words)


def test_the_program_started_as_a_module(trap):
    """Without -P, Python looks there itself for what it needs to start a module, such as collections."""
    run(trap, sys.executable, "-P", "-m", "ldpopt", "list", "problems")
    needed = "import runpy, sys; print(*sys.modules)"
    python = subprocess.run(
        [sys.executable, "-P", "-c", needed], capture_output=True, text=True, check=True
    )
    files = [trap / f"{name}.py" for name in set(python.stdout.split()) & set(HOSTILE)]
    kept = {file: file.read_text() for file in files}
    for file in kept:
        file.unlink()
    run(trap, *MODULE, "solve", "q.json", "--solver", "cdd")
    run(trap, *MODULE, "privatize", "parts", "-m", "m.json", "-o", "again", "--jobs", "2", PYTHONPATH="")
    for file, text in kept.items():
        file.write_text(text)


def test_the_parties_of_the_protocol(trap):
    pytest.importorskip("cryptography")
    run(trap, LDPOPT, "protocol", "parts")


def test_the_checker_alone_and_the_exported_program(trap):
    run(trap, sys.executable, "-I", "-S", Path(children.ROOT) / "ldpopt" / "checker", "m.json")
    assert run(trap, sys.executable, "sampler.py").endswith("test vectors pass\n")


def test_children_in_python(trap, tmp_path):
    """A script elsewhere, whose working directory is that of the table."""
    script = tmp_path / "script.py"
    script.write_text(
        "import ldpopt\n"
        "from ldpopt.problems import Staircase\n"
        "if __name__ == '__main__':\n"
        "    ldpopt.solve(Staircase(epsilon=1, prior=[0.6, 0.4]), 'cdd')\n"
        "    ldpopt.privatize('parts', 'm.json', 'scripted', jobs=2)\n"
    )
    run(trap, sys.executable, script)


def test_an_empty_part_of_the_path_is_not_the_working_directory(monkeypatch, trap):
    monkeypatch.setenv("PYTHONPATH", f"{os.pathsep}{trap / 'parts'}{os.pathsep}")
    assert children.environment() == {"PYTHONSAFEPATH": "1", "PYTHONPATH": str(trap / "parts")}
    monkeypatch.chdir(trap)
    monkeypatch.syspath_prepend("")
    command = children.command("import json; print(json.__file__); print('' in sys.path)")
    environment = {**os.environ, **children.environment()}
    said = subprocess.check_output(command, env=environment, text=True).split()
    assert said[0] != str(trap / "json.py")
    assert said[1] == "False"


SETTINGS = "import matplotlib; print(matplotlib.rcParams['lines.linewidth'])"


@pytest.mark.parametrize("name", [None, "MATPLOTLIBRC", "MPLCONFIGDIR"])
def test_settings_of_figures_are_those_of_the_user(name, trap):
    """A directory that the user names is his, even from the working directory."""
    (trap / "own").mkdir(exist_ok=True)
    (trap / "own" / "matplotlibrc").write_text("lines.linewidth: 7.5\n")
    code = f"from ldpopt.core import children; children.ignore_settings_here(); {SETTINGS}"
    script = trap.parent / "settings.py"
    script.write_text(code)
    given = {} if name is None else {name: "own"}
    said = run(trap, sys.executable, "-P", script, **given)
    assert (said == "7.5\n") == (name is not None)


# ---------------------------------------------------------------- code that a file names


@pytest.mark.parametrize("name", ["notes.py:X", "notes:X", "os:system", ":"])
def test_a_file_names_no_code(name, tmp_path, ldpopt):
    (tmp_path / "notes.py").write_text(MARK.format(marker=str(tmp_path / "marker"), name="notes"))
    (tmp_path / "q.json").write_text(json.dumps(QUESTION | {"problem": name}))
    said = ldpopt("solve", "q.json", cwd=tmp_path)
    assert (said.code, said.err.count("\n")) == (2, 1)
    assert "a file names no code; the class of your own kind is named by --problem" in said.err
    for command in (["verify", "q.json"], ["audit", "q.json"], ["report", "q.json", "-o", "r.html"]):
        assert ldpopt(*command, cwd=tmp_path).code == 2
    assert not (tmp_path / "marker").exists()
