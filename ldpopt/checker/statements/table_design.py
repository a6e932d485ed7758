"""The section ``design`` of a file: which table the mechanism is for, and which row is which value.

A mechanism is a matrix, and this section says what its rows mean. The claims tie the two together:

* *inputs*: the labels (s, u) are all different, and there is one for every row of the mechanism, in the
  order (0, 0), (0, 1), …, (1, 0), …; names of columns, values of a column and combinations are distinct,
  and bins increase and carry the names of their edges. So every row of a table has one input at most.
* *counts*: the question that was answered is that of the section's counts, in the order of the labels:
  ``params.counts`` are these counts, or ``params.p_hat`` (``params.prior``) are c/n, each rounded to the
  nearest float.
* *level*: ε (and, for a confidence set, α and n) of the section are those of the question, and what the
  section calls different secrets the question hides from each other (:func:`_hides`).
* *together*: where the section promises a level for r reports about one person, they have it; see
  :func:`_together`.
* *digest*: SHA-256 of problem, parameters, mechanism and section, as :func:`digest` writes them.

Lemma. Let a digest be computed when the file is made, and let any other parts of the file change
afterwards. If the digest claim holds, then what it covers is what it was, or a collision of SHA-256 is
known. So whoever swaps two labels, moves the edge of a bin or renames a column is refuted.

What it cannot show: a digest is not a signature. Whoever writes the whole file, digest included, can
call the rows what they like; such a file states counts that the table does not have. ``ldpopt
privatize`` therefore compares the counts with the table that it is given.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise, product
from typing import Any

from ..kernel.budget import tick
from ..kernel.claims import Claim, decided, quoted
from ..kernel.proofs.confidence_set import confidence, read_robust_question
from ..kernel.proofs.robust_privacy import are_robustly_private
from ..kernel.reading import UnreadableError
from ..kernel.schema import EPSILON, Flag, List, Nullable, Number, Record, Text, Whole, Word

MOST_CELLS = 2**53
MOST_SECONDS = 6e10
"""Times lie within so many seconds of 1970: about 1900 years."""
MOST_TOGETHER = 100
"""The most reports about one person that a promise may cover."""
KNOWN_SAMPLES = 1e12
"""A known distribution is taken as if it had been observed this often: to a part in a million."""
MOST_PREFIX = 64
"""The most first characters of a word by which a column may count."""
FOR_ALL = (
    *("column-program", "matrix-program", "moment-program", "minimax-program"),
    *("convex-program", "leakage-program", "query-program", "encoding"),
)
"""Forms whose mechanisms are private for every distribution, unless the question is about a χ² set."""
COLUMN = Record(
    {"name": Text(), "values": List(Text(), 1), "edges": List(Number()), "text": Flag()},
    {
        "time": Flag(),
        "other": Flag(),
        "missing": Flag(),
        "prefix": Whole(1, MOST_PREFIX),
        "groups": List(List(Text(), 2), 1),
    },
)
OTHER, MISSING = "(other)", "(missing)"
"""The last values of a column, where rare words are taken together, or empty cells count as a value."""
ATTRIBUTE = Record(
    {"columns": List(COLUMN, 1), "members": List(List(Whole(0, 1_000_000), 1), 1)},
)
DOMAIN = Record({"secret": ATTRIBUTE, "public": Nullable(ATTRIBUTE)})
DESIGN = Record(
    {
        "method": Text(),
        "epsilon": EPSILON,
        "robust": Word("chi2", "all", "known"),
        "alpha": Number(above=0, below=1),
        "width": Nullable(Whole(2, 1_000_000)),
        "counts": List(List(Whole(0, MOST_CELLS), 1), 1),
        "domain": DOMAIN,
        "digest": Text(),
    },
    {"together": Record({"reports": Whole(2, MOST_TOGETHER), "epsilon": EPSILON})},
)
"""What ``ldpopt design`` says of its table."""


def design_claims(document: dict[str, Any], plain: dict[str, Any]) -> Iterator[Claim]:
    """Check the claims of the section, if the file has one.

    Args:
        document: the file, read by its schema.
        plain: the statement of its question, read by the schema of its form.
    """
    if "design" not in document:
        return
    section, params, encoded = document["design"], document["params"], plain["form"] == "encoding"
    mechanism = document["answer" if encoded else "mechanism"]
    if not isinstance(mechanism, dict) or not isinstance(params, dict):
        raise UnreadableError("a file with the section design needs a mechanism and parameters")
    if not _confident(params) and plain["form"] not in FOR_ALL:
        raise UnreadableError(
            "the section design needs a question about all distributions, or about the χ² set of a table"
        )
    rows = mechanism["inputs"] if encoded else len(mechanism["matrix"])
    labels = None if encoded else mechanism.get("inputs")
    yield inputs_claim(section["domain"], rows, labels, section["counts"])
    if counted(params):
        yield _counts(section["counts"], params)
    yield _level(section, params, plain)
    if "together" in section:
        yield _together(section["together"], mechanism.get("matrix", []), params, plain)
    stated = section["digest"]
    words = f"labels, bins, counts, parameters and mechanism have the SHA-256 {quoted(stated)}"
    yield decided("digest", words, lambda: digest(document) == stated)


def unchecked_design(document: dict[str, Any]) -> list[str]:
    """List, as sentences, what the section says but no claim decides."""
    if "design" not in document:
        return []
    section = document["design"]
    named = ("method", *(["width"] if section["width"] is not None else []))
    said = [f"design.{name} = {quoted(section[name])}" for name in named]
    if not counted(document["params"]):
        said.append("design.counts: the question does not depend on them")
    return said


def digest(document: dict[str, Any]) -> str:
    """Compute the SHA-256 of a design: question, mechanism or encoding, section without its digest."""
    section = {name: part for name, part in document["design"].items() if name != "digest"}
    mechanism = document["mechanism"] or document.get("answer")
    return content_digest([document["problem"], document["params"], mechanism, section])


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


# ---------------------------------------------------------------- the labels


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
            len(set(names)) == len(names)
            and all(map(_is_column, (column for side in sides for column in side["columns"])))
            and all(map(_are_members, sides))
            and (counts is None or list(map(len, counts)) == [shape[1]] * shape[0])
            and rows == shape[0] * shape[1]
            and _in_order(labels, shape)
        )

    words = (
        f"each of its {shape[0]} × {shape[1]} labels is the input of one row of the mechanism, in order"
    )
    return decided("inputs", words, holds)


def _is_column(column: dict[str, Any]) -> bool:
    """Return whether the values differ; those of a binned column must be the names of its bins.

    A column with ``other`` or ``missing`` ends in the values of these names. The edges of a column of
    times are whole seconds since 1970, and named as dates. With a ``prefix``, no value is longer; with
    ``groups``, each value is the group of a word, and each word has one group, which is a value unless
    the column has ``other``.
    """
    values, edges, time = column["values"], column["edges"], column.get("time", False)
    last = [name for name, flag in ((OTHER, "other"), (MISSING, "missing")) if column.get(flag)]
    if values[len(values) - len(last) :] != last or len(values) <= len(last):
        return False
    if edges:
        increasing = all(low < high for low, high in pairwise(edges))
        whole = not time or all(edge % 1 == 0 and abs(edge) <= MOST_SECONDS for edge in edges)
        plain = not any(column.get(key) for key in ("other", "prefix", "groups"))
        return increasing and whole and plain and values == bin_names(edges, time) + last
    return not time and len(set(values)) == len(values) and _is_level(column, last)


def _is_level(column: dict[str, Any], last: list[str]) -> bool:
    """Return whether the values fit the ``prefix`` or the ``groups`` of the column, if it has any."""
    values = set(column["values"][: len(column["values"]) - len(last)])
    prefix, groups = column.get("prefix"), column.get("groups")
    if prefix is not None and (groups is not None or any(len(value) > prefix for value in values)):
        return False
    if groups is None:
        return True
    if any(len(pair) != 2 for pair in groups) or len({word for word, _ in groups}) != len(groups):
        return False
    named = {group for _, group in groups}
    return values <= named and (column.get("other", False) or named <= values)


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
    pairs = [list(pair) for pair in product(range(shape[0]), range(shape[1]))]
    return inputs is None or repr(inputs) in (repr(list(range(len(pairs)))), repr(pairs))


# ---------------------------------------------------------------- the question


def counted(params: dict[str, Any]) -> bool:
    """Return whether the question is about a distribution that was counted."""
    return any(name in params for name in ("counts", "p_hat", "prior", "p"))


def _confident(params: dict[str, Any]) -> bool:
    """Return whether the question is about a χ² set; else, by FOR_ALL, about every distribution."""
    return "p_hat" in params or "counts" in params


def _counts(counts: list[list[int]], params: dict[str, Any]) -> Claim:
    total = sum(map(sum, counts))
    words = f"the question is that of a table with its {total} rows, counted in the order of the labels"

    def holds() -> bool:
        if "counts" in params:
            return bool(params["counts"] == counts)
        given = next(params[name] for name in ("p_hat", "prior", "p") if name in params)
        rows = [[count / total for count in row] for row in counts] if total else []
        flat = [entry for row in rows for entry in row]  # Python rounds int/int to the nearest float
        return total > 0 and given in (rows, flat)

    return decided("counts", words, holds, value=float(total))


def _hides(plain: dict[str, Any], shape: tuple[int, int]) -> bool:
    """Return whether inputs of different secrets of the section have different secrets in the question.

    A question hides its own secrets from each other: those that it names, the rows of its table, or else
    every input. Row x of the mechanism has in the section the secret x // (number of public values).

    Args:
        plain: the statement of the question.
        shape: how many secrets and how many public values the section has.
    """
    if "p_hat" in plain:
        return (len(plain["p_hat"]), len(plain["p_hat"][0])) == shape
    if "secrets" not in plain:
        return True
    rows: dict[Any, int] = {}
    return all(
        rows.setdefault(secret, x // shape[1]) == x // shape[1]
        for x, secret in enumerate(plain["secrets"])
    )


def _level(section: dict[str, Any], params: dict[str, Any], plain: dict[str, Any]) -> Claim:
    epsilon, alpha, robust = section["epsilon"], section["alpha"], section["robust"]
    confident = _confident(params)
    public = section["domain"]["public"]
    shape = len(section["domain"]["secret"]["members"]), 1 if public is None else len(public["members"])

    def holds() -> bool:
        if not _hides(plain, shape):
            return False
        if not confident:  # private for every distribution, so for any that is promised
            return bool(plain.get("epsilon") == epsilon)
        sets = {"chi2": "counts" in params, "known": params.get("n") == KNOWN_SAMPLES}
        same = plain["epsilon"] == epsilon and plain["alpha"] == alpha
        return same and sets.get(robust, False)

    known = f" and the set {quoted(robust)} with alpha = {alpha!r}" if confident else ""
    words = f"the design promises what the question asks for: the level {epsilon!r}{known}"
    return decided("level", words, holds, value=epsilon)


def _together(
    promise: dict[str, Any], matrix: list[list[float]], params: dict[str, Any], plain: dict[str, Any]
) -> Claim:
    """Check the level of r independent reports about one person.

    A mechanism that is private for every distribution at the level ε' has W[x,y] ≤ e^ε' W[x',y] for all
    inputs x, x' of different secrets, so products of r entries differ by e^(r ε') at most: r ε' ≤ ε is
    enough. Against a confidence set, see :func:`private_together`.

    Args:
        promise: how many reports, and their level.
        matrix: the mechanism; empty if it is an encoding, which is private for every distribution.
        params: the parameters of the question.
        plain: its statement; if it has no level, a claim about every distribution is refuted.
    """
    reports, epsilon = promise["reports"], promise["epsilon"]
    whom = "for every distribution in the set" if _confident(params) else "whatever the distribution"

    def holds() -> bool:
        if _confident(params):
            return private_together(matrix, {**params, "epsilon": epsilon}, reports)
        return "epsilon" in plain and reports * Fraction(plain["epsilon"]) <= Fraction(epsilon)

    words = f"{reports} reports about one person are together private at the level {epsilon!r}, {whom}"
    return decided("together", words, holds, value=epsilon)


def private_together(matrix: list[list[float]], params: dict[str, Any], reports: int) -> bool:
    """Return whether r reports are proven private against the confidence set of the parameters.

    Together they are one report of the product mechanism, with columns T_{y₁}·…·T_{y_r}, entry by entry;
    the order does not matter, nor does a common factor, so that integers are multiplied. Each column is
    decided as that of a single report, and not kept: there are C(outputs + r − 1, r) of them.

    Args:
        matrix: the mechanism, one row per input (s, u).
        params: the parameters of the confidence set and the level of all reports together.
        reports: r.
    """
    question = read_robust_question(confidence(params))
    distinct = sorted({_integers(column) for column in zip(*matrix, strict=True)})

    def products() -> Iterator[list[int]]:
        for chosen in combinations_with_replacement(distinct, reports):
            tick()  # many products may be all zero, and these are not passed on
            column = [math.prod(entries) for entries in zip(*chosen, strict=True)]
            if any(column):
                yield column

    return are_robustly_private(products(), question)


def _integers(column: Sequence[float]) -> tuple[int, ...]:
    """Find whole numbers in the proportions of the entries, without a common factor."""
    exact = [Fraction(entry) for entry in column]
    scale = math.lcm(*(entry.denominator for entry in exact))
    whole = [int(entry * scale) for entry in exact]
    common = math.gcd(*whole) or 1
    return tuple(entry // common for entry in whole)
