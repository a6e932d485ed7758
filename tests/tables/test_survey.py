"""The domain of a table, and the refusals of what cannot be counted."""

import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ldpopt.core.errors import InvalidInputError, UnreadableFileError
from ldpopt.tables.batches import open_table
from ldpopt.tables.domain import Domain
from ldpopt.tables.survey import survey

TABLE = {
    "sex": ["f", "m", "f", "m", "f"],
    "race": ["a", "a", "b", "b", "a"],
    "age": [20, 30, 40, 50, 60],
    "pay": [1.5, 2.5, 3.5, 4.5, 5.5],
}


def look(secret, public=(), table=TABLE, **options):
    return survey(open_table(table), secret, public, **options)


def test_counts():
    domain, counts = look(["sex"], ["race"])
    assert domain.labels == ("f, a", "f, b", "m, a", "m, b")
    assert counts.tolist() == [[2, 1], [1, 1]]
    assert (domain.count(open_table(TABLE)) == counts).all()
    assert [codes.tolist() for codes in domain.rows(open_table(TABLE))] == [[0, 2, 1, 3, 0]]


def test_whole_numbers_that_no_float_tells_apart_are_different_values():
    table = {"s": [2**53 + 1, 2**53, -(2**63), 2**53 + 1], "u": ["x", "x", "y", "y"]}
    domain, counts = look(["s"], ["u"], table)
    assert domain.secret.labels == (str(-(2**63)), str(2**53), str(2**53 + 1))
    assert counts.tolist() == [[0, 1], [1, 0], [1, 1]]
    for one, other in (("1", "01"), ("1e2", "100.0"), (str(2**53 + 1), f"{2**53 + 1}.0")):
        with pytest.raises(InvalidInputError, match="one number in two ways"):
            look(["s"], ["u"], {"s": [one, other], "u": ["x", "y"]})


def test_combinations_that_occur():
    table = {"sex": ["f", "m", "f"], "race": ["a", "b", "b"], "pay": ["x", "y", "x"]}
    domain, counts = look(["sex", "race"], ["pay"], table)
    assert domain.secret.labels == ("f, a", "f, b", "m, b")
    assert counts.tolist() == [[1, 0], [1, 0], [0, 1]]
    other = {"sex": ["f", "m"], "race": ["b", "a"], "pay": ["x", "x"]}
    with pytest.raises(InvalidInputError, match="row 2 holds sex = 'm', race = 'a', a combination"):
        domain.count(open_table(other))


def test_secret_alone():
    domain, counts = look(["race"])
    assert domain.public is None
    assert domain.labels == ("a", "b")
    assert counts.tolist() == [[3], [2]]


def test_numbers_are_in_order_and_text_is_not():
    table = {"a": ["10", "9", "9"], "b": ["x", "y", "y"]}
    assert look(["a"], ["b"], table)[0].secret.labels == ("9", "10")
    assert look(["a"], ["b"], table, text=["a"])[0].secret.labels == ("10", "9")


def test_bins():
    domain, counts = look(["sex"], ["age"], bins={"age": [30, 50]})
    assert domain.public.labels == ("< 30", "[30, 50)", "≥ 50")
    assert counts.tolist() == [[1, 1, 1], [0, 1, 1]]
    beyond = {"sex": ["f", "f"], "age": [-5, 1e9]}
    assert domain.count(open_table(beyond)).tolist() == [[1, 0, 1], [0, 0, 0]]
    assert len(look(["sex"], ["pay"], bins={"pay": 3})[0].public) == 3


@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 60)), min_size=5, max_size=60),
    st.integers(2, 6),
)
@settings(max_examples=40)
def test_bins_hold_every_row(rows, bins):
    table = {"s": ["a", "b", *(s for s, _ in rows)], "x": [0, 70, *(x for _, x in rows)]}
    domain, counts = look(["s"], ["x"], table, bins={"x": bins})
    assert 2 <= len(domain.public) <= bins
    assert counts.sum() == len(table["s"])
    assert (counts.sum(axis=0) > 0).all()
    by_hand = Counter(np.searchsorted(domain.public.columns[0].edges, table["x"], side="right").tolist())
    assert [by_hand[i] for i in sorted(by_hand)] == counts.sum(axis=0).tolist()


def test_bins_of_mostly_zeros():
    table = {"s": ["a", "b"] * 10, "x": [0] * 17 + [5, 7, 9]}
    domain, counts = look(["s"], ["x"], table, bins={"x": 4})
    assert domain.public.labels == ("< 5", "≥ 5")
    assert counts.sum(axis=0).tolist() == [17, 3]


def test_json():
    domain, _ = look(["sex"], ["age"], bins={"age": 2})
    again = Domain.from_json(json.loads(json.dumps(domain.to_json())))
    assert again == domain
    for broken in ({}, {"secret": 3, "public": None}, None):
        with pytest.raises(UnreadableFileError, match="not the description of a table"):
            Domain.from_json(broken)


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        ({"a": ["x", None]}, {}, "row 2 of column 'a' is empty: fill it"),
        ({"a": ["x", ""]}, {}, "row 2 of column 'a' is empty"),
        ({"a": ["x", "NaN"]}, {}, r"row 2 of column 'a' is empty \(NaN\)"),
        ({"a": [1.0, float("nan")]}, {}, r"row 2 of column 'a' is empty \(nan\)"),
        ({"a": ["1", "x"]}, {}, "mixes numbers and words .'1' and 'x'.; clean it, or .*text a"),
        ({"a": ["x"] * 3}, {}, "has one value .'x'. in the whole table: there is nothing to hide"),
        ({"a": [f"w{i}" for i in range(201)]}, {}, "more than 200 different values; keep the most"),
        ({"a": list(range(201))}, {}, r"more than 200 different values; bin it \(bins a=5\)"),
        ({"a": [i / 2 for i in range(20)]}, {}, "is continuous: it has more than 16"),
        ({"a": [1, 2]}, {"bins": {"a": 1}}, "needs between 2 and 200 bins, not 1"),
        ({"a": [1, 2]}, {"bins": {"a": [3, 2]}}, "must increase, not"),
        ({"a": [2, 2]}, {"bins": {"a": 4}}, "cannot be binned: its values are all alike"),
        (
            {"a": ["1", "x,1"]},
            {"bins": {"a": 2}},
            "row 2 of column 'a' holds 'x,1', which is not a number$",
        ),
        ({"a": ["1", "1.234,5"]}, {"bins": {"a": 2}}, "a number; write numbers as 20399.20"),
        ({"a": ["31.01.1980", "2.2.81"]}, {"bins": {"a": 2}}, "a number; write dates as 2024-01-31"),
        (
            {"a": [f"{i},20" for i in range(201)]},
            {},
            "or leave it out; write numbers as 20399.20",
        ),
        (
            {"a": [1.0, float("inf")]},
            {"bins": {"a": 2}},
            "row 2 of column 'a' must be a finite number, not inf",
        ),
        ({"a": ["x", " "]}, {}, "row 2 of column 'a' is empty"),
        ({"a": ["x", "#N/A"]}, {}, "row 2 of column 'a' is empty"),
        ({"a": ["1", "01", "2"]}, {}, "writes one number in two ways .'01' and '1'.; clean it"),
        ({"a": [[1], [2]]}, {}, "of the type list<item: int64>, which are neither words nor numbers"),
        ({"a": [b"x", b"\xff"]}, {}, "of the type binary, which are neither words nor numbers"),
        ({"a": ["x" * 99] * 2}, {}, f"one value .'{'x' * 60}' …. in the whole table"),
        ({"a": [1, 2]}, {"bins": {"a": "five"}}, "must be a list of numbers, not 'five'"),
        ({"a": [1, 2]}, {"bins": {"a": 2.0}}, "must be a list of numbers, not of 0 axes"),
        (
            {"a": [1, 2]},
            {"bins": {"b": 2}},
            "'b' of bins, text, top or levels is neither secret nor public",
        ),
    ],
)
def test_refusals(table, options, message):
    with pytest.raises(InvalidInputError, match=message):
        look(["a"], (), table, **options)


def test_na_as_a_word():
    table = {"country": ["NA", "DE", "12"]}
    assert look(["country"], (), table, text=["country"])[0].labels == ("12", "DE", "NA")


@pytest.mark.parametrize("twin", ["caf\u00e9", "cafe\u0301\ufe0f", "cafe\u200d\u0301"])
def test_values_that_look_the_same_are_refused(twin):
    """Nobody could tell them apart on a page."""
    for table in ({"x": ["cafe\u0301", twin, "tea"]}, {"x": ["a  b", "a b", "c"]}):
        with pytest.raises(InvalidInputError, match="values of column 'x' must look different, and"):
            survey(table, "x")
    with pytest.raises(InvalidInputError, match="shows nothing"):
        survey({"x": ["\u200d", "tea"]}, "x")


def test_names():
    with pytest.raises(InvalidInputError, match="named twice"):
        look(["sex"], ["sex"])
    with pytest.raises(InvalidInputError, match="at least one secret column"):
        look([])
    with pytest.raises(
        InvalidInputError, match="unknown column of the table 'sexx'; did you mean 'sex'"
    ):
        look(["sexx"])


def test_too_many_cells():
    sizes = (("a", 64), ("b", 101), ("c", 13))
    table = {name: [f"v{i % k}" for i in range(5000)] for name, k in sizes}
    with pytest.raises(InvalidInputError, match="64 secret × 1313 public values make 84032"):
        look(["a"], ["b", "c"], table)


def test_unknown_values_and_columns():
    domain, _ = look(["sex"], ["race"])
    with pytest.raises(InvalidInputError, match="row 2 of column 'race' holds 'c', which the mechanism"):
        domain.count(open_table({"sex": ["f", "f"], "race": ["a", "c"]}))
    with pytest.raises(InvalidInputError, match="no column 'race': the mechanism is made for sex, race"):
        domain.count(open_table({"sex": ["f"]}))


def test_spaces_and_signs_do_not_count():
    table = {"a": [" x", "x ", "y", "y"], "b": [" 1", "+2", "3", "4 "]}
    domain, counts = look(["a"], ["b"], table, bins={"b": [2.5]})
    assert domain.secret.labels == ("x", "y")
    assert counts.tolist() == [[2, 0], [0, 2]]


def test_bins_that_lie_close_together_have_names_of_their_own():
    """Edges that agree in twelve digits: times in nanoseconds, say."""
    times = [1_700_000_000_000_000_000 + 1000 * i for i in range(8)] * 5
    table = open_table({"s": ["a", "b"] * 20, "time": times})
    domain, counts = survey(table, ["s"], ["time"], {"time": 4})
    assert len(set(domain.public.labels)) == 4
    assert counts.tolist() == domain.count(table).tolist()
