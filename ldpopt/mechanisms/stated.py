"""Encodings that are stated by their parameters: sampled with exact probabilities, never as a matrix.

:mod:`ldpopt.checker.kernel.proofs.encodings` defines them and proves their level: unary encoding,
subset selection, and local hashing, which with two buckets is Hadamard response. A report supports a set
of inputs.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cached_property
from itertools import count
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ldpopt.core.errors import InvalidInputError
from ldpopt.core.exact import ENCODING, UnreadableError, read_encoding
from ldpopt.core.mechanism import Mechanism
from ldpopt.core.validate import Array

BITS = 52
"""The probabilities are multiples of 2^−52."""
MOST_WORDS = 1 << 22
"""Random words that are drawn at once: 32 MB."""

Words = NDArray[np.uint64]
RandomWords = Callable[[int], Words]
Reports = NDArray[Any]
"""One report per row: the number of seed and bucket, or the bits of a set, eight to a byte."""


class StatedEncoding(ABC):
    """An encoding on the inputs 0, 1, …, with its exact sampler and unbiased frequency estimates.

    Args:
        plain: what a file states, as :data:`ldpopt.checker.kernel.proofs.encodings.ENCODING` reads
            it.

    >>> made = encoding({"kind": "unary", "inputs": 3, "own": 0.5, "other": 0.25})
    >>> round(made.level, 4), made.other
    (1.0986, 0.25)
    """

    kind: ClassVar[str]
    sets: ClassVar[bool] = True
    """Whether a report is a set, told by its bits; otherwise it is a number below :attr:`outputs`."""

    def __init__(self, plain: dict[str, Any]) -> None:
        exact = read_encoding(plain)
        self.plain, self.inputs, self.exact = plain, exact.inputs, exact
        self.own, self.other = float(exact.own), float(exact.other)
        for name in ("own", "other"):
            if name in plain and (plain[name] * 2.0**BITS) % 1:
                raise InvalidInputError(
                    f"the encoding's probability {name} must be a multiple of 2^-52, not {plain[name]!r}"
                )

    @cached_property
    def level(self) -> float:
        """The LDP level in nats: the largest log ratio of two inputs for one report."""
        return math.log(self.exact.ratio)

    @property
    def outputs(self) -> int:
        """How many different reports there are, where they are numbers."""
        raise NotImplementedError

    @property
    @abstractmethod
    def company(self) -> tuple[float, float]:
        """The probability that another input is supported, given that the own one is, or is not."""

    @cached_property
    def pair(self) -> Mechanism:
        """What a report says of two inputs: which of them it supports; it has the same level.

        >>> encoding({"kind": "unary", "inputs": 9, "own": 0.5, "other": 0.25}).pair.matrix
        array([[0.375, 0.375, 0.125, 0.125],
               [0.375, 0.125, 0.375, 0.125]])
        """
        p, (beside, instead) = self.own, self.company
        alone, both = p * (1 - beside), p * beside
        other, none = (1 - p) * instead, (1 - p) * (1 - instead)
        rows = [[none, alone, other, both], [none, other, alone, both]]
        return Mechanism(rows, outputs=("neither", "the first", "the second", "both"))

    def supported_of(
        self, reports: Reports, first: NDArray[np.int64], second: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Give each report the number of what it says of two inputs, as the outputs of :attr:`pair`.

        Args:
            reports: the reports.
            first: for each report one of the inputs.
            second: for each report the other one.
        """
        return self.supported(reports, first) + 2 * self.supported(reports, second)

    @property
    @abstractmethod
    def words(self) -> int:
        """How many random words one report takes."""

    @abstractmethod
    def _drawn(self, x: NDArray[np.int64], block: Words, more: RandomWords) -> Reports:
        """Draw a report for each input from a row of random numbers below 2^52.

        Args:
            x: the inputs.
            block: a row of :attr:`words` numbers for each.
            more: draws the numbers that replace those refused.
        """

    def supports(self, reports: Reports) -> NDArray[np.bool_]:
        """Mark which of the inputs each report supports, a row per report; by default its bits."""
        return np.unpackbits(reports, axis=1, count=self.inputs).astype(bool)

    def supported(self, reports: Reports, x: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return for each report 1 if it supports the input that is given for it, and otherwise 0."""
        bytes_ = reports[np.arange(len(reports)), x // 8].astype(np.int64)
        return (bytes_ >> (7 - x % 8)) & 1

    @abstractmethod
    def squares(self, sizes: Array) -> tuple[Array, Array]:
        """Compute E[a²] given an input of a set, and given one outside, for sets of these sizes.

        a = Σ_x (1[x supported] − q)/(p − q) over the set is the unbiased estimate of one report.
        """

    def sample(self, x: NDArray[np.int64], words: RandomWords) -> Reports:
        """Draw one report for every input, with exactly the stated probabilities.

        All is decided by the first 52 bits of each word, so that a program whose whole numbers end at
        2^53 draws the same report from them.
        """
        if x.size and not 0 <= x.min() <= x.max() < self.inputs:
            given = f"{x.min()} to {x.max()}"
            raise InvalidInputError(f"an input must be from 0 to {self.inputs - 1}, not {given}")
        step = max(1, MOST_WORDS // self.words)

        def numbers(count: int) -> Words:
            return words(count) >> np.uint64(64 - BITS)

        parts = []
        for start in range(0, max(len(x), 1), step):
            own = x[start : start + step]
            block = numbers(len(own) * self.words).reshape(len(own), self.words)
            parts.append(self._drawn(own, block, numbers))
        return np.concatenate(parts)

    def counted(self, reports: Reports) -> NDArray[np.int64]:
        """Count how many of the reports support each input."""
        found = np.zeros(self.inputs, dtype=np.int64)
        for part in self._chunks(reports):
            found += self.supports(part).sum(axis=0)
        return found

    def _chunks(self, reports: Reports) -> Iterator[Reports]:
        # marks (report, input) that are computed at once
        step = max(1, (1 << 25) // self.inputs)
        return (reports[start : start + step] for start in range(0, len(reports), step))

    def estimates(self, supported: NDArray[np.int64], n: int) -> Array:
        """Estimate the frequency of each input without bias: (share supporting x − q)/(p − q)."""
        return (supported / n - self.other) / (self.own - self.other)

    def variances(self, shares: Array, sizes: Array) -> Array:
        """Compute n times the variance of the estimated share of a set, from its share and size."""
        inside, outside = self.squares(sizes)
        return np.maximum(shares * inside + (1 - shares) * outside - shares**2, 0.0)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StatedEncoding) and self.plain == other.plain

    def __hash__(self) -> int:
        return hash(tuple(sorted(self.plain.items())))

    def __repr__(self) -> str:
        return f"<{self.kind} encoding of {self.inputs} inputs, level {self.level:.6g}>"


class UncorrelatedEncoding(StatedEncoding):
    """An encoding whose reports support any two inputs independently, given the user's own input."""

    @property
    def company(self) -> tuple[float, float]:
        """The same probability q in both cases."""
        return self.other, self.other

    def squares(self, sizes: Array) -> tuple[Array, Array]:
        """See :meth:`StatedEncoding.squares`; the variances of all inputs of the set add up."""
        p, q = self.own, self.other
        noise, own, gain = q * (1 - q), p * (1 - p), (p - q) ** 2
        return 1 + ((sizes - 1) * noise + own) / gain, sizes * noise / gain


class StatedUnary(UncorrelatedEncoding):
    """Report each input by itself: the own one with probability p, each other one with q."""

    kind: ClassVar[str] = "unary"

    @property
    def words(self) -> int:
        """One word for each input."""
        return self.inputs

    def _drawn(self, x: NDArray[np.int64], block: Words, more: RandomWords) -> Reports:
        below = steps(self.plain["own"]), steps(self.plain["other"])
        marked = block < below[1]
        rows = np.arange(len(x))
        marked[rows, x] = block[rows, x] < below[0]
        return np.packbits(marked, axis=1)


class StatedSubset(StatedEncoding):
    """Report a set of m inputs: with probability p a random one that has the own input."""

    kind: ClassVar[str] = "subset"

    @property
    def company(self) -> tuple[float, float]:
        """Of the k − 1 other inputs, m − 1 are supported, or m."""
        m, others = self.plain["size"], self.inputs - 1
        return (m - 1) / others, m / others

    @property
    def words(self) -> int:
        """One word to choose between the two, and a key for each input."""
        return self.inputs + 1

    def _drawn(self, x: NDArray[np.int64], block: Words, more: RandomWords) -> Reports:
        inside = block[:, 0] < steps(self.plain["own"])
        marked = np.zeros((len(x), self.inputs), dtype=bool)
        for part, size in ((inside, self.plain["size"] - 1), (~inside, self.plain["size"])):
            rows = np.flatnonzero(part)
            marked[rows] = self._others(x[rows], block[rows, 1:], size, more)
        marked[np.arange(len(x)), x] = inside
        return np.packbits(marked, axis=1)

    def _others(
        self, x: NDArray[np.int64], keys: Words, size: int, more: RandomWords
    ) -> NDArray[np.bool_]:
        """Mark the inputs other than x with the ``size`` least keys.

        Independent keys give every set the same chance as long as the largest key inside differs from
        the least outside; rows where it does not draw their keys again.
        """
        marked = np.zeros(keys.shape, dtype=bool)
        left = np.arange(len(x)) if size else np.zeros(0, dtype=np.int64)
        while left.size:
            own = keys[left].copy()
            own[np.arange(len(left)), x[left]] = np.uint64(2**BITS)  # beyond all others
            ends = np.partition(own, (size - 1, size), axis=1)[:, size - 1 : size + 1]
            marked[left] = own <= ends[:, :1]
            left = left[ends[:, 0] == ends[:, 1]]
            if left.size:
                keys = keys.copy()
                keys[left] = more(left.size * self.inputs).reshape(-1, self.inputs)
        return marked

    def squares(self, sizes: Array) -> tuple[Array, Array]:
        """See :meth:`StatedEncoding.squares`; how many inputs are supported is hypergeometric."""
        m, p, q = self.plain["size"], self.own, self.other
        found = []
        for own in (1, 0):
            first = second = np.zeros(len(sizes))
            for chance, drawn, shown in ((p, m - 1, own), (1 - p, m, 0)):
                mean, spread = _hypergeometric(self.inputs - 1, sizes - own, drawn)
                first = first + chance * (mean + shown)
                second = second + chance * (spread + (mean + shown) ** 2)
            found.append((second - 2 * sizes * q * first + (sizes * q) ** 2) / (p - q) ** 2)
        return found[0], found[1]


class StatedHashing(UncorrelatedEncoding):
    """Report a random hash function and a bucket: that of the own input with probability p.

    Any three inputs are hashed independently, but for a common shift: the points (x, x²) of their
    digits lie on no common line. So the inputs of a bucket are uncorrelated, given the own one.
    """

    kind: ClassVar[str] = "hashing"
    sets: ClassVar[bool] = False

    @property
    def buckets(self) -> int:
        """g, a prime."""
        g: int = self.plain["buckets"]
        return g

    @property
    def digits(self) -> int:
        """How many digits an input has in base g."""
        return next(d for d in count(1) if self.buckets**d >= self.inputs)

    @cached_property
    def points(self) -> NDArray[np.int64]:
        """The digits of every input in base g, and for g > 2 their squares, a row per input."""
        g = self.buckets
        digits = np.arange(self.inputs)[:, None] // g ** np.arange(self.digits) % g
        return digits if g == 2 else np.hstack([digits, digits**2 % g])

    @property
    def outputs(self) -> int:
        """How many different reports there are."""
        return int(self.buckets ** (self.points.shape[1] + 1))

    @property
    def words(self) -> int:
        """A word for each digit of the seed, one to tell the bucket or not, one for another bucket."""
        return self.points.shape[1] + 2

    def _drawn(self, x: NDArray[np.int64], block: Words, more: RandomWords) -> Reports:
        g, size = self.buckets, self.points.shape[1]
        seeds = _uniform(block[:, :size], g, more)
        bucket = (seeds * self.points[x]).sum(axis=1) % g
        told = block[:, size] < steps(self.plain["own"])
        step = 1 + _uniform(block[:, size + 1], g - 1, more)
        bucket = np.where(told, bucket, (bucket + step) % g)
        return (seeds * g ** np.arange(size)).sum(axis=1) * g + bucket

    def _parts(self, reports: Reports) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the digits of the seeds, and the buckets."""
        g, size = self.buckets, self.points.shape[1]
        return reports[:, None] // g ** np.arange(1, size + 1) % g, reports % g

    def supports(self, reports: Reports) -> NDArray[np.bool_]:
        """Mark the inputs whose bucket was reported; the products are whole numbers below 2^53."""
        seeds, bucket = self._parts(reports)
        hashed = seeds.astype(float) @ self.points.T.astype(float)
        return np.asarray(np.remainder(hashed, self.buckets) == bucket[:, None])

    def supported(self, reports: Reports, x: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return 1 where the bucket of the input was reported."""
        seeds, bucket = self._parts(reports)
        return ((seeds * self.points[x]).sum(axis=1) % self.buckets == bucket).astype(np.int64)

    def counted(self, reports: Reports) -> NDArray[np.int64]:
        """Count how many of the reports support each input; two buckets by the Hadamard transform."""
        if self.buckets > 2:
            return super().counted(reports)
        signs = np.zeros(self.outputs // 2)
        np.add.at(signs, reports // 2, 1.0 - 2.0 * (reports % 2))
        return ((len(reports) + _transformed(signs)[: self.inputs]) / 2).astype(np.int64)


def encoding(plain: dict[str, Any]) -> StatedEncoding:
    """Build the encoding that a file states."""
    try:
        read = ENCODING.read(plain, "encoding")
        kinds = (StatedUnary, StatedSubset, StatedHashing)
        return next(cls(read) for cls in kinds if cls.kind == read["kind"])
    except UnreadableError as error:
        raise InvalidInputError(str(error)) from None


def steps(share: float) -> int:
    """Return a stated probability as a whole multiple of 2^−52."""
    return int(Fraction(share) * 2**BITS)


def _uniform(block: Words, most: int, more: RandomWords) -> NDArray[np.int64]:
    """Make random numbers uniform below ``most``; the few that would favour some are replaced."""
    end = np.uint64(2**BITS - 2**BITS % most)
    while (bad := block >= end).any():
        block = block.copy()
        block[bad] = more(int(bad.sum()))
    return (block % np.uint64(most)).astype(np.int64)


def _hypergeometric(total: int, good: Array, drawn: int) -> tuple[Array, Array]:
    """Return mean and variance of the good ones among those drawn without replacement."""
    mean = drawn * good / total
    spread = mean * (total - good) * (total - drawn) / (total * max(total - 1, 1))
    return mean, spread


def _transformed(values: Array) -> Array:
    """Compute Σ_a f(a) (−1)^(a·x) for all x: the fast Walsh–Hadamard transform."""
    found, width = values.copy(), 1
    while width < len(found):
        pairs = found.reshape(-1, 2, width)
        found = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).ravel()
        width *= 2
    return found
