"""Frequencies from released reports, and whether their intervals keep their word."""

import math

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy.optimize import linprog
from scipy.stats import binom, binomtest, norm

from ldpopt.cli.estimate import _print_frequencies
from ldpopt.core.errors import InvalidInputError
from ldpopt.measures import frequency_intervals
from ldpopt.measures.frequency_intervals import box, confidence_intervals, largest_means
from ldpopt.mechanisms import randomized_response
from ldpopt.release import estimating
from ldpopt.release.designing import design
from ldpopt.release.estimating import estimate, frequencies
from ldpopt.release.releasing import privatize

CENSUS = ("adult:sex-race", "sex", "race")


@pytest.fixture(scope="module")
def made():
    return design(*CENSUS, epsilon=1.0, robust="chi2", goal="information")


def test_the_census(made, tmp_path):
    privatize("adult:sex-race", made, tmp_path / "released.parquet", seed=0)
    found = estimate(tmp_path / "released.parquet", made, others=True)
    assert found.n == 32561
    assert {name: len(found.group(name)) for name in found.names} == {
        "secret": 2,
        "public": 5,
        "joint": 10,
    }
    truth = made.question.p_hat
    for row, true in zip(
        found.rows, [*truth.sum(axis=1), *truth.sum(axis=0), *truth.ravel()], strict=True
    ):
        assert row.determined
        assert row.together_low <= true <= row.together_high
        assert row.together_low <= row.low <= row.estimate <= row.high <= row.together_high
        assert row.estimate == pytest.approx(row.ml, abs=1e-6)
        assert row.ml == pytest.approx(
            row.mmse, abs=1e-6
        )  # as many reports as inputs: the same solution
        assert row.ml == pytest.approx(row.bayes, abs=5e-3)
        assert row.credible_low < row.bayes < row.credible_high
    for name in found.names:
        assert math.fsum(row.ml for row in found.group(name)) == pytest.approx(1)
    axes = found.plot(Figure().subplots())
    shown = [words.get_text() for words in axes.get_yticklabels()]
    assert shown[:3] == ["secret: sex", *(row.label for row in found.group("secret"))]
    estimates = next(line for line in axes.lines if line.get_label() == "estimate")
    assert estimates.get_xdata().tolist() == [row.estimate for row in found.rows]


def test_randomised_response_by_hand():
    """(share − 1/4)/(1/2); the mean square about the share 0.6, doubled, at the end of its interval."""
    W = np.array([[0.75, 0.25], [0.25, 0.75]])
    found = confidence_intervals(W, np.array([600, 400]), np.eye(2), 0.9)
    rarer = binomtest(400, 1000).proportion_ci(1 - 0.1 / 2).high
    half = norm.ppf(1 - 0.1 / 4) * 2 * math.sqrt((rarer * 0.6**2 + (1 - rarer) * 0.4**2) / 1000)
    assert found.low == pytest.approx([0.7 - half, 0.3 - half], abs=1e-9)
    assert found.high == pytest.approx([0.7 + half, 0.3 + half], abs=1e-9)


@pytest.mark.parametrize("n", [1, 5, 20, 100])
def test_coverage_of_few_reports(made, n):
    """The normal intervals with the plain variance held at once in 79 % of the runs with n = 100."""
    W, p, rng = made.mechanism.matrix, made.question.p_hat.ravel(), np.random.default_rng(1)
    response = randomized_response(5, 3.0).matrix
    rare = np.array([0.992, 0.002, 0.002, 0.002, 0.002])
    C = np.vstack([np.eye(10), np.repeat(np.eye(2), 5, axis=1)])
    for channel, truth, asked in ((W, p, C), (response, rare, np.eye(5))):
        missed = 0
        drawn = rng.multinomial(n, truth @ channel, size=300)
        for counts, times in zip(*np.unique(drawn, axis=0, return_counts=True), strict=True):
            found = confidence_intervals(channel, counts, asked, 0.95)
            assert found.determined.all() or n < 100
            holds = (found.low <= asked @ truth) & (asked @ truth <= found.high)
            missed += 0 if holds.all() else times
        assert missed <= binom.isf(1e-4, 300, 0.05)


def test_the_largest_mean_is_that_of_a_linear_program():
    rng = np.random.default_rng(0)
    values, counts = rng.normal(size=(6, 5)) ** 2, np.array([0, 3, 9, 1, 12])
    low, high = laws = box(counts, 0.1)
    bounds = list(zip(low, high, strict=True))
    best = [-linprog(-v, A_eq=np.ones((1, 5)), b_eq=[1.0], bounds=bounds).fun for v in values]
    assert largest_means(values, laws) == pytest.approx(best)


def test_no_reports(made):
    with pytest.raises(InvalidInputError, match="no reports to estimate from"):
        frequencies(np.zeros(10, dtype=int), made)


@pytest.mark.parametrize(
    ("method", "runs"), [("polyopt", 200), ("staircase", 20), ("ue", 20), ("ldp", 20)]
)
def test_coverage(method, runs):
    """All intervals hold at once in at least 90 % of the runs, determined or not."""
    made = design(*CENSUS, epsilon=1.0, method=method, robust="chi2")
    W, p, rng = made.mechanism.matrix, made.question.p_hat.ravel(), np.random.default_rng(3)
    C = np.vstack([np.eye(10), np.repeat(np.eye(2), 5, axis=1)])
    missed = 0
    for _ in range(runs):
        found = confidence_intervals(W, rng.multinomial(3000, p @ W), C, 0.9)
        inside = (found.low <= C @ p + 1e-9) & (C @ p <= found.high + 1e-9)
        missed += not inside.all()
    assert missed <= binom.isf(1e-4, runs, 0.1)


def test_ranges_where_reports_determine_nothing():
    W = np.array([[0.5, 0.5], [0.5, 0.5], [0.25, 0.75]])
    counts = np.array([40_000_000, 60_000_000])
    C = np.array([[1.0, 0, 0], [1.0, 1.0, 0], [0, 0, 1.0]])
    found = confidence_intervals(W, counts, C, 0.95)
    assert found.determined.tolist() == [False, True, True]
    assert [found.low[0], found.high[0]] == pytest.approx([0, 0.6], abs=1e-3)
    assert [found.low[1], found.high[1]] == pytest.approx([0.6, 0.6], abs=1e-3)
    wide = design(*CENSUS, epsilon=1.0, method="ldp")
    rows = frequencies(np.array([6000, 4000]), wide, level=0.95, others=True).rows
    open_ones = [row for row in rows if not row.determined]
    assert len(open_ones) > 10
    for row in open_ones:  # what the prior believes lies within what the reports leave open
        assert row.low - 0.02 <= row.credible_low < row.credible_high <= row.high + 0.02


def test_reports_that_no_data_explain():
    W = np.array([[0.5, 0.5], [0.5, 0.5], [0.25, 0.75]])
    with pytest.raises(InvalidInputError, match="another mechanism made these reports"):
        confidence_intervals(W, np.array([0, 10_000]), np.eye(3), 0.95)


def test_secret_alone():
    made = design("adult:sex-race", "race", epsilon=2.0, method="grr")
    found = frequencies(np.array([300, 300, 400, 200, 2000]), made)
    assert list(found.names) == ["secret"]
    assert [row.label for row in found.rows][-1] == "White"


def test_the_mean_of_an_exact_posterior_is_exact():
    """One report y of k-ary randomised response: the density of P is proportional to 1 + (E − 1) p_y."""
    made = design("adult:sex-race", "race", epsilon=2.0, method="grr")
    found = frequencies(np.array([0, 0, 1, 0, 0]), made, others=True)
    E = math.exp(2.0)
    mean = (1 / 5 + (E - 1) * 2 / (5 * 6)) / (1 + (E - 1) / 5)
    other = (1 - mean) / 4
    assert [row.bayes for row in found.rows] == pytest.approx([other, other, mean, other, other])
    assert found.posterior == "uniform prior, closed-form; the intervals from 4000 draws"


def test_a_posterior_that_takes_too_long_is_left_out_and_nothing_else(monkeypatch, capsys):
    made = design("adult:sex-race", "race", epsilon=2.0, method="grr")
    counts = np.array([300, 300, 400, 200, 2000])
    whole = frequencies(counts, made, others=True)
    monkeypatch.setattr(estimating, "MOST_SAMPLED", 4)
    found = frequencies(counts, made, others=True)
    for row, known in zip(found.rows, whole.rows, strict=True):
        kept = {k: v for k, v in known.plain().items() if k != "bayes" and "credible" not in k}
        assert row.plain() == kept
        assert row.ml is not None
    words = "left out, as the mechanism tells 5 inputs apart, and more than 4 take minutes to sample"
    assert found.posterior == words
    _print_frequencies(found, ["secret"], ranges=True)
    printed = " ".join(capsys.readouterr().out.split())
    assert f"The posterior: {words}." in printed
    assert "credible" not in printed
    assert "prior where" not in printed


@pytest.mark.parametrize("level", [0, 1, -3, math.nan])
def test_bad_level(made, level):
    with pytest.raises(InvalidInputError, match="level must lie between 0 and 1"):
        frequencies(np.ones(10, dtype=int), made, level=level)


def test_each_of_several_columns_has_its_frequencies():
    rng = np.random.default_rng(0)
    table = {
        "s": rng.integers(2, size=600).astype(str),
        "u": rng.integers(2, size=600).astype(str),
        "v": rng.integers(3, size=600).astype(str),
    }
    made = design(table, "s", ["u", "v"], epsilon=1.0, method="srr")
    drawn = rng.multinomial(600, made.question.p_hat.ravel() @ made.mechanism.matrix)
    found = frequencies(drawn, made)
    sizes = {name: len(found.group(name)) for name in found.names}
    assert sizes == {"secret": 2, "public: u": 2, "public: v": 3, "public": 6, "joint": 12}
    assert [row.label for row in found.group("public: v")] == ["0", "1", "2"]
    assert sum(row.estimate for row in found.group("public: u")) == pytest.approx(1)
    assert found.names["public: v"] == "v"


def test_many_open_frequencies_are_open(monkeypatch):
    """Two linear programs for each of thousands would take minutes: the interval is all of [0, 1]."""
    W = np.array([[0.75, 0.25], [0.25, 0.75], [0.25, 0.75]])
    monkeypatch.setattr(frequency_intervals, "MOST_RANGES", 1)
    found = confidence_intervals(W, np.array([500, 500]), np.eye(3), 0.95)
    assert found.determined.tolist() == [True, False, False]
    assert (found.low[1:].tolist(), found.high[1:].tolist()) == ([0, 0], [1, 1])
