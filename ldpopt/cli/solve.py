"""``ldpopt solve``: answer a problem from its JSON specification."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ldpopt.cli.options import AsJson, know
from ldpopt.cli.terminal import cell, check_output, hang, say, watching
from ldpopt.core.errors import UndecidedFileError, UnreadableFileError
from ldpopt.core.exact import ExitCode
from ldpopt.core.number_text import bound_text, value_text

if TYPE_CHECKING:
    from ldpopt.engine.result import Result
    from ldpopt.engine.verifying import Verification

LONG = ("mechanism", "answer", "certificate", "params")
"""The parts of a result that its file has, and its summary has not."""


def solve(
    spec: Path,
    solver: str = "auto",
    gap: float = 1e-9,
    time_limit: float | None = None,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    out: Annotated[Path | None, typer.Option("--out", "-o")] = None,
    problem: str | None = None,
    force: bool = False,
    as_json: AsJson = False,
) -> None:
    """Solve a problem; print the answer, write the certified result.

    KIND is a registered kind of problem, or that of your own class, which --problem names.

    Options:
        spec: A JSON file: {"problem": KIND, "params": {…}}.
        solver: A solver's name, auto, or one of your own: file.py:CLASS.
        gap: Relative gap to prove.
        time_limit: Seconds for the whole solve.
        seed: For solvers that draw random numbers.
        out: Write the result file here.
    """
    from ldpopt.core.limits import Limits

    limits = Limits.within(time_limit)
    from ldpopt.engine.plugins import load_solver
    from ldpopt.engine.questions import read_question
    from ldpopt.engine.solving import chosen_solver
    from ldpopt.engine.solving import solve as solve_problem

    know(problem)
    asked = read_question(spec)
    chosen = load_solver(solver)() if ":" in solver else solver
    if out is not None:
        check_output(out, force, spec)
    with watching(f"reading {asked.kind}", time_limit) as watch:
        watch.step(f"{asked.kind} by {chosen_solver(asked, chosen)}")
        result = solve_problem(
            asked, chosen, gap=gap, time_limit=limits.left(), seed=seed, progress=watch
        )
        if out is not None:
            result.save(out)
        watch.step("checking the certificate")
        verification, reason = _verified(result, out, limits.for_checker())
    if as_json:
        verified = verification.verdict if verification.claims else None
        shown = {key: part for key, part in result.to_json().items() if key not in LONG}
        print(json.dumps({**shown, "verified": verified}, allow_nan=False))
    else:
        _print_result(result, verification, reason)
        if out is not None:
            own = "" if problem is None else f" --problem {shlex.quote(problem)}"
            say(f"wrote {out}; check it with: ldpopt verify {out}{own}")
    if result.stats.get("interrupted"):
        raise KeyboardInterrupt
    if verification.verdict is False:
        raise typer.Exit(ExitCode.REFUTED)


def _verified(result: Result, out: Path | None, seconds: float) -> tuple[Verification, str]:
    """Verify the written file, or the result; if the checker cannot, give the reason."""
    from ldpopt.engine.verifying import Verification, verify

    if result.stats.get("interrupted"):
        return Verification(()), "interrupted"
    try:
        return verify(result if out is None else out, budget=seconds), ""
    except (UnreadableFileError, UndecidedFileError) as error:
        return Verification(()), str(error)


def _proven(number: float | None, result: Result, written: Callable[[float, str, int], str]) -> str:
    """Write a value or a bound with its unit, rounded to its proven side.

    Args:
        number: the value or the bound; None if there is none.
        result: what it belongs to.
        written: rounds it: :func:`value_text` or :func:`bound_text`.
    """
    if number is None:
        return cell(None)
    measured = result.problem
    return f"{written(number, measured.sense, 12)} {measured.measure.unit}".rstrip()


def _gap(result: Result) -> str:
    """Say the gap, and what it is relative to where that is neither value nor bound."""
    from ldpopt.core.exact import GAP_FLOOR

    numbers = [abs(number) for number in (result.value, result.bound) if number is not None]
    small = result.gap is not None and max(numbers) < GAP_FLOOR
    return f"{cell(result.gap)}{f' of {GAP_FLOOR:g}, as value and bound are smaller' if small else ''}"


def _print_result(result: Result, verification: Verification, reason: str) -> None:
    from ldpopt.engine.result import NO_AUDIT
    from ldpopt.engine.verifying import NOT_CHECKED

    spent = {part: result.stats.get(f"{part}_seconds") for part in ("search", "proof", "repair")}
    each = ", ".join(
        f"{part} {cell(took, digits=2)}" for part, took in spent.items() if took is not None
    )
    facts = {
        "problem": result.problem.title,
        "status": verification.marked_utility(verification.status(result.status.value)),
        "value": verification.marked_utility(_proven(result.value, result, value_text)),
        "bound": verification.marked_utility(_proven(result.bound, result, bound_text)),
        "relative gap": verification.marked_utility(_gap(result)),
        "proven": verification.proven or "nothing about better answers",
        "certificate": f"{NOT_CHECKED}: {reason}" if reason else verification.summary,
        "solver": result.solver,
        "seconds": f"{cell(result.seconds)} ({each})",
        **({"audit": "left out, as it took too long"} if NO_AUDIT in result.stats else {}),
    }
    for name, text in facts.items():
        hang(f"{name:<13} ", text)
    mechanism = result.mechanism
    if mechanism is not None:
        inputs, outputs = mechanism.shape
        level = f"LDP level {mechanism.epsilon():.6g} [{NOT_CHECKED}]"
        say(f"{'mechanism':<13} {inputs} inputs, {outputs} outputs, {level}")
        if inputs <= 12 and outputs <= 12:
            for label, row in zip(mechanism.inputs, mechanism.matrix, strict=True):
                say(f"  {label!s:>8} " + " ".join(f"{entry:7.4f}" for entry in row))
