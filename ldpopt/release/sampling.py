"""Draw reports with exactly the probabilities of a mechanism."""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpopt.core.errors import InvalidInputError
from ldpopt.core.mechanism import Mechanism

BITS = 52
"""The entries of a certified mechanism are multiples of 2^−52."""

Words = NDArray[np.uint64]
RandomWords = Callable[[int], Words]


def secure_words(count: int) -> Words:
    """Draw random 64-bit words from the operating system's cryptographic generator."""
    return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)


def seeded_words(seed: int, start: int = 0) -> RandomWords:
    """Draw words that anyone who knows the seed can draw again: for tests, never for a release.

    Args:
        seed: the seed of the sequence of words.
        start: how many of its words to leave out.
    """
    rng = np.random.Generator(np.random.PCG64(seed).advance(start))
    return lambda count: rng.integers(2**64, size=count, dtype=np.uint64)


class ExactSampler:
    """Draws reports with exactly the probabilities of a mechanism whose entries are multiples of 2^−52.

    A row's cumulative sums are whole multiples of 2^−52 too; 52 random bits fall below one of them with
    exactly its probability, so that what is proven of the matrix holds for what is released.

    >>> sampler = ExactSampler(Mechanism([[0.75, 0.25], [0.0, 1.0]]), seeded_words(0))
    >>> sampler.sample([1, 1, 1]).tolist()
    [1, 1, 1]
    """

    def __init__(self, mechanism: Mechanism, words: RandomWords = secure_words) -> None:
        steps = mechanism.matrix * 2.0**BITS
        inputs, self._outputs = mechanism.shape
        if (steps != np.floor(steps)).any():
            raise InvalidInputError(
                "the mechanism's entries must be multiples of 2^-52, and are not: it is not certified"
            )
        ends = np.cumsum(steps.astype(np.uint64), axis=1)
        if (ends[:, -1] != 2**BITS).any():
            raise InvalidInputError("the mechanism's rows must sum to exactly 1, and do not")
        if inputs >= 2 ** (64 - BITS):
            most = 2 ** (64 - BITS) - 1
            raise InvalidInputError(f"a mechanism to sample has at most {most} inputs, not {inputs}")
        self._ends = (ends + self._start(np.arange(inputs))[:, None]).ravel()
        self._words = words

    def sample(self, x: ArrayLike) -> NDArray[np.int64]:
        """Draw one report index for every input index."""
        rows = np.asarray(x, dtype=np.int64)
        inputs = len(self._ends) // self._outputs
        if rows.size and not 0 <= rows.min() <= rows.max() < inputs:
            given = f"{rows.min()} to {rows.max()}"
            raise InvalidInputError(f"an input index must be from 0 to {inputs - 1}, not {given}")
        drawn = (self._words(rows.size).reshape(rows.shape) >> np.uint64(64 - BITS)) + self._start(rows)
        found = np.searchsorted(self._ends, drawn, side="right")
        return found - rows * self._outputs

    @staticmethod
    def _start(rows: NDArray[np.int64]) -> Words:
        """Lay the probabilities of each row on an interval of length 2^52 of its own."""
        return rows.astype(np.uint64) << np.uint64(BITS)
