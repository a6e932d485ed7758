"""``ldpopt design``: a mechanism made for a table."""

from __future__ import annotations

import json
import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ldpopt.cli.options import (
    AsJson,
    Encoding,
    Force,
    Separator,
    TableName,
    read_bins,
    read_levels,
    read_top,
    split_columns,
)
from ldpopt.cli.terminal import (
    check_new,
    check_writable,
    checker_seconds,
    err_console,
    hang,
    print_facts,
    print_table,
    say,
    tell,
    watching,
)
from ldpopt.core.errors import InvalidInputError
from ldpopt.core.plain import plain_number

if TYPE_CHECKING:
    from ldpopt.engine.verifying import Verification
    from ldpopt.release.designing import Design

COMPARING = 0.8
"""Of the time left: for the other methods; the rest is for the check of their claims."""


def design(
    table: TableName,
    secret: Annotated[
        str,
        typer.Option(help="Columns to hide, comma-separated; a name with a comma in double quotes."),
    ],
    epsilon: Annotated[float, typer.Option(help="The privacy level, in nats.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Write the mechanism here.")],
    public: Annotated[
        str, typer.Option(help="Columns to release, comma-separated; without, all data are secret.")
    ] = "",
    robust: Annotated[
        str | None,
        typer.Option(
            help="chi2 (default): hide it for every distribution near the table's; all: for all."
        ),
    ] = None,
    known: Annotated[
        bool, typer.Option("--known", help="Take the table's distribution for the true one.")
    ] = False,
    alpha: Annotated[float, typer.Option(help="Significance level of the χ² set.")] = 0.05,
    method: Annotated[
        str,
        typer.Option(help="auto, or a name that ldpopt list methods prints."),
    ] = "auto",
    compare: Annotated[
        bool, typer.Option("--compare", help="Solve by every method; with auto, keep the best.")
    ] = False,
    bins: Annotated[
        list[str] | None,
        typer.Option(help="COLUMN=5 (that many bins), COLUMN=18,30,65 or COLUMN=1980-01-01 (edges)."),
    ] = None,
    top: Annotated[
        list[str] | None,
        typer.Option(help="COLUMN=20: tell the 20 most frequent values apart; all others are (other)."),
    ] = None,
    levels: Annotated[
        list[str] | None,
        typer.Option(help="COLUMN=2: its first 2 characters count; COLUMN=FILE: groups, from a table."),
    ] = None,
    missing: Annotated[
        str,
        typer.Option(help="Rows with an empty cell: refuse, drop, or category (the value (missing))."),
    ] = "refuse",
    sep: Separator = None,
    encoding: Encoding = "utf-8",
    text: Annotated[
        str, typer.Option(help="Columns whose cells are words, even '12' and 'NA'; comma-separated.")
    ] = "",
    width: Annotated[
        int | None,
        typer.Option(help="How many groups of public values polyopt tells apart; default: the best."),
    ] = None,
    reports: Annotated[
        int, typer.Option(min=1, help="How many reports about one person have together the level.")
    ] = 1,
    goal: Annotated[
        str, typer.Option("--for", help="information, or estimates: the least error of frequencies.")
    ] = "information",
    queries: Annotated[
        str, typer.Option(help="Columns whose frequencies are wanted, comma-separated; default: all.")
    ] = "",
    time_limit: Annotated[
        float | None, typer.Option(help="Seconds for all; default: 30, and 120 with --compare.")
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Design a mechanism that hides the secret columns of a table and releases the public ones.

    Two files are written: OUT with the counts of the table, which prove the promise, and beside it
    OUT.public without them, with which the other commands work, too.
    """
    from ldpopt.engine.verifying import verify
    from ldpopt.release import comparing, designing
    from ldpopt.release.publishing import public_path
    from ldpopt.tables.files import open_table

    start = time.monotonic()
    if time_limit is None:
        time_limit = comparing.TOGETHER if compare else designing.SECONDS
    seconds = time_limit / 2 if compare else time_limit  # the other half is for the other methods
    public_file, asked = public_path(out), split_columns(queries)
    for file in (out, public_file):
        check_writable(file, table)
        check_new(file, force)
    with watching(f"reading {table}", seconds) as watch:
        made = designing.design(
            open_table(table, sep=sep, encoding=encoding),
            split_columns(secret),
            split_columns(public),
            epsilon=epsilon,
            robust=_robustness(robust, known),
            alpha=alpha,
            method=method,
            bins=read_bins(bins or []),
            text=split_columns(text),
            top=read_top(top or []),
            levels=read_levels(levels or []),
            missing=missing,
            width=width,
            reports=reports,
            goal=goal,
            queries=asked,
            time_limit=seconds,
            progress=watch,
            step=lambda name: watch.step(f"designing by {name}"),
            warn=lambda sentence: tell(f"note: {sentence}"),
        )
    found: dict[str, Design | str] = {}
    if compare:
        left = max(COMPARING * (time_limit - (time.monotonic() - start)), designing.LEAST_SECONDS)
        with watching("comparing methods", left) as watch:
            found = comparing.compare(
                made,
                time_limit=left,
                progress=watch,
                step=lambda done, of, name: watch.step(f"{done + 1} of {of}: {name}"),
                row=_tell_method if err_console.is_terminal else None,
            )
        made = comparing.best(found, goal, asked) if method == "auto" else made
    made.save(out)
    made.public.save(public_file)
    if any(map(comparing.was_interrupted, [made, *found.values()])):
        _print_unfinished(made, found, out, as_json)
        raise KeyboardInterrupt
    allowed = checker_seconds(start, time_limit)
    with watching("checking the certificate", allowed):
        verification = verify(out, budget=allowed)
    found = comparing.checked_within(found, checker_seconds(start, time_limit))
    if as_json:
        print(json.dumps(_design_summary(made, found, bool(verification), asked), allow_nan=False))
    else:
        if found:
            _print_comparison(found, made, goal, asked)
        reading = _reading(sep, encoding, missing)
        _print_design(made, table, reading, out, verification, asked, goal)
    if not verification:
        raise typer.Exit(1)


def _robustness(robust: str | None, known: bool) -> str:
    if known and robust is not None:
        raise InvalidInputError("--known and --robust exclude each other")
    return "known" if known else robust or "chi2"


def _reading(sep: str | None, encoding: str, missing: str) -> list[str]:
    """Return the options with which the next command reads the table as this one did."""
    options = [] if sep is None else ["--sep", sep]
    options += [] if encoding == "utf-8" else ["--encoding", encoding]
    return [*options, *(["--missing", "drop"] if missing == "drop" else [])]


def _print_unfinished(made: Design, found: dict[str, Design | str], out: Path, as_json: bool) -> None:
    """Say at once what Ctrl-C leaves: the checker would take time that nobody wants to give."""
    if as_json:
        print(json.dumps({"method": made.method, "interrupted": True, "verified": None}))
        return
    for name, other in found.items():
        told = other if isinstance(other, str) else f"{other.information:.4g} nats [not checked]"
        say(f"{name}: {told}")
    say(f"wrote {out} by {made.method} [not checked]; check it with: ldpopt verify {out}")


def _print_design(
    made: Design,
    table: str,
    reading: list[str],
    out: Path,
    verification: Verification,
    queries: list[str],
    goal: str,
) -> None:
    from ldpopt.engine.verifying import NOT_CHECKED
    from ldpopt.release.methods import METHODS
    from ldpopt.release.publishing import public_path
    from ldpopt.release.repetition import repetition
    from ldpopt.release.words import (
        advice,
        attained,
        caveat,
        holds_for,
        learnable,
        merging,
        outcome,
        promise,
    )

    result, question, domain, public = made.result, made.question, made.domain, made.domain.public
    status = verification.told(result.status.value)
    if merging(made):
        status = status.replace("optimal among", "the best among")
    facts = {
        "outcome": f"{outcome(made, queries)} [{NOT_CHECKED}]{advice(made, goal, queries)}",
        **({"merged": verification.marked(merging(made))} if merging(made) else {}),
        "table": f"{table}, {int(question.counts.sum()):,} rows",
        "secret": f"{domain.secret.name} ({len(domain.secret)} values)",
        "public": "–" if public is None else f"{public.name} ({len(public)} values)",
        "promise": verification.marked_promise(promise(made)),
        "it holds": holds_for(made),
        "repeated": f"{repetition(made)} [{NOT_CHECKED}]",
        "method": f"{made.method}: {METHODS[made.method].summary}",
        "utility": verification.marked(_utility(made)),
        "proven": verification.proven or "nothing about better mechanisms",
        "status": f"{verification.marked(status)}, by {result.solver} in {result.seconds:.1f} s",
        "certificate": verification.summary,
        "share": f"{_share(made)} [{NOT_CHECKED}]",
        "audit": f"{attained(made)} [{NOT_CHECKED}]",
        "estimates": f"{learnable(made)} [{NOT_CHECKED}]",
        **({"beware": f"{caveat(made)} [{NOT_CHECKED}]"} if caveat(made) else {}),
        "note": f"{out} contains the counts of the table: design on data that may be known",
        "publish": f"{public_path(out)}: {_publishable(made)}",
        "wrote": f"{out}; check it with: ldpopt verify {out}",
        "next": shlex.join(
            ["ldpopt", "privatize", table, *reading, "--mechanism", str(out), "-o", "released.csv"]
        ),
    }
    print_facts(facts)


def _publishable(made: Design) -> str:
    """Say what the public file still proves, and what of the table is in it."""
    level = made.public.level
    if made.public.universal:
        said = "without the counts; it proves the promise, too"
    elif level is None:
        said = "without the counts; it proves no level, as the promise is about the counts"
    else:
        said = f"without the counts; it proves the level {level:.4g} alone, as the promise is about them"
    return f"{said}. The mechanism itself was made for them"


def _utility(made: Design) -> str:
    """Say the value that the method aims at, and what is proven about it."""
    result = made.result
    bound = "" if result.bound is None else f"; proven bound {result.bound:.4g}"
    if made.informs:
        return f"{made.information:.4g} nats of information{bound}"
    return f"{result.problem.measure.name}: {result.value:.4g}{bound}"


def _share(made: Design) -> str:
    share = made.information / made.entropy
    nats = "" if made.informs else f"{made.information:.4g} nats of information, "
    return f"{nats}{share:.1%} of the {made.entropy:.4g} nats that the data as they are would tell"


TITLES = {
    "information": "Information released, most first (* is kept)",
    "estimates": "Frequencies from as many rows as the table's, least squared error first (* is kept)",
}


def _print_comparison(
    found: dict[str, Design | str], kept: Design, goal: str, queries: list[str]
) -> None:
    designs = [made for made in found.values() if not isinstance(made, str)]
    designs.sort(key=lambda made: -made.worth(goal, queries))
    rows = []
    for made in designs:
        row = _comparison_row(made.method, made)
        row = row if goal == "information" else _estimates_row(row, made, queries)
        rows.append({**row, "method": made.method + (" *" if made.method == kept.method else "")})
    print_table(
        list(rows[0]),
        [list(row.values()) for row in rows],
        left=("method", "status"),
        title=TITLES[goal],
        spare=("LDP level", "× rows", "reports", "of all", "seconds", "determined", "proven bound"),
    )
    hang(
        "verified: ",
        "the independent checker decided status, proven bound and nats (for learn, not nats); "
        "the other columns are computed and not checked.",
    )
    for name, reason in found.items():
        if isinstance(reason, str):
            hang(f"{name}: ", reason)
    print()


def _tell_method(name: str, made: Design | str) -> None:
    """Tell of a method as soon as it is done; the table of all follows at the end."""
    if not isinstance(made, str):
        bound = "" if made.bound is None else f", proven bound {made.bound:.4g}"
        status, seconds = made.result.status.value, made.result.seconds
        tell(f"{name}: {made.information:.4g} nats{bound}, {status}, {seconds:.1f} s")


def _comparison_row(name: str, made: Design) -> dict[str, Any]:
    from ldpopt.release.words import merging

    value, status = made.information, made.result.status.value
    return {
        "method": name,
        "nats": value,
        "of all": f"{value / made.entropy:.1%}",
        "proven bound": made.bound,
        "status": made.verification.marked("merged" if merging(made) else status),
        "level of the secret": made.level.level,
        "LDP level": made.mechanism.epsilon(),
        "reports": made.mechanism.shape[1],
        "determined": f"{made.rank}/{made.mechanism.shape[0]}",
        "× rows": made.sample_factor,
        "seconds": made.result.seconds,
        "verified": bool(made.verification),
    }


def _estimates_row(row: dict[str, Any], made: Design, queries: list[str]) -> dict[str, Any]:
    """Give the margins of a design first, then what else a reader may ask."""
    from ldpopt.release.words import margin

    n = int(made.question.counts.sum())
    margins = {part.name: margin(part, n) for part in made.accuracy(queries)}
    kept = ("nats", "status", "level of the secret", "LDP level", "determined", "seconds", "verified")
    return {"method": made.method, **margins, **{name: row[name] for name in kept}}


def _margins(made: Design, queries: list[str]) -> dict[str, Any]:
    """Give ± of every column as a share, and the expected squared error of all frequencies together."""
    n = int(made.question.counts.sum())
    margins = {part.name: plain_number(part.margin(n)) for part in made.accuracy(queries)}
    return {"margins": margins, "squared error": plain_number(-made.worth("estimates", queries) / n)}


def _design_summary(
    made: Design, found: dict[str, Design | str], verified: bool, queries: list[str]
) -> dict[str, Any]:
    rows = {
        name: {"reason": other}
        if isinstance(other, str)
        else {**_finite(_comparison_row(name, other)), **_margins(other, queries)}
        for name, other in found.items()
    }
    return {
        **_finite(_comparison_row(made.method, made)),
        **_margins(made, queries),
        "secret": made.domain.secret.labels,
        "public": None if made.domain.public is None else made.domain.public.labels,
        "fingerprint": made.fingerprint,
        "entropy": made.entropy,
        "verified": verified,
        "methods": rows,
    }


def _finite(row: dict[str, Any]) -> dict[str, Any]:
    """Replace infinity in a row by the word that JSON can hold."""
    return {
        key: plain_number(value) if isinstance(value, float) else value for key, value in row.items()
    }
