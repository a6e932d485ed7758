"""The page on certificates says how many lines of the checker have to be trusted."""

from pathlib import Path

import pytest
from scripts import load

from ldpopt.checker import frame

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
