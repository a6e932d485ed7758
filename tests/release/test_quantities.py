"""Means, cells, shares within groups and differences: known values, coverage, registries, bad input."""

import json
import math

import numpy as np
import pytest

from ldpopt.core.errors import InvalidInputError
from ldpopt.release.asked_quantities import BinnedColumn, cells, means
from ldpopt.release.designing import design
from ldpopt.release.estimating import frequencies
from ldpopt.release.quantities import quantities
from ldpopt.tables.domain import Attribute, Column, Domain

SEX, SICK, BAND = ("f", "m"), ("no", "yes"), ("a", "b", "c")
TABLE = {
    "sick": [SICK[i % 5 == 0] for i in range(4000)],
    "sex": [SEX[i % 3 == 0] for i in range(4000)],
}
N = 4000


@pytest.fixture(scope="module")
def made():
    return design(TABLE, "sick", "sex", epsilon=2.0, method="grr")


@pytest.fixture(scope="module")
def asked(made):
    return [*means(made.domain, {"sick": [0.0, 10.0]}), *cells(made.domain, ["sick", "sex"])]


def truths(p):
    """The quantities of ``asked`` for a distribution [sick][sex]."""
    women, men = p[1] / p.sum(axis=0)
    return np.array([10 * p[1].sum(), *p.ravel(), women, men, men - women])


def repeated(made, asked, p, draw, registry, times=250):
    rng, want, W = np.random.default_rng(4), truths(p), made.mechanism.matrix
    values, errors, covered = [], [], np.zeros(len(asked))
    for _ in range(times):
        found = frequencies(draw(rng, W), made, asked=asked, registry=registry)
        rows = found.quantities
        values.append([row.estimate for row in rows])
        errors.append([row.standard_error for row in rows])
        covered += [row.low <= v <= row.high for row, v in zip(rows, want, strict=True)]
    assert np.std(values, axis=0) == pytest.approx(np.mean(errors, axis=0), rel=0.2)
    assert np.mean(values, axis=0) == pytest.approx(want, abs=0.2 * np.mean(errors, axis=0).max())
    assert covered.min() >= 0.89 * times
    return np.mean(errors, axis=0)


def test_intervals_cover_in_samples_and_in_registries(made, asked):
    counts = np.array([[1900, 1300], [500, 300]])
    p = counts / N
    sample = repeated(made, asked, p, lambda rng, W: rng.multinomial(N, p.ravel() @ W), False)

    def of_all(rng, W):
        return sum(rng.multinomial(n, row) for n, row in zip(counts.ravel(), W, strict=True))

    registry = repeated(made, asked, p, of_all, True)
    assert (registry < sample).all()


WARDS = np.array([[360, 168, 60], [6, 4, 2]])
"""Of 600 people; [sick][ward]."""


def of_wards(epsilon, method):
    rows = [
        row for row, count in zip(np.ndindex(2, 3), WARDS.ravel(), strict=True) for _ in range(count)
    ]
    table = {"sick": [SICK[s] for s, _ in rows], "ward": [BAND[u] for _, u in rows]}
    made = design(table, "sick", "ward", epsilon=epsilon, method=method)
    return made, list(cells(made.domain, ["sick", "ward"]))


def tally_of(made, counts, rng):
    of, x = made.randomizer, np.repeat(np.arange(6), counts)
    return of.tallied(of.sample(x, lambda count: rng.integers(2**64, size=count, dtype=np.uint64)))


@pytest.mark.parametrize("registry", [False, True])
@pytest.mark.parametrize(
    ("method", "epsilon"), [("grr", 3.0), ("unary", 2.0), ("subset", 1.0), ("grr", 0.05)]
)
def test_one_cell_has_one_interval(method, epsilon, registry):
    """By --queries as by --joint, also where it is not determined."""
    made, asked = of_wards(epsilon, method)
    tally = tally_of(made, WARDS.ravel(), np.random.default_rng(0))
    found = frequencies(tally, made, asked=asked, registry=registry)
    for cell, row in zip(found.quantities, found.group("joint"), strict=False):
        own, other = cell.plain(), row.plain()
        assert own.pop("name") == "sick {}, ward {}".format(*row.label.split(", "))
        assert own == pytest.approx({name: other[name] for name in own}, abs=1e-12)
    assert {row.determined for row in found.group("joint")} == {epsilon > 0.1}


@pytest.mark.slow
@pytest.mark.parametrize("registry", [False, True])
@pytest.mark.parametrize("epsilon", [1.0, 3.0, 6.0])
@pytest.mark.parametrize("method", ["grr", "unary", "subset", "srr"])
def test_the_intervals_of_cells_cover(method, epsilon, registry):
    """Of cells with 2 to 360 of 600 people: at least 95 %, less what 400 runs may miss."""
    (made, asked), rng, runs = of_wards(epsilon, method), np.random.default_rng(1), 400
    p, held = WARDS.ravel() / 600, np.zeros(6)
    for _ in range(runs):
        tally = tally_of(made, WARDS.ravel() if registry else rng.multinomial(600, p), rng)
        rows = quantities(made.randomizer, tally, asked[:6], 0.95, registry).rows
        held += [row.low <= v <= row.high for row, v in zip(rows, p, strict=True)]
    assert held.min() >= 0.92 * runs
    assert held.mean() >= 0.94 * runs


def test_a_registry_released_as_it_is_has_no_error():
    made = design({"x": ["a", "b"] * 20}, "x", epsilon=30.0, method="grr")
    (_, row) = frequencies(np.array([30, 10]), made, registry=True).rows
    assert row.standard_error < 1e-6
    assert row.high - row.low < 0.06  # what one report may change
    assert frequencies(np.array([30, 10]), made).rows[0].standard_error == pytest.approx(
        0.0693, abs=1e-3
    )


@pytest.mark.parametrize("method", ["grr", "unary", "subset"])
def test_a_mean_is_the_sum_of_its_frequencies(method):
    made = design({"x": list("1259") * 50}, "x", epsilon=1.0, method=method)
    tally = made.randomizer.tallied(made.randomizer.sample(np.arange(800) % 4, _words))
    found = frequencies(tally, made, asked=list(means(made.domain, {"x": None})))
    scores = np.array([0.0, 1.0, 4.0, 8.0])  # above the least, as frequencies need not add up to 1
    (row,) = found.quantities
    assert row.estimate == pytest.approx(1 + scores @ [r.estimate for r in found.rows], abs=1e-9)
    of_all = scores @ found.covariance["secret"] @ scores
    assert row.standard_error == pytest.approx(of_all**0.5, rel=1e-9)


def _words(count, rng=np.random.default_rng(1)):  # noqa: B008
    return rng.integers(2**64, size=count, dtype=np.uint64)


def domain_of(column):
    return Domain(Attribute((column,), tuple((i,) for i in range(len(column.values)))), None)


def test_bins_stand_for_their_middles_and_empty_cells_for_nothing():
    column = Column("age", ("< 20", "[20, 60)", "≥ 60", "(missing)"), (20.0, 60.0), missing=True)
    (one,) = means(domain_of(column), {"age": None}, [0.0, 100.0])
    assert (one.low, one.unit, one.binning) == (10.0, 70.0, 20.0)
    assert one.share.weights.tolist() == [0.0, 30 / 70, 1.0, 0.0]
    assert one.share.given.tolist() == [1, 1, 1, 0]


@pytest.mark.parametrize(
    ("column", "given", "ends", "said"),
    [
        (Column("x", BAND), None, None, "are words: give the numbers"),
        (Column("x", BAND), [1.0, 2.0], None, "give as many numbers, not 2"),
        (Column("x", BAND), [1.0, 1.0, 1.0], None, "must stand for different numbers"),
        (Column("x", ("< 2", "≥ 2"), (2.0,)), None, None, "have no middles unless"),
        (Column("x", ("< 2", "≥ 2"), (2.0,)), None, [2.0, 5.0], "have no middles unless"),
    ],
)
def test_values_without_numbers_are_refused(column, given, ends, said):
    with pytest.raises(InvalidInputError, match=said):
        list(means(domain_of(column), {"x": given}, ends))


def test_a_group_without_people_is_not_determined(made, asked):
    empty = np.array([0.7, 0.0, 0.3, 0.0]) @ made.mechanism.matrix
    rows = frequencies(np.round(N * empty).astype(int), made, asked=asked).quantities
    assert [row.determined for row in rows] == [True] * 6 + [False] * 2
    assert (rows[-1].low, rows[-1].high) == (-1.0, 1.0)


def test_the_command(tmp_path, ldpopt):
    rows = zip(TABLE["sick"], TABLE["sex"], strict=True)
    (tmp_path / "t.csv").write_text("sick,sex\n" + "".join(f"{a},{b}\n" for a, b in rows))
    ask = ("--secret", "sick", "--public", "sex", "--epsilon", 2, "--method", "grr", "-o", "m.json")
    assert ldpopt("design", "t.csv", *ask, cwd=tmp_path).code == 0
    assert ldpopt("privatize", "t.csv", "-m", "m.json", "-o", "r.csv", cwd=tmp_path).code == 0
    words = ("estimate", "r.csv", "-m", "m.json", "--queries", "sick*sex", "--mean", "sick=0,1")
    found = json.loads(ldpopt(*words, "--registry", "--json", cwd=tmp_path).out)
    assert [row["name"] for row in found["quantities"]][-2:] == [
        "sick yes within sex m",
        "sick yes: sex m less sex f",
    ]
    assert np.array(found["covariance"]["quantities"]).shape == (8, 8)
    assert "sick yes within sex f" in ldpopt(*words, cwd=tmp_path).out
    for bad, said in (
        (("--queries", "sick*age"), "different columns of the design"),
        (("--queries", "sick"), "different columns of the design"),
        (("--mean", "age"), "a column of the design, sick, sex, not 'age'"),
        (("--mean", "sick=a,b"), "must look like age or age=10,30,50"),
        (("--mean", "sick"), "are words"),
        (("--range", "3"), "--range must look like LOW,HIGH"),
    ):
        refused = ldpopt("estimate", "r.csv", "-m", "m.json", *bad, cwd=tmp_path)
        assert refused.code == 2
        assert said in " ".join(refused.err.split())


def test_quantiles_lie_between_edges_that_the_reports_tell_apart_from_them():
    rng = np.random.default_rng(3)
    ages = rng.normal(45, 15, 20_000).clip(1, 99)
    made = design(
        {"age": ages}, "age", epsilon=1.0, method="grr", bins={"age": [20, 30, 40, 50, 60, 70]}
    )
    of = BinnedColumn(made.domain, "age", [0, 100])
    p = np.histogram(ages, [0, 20, 30, 40, 50, 60, 70, 100])[0] / 20_000
    missed = 0
    for _ in range(100):
        tally = rng.multinomial(20_000, p @ made.mechanism.matrix)
        rows = quantities(made.randomizer, tally, of.below, 0.95).rows
        for share in (0.1, 0.5, 0.9):
            found = of.quantile(share, rows)
            missed += not found.low <= np.quantile(ages, share) <= found.high
            assert found.low <= found.estimate <= found.high
            assert found.binning in (10, 20, 30)
    assert missed <= 30  # of 300; 95 % cover at least
    few = quantities(made.randomizer, rng.multinomial(30, p @ made.mechanism.matrix), of.below, 0.95)
    assert of.quantile(0.5, few.rows).determined is False


@pytest.mark.parametrize(("name", "ends"), [("sick", [0, 1]), ("nothing", [0, 1])])
def test_a_quantile_needs_bins(made, name, ends):
    with pytest.raises(InvalidInputError, match="column of numbers in bins"):
        BinnedColumn(made.domain, name, ends)


def test_a_person_makes_one_report_however_often_they_appear(tmp_path, ldpopt):
    rows = [(f"p{i % 300}", "yes" if i % 7 == 0 else "no") for i in range(1000)]
    (tmp_path / "t.csv").write_text("who,sick\n" + "".join(f"{a},{b}\n" for a, b in rows))
    ask = ("--secret", "sick", "--epsilon", 1, "--id", "who")
    said = ldpopt("design", "t.csv", *ask, "-o", "m.json", cwd=tmp_path)
    assert said.code == 0
    assert "700 of 1,000 rows of t.csv were left out: the first row of each who counts" in said.err
    assert "300 rows" in said.out
    assert "privatize t.csv --id who" in said.out
    words = ("privatize", "t.csv", "-m", "m.json", "--id", "who")
    told = ldpopt(*words, "-o", "r.csv", cwd=tmp_path)
    assert told.code == 0
    assert "wrote 300 reports" in told.out
    assert ldpopt(*words, "-o", "parts", "--jobs", 2, cwd=tmp_path).code == 0
    counted = json.loads(ldpopt("estimate", "parts", "-m", "m.json", "--json", cwd=tmp_path).out)
    assert counted["n"] == 300
    refused = ldpopt("privatize", "t.csv", "-m", "m.json", "--id", "name", "-o", "x.csv", cwd=tmp_path)
    assert refused.code == 2
    assert "has no column 'name' of persons" in refused.err


@pytest.mark.parametrize("numbers", [[math.nan, 1.0], [0.0, math.inf], [-1e308, 1e308], [math.nan] * 2])
def test_values_stand_for_numbers_alone(numbers):
    """One that stands for no number was left out of the mean, and nothing said so."""
    made = design({"sick": ["no", "yes"] * 50}, "sick", epsilon=1.0, robust="all", method="grr")
    with pytest.raises(InvalidInputError, match="of 'sick' stand for must be finite, of at most 1e"):
        list(means(made.domain, {"sick": numbers}))
