"""Audits of samplers and of released tables: broken ones are caught, correct ones pass."""

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from ldpopt.audit.auditing import audit
from ldpopt.core.errors import InvalidInputError
from ldpopt.release import releasing
from ldpopt.release.released_reports import paired
from ldpopt.tables.batches import open_table

TABLE = "adult:sex-race"
SURE = 1 - 1e-9
"""The confidence of tests with fresh randomness: a correct sampler fails them once in 10⁹ runs."""


def leaky(made, rng):
    """Reports what gives the input away most with 5 % more probability than it should."""
    matrix = made.mechanism.matrix
    telling = (matrix / matrix.sum(axis=0)).argmax(axis=1)

    def draw(x):
        return np.where(rng.random(len(x)) < 0.05, telling[x], made.mechanism.sample(x, rng))

    return draw


def swapped(made, rng):
    """Two rows of the matrix in the wrong order."""
    order = np.arange(10)
    order[[3, 4]] = 4, 3
    return lambda x: made.mechanism.sample(order[x], rng)


def honest(made, rng):
    return lambda x: made.mechanism.sample(x, rng)


@pytest.mark.parametrize("name", ["census", "response"])
@pytest.mark.parametrize("broken", [leaky, swapped])
def test_broken_samplers_are_caught(request, name, broken):
    made = request.getfixturevalue(name)
    sampler = broken(made, np.random.default_rng(1))
    found = audit(made, sampler=sampler, samples=200_000, seed=2)
    assert not found.passed
    assert "the given sampler" in found.verdict


def test_truth_is_no_privacy(response):
    found = audit(response, sampler=lambda x: x, samples=10_000, seed=2)
    assert "gives away at least ε" in found.verdict
    assert "are not those of the mechanism" in found.verdict
    assert found.empirical[0].bound.epsilon > 1


@pytest.mark.parametrize("name", ["census", "response"])
def test_correct_samplers_pass(request, name):
    made = request.getfixturevalue(name)
    sampler = honest(made, np.random.default_rng(1))
    assert audit(made, sampler=sampler, samples=200_000, seed=2).passed
    assert audit(made, samples=200_000, confidence=SURE).passed


def released(made, reports):
    return {f"ldpopt-{made.fingerprint}": np.asarray(reports)}


def test_released_table(census, tmp_path):
    out = tmp_path / "released.parquet"
    releasing.privatize(TABLE, census, out)
    found = audit(census, TABLE, out, samples=100, confidence=SURE)
    assert found.passed
    test = found.empirical[1]
    assert (test.source, test.reports) == ("the released table", 32561)
    assert 0.5 < test.bound.epsilon <= 1
    assert test.inputs == "the table"
    assert set(test.told_apart) == {"Female", "Male"}


@pytest.mark.parametrize(
    "make",
    [
        lambda x, y, rng: x,
        lambda x, y, rng: rng.permutation(y),
        lambda x, y, rng: np.where(rng.random(len(x)) < 0.05, x, y),
    ],
    ids=["the data", "other rows", "the data sometimes"],
)
def test_wrong_releases_are_caught(response, make):
    rng = np.random.default_rng(3)
    x = np.concatenate(list(response.domain.rows(open_table(TABLE))))
    reports = make(x, response.mechanism.sample(x, rng), rng)
    found = audit(response, TABLE, released(response, reports), samples=100, seed=1)
    assert not found.passed
    assert "the released table" in found.verdict


def test_pairs_are_aligned_across_batches(response, tmp_path, monkeypatch):
    """A CSV file in small blocks beside a frame in one batch."""
    x = np.concatenate(list(response.domain.rows(open_table(TABLE))))[:5000]
    table = pa.table(pa.Table.from_batches(open_table(TABLE).batches(["sex", "race"])).slice(0, 5000))
    pa.csv.write_csv(table, tmp_path / "table.csv")
    monkeypatch.setattr("ldpopt.tables.batches.BATCH_BYTES", 1000)
    reports = np.arange(5000) % 10
    parts = list(paired(response, tmp_path / "table.csv", released(response, reports)))
    assert len(parts) > 10
    assert np.array_equal(np.concatenate([a for a, _ in parts]), x)
    assert np.array_equal(np.concatenate([b for _, b in parts]), reports)


def test_released_tables_that_do_not_fit(response, census):
    reports = np.zeros(32561, dtype=int)
    for wrong, message in (
        (released(response, reports[:-1]), "released table ends after row 32560"),
        (released(response, [*reports, 0]), "the table ends after row 32561"),
        (released(response, reports + 10), "the report 10"),
        (released(census, reports), "another mechanism"),
        ({"sex": reports}, "no column of reports"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            audit(response, TABLE, wrong, samples=100)
    with pytest.raises(InvalidInputError, match="is tested against its data: give data too"):
        audit(response, released=released(response, reports))
    with pytest.raises(InvalidInputError, match="confidence must lie between 0 and 1"):
        audit(response, confidence=1.5)
