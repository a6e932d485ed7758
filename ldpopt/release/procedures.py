"""How an exported program draws a report: what it holds for that, and what it is tested with.

A program draws whole numbers below 2^52 at random. A test vector is an input, a first number in their
place, and the report; each further number is the one before plus :data:`STEP`, modulo 2^52. The reports
of the vectors are drawn by the samplers that ``privatize`` uses.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from itertools import count, pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ldpopt.core.mechanism import Mechanism
from ldpopt.mechanisms.stated import (
    StatedEncoding,
    StatedHashing,
    StatedSubset,
    StatedUnary,
    steps,
)
from ldpopt.release.reading import written_sets
from ldpopt.release.sampling import BITS, ExactSampler, RandomWords, Words

SPAN = 2**BITS
STEP = 0x9E3779B97F4A7
"""2^52 over the golden ratio: the multiples of an odd number differ, and these lie far apart."""
MOST_VECTORS = 400
MOST_NUMBERS = 1 << 18
"""How many numbers all vectors of an encoding draw, but for the least that it has."""


class Vector(NamedTuple):
    """What a correct program does with an input and a first number."""

    x: int
    first: int
    report: int | str


class Procedure(ABC):
    """A way to draw reports.

    Attributes:
        pieces: the templates that say it in every language, one after the other.
    """

    pieces: ClassVar[tuple[str, ...]]

    @property
    @abstractmethod
    def numbers(self) -> dict[str, Any]:
        """The whole numbers that the program holds, by their names."""

    @property
    @abstractmethod
    def vectors(self) -> list[Vector]:
        """Test vectors, on both sides of every comparison; some of them, if too many."""


class RowProcedure(Procedure):
    """Compare one number with the cumulative sums of a row of the matrix."""

    pieces: ClassVar[tuple[str, ...]] = ("rows",)

    def __init__(self, mechanism: Mechanism) -> None:
        self._mechanism = mechanism
        multiples = (mechanism.matrix * 2.0**BITS).astype(np.int64)
        self.ends: list[list[int]] = np.cumsum(multiples, axis=1).tolist()

    @property
    def numbers(self) -> dict[str, Any]:
        """The cumulative sums of the rows, in multiples of 2^−52."""
        return {"ends": self.ends}

    @property
    def vectors(self) -> list[Vector]:
        """The first and the last number of every report of every input; some of them, if too many."""
        edges = [
            (x, bits)
            for x, ends in enumerate(self.ends)
            for low, high in pairwise([0, *ends])
            if low < high
            for bits in sorted({low, high - 1})
        ]
        every = math.ceil(len(edges) / MOST_VECTORS)
        return [Vector(x, bits, self._report(x, bits)) for x, bits in edges[::every]]

    def _report(self, x: int, bits: int) -> int:
        return int(ExactSampler(self._mechanism, stated_words(bits)).sample([x])[0])


class EncodingProcedure(Procedure):
    """Draw a report of an encoding, from as many numbers as ``words`` of the encoding says."""

    def __init__(self, encoding: StatedEncoding) -> None:
        self.encoding = encoding
        self.own = steps(encoding.plain["own"])

    @abstractmethod
    def comparisons(self, x: int) -> Iterator[tuple[int, int]]:
        """Yield which number of the report of x is compared with what."""

    @property
    def vectors(self) -> list[Vector]:
        """For some inputs, the numbers on both sides of each comparison."""
        each = 2 * len(list(self.comparisons(0)))
        most = min(MOST_VECTORS, MOST_NUMBERS // self.encoding.words) // each
        inputs = np.linspace(0, self.encoding.inputs - 1, max(2, min(most, self.encoding.inputs)))
        return [
            self._vector(x, place, bits)
            for x in inputs.astype(int).tolist()
            for place, end in self.comparisons(x)
            for bits in (end - 1, end)
        ]

    def _vector(self, x: int, place: int, bits: int) -> Vector:
        """Return the vector whose number at the place is ``bits``."""
        first = (bits - place * STEP) % SPAN
        found = self.encoding.sample(np.array([x]), stated_words(first))
        return Vector(x, first, written_sets(found)[0].as_py() if found.ndim > 1 else str(found[0]))


class UnaryProcedure(EncodingProcedure):
    """Compare a number for each input with the probability that it is in the set."""

    pieces: ClassVar[tuple[str, ...]] = ("sets", "unary")

    @property
    def numbers(self) -> dict[str, Any]:
        """How many inputs there are, and both probabilities."""
        plain = self.encoding.plain
        return {"inputs": plain["inputs"], "own": self.own, "other": steps(plain["other"])}

    def comparisons(self, x: int) -> Iterator[tuple[int, int]]:
        """Yield those of x and of the input after it."""
        yield x, self.own
        yield (x + 1) % self.encoding.inputs, steps(self.encoding.plain["other"])


class SubsetProcedure(EncodingProcedure):
    """Decide whether x is in the set, then take the others with the least keys."""

    pieces: ClassVar[tuple[str, ...]] = ("sets", "subset")

    @property
    def numbers(self) -> dict[str, Any]:
        """How many inputs there are, how many are in a set, and the probability that x is."""
        plain = self.encoding.plain
        return {"inputs": plain["inputs"], "size": plain["size"], "own": self.own}

    def comparisons(self, x: int) -> Iterator[tuple[int, int]]:
        """Yield that of the first number; and give the own key its limits, where it decides nothing."""
        yield 0, self.own
        yield 1 + x, SPAN


class HashingProcedure(EncodingProcedure):
    """Draw a seed, then tell the bucket to which it hashes x, or another one."""

    pieces: ClassVar[tuple[str, ...]] = ("hashing",)

    encoding: StatedHashing

    @property
    def numbers(self) -> dict[str, Any]:
        """How many buckets there are, how many digits an input has, how likely its bucket is told."""
        known = self.encoding
        return {"buckets": known.buckets, "digits": known.digits, "own": self.own}

    def comparisons(self, x: int) -> Iterator[tuple[int, int]]:
        """Yield that of the bucket, and those that refuse numbers: of a digit, and of another bucket."""
        told = self.encoding.words - 2
        yield told, self.own
        for place, most in ((0, self.encoding.buckets), (told + 1, self.encoding.buckets - 1)):
            yield place, SPAN - SPAN % most


PROCEDURES: dict[type[StatedEncoding], type[EncodingProcedure]] = {
    StatedUnary: UnaryProcedure,
    StatedSubset: SubsetProcedure,
    StatedHashing: HashingProcedure,
}


def stated_words(first: int) -> RandomWords:
    """Draw the words whose first 52 bits are the numbers of a test vector.

    >>> words = stated_words(2**52 - 1)
    >>> [int(word) >> 12 == (2**52 - 1 + i * STEP) % 2**52 for i, word in enumerate(words(3))]
    [True, True, True]
    """
    places = count()

    def words(many: int) -> Words:
        drawn = [(first + next(places) * STEP) % SPAN << (64 - BITS) for _ in range(many)]
        return np.array(drawn, dtype=np.uint64)

    return words
