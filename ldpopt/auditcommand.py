"""``ldpopt audit``: every measure of a mechanism's privacy, its certificate and its sampler."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from ldpopt.auditing import Audit, Empirical
    from ldpopt.measures import Measure


def audit(
    file: Annotated[Path, typer.Argument(help="A file of ldpopt design or of ldpopt solve.")],
    data: Annotated[
        str | None, typer.Option(help="A table: is its distribution one the mechanism is made for?")
    ] = None,
    released: Annotated[
        str | None, typer.Option(help="What was released of that table, row by row: test the pairs.")
    ] = None,
    samples: Annotated[
        int | None, typer.Option(min=2, help="Reports of the sampler to attack, per secret.")
    ] = None,
    confidence: Annotated[
        float, typer.Option(help="The probability with which a correct sampler passes.")
    ] = 0.99,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object instead of a table.")
    ] = False,
) -> None:
    """Measure a mechanism's privacy in every sense and attack its sampler (exit 0, 1 failed, 2)."""
    from ldpopt.auditing import audit as examine

    with _working():
        found = examine(file, data, released, samples=samples, confidence=confidence)
    if as_json:
        print(json.dumps(found.to_json(), ensure_ascii=False, allow_nan=False))
    else:
        _print(found)
    raise typer.Exit(0 if found.passed else 1)


def _print(found: Audit) -> None:
    console = Console()
    console = console if console.is_terminal else Console(width=200)
    if found.measures:
        console.print(_measure_table(found.measures))
    for test in found.empirical:
        print(_in_words(test))
    for claim in found.claims:
        print(f"{'holds  ' if claim.holds else 'REFUTED'}  {claim.statement} [{claim.strength}]")
    print(found.verdict)


def _measure_table(measures: tuple[Measure, ...]) -> Table:
    table = Table(show_lines=True)
    for title in ("measure", "value", "unit", "promised", "holds", "what it means"):
        table.add_column(title, justify="right" if title in ("value", "promised") else "left")
    words = {True: "yes", False: "NO", None: "–"}
    for measure in measures:
        table.add_row(
            measure.name,
            _value(measure),
            measure.unit,
            "–" if measure.promised is None else f"≤ {measure.promised:.4g}",
            words[measure.holds],
            measure.meaning + (f" ({measure.detail})" if measure.detail else ""),
        )
    return table


def _value(measure: Measure) -> str:
    value, upper = f"{measure.value:.4g}", f"{measure.upper or measure.value:.4g}"
    return value if value == upper else f"{value} to {upper}"


def _in_words(test: Empirical) -> str:
    bound, outcome = test.bound, "could not be told from" if test.fits else "do NOT fit"
    return (
        f"Attack on {test.reports} reports of {test.source}: ε ≥ {bound.epsilon:.4g} "
        f"(allowed {test.allowed:.4g}; {bound.hits}/{bound.trials} against "
        f"{bound.other_hits}/{bound.other_trials} reports in a set of {len(bound.outputs)}).\n"
        f"The reports {outcome} those of the mechanism (χ² test of {test.fit.rows} inputs, "
        f"p = {test.fit.p_value:.2g})."
    )


def _working() -> contextlib.AbstractContextManager[object]:
    """A spinner on a terminal, nothing in a pipe."""
    console = Console(stderr=True)
    return console.status("auditing") if console.is_terminal else contextlib.nullcontext()
