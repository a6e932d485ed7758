"""The digest of what an experiment runs: its file, what that imports, or the cells of a notebook."""

import importlib
import sys

import numpy as np
import pytest

from ldpopt.engine.source_digest import source_digest
from ldpopt.engine.sweep import Experiment

MAIN = (
    "import helper\n\n\ndef measure(n):\n    from late import last\n    return helper.value(n) + last\n"
)


@pytest.fixture
def digest(tmp_path, monkeypatch):
    """Write modules of the user, import the main one again, and compute the digest of its measure."""
    monkeypatch.syspath_prepend(str(tmp_path))
    names = ("study_main", "helper", "late")

    def compute(main=MAIN, helper="def value(n):\n    return n\n", late="last = 1\n"):
        for name, text in zip(names, (main, helper, late), strict=True):
            (tmp_path / f"{name}.py").write_text(text)
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        return source_digest(importlib.import_module("study_main").measure)

    yield compute
    for name in names:
        sys.modules.pop(name, None)


def test_a_comment_changes_nothing_and_code_does(digest):
    plain = digest()
    assert digest(main="# a comment\n" + MAIN.replace("n):\n", "n):  # another\n\n")) == plain
    assert digest(main=MAIN.replace("+ last", "- last")) != plain


def test_imported_modules_of_the_user_count(digest):
    plain = digest()
    assert digest(helper="def value(n):\n    return 2 * n\n") != plain
    assert digest(helper="# said\ndef value(n):\n    return n\n") == plain
    assert digest(late="last = 2\n") != plain  # imported inside a function


CELL = """SCALE = {scale}
def helper(n):
    return SCALE * n
def measure(n):
    return {{'v': helper(n)}}
"""


def session(scale=2, cell=CELL):
    """Run a cell as a notebook does: its code says that it lies in a file that is not there."""
    names = {"__name__": "__main__"}
    exec(compile(cell.format(scale=scale), "/tmp/cells/1234.py", "exec"), names)
    return names["measure"]


@pytest.fixture
def _notebook(monkeypatch):
    monkeypatch.delattr(sys.modules["__main__"], "__file__", raising=False)


@pytest.mark.usefixtures("_notebook")
def test_an_experiment_of_a_notebook_runs_and_resumes(tmp_path):
    def run(measure):
        study = Experiment("cells", lambda quick: [{"n": 3}], measure, lambda *_: [], lambda _: "")
        return study.run(out=tmp_path)

    assert run(session()).rows[0]["v"] == 6
    assert run(session()).reused == 1
    assert run(session(cell="# said\n" + CELL)).reused == 1
    again = run(session(scale=3))  # a value that a helper names
    assert (again.reused, again.rows[0]["v"]) == (0, 9)
    assert run(session(cell=CELL.replace("* n", "+ n"))).reused == 0


@pytest.mark.usefixtures("_notebook")
def test_arrays_and_objects_of_a_notebook():
    cell = "import numpy as np\nDATA = np.arange({scale})\ndef measure(n):\n    return DATA[n]\n"
    assert source_digest(session(2, cell)) != source_digest(session(3, cell))
    assert source_digest(np.sum) == source_digest(np.sum)


def test_a_module_is_found_without_importing_its_package(digest, tmp_path):
    package = tmp_path / "loud"
    package.mkdir()
    (package / "__init__.py").write_text("raise AssertionError('imported')\n")
    (package / "inner.py").write_text("level = 1\n")
    late = "last = 1\ndef never():\n    import loud.inner\n"
    plain = digest(late=late)
    (package / "inner.py").write_text("level = 2\n")
    assert digest(late=late) != plain
