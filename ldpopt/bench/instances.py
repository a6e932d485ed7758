"""The instances of a benchmark: drawn at random, or read from files."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np

from ldpopt.core.errors import InvalidInputError
from ldpopt.core.form import Form
from ldpopt.core.limits import Limits, OutOfTime
from ldpopt.core.problem import Problem
from ldpopt.engine.questions import Questions


class Task(NamedTuple):
    """One instance for all solvers; ``forms`` are the classes of its forms, in its order.

    One that was read from a file has neither size nor seed.
    """

    forms: list[type[Form]]
    size: int | None
    seed: int | None
    label: str
    problem: Problem


class Drawn(NamedTuple):
    """The instances, and a sentence for every size of which none could be drawn."""

    tasks: list[Task]
    skipped: list[str]


def check_sizes(kinds: Sequence[type[Problem]], full: bool) -> None:
    """Refuse a problem without sizes of its own."""
    for kind in kinds:
        if not _sizes(kind, full):
            raise InvalidInputError(
                f"{kind.kind} lists no sizes to benchmark: choose sizes, or benchmark files of questions"
            )


def _sizes(kind: type[Problem], full: bool) -> Sequence[int]:
    return (full and kind.full_bench_sizes) or kind.bench_sizes


def draw_all(
    kinds: Sequence[type[Problem]],
    sizes: Sequence[int] | None,
    full: bool,
    seeds: Sequence[int],
    form: str | None,
    seconds: float,
) -> Drawn:
    """Draw the instances of every size; a size that takes too much time or memory is skipped.

    Args:
        kinds: the problems.
        sizes: the sizes of the instances; by default those of each problem.
        full: the longer of its lists.
        seeds: of the random numbers; an instance of each size and setting for each of them.
        form: the form that an instance must have; None for any.
        seconds: how long the drawing of one, and of its forms, may take.
    """
    found = Drawn([], [])
    for kind in kinds:
        for size, seed in product(sizes or _sizes(kind, full), seeds):
            try:
                drawn = partial(_draw, kind, size, seed, form)
                found.tasks.extend(Limits.within(seconds).in_time(drawn))
            except OutOfTime:
                said = f"drawing takes more than {seconds:g} s"
            except MemoryError:
                said = "it does not fit into the memory"
            else:
                continue
            found.skipped.append(f"no instance of {kind.kind} of size {size}: {said}")
    return found


def _draw(kind: type[Problem], size: int, seed: int, form: str | None) -> list[Task]:
    found = []
    for label, problem in kind.random(size, np.random.default_rng(seed)):
        forms = _forms(problem)
        if form is None or any(one.name == form for one in forms):
            found.append(Task(forms, size, seed, label, problem))
    return found


def from_files(questions: Questions, seconds: float) -> Drawn:
    """Make an instance of every question; one whose forms take too much time or memory is skipped."""
    found = Drawn([], [])
    for label, problem in questions.problems.items():
        try:
            forms = Limits.within(seconds).in_time(partial(_forms, problem))
            found.tasks.append(Task(forms, None, None, label, problem))
        except OutOfTime:
            found.skipped.append(f"{label}: its forms take more than {seconds:g} s")
        except MemoryError:
            found.skipped.append(f"{label}: its forms do not fit into the memory")
    return found


def _forms(problem: Problem) -> list[type[Form]]:
    return [type(form) for form in problem.forms()]
