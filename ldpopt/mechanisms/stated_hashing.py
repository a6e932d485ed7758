"""Local hashing, stated by its buckets and probability (Wang et al. 2017).

With two buckets it is Hadamard response (Acharya et al. 2019).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property
from itertools import count
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ldpopt.core.exact import MOST_BUCKETS, exp_below
from ldpopt.core.forms.searches import EncodingChoice
from ldpopt.core.validate import Array
from ldpopt.mechanisms.randomizer import BITS, Indices, RandomWords, Reports, Tally, Words
from ldpopt.mechanisms.stated import UncorrelatedEncoding, rounded_down, squared_error, steps, uniform


class StatedHashing(UncorrelatedEncoding):
    """Report a random hash function and a bucket: that of the own input with probability p.

    Any three inputs are hashed independently, but for a common shift: the points (x, x²) of their
    digits lie on no common line. So the inputs of a bucket are uncorrelated, given the own one.
    """

    kind: ClassVar[str] = "hashing"
    stored: ClassVar[str] = "int64"
    summary: ClassVar[str] = (
        "the bucket of the cell under a random hash function, with noise; up to 65,536 cells"
    )

    @classmethod
    def best(cls, asked: EncodingChoice) -> dict[str, Any]:
        """Compare all primes g, if none is asked for; p (g − 1) ≤ e^ε (1 − p)."""
        g = np.array([asked.buckets] if asked.buckets else list(_primes(MOST_BUCKETS)))
        own = math.exp(asked.epsilon) / (math.exp(asked.epsilon) + g - 1)
        best = int(g[np.argmin(squared_error(asked.inputs, own, 1 / g))])
        E = exp_below(asked.epsilon)
        return {"own": rounded_down(E / (E + best - 1)), "buckets": best}

    @property
    def buckets(self) -> int:
        """g, a prime."""
        return self.plain["buckets"]

    def likeliest(self) -> tuple[Fraction, str]:
        """Take any seed, and the bucket of the own input."""
        seeds = self.outputs // self.buckets
        return self.exact.own / seeds, "the inputs that a seed puts in the bucket of the own one"

    @property
    def digits(self) -> int:
        """How many digits an input has in base g."""
        return next(d for d in count(1) if self.buckets**d >= self.inputs)

    @cached_property
    def points(self) -> Indices:
        """The digits of every input in base g, and for g > 2 their squares, a row per input."""
        g = self.buckets
        digits = np.arange(self.inputs)[:, None] // g ** np.arange(self.digits) % g
        return digits if g == 2 else np.hstack([digits, digits**2 % g])

    @property
    def outputs(self) -> int:
        """Every seed with every bucket."""
        return int(self.buckets ** (self.points.shape[1] + 1))

    @property
    def words(self) -> int:
        """A word for each digit of the seed, one to tell the bucket or not, one for another bucket."""
        return self.points.shape[1] + 2

    def _drawn(self, x: Indices, block: Words, more: RandomWords) -> Reports:
        g, size = self.buckets, self.points.shape[1]
        seeds = uniform(block[:, :size], g, more)
        bucket = (seeds * self.points[x]).sum(axis=1) % g
        kept = block[:, size] < steps(self.plain["own"])
        step = 1 + uniform(block[:, size + 1], g - 1, more)
        bucket = np.where(kept, bucket, (bucket + step) % g)
        return (seeds * g ** np.arange(size)).sum(axis=1) * g + bucket

    def _parts(self, reports: Reports) -> tuple[Indices, Indices]:
        """Return the digits of the seeds, and the buckets."""
        g, size = self.buckets, self.points.shape[1]
        return reports[:, None] // g ** np.arange(1, size + 1) % g, reports % g

    def supports(self, reports: Reports) -> NDArray[np.bool_]:
        """Mark the inputs whose bucket was reported; the products are whole numbers below 2^53."""
        seeds, bucket = self._parts(reports)
        hashed = seeds.astype(float) @ self.points.T.astype(float)
        return np.asarray(np.remainder(hashed, self.buckets) == bucket[:, None])

    def supported(self, reports: Reports, x: Indices) -> Indices:
        """Return 1 where the bucket of the input was reported."""
        seeds, bucket = self._parts(reports)
        return ((seeds * self.points[x]).sum(axis=1) % self.buckets == bucket).astype(np.int64)

    def counted(self, reports: Reports, weights: Array | None) -> Tally:
        """Count the reports that support each input, or their weights; two buckets by a transform."""
        if self.buckets > 2:
            return super().counted(reports, weights)
        each = np.ones(len(reports), dtype=np.int64) if weights is None else weights
        signs = np.zeros(self.outputs // 2)
        np.add.at(signs, reports // 2, each * (1.0 - 2.0 * (reports % 2)))
        return ((each.sum() + _transformed(signs)[: self.inputs]) / 2).astype(each.dtype)

    @property
    def numbers(self) -> dict[str, Any]:
        """How many buckets there are, how many digits an input has, how likely it reports its bucket."""
        return {"buckets": self.buckets, "digits": self.digits, "own": steps(self.plain["own"])}

    def comparisons(self, x: int) -> Iterator[tuple[int, int]]:
        """Yield that of the bucket, and those that refuse numbers: of a digit, and of another bucket."""
        kept = self.words - 2
        yield kept, steps(self.plain["own"])
        for place, most in ((0, self.buckets), (kept + 1, self.buckets - 1)):
            yield place, 2**BITS - 2**BITS % most


def _primes(most: int) -> Iterator[int]:
    return (n for n in range(2, most + 1) if all(n % d for d in range(2, math.isqrt(n) + 1)))


def _transformed(values: Array) -> Array:
    """Compute Σ_a f(a) (−1)^(a·x) for all x: the fast Walsh–Hadamard transform."""
    found, width = values.copy(), 1
    while width < len(found):
        pairs = found.reshape(-1, 2, width)
        found = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).ravel()
        width *= 2
    return found
