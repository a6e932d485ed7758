"""What reports determine has one meaning in design, plan and estimate; what they do not is a range."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from ldpopt.core.mechanism import Mechanism
from ldpopt.measures.frequency_intervals import confidence_intervals, margins, score_intervals
from ldpopt.mechanisms import randomized_response
from ldpopt.mechanisms.randomizer import Values
from ldpopt.mechanisms.stated import encoding
from ldpopt.release.accuracy import likely
from ldpopt.release.designing import design
from ldpopt.release.estimating import frequencies
from ldpopt.release.promises import learnable, outcome

RNG = np.random.default_rng(0)
TABLE = {"s": RNG.integers(2, size=3000).astype(str), "u": RNG.integers(4, size=3000).astype(str)}
FREE = np.array([[0.5, 0.5], [0.5, 0.5], [0.25, 0.75]])
"""A mechanism that tells the last of three inputs from the others, and gives the first report to at
most a half."""


def nearly_singular(gap):
    """Randomised response on (s, u) whose rows for u = 2 and 3 differ by a little."""
    made = design(TABLE, "s", "u", epsilon=2.0, method="grr")
    W = made.mechanism.matrix.copy()
    for row in (2, 6):
        W[row + 1] = (1 - gap) * W[row] + gap * W[row + 1]
    return replace(made, result=replace(made.result, answer=Mechanism(W)))


@pytest.mark.parametrize("gap", [1e-3, 1e-5, 1e-8])
def test_nearly_singular_is_not_determined(gap, capsys):
    """Design, margins and estimates say the same of every frequency; all were determined before."""
    made = nearly_singular(gap)
    W, n = made.mechanism.matrix, made.rows
    assert np.linalg.matrix_rank(W) == 8
    assert made.determined == 4
    assert made.dimensions == 5
    assert "determine 4 of the 8 frequencies of the data, 5 of the 7 dimensions" in learnable(made)
    assert made.sample_factor == np.inf
    assert "u not determined" in outcome(made)
    cells = made.randomizer.variances(likely(made.question.counts), [Values(np.arange(8), 8)])
    margin = margins(cells[0], n)
    counts = RNG.multinomial(n, made.question.p_hat.ravel() @ W)
    found = frequencies(counts, made)
    assert [row.determined for row in found.group("joint")] == np.isfinite(margin).tolist()
    for row in found.rows:
        assert (row.estimate is None) == (not row.determined)
        assert row.determined or row.high - row.low > 0.1
    assert [row.determined for row in found.group("secret")] == [True, True]
    assert [row.determined for row in found.group("public")] == [True, True, False, False]


def test_the_definition_of_determined():
    """Its 95 % interval is shorter than [0, 1]: from 1.96² V / (1/2)² reports on."""
    W = randomized_response(2, 0.1).matrix
    variance = 1 / (4 * (W[0, 0] - 0.5) ** 2) / 4
    enough = 1.96**2 * variance / 0.25
    for n, known in ((0.9 * enough, False), (1.1 * enough, True)):
        counts = np.full(2, round(n / 2))
        assert score_intervals(W, counts, np.eye(2)).determined.tolist() == [known] * 2
        assert np.isfinite(margins(np.full(2, variance), n)).tolist() == [known] * 2


def test_an_empty_confidence_set_is_answered_with_ranges_that_are_not_points():
    """More of the first report than any data give: by chance, and the ranges hold what data explain."""
    counts = np.array([560, 440])
    found = confidence_intervals(FREE, counts, np.eye(3), 0.95)
    assert not found.explained
    assert found.determined.tolist() == [False, False, True]
    assert (found.high - found.low > 0.05).all()
    assert (found.low[0], found.high[0]) == (0, 1)
    assert confidence_intervals(FREE, counts, np.eye(3), 0.9999).explained


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_honest_releases_are_never_refused_and_covered(level):
    """At the edge of what data give 5 % of the releases were refused at a level of one half."""
    rng, truth = np.random.default_rng(2), np.array([0.3, 0.7, 0.0])
    missed = unexplained = 0
    for counts in rng.multinomial(500, truth @ FREE, size=200):
        found = confidence_intervals(FREE, counts, np.eye(3), level)
        missed += not ((found.low <= truth + 1e-9) & (truth <= found.high + 1e-9)).all()
        unexplained += not found.explained
    assert missed <= binom.isf(1e-4, 200, 1 - level)
    assert unexplained <= binom.isf(1e-4, 200, 1 - level)
    assert level > 0.9 or unexplained > 0


def test_estimates_have_no_bias_and_their_errors_are_right():
    """A value of 0.24 %: cut to 0, its mean over many releases was half as large again."""
    made = design({"s": ["a"] * 2394 + ["b"] * 600 + ["c"] * 6}, "s", epsilon=3.0, method="grr")
    W, p = made.mechanism.matrix, np.array([0.7976, 0.2, 0.0024])
    draws = np.random.default_rng(1).multinomial(3000, p @ W, size=1500)
    found = [frequencies(counts, made) for counts in draws]
    values = np.array([[row.estimate for row in one.rows] for one in found])
    covariance = np.linalg.inv(W).T @ (np.diag(p @ W) - np.outer(p @ W, p @ W)) @ np.linalg.inv(W) / 3000
    error = np.sqrt(np.diag(covariance))
    assert np.abs(values.mean(axis=0) - p).max() < 4 * error.max() / np.sqrt(1500)
    assert np.clip(values[:, 2], 0, 1).mean() > 1.2 * p[2]
    stated = np.mean([one.covariance["secret"] for one in found], axis=0)
    assert stated == pytest.approx(covariance, abs=0.02 * np.abs(covariance).max())
    for one, row in ((one, one.rows[2]) for one in found):
        assert row.standard_error == pytest.approx(np.sqrt(one.covariance["secret"][2, 2]))
        assert row.clipped == (0.0 if row.estimate < 0 else None)
        assert row.low < row.high
        assert row.low <= max(row.estimate, 0) <= row.high


def test_the_file_has_estimates_errors_and_covariance():
    made = nearly_singular(1e-8)
    counts = RNG.multinomial(3000, made.question.p_hat.ravel() @ made.mechanism.matrix)
    plain = json.loads(json.dumps(frequencies(counts, made).to_json(), allow_nan=False))
    public = [row for row in plain["frequencies"] if row["group"] == "public"]
    assert ["estimate" in row for row in public] == [True, True, False, False]
    matrix = plain["covariance"]["public"]
    assert public[0]["standard_error"] == pytest.approx(matrix[0][0] ** 0.5)
    assert matrix[0][1] == matrix[1][0] != 0
    assert matrix[2] == [None] * 4


def test_what_no_row_of_the_design_has_is_not_estimated(tmp_path, capsys):
    from ldpopt.cli.estimate import _print_frequencies

    rng = np.random.default_rng(1)
    ages, sizes = rng.integers(18, 90, size=500), rng.integers(100, size=500)
    table = {"s": rng.integers(2, size=500).astype(str), "age": ages, "size": sizes}
    edges = {"age": [18, 40], "size": [50]}
    for method in ("srr", "subset"):
        made = design(table, "s", ["age", "size"], epsilon=3.0, bins=edges, method=method)
        inputs = made.inputs
        counts = rng.integers(100, 120, size=inputs + (method == "subset"))
        if method == "subset":
            counts[-1] = 500
        found = frequencies(counts, made)
        assert found.absent == (("public: age", "< 18"),)
        assert [row.label for row in found.group("public: age")] == ["[18, 40)", "≥ 40"]
        assert found.to_json()["absent"] == [{"group": "public: age", "label": "< 18"}]
        _print_frequencies(found, list(found.names), ranges=True)
        said = " ".join(capsys.readouterr().out.split())
        assert "Cannot occur: age < 18. The mechanism was designed for no such row." in said


@pytest.mark.parametrize(
    "plain",
    [
        {"kind": "unary", "inputs": 6, "own": 0.5, "other": 0.25},
        {"kind": "subset", "inputs": 6, "size": 2, "own": 0.625},
        {"kind": "hashing", "inputs": 6, "buckets": 3, "own": 0.75},
    ],
)
def test_the_covariance_of_an_encoding(plain):
    of, p = encoding(plain), np.array([0.4, 0.2, 0.1, 0.1, 0.1, 0.1])
    rng = np.random.default_rng(0)
    people = np.repeat(np.arange(6), (60_000 * p).astype(int))
    reports = of.sample(people, lambda count: rng.integers(2**64, size=count, dtype=np.uint64))
    marks = (of.supports(reports) - of.other) / (of.own - of.other)
    groups = np.array([0, 0, 1, 2, 2, 2])
    sums = np.stack([marks[:, groups == g].sum(axis=1) for g in range(3)], axis=1)
    expected = np.cov(sums.T)
    moments = of.moments(of.tallied(reports), [Values(groups, 3)])[0]
    found = moments.covariance() * len(people)
    assert found == pytest.approx(expected, abs=0.03 * np.abs(expected).max())
