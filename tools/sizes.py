"""Measure how far the solvers reach on a fixed list of instances, and compare two versions.

    python tools/sizes.py > now.json
    PYTHONPATH=OLDER python tools/sizes.py > before.json
    python tools/sizes.py --table before.json now.json            # the table of docs/reach.md
    python tools/sizes.py --short --table before.json now.json    # the table of the README

Every instance is solved once with a time limit and verified; times are seconds of CPU time of one
process, and so is the time limit: the clock that solvers read is that of the process, so that other
work on the machine does not count. A kind or an option that a version does not know is a dash in the
table, and a version that forgets its time limit is stopped after ten times as long.
"""

import argparse
import json
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

SECONDS = 20.0
PATIENCE = 10
"""An instance is given up after so many times its time limit."""
SHORT = (
    "`staircase`, 200 inputs, `kl`, ε = 1",
    "`secret-staircase`, 16 × 15, ε = 1",
    "`robust-optimum`, 2 × 2, ε = 1",
    "`robust-optimum`, 4 × 4, ε = 1",
    "`robust-optimum`, 6 × 4, ε = 1",
    "`ue-conditional`, 10 × 10, ε = 4",
    "`square-fidelity`, 6 inputs, ε = 1",
    "`composition-bound`, 10 marginals, t = 0.0001",
    "`leakage-design`, 8 records, leakage 1.436",
)
"""The rows of the README."""
Instance = tuple[str, str, dict[str, Any]]


def instances() -> Iterator[Instance]:
    """Draw the instances: what they are, their kind and their parameters."""
    for k, utility in ((200, "kl"), (200, "chi-squared")):
        rng = np.random.default_rng(0)
        pair = rng.dirichlet(np.full(k, 0.5), size=2).tolist()
        yield (
            f"`staircase`, {k} inputs, `{utility}`, ε = 1",
            "staircase",
            {"epsilon": 1.0, "utility": utility, "hypotheses": pair},
        )
    near = np.linspace(0.98, 1.02, 31)
    yield (
        "`staircase`, 31 nearly equal inputs, ε = 1",
        "staircase",
        {"epsilon": 1.0, "prior": (near / near.sum()).tolist()},
    )
    table = np.random.default_rng(7).dirichlet(np.full(240, 0.5)).reshape(16, 15)
    yield (
        "`secret-staircase`, 16 × 15, ε = 1",
        "secret-staircase",
        {"epsilon": 1.0, "prior": table.tolist()},
    )
    small = {"p_hat": [[0.3, 0.2], [0.15, 0.35]], "n": 1000}
    yield "`robust-optimum`, 2 × 2, ε = 1", "robust-optimum", {"epsilon": 1.0, **small}
    for a1, a2, level in ((4, 10, 4.0), (10, 10, 4.0)):
        table = np.random.default_rng(0).dirichlet(np.full(a1 * a2, 0.5)).reshape(a1, a2)
        yield (
            f"`ue-conditional`, {a1} × {a2}, ε = {level:g}",
            "ue-conditional",
            {"epsilon": level, "p_hat": table.tolist(), "n": 1000},
        )
    table = np.random.default_rng(5).dirichlet(np.ones(16)).reshape(4, 4)
    yield (
        "`polyopt`, 4 × 4, robust objective, ε = 1",
        "polyopt",
        {"epsilon": 1.0, "p_hat": table.tolist(), "n": 1000, "objective": "robust"},
    )
    yield (
        "`circulant-fidelity`, 180 inputs, ε = 1",
        "circulant-fidelity",
        {"inputs": 180, "epsilon": 1.0},
    )
    for k, level in ((4, 0.3), (6, 1.0), (10, 1.0)):
        given = {"inputs": k, "epsilon": level}
        yield f"`square-fidelity`, {k} inputs, ε = {level:g}", "square-fidelity", given
    for count, threshold in ((8, 1e-3), (10, 1e-4), (11, 2e-5)):
        marginals = np.random.default_rng(0).dirichlet(np.ones(3), size=count).tolist()
        given = {"marginals": marginals, "threshold": threshold, "method": "best"}
        yield f"`composition-bound`, {count} marginals, t = {threshold:g}", "composition-bound", given
    for tau, leakage in ((6, 1.276), (8, 1.436), (12, 1.67)):
        given = {"tau": tau, "d": 3, "leakage": leakage}
        yield f"`leakage-design`, {tau} records, leakage {leakage:g}", "leakage-design", given
    for a1, a2 in ((4, 4), (6, 4), (12, 5)):
        table = np.random.default_rng(1).dirichlet(np.full(a1 * a2, 0.5)).reshape(a1, a2)
        given = {"epsilon": 1.0, "p_hat": table.tolist(), "n": 1000}
        yield f"`robust-optimum`, {a1} × {a2}, ε = 1", "robust-optimum", given


def measured(kind: str, params: dict[str, Any]) -> dict[str, Any]:
    """Solve and verify one instance."""
    from ldpopt import problem, solve, verify

    def stop(*_: Any) -> None:
        raise TimeoutError(f"not ended after {PATIENCE * SECONDS:g} s")

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, PATIENCE * SECONDS)
    try:
        question = problem(kind, **params)
        start = time.process_time()
        result = solve(question, gap=1e-6, time_limit=SECONDS)
        solved = time.process_time()
        verdict = bool(verify(result))
    except Exception as error:
        late = isinstance(error, TimeoutError)
        return {"missing": str(error).split("\n", maxsplit=1)[0][:80], "late": late}
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return {
        "value": result.value,
        "gap": result.gap,
        "solve": solved - start,
        "verify": time.process_time() - solved,
        "verified": verdict,
    }


def main() -> None:
    """Measure, or print the table of two measurements."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", nargs=2, metavar=("BEFORE", "NOW"))
    parser.add_argument("--short", action="store_true", help="the rows of the README alone")
    given = parser.parse_args()
    if given.table is None:
        time.monotonic = time.process_time
        found = {}
        for name, kind, params in instances():
            found[name] = measured(kind, params)
            print(name, found[name], file=sys.stderr)
        print(json.dumps(found, indent=1, ensure_ascii=False))
        return
    before, now = (json.loads(Path(file).read_text(encoding="utf-8")) for file in given.table)
    print("| instance | gap before | gap now | solve, verify before (s) | solve, verify now (s) |")
    print("|---|---|---|---|---|")
    for name in SHORT if given.short else now:
        rows = before.get(name, {"missing": ""}), now[name]
        gaps = " | ".join(_gap(row) for row in rows)
        print(f"| {name} | {gaps} | {' | '.join(_seconds(row) for row in rows)} |")


def _gap(row: dict[str, Any]) -> str:
    if "missing" in row:
        return row["missing"] if row.get("late") else "–"
    if row["gap"] is None:
        return "not proven"
    return f"{row['gap']:.1g}" + ("" if row["verified"] else " (not verified)")


def _seconds(row: dict[str, Any]) -> str:
    return "–" if "missing" in row else f"{row['solve']:.2g}, {row['verify']:.2g}"


if __name__ == "__main__":
    main()
