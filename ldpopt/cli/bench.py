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
    from ldpopt.core.solver import Solver
    from ldpopt.engine.sweep import Row


def bench(
    context: typer.Context,
    target: Annotated[
        str,
        typer.Argument(help="A form or a problem, e.g. column-program; file.py:CLASS; peers; all."),
    ],
    full: Annotated[bool, typer.Option("--full/--quick", help="Long or short lists of sizes.")] = False,
    sizes: Annotated[str | None, typer.Option(help="Comma-separated, e.g. 4,8,16.")] = None,
    solvers: Annotated[str | None, typer.Option(help="Comma-separated; default: all.")] = None,
    plugin: Annotated[
        list[str] | None,
        typer.Option(help="A solver to run beside them: MODULE:CLASS or file.py:CLASS; repeatable."),
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Random instances per size.")] = 1,
    gap: Annotated[float, typer.Option(help="Relative gap to prove.")] = 1e-9,
    time_limit: Annotated[float, typer.Option(help="Seconds per solve.")] = 60.0,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Directory for CSV and figures; for all: CSV and page, default results/bench."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare solvers on the same random instances in one run; exit 1 if they contradict.

    "peers" compares ldpopt with the packages that one would pick instead; "all" does both.
    """
    from ldpopt.bench import benchmark
    from ldpopt.engine.plugins import load_solvers, problem_class

    target = problem_class(target).kind if ":" in target else target
    started = datetime.now(UTC)
    plugins = load_solvers(plugin or [])
    directory = out or (Path("results") / "bench" if target == benchmark.EVERYTHING else None)
    if directory is not None:
        make_directory(directory)
    with counting(f"bench {target}") as progress:
        found = benchmark.run(
            target,
            sizes=None if sizes is None else [_whole(part) for part in sizes.split(",")],
            full=full,
            solvers=None if solvers is None else solvers.split(","),
            plugins=plugins,
            repeats=repeats,
            gap=gap,
            time_limit=time_limit,
            progress=progress,
        )
    if as_json:
        shown = {"rows": found.rows, "curves": found.curves, "peers": found.peers}
        print(json.dumps(shown | {"interrupted": found.interrupted}))
    else:
        _print_benchmark(found)
    if directory is not None and (found.rows or found.peers):
        command = _words_of(context, without=("out", "as_json"))
        paths = _write_benchmark(found, directory, command, started, plugins)
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


def _write_benchmark(
    found: Benchmark, directory: Path, command: str, started: datetime, plugins: list[type[Solver[Any]]]
) -> list[Path]:
    """Write the page for all targets, or for one target its rows, and figures if it has any."""
    from ldpopt.bench import benchmark, figures, page
    from ldpopt.core.files import save_figure

    if found.target == benchmark.EVERYTHING:
        return page.write(found, directory, command, started, plugins)
    paths = page.write_rows(found, directory)
    if found.rows and not found.interrupted:  # nobody waits for figures after Ctrl-C
        profile, curves = directory / "profile.png", directory / "curves.png"
        figures.draw_profile(found, profile)
        paths.append(profile)
        if found.curves:
            save_figure(figures.draw_curves(list(found.curves)), curves, dpi=120)
            paths.append(curves)
    return paths


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
SPARE = ("seed", "iterations", "columns", "peak MB", "× faster", "bound", "gap", "verified", "agrees")
"""The titles that a narrow terminal leaves out, in this order; the CSV has all columns."""


def _print_benchmark(found: Benchmark) -> None:
    from ldpopt.bench import page
    from ldpopt.bench.benchmark import EVERYTHING
    from ldpopt.bench.comparison import absent_line

    if found.target == EVERYTHING:
        _print_page_table(page.overview(found), ("baseline", "× faster", "form"))
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
        hang("× faster ", f"than the baseline: {names}")
    if found.peers:
        _print_page_table(page.peers(found), ("difference",), "Against other packages")
        if absent := absent_line(found.peers):
            print(absent)


def _cells(row: Row, found: Benchmark) -> list[Any]:
    """Return what the terminal shows of a row; the problem is not named if there is only one."""
    cells = {name: None if row[name] is None else f"{row[name]:.2g}" for name in ("gap", "known_gap")}
    if len({other["problem"] for other in found.rows}) == 1:
        cells["instance"] = row["instance"].removeprefix(f"{row['problem']} ")
    return [cells.get(column, row[column]) for column in SHOWN]


def _print_page_table(table: Table, spare: tuple[str, ...], title: str | None = None) -> None:
    left = [name for name, letter in zip(table.head, table.align, strict=True) if letter == "l"]
    print_table(table.head, table.rows, left, title, spare)
