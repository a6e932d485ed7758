"""A study: what 200,000 patients' reports tell of diagnosis and ward, by which method.

Run ``python docs/hospital.py``; where multi-freq-ldpy is installed, its subset selection is also run.
Mechanisms that are stated by their parameters have no matrix to draw from: their errors are computed,
as is that of split, which is too close to the best one to be told from it by repetitions.
"""

import time
from importlib.util import find_spec

import numpy as np

from ldpopt.measures.frequency_intervals import score_intervals
from ldpopt.release.designing import design

ROWS, EPSILON, RUNS, FEW_RUNS = 200_000, 1.0, 200, 20
OTHERS = ("split", "sampled", "cr", "learn", "srr", "grr", "ir", "blurred")
ENCODINGS = ("subset", "unary", "hashing", "hadamard")
COLUMNS = {"diagnosis": 10, "ward": 9}


def hospital(seed=0):
    """Draw the table: diagnoses from frequent to rare, wards that depend on them, sex and age."""
    rng = np.random.default_rng(seed)
    diagnosis = rng.choice(10, ROWS, p=[0.28, 0.18, 0.14, 0.11, 0.09, 0.07, 0.05, 0.04, 0.025, 0.015])
    common = rng.dirichlet(np.full(9, 3.0))
    wards = np.array([0.75 * common + 0.25 * rng.dirichlet(np.ones(9)) for _ in range(10)])
    drawn = rng.random(ROWS)[:, None] > np.cumsum(wards, axis=1)[diagnosis]
    return {
        "diagnosis": diagnosis,
        "ward": np.minimum(drawn.sum(axis=1), 8),
        "sex": rng.integers(2, size=ROWS),
        "age": rng.integers(100, size=ROWS) // 20,
    }


def designed(table, method="auto", queries=()):
    """Design a mechanism for the two columns, by a method or by the best of those for estimates."""
    columns = {name: table[name].astype(str) for name in COLUMNS}
    given = {"epsilon": EPSILON, "robust": "chi2", "time_limit": 600}
    return design(columns, "diagnosis", "ward", **given, method=method, queries=queries)


def measured(made, runs, seed=1):
    """Report the table anew: for each column the root mean squared error, and how often ± held."""
    rng, W = np.random.default_rng(seed), made.mechanism.matrix
    counts = made.question.counts
    C = np.vstack([np.repeat(np.eye(10), 9, axis=1), np.tile(np.eye(9), 10)])
    truth = C @ counts.ravel() / ROWS
    names = np.repeat(list(COLUMNS), list(COLUMNS.values()))
    margins = {part.name: part.margin(ROWS) for part in made.accuracy()}
    off = []
    for _ in range(runs):
        reports = sum(rng.multinomial(n, row) for n, row in zip(counts.ravel(), W, strict=True))
        off.append(np.clip(score_intervals(W, reports, C, 0.95).value, 0, 1) - truth)
    off, found = np.array(off), {}
    for name in COLUMNS:
        part = off[:, names == name]
        found[name] = np.sqrt((part**2).mean()), np.mean(np.abs(part) <= margins[name])
    return found


def predicted(made):
    """Compute the same root mean squared errors from the variances of the estimates."""
    return {part.name: np.sqrt(part.variances.mean() / ROWS) for part in made.accuracy()}


def peer(table, runs, seed=1):
    """Return the errors of multi-freq-ldpy's subset selection, where everybody reports one column."""
    from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Aggregator_MI, SS_Client

    rng, found = np.random.default_rng(seed), {}
    for name, k in COLUMNS.items():
        truth, off = np.bincount(table[name], minlength=k) / ROWS, []
        for _ in range(runs):
            chosen = table[name][rng.random(ROWS) < 0.5]
            reports = [SS_Client(int(value), k, EPSILON) for value in chosen]
            off.append(SS_Aggregator_MI(reports, k, EPSILON) - truth)
        found[name] = np.sqrt(np.mean(np.square(off)))
    return found


def main():
    """Design, measure and compare."""
    table = hospital()
    start = time.process_time()
    best = designed(table)
    print(f"designed by {best.method} in {time.process_time() - start:.1f} s of CPU time")
    for made, runs in ((best, RUNS), *((designed(table, name), FEW_RUNS) for name in OTHERS)):
        for name, (error, held) in measured(made, runs).items():
            print(f"{made.method:8} {name:9} error {error:.5f}, ± held in {held:.1%}")
    for made in (best, *(designed(table, name) for name in ("split", *ENCODINGS))):
        for name, error in predicted(made).items():
            print(f"{made.method:8} {name:9} error {error:.6f}, computed")
    for name in COLUMNS:
        alone = designed(table, queries=[name])
        error, held = measured(alone, FEW_RUNS)[name]
        print(f"{alone.method:8} {name:9} error {error:.5f}, ± held in {held:.1%}, alone")
    if find_spec("multi_freq_ldpy"):
        for name, error in peer(table, FEW_RUNS).items():
            print(f"peer     {name:9} error {error:.5f}")


if __name__ == "__main__":
    main()
