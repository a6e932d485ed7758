"""``ldpopt design``: a mechanism made for a table."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ldpopt.cli import options as given
from ldpopt.cli import terminal
from ldpopt.cli.compared_designs import comparison_row, print_comparison, tell_method
from ldpopt.core.exact import EXIT_CODES
from ldpopt.core.number_text import at_least, at_most, bound_text, plain_number, value_text

if TYPE_CHECKING:
    from ldpopt.release.designed import Design
    from ldpopt.tables.domain import Attribute

COMPARING = 0.8
"""The share of the time left for the other methods; the rest is for the check of their claims."""
RESERVED, MOST_RESERVED = 0.5, 3.0
"""The share of the time limit, and the most seconds of work, that are kept for check and printing.

With ``--compare`` the whole share is kept: the other methods come first.
"""

FIRST_SCREEN = (
    "outcome",
    "plain LDP",
    "beware",
    "merged",
    "promise",
    "it holds",
    "certificate",
    "wrote",
    "publish",
    "next",
)
"""The facts that are printed without ``--explain``."""


def design(
    table: given.TableName,
    epsilon: Annotated[float, typer.Option()],
    out: Annotated[Path, typer.Option("--out", "-o")],
    secret: given.SecretColumns = "",
    mean: str = "",
    between: Annotated[str, typer.Option("--range", metavar="LOW,HIGH")] = "",
    public: str = "",
    robust: str | None = None,
    known: bool = False,
    told: given.Told = False,
    sensitive: list[str] | None = None,
    secrecy: given.Secrecy = "",
    alpha: float = 0.05,
    method: str = "auto",
    compare: bool = False,
    bins: list[str] | None = None,
    top: list[str] | None = None,
    levels: list[str] | None = None,
    missing: str = "refuse",
    person: given.Person = "",
    sep: str | None = None,
    encoding: str = "utf-8",
    decimal: str = ".",
    dates: str = given.ISO,
    part: given.PartOption = "",
    text: str = "",
    width: int | None = None,
    reports: Annotated[int, typer.Option(min=1)] = 1,
    goal: Annotated[str, typer.Option("--for")] = "estimates",
    queries: str = "",
    time_limit: float | None = None,
    explain: bool = False,
    force: bool = False,
    as_json: given.AsJson = False,
) -> None:
    """Design a mechanism that hides the secret columns of a table and releases the public ones.

    Two files are written: OUT with the counts of the table, which prove the promise, and beside it
    OUT.public, which does not state them and which the other commands also accept. Before it is written,
    a warning says if the counts can be computed back from the mechanism. The exit code is that of
    ldpopt verify OUT: 0 if every claim holds, 1 if one is refuted, 3 if one is undecided.

    Options:
        epsilon: The privacy level, in nats.
        out: Write the mechanism here.
        mean: A column of numbers of which the mean is wanted, instead of --secret.
        between: The ends of these numbers; others are cut.
        robust: all (default): hide the secret from everybody; chi2: for data like the table's.
        known: Take the table's distribution for the true one.
        method: auto, or a name that ldpopt list methods prints.
        compare: Solve by every method; with auto, keep the best.
        width: How many groups of public values polyopt tells apart; default: the best.
        reports: How many reports about one person share the level.
        goal: What to seek: estimates (precise frequencies), or information.
        time_limit: Seconds for solves and check; default: 30, with --compare 120.
        explain: Print also method, proven bounds, audit and estimates.
    """
    from ldpopt.core.limits import LEAST_LEFT, Limits
    from ldpopt.engine.verifying import verify
    from ldpopt.release import comparing, designing
    from ldpopt.release.public_design import public_path
    from ldpopt.release.recoverable_counts import APPROXIMATELY, EDGES, EXACTLY

    if time_limit is None:
        time_limit = comparing.TOGETHER if compare else designing.SECONDS
    limits = Limits.within(time_limit)
    ends = given.mean_over(mean, between, secret)
    later = RESERVED * time_limit if compare else min(RESERVED * time_limit, MOST_RESERVED)
    seconds = max(limits.remaining() - later, LEAST_LEFT)
    public_file, asked = public_path(out), given.split_columns(queries)
    coarser = given.coarser(bins, text, top, levels)
    for file in (out, public_file):
        terminal.check_output(file, force, table)
    with terminal.watching(f"reading {table}", seconds) as watch:
        made = designing.design(
            given.opened(table, sep, encoding, person, decimal, dates, part),
            [mean] if mean else given.split_columns(secret),
            given.split_columns(public),
            mean_over=ends,
            epsilon=epsilon,
            robust=given.robustness(robust, known, told, bool(sensitive), bool(secrecy)),
            sensitive=given.sensitive_values(sensitive),
            secrecy=secrecy or None,
            alpha=alpha,
            method=method,
            **coarser,
            missing=missing,
            width=width,
            reports=reports,
            goal=goal,
            queries=asked,
            time_limit=seconds,
            progress=watch,
            step=lambda name: watch.step(f"designing by {name}"),
            warn=lambda sentence: terminal.tell(f"note: {sentence}"),
        )
    found: dict[str, Design | str] = {}
    if compare:
        left = COMPARING * max(limits.remaining(), LEAST_LEFT)
        with terminal.watching("comparing methods", left) as watch:
            found = comparing.compare(
                made,
                time_limit=left,
                progress=watch,
                step=lambda done, of, name: watch.step(f"{done + 1} of {of}: {name}"),
                row=partial(tell_method, goal=goal, queries=asked)
                if terminal.err_console.is_terminal
                else None,
            )
        made = comparing.best(found, goal, asked) if method == "auto" else made
    made.save(out)
    if made.public.recoverable in (APPROXIMATELY, EXACTLY):
        instead = comparing.to_publish(made, goal, asked)
        terminal.tell(f"warning: {public_file}: {made.recovery}. {instead}")
    elif any(isinstance(spec, int) for spec in coarser["bins"].values()):
        terminal.tell(f"warning: {public_file}: {EDGES}")
    made.public.save(public_file)
    if any(map(comparing.was_interrupted, [made, *found.values()])):
        _print_unfinished(made, found, out, as_json)
        raise KeyboardInterrupt
    allowed = limits.for_checker()
    with terminal.watching("checking the certificate", allowed):
        made = replace(made, decided=verify(out, budget=allowed))
    if compare:
        allowed = limits.for_checker()
        with terminal.watching("checking the other methods", allowed):
            found = comparing.checked_within(found, made, allowed)
    if as_json:
        print(json.dumps(_design_summary(made, found, asked), allow_nan=False))
    else:
        if found:
            print_comparison(found, made, goal, asked)
        named = {"--sep": sep, "--encoding": encoding, "--id": person, "--decimal": decimal}
        reading = _reading({**named, "--dates": dates, "--part": part, "--missing": missing})
        best = goal == "estimates" and method == "auto"  # for frequencies, there is no better to advise
        _print_design(_facts(made, table, reading, out, asked, best), explain)
    raise typer.Exit(EXIT_CODES[made.verification.verdict])


def _reading(named: dict[str, str | None]) -> list[str]:
    """Return the options with which the next command reads the table as this one did."""
    usual = {None, "", "utf-8", ".", given.ISO, "refuse", "category"}
    return [word for name, said in named.items() if said not in usual for word in (name, str(said))]


def _print_unfinished(made: Design, found: dict[str, Design | str], out: Path, as_json: bool) -> None:
    """Say what Ctrl-C left, without the checker: the user does not want to wait any longer."""
    if as_json:
        print(json.dumps({"method": made.method, "interrupted": True, "verified": None}))
        return
    for name, other in found.items():
        shown = other if isinstance(other, str) else f"{_nats(other)} [not checked]"
        terminal.say(f"{name}: {shown}")
    terminal.say(f"wrote {out} by {made.method} [not checked]; check it with: ldpopt verify {out}")


def _print_design(facts: dict[str, Callable[[], str]], explain: bool) -> None:
    """Print what a person decides on, or everything; what does not apply is empty, and left out."""
    shown = {name: facts[name]() for name in (facts if explain else FIRST_SCREEN)}
    if not explain:
        shown["certificate"] += "; more with --explain"
    terminal.print_facts({name: text for name, text in shown.items() if text})


def _facts(
    made: Design, table: str, reading: list[str], out: Path, queries: list[str], best: bool
) -> dict[str, Callable[[], str]]:
    """Say everything that is known of a design, a line each: some take long, so none is said unasked."""
    from ldpopt.engine.verifying import NOT_CHECKED
    from ldpopt.release import promises
    from ldpopt.release.column_sampling import Built
    from ldpopt.release.public_design import public_path
    from ldpopt.release.release_ledger import repetition

    result, domain, verification = made.result, made.domain, made.verification
    merged, caveat = promises.merging(made), promises.caveat(made)
    status = verification.status(result.status.value)
    if merged:
        status = status.replace("optimal among", "the best among")
    more_time = f"; the checker ran out of time, so give it more: ldpopt verify {out} --budget 600"
    then = ["ldpopt", "privatize", table, *reading, "--mechanism", str(out), "-o", "released.csv"]
    by = result.solver if result.solver == Built.name else f"by {result.solver}"
    how = f"{by} in {result.seconds:.1f} s"
    return {
        "outcome": lambda: (
            f"{promises.outcome(made, queries)} [{NOT_CHECKED}]"
            f"{'' if best else promises.advice(made, queries)}"
        ),
        "plain LDP": lambda: (
            f"{alike} [{NOT_CHECKED}]" if (alike := promises.plain_ldp(made, queries)) else ""
        ),
        "merged": lambda: verification.marked(merged) if merged else "",
        "groups": lambda: "; ".join(promises.merged_groups(made)),
        "table": lambda: f"{table}, {made.rows:,} rows",
        "secret": lambda: _column(domain.secret),
        "public": lambda: "–" if domain.public is None else _column(domain.public),
        "promise": lambda: verification.marked_promise(promises.promise(made)),
        "it holds": lambda: verification.marked_promise(promises.holds_for(made)),
        "repeated": lambda: f"{repetition(made)} [{NOT_CHECKED}]",
        "method": lambda: promises.method(made),
        "utility": lambda: verification.marked(_utility(made)),
        "proven": lambda: verification.proven or "nothing about better mechanisms",
        "status": lambda: f"{verification.marked(status)}, {how}",
        "certificate": lambda: (
            verification.summary + (more_time if verification.verdict is None else "")
        ),
        "share": lambda: f"{share} [{NOT_CHECKED}]" if (share := _share(made)) else "",
        "audit": lambda: f"{promises.attained(made)} [{NOT_CHECKED}]",
        "estimates": lambda: f"{promises.learnable(made)} [{NOT_CHECKED}]",
        "beware": lambda: f"{caveat} [{NOT_CHECKED}]" if caveat else "",
        "counts": lambda: made.recovery,
        "wrote": lambda: f"{out}, with the counts of the table; check it with: ldpopt verify {out}",
        "publish": lambda: f"{public_path(out)}: {_publishable(made)}",
        "next": lambda: shlex.join(then),
    }


def _column(attribute: Attribute) -> str:
    """Name a column, and say how many values it has."""
    return f"{attribute.name} ({len(attribute)} values)"


def _publishable(made: Design) -> str:
    """Say what the public file still proves."""
    from ldpopt.core.exact import MOST_EPSILON

    level = made.public.level
    if made.public.universal:
        return "it proves the promise, too"
    if level is None:
        return f"it proves no level, as none up to {MOST_EPSILON:g} holds for all distributions"
    return f"it proves only the level {at_most(level)}, as the promise is about the counts"


def _utility(made: Design) -> str:
    """Say the value that the method aims at, and what is proven about it."""
    result = made.result
    known = "" if result.bound is None else bound_text(result.bound, result.problem.sense)
    bound = f"; proven bound {known}" if known else ""
    if made.informs:
        return f"{_nats(made)} of information{bound}"
    assert result.value is not None
    return f"{result.problem.measure.name}: {value_text(result.value, result.problem.sense)}{bound}"


def _share(made: Design) -> str:
    if made.domain.of_numbers:
        return ""
    of_all = f"of the {made.entropy:.4g} nats that the data as they are would tell"
    if math.isnan(made.information):
        return f"not computed for an encoding, {of_all}"
    nats = "" if made.informs else f"{_nats(made)} of information, "
    return f"{nats}{made.information / made.entropy:.1%} {of_all}"


def _nats(made: Design) -> str:
    """Say the information of a design; of an encoding it is not computed."""
    known = not math.isnan(made.information)
    return f"{at_least(made.information)} nats" if known else "nats not computed"


def _design_summary(made: Design, found: dict[str, Design | str], queries: list[str]) -> dict[str, Any]:
    def row(other: Design) -> dict[str, Any]:
        """Give the cells of the table, infinity as the word that JSON can hold, and the precision.

        That is ± of every column as a share, and the expected squared error of all frequencies.
        """
        cells = comparison_row(other)
        finite = {key: plain_number(cell) for key, cell in cells.items() if isinstance(cell, float)}
        margins = {part.name: plain_number(part.margin(n)) for part in other.accuracy(queries)}
        error = plain_number(-other.worth("estimates", queries) / n)
        return {**cells, **finite, "margins": margins, "squared error": error}

    n = made.rows
    rows = {
        name: {"reason": other} if isinstance(other, str) else row(other)
        for name, other in found.items()
    }
    return {
        **row(made),
        "secret": made.domain.secret.labels,
        "public": None if made.domain.public is None else made.domain.public.labels,
        "fingerprint": made.fingerprint,
        "recoverable": made.public.recoverable,
        "entropy": made.entropy,
        "methods": rows,
    }
