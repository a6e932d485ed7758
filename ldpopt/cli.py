"""The command line: ``ldpopt solve | verify | list | experiment | bench | demo``.

Exit codes: 0 done (for ``verify``: every claim holds), 1 refuted or contradicted, 2 bad input or an
unreadable file, 3 a solver crashed, 130 interrupted.
"""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import shlex
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table
from rich.text import Text

from ldpopt import datacommands
from ldpopt.auditcommand import audit
from ldpopt.errors import InvalidInputError, LdpoptError, SolverError, UnreadableFileError
from ldpopt.reportcommand import report
from ldpopt.result import Result
from ldpopt.result import verify as verify_result

if TYPE_CHECKING:  # for the types alone: every command would wait for these
    from ldpopt.bench import Benchmark
    from ldpopt.solver import Solver

app = typer.Typer(
    help="Design and audit privacy mechanisms by optimisation, with certificates.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
out_console = Console()
err_console = Console(stderr=True)


def main() -> None:
    """Run the command line; an error on purpose is one sentence and an exit code."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # drafts of files are removed on the way out
    try:
        app()
    except LdpoptError as error:
        print(f"ldpopt: {error}", file=sys.stderr)
        sys.exit(3 if isinstance(error, SolverError) else 2)
    except KeyboardInterrupt:
        print("ldpopt: interrupted", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)


AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")]


@app.command()
def solve(
    spec: Annotated[Path, typer.Argument(help='A JSON file: {"problem": KIND, "params": {…}}.')],
    solver: Annotated[str, typer.Option(help="A solver's name, or auto.")] = "auto",
    gap: Annotated[float, typer.Option(help="Relative gap to prove.")] = 1e-9,
    time_limit: Annotated[float | None, typer.Option(help="Seconds.")] = None,
    seed: Annotated[int, typer.Option(help="For solvers that draw random numbers.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Write the result file here.")] = None,
    as_json: AsJson = False,
) -> None:
    """Solve a problem; print the answer, write the certified result."""
    from ldpopt.solving import solve as solve_problem

    problem = _read_spec(spec)
    if out is not None:
        _check_writable(out)
    with _watching() as progress:
        result = solve_problem(
            problem, solver, gap=gap, time_limit=time_limit, seed=seed, progress=progress
        )
    if out is not None:
        result.save(out)
    if as_json:
        print(json.dumps(_summary(result), allow_nan=False))
    else:
        _print_result(result, out)
    if result.stats.get("interrupted"):
        raise KeyboardInterrupt


@app.command()
def verify(
    file: Annotated[Path, typer.Argument(help="A result file.")],
    as_json: AsJson = False,
) -> None:
    """Let the independent checker decide every claim of a result file (exit 0, 1 or 2)."""
    verification = verify_result(file)
    if as_json:
        claims = [claim._asdict() for claim in verification.claims]
        print(json.dumps({"verified": bool(verification), "claims": claims}))
    else:
        print(verification)
        print("verified" if verification else "refuted")
    raise typer.Exit(0 if verification else 1)


class Listing(StrEnum):
    """What can be listed."""

    problems = "problems"
    solvers = "solvers"
    experiments = "experiments"


@app.command("list")
def list_entries(
    what: Annotated[Listing, typer.Argument(help="problems, solvers or experiments")],
    as_json: AsJson = False,
) -> None:
    """List what is registered, with one line on each."""
    rows = dict(_LISTINGS[what]())
    if as_json:
        print(json.dumps(rows, ensure_ascii=False))
        return
    width = max(map(len, rows), default=0)
    for name, text in rows.items():
        print(f"{name:<{width}}  {text}")


@app.command()
def experiment(
    name: Annotated[str, typer.Argument(help="See: ldpopt list experiments.")],
    full: Annotated[
        bool, typer.Option("--full/--quick", help="The whole study, or a few points.")
    ] = False,
    jobs: Annotated[int, typer.Option(min=1, help="Worker processes.")] = 1,
    scheduler: Annotated[str | None, typer.Option(help="Address of a Dask scheduler.")] = None,
    out: Annotated[Path | None, typer.Option(help="Directory for CSV and figures.")] = None,
) -> None:
    """Run a figure or study; a second run into the same directory only does what is missing."""
    from ldpopt.experiments import EXPERIMENTS

    chosen = EXPERIMENTS[name]
    directory = out or Path("results") / name
    with _counting(name) as progress:
        study = chosen.run(
            quick=not full, out=directory, jobs=jobs, scheduler=scheduler, progress=progress
        )
    print(study.conclusion)
    for path in study.files:
        print(f"wrote {path}")


@app.command()
def bench(
    context: typer.Context,
    target: Annotated[str, typer.Argument(help="A form or a problem, e.g. column-program; or all.")],
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
            help="Directory for CSV and profile; for all: CSV and page, default results/bench."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare solvers on the same random instances in one run; exit 1 if they contradict."""
    from ldpopt import bench as benchmark
    from ldpopt.plugins import load_solvers

    started = datetime.now(UTC)
    plugins = load_solvers(plugin or [])
    directory = out or (Path("results") / "bench" if target == benchmark.EVERYTHING else None)
    if directory is not None:
        _make_directory(directory)
    with _counting(f"bench {target}") as progress:
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
        print(json.dumps({"rows": found.rows, "interrupted": found.interrupted}))
    else:
        _print_benchmark(found)
    if directory is not None and found.rows:
        command = _words_of(context, without=("out", "as_json"))
        paths = _write_benchmark(found, directory, command, started, plugins)
        err_console.print("wrote " + ", ".join(map(str, paths)), soft_wrap=True)
    _conclude_benchmark(found)


def _words_of(context: typer.Context, without: tuple[str, ...]) -> str:
    """The command line of this run: its arguments and the options that differ from their defaults."""
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
    found: Benchmark, directory: Path, command: str, started: datetime, plugins: list[type[Solver]]
) -> list[Path]:
    """The page for everything; for one target the rows and the performance profile."""
    from ldpopt import bench as benchmark
    from ldpopt import benchpage
    from ldpopt.sweep import write_csv

    if found.target == benchmark.EVERYTHING:
        return benchpage.write(found, directory, command, started, plugins)
    rows, profile = directory / "bench.csv", directory / "profile.png"
    write_csv(rows, found.rows)
    benchmark.draw_profile(found, profile)
    return [rows, profile]


def _conclude_benchmark(found: Benchmark) -> None:
    """Say what went wrong, the worst last, in the exit code: interrupted, contradicted, crashed."""
    for crash in found.crashes:
        print(f"crashed: {crash}", file=sys.stderr)
    for contradiction in found.disagreements:
        print(f"contradicted: {contradiction}", file=sys.stderr)
    if found.interrupted:
        print(f"ldpopt: kept the {len(found.rows)} rows that were done", file=sys.stderr)
        raise KeyboardInterrupt
    if found.disagreements or found.crashes:
        raise typer.Exit(1 if found.disagreements else 3)


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Directory for results and figures.")] = Path("demo-out"),
) -> None:
    """Hide a census attribute with a proven-optimal mechanism, and verify the proof."""
    from ldpopt import datasets
    from ldpopt import demo as demonstration

    _make_directory(out)
    print(f"Data: {datasets.source()}\n")
    rows = demonstration.run(out)
    demonstration.draw_comparison(rows, out / "comparison.png")
    table = Table(title=f"Mutual information released (nats) at ε = {demonstration.EPSILON:g}")
    for column in rows[0]:
        table.add_column(column, justify="right" if column not in ("secret", "public") else "left")
    for row in rows:
        table.add_row(*(_cell(value) for value in row.values()))
    _table_console().print(table)
    print(
        "The optimum hides the secret (robust LDP for all distributions) and releases the rest; plain\n"
        "LDP hides everything. 'verified' is the word of the independent checker on the written file.\n"
        f"Results and figures are in {out}/; check one yourself: ldpopt verify {out}/sex-race.json"
    )
    if not all(row["verified"] for row in rows):
        raise typer.Exit(1)


app.command()(datacommands.design)
app.command()(datacommands.privatize)
app.command()(datacommands.estimate)
app.command()(audit)
app.command()(report)


# ------------------------------------------------------------ reading and printing


def _read_spec(path: Path) -> Any:
    from ldpopt.solving import problem

    try:
        spec = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidInputError(f"cannot read {path}: {error.strerror}") from None
    except ValueError as error:
        raise UnreadableFileError(f"{path} is not JSON: {error}") from None
    if not isinstance(spec, dict) or not isinstance(spec.get("problem"), str):
        raise InvalidInputError(f'{path} must look like {{"problem": KIND, "params": {{…}}}}')
    params = spec.get("params", {})
    if not isinstance(params, dict):
        raise InvalidInputError(f"'params' in {path} must be a JSON object, not {params!r}")
    return problem(spec["problem"], **params)


def _check_writable(path: Path) -> None:
    if path.is_dir():
        raise InvalidInputError(f"cannot write {path}: it is a directory")
    if not path.parent.is_dir():
        raise InvalidInputError(f"cannot write {path}: there is no directory {path.parent}")
    if not os.access(path.parent, os.W_OK):
        raise InvalidInputError(f"cannot write {path}: permission denied")


def _make_directory(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInputError(f"cannot write to {path}: {error.strerror}") from None


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InvalidInputError(f"sizes must be whole numbers, not {text!r}") from None


def _summary(result: Result) -> dict[str, Any]:
    """The result without its mechanism and proof."""
    whole = result.to_json()
    return {
        key: whole[key] for key in whole if key not in ("mechanism", "answer", "certificate", "params")
    }


def _print_result(result: Result, out: Path | None) -> None:
    facts = {
        "problem": result.problem.kind,
        "status": result.status.value,
        "value": _cell(result.value, digits=12),
        "bound": _cell(result.bound, digits=12),
        "relative gap": _cell(result.gap),
        "solver": result.solver,
        "seconds": _cell(result.seconds),
    }
    for name, text in facts.items():
        print(f"{name:<13} {text}")
    mechanism = result.mechanism
    if mechanism is not None:
        inputs, outputs = mechanism.shape
        print(
            f"{'mechanism':<13} {inputs} inputs, {outputs} outputs, LDP level {mechanism.epsilon():.6g}"
        )
        if inputs <= 12 and outputs <= 12:
            for label, row in zip(mechanism.inputs, mechanism.matrix, strict=True):
                print(f"  {label!s:>8} " + " ".join(f"{entry:7.4f}" for entry in row))
    if out is not None:
        print(f"wrote {out}; check it with: ldpopt verify {out}")


def _print_benchmark(found: Benchmark) -> None:
    from ldpopt import benchpage
    from ldpopt.bench import EVERYTHING

    if found.target == EVERYTHING:
        overview = benchpage.overview(found)
        _print_table(overview.head, overview.align, overview.rows)
        return
    shown = {
        "instance": "instance",
        "seed": "seed",
        "solver": "solver",
        "seconds": "seconds",
        "speedup": "× faster",
        "status": "status",
        "gap": "gap",
        "iterations": "iterations",
        "columns": "columns",
        "megabytes": "peak MB",
        "agrees": "agrees",
        "verified": "verified",
        "reason": "reason",
    }
    words = ("instance", "solver", "status", "reason")
    align = "".join("l" if column in words else "r" for column in shown)
    _print_table(shown.values(), align, [[_cell(row[column]) for column in shown] for row in found.rows])
    baselines = {row["problem"]: row["baseline"] for row in found.measured}
    print("× faster than the baseline: " + ", ".join(f"{b} for {p}" for p, b in baselines.items()))


def _print_table(head: Iterable[str], align: str, rows: Iterable[Sequence[str]]) -> None:
    table = Table()
    for title, letter in zip(head, align, strict=True):
        table.add_column(title, justify="left" if letter == "l" else "right")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    _table_console().print(table)


def _table_console() -> Console:
    """Tables keep their width in a pipe instead of wrapping at 80 characters."""
    return out_console if out_console.is_terminal else Console(width=200)


def _cell(value: Any, digits: int = 4) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "NO"
    if isinstance(value, float):
        return f"{value:.{digits}g}"
    return str(value)


def _describe(cls: object) -> str:
    return (inspect.getdoc(cls) or "").split("\n", maxsplit=1)[0]


def _problems() -> Iterator[tuple[str, str]]:
    from ldpopt.problems import PROBLEMS

    return ((name, _describe(PROBLEMS[name])) for name in PROBLEMS)


def _solvers() -> Iterator[tuple[str, str]]:
    from ldpopt.solvers import SOLVERS

    for name in SOLVERS:
        missing = SOLVERS[name].missing()
        note = f" (not installed: {', '.join(missing)})" if missing else ""
        yield name, _describe(SOLVERS[name]) + note


def _experiments() -> Iterator[tuple[str, str]]:
    from ldpopt.experiments import EXPERIMENTS

    return ((name, EXPERIMENTS[name].summary) for name in EXPERIMENTS)


_LISTINGS: dict[Listing, Callable[[], Iterator[tuple[str, str]]]] = {
    Listing.problems: _problems,
    Listing.solvers: _solvers,
    Listing.experiments: _experiments,
}


# ------------------------------------------------------------ progress, on a terminal only


@contextlib.contextmanager
def _watching() -> Iterator[Callable[[float, float], None] | None]:
    if not err_console.is_terminal:
        yield None
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=err_console, transient=True) as bar:
        task = bar.add_task("solving")

        def show(value: float, bound: float) -> None:
            bar.update(task, description=f"value {value:.9g}  bound {bound:.9g}")

        yield show


@contextlib.contextmanager
def _counting(what: str) -> Iterator[Callable[[int, int], None] | None]:
    if not err_console.is_terminal:
        yield None
        return
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=err_console, transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda finished, total: bar.update(task, completed=finished, total=total)
