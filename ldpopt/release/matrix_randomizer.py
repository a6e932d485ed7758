"""A mechanism that is a matrix, as it is released."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ldpopt.core import notebook
from ldpopt.core.exact import is_private
from ldpopt.core.mechanism import Mechanism
from ldpopt.core.number_text import percent
from ldpopt.core.problem import Problem, Uncertainty
from ldpopt.core.validate import Array, InvalidInputError
from ldpopt.measures import frequency_intervals
from ldpopt.measures.information_metrics import mutual_information
from ldpopt.mechanisms.randomizer import (
    BITS,
    MOST_VECTORS,
    Column,
    Indices,
    Marks,
    Moments,
    Randomizer,
    RandomWords,
    Reports,
    Tally,
    Unbiased,
    Words,
    WorstReport,
)
from ldpopt.mechanisms.stated import encoding
from ldpopt.problems.frequency_encoding import FrequencyEncoding
from ldpopt.release.recoverable_counts import recoverable

MOST_INPUTS = 2 ** (64 - BITS) - 1


class Matrix(Randomizer):
    """A row-stochastic matrix whose entries are multiples of 2^−52.

    A row's cumulative sums are whole multiples of 2^−52 too; 52 random bits fall below one of them with
    exactly its probability, so that what is proven of the matrix holds for what is released.

    >>> from ldpopt.mechanisms.randomizer import seeded_words
    >>> Matrix(Mechanism([[0.75, 0.25], [0.0, 1.0]])).sample([1, 1, 1], seeded_words(0)).tolist()
    [1, 1, 1]
    """

    kind: ClassVar[str] = "rows"
    form: ClassVar[str] = "matrix"
    stored: ClassVar[str] = "int32"
    words: ClassVar[int] = 1

    def __init__(self, mechanism: Mechanism) -> None:
        self.dense = self.mechanism = mechanism
        self.inputs = len(mechanism.inputs)

    def to_json(self) -> list[list[float]]:
        """Return the rows."""
        rows: list[list[float]] = self.mechanism.matrix.tolist()
        return rows

    def shown(self, labels: Sequence[str]) -> str:
        """Show the entries."""
        rows, outputs = self.mechanism.matrix, self.mechanism.outputs
        return notebook.matrix("P(report | input), rounded", rows, labels, outputs)

    # ------------------------------------------------------------ privacy

    @cached_property
    def level(self) -> float:
        """See :meth:`ldpopt.Mechanism.epsilon`."""
        return self.mechanism.epsilon()

    def hides(self, epsilon: float, width: int = 1) -> bool:
        """Compare all entries of a column whose secrets differ."""
        return is_private(self.to_json(), [x // width for x in range(self.inputs)], epsilon)

    def compared(self, uncertainty: Uncertainty) -> tuple[Mechanism, Uncertainty | None]:
        """Return the matrix itself."""
        return self.mechanism, uncertainty

    def worst_report(self, y: int, secrets: str) -> WorstReport:
        """Name the report."""
        return WorstReport(self._named(y), secrets, f"at report {y}: {secrets}")

    def _named(self, y: int) -> str:
        label = self.mechanism.outputs[y]
        return ", ".join(map(str, label)) if isinstance(label, tuple) else str(label)

    def fixed(self, least: Fraction, p: Array | None = None) -> dict[int, str]:
        """Look for a large entry in every row."""
        rows, found = self.mechanism.matrix, {}
        law = None if p is None else p @ rows
        for x, y in enumerate(rows.argmax(axis=1)):
            if float(rows[x, y]) >= least:
                given = "" if law is None else f", which {percent(law[y], 2)} of all rows give"
                found[x] = self._named(y) + given
        return found

    def recoverable(self, width: int, method: str, epsilon: float) -> str:
        """See :func:`ldpopt.release.recoverable_counts.recoverable`.

        Args:
            width: the number of public values.
            method: the name of the method that made it.
            epsilon: the level of one report, in nats.
        """
        return recoverable(self.mechanism.matrix, width, method, epsilon)

    # ------------------------------------------------------------ reports

    @property
    def outputs(self) -> int:
        """How many columns there are."""
        return len(self.mechanism.outputs)

    @cached_property
    def _steps(self) -> Words:
        """The cumulative sums of every row, as multiples of 2^−52."""
        steps = self.mechanism.matrix * 2.0**BITS
        if (steps != np.floor(steps)).any():
            raise InvalidInputError(
                "the mechanism's entries must be multiples of 2^-52 to be drawn exactly, and are not"
            )
        ends = np.cumsum(steps.astype(np.uint64), axis=1)
        if (ends[:, -1] != 2**BITS).any():
            raise InvalidInputError("the mechanism's rows must sum to exactly 1, and do not")
        return ends

    @cached_property
    def _ends(self) -> Words:
        """The same, each row on an interval of length 2^52 of its own."""
        if self.inputs > MOST_INPUTS:
            raise InvalidInputError(
                f"a mechanism to sample has at most {MOST_INPUTS} inputs, not {self.inputs}"
            )
        return (self._steps + _start(np.arange(self.inputs))[:, None]).ravel()

    def sample(self, x: Indices, words: RandomWords) -> Indices:
        """Draw one report index for every input index."""
        rows = np.asarray(x, dtype=np.int64)
        if rows.size and not 0 <= rows.min() <= rows.max() < self.inputs:
            given = f"{rows.min()} to {rows.max()}"
            raise InvalidInputError(f"an input index must be from 0 to {self.inputs - 1}, not {given}")
        drawn = (words(rows.size).reshape(rows.shape) >> np.uint64(64 - BITS)) + _start(rows)
        return np.searchsorted(self._ends, drawn, side="right") - rows * self.outputs

    # ------------------------------------------------------------ frequencies

    @property
    def tally(self) -> int:
        """An entry for each report."""
        return self.outputs

    def tallied(self, reports: Reports, weights: Array | None = None) -> Tally:
        """Count how often each report was made."""
        return np.bincount(reports, weights, self.outputs)

    def reported(self, tally: Tally) -> float:
        """Return the sum."""
        return float(np.atleast_2d(tally)[0].sum())

    def variances(self, likely: Array, columns: Sequence[Column]) -> list[Array]:
        """Compute those of the estimates with the least variance under the law of the reports."""
        functionals, W = _stacked(columns), self.mechanism.matrix
        used = W[:, W.any(axis=0)]
        law = likely @ used
        a = frequency_intervals.unbiased_weights(used, functionals, law)
        spread = np.maximum((a**2) @ law - (functionals @ likely) ** 2, 0.0)
        return _split(
            np.where(frequency_intervals.are_solved(used, functionals, a), spread, math.inf), columns
        )

    def moments(self, tally: Tally, columns: Sequence[Column]) -> list[Moments]:
        """Estimate by the mean of an a with W a = c; the variance is that of the reports' a."""
        n, (sums, squares) = self.reported(tally), np.broadcast_to(tally, (2, self.tally))
        found, a = frequency_intervals.unbiased(self.mechanism.matrix, sums, _stacked(columns))
        centred = (a - found.mean[:, None]) * np.sqrt(squares / max(n - 1, 1) / n)
        parts = [_split(part, columns) for part in (*found, centred)]
        return [
            Moments(Unbiased(*of), (own**2).sum(axis=1), partial(np.matmul, own, own.T))
            for *of, own in zip(*parts, strict=True)
        ]

    def ranges(
        self, tally: Indices, columns: Sequence[Column], free: Sequence[Marks], level: float
    ) -> tuple[Array, Array, bool]:
        """See :func:`ldpopt.measures.frequency_intervals.confidence_intervals`.

        Args:
            tally: the reports.
            columns: the columns.
            free: for each column, the values that are not determined.
            level: the probability with which all ranges hold.
        """
        C = _stacked(columns)[np.concatenate(free)]
        found = frequency_intervals.confidence_intervals(self.mechanism.matrix, tally, C, level)
        return found.low, found.high, found.explained

    def information(self, p: Array) -> float:
        """See :func:`ldpopt.measures.information_metrics.mutual_information`."""
        return float(mutual_information(self.mechanism, p))

    def spectrum(self, p: Array) -> Array:
        """Compute it from the singular values.

        The functionals f with Σ P f = 0 and Σ P f² = 1 have D^½ f an eigenvector of
        D^½ W diag(PW)⁻¹ Wᵀ D^½ for D = diag(P); 1/λ is n times the variance of the estimate.
        """
        W = self.mechanism.matrix
        W = W[:, W.any(axis=0)]
        whole = np.sqrt(p)[:, None] * W / np.sqrt(p @ W) - np.outer(np.sqrt(p), np.sqrt(p @ W))
        vectors, values, _ = np.linalg.svd(whole, full_matrices=False)
        ranges = np.ptp(vectors / np.sqrt(p)[:, None], axis=0)
        with np.errstate(divide="ignore"):
            found: Array = (values * ranges) ** -2
        return found

    # ------------------------------------------------------------ export

    @property
    def numbers(self) -> dict[str, Any]:
        """The cumulative sums of the rows, in multiples of 2^−52."""
        return {"ends": self._steps.tolist()}

    def edges(self) -> list[tuple[int, int, int]]:
        """List the first and the last number of every report of every input; some, if too many."""
        edges = [
            (x, 0, bits)
            for x, ends in enumerate(self.numbers["ends"])
            for low, high in pairwise([0, *ends])
            if low < high
            for bits in sorted({low, high - 1})
        ]
        return edges[:: math.ceil(len(edges) / MOST_VECTORS)]


def _start(rows: Indices) -> Words:
    """Lay the probabilities of each row on an interval of length 2^52 of its own."""
    return rows.astype(np.uint64) << np.uint64(BITS)


def _stacked(columns: Sequence[Column]) -> Array:
    return np.vstack([of.weights for of in columns])


def _split(rows: NDArray[Any], columns: Sequence[Column]) -> list[NDArray[Any]]:
    """Undo :func:`_stacked` for what was computed of its rows."""
    return np.split(rows, np.cumsum([of.size for of in columns])[:-1])


def released(problem: Problem, answer: Any) -> Randomizer | None:
    """Return the mechanism that an answer is or states; None for one that cannot be released.

    In short time, unary encoding of a secret is stated by parameters that nothing here samples.
    """
    if isinstance(answer, Mechanism):
        return Matrix(answer)
    return encoding(answer) if isinstance(problem, FrequencyEncoding) and answer is not None else None
