"""Encodings that are stated by their parameters: sampled with exact probabilities, never as a matrix.

:mod:`ldpopt.checker.kernel.proofs.encodings` defines them and proves their level. A report supports a
set of inputs. The encodings are a file each, and a line of :data:`ldpopt.mechanisms.ENCODINGS`.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ldpopt.core.errors import InvalidInputError
from ldpopt.core.exact import ENCODING, RECOVERABLE, UnreadableError, exp_below, read_encoding
from ldpopt.core.forms.searches import EncodingChoice
from ldpopt.core.mechanism import Mechanism
from ldpopt.core.problem import Uncertainty
from ldpopt.core.validate import Array
from ldpopt.mechanisms import ENCODINGS
from ldpopt.mechanisms.randomizer import (
    BITS,
    MOST_VECTORS,
    Column,
    Indices,
    Linear,
    Moments,
    Randomizer,
    RandomWords,
    Reports,
    Tally,
    Unbiased,
    Values,
    Words,
    WorstReport,
)

MOST_WORDS = 1 << 22
"""Random words that are drawn at once: 32 MB."""
MOST_NUMBERS = 1 << 18
"""How many numbers all test vectors of an encoding draw, but for the least that it has."""


class StatedEncoding(Randomizer):
    """An encoding on the inputs 0, 1, …, with its exact sampler and unbiased frequency estimates.

    Args:
        plain: what a file states, as :data:`ldpopt.checker.kernel.proofs.encodings.ENCODING` reads
            it.

    Attributes:
        summary: what it does, in a line for the list of methods.

    >>> made = encoding({"kind": "unary", "inputs": 3, "own": 0.5, "other": 0.25})
    >>> round(made.level, 4), made.other
    (1.0986, 0.25)
    """

    form: ClassVar[str] = "encoding"
    stored: ClassVar[str] = "string"
    summary: ClassVar[str]

    def __init__(self, plain: dict[str, Any]) -> None:
        try:
            self.plain = ENCODING.read(plain, "encoding")
            self.exact = read_encoding(self.plain)
        except UnreadableError as error:
            raise InvalidInputError(str(error)) from None
        self.inputs = self.exact.inputs
        self.own, self.other = float(self.exact.own), float(self.exact.other)

    @classmethod
    @abstractmethod
    def best(cls, asked: EncodingChoice) -> dict[str, Any]:
        """Find the parameters beside ``kind`` and ``inputs`` with the least error at a level.

        Every probability is the best multiple of 2^−52 that the level allows, in exact arithmetic.
        """

    def to_json(self) -> dict[str, Any]:
        """Return the parameters."""
        return self.plain

    # ------------------------------------------------------------ privacy

    @cached_property
    def level(self) -> float:
        """The log of the exact ratio."""
        return math.log(self.exact.ratio)

    def hides(self, epsilon: float, width: int = 1) -> bool:
        """Compare the exact ratio of any two inputs with e^ε."""
        return self.exact.ratio <= exp_below(epsilon)

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
        inputs = ("the first of two inputs", "the second of two inputs")
        return Mechanism(rows, inputs, ("neither", "the first", "the second", "both"))

    def compared(self, uncertainty: Uncertainty) -> tuple[Mechanism, Uncertainty | None]:
        """Return :attr:`pair`: all inputs are treated alike, and hidden whatever the distribution."""
        return self.pair, None

    def worst_report(self, y: int, secrets: str) -> WorstReport:
        """Name the reports that support one of two inputs alone: any two will do."""
        said = "supports one of two inputs and not the other"
        return WorstReport(f"any that {said}", "", f"by a report that {said}")

    @abstractmethod
    def likeliest(self) -> tuple[Fraction, str]:
        """Compute the exact probability of the likeliest report of an input, and say what it supports.

        The probability is the same for all inputs.
        """

    def fixed(self, least: Fraction, p: Array | None = None) -> dict[int, str]:
        """List all inputs, or none."""
        largest, supported = self.likeliest()
        return dict.fromkeys(range(self.inputs if largest >= least else 0), f"that supports {supported}")

    def recoverable(self, width: int, method: str, epsilon: float) -> str:
        """Say that they cannot: the parameters are the same for all inputs.

        Args:
            width: the number of public values.
            method: the name of the method that made it.
            epsilon: the level of one report, in nats.
        """
        return RECOVERABLE[0]

    # ------------------------------------------------------------ reports

    @property
    def outputs(self) -> int:
        """How many different reports there are, where they are numbers."""
        raise NotImplementedError

    @abstractmethod
    def _drawn(self, x: Indices, block: Words, more: RandomWords) -> Reports:
        """Draw a report for each input from a row of random numbers below 2^52.

        Args:
            x: the inputs.
            block: a row of :attr:`words` numbers for each.
            more: draws the numbers that replace those refused.
        """

    def sample(self, x: Indices, words: RandomWords) -> Reports:
        """Draw one report for every input.

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

    def supports(self, reports: Reports) -> NDArray[np.bool_]:
        """Mark which of the inputs each report supports, a row per report; by default its bits."""
        return np.unpackbits(reports, axis=1, count=self.inputs).astype(bool)

    def supported(self, reports: Reports, x: Indices) -> Indices:
        """Return for each report 1 if it supports the input that is given for it, and otherwise 0."""
        bytes_ = reports[np.arange(len(reports)), x // 8].astype(np.int64)
        return (bytes_ >> (7 - x % 8)) & 1

    def asked(self, number: Indices, rng: np.random.Generator) -> Indices:
        """Draw any inputs: each is the first or the second of two."""
        return rng.integers(0, self.inputs, len(number))

    def numbered(self, x: Indices, rng: np.random.Generator) -> Indices:
        """Draw whether each input is called the first or the second of two."""
        return rng.integers(0, 2, len(x))

    def said(self, number: Indices, x: Indices, reports: Reports, rng: np.random.Generator) -> Indices:
        """Say which each report supports of its own input and of another one that is drawn here.

        Args:
            number: 0 where the own input is the first of the two, 1 where it is the second.
            x: the own inputs.
            reports: their reports.
            rng: draws the other inputs.
        """
        other = (x + rng.integers(1, self.inputs, len(x))) % self.inputs
        first, second = np.where(number == 0, (x, other), (other, x))
        return self.supported(reports, first) + 2 * self.supported(reports, second)

    # ------------------------------------------------------------ frequencies

    @property
    def tally(self) -> int:
        """One entry for each input, and one for all reports."""
        return self.inputs + 1

    def tallied(self, reports: Reports, weights: Array | None = None) -> Tally:
        """Count how many of the reports support each input, and last how many there are."""
        total = len(reports) if weights is None else weights.sum()
        return np.append(self.counted(reports, weights), total)

    def reported(self, tally: Tally) -> float:
        """Return the last entry."""
        return float(np.atleast_2d(tally)[0, -1])

    def counted(self, reports: Reports, weights: Array | None) -> Tally:
        """Count the reports that support each input, or add up their weights."""
        found: Tally = np.zeros(self.inputs, dtype=np.int64 if weights is None else float)
        step = max(1, (1 << 22) // self.inputs)  # marks (report, input) that are computed at once
        for start in range(0, len(reports), step):
            marks = self.supports(reports[start : start + step])
            found += marks.sum(axis=0) if weights is None else weights[start : start + step] @ marks
        return found

    @abstractmethod
    def squares(self, sizes: Array) -> tuple[Array, Array]:
        """Compute E[a²] given an input of a set, and given one outside, for sets of these sizes.

        a = Σ_x (1[x supported] − q)/(p − q) over the set is the unbiased estimate of one report.
        """

    def estimates(self, supported: Tally, n: float) -> Array:
        """Estimate the frequency of each input without bias: (share supporting x − q)/(p − q)."""
        return (supported / n - self.other) / (self.own - self.other)

    def variances(self, likely: Array, columns: Sequence[Column]) -> list[Array]:
        """Compute those of sets of inputs, whose estimates are sums, and of linear functions of them."""
        found = []
        for of in columns:
            values = of.values if isinstance(of, Linear) else of
            share, sizes = np.bincount(values.codes, likely, values.size).astype(float), _sizes(values)
            if isinstance(of, Linear):
                rows, once = of.coefficients, self._covariance(share, sizes, 1, share)
                found.append(np.maximum(((rows @ once) * rows).sum(axis=1), 0.0))
            else:
                found.append(self._variances(share, sizes, share))
        return found

    def _variances(self, shares: Array, sizes: Array, means: Array) -> Array:
        inside, outside = self.squares(sizes)
        squared = means * (means - 2 * shares)
        return np.maximum(shares * inside + (1 - shares) * outside + squared, 0.0)

    def moments(self, tally: Tally, columns: Sequence[Column]) -> list[Moments]:
        """Add up the estimates of the inputs that have a value; linear functions follow from that."""
        n, found = self.reported(tally), []
        both = [self.estimates(part[:-1], n) for part in np.broadcast_to(tally, (2, self.tally))]
        for column in columns:
            of = column.values if isinstance(column, Linear) else column
            mean, second = (np.bincount(of.codes, part, of.size).astype(float) for part in both)
            sizes, shares = _sizes(of), np.clip(second, 0, 1)
            spread = self._variances(shares, sizes, np.clip(mean, 0, 1)) / n
            covariance = partial(self._covariance, shares, sizes, n, np.clip(mean, 0, 1))
            known = np.ones(of.size, dtype=bool)
            step = np.full(of.size, 1 / (self.own - self.other))  # by one more input that is supported
            estimates = Unbiased(mean, step, *self.squares(sizes), known)
            own = Moments(estimates, spread, covariance)
            found.append(own.combined(column.coefficients) if isinstance(column, Linear) else own)
        return found

    def _covariance(self, share: Array, sizes: Array, n: float, mean: Array) -> Array:
        """Compute the covariance of the estimates of disjoint sets, at these estimates.

        E[a_A a_B] is half of E[a_{A ∪ B}²] − E[a_A²] − E[a_B²], given that the own input lies in A, in B
        or in neither. The shares are averages as those of squares are, the means as those of reports.
        """
        inside, outside = self.squares(sizes)
        pairs = self.squares((sizes[:, None] + sizes).ravel())
        within, beyond = (part.reshape(len(sizes), -1) for part in pairs)
        first = (within - inside[:, None] - outside) / 2
        neither = (beyond - outside[:, None] - outside) / 2
        rest = np.clip(1 - share[:, None] - share, 0, 1)
        found: Array = share[:, None] * first + share * first.T + rest * neither
        found += np.outer(mean - share, mean - share) - np.outer(share, share)
        np.fill_diagonal(found, self._variances(share, sizes, mean))
        return found / n

    # ------------------------------------------------------------ export

    @abstractmethod
    def comparisons(self, x: int) -> Iterator[tuple[int, int]]:
        """Yield which number of the report of x is compared with what."""

    def edges(self) -> list[tuple[int, int, int]]:
        """List the comparisons of some inputs."""
        each = 2 * len(list(self.comparisons(0)))
        most = min(MOST_VECTORS, MOST_NUMBERS // self.words) // each
        inputs = np.linspace(0, self.inputs - 1, max(2, min(most, self.inputs)))
        return [
            (x, place, bits)
            for x in inputs.astype(int).tolist()
            for place, end in self.comparisons(x)
            for bits in (end - 1, end)
        ]

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


def encoding(plain: dict[str, Any]) -> StatedEncoding:
    """Build the encoding that a file states."""
    kind = plain.get("kind") if isinstance(plain, dict) else None
    return ENCODINGS[str(kind)](plain)


def steps(share: float) -> int:
    """Return a stated probability as a whole multiple of 2^−52."""
    return int(Fraction(share) * 2**BITS)


def rounded_down(share: Fraction) -> float:
    """Round a probability down to a multiple of 2^−52; 1 itself is none of an encoding."""
    return min(math.floor(share * 2**BITS), 2**BITS - 1) / 2**BITS


def squared_error(k: int, own: Any, other: Any) -> Any:
    """Compute k s (1 − s)/(p − q)², s = q + (p − q)/k, in floats: the error that is to be least.

    Args:
        k: the number of inputs.
        own: p.
        other: q.
    """
    s = other + (own - other) / k
    return k * s * (1 - s) / (own - other) ** 2


def uniform(block: Words, most: int, more: RandomWords) -> Indices:
    """Make random numbers uniform below ``most``; the few that would favour some are replaced.

    Args:
        block: numbers below 2^52.
        most: the largest result and 1.
        more: draws the numbers that replace those refused.
    """
    end = np.uint64(2**BITS - 2**BITS % most)
    while (bad := block >= end).any():
        block = block.copy()
        block[bad] = more(int(bad.sum()))
    return (block % np.uint64(most)).astype(np.int64)


def _sizes(of: Values) -> Array:
    """Count the inputs of every value."""
    return np.bincount(of.codes, minlength=of.size).astype(float)
