"""Draw the questions of docs/test-set again: ``python tools/draw_test_set.py DIRECTORY``.

For every problem: its random instances of the smallest and of the largest size of ``ldpopt bench``, seed
0, up to five; and questions that are known to be hard. ``ldpopt bench docs/test-set`` runs them.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np

from ldpopt import Program, objective, privacy
from ldpopt.core.problem import Problem
from ldpopt.problems import PROBLEMS, SquareFidelity, Staircase

MOST = 5
"""Instances of a problem and size."""
LARGEST = 20_000
"""Bytes of a file."""


def drawn() -> Iterator[tuple[str, Problem]]:
    """Draw the random instances of every problem, with the names of their files."""
    for kind in PROBLEMS:
        sizes = PROBLEMS[kind].bench_sizes
        for size in dict.fromkeys((sizes[0], sizes[-1])):
            for label, problem in islice(PROBLEMS[kind].random(size, np.random.default_rng(0)), MOST):
                yield f"{kind} {size} {label}", problem


def hard() -> Iterator[tuple[str, Problem]]:
    """List questions that are hard for the methods of the field, with the names of their files."""
    for k in (16, 24, 32):
        ranks = np.arange(1, k + 1)
        for name, weights in (("zipf", 1 / ranks), ("geometric", 0.8**ranks)):
            yield f"staircase hard {k} {name}", Staircase(1, prior=weights / weights.sum())
    for k in (6, 10, 12):
        yield f"square-fidelity hard {k}", SquareFidelity(1, k)
    for k in (4, 5):
        prior = np.arange(k, 0, -1) / (k * (k + 1) / 2)
        renyi = privacy.Renyi(0.5, 2)
        yield f"program hard renyi guessing {k}", Program(renyi, objective.Guessing(prior))
        yield (
            f"program hard renyi information {k}",
            Program(renyi, objective.MutualInformation(prior)),
        )


def write(directory: Path) -> None:
    """Write every question that is not too large as a file of its own."""
    directory.mkdir(parents=True, exist_ok=True)
    for label, problem in (*drawn(), *hard()):
        text = json.dumps({"problem": problem.kind, "params": problem.to_params()}) + "\n"
        if len(text.encode()) <= LARGEST:
            ascii_only = label.replace("ε", "epsilon").replace("δ", "delta").replace("é", "e")
            name = re.sub(r"[^a-z0-9.]+", "-", ascii_only.lower()).strip("-")
            (directory / f"{name}.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
