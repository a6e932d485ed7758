"""What the rows of a mechanism mean: the values of columns of a table, and the digest that ties them.

The claim *inputs*: the labels (s, u) are all different, and there is one for every row of the mechanism,
in the order (0, 0), (0, 1), …, (1, 0), …; names of columns, values of a column and combinations are
distinct, names and values also to the eye (:func:`look`); bins increase and carry the names of their
edges; words are such as cells say that are trimmed. So every row of a table has one input at most, and
no word keeps an input from having a row.

A column with a ``range`` holds numbers from low to high. Its k values are equally spaced points of the
range, low + (high − low) i/(k − 1), by their names; a number is rounded at random to one of the two
points next to it, and one outside the range counts as its nearer end. So a row has a random input.

Lemma. Rounding keeps the level of a mechanism on the points: the law of the report of a number is a mean
of rows of the mechanism, and entries of two means differ by at most the factor by which those of the
rows do. It does so whatever the chances of the rounding are.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import unicodedata
from collections.abc import Sequence
from datetime import datetime, timedelta
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

from ..claims import Claim, decided
from ..reading import UnreadableError
from ..schema import Flag, List, Mark, Nullable, Number, Record, Text, Whole

MOST_CELLS = 2**53
MOST_SECONDS = 6e10
"""Times lie within so many seconds of 1970: about 1900 years."""
MOST_TOGETHER = 100
"""The most reports about one person that a promise may cover."""
MOST_PREFIX = 64
"""The most first characters of a word by which a column may count."""
COLUMN = Record(
    {"name": Text(), "values": List(Text(), 1), "edges": List(Number()), "text": Flag()},
    {
        "time": Mark(),
        "other": Mark(),
        "missing": Mark(),
        "prefix": Whole(1, MOST_PREFIX),
        "groups": List(List(Text(), 2), 1),
        "range": List(Number(), 2, 2),
    },
)
EMPTY = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800"
    "\u3164\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""Characters that show nothing: those that Unicode lets programs ignore, and blank letters."""
ABSENT = ("NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "null", "NULL", "None")
"""Cells that mean "nothing is known", beside empty ones, where not every cell is a word."""
OTHER, MISSING = "(other)", "(missing)"
"""The last values of a column, where rare words are taken together, or empty cells count as a value."""
ATTRIBUTE = Record(
    {"columns": List(COLUMN, 1), "members": List(List(Whole(0, 1_000_000), 1), 1)},
)
DOMAIN = Record({"secret": ATTRIBUTE, "public": Nullable(ATTRIBUTE)})


def content_digest(content: Any) -> str:
    """Compute the SHA-256 of the JSON text of plain data.

    The text has sorted keys, no spaces, ASCII letters only, and every number as a float.
    """
    text = json.dumps(_floats(content), sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _floats(value: Any) -> Any:
    """Turn every number of plain data into a float, so that 1 and 1.0 are one number."""
    if isinstance(value, dict):
        return {name: _floats(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        every = set(map(type, value)) == {float}
        return list(value) if every else [_floats(part) for part in value]
    exact = isinstance(value, int) and not isinstance(value, bool) and abs(value) <= MOST_CELLS
    return float(value) if exact else value


def inputs_claim(
    domain: dict[str, Any], rows: int, labels: Any = None, counts: list[list[int]] | None = None
) -> Claim:
    """Check that labels, counts (where there are any) and rows of the mechanism belong together.

    Args:
        domain: the columns, their values and the combinations that are inputs.
        rows: the number of inputs of the mechanism.
        labels: its labels of them, if it has any.
        counts: the counts [s][u] of the table; None for a file without them.
    """
    if len(domain["secret"]["members"]) < 2:
        raise UnreadableError("the secret must have at least two values: with one nothing is hidden")
    sides = [domain["secret"], *([domain["public"]] if domain["public"] is not None else [])]
    shape = (len(sides[0]["members"]), len(sides[1]["members"]) if len(sides) > 1 else 1)
    names = [column["name"] for side in sides for column in side["columns"]]

    def holds() -> bool:
        return (
            _differ(names)
            and all(map(_is_column, (column for side in sides for column in side["columns"])))
            and all(map(_are_members, sides))
            and (counts is None or list(map(len, counts)) == [shape[1]] * shape[0])
            and rows == shape[0] * shape[1]
            and (_in_order(labels, shape) or _are_points(labels, domain))
        )

    words = (
        f"each of its {shape[0]} × {shape[1]} labels is the input of one row of the mechanism, in order"
    )
    return decided("inputs", words, holds)


def look(text: str) -> str:
    """Return what a reader sees of a name: two that look the same have the same look.

    Characters that show nothing are left out, letters are composed, and spaces are taken together.
    Letters of different alphabets that look alike (Latin and Cyrillic a) are told apart here.

    >>> look("cafe\u0301 \u200d bar ") == look("caf\u00e9 bar"), look("\u2800")
    (True, '')
    """
    seen = text if text.isascii() else unicodedata.normalize("NFC", EMPTY.sub("", text))
    return " ".join(seen.split())


def _differ(names: Sequence[str]) -> bool:
    """Return whether names look different, and each like something."""
    seen = set(map(look, names))
    return len(seen) == len(names) and "" not in seen


def _is_column(column: dict[str, Any]) -> bool:
    """Return whether the values differ; those of a binned column must be the names of its bins.

    A column with ``other`` or ``missing`` ends in the values of these names. The edges of a column of
    times are whole seconds since 1970, and named as dates. With a ``prefix``, no value is longer; with
    ``groups``, each value is the group of a word, and each word has one group, which is a value unless
    the column has ``other``. With a ``range``, the values are its points, and it has nothing else.
    """
    if "range" in column:
        return _is_range(column)
    values, edges, time = column["values"], column["edges"], column.get("time", False)
    last = [name for name, flag in ((OTHER, "other"), (MISSING, "missing")) if column.get(flag)]
    if values[len(values) - len(last) :] != last or len(values) <= len(last):
        return False
    if edges:
        increasing = all(low < high for low, high in pairwise(edges))
        whole = not time or all(edge % 1 == 0 and abs(edge) <= MOST_SECONDS for edge in edges)
        plain = not any(column.get(key) for key in ("other", "prefix", "groups"))
        return increasing and whole and plain and values == bin_names(edges, time) + last
    return not time and _differ(values) and _is_level(column, last)


def _is_range(column: dict[str, Any]) -> bool:
    """Return whether the values are equally spaced points of a range of finite numbers."""
    values, (low, high) = column["values"], column["range"]
    if set(column) != {"name", "values", "edges", "text", "range"} or column["edges"] or column["text"]:
        return False
    if not 0 < (high - low) * len(values) < math.inf or len(values) < 2:
        return False
    return len(set(values)) == len(values) and values == point_names([low, high], len(values))


def range_points(ends: Sequence[float], count: int) -> list[float]:
    """List the equally spaced points of a range, rounded to floats."""
    low, high = ends
    return [low + (high - low) * i / (count - 1) for i in range(count)]


def point_names(ends: Sequence[float], count: int) -> list[str]:
    """Name the points of a range.

    >>> point_names([0.0, 100.0], 5)
    ['0', '25', '50', '75', '100']
    """
    return list(map(_exactly, range_points(ends, count)))


def _is_level(column: dict[str, Any], last: list[str]) -> bool:
    """Return whether cells can say the values, whole, by the ``prefix`` or by the ``groups``.

    Words that look the same are of one group, and groups look different.
    """
    values = set(column["values"][: len(column["values"]) - len(last)])
    prefix, groups = column.get("prefix"), column.get("groups")
    if groups is None:
        return all(_is_cell(value, column["text"], prefix) for value in values)
    if prefix is not None or any(len(pair) != 2 for pair in groups):
        return False
    words, named = {word for word, _ in groups}, {group for _, group in groups}
    seen = {look(word): group for word, group in groups}
    return (
        len(words) == len(groups)
        and all(_is_cell(word, True) and seen[look(word)] == group for word, group in groups)
        and "" not in seen
        and _differ(list(named))
        and values <= named
        and (column.get("other", False) or named <= values)
    )


def _is_cell(word: str, text: bool, prefix: int | None = None) -> bool:
    """Return whether a cell can say a word: cells are trimmed first, and then cut to the prefix.

    Args:
        word: the word.
        text: whether "NA" is a word.
        prefix: how many first characters count; None for all of them.
    """
    cell = f"{word}…" if len(word) == prefix else word
    cut = prefix is None or len(word) <= prefix
    return cut and cell == cell.strip() and (text or cell not in ABSENT)


def bin_names(edges: Sequence[float], time: bool = False) -> list[str]:
    """Name the bins between the edges; bins of different edges have different names.

    >>> bin_names([18.0, 30.5])
    ['< 18', '[18, 30.5)', '≥ 30.5']
    >>> bin_names([0.0, 86400.0], time=True)
    ['< 1970-01-01', '[1970-01-01, 1970-01-02)', '≥ 1970-01-02']
    """
    words = [_moment(edge) if time else _exactly(edge) for edge in edges]
    return [f"< {words[0]}", *(f"[{a}, {b})" for a, b in pairwise(words)), f"≥ {words[-1]}"]


def _moment(seconds: float) -> str:
    """Write a whole number of seconds since 1970 as a date, with the time unless it is midnight."""
    moment = datetime(1970, 1, 1) + timedelta(seconds=int(seconds))
    return str(moment.date()) if seconds % 86400 == 0 else str(moment)


def _exactly(edge: float) -> str:
    """Write a number with twelve digits if these are exact, else as Python writes it."""
    text = f"{edge:.12g}"
    return text if float(text) == edge else repr(edge)


def _are_members(side: dict[str, Any]) -> bool:
    """Return whether the members are different combinations of value numbers, one per column."""
    sizes = [len(column["values"]) for column in side["columns"]]
    members = [tuple(member) for member in side["members"]]
    known = all(
        len(member) == len(sizes) and all(i < size for i, size in zip(member, sizes, strict=True))
        for member in members
    )
    return known and len(set(members)) == len(members)


def _in_order(inputs: Any, shape: tuple[int, int]) -> bool:
    """Return whether the mechanism's inputs are absent, 0, 1, …, or all pairs (s, u) in order.

    The last part of a pair runs fastest.
    """
    pairs = [] if inputs is None else [[s, u] for s, u in product(range(shape[0]), range(shape[1]))]
    return inputs is None or repr(inputs) in (repr(list(range(len(pairs)))), repr(pairs))


def _are_points(inputs: Any, domain: dict[str, Any]) -> bool:
    """Return whether the inputs are the points of [−1, 1] that those of the one column are scaled to."""
    columns, public = domain["secret"]["columns"], domain["public"]
    if public is not None or len(columns) > 1 or "range" not in columns[0]:
        return False
    k = len(columns[0]["values"])
    in_turn = domain["secret"]["members"] == [[i] for i in range(k)]
    return in_turn and inputs == [float(Fraction(2 * i, k - 1) - 1) for i in range(k)]
