"""Notions of privacy, to be composed: ``Program(privacy.LDP(1), …)``.

W[x, y] is the probability of the report y where the input is x, and w = W[:, y] a column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from numpy.typing import ArrayLike

from ldpopt.core.measure import Measure
from ldpopt.models.parts import Part


class Privacy(Part):
    """A notion of privacy."""

    title: ClassVar[str]
    """What is measured of a mechanism."""
    unit: ClassVar[str] = "nats"

    @property
    def measure(self) -> Measure:
        """What of a mechanism is compared with :attr:`promised`."""
        return Measure(self.title, self.unit)

    @property
    def promised(self) -> float:
        """The number that the measure does not exceed: a level, a leakage, δ, or the whole share, 1."""
        return next((getattr(self, key) for key in ("epsilon", "leakage") if hasattr(self, key)), 1.0)


@dataclass(frozen=True, eq=False)
class LDP(Privacy):
    """Local differential privacy: W[x, B] ≤ e^ε W[z, B] + δ for all inputs x, z and sets of reports B.

    Args:
        epsilon: the level ε, in nats.
        delta: δ, a probability.
    """

    name: ClassVar[str] = "ldp"
    epsilon: float
    delta: float | None = None

    @property
    def measure(self) -> Measure:
        """The least δ at ε where there is a δ, else the level."""
        return Measure(f"δ at ε = {self.epsilon:g}") if self.delta else Measure("LDP level", "nats")

    @property
    def promised(self) -> float:
        """δ where there is one, else ε."""
        return self.delta or self.epsilon


@dataclass(frozen=True, eq=False)
class Secret(Privacy):
    """Hide a secret, whatever the distribution: w_x ≤ e^ε w_z where the secrets of x and z differ.

    Args:
        epsilon: the level ε, in nats.
        secrets: the secret of every input, any labels.
    """

    name: ClassVar[str] = "secret"
    title: ClassVar[str] = "level for the secret"
    epsilon: float
    secrets: Sequence[Any]


@dataclass(frozen=True, eq=False)
class Pairs(Privacy):
    """A level for each pair of inputs: w_x ≤ e^(levels[x][z]) w_z.

    Args:
        levels: a square matrix in nats; infinite or None where a pair needs no hiding.
    """

    name: ClassVar[str] = "pairs"
    title: ClassVar[str] = "share of the allowed levels"
    unit: ClassVar[str] = ""
    levels: Any


@dataclass(frozen=True, eq=False)
class Metric(Privacy):
    """Metric privacy, such as geo-indistinguishability: w_x ≤ e^(ε d(x, z)) w_z.

    Args:
        epsilon: the level ε of two inputs at distance 1, in nats.
        distances: the matrix of the distances d(x, z).
    """

    name: ClassVar[str] = "metric"
    title: ClassVar[str] = "metric privacy level"
    unit: ClassVar[str] = "nats per unit of distance"
    epsilon: float
    distances: ArrayLike


@dataclass(frozen=True, eq=False)
class Given(Privacy):
    """Hide s from those who know u: w_(s,u) ≤ e^ε w_(s',u) for all s, s' and u.

    Args:
        epsilon: the level ε, in nats.
        shape: how many values s and u have; the inputs are (s, u), u running fastest.
    """

    name: ClassVar[str] = "given"
    title: ClassVar[str] = "level for those who know u"
    epsilon: float
    shape: Sequence[int]


@dataclass(frozen=True, eq=False)
class PML(Privacy):
    """Pointwise maximal leakage: w_x ≤ e^ε P·w for every input x.

    Args:
        epsilon: the level ε, in nats.
        prior: the distribution P of the inputs.
    """

    name: ClassVar[str] = "pml"
    title: ClassVar[str] = "pointwise maximal leakage"
    epsilon: float
    prior: ArrayLike


@dataclass(frozen=True, eq=False)
class InformationPrivacy(Privacy):
    """Local information privacy: e^−ε P·w ≤ w_x ≤ e^ε P·w for every input x.

    Args:
        epsilon: the level ε, in nats.
        prior: the distribution P of the inputs.
    """

    name: ClassVar[str] = "information-privacy"
    title: ClassVar[str] = "information privacy level"
    epsilon: float
    prior: ArrayLike


@dataclass(frozen=True, eq=False)
class Sensitive(Privacy):
    """Utility-optimised LDP: a report hides all inputs, or comes from one that is not sensitive.

    Args:
        epsilon: the level ε, in nats.
        inputs: the numbers of the sensitive inputs.
    """

    name: ClassVar[str] = "sensitive"
    title: ClassVar[str] = "level of sensitive inputs"
    epsilon: float
    inputs: Sequence[int]


@dataclass(frozen=True, eq=False)
class Scenarios(Privacy):
    """Hide s under each of several distributions of (s, u): P(y|s) ≤ e^ε P(y|s').

    Args:
        epsilon: the level ε, in nats.
        distributions: joint distributions as matrices [s][u].
    """

    name: ClassVar[str] = "scenarios"
    title: ClassVar[str] = "level in the scenarios"
    epsilon: float
    distributions: Any


@dataclass(frozen=True, eq=False)
class Cone(Privacy):
    """Any polyhedral cone: A w ≥ 0 for every column w.

    Args:
        rows: the matrix A, one row per inequality.
        words: what the cone promises, for readers; claims quote it, and decide the inequalities.
    """

    name: ClassVar[str] = "cone"
    title: ClassVar[str] = "share of what the inequalities allow"
    unit: ClassVar[str] = ""
    rows: ArrayLike
    words: str | None = None


@dataclass(frozen=True, eq=False)
class MaximalLeakage(Privacy):
    """Maximal leakage: Σ_y max_x W[x, y] ≤ e^L.

    Args:
        leakage: L, in nats.
    """

    name: ClassVar[str] = "maximal-leakage"
    title: ClassVar[str] = "maximal leakage"
    leakage: float


@dataclass(frozen=True, eq=False)
class StatisticLeakage(Privacy):
    """Maximal leakage about a secret: Σ_y max_s W[x_s, y] ≤ e^L for all inputs x_s of the secrets s.

    Args:
        leakage: L, in nats.
        secrets: the secret of every input, any labels.
    """

    name: ClassVar[str] = "statistic-leakage"
    title: ClassVar[str] = "maximal leakage about the secret"
    leakage: float
    secrets: Sequence[Any]


PARTS = (
    LDP,
    Secret,
    Pairs,
    Metric,
    Given,
    PML,
    InformationPrivacy,
    Sensitive,
    Scenarios,
    Cone,
    MaximalLeakage,
    StatisticLeakage,
)
"""Every notion that a file may name."""
