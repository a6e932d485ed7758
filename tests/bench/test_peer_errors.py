"""Errors at equal promises: the laws of other mechanisms, their levels, and who is worse."""

import importlib.util
import itertools
import json
import math

import numpy as np
import pytest

from ldpopt.bench import peer_errors as errors
from ldpopt.bench import peers
from ldpopt.core.mechanism import Mechanism
from ldpopt.tables import number_survey

SMALL = errors.Survey(
    "small",
    {
        "answer": np.random.default_rng(0).choice(["a", "b", "c"], 600, p=[0.6, 0.3, 0.1]),
        "group": np.random.default_rng(1).choice(["x", "y"], 600),
    },
    "years",
    np.random.default_rng(2).uniform(20, 60, 600),
    (0, 100),
)


@pytest.fixture(scope="module")
def small():
    """The rows of the four questions; a rival without error crashes, and another runs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(number_survey, "POINTS", 9)
        patch.setattr(errors, "surveys", lambda: iter([SMALL]))
        patch.setattr(errors, "is_here", lambda name: name == errors.SOURCE)
        shares = [np.unique(column, return_counts=True)[1] / 600 for column in SMALL.columns.values()]
        runs = {"GRR": lambda: np.concatenate(shares) + 0.5, "SS": lambda: 1 / 0}
        patch.setattr(errors, "_multi_freq", lambda codes, kind, epsilon: runs.get(kind))
        return {group[0]["question"]: group for group in errors.error_rows(False, 30)}


def test_every_question_is_asked_and_nobody_with_the_same_promise_is_better(small):
    assert list(small) == [errors.MARGINS, errors.CELLS, errors.GIVEN, errors.MEAN]
    for group in small.values():
        first, *others = group
        assert (first["method"], first["ratio"]) == ("ldpopt", 1)
        for row in others:
            told_the_table = row["method"].startswith("curator")
            assert (row["ratio"] < 0.5) if told_the_table else (row["ratio"] > 0.99), row
            assert row["ratio"] == pytest.approx(row["error"] / first["error"])


def test_packages_are_run_beside_ldpopt_and_a_crash_is_told(small):
    by_name = {row["method"]: row for row in small[errors.MARGINS]}
    assert by_name["randomised response, one column each"]["measured"] == pytest.approx(0.18, abs=0.1)
    assert 0.3 < by_name["ldpopt"]["measured"] / by_name["ldpopt"]["error"] < 1.5
    crashed = by_name["subset selection, one column each"]
    assert (crashed["measured"], crashed["reason"][:26]) == (None, "crashed: ZeroDivisionError")
    assert all(row["measured"] is None for row in small[errors.CELLS])


@pytest.mark.parametrize("law", [errors.response, errors.subset])
@pytest.mark.parametrize("k", [2, 5])
def test_laws_are_those_of_reports_of_the_level(law, k):
    epsilon = 0.4
    size = {errors.response: 1, errors.subset: max(1, round(k / (math.exp(epsilon) + 1)))}[law]
    sets = np.array(
        [[x in chosen for x in range(k)] for chosen in itertools.combinations(range(k), size)]
    )
    likely = np.where(sets.T, math.exp(epsilon), 1.0)
    likely /= likely.sum(axis=1, keepdims=True)
    marked = likely @ sets
    own, other = law(k, epsilon)
    assert marked == pytest.approx(np.where(np.eye(k) > 0, own, other))


def test_the_variance_is_that_of_the_estimates():
    shares, own, other = np.array([0.7, 0.3]), 0.6, 0.2
    rng, n = np.random.default_rng(0), 1000
    people = rng.binomial(700, 0.5, 20_000), rng.binomial(300, 0.5, 20_000)
    marks = rng.binomial(people[0], own) + rng.binomial(people[1], other)
    estimates = (marks / (people[0] + people[1]) - other) / (own - other)
    predicted = errors.variances(shares, own, other, n, 0.5)[0]
    assert estimates.var() == pytest.approx(predicted, rel=0.05)


def test_fake_data_beside_a_response_have_its_level_for_whole_rows():
    """Arcolezi et al. 2021 count ln(1 + (e^ε' − 1)/2), for one column that may not be drawn."""
    sizes, level = (3, 3), 1.5
    pairs = list(itertools.product(*(range(k) for k in sizes)))
    own, other = zip(*(errors.response(k, level) for k in sizes), strict=True)
    W = np.array(
        [
            [
                sum((own[j] if x[j] == y[j] else other[j]) / sizes[1 - j] / 2 for j in range(2))
                for y in pairs
            ]
            for x in pairs
        ]
    )
    marks = np.array([y[0] == 0 for y in pairs])
    assert W[0] @ marks == pytest.approx(errors.faked(3, level)[0])
    assert W[-1] @ marks == pytest.approx(errors.faked(3, level)[1])
    assert Mechanism(W).epsilon() == pytest.approx(level)
    one_apart = [x[0] == y[0] for x, y in itertools.product(pairs, pairs)]
    ratios = np.array([np.log(W[i] / W[j]).max() for i, j in itertools.product(range(9), range(9))])
    assert ratios[one_apart].max() == pytest.approx(math.log1p(math.expm1(level) / 2))


def test_without_the_tables_nothing_is_compared(monkeypatch, ldpopt):
    monkeypatch.setattr(peers, "contests", lambda full, time_limit: iter([]))
    monkeypatch.setattr(errors, "is_here", lambda name: False)
    answer = ldpopt("bench", "peers")
    assert answer.code == 0
    assert "absent: statsmodels (pip install 'ldpopt[cdd,peers]')" in answer.out
    assert json.loads(ldpopt("bench", "peers", "--json").out)["errors"][0]["reason"] == "absent"


def test_the_page_has_the_errors(monkeypatch, small, ldpopt, tmp_path):
    monkeypatch.setattr(peers, "contests", lambda full, time_limit: iter([]))
    monkeypatch.setattr(errors, "error_rows", lambda full, time_limit: iter(small.values()))
    answer = ldpopt("bench", "peers", "--out", tmp_path / "there")
    assert answer.code == 0, answer.err
    assert "Errors at equal promises" in answer.out
    assert (tmp_path / "there" / "errors.csv").exists()
    for name in ("bench.md", "bench.html"):
        text = (tmp_path / "there" / name).read_text(encoding="utf-8")
        assert "Errors at equal promises" in text
        assert "subset selection, one column each" in text


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("statsmodels") is None, reason="needs statsmodels")
def test_on_three_tables_nobody_with_the_same_promise_is_a_hundredth_better(monkeypatch):
    monkeypatch.setattr(errors, "RUNS", 1)
    rows = [row for group in errors.error_rows(True, 60) for row in group]
    assert len({row["instance"].split(":")[0] for row in rows}) == 3
    better = [row for row in rows if row["ratio"] < 0.99 and not row["method"].startswith("curator")]
    assert better == []
