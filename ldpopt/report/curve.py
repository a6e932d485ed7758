"""The trade-off between privacy and utility, as a figure with its numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from markupsafe import Markup

from ldpopt.core.number_text import in_full
from ldpopt.core.problem import INFORMATION
from ldpopt.engine.verifying import NOT_CERTIFIED, NOT_CHECKED
from ldpopt.release.accuracy import accuracies, data_accuracies
from ldpopt.release.designed import Design
from ldpopt.release.matrix_randomizer import Matrix
from ldpopt.release.promises import margin, promise_of
from ldpopt.report import page_figures, tradeoff
from ldpopt.report.answer import data_entropy, proven_ceiling
from ldpopt.report.heatmap import probability
from ldpopt.report.loading import Loaded
from ldpopt.report.sections import Curve
from ldpopt.report.wording import isolated, label_text, number

Progress = Callable[[int, int], None]
MOST_CELLS = 400
"""A larger mechanism is not shown beside the slider."""


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
        free = result.problem.has_free_level
        what = (
            "the result has no value to compare"
            if free
            else "its privacy is not one level ε of all secrets"
        )
        return None, f"There is no curve of {result.problem.title} over ε: {what}."
    if not loaded.verification:
        said = "undecided" if loaded.verification.verdict is None else "refuted"
        return None, f"No curve was computed: the result is {said}."
    if seconds <= 0:
        return None, "No curve was computed, as asked (--curve-seconds 0)."
    if isinstance(content, Design):
        found = tradeoff.of_design(content, seconds, progress)
    else:
        found = tradeoff.of_result(content, seconds, progress)
    return _drawn(found, loaded, name), ""


class _Compared(NamedTuple):
    """What the curve shows, and what the data as they are would have, where that is known."""

    measure: str
    reference: float | None
    words: str


def _compared(loaded: Loaded) -> _Compared:
    """Name what the curve shows: of a design the ± of what it is for, or its information."""
    made = loaded.content
    if not isinstance(made, Design):
        return _Compared(str(loaded.result.problem.measure), data_entropy(loaded), "H(X)")
    if not (columns := tradeoff.precise(made)):
        return _Compared(str(INFORMATION), made.entropy, "H(X)")
    raw = data_accuracies(made.question.counts, made.domain, columns)
    least = max(part.margin(made.rows) * (part.unit or 100) for part in raw)
    of = "of the mean" if made.domain.of_numbers else "in points of a share"
    return _Compared(f"± {of}, from {made.rows:,} reports", least, "±")


def _drawn(found: tradeoff.TradeOff, loaded: Loaded, name: str) -> Curve:
    compared, content = _compared(loaded), loaded.content
    measure = compared.measure
    title = f"{measure} over the privacy level ε".capitalize()
    promises = {
        series.name: promise_of(content, series.name) if isinstance(content, Design) else ""
        for series in found.series
    }
    like = promises[found.own_name]
    drawn = replace(found, series=tuple(s for s in found.series if promises[s.name] == like))
    own, names = found.own, ", ".join(series.name for series in drawn.series)
    certified = loaded.verification.certifies_utility
    description = (
        f"Curves of {names}. This result: {number(own.value)} at ε = {in_full(own.epsilon)}. "
        "All numbers are in the table below the figure."
    )
    svg, places, foot = page_figures.curve_svg(
        drawn,
        measure,
        compared.reference,
        compared.words,
        {
            "its proven bound" if certified else f"its bound [{NOT_CERTIFIED}]": own.bound,
            "bound of every method": None if compared.words == "±" else proven_ceiling(loaded),
        },
        f"{name}-curve",
        title,
        description,
    )
    groups: dict[str, list[tuple[str, str, list[str]]]] = {like: []}
    levels = found.levels
    for series in found.series:
        at = {point.epsilon: point for point in series.points}
        values = [number(at[level].value, 4) if level in at else "–" for level in levels]
        groups.setdefault(promises[series.name], []).append((series.name, series.summary, values))
    sentence = (
        f"Each other point is the same question at its ε, to a relative gap of {tradeoff.GAP:g} or "
        f"until {tradeoff.SECONDS:g} s have passed [{NOT_CHECKED}]; all together took "
        f"{found.seconds:.0f} s."
    )
    return Curve(
        Markup(svg),
        [f"{level:.4g}" for level in levels],
        list(groups.items()),
        explored(found, loaded, promises, measure, dict(zip(drawn.levels, places, strict=True)), foot),
        found.omitted,
        sentence,
    )


def explored(
    found: tradeoff.TradeOff,
    loaded: Loaded,
    promises: dict[str, str],
    measure: str,
    places: dict[float, float],
    foot: float,
) -> dict[str, Any]:
    """Give every method at every level as plain data: value, accuracy, and the mechanism if it is small.

    Args:
        found: the curves.
        loaded: the result.
        promises: what each method promises.
        measure: what the values are.
        places: how far to the right each level of the figure is.
        foot: how far down its lower axis is.
    """
    levels, shown = found.levels, {series.name: series for series in found.series}
    return {
        "levels": [f"{level:.4g}" for level in levels],
        "places": [places.get(level) for level in levels],
        "foot": foot,
        "start": levels.index(found.own.epsilon),
        "own": found.own_name,
        "measure": measure,
        "most": MOST_CELLS,
        "inputs": _inputs(loaded),
        "methods": [
            {
                "name": name,
                "promise": promises[name],
                "points": [_explored_point(found, loaded, name, level) for level in levels],
            }
            for name in sorted(shown, key=lambda name: name != found.own_name)
        ],
    }


def _inputs(loaded: Loaded) -> list[str]:
    if isinstance(loaded.content, Design):
        return list(map(isolated, loaded.content.domain.labels))
    found = loaded.result.mechanism
    labels = () if found is None else found.inputs
    return [isolated(label_text(label)) for label in labels]


def _explored_point(
    found: tradeoff.TradeOff, loaded: Loaded, name: str, level: float
) -> dict[str, Any] | None:
    series = next(series for series in found.series if series.name == name)
    point = next((point for point in series.points if point.epsilon == level), None)
    if point is None:
        return None
    mechanism, made = found.mechanisms.get((name, level)), loaded.content
    plain: dict[str, Any] = {"value": number(point.value, 4), "accuracy": [], "rows": []}
    if mechanism is None:
        return plain
    if isinstance(made, Design):
        counts = made.question.counts
        parts = accuracies(Matrix(mechanism), counts, made.domain)
        said = (f"{part.name} {margin(part, int(counts.sum()))}" for part in parts)
        plain["accuracy"] = list(map(isolated, said))
    if mechanism.matrix.size <= MOST_CELLS:
        plain["rows"] = [[probability(p) for p in row] for row in mechanism.matrix.tolist()]
    return plain
