"""Searches for a few numbers: a point of a box, thresholds, a member of a set, probabilities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ldpopt.core.exact import LevelStatement
from ldpopt.core.form import Form
from ldpopt.core.validate import Array


@dataclass(frozen=True, eq=False)
class ScalarSearch(Form):
    """Maximise an explicit function on a box of few dimensions.

    Attributes:
        low, high: the corners of the box, one entry per variable.
        objective: the values at the rows of a matrix of points.
        upper: for boxes given by the rows of two matrices, values that the objective does not exceed
            there; they must converge to the objective as the boxes shrink.
        cost: how many evaluations a solver may spend at most.
    """

    low: Array
    high: Array
    objective: Callable[[Array], Array]
    upper: Callable[[Array, Array], Array]
    cost: int = 40_000


@dataclass(frozen=True, eq=False)
class ThresholdSearch(Form):
    """Minimise a rule's bound over the thresholds of the marginals."""

    marginals: tuple[Array, ...]
    threshold: float
    rule: str


@dataclass(frozen=True, eq=False)
class BestBound(Form):
    """Minimise the bound over every rule, and over the proofs about the worst joint distribution."""

    marginals: tuple[Array, ...]
    threshold: float


@dataclass(frozen=True, eq=False)
class LevelSearch(Form):
    """Maximise log P(y|s)/P(y|z) over the members P of a convex set, outputs y and secrets s ≠ z.

    Attributes:
        matrix: the mechanism, one row per input (s, u).
        question: the same in exact arithmetic, with the set.
    """

    matrix: Array
    question: LevelStatement


@dataclass(frozen=True)
class EncodingChoice(Form):
    """Minimise the squared error of all frequencies over the parameters of an encoding at a level.

    Attributes:
        encoding: its name, of :data:`ldpopt.mechanisms.ENCODINGS`.
        inputs: the number of inputs.
        epsilon: the level, in nats.
        buckets: the number of buckets of a hash function; None for the best.
        bound: what no unbiased estimates of an ε-LDP mechanism are below for the uniform distribution.
    """

    encoding: str
    inputs: int
    epsilon: float
    buckets: int | None
    bound: float
