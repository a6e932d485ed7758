"""The page of ``ldpopt exposure``: how many rows stand out, and which columns together expose few."""

from __future__ import annotations

import numpy as np
from markupsafe import Markup
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from ldpopt.core.files import PathName, write_whole
from ldpopt.core.validate import Array
from ldpopt.release.safe_columns import Exposed, exposure_in_words, rows_in_words
from ldpopt.report import page_figures
from ldpopt.report.rendering import rendered


def write_page(found: Exposed, out: PathName) -> None:
    """Write one self-contained HTML page on the exposure of a table."""
    text = rendered(
        "exposure.html",
        found=found,
        columns=list(zip(found.columns, found.values, found.alone, strict=True)),
        thresholds=[(t, found.exposed_at(t)) for t in (1e-4, 1e-3, 1e-2, 1e-1)],
        facts=exposure_in_words(found),
        rows=rows_in_words,
        curve=Markup(curve(found)),
    )
    write_whole(out, text)


def steps(found: Exposed) -> tuple[Array, Array]:
    """List the thresholds right after which more rows are exposed, and how many, both as shares."""
    sizes, groups = np.unique(found.sizes, return_counts=True)
    after = np.array([1, *sizes, found.rows]) / found.rows
    return after, np.array([0, *np.cumsum(sizes * groups), found.rows]) / found.rows


def curve(found: Exposed) -> str:
    """Draw the exposed share of the rows against the threshold, a step function, as an SVG element."""
    figure = Figure(figsize=(4.8, 3.2), layout="constrained")
    axes = figure.subplots()
    axes.step(*steps(found), where="post", color=page_figures.COLOURS[0])
    axes.axvline(found.threshold, color=page_figures.INK, linestyle="--", linewidth=1)
    axes.set(xscale="log", xlim=(1 / found.rows, 1))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:g} %"))
    page_figures.label(axes, "threshold", "exposed rows")
    title = "Share of the rows that all columns expose, against the threshold"
    return page_figures.as_element(figure, "exposure", title, "A step function.")
