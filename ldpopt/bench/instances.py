"""The random instances of a benchmark."""

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


class Task(NamedTuple):
    """One instance for all solvers; ``forms`` are the classes of its forms, in its order."""

    kind: str
    forms: list[type[Form]]
    size: int
    seed: int
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
            raise InvalidInputError(f"{kind.kind} has no random instances to benchmark")


def _sizes(kind: type[Problem], full: bool) -> Sequence[int]:
    return (full and kind.full_bench_sizes) or kind.bench_sizes


def draw_all(
    kinds: Sequence[type[Problem]],
    sizes: Sequence[int] | None,
    full: bool,
    repeats: int,
    form: str | None,
    seconds: float,
) -> Drawn:
    """Draw the instances of every size; a size that takes too much time or memory is skipped.

    Args:
        kinds: the problems.
        sizes: the sizes of the instances; by default those of each problem.
        full: the longer of its lists.
        repeats: how many of each size.
        form: the form that an instance must have; None for any.
        seconds: how long the drawing of one, and of its forms, may take.
    """
    found = Drawn([], [])
    for kind in kinds:
        for size, seed in product(sizes or _sizes(kind, full), range(repeats)):
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
        forms = [type(one) for one in problem.forms()]
        if form is None or any(one.name == form for one in forms):
            found.append(Task(kind.kind, forms, size, seed, label, problem))
    return found
