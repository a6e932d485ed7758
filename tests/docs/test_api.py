"""The API reference: every room that programs import has its page, rendered from the docstrings."""

import re
from pathlib import Path

import pytest
from scripts import load

ROOT = Path(__file__).resolve().parents[2]
PAGES = {page.stem: page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "api").glob("*.md")}
COMMANDS = {"bench", "cli", "experiments", "report"}
"""The rooms that are used from the command line."""


def rooms():
    """The packages and public modules of ldpopt."""
    names = {path.stem for path in (ROOT / "ldpopt").iterdir() if not path.name.startswith("_")}
    return names - COMMANDS - {"py"}


def test_every_room_has_a_page():
    documented = set(re.findall(r"^::: ldpopt\.(\S+)$", "\n".join(PAGES.values()), flags=re.MULTILINE))
    assert documented == rooms()


@pytest.mark.parametrize("name", sorted(PAGES.keys() - {"checker"}))
def test_names_are_listed_in_the_repository(name):
    """``python tools/reference.py`` writes them again."""
    today = load("reference").page(PAGES[name], name)
    written, listed = (re.findall(r"^\| `([\w.]+)", text, re.MULTILINE) for text in (PAGES[name], today))
    assert written == listed
    assert len(listed) > 2


@pytest.fixture(scope="module")
def markup():
    return load("docstring_markdown")


@pytest.mark.parametrize(
    ("docstring", "markdown"),
    [
        ("φ* is below ψ* here.", "φ\\* is below ψ\\* here."),
        ("It does *not* hold; *two words* stay.", "It does *not* hold; *two words* stay."),
        ("A matrix [s][u].", "A matrix \\[s\\]\\[u\\]."),
        ("Code stays: ``a[s][u] * b*`` and `x[0]`.", "Code stays: ``a[s][u] * b*`` and `x[0]`."),
        ("See :func:`ldpopt.solve`.", "See `ldpopt.solve`."),
        ("If x <y, then.", "If x &lt;y, then."),
        ("Args:\n    *rows: all of [a].", "Args:\n    *rows: all of \\[a\\]."),
        (
            "One.\n\n>>> f([1]) * 2\n[2]\n\nTwo*.",
            "One.\n\n\n```pycon\n>>> f([1]) * 2\n[2]\n```\n\nTwo\\*.",
        ),
        ("    >>> f(1)\n    2", "\n    ```pycon\n    >>> f(1)\n    2\n    ```"),
    ],
)
def test_docstrings_as_markdown(docstring, markdown, markup):
    assert markup.markdown(docstring) == markdown
