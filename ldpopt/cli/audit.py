"""``ldpopt audit``: every measure of a mechanism's privacy, its certificate and its sampler."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ldpopt.cli import options as given
from ldpopt.cli.terminal import hang, print_facts, print_table, say, watching
from ldpopt.core.exact import EXIT_CODES

if TYPE_CHECKING:
    from ldpopt.audit.findings import Audit
    from ldpopt.tables.batches import TableReader

LEVELS = {
    "known-public": "{} nats for whoever knows the public value",
    "two-reports": "{} for two reports about one person",
    "ldp": "{} between any two inputs",
}
GUESSES = {
    "guess": "whoever knows the frequencies guesses the secret right in {blind-guess} of 100 cases, "
    "with one report in {guess}",
    "guess-given-public": "who knows the public value, too, in {blind-guess-given-public} and "
    "{guess-given-public}",
}
"""What the first screen says of the measures with these keys, beside the verdict."""
DATA = ("data-observed", "data-alike")
"""What it says of another table, where the promise is about tables like the design's."""


def audit(
    file: Path,
    data: str | None = None,
    released: str | None = None,
    missing: str = "refuse",
    person: given.Person = "",
    sep: str | None = None,
    encoding: str = "utf-8",
    decimal: str = ".",
    dates: str = given.ISO,
    part: given.PartOption = "",
    samples: Annotated[int | None, typer.Option(min=20)] = None,
    confidence: float = 0.99,
    sets: Annotated[list[str] | None, typer.Option("--set")] = None,
    beside: list[Path] | None = None,
    time_limit: float | None = None,
    problem: str | None = None,
    explain: bool = False,
    as_json: given.AsJson = False,
) -> None:
    """Measure a mechanism's privacy in several senses, and attack its sampler.

    Exit code 0: passed, 1: failed, 2: bad input, 3: undecided within the checker's budget, 4: no promise
    was checked, or not that of the file, which does not hold the counts that it is about.

    Options:
        file: A file of ldpopt design or of ldpopt solve.
        data: A table: test whether the mechanism is made for such data.
        released: The reports on that table, row by row: test the pairs.
        missing: Rows of --data with an empty cell: refuse or drop, as for privatize.
        samples: Reports of the sampler to attack, per secret.
        confidence: The probability with which a correct sampler passes.
        sets: Also prove the level over a set around the table: tv:0.05, kl:0.01, likelihood:0.01,
            hellinger:0.1, wasserstein:0.05, credible:0.05, known.
        beside: Another mechanism for the same values, used on the same people: the level of both.
        time_limit: Seconds; then claims are left undecided and fewer reports are drawn.
        explain: Print also every measure, what it means, and the claims.
    """
    from ldpopt.core.limits import Limits

    limits = Limits.within(time_limit)
    from ldpopt.audit.audited import used_beside
    from ldpopt.audit.auditing import audit as examine
    from ldpopt.audit.set_levels import levels_over

    given.know(problem)
    what = f"auditing {file}: its certificate, levels, leakage, and its sampler under attack"
    shares = 1 + len(sets or ())  # the levels over sets have as much time each as the rest together
    share = limits.left(1 / shares)
    written = sep, encoding, person, decimal, dates, part
    with watching(what, time_limit):
        table = None if data is None else _table(data, file, missing, *written)
        found = examine(file, table, released, samples=samples, confidence=confidence, time_limit=share)
        over = levels_over(file, sets or (), None if share is None else share * (shares - 1))
        with limits.held():
            mixed = used_beside(file, beside or ())
    if as_json:
        extra = {"sets": [level.to_json() for level in over]} if over else {}
        both = {"beside": mixed.to_json()} if mixed else {}
        print(json.dumps({**found.to_json(), **extra, **both}, allow_nan=False))
    else:
        if explain:
            _print(found)
        else:
            print_facts(_first_screen(found, file))
        if mixed:
            say(mixed.in_words())
        for level in over:
            say(level.in_words())
    raise typer.Exit(EXIT_CODES[found.passed])


def _table(data: str, file: Path, missing: str, *written: Any) -> TableReader:
    """Open the table of --data, without the rows that were not released."""
    from ldpopt.release.designing import load_mechanism

    if missing == "refuse":
        return given.opened(data, *written)
    return given.prepared(data, load_mechanism(file), missing, *written)


def _first_screen(found: Audit, file: Path) -> dict[str, str]:
    """Say the verdict and the numbers that a person decides on; what does not apply is left out."""
    from ldpopt.engine.verifying import NOT_CHECKED

    known = {measure.key: measure for measure in found.measures}
    cases = {key: round(100 * measure.value) for key, measure in known.items() if "guess" in key}
    told = {
        "levels": [text.format(known[key].text) for key, text in LEVELS.items() if key in known],
        "guesses": [text.format(**cases) for key, text in GUESSES.items() if key in cases],
        "data": [
            f"{known[key].name} {known[key].text}" for key in DATA if {key, "robust"} <= known.keys()
        ],
    }
    return {
        "verdict": found.verdict,
        **({"finish": f"ldpopt verify {file} --budget 600"} if found.passed is None else {}),
        **{name: f"{', '.join(parts)} [{NOT_CHECKED}]" for name, parts in told.items() if parts},
        "more": "every measure, what it means, the attacks and the claims: --explain",
    }


def _print(found: Audit) -> None:
    from ldpopt.engine.verifying import NOT_CHECKED

    if found.measures:
        titles = ("measure", "value", "unit", "promised", "holds")
        left = ("measure", "unit", "holds")
        rows = (
            (m.name, m.text, m.unit, f"≤ {m.limit}" if m.limit else None, m.holds)
            for m in found.measures
        )
        print_table(titles, rows, left, spare=("unit",))
    for measure in found.measures:
        detail = f" ({measure.detail})" if measure.detail else ""
        hang(f"{measure.name}: ", f"{measure.meaning}{detail}.")
    if found.measures:
        words = "the checker decided the claims below."
        hang("", f"The measures are computed in floats [{NOT_CHECKED}]; {words}")
    for test in found.empirical:
        for sentence in test.in_words():
            hang("", sentence)
    for claim in found.claims:
        mark, statement = str(claim)[:9], str(claim)[9:]
        hang(mark, statement)
    print()
    hang("", found.verdict)
