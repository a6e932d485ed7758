"""Cut programs: the best mechanism whose columns lie in a cone that an oracle cuts out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

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


class CutCone(Protocol):
    """A closed convex cone of columns w ≥ 0, known by its separation oracle."""

    @property
    def epsilon(self) -> float:
        """The level: columns whose entries differ by e^ε at most lie in the cone."""

    @property
    def dimension(self) -> int:
        """The number of inputs."""

    def plain_columns(self) -> Array:
        """List columns worth trying first; they need not lie in the cone."""

    def excess(self, columns: Array) -> tuple[Array, Any]:
        """Compute how much every column violates the inequalities, by pairs of secrets, and where."""

    def first_cuts(self) -> list[Cut]:
        """List cuts that keep a column with p̂·w = 1 bounded."""

    def cuts(self, columns: Array, least: float) -> tuple[Array, list[list[Cut]]]:
        """Return the excess of every column and pair, and the cuts violated by more than ``least``."""

    def shared_slack(self) -> Any:
        """Return a larger cone that separates into blocks, or None if none is known."""

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

    name: ClassVar[str] = "cut-program"
    cone: CutCone
    utility: Sublinear
    prior: Array
    inner: ColumnProgram
