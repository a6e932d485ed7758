"""The mechanism of a file: reading it, and the claims that many forms share. All exact."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

from ..arithmetic import exp_below, log
from ..claims import Claim, decided
from ..fixed_point import Rational
from ..labels import Label
from ..reading import UnreadableError
from ..schema import DRAWN_BITS, List, Matrix, Nullable, Number, Record

Rows = list[list[float]]
MATRIX = Matrix(Number(0, 1))
DRAWN = Matrix(Number(0, 1, bits=DRAWN_BITS))
"""A matrix whose reports programs draw exactly."""
MECHANISM = Record(
    {"matrix": MATRIX}, {"inputs": Nullable(List(Label())), "outputs": Nullable(List(Label()))}
)
LEVEL_ERROR = Fraction(1, 10**12)
"""How far a stated privacy level may be from the level of the mechanism."""


def read_matrix(document: dict[str, Any], rows: int, secrets: Sequence[Any] = ()) -> Rows:
    """Read the mechanism of the file, with the number of rows that the statement asks for.

    Args:
        document: the file.
        rows: the number of inputs.
        secrets: the secret of each input, where inputs are pairs (s, u).
    """
    if document["mechanism"] is None:
        raise UnreadableError("the file has no mechanism")
    mechanism = MECHANISM.read(document["mechanism"], "mechanism")
    matrix: Rows = mechanism["matrix"]
    if len(matrix) != rows:
        raise UnreadableError(f"mechanism.matrix must have {rows} rows, not {len(matrix)}")
    for name, size in (("inputs", rows), ("outputs", len(matrix[0]))):
        labels = mechanism.get(name)
        if labels is not None and not len(labels) == len(set(labels)) == size:
            raise UnreadableError(f"mechanism.{name} must be {size} different labels")
    if mechanism.get("inputs") is not None:
        _check_numbers(mechanism["inputs"], secrets)
    return matrix


def _check_numbers(inputs: list[Any], secrets: Sequence[Any]) -> None:
    """Refuse inputs that are numbered in another order than the rows: readers would take wrong rows.

    Inputs may have any names. If they are numbered, 0, 1, … or as the pairs [s, u] of a table, the
    numbers must be those of the question. A reader takes the word "1" for the number 1.
    """
    numbers = [_numbers(name) for name in inputs]
    in_order = [(x,) for x in range(len(inputs))]
    if set(numbers) == set(in_order) and numbers != in_order:
        raise UnreadableError("mechanism.inputs must number the inputs in the order of the rows")
    if secrets and _number_a_table(numbers) and numbers != list(_pairs(secrets)):
        raise UnreadableError("mechanism.inputs must be the pairs [s, u] in the order of the rows")


def _numbers(name: Any) -> tuple[float, ...]:
    """Return the numbers that a name reads as, (1, 0) for "1, 0"; none if a part of it is no number."""
    if isinstance(name, str):
        name = tuple(name.strip("()[] ").split(","))
    try:
        return tuple(map(float, name if isinstance(name, tuple) else (name,)))
    except (TypeError, ValueError):
        return ()


def _pairs(secrets: Sequence[Any]) -> Iterator[tuple[int, int]]:
    """List the pairs (s, u): secrets, and the inputs of each, are numbered in order of appearance."""
    order = {secret: s for s, secret in enumerate(dict.fromkeys(secrets))}
    seen: Counter[Any] = Counter()
    for secret in secrets:
        yield order[secret], seen[secret]
        seen[secret] += 1


def _number_a_table(names: list[tuple[float, ...]]) -> bool:
    """Return whether the names are all pairs of a number below a and one below b, for some a and b."""
    if any(len(name) != 2 for name in names):
        return False
    a, b = (len(set(part)) for part in zip(*names, strict=True))
    return a * b == len(names) and set(names) == set(product(range(a), range(b)))


def is_stochastic(matrix: Sequence[Sequence[float]]) -> bool:
    """Return whether every entry is ≥ 0 and every row sums to exactly 1."""
    return all(min(row) >= 0 and _sums_to_one(row) for row in matrix)


def _sums_to_one(row: Sequence[float]) -> bool:
    """Add up a row exactly: first the numerators of each denominator."""
    tops: dict[int, int] = {}
    for top, bottom in [entry.as_integer_ratio() for entry in row]:
        tops[bottom] = tops.get(bottom, 0) + top
    return sum(Fraction(top, bottom) for bottom, top in tops.items()) == 1


def stochastic(matrix: Rows) -> Claim:
    """Check the claim that every row of the mechanism is a distribution."""
    words = "every row of the mechanism sums to exactly 1"
    return decided("stochastic", words, lambda: is_stochastic(matrix))


def worst_ratios(
    matrix: Sequence[Sequence[float]], secrets: Sequence[Any]
) -> Iterator[tuple[float, float]]:
    """List for each output the entries of different secrets that may have the largest ratio.

    Lemma. Let secret i have the largest entry of the output and j the least. If i ≠ j, no pair has a
    larger ratio than these two entries. If i = j, a pair with an entry of i above is at most (the
    largest entry, the least of the other secrets), and every other pair at most (the largest of the
    other secrets, the least entry). Where no two inputs share a secret, i ≠ j or all entries are equal.
    """
    if 1 < len(secrets) == len(set(secrets)):
        yield from ((max(column), min(column)) for column in zip(*matrix, strict=True))
        return
    for column in zip(*matrix, strict=True):
        lows: dict[Any, float] = {}
        highs: dict[Any, float] = {}
        for s, entry in zip(secrets, column, strict=True):
            if entry < lows.get(s, math.inf):
                lows[s] = entry
            if entry > highs.get(s, -1.0):
                highs[s] = entry
        i, j = max(highs, key=highs.__getitem__), min(lows, key=lows.__getitem__)
        if i != j:
            yield highs[i], lows[j]
        elif len(lows) > 1:
            yield highs[i], min(low for s, low in lows.items() if s != i)
            yield max(high for s, high in highs.items() if s != i), lows[i]


def is_private(matrix: Sequence[Sequence[float]], secrets: Sequence[Any], epsilon: Rational) -> bool:
    """Return whether W[x,y] ≤ e^ε W[x',y] for every y and every x, x' with different secrets, exactly.

    Every ratio is compared with a rational just below e^ε (relative 1e-58); e^ε itself is never the
    ratio of two rationals, as e is transcendental and ε ≠ 0 is rational, so what is refused here is
    either not private or closer to the limit than that.

    Args:
        matrix: the mechanism W[x, y].
        secrets: the secret of each row.
        epsilon: the level ε, in nats.
    """
    limit = exp_below(epsilon).as_integer_ratio()
    return all(_at_most(high, low, limit) for high, low in worst_ratios(matrix, secrets))


def _at_most(high: float, low: float, limit: tuple[int, int]) -> bool:
    """Return whether high ≤ limit · low, in whole numbers."""
    (a, b), (c, d) = high.as_integer_ratio(), low.as_integer_ratio()
    return a * d * limit[1] <= limit[0] * b * c


def hidden(secrets: Sequence[Any], epsilon: float) -> str:
    """Say that secrets are hidden from each other at a level."""
    pairs = "all inputs" if len(set(secrets)) == len(secrets) else "inputs with different secrets"
    return f"its entries for {pairs} differ by at most a factor e^{epsilon!r}"


def private(matrix: Rows, secrets: Sequence[Any], epsilon: float) -> Claim:
    """Check the claim of ε-LDP, or of its version for secrets that several inputs share.

    Args:
        matrix: the mechanism W[x, y].
        secrets: the secret of each row.
        epsilon: the level ε, in nats.
    """
    words = hidden(secrets, epsilon)
    return decided("privacy", words, lambda: is_private(matrix, secrets, epsilon), value=epsilon)


def level_claims(matrix: Rows, secrets: Sequence[Any], audit: dict[str, Any]) -> Iterator[Claim]:
    """Check a stated level: max log W[x,y]/W[x',y] over different secrets, to 1e-12.

    Args:
        matrix: the mechanism W[x, y].
        secrets: the secret of each row.
        audit: the section certificate.audit; without a level nothing is claimed.
    """
    audit = Record({}, {"level": Number(0)}).read(audit, "certificate.audit")
    if "level" not in audit:
        return
    level = audit["level"]
    words = f"its privacy level is {level!r} to within 1e-12"
    yield decided("audit", words, lambda: _level_is(matrix, secrets, Fraction(level)), value=level)


def _level_is(matrix: Rows, secrets: Sequence[Any], level: Fraction) -> bool:
    ratios = [(high, low) for high, low in worst_ratios(matrix, secrets) if high > 0]
    if not ratios or any(low == 0 for _, low in ratios):
        return False
    worst = max(Fraction(high) / Fraction(low) for high, low in ratios)
    found = log(worst)
    below, above = Fraction(found.low), Fraction(found.high)
    return level - LEVEL_ERROR <= below and above <= level + LEVEL_ERROR
