"""What all studies share: grids of points, rows of a table, and how figures are drawn and written.

A figure is small, the same on every run, and its text is text.
"""

from __future__ import annotations

import io
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from ldpopt.core.files import write_whole
from ldpopt.engine import sweep

Experiment = sweep.Experiment
Row = sweep.Row
Points = Iterable[sweep.Point]

WIDTH = 7.4
"""Inches: the width of a figure with two panels side by side, readable on a page and on a phone."""


def grid(**columns: Iterable[Any]) -> Iterator[sweep.Point]:
    """List every combination of the values of some columns, the last column the fastest.

    >>> [point["epsilon"] for point in grid(k=[3], epsilon=[1.0, 2.0])]
    [1.0, 2.0]
    """
    for values in itertools.product(*map(list, columns.values())):
        yield dict(zip(columns, values, strict=True))


def rounded(values: ArrayLike) -> list[float]:
    """Round to six decimals, so that levels are short in tables."""
    return [round(value, 6) for value in np.asarray(values, dtype=float).tolist()]


def where(rows: Iterable[Row], **values: Any) -> list[Row]:
    """Return the rows that have these values."""
    return [row for row in rows if all(row[name] == value for name, value in values.items())]


def distinct(rows: Iterable[Row], column: str) -> list[Any]:
    """List the values of a column, in the order of their first appearance."""
    return list(dict.fromkeys(row[column] for row in rows))


# ------------------------------------------------------------ figures


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


class Curve(NamedTuple):
    """A curve of every panel.

    Attributes:
        column: what it shows against the column of the horizontal axis; rows without it are left out.
        style: colour, mark and line, as matplotlib writes them.
        label: its name in the legend.
        of: the values of the rows that it is drawn from.
        pen: more options of :meth:`matplotlib.axes.Axes.plot`.
        error: the column of its standard errors, if it has any: bars of two show them.
    """

    column: str
    style: str
    label: str
    of: Mapping[str, Any] = {}
    pen: Mapping[str, Any] = {}
    error: str = ""

    def draw(self, axes: Axes, rows: Iterable[Row], x: str) -> None:
        """Draw it by increasing x.

        Args:
            axes: the panel.
            rows: the rows of the panel.
            x: the column of the horizontal axis.
        """
        mine = [row for row in where(rows, **self.of) if row.get(self.column) is not None]
        mine.sort(key=lambda row: float(row[x]))
        if mine:
            across, up = ([row[name] for row in mine] for name in (x, self.column))
            axes.plot(across, up, self.style, label=self.label, **self.pen)
            bars = [2 * (row.get(self.error) or 0.0) for row in mine]
            if any(bars):
                axes.errorbar(across, up, bars, fmt="none", ecolor=self.style[:2], elinewidth=0.8)


def coloured(column: str, values: Iterable[Any], shown: Sequence[tuple[str, str, str]]) -> list[Curve]:
    """Give each value of a column a colour and a pen, in which some columns of its rows are drawn.

    Args:
        column: the column that tells the colours apart.
        values: its values.
        shown: the columns that are drawn, each with its style and its name.
    """
    listed = list(values)
    return [
        Curve(name, f"C{i}{style}", f"{value}: {label}", {column: value}, pen)
        for i, (value, pen) in enumerate(zip(listed, nested(len(listed)), strict=True))
        for name, style, label in shown
    ]


def curves(
    rows: Iterable[Row],
    x: str,
    drawn: Sequence[Curve],
    xlabel: str,
    ylabel: str,
    *,
    title: str = "",
    scale: str = "linear linear",
    **layout: Any,
) -> tuple[Figure, list[Axes]]:
    """Draw the same curves in every panel, one panel for the rows of each title.

    Args:
        rows: the rows of a study.
        x: the column of the horizontal axis.
        drawn: the curves.
        xlabel: the label of the horizontal axis.
        ylabel: the label of the vertical axis.
        title: the title of a row's panel, with the columns in braces: "K = {k}".
        scale: the scales of both axes.
        layout: options of :func:`panels`.
    """
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(title.format(**row), []).append(row)
    figure, grid = panels(len(groups), **layout)
    across, up = scale.split()
    for axes, (name, mine) in zip(grid, groups.items(), strict=True):
        axes.set(xscale=across, yscale=up)
        for curve in drawn:
            curve.draw(axes, mine, x)
        axes.set(xlabel=xlabel, ylabel=ylabel)
        axes.set_title(name, fontsize=10)
    return figure, grid


def nested(count: int) -> list[dict[str, Any]]:
    """Give each of so many curves a thinner line and smaller marks, so that equal ones all show."""
    share = [i / max(count - 1, 1) for i in range(count)]
    return [{"lw": 2.8 - 1.8 * x, "ms": 6 - 3 * x} for x in share]


def save(figure: Figure, path: Path, legend: int = 3) -> Path:
    """Write a figure as SVG: coordinates to a hundredth of a point, no comments, no unused names.

    The canvas draws it once; ``savefig`` would draw it a first time only to arrange its panels.

    Args:
        figure: the figure.
        path: the file.
        legend: how many labels stand side by side under the panels, each label once; 0 for none.
    """
    named: dict[str, Any] = {}
    for axes in figure.axes if legend else ():
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            named.setdefault(label, handle)
    if named:
        figure.legend(named.values(), named, loc="outside lower center", ncols=legend, fontsize=9)
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
