"""Measure whether solves keep to their time limit: random instances of every kind.

    python tools/clocks.py                          # 20 instances of each kind, the other core busy
    python tools/clocks.py --count 2 --kinds polyopt robust-optimum

Sizes are such that the limit matters. A deadline may slip by one repair: a solve is late if it took more
than 1.1 times the limit and half a second, the repair of its answer left out. A solve whose CPU time is
far below its wall time was starved by other work.

Every instance is solved in a process of its own, which loads its solvers as a command does and is ended
where it hangs. A line per instance is printed as it comes, then a row per kind and the worst instances.
"""

import argparse
import math
import multiprocessing
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import numpy as np

from ldpopt import solve
from ldpopt.core.problem import Problem
from ldpopt.core.validate import Array
from ldpopt.engine.result import NO_AUDIT
from ldpopt.problems import PROBLEMS

SIZES = {
    "staircase": (16, 64, 256),
    "secret-staircase": (10, 20, 40),
    "circulant-fidelity": (60, 120, 180),
    "square-fidelity": (16, 24, 60),
    "broad-fidelity": (1000, 10_000),
    "fidelity": (12, 16),
    "minimax-fidelity": (13, 31, 60),
    "statistic-leakage": (120, 240, 480),
    "leakage-design": (6, 8, 10),
    "asymptotic-utility": (6, 8),
    "privacy-utility-frontier": (5, 6),
    "composition-bound": (5, 6),
    "feature-release": (16, 20, 24),
    "numeric-mean": (21, 41, 101),
    "frequency-encoding": (1000, 10_000, 65_536),
}
"""The sizes that the instances of a kind take in turn."""
SHAPES = ((3, 3), (4, 4), (3, 8), (6, 6), (8, 4))
"""The shapes of the tables that the kinds about tables take in turn."""
BALLS = ("total-variation", "kullback-leibler", "likelihood", "hellinger", "wasserstein")


HANGING = 10
"""A solve is ended after so many times its time limit."""
FAILED = "failed: "
"""How the outcome of a solve that raised an error begins."""
MEASURED = ("wall", "cpu", "repair")
"""The seconds whose maximum over the instances of a kind is printed."""
WORST = 10
"""How many of the longest solves are listed in the end."""


class Measured(NamedTuple):
    """One solve: what was asked, what became of it, the seconds of wall and CPU time, and of repair."""

    kind: str
    name: str
    outcome: str
    wall: float
    cpu: float
    repair: float

    def __str__(self) -> str:
        seconds = f"{self.wall:.1f} s, CPU {self.cpu:.1f} s"
        return f"{self.kind}, {self.name}: {seconds}; {self.outcome}"


def instances(kind: str, count: int) -> Iterator[tuple[str, Problem]]:
    """Draw so many instances of a kind, each with its name."""
    for seed in range(count):
        rng = np.random.default_rng(seed)
        if kind in TABLES:
            shape = SHAPES[seed % len(SHAPES)]
            params = TABLES[kind](rng, rng.dirichlet(np.ones(shape[0] * shape[1])).reshape(shape))
            flat = (
                {"set": params["uncertainty"]["kind"], **params} if "uncertainty" in params else params
            )
            said = ", ".join(
                f"{name} {part}" for name, part in flat.items() if isinstance(part, int | float | str)
            )
            yield f"{shape[0]} × {shape[1]}, seed {seed}, {said}", PROBLEMS[kind](**params)
        else:
            size = SIZES[kind][seed % len(SIZES[kind])]
            drawn = list(PROBLEMS[kind].random(size, rng))
            label, problem = drawn[seed % len(drawn)]
            yield f"size {size}, seed {seed}, {label}", problem


Params = dict[str, Any]


def _confident(rng: np.random.Generator, table: Array) -> Params:
    """Give a level and the confidence set of a table."""
    return {
        "epsilon": float(rng.choice([0.5, 1.0, 2.0, 4.0])),
        "p_hat": table,
        "n": int(rng.choice([100, 1000, 100_000])),
    }


def _polyopt(rng: np.random.Generator, table: Array) -> Params:
    objective = str(rng.choice(["empirical", "robust"]))
    pairs = str(rng.choice(["all", "distinct"]))
    calibrate = bool(objective == "empirical" and rng.random() < 0.5)
    return _confident(rng, table) | {"objective": objective, "pairs": pairs, "calibrate": calibrate}


def _optimum(rng: np.random.Generator, table: Array) -> Params:
    return _confident(rng, table) | {"objective": str(rng.choice(["empirical", "robust"]))}


def _reporting(rng: np.random.Generator, table: Array) -> Params:
    blocks = str(rng.choice(["grr", "optimal"]))
    calibrate = bool(blocks == "grr" and rng.random() < 0.7)
    return _confident(rng, table) | {"blocks": blocks, "calibrate": calibrate}


def _unary(rng: np.random.Generator, table: Array) -> Params:
    return _confident(rng, table) | {"calibrate": bool(rng.random() < 0.7)}


def _queries(rng: np.random.Generator, table: Array) -> Params:
    """Ask for both margins, against all distributions or against the confidence set."""
    a1, a2 = table.shape
    rows = np.vstack([np.repeat(np.eye(a1), a2, axis=1), np.tile(np.eye(a2), a1)])
    against = _confident(rng, table)
    if rng.random() < 0.5:
        return {"epsilon": against["epsilon"], "prior": table, "queries": rows}
    return against | {"queries": rows}


def _ball(rng: np.random.Generator, table: Array) -> Params:
    radius = float(table.sum(axis=1).min()) * rng.uniform(0.01, 0.3)
    return {"kind": str(rng.choice(BALLS)), "p_hat": table.tolist(), "radius": radius}


def _level(rng: np.random.Generator, table: Array) -> Params:
    """Ask for the level of a random mechanism over a ball."""
    outputs = int(rng.integers(2, table.size + 1))
    rows = 0.5 * rng.dirichlet(np.ones(outputs), size=table.size) + 0.5 / outputs
    return {"matrix": rows, "uncertainty": _ball(rng, table)}


def _set_optimum(rng: np.random.Generator, table: Array) -> Params:
    return {"epsilon": float(rng.choice([0.5, 1.0, 2.0])), "uncertainty": _ball(rng, table)}


TABLES: dict[str, Callable[[np.random.Generator, Array], Params]] = {
    "polyopt": _polyopt,
    "robust-optimum": _optimum,
    "robust-fidelity": _queries,
    "robust-level": _level,
    "set-optimum": _set_optimum,
    "independent-reporting": _reporting,
    "grr-conditional": _reporting,
    "ue-conditional": _unary,
}
"""Draws the parameters of an instance from a random table."""


def measured(kind: str, name: str, problem: Problem, seconds: float) -> Measured:
    """Solve an instance within a time limit, in a process of its own."""
    receiving, sending = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.Process(target=_solve, args=(sending, problem, seconds), daemon=True)
    start = time.perf_counter()
    process.start()
    sending.close()
    try:
        answered = receiving.poll(HANGING * seconds)
        outcome, wall, cpu, repair = (
            receiving.recv() if answered else (f"{FAILED}still running, ended", math.inf, 0.0, 0.0)
        )
    except EOFError:
        outcome, wall, cpu, repair = f"{FAILED}no answer", math.inf, 0.0, 0.0
    process.kill()
    process.join()
    return Measured(kind, name, outcome, min(wall, time.perf_counter() - start), cpu, repair)


def _solve(answers: Connection, problem: Problem, seconds: float) -> None:
    """Send what became of a solve, its seconds of wall and CPU time, and those of its repair."""
    wall, cpu, repair = time.perf_counter(), time.process_time(), 0.0
    try:
        result = solve(problem, time_limit=seconds)
        repair = result.stats["repair_seconds"]
        parts = (
            f"{part} {result.stats[f'{part}_seconds']:.1f}" for part in ("search", "proof", "repair")
        )
        gap = "–" if result.gap is None else f"{result.gap:.1g}"
        left_out = [NO_AUDIT.replace("_", " ")] if NO_AUDIT in result.stats else []
        outcome = f"{result.solver}: {result.status.value}, gap {gap}, {', '.join([*parts, *left_out])}"
    except Exception as error:  # one crash must not end the study
        outcome = f"{FAILED}{type(error).__name__}: {str(error).partition(chr(10))[0]}"
    answers.send((outcome, time.perf_counter() - wall, time.process_time() - cpu, repair))


def _burn() -> None:
    while True:
        pass


def _row(kind: str, found: list[Measured], allowed: float) -> str:
    longest, hardest, repair = (max(getattr(one, name) for one in found) for name in MEASURED)
    late = sum(one.wall - one.repair > allowed for one in found)
    failed = sum(one.outcome.startswith(FAILED) for one in found)
    return (
        f"| {kind} | {len(found)} | {longest:.1f} | {hardest:.1f} | {repair:.1f} | {late} | {failed} |"
    )


def main() -> None:
    """Solve the instances, one after the other; print a line for each, and a summary."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kinds", nargs="+", default=list(PROBLEMS), choices=list(PROBLEMS))
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--busy", type=int, default=1, help="processes that keep other cores busy")
    given = parser.parse_args()
    burning = [multiprocessing.Process(target=_burn, daemon=True) for _ in range(given.busy)]
    for process in burning:
        process.start()
    allowed, found = given.seconds * 1.1 + 0.5, []
    for kind in given.kinds:
        for name, problem in instances(kind, given.count):
            found.append(measured(kind, name, problem, given.seconds))
            print(found[-1], flush=True)
    print("\n| kind | instances | max wall (s) | max CPU (s) | max repair (s) | late | failed |")
    print("|---|---|---|---|---|---|---|")
    for kind in given.kinds:
        print(_row(kind, [one for one in found if one.kind == kind], allowed))
    kept = sum(one.wall - one.repair <= allowed for one in found)
    print(f"\n{kept} of {len(found)} solves stayed within {allowed:g} s and one repair; the longest:")
    for one in sorted(found, key=lambda one: -one.wall)[:WORST]:
        print(one)


if __name__ == "__main__":
    main()
