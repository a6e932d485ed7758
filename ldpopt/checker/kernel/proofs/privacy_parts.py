"""Notions of privacy, as the cones and budgets that they are.

A part of a question, such as ``{"ldp": {"epsilon": 1}}``, becomes a :class:`Part`: *cones*, in one of
which each column of a mechanism lies, and *budgets* over all columns; see :mod:`.differences`. W[x, y]
is the probability of the report y where the input is x, and w a column of W.

| part | says |
|---|---|
| ldp | w_x ≤ e^ε w_z for all x, z; with δ: Σ_y (w_x − e^ε w_z)⁺ ≤ δ; see :mod:`hidden_parts` |
| secret | w_x ≤ e^ε w_z where the secrets of x and z differ; see :mod:`hidden_parts` |
| pairs | w_x ≤ e^(level of x, z) w_z; null is no constraint |
| metric | w_x ≤ e^(ε · distance of x, z) w_z |
| given | inputs (s, u): w_x ≤ e^ε w_z where s differs and u is the same |
| pml | w_x ≤ e^ε P·w: pointwise maximal leakage at the prior P |
| information-privacy | e^−ε P·w ≤ w_x ≤ e^ε P·w |
| sensitive | w_x ≤ e^ε w_z for all x, z, or only one input that is not sensitive gives the report |
| scenarios | P(y given s) ≤ e^ε P(y given s') for each joint distribution P of (s, u) in the list |
| cone | A w ≥ 0 |
| maximal-leakage | Σ_y max_x w_x ≤ e^L |
| statistic-leakage | Σ_y max_g w_(x_g) ≤ e^L for all inputs x_g of the secrets g; see :mod:`cut_parts` |
| robust | P(y given s) ≤ e^ε P(y given s') for every P of an uncertainty set; see :mod:`cut_parts` |
| renyi | Σ_y w_x^a w_z^(1−a) ≤ e^((a−1)ε) for all x, z: a Rényi divergence; see :mod:`cut_parts` |

A difference without a left side is never above 0, as w ≥ 0. A cone of such differences alone is kept by
every mechanism, also by the one that reports its input: it is unreadable, as a verdict on it would read
like a promise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import permutations
from typing import Any

from ..budget import counted
from ..claims import quoted
from ..fixed_point import entries
from ..reading import UnreadableError
from ..schema import (
    EPSILON,
    MOST_EPSILON,
    Distribution,
    Joint,
    List,
    Matrix,
    Nullable,
    Number,
    Record,
    Text,
    Whole,
)
from .differences import Budget, Difference, Part
from .hidden_parts import count, one, ratios
from .named_parts import MOST_INPUTS

MOST_DISTANCE = 1e6
LARGEST = 1e15
"""The largest entry of a row of a cone."""


def _cone_of(words: str, rows: Iterable[Difference], widths: Sequence[int] = ()) -> Part:
    """Say that these differences are at most 0 in every column."""
    cone = tuple(rows)
    if not any(row.left for row in cone):
        raise UnreadableError(
            "a notion of privacy must ask for something: every mechanism keeps this one"
        )
    return Part(words, lambda: (cone,), widths=widths)


def _pairs(part: dict[str, Any], k: int) -> Part:
    levels = part["levels"]
    _square("levels", levels, k)
    pairs = [(x, z) for x, z in permutations(range(k), 2) if levels[x][z] is not None]
    every = k * (k - 1)
    whose = (
        "any two inputs"
        if len(pairs) == every
        else f"{len(pairs)} of {every} pairs, those with a level,"
    )
    words = f"its entries for {whose} differ by at most the factor e^level of the pair"
    return _cone_of(words, (Difference(one(x), one(z), Fraction(levels[x][z])) for x, z in pairs))


def _metric(part: dict[str, Any], k: int) -> Part:
    epsilon, distances = part["epsilon"], part["distances"]
    _square("distances", distances, k)
    if any(distances[x][z] != distances[z][x] for x, z in permutations(range(k), 2)):
        raise UnreadableError("distances must be symmetric")
    level = Fraction(epsilon)
    found = [
        Difference(one(x), one(z), level * Fraction(distances[x][z]))
        for x, z in permutations(range(k), 2)
    ]
    if any(row.level > MOST_EPSILON for row in found):
        raise UnreadableError(f"epsilon times a distance must be at most {MOST_EPSILON!r}")
    words = f"its entries for any two inputs differ by at most a factor e^({epsilon!r} · their distance)"
    return _cone_of(words, found)


def _given(part: dict[str, Any], k: int) -> Part:
    epsilon, (secrets, public) = part["epsilon"], part["shape"]
    count("shape, multiplied,", secrets * public, k)
    pairs = ((x, z) for x, z in permutations(range(k), 2) if x % public == z % public)
    words = (
        f"its entries for inputs (s, u) with the same u, out of {secrets} × {public}, differ by at most "
        f"a factor e^{epsilon!r}"
    )
    return _cone_of(words, ratios(pairs, Fraction(epsilon)), [public])


def _pml(part: dict[str, Any], k: int) -> Part:
    epsilon, prior = part["epsilon"], part["prior"]
    count("prior", len(prior), k)
    mean, level = entries(prior), Fraction(epsilon)
    words = f"no report is over e^{epsilon!r} times as likely at an input as on average over the prior"
    return _cone_of(words, (Difference(one(x), mean, level) for x in range(k)))


def _information(part: dict[str, Any], k: int) -> Part:
    (above,), mean = _pml(part, k).cones(), entries(part["prior"])
    below = tuple(Difference(mean, one(x), Fraction(part["epsilon"])) for x in range(k))
    words = (
        f"every report is at an input as likely as on average over the prior, up to a factor "
        f"e^{part['epsilon']!r}"
    )
    return _cone_of(words, above + below)


def _sensitive(part: dict[str, Any], k: int) -> Part:
    epsilon, inputs = part["epsilon"], part["inputs"]
    if len(set(inputs)) != len(inputs) or not inputs or max(inputs) >= k:
        raise UnreadableError(
            f"inputs must be one or more different numbers of inputs, from 0 to {k - 1}"
        )
    private = ratios(permutations(range(k), 2), Fraction(epsilon))
    alone = tuple(
        tuple(Difference(one(z), {}) for z in range(k) if z != x) for x in range(k) if x not in inputs
    )
    words = (
        f"every report hides all inputs from each other up to a factor e^{epsilon!r}, or comes from one "
        f"input alone, which is not sensitive"
    )
    return Part(words, lambda: (private, *alone))


def _scenarios(part: dict[str, Any], k: int) -> Part:
    level, rows = Fraction(part["epsilon"]), []
    for joint in part["distributions"]:
        count("each of distributions", sum(map(len, joint)), k)
        wide = len(joint[0])
        given = [
            {s * wide + u: p / sum(row) for u, p in enumerate(row) if p}
            for s, row in enumerate(joint)
            if any(row)
        ]
        rows += [Difference(a, b, level) for a, b in permutations(given, 2)]
    words = (
        f"under each of {counted(len(part['distributions']))} distributions of (s, u), no report is "
        f"more than a factor e^{part['epsilon']!r} likelier given one s than given another"
    )
    return _cone_of(words, rows, [len(joint[0]) for joint in part["distributions"]])


def _cone(part: dict[str, Any], k: int) -> Part:
    rows = []
    for row in part["rows"]:
        count("each row of the cone", len(row), k)
        exact = [Fraction(entry) for entry in row]
        rows.append(
            Difference(
                entries(max(-a, Fraction(0)) for a in exact),
                entries(max(a, Fraction(0)) for a in exact),
            )
        )
    words = f"each of its columns satisfies the {counted(len(rows))} linear inequalities of the cone"
    said = f", in the file's words {quoted(part['words'])} [not checked]" if "words" in part else ""
    return _cone_of(words + said, rows)


def _maximal_leakage(part: dict[str, Any], k: int) -> Part:
    leakage = part["leakage"]
    largest = tuple(Difference(one(x), {}) for x in range(k))
    words = f"its maximal leakage is at most {leakage!r} nats"
    return Part(words, budgets=(Budget(largest, Fraction(1), Fraction(leakage)),))


def _square(name: str, rows: list[list[Any]], k: int) -> None:
    if len(rows) != k or any(len(row) != k for row in rows):
        raise UnreadableError(f"{name} must be a matrix of {k} × {k}, a row and a column for each input")


LEVEL = Nullable(Number(0, MOST_EPSILON))
LEAKAGE = Number(above=0, most=MOST_EPSILON)
PARTS: dict[str, tuple[Record, Callable[[dict[str, Any], int], Part]]] = {
    "pairs": (Record({"levels": List(List(LEVEL, 2), 2)}), _pairs),
    "metric": (
        Record({"epsilon": EPSILON, "distances": Matrix(Number(0, MOST_DISTANCE), 2, 2)}),
        _metric,
    ),
    "given": (Record({"epsilon": EPSILON, "shape": List(Whole(1, MOST_INPUTS), 2)}), _given),
    "pml": (Record({"epsilon": EPSILON, "prior": Distribution(2)}), _pml),
    "information-privacy": (Record({"epsilon": EPSILON, "prior": Distribution(2)}), _information),
    "sensitive": (Record({"epsilon": EPSILON, "inputs": List(Whole(0, MOST_INPUTS), 1)}), _sensitive),
    "scenarios": (Record({"epsilon": EPSILON, "distributions": List(Joint(), 1)}), _scenarios),
    "cone": (Record({"rows": Matrix(Number(-LARGEST, LARGEST), 1, 2)}, {"words": Text()}), _cone),
    "maximal-leakage": (Record({"leakage": LEAKAGE}), _maximal_leakage),
}
"""What each part may say, and what it means for so many inputs."""
