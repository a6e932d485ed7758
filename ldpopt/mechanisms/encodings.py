"""Mechanisms that report a set: unary encoding, local hashing, subset selection, Hadamard response.

Each is described by its sets, never by a matrix with 2^k columns. A report stands for the set S of
values that it supports; its likelihood has only two levels, ``high`` for x ∈ S and ``low`` otherwise.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import hadamard
from scipy.special import comb, gammaln

from ldpopt.core import validate
from ldpopt.core.errors import InvalidInputError
from ldpopt.core.mechanism import Channel, Label, Mechanism, Reported, distribution_over, indices
from ldpopt.core.quantiles import binomial
from ldpopt.core.validate import Array
from ldpopt.mechanisms.listings import subsets

Reports = NDArray[Any]
LARGEST_DENSE = 16


class Support(ABC):
    """A mechanism whose reports support sets of values, with an unbiased frequency estimate.

    A value is supported with probability ``own`` if it is the user's and ``other`` if it is not.
    """

    k: int
    own: float
    other: float

    @abstractmethod
    def supports(self, reports: Reports) -> NDArray[np.bool_]:
        """Mark the values that each report supports, a row per report."""

    def estimate(self, reports: Reports) -> Array:
        """Estimate the frequencies without bias.

        The estimate of x is (share of reports supporting x − other) / (own − other).
        """
        return (self.supports(reports).mean(axis=0) - self.other) / self._gain

    def variance(self, p: ArrayLike, n: int) -> Array:
        """Compute the variance of each estimated frequency from n users drawn from p."""
        share = self.other + self._gain * distribution_over(self.k, "p", p)
        return share * (1 - share) / (validate.whole_number("n", n, 1) * self._gain**2)

    @property
    def _gain(self) -> float:
        """How much more often the own value is supported than another one."""
        if self.own == self.other:
            raise InvalidInputError("reports that do not depend on the data allow no estimate")
        return self.own - self.other


class SetMechanism(Support, Channel):
    """A mechanism that treats all sets of one size alike.

    ``sizes[m]`` is the probability of size m under the reference measure, uniform within each size;
    relative to it a report S has likelihood ``high`` for x ∈ S and ``low`` otherwise.
    """

    low: float
    high: float
    inclusion: float | None = None
    """The probability of each value, where the reference measure draws them independently."""

    @property
    @abstractmethod
    def sizes(self) -> Array:
        """The reference probabilities of the set sizes 0 … k."""

    @abstractmethod
    def sample(self, x: ArrayLike, rng: np.random.Generator | int) -> Reports:
        """Draw one report for every input index in x."""

    @property
    def inputs(self) -> tuple[int, ...]:
        """The input labels 0 … k − 1."""
        return tuple(range(self.k))

    def epsilon(self) -> float:
        """Compute the LDP level log(high / low)."""
        ratio = math.inf if self.low == 0 else self.high / self.low
        return abs(math.log(ratio))

    def dense(self) -> Mechanism:
        """Build the matrix over all 2^k sets (reports of equal sets merged), for small k only."""
        if self.k > LARGEST_DENSE:
            raise InvalidInputError(
                f"a matrix with 2^{self.k} columns is too large; the limit is k = {LARGEST_DENSE}"
            )
        sets = subsets(self.k)
        size = sets.sum(axis=1).astype(int)
        weight = (self.sizes / comb(self.k, np.arange(self.k + 1)))[size]
        matrix = ((self.low + (self.high - self.low) * sets) * weight[:, None]).T
        outputs = [tuple(int(x) for x in np.flatnonzero(row)) for row in sets]
        used = matrix.any(axis=0)
        kept = [label for label, keep in zip(outputs, used, strict=True) if keep]
        return Mechanism(matrix[:, used] / matrix.sum(axis=1, keepdims=True), outputs=kept)

    @property
    def matrix(self) -> Array:
        """The matrix of :meth:`dense`."""
        return self.dense().matrix

    @property
    def outputs(self) -> tuple[Label, ...]:
        """The sets that :meth:`dense` lists."""
        return self.dense().outputs

    def reported(self, reports: ArrayLike) -> Reported:
        """Count the distinct sets among the reports; a matrix over all 2^k sets is never built."""
        rows = np.asarray(reports)
        if rows.ndim != 2:
            raise InvalidInputError(
                f"reports must be rows, one per user, not an array of shape {rows.shape}"
            )
        sets, counts = np.unique(self.supports(rows), axis=0, return_counts=True)
        if sets.shape[1] != self.k:
            raise InvalidInputError(
                f"reports must have {self.k} entries, one per value, not {sets.shape[1]}"
            )
        columns = (self.low + (self.high - self.low) * sets.astype(np.float64)).T
        size = np.arange(self.k + 1)
        log_sets = gammaln(self.k + 1) - gammaln(size + 1) - gammaln(self.k - size + 1)
        with np.errstate(divide="ignore"):
            log_one = np.log(self.sizes) - log_sets  # the reference probability of one set of each size
        return Reported(columns, counts.astype(np.int64), float(counts @ log_one[sets.sum(axis=1)]))

    def cover(self) -> float:
        """Add up the largest likelihoods of the sets: ``high``, but for the empty set."""
        return self.high * float(self.sizes[1:].sum()) + self.low * float(self.sizes[0])

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.k} values, epsilon {self.epsilon():.6g}>"


class UnaryEncoding(SetMechanism):
    """Report each value independently: the true value with probability κ, the others with λ.

    Lopuhaä-Zwakenberg et al. 2019, (10.8).

    >>> UnaryEncoding.oue(100, 1.0).kappa
    0.5
    """

    def __init__(self, k: int, kappa: float, lam: float) -> None:
        self.k = validate.whole_number("k", k, 2)
        for name, value in (("kappa", kappa), ("lam", lam)):
            if not (isinstance(value, (int, float)) and 0 <= value <= 1):
                raise InvalidInputError(f"{name} must be a probability, not {value!r}")
        validate.share("lam", lam)
        if kappa < lam:
            raise InvalidInputError(f"kappa must be at least lam, but {kappa!r} < {lam!r}")
        self.kappa, self.lam = float(kappa), float(lam)
        self.own, self.other, self.inclusion = self.kappa, self.lam, self.lam
        self.high, self.low = self.kappa / self.lam, (1 - self.kappa) / (1 - self.lam)

    @classmethod
    def rappor(cls, k: int, epsilon: float) -> Self:
        """Create basic RAPPOR: κ = 1 − λ (Lopuhaä-Zwakenberg et al. 2019, Table 10.1)."""
        root = math.exp(validate.epsilon(epsilon) / 2)
        return cls(k, root / (root + 1), 1 / (root + 1))

    @classmethod
    def oue(cls, k: int, epsilon: float) -> Self:
        """Create optimised unary encoding: κ = 1/2."""
        return cls(k, 0.5, 1 / (math.exp(validate.epsilon(epsilon)) + 1))

    @classmethod
    def blh(cls, k: int, epsilon: float) -> Self:
        """Create binary local hashing in the form of unary encoding: λ = 1/2."""
        E = math.exp(validate.epsilon(epsilon))
        return cls(k, E / (E + 1), 0.5)

    @property
    def sizes(self) -> Array:
        """Binomial(k, λ)."""
        return binomial(self.k, self.lam)

    def sample(self, x: ArrayLike, rng: np.random.Generator | int) -> Reports:
        """Draw a row of k booleans per user."""
        rng = np.random.default_rng(rng)
        own = np.atleast_1d(indices(x, self.k))
        chance = np.full((len(own), self.k), self.lam)
        chance[np.arange(len(own)), own] = self.kappa
        return rng.random(chance.shape) < chance

    def supports(self, reports: Reports) -> NDArray[np.bool_]:
        """Return the reports themselves."""
        return np.asarray(reports, dtype=bool)


class LocalHashing(SetMechanism):
    """Hash the value into g buckets by a random function, then apply randomised response to the buckets.

    Lopuhaä-Zwakenberg et al. 2019, Example 7.4, the functions uniform over all g^k. A report is (seed of
    the function, bucket); it supports the values that fall into the bucket.

    >>> round(LocalHashing(1000, 4, 1.0).epsilon(), 12)
    1.0
    """

    def __init__(self, k: int, g: int, epsilon: float) -> None:
        self.k, self.g = validate.whole_number("k", k, 2), validate.whole_number("g", g, 2)
        E = math.exp(validate.epsilon(epsilon))
        self.own, self.other, self.inclusion = E / (E + g - 1), 1 / g, 1 / g
        self.high, self.low = g * E / (E + g - 1), g / (E + g - 1)

    @property
    def sizes(self) -> Array:
        """Binomial(k, 1/g): how many values share a bucket."""
        return binomial(self.k, 1 / self.g)

    def sample(self, x: ArrayLike, rng: np.random.Generator | int) -> Reports:
        """Draw an array of (seed, bucket) rows."""
        rng = np.random.default_rng(rng)
        own = np.atleast_1d(indices(x, self.k))
        seed = rng.integers(2**63, size=len(own), dtype=np.uint64)
        bucket = self._hash(seed, own.astype(np.uint64))
        keep = rng.random(len(own)) < self.own
        step = rng.integers(1, self.g, size=len(own), dtype=np.uint64)
        reported = np.where(keep, bucket, (bucket + step) % np.uint64(self.g))
        return np.column_stack([seed, reported])

    def supports(self, reports: Reports) -> NDArray[np.bool_]:
        """Mark the values whose hash is the reported bucket."""
        pairs = np.asarray(reports, dtype=np.uint64)
        values = np.arange(self.k, dtype=np.uint64)
        return self._hash(pairs[:, :1], values) == pairs[:, 1:]

    def _hash(self, seed: Reports, x: Reports) -> Reports:
        """Hash seed and value pseudo-randomly: SplitMix64's finaliser (Steele et al. 2014)."""
        z = seed + (x + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return (z ^ (z >> np.uint64(31))) % np.uint64(self.g)


class SubsetSelection(SetMechanism):
    """Report a random set of m values; sets with the true value are e^ε times as likely.

    >>> SubsetSelection(3, 1, 1.0).dense().matrix.round(3)  # randomised response
    array([[0.212, 0.212, 0.576],
           [0.212, 0.576, 0.212],
           [0.576, 0.212, 0.212]])
    """

    def __init__(self, k: int, m: int, epsilon: float) -> None:
        self.k, self.m = validate.whole_number("k", k, 2), validate.whole_number("m", m, 1)
        if self.m >= self.k:
            raise InvalidInputError(f"m must be less than k = {k}, not {m}")
        E = math.exp(validate.epsilon(epsilon))
        scale = self.m * E + self.k - self.m
        self.own = self.m * E / scale
        self.other = self.m * ((self.m - 1) * E + self.k - self.m) / ((self.k - 1) * scale)
        self.high, self.low = self.k * E / scale, self.k / scale

    @classmethod
    def best(cls, k: int, epsilon: float) -> Self:
        """Choose the size with the smallest variance of the estimate, near k/(e^ε + 1)."""
        uniform = np.full(k, 1 / k)
        choices = [cls(k, m, epsilon) for m in range(1, k)]
        return min(choices, key=lambda choice: float(choice.variance(uniform, 1).sum()))

    @property
    def sizes(self) -> Array:
        """All mass at m."""
        result = np.zeros(self.k + 1)
        result[self.m] = 1
        return result

    def sample(self, x: ArrayLike, rng: np.random.Generator | int) -> Reports:
        """Draw a row of m sorted values per user."""
        rng = np.random.default_rng(rng)
        own = np.atleast_1d(indices(x, self.k))
        key = rng.random((len(own), self.k))
        inside = rng.random(len(own)) < self.own
        key[np.arange(len(own)), own] = np.where(inside, -1.0, 2.0)
        chosen = np.argpartition(key, self.m - 1, axis=1)[:, : self.m]
        return np.sort(chosen, axis=1)

    def supports(self, reports: Reports) -> NDArray[np.bool_]:
        """Mark the reported values."""
        rows = np.asarray(reports)
        result = np.zeros((len(rows), self.k), dtype=bool)
        np.put_along_axis(result, rows, True, axis=1)
        return result


class HadamardResponse(Mechanism, Support):
    """Report an index y of a K × K Hadamard matrix, K > k a power of two (Acharya et al. 2019).

    Output y supports x if H[x + 1, y] = 1. Half of all outputs support x, and a quarter of all
    outputs support both of any two values.

    >>> HadamardResponse(5, 1.0).shape
    (5, 8)
    """

    _supported: NDArray[np.bool_]
    _level: float

    def __init__(self, k: int, epsilon: float) -> None:
        k = validate.whole_number("k", k, 2)
        E = math.exp(validate.epsilon(epsilon))
        K = 2 ** math.ceil(math.log2(k + 1))
        sign = hadamard(K)[1 : k + 1]
        super().__init__(np.where(sign > 0, 2 * E, 2.0) / (K * (E + 1)))
        self.__dict__.update(k=k, own=E / (E + 1), other=0.5, _supported=sign > 0, _level=float(epsilon))

    def __reduce__(self) -> tuple[Any, ...]:
        return (HadamardResponse, (self.k, self._level))

    def supports(self, reports: Reports) -> NDArray[np.bool_]:
        """Mark the values x with H[x + 1, y] = 1."""
        return self._supported[:, np.asarray(reports)].T
