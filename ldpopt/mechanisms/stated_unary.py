"""Unary encoding, stated by its probabilities (Wang et al. 2017)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import minimize_scalar

from ldpopt.core.exact import exp_below
from ldpopt.core.forms.searches import EncodingChoice
from ldpopt.mechanisms.randomizer import BITS, Indices, RandomWords, Reports, Words
from ldpopt.mechanisms.stated import UncorrelatedEncoding, squared_error, steps

HALF = Fraction(1, 2)
GRID = 2**BITS


class StatedUnary(UncorrelatedEncoding):
    """Report each input by itself: the own one with probability p, each other one with q."""

    kind: ClassVar[str] = "unary"
    summary: ClassVar[str] = (
        "each cell by itself, the own one more probably than others; up to 65,536, no matrix"
    )

    @classmethod
    def best(cls, asked: EncodingChoice) -> dict[str, Any]:
        """Search p; q is the least that the level allows: p (1 − q) ≤ e^ε q (1 − p).

        For many inputs p tends to 1/2, optimised unary encoding (Wang et al. 2017). That no other
        probabilities are better is not proven.
        """
        factor, E = math.exp(asked.epsilon), exp_below(asked.epsilon)

        def error(own: float) -> float:
            return float(squared_error(asked.inputs, own, own / (own + (1 - own) * factor)))

        found = minimize_scalar(
            error, bounds=(1e-3, 1 - 1e-3), method="bounded", options={"xatol": 1e-9}
        )
        own = Fraction(round(float(found.x) * GRID), GRID)
        other = own / (own + (1 - own) * E)
        return {"own": float(own), "other": math.ceil(other * GRID) / GRID}

    def likeliest(self) -> tuple[Fraction, str]:
        """Mark the own input or not, and each other one or not, whichever is likelier.

        >>> StatedUnary({"kind": "unary", "inputs": 3, "own": 0.75, "other": 0.25}).likeliest()
        (Fraction(27, 64), 'the own input alone')
        """
        p, q = self.exact.own, self.exact.other
        said = "every input" if q > HALF else "the own input alone" if p > HALF else "no input"
        return max(p, 1 - p) * max(q, 1 - q) ** (self.inputs - 1), said

    @property
    def words(self) -> int:
        """One word for each input."""
        return self.inputs

    def _drawn(self, x: Indices, block: Words, more: RandomWords) -> Reports:
        marked = block < self.numbers["other"]
        rows = np.arange(len(x))
        marked[rows, x] = block[rows, x] < self.numbers["own"]
        return np.packbits(marked, axis=1)

    @property
    def numbers(self) -> dict[str, Any]:
        """How many inputs there are, and both probabilities."""
        own, other = steps(self.plain["own"]), steps(self.plain["other"])
        return {"inputs": self.inputs, "own": own, "other": other}

    def comparisons(self, x: int) -> Iterator[tuple[int, int]]:
        """Yield those of x and of the input after it."""
        yield x, self.numbers["own"]
        yield (x + 1) % self.inputs, self.numbers["other"]
