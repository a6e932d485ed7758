"""Draw the figures of docs/figures from their tables, and quote what each shows in docs/gallery.md.

Run it after `ldpopt experiment NAME --full --out docs/figures`, with the names to draw or for all. The
gallery has a line of the form `<!-- NAME -->` before the paragraph that quotes the experiment NAME.
"""

from __future__ import annotations

import sys
from pathlib import Path

from ldpopt.engine.sweep import read_csv
from ldpopt.experiments import EXPERIMENTS

DOCS = Path(__file__).resolve().parents[1] / "docs"


def quoted(name: str) -> str:
    """Return what the experiment concludes from its table, as the gallery quotes it."""
    rows = read_csv(DOCS / "figures" / f"{name}.csv")
    return "> " + " ".join(EXPERIMENTS[name].conclude(rows).split())


def drawn(name: str, out: Path) -> list[Path]:
    """Draw the figures of an experiment from its table into a directory."""
    return EXPERIMENTS[name].draw(read_csv(DOCS / "figures" / f"{name}.csv"), out)


def main() -> None:
    """Draw and quote everything."""
    gallery = DOCS / "gallery.md"
    text = gallery.read_text(encoding="utf-8")
    for name in sys.argv[1:] or sorted(table.stem for table in (DOCS / "figures").glob("*.csv")):
        drawn(name, DOCS / "figures")
        before, mark, after = text.partition(f"<!-- {name} -->\n")
        text = before + mark + quoted(name) + "\n" + after.partition("\n")[2]
    gallery.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
