"""Subset selection, stated by its size and probability (Ye and Barg 2018)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ldpopt.core.exact import exp_below
from ldpopt.core.forms.searches import EncodingChoice
from ldpopt.core.validate import Array
from ldpopt.mechanisms.randomizer import BITS, Indices, RandomWords, Reports, Words
from ldpopt.mechanisms.stated import StatedEncoding, rounded_down, squared_error, steps


class StatedSubset(StatedEncoding):
    """Report a set of m inputs: with probability p a random one that has the own input."""

    kind: ClassVar[str] = "subset"
    summary: ClassVar[str] = (
        "a random set of cells, the own one more probably than others; up to 65,536, no matrix"
    )

    @classmethod
    def best(cls, asked: EncodingChoice) -> dict[str, Any]:
        """Compare all sizes m; p (k − m) ≤ e^ε (1 − p) m."""
        k, factor = asked.inputs, math.exp(asked.epsilon)
        m = np.arange(1, k)
        own = m * factor / (m * factor + k - m)
        best = int(m[np.argmin(squared_error(k, own, (m - own) / (k - 1)))])
        E = exp_below(asked.epsilon)
        return {"own": rounded_down(best * E / (best * E + k - best)), "size": best}

    @property
    def size(self) -> int:
        """m."""
        return self.plain["size"]

    def likeliest(self) -> tuple[Fraction, str]:
        """Take a set with the own input: all are equally likely, and likelier than those without."""
        more = self.size - 1
        said = f"the own input and {more} more" if more else "the own input alone"
        return self.exact.own / math.comb(self.inputs - 1, more), said

    @property
    def company(self) -> tuple[float, float]:
        """Of the k − 1 other inputs, m − 1 are supported, or m."""
        others = self.inputs - 1
        return (self.size - 1) / others, self.size / others

    @property
    def words(self) -> int:
        """One word to choose between the two, and a key for each input."""
        return self.inputs + 1

    def _drawn(self, x: Indices, block: Words, more: RandomWords) -> Reports:
        inside = block[:, 0] < steps(self.plain["own"])
        marked = np.zeros((len(x), self.inputs), dtype=bool)
        for part, size in ((inside, self.size - 1), (~inside, self.size)):
            rows = np.flatnonzero(part)
            marked[rows] = self._others(x[rows], block[rows, 1:], size, more)
        marked[np.arange(len(x)), x] = inside
        return np.packbits(marked, axis=1)

    def _others(self, x: Indices, keys: Words, size: int, more: RandomWords) -> NDArray[np.bool_]:
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
        m, p, q = self.size, self.own, self.other
        found = []
        for own in (1, 0):
            first = second = np.zeros(len(sizes))
            for chance, drawn, shown in ((p, m - 1, own), (1 - p, m, 0)):
                mean, spread = _hypergeometric(self.inputs - 1, sizes - own, drawn)
                first = first + chance * (mean + shown)
                second = second + chance * (spread + (mean + shown) ** 2)
            found.append((second - 2 * sizes * q * first + (sizes * q) ** 2) / (p - q) ** 2)
        return found[0], found[1]

    @property
    def numbers(self) -> dict[str, Any]:
        """How many inputs there are, how many are in a set, and the probability that x is."""
        return {"inputs": self.inputs, "size": self.size, "own": steps(self.plain["own"])}

    def comparisons(self, x: int) -> Iterator[tuple[int, int]]:
        """Yield that of the first number; and give the own key its limits, where it decides nothing."""
        yield 0, steps(self.plain["own"])
        yield 1 + x, 2**BITS


def _hypergeometric(total: int, good: Array, drawn: int) -> tuple[Array, Array]:
    """Return mean and variance of the good ones among those drawn without replacement."""
    mean = drawn * good / total
    spread = mean * (total - good) * (total - drawn) / (total * max(total - 1, 1))
    return mean, spread
