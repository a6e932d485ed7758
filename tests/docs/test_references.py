"""Citations: each is the heading of an entry of the references, so that a reader can find the work."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
REFERENCES = (ROOT / "docs" / "references.md").read_text(encoding="utf-8")
KEYS = re.findall(r"^### (.*)$", REFERENCES, flags=re.MULTILINE)
TEXTS = sorted(
    path
    for room in ("ldpopt", "docs", "tests", "tools")
    for path in (ROOT / room).rglob("*")
    if path.suffix in (".py", ".md") and path.name not in ("references.md", Path(__file__).name)
)
NAME = r"[A-ZÅŠ][\w-]+"
CITATION = re.compile(rf"((?:{NAME}, )?{NAME}(?: et al\.| and {NAME})?) ((?:19|20)\d\d)\b")
NOT_AUTHORS = {"In", "October"}


def citations(text: str) -> set[str]:
    """Every "authors year", wherever a line was broken."""
    words = " ".join(re.sub(r"^\s*#", "", line) for line in text.splitlines())
    found = CITATION.findall(re.sub(r"\s+", " ", words))
    return {f"{authors} {year}" for authors, year in found if authors not in NOT_AUTHORS}


@pytest.fixture(scope="module")
def cited():
    """The citations of every text."""
    return {path: citations(path.read_text(encoding="utf-8")) for path in TEXTS}


def test_citations_are_recognised():
    assert citations("(Kairouz, Oh and\n# Viswanath 2014, Theorem 2; Wang et al.\n   2024)") == {
        "Kairouz, Oh and Viswanath 2014",
        "Wang et al. 2024",
    }
    assert citations("In 2024 the 2000 rows of Figures 2 and 3") == set()


def test_every_citation_has_an_entry(cited):
    for path, found in cited.items():
        assert found <= set(KEYS), path


@pytest.mark.parametrize("key", KEYS)
def test_every_entry_is_cited(key, cited):
    data_set = key == "Becker and Kohavi 1996"  # cited in the data files, in the UCI repository's form
    assert data_set or any(key in found for found in cited.values())


def test_no_paper_is_cited_by_a_number():
    for path in TEXTS:
        assert not re.search(r"papers/00\d(?!-)", path.read_text(encoding="utf-8")), path


def test_the_citation_names_the_version():
    root = Path(__file__).resolve().parents[2]
    version = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    assert f"\nversion: {version}\n" in (root / "CITATION.cff").read_text("utf-8")
