"""``ldpopt audit``: every measure of a mechanism's privacy, its certificate and its sampler."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ldpopt.terminal import AsJson, err_console, print_table

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
    as_json: AsJson = False,
) -> None:
    """Measure a mechanism's privacy in every sense and attack its sampler (exit 0, 1 failed, 2)."""
    from ldpopt.auditing import audit as examine

    with err_console.status("auditing") if err_console.is_terminal else contextlib.nullcontext():
        found = examine(file, data, released, samples=samples, confidence=confidence)
    if as_json:
        print(json.dumps(found.to_json(), ensure_ascii=False, allow_nan=False))
    else:
        _print(found)
    raise typer.Exit(0 if found.passed else 1)


def _print(found: Audit) -> None:
    if found.measures:
        titles = ("measure", "value", "unit", "promised", "holds", "what it means")
        print_table(
            titles, map(_row, found.measures), left=("measure", "unit", "holds", "what it means")
        )
    for measure in found.measures:
        if measure.detail:
            print(f"{measure.name}: {measure.detail}.")
    for test in found.empirical:
        print(_in_words(test))
    for claim in found.claims:
        print(f"{'holds  ' if claim.holds else 'REFUTED'}  {claim.statement} [{claim.strength}]")
    print(f"\n{found.verdict}")


def _row(measure: Measure) -> tuple[object, ...]:
    promised = None if measure.promised is None else f"≤ {measure.promised:.4g}"
    return measure.name, _value(measure), measure.unit, promised, measure.holds, measure.meaning


def _value(measure: Measure) -> str:
    value = f"{measure.value:.4g}"
    upper = value if measure.upper is None else f"{measure.upper:.4g}"
    return value if value == upper else f"{value} to {upper}"


def _in_words(test: Empirical) -> str:
    bound, outcome = test.bound, "could not be told from" if test.fits else "do NOT fit"
    secret, other = test.told_apart
    chosen = f"{len(bound.outputs)} report{'' if len(bound.outputs) == 1 else 's'}"
    return (
        f"Attack on {test.reports:,} reports of {test.source}: ε ≥ {bound.epsilon:.4g}, allowed "
        f"{test.allowed:.4g}; {chosen} chosen from inputs of {test.inputs} made up "
        f"{bound.hits / max(bound.trials, 1):.4g} of those on {secret} and "
        f"{bound.other_hits / max(bound.other_trials, 1):.4g} on {other}.\n"
        f"The reports {outcome} those of the mechanism (χ² test of {test.fit.rows} inputs, "
        f"p = {test.fit.p_value:.2g})."
    )
