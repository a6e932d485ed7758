"""The page of ``ldpopt exposure``: how many rows stand out, and which columns may be released."""

from __future__ import annotations

import math
import os
from collections import Counter

from markupsafe import Markup

from ldpopt.core.files import write_whole
from ldpopt.release.promises import exposure_in_words, rows_in_words
from ldpopt.release.safe_columns import Exposed
from ldpopt.report.rendering import rendered

WIDTH, HEIGHT, LEFT, BOTTOM = 380, 260, 48, 36
"""The size of the drawing and the room for its labels, in its own units."""


def write_page(found: Exposed, out: str | os.PathLike[str]) -> None:
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


def curve(found: Exposed) -> str:
    """Draw the exposed share of the rows against the threshold, a step function, as SVG paths."""
    steps, exposed = [], 0
    for size, groups in sorted(Counter(found.sizes).items()):
        exposed += size * groups  # of every threshold above this size
        steps.append((size, exposed))
    points = [f"M{LEFT},{HEIGHT - BOTTOM}"]
    for crowd, below in steps:
        points.append(f"H{_across(crowd, found.rows):.1f}")
        points.append(f"V{_up(below / found.rows):.1f}")
    points.append(f"H{WIDTH}")
    powers = range(math.floor(math.log10(found.rows)) + 1)
    ticks = "".join(
        f'<text x="{_across(found.rows / 10**power, found.rows):.1f}" y="{HEIGHT - BOTTOM + 18}" '
        f'text-anchor="middle">{100 / 10**power:g} %</text>'
        for power in powers
    )
    marks = "".join(
        f'<text x="{LEFT - 6}" y="{_up(share) + 4:.1f}" text-anchor="end">{100 * share:g} %</text>'
        f'<path d="M{LEFT},{_up(share):.1f}H{WIDTH}" class="grid"/>'
        for share in (0, 0.25, 0.5, 0.75, 1)
    )
    at = _across(found.threshold * found.rows, found.rows)
    asked = f'<path d="M{at:.1f},{_up(1):.1f}V{_up(0):.1f}" class="asked"/>'
    return f'{marks}{ticks}{asked}<path d="{"".join(points)}" class="curve"/>'


def _across(crowd: float, rows: int) -> float:
    share = math.log(max(crowd, 1)) / math.log(max(rows, 2))
    return LEFT + (WIDTH - LEFT) * min(share, 1.0)


def _up(share: float) -> float:
    return (HEIGHT - BOTTOM) * (1 - share) + 8 * share
