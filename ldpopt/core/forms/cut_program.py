"""Cut programs: the best mechanism whose columns lie in a cone that an oracle cuts out."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np

from ldpopt.core.form import Form
from ldpopt.core.forms.column_program import ColumnProgram, Sublinear
from ldpopt.core.validate import Array


class Cut(NamedTuple):
    """An inequality row·w ≥ 0 that holds in the whole cone, and what proves it.

    Attributes:
        member: the distribution [s][u] whose privacy it states.
        secrets: the two secrets that it compares.
        row: its coefficients.
    """

    member: Array
    secrets: tuple[int, int]
    row: Array


class CutCone(ABC):
    """A closed convex cone of columns w ≥ 0 on the inputs (s, u), known by its separation oracle.

    It holds the columns that tell no two secrets apart by more than e^ε, whatever the distribution.
    """

    epsilon: float

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """The number of secrets s and of public values u."""

    @property
    def dimension(self) -> int:
        """The number of inputs."""
        return math.prod(self.shape)

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        """All ordered pairs of secrets."""
        return list(permutations(range(self.shape[0]), 2))

    def plain_columns(self) -> Array:
        """List columns worth trying first: those that release the input (s, u), s alone, or u alone.

        They need not lie in the cone.
        """
        a1, a2 = self.shape
        secrets, values = np.repeat(np.eye(a1), a2, axis=0), np.tile(np.eye(a2), (a1, 1))
        return np.hstack([np.eye(a1 * a2), secrets, values])

    @abstractmethod
    def excess(self, columns: Array) -> tuple[Array, Any]:
        """Compute how much every column violates the inequalities, by pairs of secrets, and where."""

    def first_cuts(self) -> list[Cut]:
        """List a cut for every cell (s, u) and other secret z, of a member with the largest P(u|s).

        These cuts bound every entry of a column by e^ε P(y|z)/P(u|s).
        """
        return [
            self.first_cut(column, pair)
            for x, column in enumerate(np.eye(self.dimension))
            for pair in self.pairs
            if pair[0] == x // self.shape[1]
        ]

    @abstractmethod
    def first_cut(self, column: Array, pair: tuple[int, int]) -> Cut:
        """Return the cut of a member that gives the largest P(y|s) to a column of the first secret s."""

    @abstractmethod
    def cuts(self, columns: Array, least: float) -> tuple[Array, list[list[Cut]]]:
        """Return the excess of every column and pair, and the cuts violated by more than ``least``."""

    def shared_slack(self) -> Any:
        """Return a larger cone that separates into blocks, or None if none is known."""
        return None

    @abstractmethod
    def inside(self, columns: Array, excess: Array) -> Array:
        """Move columns into the cone, given their excess for every pair of secrets."""


@dataclass(frozen=True, eq=False)
class CutProgram(Form):
    """Maximise Σ_y g(w_y) with Σ_y w_y = 1 over columns w_y of a cone; g homogeneous.

    Attributes:
        cone: where the columns lie.
        utility: g; for every column it is at most the mutual information under ``prior``.
        prior: the distribution of the inputs, for the proof of a bound.
        inner: a program over a simpler cone within this one, whose optimum is a start.
    """

    cone: CutCone
    utility: Sublinear
    prior: Array
    inner: ColumnProgram
