"""Column programs: the best mechanism whose columns lie in a cone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

from ldpopt.core.certify import Privacy
from ldpopt.core.form import Form
from ldpopt.core.validate import Array


class Cone(Privacy, Protocol):
    """A closed cone of admissible columns; a mechanism is private iff all its columns lie in it."""

    @property
    def dimension(self) -> int:
        """The number of inputs."""

    def size(self) -> float:
        """Return how many generators :meth:`rays` lists, or an upper bound on that number."""

    def rays(self) -> Array:
        """Return generators of the cone, as the columns of a matrix."""

    def inequalities(self) -> Array:
        """Return a matrix A with one row per constraint: the cone is {T : A T ≥ 0}."""

    def level(self, matrix: Array) -> float:
        """Compute the smallest level at which the mechanism is private in the sense of this cone."""


class Sublinear(Protocol):
    """A sublinear function g, evaluated on every column of a k × m matrix at once."""

    def __call__(self, columns: Array, /) -> Array:
        """Evaluate the m values g(columns[:, j])."""


class Columns(NamedTuple):
    """A mechanism written as weights θ ≥ 0 and rays v with Σ θ_v v = 1."""

    weights: Array
    rays: Array

    @property
    def matrix(self) -> Array:
        """The mechanism's matrix; its columns are θ_v v."""
        return self.rays * self.weights


@dataclass(frozen=True, eq=False)
class ColumnProgram(Form):
    """Maximise Σ_v θ_v g(v) with Σ_v θ_v v = 1, θ ≥ 0, over the rays v of a cone; g sublinear.

    Its dual: minimise Σ_x β_x with β·v ≥ g(v) for every ray v. Every such β proves the bound Σ_x β_x.
    """

    cone: Cone
    utility: Sublinear
