"""The trade-off between privacy and utility, as a figure with its numbers."""

from __future__ import annotations

from collections.abc import Callable

from markupsafe import Markup

from ldpopt.core.measure import INFORMATION
from ldpopt.release.designing import Design
from ldpopt.report import figures, tradeoff
from ldpopt.report.answer import data_entropy, proven_ceiling
from ldpopt.report.files import Loaded
from ldpopt.report.parts import Curve
from ldpopt.report.words import number

Progress = Callable[[int, int], None]


def trade_off_curve(
    loaded: Loaded, name: str, seconds: float, progress: Progress | None
) -> tuple[Curve | None, str]:
    """Compute the curve, or give the sentence that says why there is none.

    Args:
        loaded: the result.
        name: the id of the part of the page; the ids of the figure begin with it.
        seconds: how long the curve may take; 0 for none.
        progress: called with (finished, total) solves.
    """
    content, result = loaded.content, loaded.result
    if not tradeoff.has_level(result):
        what = "has no level ε to vary" if loaded.epsilon is None else "has no value to compare"
        return None, f"There is no curve over ε: the problem {result.problem.kind} {what}."
    if not loaded.verification:
        return None, "No curve was computed: the result is refuted."
    if seconds <= 0:
        return None, "No curve was computed, as asked (--curve-seconds 0)."
    if isinstance(content, Design):
        found = tradeoff.of_design(content, seconds, progress)
    else:
        found = tradeoff.of_result(content, seconds, progress)
    return _drawn(found, loaded, name), ""


def _curve_measure(loaded: Loaded) -> str:
    """Name what the curve shows; designs are compared by their information, whatever they optimise."""
    if isinstance(loaded.content, Design):
        return str(INFORMATION)
    return str(loaded.result.problem.measure)


def _drawn(found: tradeoff.TradeOff, loaded: Loaded, name: str) -> Curve:
    measure = _curve_measure(loaded)
    title = f"{measure} over the privacy level ε".capitalize()
    own, names = found.own, ", ".join(series.name for series in found.series)
    description = (
        f"Curves of {names}. This result: {number(own.value)} at ε = {own.epsilon:g}. "
        "All numbers are in the table below the figure."
    )
    svg = figures.curve_svg(
        found,
        measure,
        loaded.content.entropy if isinstance(loaded.content, Design) else data_entropy(loaded),
        {"its proven bound": own.bound, "bound of every method": proven_ceiling(loaded.result)},
        f"{name}-curve",
        title,
        description,
    )
    rows = []
    for series in found.series:
        at = {point.epsilon: point for point in series.points}
        values = [number(at[level].value, 4) if level in at else "–" for level in found.levels]
        rows.append((series.name, series.summary, values))
    sentence = (
        f"Each point is the same question at another ε, to a relative gap of {tradeoff.GAP:g} or until "
        f"{tradeoff.SECONDS:g} s have passed; all together took {found.seconds:.0f} s."
    )
    return Curve(Markup(svg), [f"{level:.4g}" for level in found.levels], rows, found.omitted, sentence)
