"""Reports that stand for several people each: means, variances, totals, and what is refused."""

import json

import numpy as np
import pytest

from ldpopt.core.errors import InvalidInputError
from ldpopt.mechanisms.randomizer import Linear, Values, seeded_words
from ldpopt.release.designing import design
from ldpopt.release.estimating import estimate, frequencies
from ldpopt.release.releasing import privatize
from ldpopt.tables import number_survey

METHODS = ["grr", "subset", "hashing", "hadamard", "unary"]
SHARES = np.array([0.1, 0.2, 0.3, 0.4])
HEAVY = np.array([8.0, 4.0, 2.0, 1.0])
"""The mean weight of each value: the rarest stand for most people."""


def table(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.choice(4, n, p=SHARES)
    return x, np.round(HEAVY[x] * rng.uniform(0.5, 1.5, n), 3)


def weighed(of, reports, weights):
    """The two rows of a tally, as a released file of such reports has them."""
    rows = np.array([of.tallied(reports, weights), of.tallied(reports, weights**2)])
    people, squares = map(of.reported, rows)
    return rows * people**2 / squares / [[people], [squares]]


@pytest.fixture(scope="module", params=METHODS)
def made(request):
    x, _ = table()
    return design({"ill": ["abcd"[i] for i in x]}, "ill", epsilon=2.0, method=request.param)


def test_equal_weights_change_nothing(made):
    of, (x, _) = made.randomizer, table(500)
    reports = of.sample(x, seeded_words(0))
    plain, column = of.tallied(reports), Values(np.arange(4), 4)
    columns = [column, Linear(column, np.array([[0.0, 0.5, 0.5, 1.0]]))]
    equal = weighed(of, reports, np.full(500, 7.0))
    assert of.reported(equal) == pytest.approx(500)
    for one, other in zip(of.moments(plain, columns), of.moments(equal, columns), strict=True):
        assert one.estimates.mean == pytest.approx(other.estimates.mean)
        assert one.spread == pytest.approx(other.spread)
        assert one.covariance() == pytest.approx(other.covariance())


def test_a_weight_counts_a_report_as_often(made):
    """Of whole weights, the mean is that of the reports repeated: what each supports is added up."""
    of, (x, _) = made.randomizer, table(200)
    reports, times = of.sample(x, seeded_words(1)), np.arange(200) % 5
    repeated = of.tallied(np.repeat(reports, times, axis=0))
    assert of.tallied(reports, times.astype(float)) == pytest.approx(repeated)


def test_estimates_are_unbiased_and_errors_are_the_spread(made):
    """Values decide the weights: shares of people differ from shares of rows."""
    of, truth = made.randomizer, SHARES * HEAVY / (SHARES @ HEAVY)
    values, errors, covered = [], [], 0
    for seed in range(300):
        x, weights = table(2000, seed)
        tally = weighed(of, of.sample(x, seeded_words([seed, 7])), weights)
        found = frequencies(tally, made)
        rows = found.group("secret")
        values.append([row.estimate for row in rows])
        errors.append([row.standard_error for row in rows])
        covered += np.array([row.low <= v <= row.high for row, v in zip(rows, truth, strict=True)])
        joint = found.covariance["secret"]
        assert np.sqrt(np.diag(joint)) == pytest.approx(errors[-1])
    spread = np.std(values, axis=0)
    assert np.mean(values, axis=0) == pytest.approx(truth, abs=4 * spread.max() / 300**0.5)
    assert np.mean(errors, axis=0) == pytest.approx(spread, rel=0.2)
    assert covered.min() >= 0.9 * 300


@pytest.fixture
def work(tmp_path):
    x, weights = table()
    rows = zip(x, weights, strict=True)
    lines = [f"{'abcd'[i]},{'uv'[i % 2]},{w},{n % 9}\n" for n, (i, w) in enumerate(rows)]
    (tmp_path / "t.csv").write_text("ill,place,people,age\n" + "".join(lines))
    return tmp_path


def test_from_the_table_to_totals(work, ldpopt):
    asked = ("--secret", "ill", "--public", "place", "--epsilon", 3, "--method", "grr")
    assert ldpopt("design", "t.csv", *asked, "-o", "m.json", cwd=work).code == 0
    release = ("privatize", "t.csv", "--mechanism", "m.json", "--weights", "people")
    said = ldpopt(*release, "-o", "r.csv", cwd=work)
    assert said.code == 0, said.err
    assert "the weights (people) stand beside the reports as they are: they are not hidden" in said.err
    assert "estimate r.csv --mechanism m.json --weights people" in said.out
    asked = ("estimate", "r.csv", "--mechanism", "m.json", "--weights", "people")
    found = json.loads(ldpopt(*asked, "--queries", "ill*place", "--json", cwd=work).out)
    x, weights = table()
    assert (found["n"], found["people"]) == (3000, pytest.approx(weights.sum()))
    own = [row for row in found["frequencies"] if row["group"] == "secret"]
    for i, row in enumerate(own):
        assert row["total"] == pytest.approx(row["estimate"] * found["people"])
        assert abs(row["total"] - weights[x == i].sum()) < 5 * row["total_error"]
    cells = {row["label"]: row for row in found["frequencies"] if row["group"] == "joint"}
    asked_for = {row["name"]: row for row in found["quantities"]}
    same = asked_for["ill a, place u"]
    assert same["estimate"] == pytest.approx(cells["a, u"]["estimate"])
    assert same["standard_error"] == pytest.approx(cells["a, u"]["standard_error"])
    shown = ldpopt(*asked, cwd=work).out
    assert "people (standard error)" in shown
    assert f"The reports stand for {weights.sum():,.0f} people" in shown
    assert ldpopt(*release, "-o", "parts", "--jobs", 2, cwd=work).code == 0
    parts = json.loads(ldpopt(*asked[:1], "parts", *asked[2:], "--json", cwd=work).out)
    assert parts["people"] == pytest.approx(found["people"])


def test_the_mean_of_a_number_with_weights(work, monkeypatch):
    monkeypatch.setattr(number_survey, "POINTS", 9)
    made = design(work / "t.csv", "age", mean_over=(0, 8), epsilon=4.0, method="mean")
    privatize(work / "t.csv", made, work / "r.csv", seed=3, weights="people")
    (row,) = estimate(work / "r.csv", made, weights="people").quantities
    _, weights = table()
    truth = np.average(np.arange(len(weights)) % 9, weights=weights)
    assert abs(row.estimate - truth) < 4 * row.standard_error < 1


def test_what_cannot_be_right_is_refused(work):
    plain = design(work / "t.csv", "ill", "place", epsilon=1.0)
    privatize(work / "t.csv", plain, work / "r.csv", seed=3, weights="people")
    for column, words in (("ill", "the design does not tell 'ill' as it is"), ("height", "unknown col")):
        with pytest.raises(InvalidInputError, match=words):
            privatize(work / "t.csv", plain, work / "s.csv", weights=column)
    near = design(work / "t.csv", "ill", "place", epsilon=1.0, robust="chi2", method="cr")
    with pytest.raises(InvalidInputError, match="knows a person's weight knows more than the freq"):
        privatize(work / "t.csv", near, work / "s.csv", weights="people")
    told = design(work / "t.csv", "ill", "age", epsilon=1.0, robust="given")
    assert privatize(work / "t.csv", told, work / "s.csv", seed=3, weights="age") == 3000
    for other in ({"registry": True}, {"others": True}):
        with pytest.raises(InvalidInputError, match="weights are of a sample"):
            estimate(work / "r.csv", plain, weights="people", **other)
    with pytest.raises(InvalidInputError, match="no column 'wght' of weights: ldpopt privatize wri"):
        estimate(work / "r.csv", plain, weights="wght")
    lines = (work / "r.csv").read_text().splitlines()
    for cell, words in (("-2", "not below 0, not -2"), ("inf", "finite"), ("much", "not a number")):
        bad = [lines[0], lines[1].split(",")[0] + f",{cell}", *lines[2:]]
        (work / "bad.csv").write_text("\n".join(bad) + "\n")
        with pytest.raises(InvalidInputError, match=words):
            estimate(work / "bad.csv", plain, weights="people")
    (work / "zero.csv").write_text("\n".join([lines[0], lines[1].split(",")[0] + ",0"]) + "\n")
    with pytest.raises(InvalidInputError, match="are all 0"):
        estimate(work / "zero.csv", plain, weights="people")
