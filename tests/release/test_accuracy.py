"""How precisely frequencies follow from reports: against formulas and by simulation."""

import math

import numpy as np
import pytest
from scipy.stats import binom, norm

from ldpopt.core.errors import InvalidInputError
from ldpopt.core.mechanism import Mechanism
from ldpopt.measures import estimators
from ldpopt.measures.frequency_intervals import score_intervals
from ldpopt.release.accuracy import MOST_ROWS, Accuracy, accuracies, column_groups
from ldpopt.release.comparing import best
from ldpopt.release.designing import design, load_design
from ldpopt.release.matrix_randomizer import Matrix
from ldpopt.release.promises import margin, outcome

RNG = np.random.default_rng(3)
N = 3000
WARDS = RNG.choice(4, N, p=[0.1, 0.2, 0.3, 0.4])
TABLE = {
    "diagnosis": [f"d{(w + x) % 3}" for w, x in zip(WARDS, RNG.integers(3, size=N), strict=True)],
    "ward": [f"w{w}" for w in WARDS],
    "sex": ["f" if x else "m" for x in RNG.integers(2, size=N)],
}


@pytest.fixture(scope="module")
def made():
    return design(TABLE, "diagnosis", ["ward", "sex"], epsilon=1.0, method="learn")


def test_the_queries_are_the_columns(made):
    queries = {query.name: query.values.weights for query in column_groups(made.domain)}
    assert list(queries) == ["diagnosis", "ward", "sex"]
    p = made.question.p_hat.ravel()
    for name, weights in queries.items():
        values = sorted(set(TABLE[name]))
        assert weights @ p == pytest.approx([TABLE[name].count(v) / N for v in values])
    with pytest.raises(
        InvalidInputError, match="columns of the design, diagnosis, ward, sex, not 'age'"
    ):
        column_groups(made.domain, ["age"])
    with pytest.raises(InvalidInputError, match="not 'age'"):
        design(TABLE, "diagnosis", "ward", epsilon=1.0, queries=["age"])


def test_randomised_response_by_hand():
    """The variance of (share − b)/(a − b) is share (1 − share)/(a − b)²."""
    other = design({"s": ["a"] * 700 + ["b"] * 300}, "s", epsilon=1.0, method="grr")
    a = math.e / (1 + math.e)
    p = 300.5 / 1001
    share = p * a + (1 - p) * (1 - a)
    (found,) = other.accuracy()
    assert found.variances == pytest.approx([share * (1 - share) / (2 * a - 1) ** 2] * 2)
    half = norm.ppf(0.975) * math.sqrt(found.variances[0] / 1000)
    assert found.margin(1000) == pytest.approx(half)
    assert found.rows_for(half * (1 + 1e-9)) == 1000
    assert other.worth("estimates") == pytest.approx(-2 * found.variances[0])
    noise = f"with your 1,000 rows (95 %): s ±{100 * half:.2g} points (without noise ±"
    assert outcome(other).startswith(noise)


def test_it_is_the_covariance_of_the_estimate(made):
    W = made.mechanism.matrix
    p = (made.question.counts + 0.5).ravel() / (made.question.counts + 0.5).sum()
    spread = estimators.covariance(W, p, 1)
    for query, found in zip(column_groups(made.domain), made.accuracy(), strict=True):
        expected = np.diag(query.values.weights @ spread @ query.values.weights.T)
        assert found.variances == pytest.approx(expected)


RUNS, FALSE_ALARM = 2000, 1e-3


@pytest.mark.parametrize("method", ["learn", "srr", "grr"])
def test_the_margin_covers_the_estimates(method):
    """The unbiased estimates of ``ldpopt estimate``: each printed ± misses in at most 5 % of releases.

    If so, the misses of one frequency in independent runs exceed the limit with a probability below
    FALSE_ALARM divided by the number of frequencies, by the binomial law, so any of them does with less
    than FALSE_ALARM. The limit is 7 % of the runs: a margin that misses 9 % would be found out.
    """
    other = design(TABLE, "diagnosis", ["ward", "sex"], epsilon=2.0, method=method)
    W, p = other.mechanism.matrix, other.question.p_hat.ravel()
    queries = column_groups(other.domain)
    C = np.vstack([query.values.weights for query in queries])
    sizes = [len(query.values.weights) for query in queries]
    margins = np.repeat([found.margin(N) for found in other.accuracy()], sizes)
    counts = np.random.default_rng(7).multinomial(N, p @ W, size=RUNS)
    estimates = np.array([score_intervals(W, c, C).value for c in counts])
    missed = (np.abs(estimates - C @ p) > margins).sum(axis=0)
    limit = binom.isf(FALSE_ALARM / len(C), RUNS, 0.05)
    assert limit <= 0.07 * RUNS
    assert missed.max() <= limit, missed / RUNS


def test_what_the_reports_leave_open():
    W = np.tile(np.eye(4), (3, 1))
    domain = design(TABLE, "diagnosis", "ward", epsilon=1.0, method="grr").domain
    secret, public = accuracies(Matrix(Mechanism(W)), np.ones((3, 4), np.int64), domain)
    assert np.isinf(secret.variances).all()
    assert secret.rows_for(0.01) == math.inf
    assert margin(secret, N) == "not determined"
    assert public.variances == pytest.approx(np.full(4, 1 / 4 - 1 / 16))


@pytest.mark.parametrize("variance", [1e6, 7.0])
def test_what_a_margin_of_fifty_points_leaves_open(variance):
    """The interval is as long as [0, 1]: with 100 reports at the variance 6.5."""
    part = Accuracy("s", np.array([variance, 1e-3]))
    assert margin(part, 100) == "not determined"
    assert "±" in margin(part, 100 * variance)
    assert part.rows_for(0.1) == pytest.approx(norm.ppf(0.975) ** 2 * variance / 0.01, rel=1e-2)
    assert part.rows_for(math.sqrt(3.8 * variance / MOST_ROWS)) == math.inf
    assert "±" in margin(Accuracy("s", np.array([6.0])), 100)


def test_the_goal_decides():
    """The staircase tells more of each person, subset selection more of frequencies."""
    found = {
        name: design(TABLE, ["diagnosis", "ward"], epsilon=1.0, method=name)
        for name in ("staircase", "learn")
    }
    assert best(found, "information").method == "staircase"
    assert best(found).method == "learn"
    chosen = design(TABLE, ["diagnosis", "ward"], epsilon=1.0, queries=["ward"])
    assert chosen.worth("estimates", ["ward"]) >= found["learn"].worth("estimates", ["ward"])
    with pytest.raises(InvalidInputError, match="goal must be one of estimates, information"):
        design(TABLE, "ward", epsilon=1.0, goal="fun")


def test_queries_are_designed_for(tmp_path):
    """The method of the least error is kept, its file verifies, and is read again with its queries."""
    rng = np.random.default_rng(0)
    table = {"s": rng.integers(2, size=500), "u": rng.integers(2, size=500)}
    asked = {"epsilon": 1.0, "robust": "chi2", "method": "queries"}
    made = design(table, "s", "u", **asked)
    other = design(table, "s", "u", epsilon=1.0, method="learn")
    assert -made.worth("estimates") < -other.worth("estimates") / 1.5
    assert made.result.status.value == "optimal"
    assert made.verification
    made.save(tmp_path / "m.json")
    assert load_design(tmp_path / "m.json").question.queries == made.question.queries
    narrow = design(table, "s", "u", **asked, queries=["u"])
    assert narrow.worth("estimates", ["u"]) >= made.worth("estimates", ["u"])


def test_values_that_the_reports_do_not_tell_from_zero_are_named():
    ward = ["a"] * 6000 + ["b"] * 3900 + ["c"] * 100
    made = design({"ward": ward}, "ward", epsilon=1.0)
    assert outcome(made).endswith("; cannot be told from zero: ward c")
    precise = design({"ward": ward}, "ward", epsilon=6.0)
    assert "zero" not in outcome(precise)
