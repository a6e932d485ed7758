"""Measure what a loop over problems costs beside hand-written HiGHS: CPU milliseconds for each problem.

    python tools/overheads.py              # 2,000 staircase problems of five inputs, and a 3 × 3 polyopt
    python tools/overheads.py --count 200

By hand: one model of all rays, whose costs change from prior to prior and which starts from its last
basis. It returns value, mechanism and dual vector in floats, and checks nothing. Hundreds are solved in
turn by each way, so that other work of the machine delays all of them; a row has the medians.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import highspy
import numpy as np

from ldpopt import solve, solve_many
from ldpopt.core.validate import Array
from ldpopt.models.cones import staircase_cone
from ldpopt.problems import PolyOpt, Staircase

INPUTS, EPSILON, PART = 5, 1.0, 100
TABLE = [[0.20, 0.10, 0.05], [0.05, 0.25, 0.10], [0.02, 0.08, 0.15]]


def by_hand(priors: Array) -> Iterator[tuple[float, Array, Array]]:
    """Solve the linear programs of many priors by one model."""
    rays = staircase_cone(INPUTS, EPSILON).rays()
    logs, m = np.log(rays), rays.shape[1]
    model, every = highspy.Highs(), np.arange(m, dtype=np.int32)
    for option, setting in {"output_flag": False, "threads": 1, "presolve": "off"}.items():
        model.setOptionValue(option, setting)
    model.setOptionValue("simplex_strategy", 4)
    model.changeObjectiveSense(highspy.ObjSense.kMaximize)
    for _ in range(INPUTS):
        model.addRow(1.0, 1.0, 0, np.zeros(0, np.int32), np.zeros(0))
    rows, infinite = np.tile(np.arange(INPUTS, dtype=np.int32), m), np.full(m, highspy.kHighsInf)
    model.addCols(m, np.zeros(m), np.zeros(m), infinite, rays.size, every * INPUTS, rows, rays.T.ravel())
    for prior in priors:
        mass = prior @ rays
        model.changeColsCost(m, every, prior @ (rays * logs) - mass * np.log(mass))
        model.run()
        found = model.getSolution()
        weights = np.array(found.col_value)
        used = weights > 0
        value = model.getInfo().objective_function_value
        yield value, rays[:, used] * weights[used], np.array(found.row_dual)


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the processor time of some work, and what it returned."""
    start = time.process_time()
    found = work()
    return time.process_time() - start, found


def measured(priors: Array) -> list[float]:
    """Measure each way on some priors, in milliseconds for each."""
    hand, values = seconds(lambda: list(by_hand(priors)))
    built, problems = seconds(lambda: [Staircase(EPSILON, prior) for prior in priors])
    floats, found = seconds(lambda: solve_many(problems, certify=False))
    certified, proven = seconds(lambda: solve_many(problems))
    for (value, _, _), one, other in zip(values, found, proven, strict=True):
        assert abs(value - one.value) < 1e-7 > abs(value - other.value)
    return [1000 * spent / len(priors) for spent in (hand, built, floats, certified)]


def main() -> None:
    """Print a row for each way."""
    parser = argparse.ArgumentParser(description="Measure the overhead of ldpopt beside bare HiGHS.")
    parser.add_argument("--count", type=int, default=2000, help="how many staircase problems")
    count = parser.parse_args().count
    priors = np.random.default_rng(0).dirichlet(np.ones(INPUTS), size=count)
    measured(priors[:10])  # imports
    parts = [measured(priors[i : i + PART]) for i in range(0, count, PART)]
    hand, *rest = map(statistics.median, zip(*parts, strict=True))
    names = ("building the problem", "solve_many(…, certify=False)", "solve_many(…)")
    print("| | ms | × by hand |\n|---|---:|---:|")
    print(f"| warm HiGHS by hand | {hand:.3f} | 1 |")
    for name, spent in zip(names, rest, strict=True):
        print(f"| {name} | {spent:.3f} | {spent / hand:.1f} |")
    solve(PolyOpt(1, TABLE, 1000))
    runs = [seconds(lambda: solve(PolyOpt(1, TABLE, 1000)))[0] for _ in range(9)]
    print(f"| solve, polyopt 3 × 3 | {1000 * statistics.median(runs):.0f} | |")


if __name__ == "__main__":
    main()
