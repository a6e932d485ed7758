"""The figures of a page: the trade-off curve as SVG within it, a large mechanism as an image."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.markers import CARETDOWN
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from ldpopt.core.mechanism import Mechanism
from ldpopt.report.tradeoff import TradeOff

INK = "#0a0b0c"
"""Becomes the colour of the page's text, so that a figure is as dark or light as the page."""
COLOURS = (
    "#0072b2", "#d2570b", "#0d8a66", "#b4528f", "#8a63d2", "#a06a12",
    "#767b83", "#d6336c", "#5d7f1a", "#2f7d8c", "#5a6acf", "#c0392b",
)  # fmt: skip
"""Every one has a contrast of at least 3 to the light and to the dark page."""
MARKERS = "osD^vPX*hpd<"
DASHES = ("-", "--", "-.", ":")


def curve_svg(
    curve: TradeOff,
    measure: str,
    reference: float | None,
    words: str,
    bounds: Mapping[str, float | None],
    prefix: str,
    title: str,
    description: str,
) -> tuple[str, list[float], float]:
    """Draw the curves, each with its own marker, dashes and name, as an SVG element.

    Returns the element, how far to the right in it each level is, and how far down the lower axis.

    Args:
        curve: what to draw.
        measure: what the values are; the label of the axis.
        reference: the value of releasing the data as they are, where that is known.
        words: what it is called.
        bounds: what is proven at the level of the result itself, with its name.
        prefix: begins every id in the element, so that a page can have several.
        title: its name for those who cannot see it.
        description: what is to be seen.
    """
    with mpl.rc_context({"text.color": INK}):
        figure = Figure(figsize=(4.8, 4.8), layout="constrained")
        axes = figure.subplots()
        _draw_methods(axes, curve)
        _draw_own(axes, curve, bounds)
        if reference is not None:
            _draw_reference(axes, reference, words)
        _set_axes(axes, curve, measure)
        figure.legend(loc="outside lower center", ncols=3, frameon=False, labelcolor=INK)
        figure.set_dpi(72)  # a unit of the SVG is a pixel
        figure.draw_without_rendering()
        figure.set_layout_engine("none")  # the layout is final from here on
        places = [float(axes.transData.transform((level, 1))[0]) for level in curve.levels]
        foot = float(figure.bbox.height - axes.bbox.y0)
    return as_element(figure, prefix, title, description), places, foot


def as_element(figure: Figure, prefix: str, title: str, description: str) -> str:
    """Write a figure as an SVG element of a page.

    Args:
        figure: what was drawn.
        prefix: begins every id in the element.
        title: its name for those who cannot see it.
        description: what is to be seen.
    """
    text = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": prefix}):
        figure.savefig(text, format="svg", transparent=True, metadata={"Date": None})
    return _embedded(text.getvalue(), prefix, title, description)


def _draw_methods(axes: Axes, curve: TradeOff) -> None:
    """Draw every method in a colour, with a marker and with dashes of its own."""
    for i, series in enumerate(sorted(curve.series, key=lambda series: -series.points[-1].value)):
        axes.plot(
            [point.epsilon for point in series.points],
            [point.value for point in series.points],
            color=COLOURS[i % len(COLOURS)],
            marker=MARKERS[(i + i // len(COLOURS)) % len(MARKERS)],
            linestyle=DASHES[i % len(DASHES)],
            markersize=6,
            label=series.name,
            gid=f"curve-{series.name}",
        )


def _draw_own(axes: Axes, curve: TradeOff, bounds: Mapping[str, float | None]) -> None:
    own = curve.own
    ink: dict[str, Any] = {"color": INK, "linestyle": "none", "fillstyle": "none"}
    at = ([own.epsilon], [own.value])
    axes.plot(*at, "o", markersize=14, markeredgewidth=1.5, label="this result", gid="own", **ink)
    marks: tuple[Any, ...] = ("_", CARETDOWN)
    for (name, bound), mark in zip(bounds.items(), marks, strict=True):
        if bound is not None:
            heavy = {"marker": mark, "markersize": 13, "markeredgewidth": 2}
            axes.plot([own.epsilon], [bound], label=name, **heavy, **ink)


def _draw_reference(axes: Axes, value: float, name: str) -> None:
    """Draw a line for the data as they are, or state its value where it would flatten the curves."""
    above = value > 3 * axes.get_ylim()[1]
    if not above:
        axes.axhline(value, color=INK, linewidth=1, linestyle=(0, (1, 3)), gid="reference")
    words = f"{name} = {value:.3g}: the data as they are{', far above' if above else ''}"
    place, units = (
        ((0.01, 0.95), "axes fraction") if above else ((0.01, value), axes.get_yaxis_transform())
    )
    axes.annotate(words, place, (0, 3), units, "offset points")


def _set_axes(axes: Axes, curve: TradeOff, measure: str) -> None:
    values = [point.value for series in curve.series for point in series.points]
    wide = max(values) > 100 * min(values) and len(curve.series) == 1
    if min(values) > 0 and (wide or measure.startswith("±")):
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(FixedLocator(curve.levels))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda level, _: f"{level:.3g}"))
    label(axes, "privacy level ε (smaller is more private)", measure)


def label(axes: Axes, across: str, up: str) -> None:
    """Name both axes, and draw them in the ink of the page.

    Args:
        axes: where the figure is drawn.
        across: what its x are.
        up: what its y are.
    """
    axes.set_xlabel(across, color=INK)
    axes.set_ylabel(up, color=INK)
    axes.tick_params(colors=INK, which="both")
    axes.grid(color=INK, alpha=0.12)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(INK)


def _embedded(svg: str, prefix: str, title: str, description: str) -> str:
    """Turn an SVG file into an element: unique ids, the page's ink, a name and a description."""
    from markupsafe import escape

    view = re.search(r'viewBox="([^"]+)"', svg)
    assert view is not None
    body = (
        svg[svg.index("<defs>") :] if "<metadata>" not in svg else svg[svg.index("</metadata>") + 11 :]
    )
    body = re.sub(r'(\bid="|xlink:href="#|url\(#)', rf"\1{prefix}-", body)
    body = body.replace("xlink:href", "href").replace(INK, "currentColor")
    names = f'aria-labelledby="{prefix}-title" aria-describedby="{prefix}-description"'
    return (
        f'<svg viewBox="{view[1]}" role="img" {names}>'
        f'<title id="{prefix}-title">{escape(title)}</title>'
        f'<desc id="{prefix}-description">{escape(description)}</desc>{body}'
    )


def mechanism_png(mechanism: Mechanism, groups: Sequence[int]) -> str:
    """Draw a large mechanism, a row per input, as a data URI; white lines part the secrets."""
    rows, columns = mechanism.shape
    figure = Figure(figsize=(7.5, float(np.clip(7.5 * rows / columns, 2.5, 9))), layout="constrained")
    axes = mechanism.plot(figure.subplots())
    for end in accumulate(groups[:-1]):
        axes.axhline(end - 0.5, color="white", linewidth=1.5)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set(xlabel="report (column of the table)", ylabel="input (row of the table, from 0)")
    data = io.BytesIO()
    figure.savefig(data, format="png", dpi=110)
    return "data:image/png;base64," + base64.b64encode(data.getvalue()).decode("ascii")
