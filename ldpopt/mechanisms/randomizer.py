"""What every mechanism that is released can do, whether a matrix or an encoding states it.

Design, release, estimate, audit, export and page ask these methods, and never how a mechanism is stated.
A matrix is :class:`ldpopt.release.matrix_randomizer.Matrix`; the encodings are the entries of
:data:`ldpopt.mechanisms.ENCODINGS`, a file each.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from fractions import Fraction
from importlib.resources import files
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ldpopt.core import notebook
from ldpopt.core.errors import InvalidInputError
from ldpopt.core.mechanism import Mechanism
from ldpopt.core.problem import Uncertainty
from ldpopt.core.validate import Array

BITS = 52
"""The probabilities are multiples of 2^−52."""
NO_MATRIX = "an encoding is stated by its parameters: it has too many reports for a matrix"
"""Why what needs the matrix of a mechanism is refused for an encoding."""
MOST_VECTORS = 400
"""Test vectors of an exported program."""

Words = NDArray[np.uint64]
RandomWords = Callable[[int], Words]
"""Draws so many random words of 64 bits."""
Indices = NDArray[np.int64]
Marks = NDArray[np.bool_]
Reports = NDArray[Any]
"""One report per row: a number, or the bits of a set, eight to a byte."""
Tally = NDArray[Any]
"""How often each report was made. Of weighted reports two rows: for each report the sum of the weights,
and that of their squares, scaled so that both rows have the same sum."""


def secure_words(count: int) -> Words:
    """Draw random 64-bit words from the operating system's cryptographic generator."""
    return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)


def seeded_words(seed: int | Sequence[int], start: int = 0) -> RandomWords:
    """Draw words that anyone who knows the seed can draw again: for tests, never for a release.

    Args:
        seed: the seed of the sequence of words; several numbers seed a sequence of their own.
        start: how many of its words to leave out.
    """
    rng = np.random.Generator(np.random.PCG64(seed).advance(start))
    return lambda count: rng.integers(2**64, size=count, dtype=np.uint64)


class Values(NamedTuple):
    """The values of a column: for every input the number of its value, and how many values there are."""

    codes: Indices
    size: int

    @property
    def weights(self) -> Array:
        """The functionals c of the frequencies c·P: for every value the inputs that have it."""
        return (self.codes == np.arange(self.size)[:, None]).astype(float)


class Linear(NamedTuple):
    """Linear functions of the frequencies of the values of a column, such as the mean of their numbers.

    Attributes:
        values: the values.
        coefficients: a row for each function, an entry for each value.
    """

    values: Values
    coefficients: Array

    @property
    def size(self) -> int:
        """How many functions there are."""
        return len(self.coefficients)

    @property
    def weights(self) -> Array:
        """The functionals c of c·P, an entry for each input."""
        return self.coefficients[:, self.values.codes]


Column = Values | Linear
"""What is estimated: the frequencies of a column, or linear functions of them."""


class Unbiased(NamedTuple):
    """The unbiased estimates of frequencies, with what their intervals depend on.

    Attributes:
        mean: the estimate of each, the mean of one number a per report.
        span: how much a report can change n times the mean by.
        inside, outside: E[a²] given an input that has the value, and given one that has not; of linear
            functions nobody asks for them.
        known: whether there is such an a.
    """

    mean: Array
    span: Array
    inside: Array
    outside: Array
    known: Marks


class Moments(NamedTuple):
    """The estimates of a column, their variances, and what computes their covariances."""

    estimates: Unbiased
    spread: Array
    covariance: Callable[[], Array]

    def of_registry(self, n: float) -> Moments:
        """Return the moments of frequencies without the variance of a sample of n rows.

        As that of the reports, it is divided by n − 1: what is released as it is keeps no error.
        """
        share, rest = self.estimates.mean, max(n - 1, 1)
        spread = np.maximum(self.spread - share * (1 - share) / rest, 0.0)
        sampled = (np.diag(share) - np.outer(share, share)) / rest
        return self._replace(spread=spread, covariance=lambda: self.covariance() - sampled)

    def combined(self, rows: Array) -> Moments:
        """Return the moments of linear functions of the estimates, a row of coefficients each."""
        together: Array = rows @ self.covariance() @ rows.T
        mean, known = rows @ self.estimates.mean, (~(rows != 0) | self.estimates.known).all(axis=1)
        nothing = np.full(len(rows), np.nan)
        spread = np.maximum(np.diag(together), 0.0)
        estimates = Unbiased(mean, nothing, nothing, nothing, known)
        return Moments(estimates, spread, lambda: together)


class WorstReport(NamedTuple):
    """The report at which a level is attained.

    Attributes:
        report: the report, in words.
        secrets: the two secrets that it tells apart; empty where any two will do.
        sentence: both, as the end of a sentence.
    """

    report: str
    secrets: str
    sentence: str


class Randomizer(Protocol):
    """A mechanism as it is released: it draws one report about each person, with exact probabilities.

    Attributes:
        inputs: how many inputs it has.
        dense: its matrix; None where that would be too large.
        kind: its name.
        form: the key under which a public file states it.
        stored: how a released file stores its reports: "int32", "int64", or "string" for sets of inputs.
    """

    inputs: int
    dense: Mechanism | None = None
    kind: ClassVar[str]
    form: ClassVar[str]
    stored: ClassVar[str]

    # ------------------------------------------------------------ what it is

    def to_json(self) -> Any:
        """Return what a public file states of it, as plain data."""

    def shown(self, labels: Sequence[str]) -> str:
        """Return it as a table in HTML: here its parameters.

        Args:
            labels: the inputs, in words.
        """
        return notebook.table(self.form, [(name, str(value)) for name, value in self.to_json().items()])

    def as_matrix(self, why: str) -> Mechanism:
        """Return its matrix.

        Args:
            why: what needs one, as the beginning of the sentence that refuses.

        Raises:
            InvalidInputError: it has too many reports for one.
        """
        if self.dense is None:
            raise InvalidInputError(f"{why}, and {NO_MATRIX}")
        return self.dense

    # ------------------------------------------------------------ privacy

    @property
    def level(self) -> float:
        """The LDP level in nats: the largest log ratio of two inputs for one report."""

    def hides(self, epsilon: float, width: int = 1) -> bool:
        """Return whether inputs of different secrets are hidden from each other at a level, exactly.

        Args:
            epsilon: the level, in nats.
            width: how many inputs in a row have the same secret.
        """

    def compared(self, uncertainty: Uncertainty) -> tuple[Mechanism, Uncertainty | None]:
        """Return a matrix and a set of distributions over which it has the levels of this mechanism.

        None stands for all distributions, every input of that matrix a secret of its own.

        Args:
            uncertainty: the distributions of the inputs (s, u) against which s is hidden.
        """

    def worst_report(self, y: int, secrets: str) -> WorstReport:
        """Say by which report secrets are told apart best.

        Args:
            y: the output of the matrix of :meth:`compared` at which its level is attained.
            secrets: the two secrets, in words.
        """

    def fixed(self, least: Fraction, p: Array | None = None) -> dict[int, str]:
        """List the inputs that give one report with at least this probability, and the report in words.

        Args:
            least: the probability, compared exactly.
            p: the distribution of the inputs, to say how often the report is given, where that is known.
        """

    def recoverable(self, width: int, method: str, epsilon: float) -> str:
        """Say how well the counts of a table can be computed back from the mechanism made for it.

        Args:
            width: the number of public values.
            method: the name of the method that made it.
            epsilon: the level of one report, in nats.
        """

    # ------------------------------------------------------------ reports

    @property
    def outputs(self) -> int:
        """How many different reports there are, where they are numbers."""

    @property
    def words(self) -> int:
        """How many random words one report takes, if none is refused."""

    def sample(self, x: Indices, words: RandomWords) -> Reports:
        """Draw one report for every input, with exactly the stated probabilities."""

    @property
    def sets(self) -> bool:
        """Whether a report is a set of inputs, told by its bits; otherwise it is a number."""
        return self.stored == "string"

    # ------------------------------------------------------------ an audit, by a part that tells as much

    def asked(self, number: Indices, rng: np.random.Generator) -> Indices:
        """Draw an input for each input of the matrix of :meth:`compared` whose report is asked for."""
        return number

    def numbered(self, x: Indices, rng: np.random.Generator) -> Indices:
        """Draw for each input the input of that matrix as which it is audited."""
        return x

    def said(self, number: Indices, x: Indices, reports: Reports, rng: np.random.Generator) -> Indices:
        """Return the output of that matrix which each report stands for.

        Args:
            number: the inputs of that matrix.
            x: the inputs of this mechanism.
            reports: their reports.
            rng: draws what else is asked of a report.
        """
        return reports

    # ------------------------------------------------------------ frequencies

    @property
    def tally(self) -> int:
        """How many entries a tally of reports has."""

    def tallied(self, reports: Reports, weights: Array | None = None) -> Tally:
        """Count the reports, as far as the estimates need them; tallies of several batches add up.

        Args:
            reports: the reports.
            weights: how much each counts; 1 if not given.
        """

    def reported(self, tally: Tally) -> float:
        """Return how many reports were tallied; of weighted ones, as many as say as much unweighted."""

    def variances(self, likely: Array, columns: Sequence[Column]) -> list[Array]:
        """Compute n times the variance of each estimate; infinite where there is none.

        Args:
            likely: the distribution of the inputs.
            columns: the columns.
        """

    def moments(self, tally: Tally, columns: Sequence[Column]) -> list[Moments]:
        """Estimate the frequencies of columns, of which every value has an input."""

    def ranges(
        self, tally: Indices, columns: Sequence[Column], free: Sequence[Marks], level: float
    ) -> tuple[Array, Array, bool]:
        """Bound the frequencies that the reports do not determine; here they say nothing of them.

        Args:
            tally: the reports.
            columns: the columns.
            free: for each column, the values that are not determined.
            level: the probability with which all ranges hold.

        Returns:
            The ends of all of them, one after the other; whether data exist that explain the reports.
        """
        count = sum(part.sum() for part in free)
        return np.zeros(count), np.ones(count), True

    def information(self, p: Array) -> float:
        """Compute I(X; Y) in nats for X ~ p; not a number where it is not computed."""
        return math.nan

    def spectrum(self, p: Array) -> Array | None:
        """Compute n times the variance of the functionals of p that the reports tell uncorrelated.

        Each is divided by the square of its range. None where they are not computed.
        """
        return None

    # ------------------------------------------------------------ export

    @property
    def numbers(self) -> dict[str, Any]:
        """The whole numbers that an exported program holds, by their names."""

    def edges(self) -> list[tuple[int, int, int]]:
        """List numbers on both sides of every comparison; some of them, if there are too many.

        Each is an input, the place of the number among those that its report takes, and the number.
        """

    def program(self, ending: str) -> str:
        """Return the function of a program that draws a report: a template beside the class's module.

        Args:
            ending: of the name of a file in the language: "js" or "py.txt".
        """
        package = files(type(self).__module__.rpartition(".")[0])
        return package.joinpath("templates", f"{self.kind}.{ending}").read_text(encoding="utf-8")
