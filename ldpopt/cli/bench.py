"""``ldpopt bench``: compare solvers on the same instances, and write the page of all of them."""

from __future__ import annotations

import json
import shlex
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ldpopt.cli.options import AsJson
from ldpopt.cli.terminal import counting, hang, make_directory, print_table, tell
from ldpopt.core.errors import InvalidInputError
from ldpopt.core.exact import ExitCode

if TYPE_CHECKING:
    from ldpopt.bench.benchmark import Benchmark
    from ldpopt.bench.page import Table
    from ldpopt.engine.sweep import Row


def bench(
    context: typer.Context,
    target: str,
    full: Annotated[bool, typer.Option("--full/--quick")] = False,
    sizes: str | None = None,
    solvers: str | None = None,
    plugin: list[str] | None = None,
    draws: Annotated[int, typer.Option(min=1)] = 1,
    repeats: Annotated[int, typer.Option(min=1)] = 1,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    baseline: Annotated[str | None, typer.Option(show_default="the slowest")] = None,
    gap: float = 1e-9,
    time_limit: float = 60.0,
    out: Annotated[Path | None, typer.Option("--out", "-o")] = None,
    force: bool = False,
    as_json: AsJson = False,
) -> None:
    """Compare solvers on the same instances in one run; exit 1 if they contradict.

    "peers" compares ldpopt with the packages that one would pick instead; "all" does both.

    Options:
        target: A form or a problem, e.g. column-program; a question.json, or a directory of them;
            file.py:CLASS; peers; all.
        full: Long or short lists of sizes.
        sizes: Comma-separated, e.g. 4,8,16.
        solvers: Comma-separated; options in parentheses: descent(starts=3); file.py:CLASS for one of
            your own; default: all.
        plugin: A solver to run beside them: MODULE:CLASS or file.py:CLASS; repeatable.
        draws: Random instances per size.
        repeats: Runs of the same instance.
        seed: Of instances and solvers.
        baseline: The solver to compare with.
        gap: Relative gap to prove.
        time_limit: Seconds of processor time per solve.
        out: Directory for page and CSV; a second run measures what is missing. For all: results/bench.
        force: Measure every row again.
    """
    from ldpopt.bench import benchmark, page
    from ldpopt.bench.entrants import split
    from ldpopt.engine.plugins import load_solvers, problem_class
    from ldpopt.engine.provenance import provenance

    if ":" in target and not Path(target).exists():
        target = problem_class(target).kind
    started = datetime.now(UTC)
    plugins = load_solvers(plugin or [])
    directory = out or (Path("results") / "bench" if target == benchmark.EVERYTHING else None)
    if directory is not None:
        make_directory(directory)
    journal = None if directory is None else directory / "bench.journal.jsonl"
    if journal is not None and force:
        journal.unlink(missing_ok=True)
    with counting(f"bench {target}") as progress:
        found = benchmark.run(
            target,
            sizes=None if sizes is None else [_whole(part) for part in sizes.split(",")],
            full=full,
            solvers=None if solvers is None else split(solvers),
            plugins=plugins,
            draws=draws,
            repeats=repeats,
            seed=seed,
            baseline=baseline,
            gap=gap,
            time_limit=time_limit,
            journal=journal,
            progress=progress,
        )
    if found.reused:
        tell(f"{found.reused} rows were there (--force measures them again)")
    if as_json:
        shown: dict[str, Any] = {"rows": found.rows, "curves": found.curves, "peers": found.peers}
        shown["errors"] = found.errors
        shown |= {"interrupted": found.interrupted, "test_set": found.digest}
        print(json.dumps(shown | {"provenance": provenance()}))
    else:
        _print_benchmark(found)
    if directory is not None and (found.rows or found.peers or found.errors):
        command = _words_of(context, without=("out", "as_json", "force"))
        paths = page.write(found, directory, command, started, plugins)
        tell("wrote " + ", ".join(map(str, paths)))
    _conclude_benchmark(found)


def _words_of(context: typer.Context, without: tuple[str, ...]) -> str:
    """Rebuild the command line of this run: its arguments and the options that differ from defaults."""
    words = ["ldpopt", str(context.info_name)]
    for option in context.command.params:
        value = context.params.get(str(option.name))
        if option.name in without or not value or value == option.default:
            continue
        for part in value if isinstance(value, (list, tuple)) else [value]:
            name = [option.opts[0]] if option.opts[0].startswith("-") else []
            words += name if part is True else [*name, str(part)]
    return shlex.join(words)


def _conclude_benchmark(found: Benchmark) -> None:
    """Say what went wrong, and end with its exit code: interrupted, contradicted, crashed."""
    for sentence in found.skipped:
        tell(f"skipped: {sentence}")
    for crash in found.crashes:
        tell(f"crashed: {crash}")
    for contradiction in found.disagreements:
        tell(f"contradicted: {contradiction}")
    if found.interrupted:
        if done := len(found.rows) + len(found.peers):
            tell(f"ldpopt: kept the {done} rows that were done")
        raise KeyboardInterrupt
    if found.disagreements or found.crashes:
        raise typer.Exit(ExitCode.REFUTED if found.disagreements else ExitCode.FAILED)


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InvalidInputError(f"sizes must be whole numbers, not {text!r}") from None


SHOWN = {
    "instance": "instance",
    "seed": "seed",
    "solver": "solver",
    "cpu": "CPU s",
    "start": "starts s",
    "speedup": "× faster",
    "status": "status",
    "value": "value",
    "bound": "bound",
    "gap": "gap",
    "known_gap": "from best bound",
    "iterations": "iterations",
    "columns": "columns",
    "megabytes": "peak MB",
    "agrees": "agrees",
    "verified": "verified",
}
"""The columns of a row that the terminal shows, with their titles."""
SPARE = (
    "starts s",
    "seed",
    "iterations",
    "columns",
    "peak MB",
    "× faster",
    "bound",
    "gap",
    "verified",
    "agrees",
)
"""The titles that a narrow terminal leaves out, in this order; the CSV has all columns."""


def _print_benchmark(found: Benchmark) -> None:
    from ldpopt.bench import page
    from ldpopt.bench.benchmark import EVERYTHING
    from ldpopt.bench.comparison import absent_line

    if found.target == EVERYTHING or found.digest:
        spare = ("starts s", "quartiles", "÷ best", page.ranking(found).head[-2])
        _print_page_table(page.ranking(found), spare)
    elif found.rows:
        words = ("instance", "solver", "status")
        rows = [_cells(row, found) for row in found.rows if row["status"] != "refused"]
        print_table(list(SHOWN.values()), rows, words, spare=SPARE)
        for solver, sizes, count, reason in page.refusals(found.rows).rows:
            hang("refused: ", f"{solver}, {count} instances of size {sizes}: {reason}")
        unverified = (row["reason"] for row in found.measured if row["verified"] is None)
        for reason in dict.fromkeys(filter(None, unverified)):
            hang("not verified: ", reason)
        baselines = {row["problem"]: row["baseline"] for row in found.measured}
        names = ", ".join(f"{solver} for {problem}" for problem, solver in baselines.items())
        hang("× faster ", f"than the baseline, where both solved the instance: {names}")
    hang("measured by ", _measured_by())
    if found.peers:
        _print_page_table(page.peers(found), ("difference",), "Against other packages")
    if (table := page.errors(found)).rows:
        _print_page_table(table, ("run",), "Errors at equal promises")
    if absent := absent_line([*found.peers, *found.errors]):
        print(absent)


def _measured_by() -> str:
    """Say in a line by which code and on which processor."""
    from ldpopt.engine.provenance import code_digest, commit, packages, processor

    code = f"commit {commit()}" if commit() else f"files {code_digest()[:12]}"
    return f"ldpopt {packages()['ldpopt']} ({code}) on {processor()}, in processor time"


def _cells(row: Row, found: Benchmark) -> list[Any]:
    """Return what the terminal shows of a row; the problem is not named if there is only one."""
    cells = {name: None if row[name] is None else f"{row[name]:.2g}" for name in ("gap", "known_gap")}
    if len({other["problem"] for other in found.rows}) == 1:
        cells["instance"] = row["instance"].removeprefix(f"{row['problem']} ")
    return [cells.get(column, row[column]) for column in SHOWN]


def _print_page_table(table: Table, spare: tuple[str, ...], title: str | None = None) -> None:
    left = [name for name, letter in zip(table.head, table.align, strict=True) if letter == "l"]
    print_table(table.head, table.rows, left, title, spare)
