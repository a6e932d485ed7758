"""The page on certificates says how many lines of the checker have to be trusted."""

import subprocess
import sys
from pathlib import Path

import pytest
from scripts import load

from ldpopt import solve
from ldpopt.checker import frame
from ldpopt.problems import Staircase

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def counting():
    return load("trusted_lines")


def test_the_page_has_the_table_of_the_tool(counting):
    assert counting.table() in (ROOT / "docs" / "certificates.md").read_text()


def test_every_kind_and_every_module_is_counted(counting):
    assert all(f"`{kind}`" in counting.table() for kind in frame.KINDS)
    others = {"frame", f"statements.{frame.DESIGN}", f"statements.{frame.PUBLIC}"}
    kinds = (counting.needed(kind)[1] for kind in frame.KINDS)
    counted = frozenset().union(*map(counting.imported, others), *kinds)
    assert counting.every_module() - counted == {"__main__"}


def test_the_frame_imports_no_statement(counting):
    """What a file does not need, its verdict does not rest on."""
    assert not [name for name in counting.imported("frame") if name.startswith("statements.")]


def test_lines_of_code_are_not_docstrings_comments_or_blank(counting, monkeypatch, tmp_path):
    source = '"""Text\n\non lines."""\n\n# why\nx = (\n    1  # a\n)\n"""About x."""\n'
    (tmp_path / "one.py").write_text(source)
    monkeypatch.setattr(counting, "CHECKER", tmp_path)
    assert counting.code_lines("one") == 3


def test_a_staircase_loads_no_more_than_is_counted(counting, tmp_path):
    """What the table leaves out, the verdict on the file does without."""
    path = tmp_path / "staircase.json"
    solve(Staircase(1.0, [0.5, 0.3, 0.2])).save(path)
    script = (
        "import sys; from ldpopt.checker import frame; "
        "from ldpopt.checker.kernel.claims import verdict; "
        "from ldpopt.checker.kernel.reading import parse; "
        "assert verdict(frame.check(parse(open(sys.argv[1], 'rb').read()))) is True; "
        "print(*(name for name in sys.modules if name.startswith('ldpopt.checker.')))"
    )
    run = subprocess.run(
        [sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=True
    )
    loaded = {name.removeprefix("ldpopt.checker.") for name in run.stdout.split()}
    counted = counting.needed("staircase")[1] | counting.imported("frame")
    assert loaded - counted <= {"kernel", "kernel.proofs", "statements"}
