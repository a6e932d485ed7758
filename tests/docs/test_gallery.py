"""The gallery: every figure and table of the papers has an entry, and no entry is stale."""

import json
import re
from pathlib import Path

import matplotlib as mpl
import pytest
from matplotlib.layout_engine import ConstrainedLayoutEngine
from scripts import load

from ldpopt.engine.sweep import read_csv
from ldpopt.experiments import EXPERIMENTS

ROOT = Path(__file__).resolve().parents[2]
FIGURES = ROOT / "docs" / "figures"
GALLERY = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
ITEMS = {
    "Metrics": {"Figure": ["1", "2", "3"], "Table": ["4.1", "10.1", "10.2"]},
    "Robust LDP": {"Figure": [str(i) for i in range(1, 12)]},
    "Distribution learning": {"Figure": [str(i) for i in range(1, 10)], "Table": ["1"]},
    "Leakage": {"Figure": [str(i) for i in range(1, 10)]},
    "Anonymity": {"Figure": ["1", "2", "3"]},
}
"""The figures and tables that the five papers have."""
TABLES = sorted(path.stem for path in FIGURES.glob("*.csv"))
MOST_BYTES = 100_000


TOOL = load("draw_gallery")


def entries():
    """Split the page: (paper, kind, numbers, text) of every entry."""
    parts = re.split(r"^### (.+), (Figure|Table)s? (.+)\n", GALLERY, flags=re.MULTILINE)[1:]
    for paper, kind, numbers, text in zip(*(parts[i::4] for i in range(4)), strict=True):
        yield paper, kind, re.findall(r"\d+(?:\.\d+)?", numbers), text


def test_every_figure_and_table_has_an_entry():
    found = {}
    for paper, kind, numbers, _ in entries():
        found.setdefault(paper, {}).setdefault(kind, []).extend(numbers)
    for paper, kinds in ITEMS.items():
        for kind, numbers in kinds.items():
            assert sorted(found[paper][kind]) == sorted(numbers), (paper, kind)
    assert found.keys() == ITEMS.keys()


@pytest.mark.parametrize("entry", list(entries()), ids=lambda e: f"{e[0]}-{e[1]}-{'-'.join(e[2])}")
def test_an_entry_shows_its_figure_or_says_that_it_is_a_diagram(entry):
    text = entry[3]
    shown = re.findall(r"!\[.+\]\(figures/([\w-]+\.svg)\)\{ \.figure \}", text)
    if not shown:
        assert text.strip().startswith(("A diagram", "Diagrams"))
        return
    assert "**The paper:**" in text
    assert re.search(r"\*\*(Agrees|Differs|Reversed|The trend)|sign is kept|does not say so", text)
    for name in [*shown, *re.findall(r"\[table\]\(figures/([\w-]+\.csv)\)", text)]:
        assert (FIGURES / name).stat().st_size > 0, name
    assert "[table](figures/" in text


def test_every_file_is_shown():
    for path in FIGURES.iterdir():
        if path.suffix in (".csv", ".svg"):
            assert f"(figures/{path.name})" in GALLERY, path.name


def test_figures_are_small_and_self_contained():
    for path in FIGURES.glob("*.svg"):
        text = path.read_text(encoding="utf-8")
        assert len(text.encode()) < MOST_BYTES, path.name
        assert "@font-face" not in text
        assert "<image" not in text
        assert "<script" not in text


def words(path):
    return sorted(
        re.findall(r"<text[^>]*>(.*?)</text>", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    )


@pytest.mark.parametrize("name", TABLES)
def test_a_figure_is_what_its_table_gives(name, tmp_path):
    """To the byte with the version of matplotlib that drew it, in every label with another."""
    for path in TOOL.drawn(name, tmp_path):
        kept = FIGURES / path.name
        if f"Matplotlib v{mpl.__version__}," in kept.read_text(encoding="utf-8"):
            assert path.read_bytes() == kept.read_bytes(), path.name
        else:
            assert words(path) == words(kept), path.name


@pytest.mark.parametrize("name", TABLES)
def test_the_conclusion_is_quoted(name):
    assert f"<!-- {name} -->\n{TOOL.quoted(name)}\n" in GALLERY


@pytest.mark.parametrize("name", TABLES)
def test_a_table_has_the_points_of_its_command(name):
    options = r"(?: --draws (\d+))?(?: --only ([\w,-]+))?"
    command = rf"`ldpopt experiment {name} --full{options}`\s+·\s+\[table\]"
    ((draws, only),) = set(re.findall(command, GALLERY))
    chosen = only.split(",") if only else ()
    points = EXPERIMENTS[name].chosen(False, chosen, draws=int(draws) if draws else None)
    rows = read_csv(FIGURES / f"{name}.csv")
    assert len(rows) == len(points)
    for row, point in zip(rows, points, strict=True):
        assert json.dumps({key: row[key] for key in point}) == json.dumps(point)
        assert str(ROOT) not in json.dumps(row)


@pytest.mark.parametrize("name", TABLES)
def test_a_part_of_a_table_can_be_drawn(name, tmp_path, monkeypatch):
    """What an interruption leaves. Panels are arranged above, and half of the work, so not once more."""
    monkeypatch.setattr(ConstrainedLayoutEngine, "execute", lambda engine, figure: None)
    experiment, rows = EXPERIMENTS[name], read_csv(FIGURES / f"{name}.csv")
    for path in experiment.draw(rows[: max(1, len(rows) // 3)], tmp_path):
        assert path.stat().st_size > 0
