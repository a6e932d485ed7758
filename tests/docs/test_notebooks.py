"""The notebooks of the documentation: their cells run again and show the same, and so do their pages."""

import copy
import re
from pathlib import Path

import pytest
from scripts import load

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


@pytest.fixture(scope="module")
def tool():
    return load("notebooks")


def shown(outputs):
    """What a cell shows, without its clock and the bytes of its pictures; numbers to a few digits."""
    text = repr([output.get("text") or output["data"] for output in outputs])
    text = re.sub(r"<tr><th>seconds</th><td>[^<]*", "", text)
    text = re.sub(r"base64,[^\"]*", "", text)
    return re.sub(r"\d+\.\d+(?:e-?\d+)?", lambda found: _rounded(found[0]), text)


def _rounded(number):
    """The gaps, which have an exponent, are differences near the rounding of floats."""
    return f"{float(number):.3g}" if "e" in number else f"{float(number):.6g}"


def test_there_are_four():
    assert len(NOTEBOOKS) == 4


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_cells_show_what_is_stored(path, tool):
    stored = tool.read(path)
    again = tool.executed(copy.deepcopy(stored))
    assert [cell["cell_type"] for cell in again["cells"]].count("code") >= 4
    for old, new in zip(stored["cells"], again["cells"], strict=True):
        if old["cell_type"] == "code":
            assert shown(new["outputs"]) == shown(old["outputs"]), "".join(old["source"])
            assert new["execution_count"] == old["execution_count"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_page_is_that_of_the_notebook(path, tool):
    assert path.with_suffix(".md").read_text(encoding="utf-8") == tool.page(tool.read(path), path.name)


def test_what_a_cell_shows(tool):
    names = {}
    assert tool.outputs("x = 2", names, 1) == []
    printed, value = tool.outputs("print('two\\nlines')\nx + 1", names, 2)
    assert printed["text"] == ["two\n", "lines\n"]
    assert value["data"] == {"text/plain": ["3"]}
    assert tool.outputs("None", names, 3) == []
