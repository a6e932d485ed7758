"""Matrix programs: the mechanism of a family with the least estimation error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from ldpopt.core.form import Form
from ldpopt.core.validate import Array


class Objective(Protocol):
    """A function of a mechanism's matrix that is to be minimised."""

    @property
    def prior(self) -> Array:
        """The distribution of the inputs."""

    @property
    def loss(self) -> str:
        """The name of the loss that is to be small."""

    @property
    def is_design(self) -> bool:
        """Whether the best mechanism with free outputs is an optimal design for ``prior``."""

    @property
    def is_symmetric(self) -> bool:
        """Whether no input matters more than another, so that circulants are worth a search."""

    @property
    def parts(self) -> Sequence[SmoothObjective]:
        """The functions with a gradient whose largest the objective is: itself, if it has one."""

    def __call__(self, W: Array, /) -> float:
        """Evaluate the objective; it is infinite where W cannot be inverted."""


class Slope(NamedTuple):
    """A value and its gradient."""

    value: float
    gradient: Array


class SmoothObjective(Protocol):
    """A function of a mechanism's matrix with a gradient."""

    def slope(self, W: Array, /) -> Slope:
        """Compute the function and its gradient with respect to the entries of W."""


@dataclass(frozen=True, eq=False)
class MatrixProgram(Form):
    """Minimise a function of the second moments of an estimate over ε-LDP mechanisms on k inputs.

    Attributes:
        objective: φ(W), the factor α at a known distribution, or the supremum of α over many.
        epsilon: the privacy level.
        family: "circulant" (rows are shifts of the first one), "square" (k outputs) or "broad" (any
            number of outputs).
        bound: a lower bound on the objective that is known before the search.
        proof: the numbers that prove it; None if it follows from the parameters alone.

    A point is the mechanism's matrix, or a :class:`SubsetSelection` where that would be too wide.
    """

    objective: Objective
    epsilon: float
    family: str
    bound: float
    proof: dict[str, Any] | None = None

    @property
    def k(self) -> int:
        """The number of inputs."""
        return len(self.objective.prior)


class SubsetSelection(NamedTuple):
    """The mechanism that reports an m-subset; subsets that contain x are ``ratio`` times as likely."""

    size: int
    ratio: float
