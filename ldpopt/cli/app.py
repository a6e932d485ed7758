"""The command line: ``ldpopt solve | verify | list | experiment | demo``, and the commands of others.

Exit codes: 0 done (for ``verify``: every claim holds), 1 refuted or contradicted, 2 bad input or an
unreadable file, 3 a solver crashed, 130 interrupted.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from ldpopt.cli.audit import audit
from ldpopt.cli.bench import bench
from ldpopt.cli.data import design, estimate, privatize
from ldpopt.cli.report import report
from ldpopt.cli.terminal import (
    AsJson,
    cell,
    check_writable,
    counting,
    make_directory,
    print_table,
    watching,
)
from ldpopt.core.errors import InvalidInputError, UnreadableFileError
from ldpopt.engine.result import Result
from ldpopt.engine.result import verify as verify_result

app = typer.Typer(
    help="Design and audit privacy mechanisms by optimisation, with certificates.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.command()
def solve(
    spec: Annotated[Path, typer.Argument(help='A JSON file: {"problem": KIND, "params": {…}}.')],
    solver: Annotated[str, typer.Option(help="A solver's name, or auto.")] = "auto",
    gap: Annotated[float, typer.Option(help="Relative gap to prove.")] = 1e-9,
    time_limit: Annotated[float | None, typer.Option(help="Seconds.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="For solvers that draw random numbers.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Write the result file here.")] = None,
    as_json: AsJson = False,
) -> None:
    """Solve a problem; print the answer, write the certified result."""
    from ldpopt.engine.solving import solve as solve_problem

    problem = _read_spec(spec)
    if out is not None:
        check_writable(out, spec)
    with watching() as progress:
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
    with counting(name) as progress:
        study = chosen.run(
            quick=not full, out=directory, jobs=jobs, scheduler=scheduler, progress=progress
        )
    print(study.conclusion)
    for path in study.files:
        print(f"wrote {path}")


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Directory for results and figures.")] = Path("demo-out"),
) -> None:
    """Hide a census attribute with a proven-optimal mechanism, and verify the proof."""
    from ldpopt.cli import demo as demonstration
    from ldpopt.tables import datasets

    make_directory(out)
    print(f"Data: {datasets.source()}\n")
    rows = demonstration.run(out)
    demonstration.draw_comparison(rows, out / "comparison.png")
    print_table(
        list(rows[0]),
        [list(row.values()) for row in rows],
        left=("secret", "public"),
        title=f"Mutual information released (nats) at ε = {demonstration.EPSILON:g}",
    )
    print(
        "The optimum hides the secret (robust LDP for all distributions) and releases the rest; plain\n"
        "LDP hides everything. 'verified' is the word of the independent checker on the written file.\n"
        f"Results and figures are in {out}/; check one yourself: ldpopt verify {out}/sex-race.json"
    )
    if not all(row["verified"] for row in rows):
        raise typer.Exit(1)


for command in (bench, design, privatize, estimate, audit, report):
    app.command()(command)


# ------------------------------------------------------------ reading and printing


def _read_spec(path: Path) -> Any:
    from ldpopt.engine.solving import problem

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
        "value": cell(result.value, digits=12),
        "bound": cell(result.bound, digits=12),
        "relative gap": cell(result.gap),
        "solver": result.solver,
        "seconds": cell(result.seconds),
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
