"""A mechanism as a shaded table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby, product

from ldpopt.core.mechanism import Mechanism
from ldpopt.core.validate import Array
from ldpopt.engine.result import Result
from ldpopt.release.designed import Design
from ldpopt.report import page_figures
from ldpopt.report.answer import known_distribution
from ldpopt.report.loading import Loaded
from ldpopt.report.sections import Cell, Group, Heatmap
from ldpopt.report.wording import label_text
from ldpopt.tables.domain import Domain

LARGE, MOST_CELLS = 40, 40_000
"""With more rows or columns a mechanism is drawn and its table folded; with more cells it has none."""
LEAST = 1e-6
"""Probabilities below this are shown as ≈ 0."""


def heatmap(loaded: Loaded) -> Heatmap | None:
    """Shade the entries of the mechanism, if there is one."""
    mechanism = loaded.result.mechanism
    if mechanism is None:
        return None
    made = loaded.content
    corner, named = (
        _design_inputs(made.domain) if isinstance(made, Design) else _result_inputs(made, mechanism)
    )
    return _shaded(corner, named, mechanism, known_distribution(loaded.result))


def design_heatmap(domain: Domain, mechanism: Mechanism) -> Heatmap:
    """Shade the entries of a mechanism for tables of a domain."""
    return _shaded(*_design_inputs(domain), mechanism, None)


def _shaded(corner: str, named: list[tuple[str, str]], mechanism: Mechanism, p: Array | None) -> Heatmap:
    """Shade the entries of a mechanism.

    Args:
        corner: the word for an input.
        named: the secret of each row ("" without groups), and its own name.
        mechanism: the mechanism.
        p: the distribution of the inputs, where it is known.
    """
    largest = float(mechanism.matrix.max())
    rows, columns = mechanism.shape
    fits = rows * columns <= MOST_CELLS
    large = max(rows, columns) > LARGE
    secrets = [list(group) for _, group in groupby(named, key=lambda pair: pair[0])]
    return Heatmap(
        shape=mechanism.shape,
        corner=corner,
        outputs=[label_text(output) for output in mechanism.outputs],
        groups=list(_groups(named, mechanism.matrix, largest)) if fits else [],
        overall=_cells(p @ mechanism.matrix, largest) if fits and p is not None else [],
        largest=probability(largest),
        image=page_figures.mechanism_png(mechanism, [len(group) for group in secrets]) if large else "",
        large=large,
    )


def _design_inputs(domain: Domain) -> tuple[str, list[tuple[str, str]]]:
    """Return the word for an input of a table, and each row's secret ("" without groups) and name."""
    secret, public = domain.secret, domain.public
    if public is None:
        return secret.name, [("", label) for label in secret.labels]
    return public.name, [(f"{secret.name}: {s}", u) for s in secret.labels for u in public.labels]


def _result_inputs(content: Result, mechanism: Mechanism) -> tuple[str, list[tuple[str, str]]]:
    """Return the word for an input of a result, and each row's secret ("" without groups) and name."""
    of = content.problem.subject(mechanism)
    if of.public_names:
        return "public value", list(product(of.secret_names, of.public_names))
    return "input", [("", label_text(label)) for label in mechanism.inputs]


def _groups(named: list[tuple[str, str]], matrix: Array, largest: float) -> Iterator[Group]:
    rows = iter(matrix)
    for name, members in groupby(named, key=lambda pair: pair[0]):
        yield Group(name, [(label, _cells(next(rows), largest)) for _, label in members])


def _cells(row: Iterable[float], largest: float) -> list[Cell]:
    return [Cell(probability(p), round(p / largest, 3)) for p in row]


def probability(p: float) -> str:
    """Write three decimals, or the leading digit of a smaller number.

    What the repair to exact arithmetic left is ≈ 0, and what is left of 1 is ≈ 1.

    >>> probability(0.25), probability(0.9999), probability(1.0)
    ('0.250', '≈ 1', '1.000')
    """
    if p == 0 or p >= 0.001:
        return "≈ 1" if 0.9995 <= p < 1 else f"{p:.3f}" if p else "0"
    return f"{p:.0e}" if p >= LEAST else "≈ 0"
