"""Group sizes are the same for every kind of table, whatever the types of the values."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest

from ldpopt.core.errors import InvalidInputError
from ldpopt.tables.codes import column_names, group_sizes, value_codes

COLUMNS = {
    "name": ["a", "b", "a", "a", "b"],
    "age": [1, 2, 1, 3, 2],
    "height": [1.5, float("nan"), 1.5, 1.5, float("nan")],
    "born": [datetime.date(2000, 1, d) for d in (1, 2, 1, 1, 2)],
}


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame])
def test_kinds_of_tables(make):
    table = make(COLUMNS)
    assert column_names(table) == list(COLUMNS)
    assert sorted(group_sizes(table).tolist()) == [1, 2, 2]
    assert sorted(group_sizes(table, ["name"]).tolist()) == [2, 3]
    assert sorted(group_sizes(table, "age").tolist()) == [1, 2, 2]


def test_pandas_categories_and_missing_values():
    table = pd.DataFrame({"c": pd.Categorical(["x", "y", "x"]), "d": ["p", None, "p"]})
    assert sorted(group_sizes(table).tolist()) == [1, 2]


def test_matrices():
    rows = [(1, "x"), (1, "x"), (2, "x")]
    assert sorted(group_sizes(rows).tolist()) == [1, 2]
    assert sorted(group_sizes(np.array([[1, 2], [1, 2], [3, 4]]), [0]).tolist()) == [1, 2]


def test_types_are_not_mixed_up():
    assert len(group_sizes([(1,), ("1",), (1,)])) == 2
    assert value_codes([None, float("nan"), "x"]).tolist() == [0, 0, 1]


def test_many_columns_do_not_overflow():
    rng = np.random.default_rng(0)
    half = rng.integers(0, 1000, (500, 30))
    assert sorted(set(group_sizes(np.vstack([half, half])).tolist())) == [2]


@pytest.mark.parametrize(
    ("table", "columns", "complaint"),
    [
        ({"a": [1, 2]}, ["b"], r"must be one of \['a'\], not 'b'"),
        ({"a": [1, 2]}, [], "at least one column"),
        ({"a": [1, 2], "b": [1]}, None, "columns must have equally many values, not 2 and 1"),
        ([(1, 2), (1,)], None, "same length"),
        ({"a": [[1], [2]]}, None, "cannot be compared"),
        ({"a": []}, None, "at least one"),
    ],
)
def test_bad_tables(table, columns, complaint):
    with pytest.raises(InvalidInputError, match=complaint):
        group_sizes(table, columns)
