"""How the figures of the studies are written: small, the same on every run, with text as text."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from ldpopt.core.files import write_whole

WIDTH = 7.4
"""Inches: the width of a figure with two panels side by side, readable on a page and on a phone."""


def panels(
    count: int, *, height: float = 2.9, columns: int = 2, **options: Any
) -> tuple[Figure, list[Axes]]:
    """Make a figure of panels in rows; places left over stay empty.

    Args:
        count: how many panels.
        height: the height of a row, in inches.
        columns: how many panels a row has.
        options: for :meth:`matplotlib.figure.Figure.subplots`.
    """
    columns = min(count, columns)
    lines = -(-count // columns)
    figure = Figure(figsize=(WIDTH if columns > 1 else 5.6, height * lines + 0.5), layout="constrained")
    grid = figure.subplots(lines, columns, squeeze=False, **options).ravel().tolist()
    for spare in grid[count:]:
        spare.axis("off")
    for axes in grid[:count]:
        axes.grid(alpha=0.3)
    return figure, grid[:count]


def nested(count: int) -> list[dict[str, Any]]:
    """Give each of so many curves a thinner line and smaller marks, so that equal ones all show."""
    share = [i / max(count - 1, 1) for i in range(count)]
    return [{"lw": 2.8 - 1.8 * x, "ms": 6 - 3 * x} for x in share]


def legend_below(figure: Figure, axes: Sequence[Axes], ncols: int = 3) -> None:
    """Write one legend under all panels: each label once.

    Args:
        figure: the figure.
        axes: the panels whose labels it has.
        ncols: labels side by side.
    """
    named: dict[str, Any] = {}
    for one in axes:
        for handle, label in zip(*one.get_legend_handles_labels(), strict=True):
            named.setdefault(label, handle)
    figure.legend(named.values(), named.keys(), loc="outside lower center", ncols=ncols, fontsize=9)


def save(figure: Figure, path: Path) -> Path:
    """Write a figure as SVG: coordinates to a hundredth of a point, no comments, no unused names.

    The canvas draws it once; ``savefig`` would draw it a first time only to arrange its panels.
    """
    drawn = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "ldpopt"}):
        FigureCanvasSVG(figure).print_svg(drawn, metadata={"Date": None})  # type: ignore[no-untyped-call]
    text = re.sub(r"<[^>]*>", lambda tag: re.sub(r"\d+\.\d{3,}", _hundredths, tag[0]), drawn.getvalue())
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r' id="\w+_\d+"', "", text)
    write_whole(path, re.sub(r"\s*\n\s*", "\n", text))
    return path


def _hundredths(number: re.Match[str]) -> str:
    return f"{float(number[0]):.2f}"
