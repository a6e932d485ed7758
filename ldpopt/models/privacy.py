"""Notions of privacy, to be composed: ``Program(privacy.LDP(1), …)``.

W[x, y] is the probability of the report y where the input is x, and w = W[:, y] a column.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import permutations
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ldpopt.core.exact import LARGEST_RATIO, MOST_SELECTIONS, by_secret
from ldpopt.core.forms.cut_program import Cut
from ldpopt.core.problem import Measure
from ldpopt.core.validate import Array
from ldpopt.models.convex_set import convex_set
from ldpopt.models.json_part import Part
from ldpopt.models.set_climb import inside
from ldpopt.models.set_cone import SetCone

LEAST_EXCESS = 1e-10
"""How much a mechanism may exceed before a cut is worth its row: less is rounding."""


class Outside(NamedTuple):
    """What a mechanism lacks: cuts of the checker that it violates, and how much noise would do.

    ``share`` of a release that is constant, but has the same mean for each report, makes it private.
    """

    cuts: list[Any]
    share: float


class Privacy(Part):
    """A notion of privacy.

    Those that no list of inequalities exhausts give cuts instead (``cut_parts.py`` of the checker).
    """

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

    def first_cuts(self, inputs: int) -> list[Any] | None:
        """List cuts to begin with; None where the notion is a list of inequalities."""
        return None

    def outside(self, matrix: Array) -> Outside:
        """Tell what a mechanism lacks, where the notion has cuts."""
        return Outside([], 0.0)


class LDP(Privacy):
    """Local differential privacy: W[x, B] ≤ e^ε W[z, B] + δ for all inputs x, z and sets of reports B.

    Args:
        epsilon: the level ε, in nats.
        delta: δ, a probability.
    """

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


class Secret(Privacy, title="level for the secret"):
    """Hide a secret, whatever the distribution: w_x ≤ e^ε w_z where the secrets of x and z differ.

    Args:
        epsilon: the level ε, in nats.
        secrets: the secret of every input, any labels.
    """

    epsilon: float
    secrets: Sequence[Any]


class Pairs(Privacy, title="share of the allowed levels", unit=""):
    """A level for each pair of inputs: w_x ≤ e^(levels[x][z]) w_z.

    Args:
        levels: a square matrix in nats; infinite or None where a pair needs no hiding.
    """

    levels: Any


class Metric(Privacy, title="metric privacy level", unit="nats per unit of distance"):
    """Metric privacy, such as geo-indistinguishability: w_x ≤ e^(ε d(x, z)) w_z.

    Args:
        epsilon: the level ε of two inputs at distance 1, in nats.
        distances: the matrix of the distances d(x, z).
    """

    epsilon: float
    distances: ArrayLike


class Given(Privacy, title="level for those who know u"):
    """Hide s from those who know u: w_(s,u) ≤ e^ε w_(s',u) for all s, s' and u.

    Args:
        epsilon: the level ε, in nats.
        shape: how many values s and u have; the inputs are (s, u), u running fastest.
    """

    epsilon: float
    shape: Sequence[int]


class PML(Privacy, title="pointwise maximal leakage"):
    """Pointwise maximal leakage: w_x ≤ e^ε P·w for every input x.

    Args:
        epsilon: the level ε, in nats.
        prior: the distribution P of the inputs.
    """

    epsilon: float
    prior: ArrayLike


class InformationPrivacy(Privacy, title="information privacy level"):
    """Local information privacy: e^−ε P·w ≤ w_x ≤ e^ε P·w for every input x.

    Args:
        epsilon: the level ε, in nats.
        prior: the distribution P of the inputs.
    """

    epsilon: float
    prior: ArrayLike


class Sensitive(Privacy, title="level of sensitive inputs"):
    """Utility-optimised LDP: a report hides all inputs, or comes from one that is not sensitive.

    Args:
        epsilon: the level ε, in nats.
        inputs: the numbers of the sensitive inputs.
    """

    epsilon: float
    inputs: Sequence[int]


class Scenarios(Privacy, title="level in the scenarios"):
    """Hide s under each of several distributions of (s, u): P(y|s) ≤ e^ε P(y|s').

    Args:
        epsilon: the level ε, in nats.
        distributions: joint distributions as matrices [s][u].
    """

    epsilon: float
    distributions: Any


class Cone(Privacy, title="share of what the inequalities allow", unit=""):
    """Any polyhedral cone: A w ≥ 0 for every column w.

    Args:
        rows: the matrix A, one row per inequality.
        words: what the cone promises, for readers; claims quote it, and decide the inequalities.
    """

    rows: ArrayLike
    words: str | None = None


class MaximalLeakage(Privacy, title="maximal leakage"):
    """Maximal leakage: Σ_y max_x W[x, y] ≤ e^L.

    Args:
        leakage: L, in nats.
    """

    leakage: float


class StatisticLeakage(Privacy, title="maximal leakage about the secret"):
    """Maximal leakage about a secret: Σ_y max_s W[x_s, y] ≤ e^L for all inputs x_s of the secrets s.

    Args:
        leakage: L, in nats.
        secrets: the secret of every input, any labels.
    """

    leakage: float
    secrets: Sequence[Any]

    def first_cuts(self, inputs: int) -> list[list[int]] | None:
        """List selections that name every input; None where all selections are listed anyway."""
        groups = by_secret(self.secrets)
        if math.prod(map(len, groups)) <= MOST_SELECTIONS:
            return None
        return [[own[i % len(own)] for own in groups] for i in range(max(map(len, groups)))]


class Robust(Privacy, title="level over the set"):
    """Hide s under every distribution of (s, u) in a set: P(y|s) ≤ e^ε P(y|s').

    Args:
        epsilon: the level ε, in nats.
        uncertainty: a :class:`~ldpopt.models.convex_set.ConvexSet`, or its description {"kind": …, …}.
    """

    epsilon: float
    uncertainty: Any

    def to_json(self) -> dict[str, Any]:
        """Write the level, and the description of the set."""
        return {self.name: {"epsilon": self.epsilon, "uncertainty": convex_set(self.uncertainty).plain}}

    def _cone(self) -> SetCone:
        return SetCone(convex_set(self.uncertainty).exact, self.epsilon)

    def first_cuts(self, inputs: int) -> list[dict[str, Any]]:
        """List a member of the largest P(u|s) for every cell (s, u) and other secret."""
        cone = self._cone()
        return [_member(cut, cone) for cut in cone.first_cuts()]

    def outside(self, matrix: Array) -> Outside:
        """Climb to the worst members of each report and pair of secrets."""
        cone, columns = self._cone(), matrix[:, matrix.any(axis=0)]
        excess, found = cone.cuts(columns, LEAST_EXCESS * columns.max())
        worst = np.maximum(excess.max(axis=1), 0)
        room = columns.mean(axis=0) * math.expm1(self.epsilon)
        share = float((worst / (worst + room)).max())
        return Outside([_member(cut, cone) for own in found for cut in own], share)


def _member(cut: Cut, cone: SetCone) -> dict[str, Any]:
    return {"witness": inside(cut.member, cone.F).tolist(), "secrets": list(cut.secrets)}


class Renyi(Privacy):
    """Rényi differential privacy, local: any two rows of W have a Rényi divergence of at most ε.

    Args:
        epsilon: ε, in nats.
        order: the order a of the divergence log Σ_y W[x, y]^a W[z, y]^(1−a)/(a − 1), above 1.
    """

    epsilon: float
    order: float

    @property
    def measure(self) -> Measure:
        """The largest divergence."""
        return Measure(f"Rényi divergence of order {self.order:g}", "nats")

    def first_cuts(self, inputs: int) -> list[dict[str, Any]]:
        """List a tangent for every pair, where the one row is e^ε times the other."""
        ratio = min(math.exp(self.epsilon), LARGEST_RATIO)
        return [{"pair": list(pair), "ratio": ratio} for pair in permutations(range(inputs), 2)]

    def outside(self, matrix: Array) -> Outside:
        """Mix pairs of too large a divergence with noise until it is ε; take the tangents there.

        They support the set of private mechanisms, and cut off the mechanism (Veinott 1967).
        """
        most, mean = math.exp((self.order - 1) * self.epsilon), matrix.mean(axis=0)
        cuts, most_noise = [], 0.0
        for x, z in permutations(range(len(matrix)), 2):
            if renyi_power(matrix[x], matrix[z], self.order) <= most * (1 + LEAST_EXCESS):
                continue
            low, high = 0.0, 1.0
            for _ in range(50):
                share = (low + high) / 2
                row, other = (1 - share) * matrix[[x, z]] + share * mean
                low, high = (share, high) if renyi_power(row, other, self.order) > most else (low, share)
            used = mean > 0
            row, other = (1 - high) * matrix[[x, z]][:, used] + high * mean[used]
            ratios = np.clip(np.unique((row / other).round(12)), 1 / LARGEST_RATIO, LARGEST_RATIO)
            cuts += [{"pair": [x, z], "ratio": ratio} for ratio in ratios.tolist()]
            most_noise = max(most_noise, high)
        return Outside(cuts, most_noise)


def renyi_power(row: Array, other: Array, order: float) -> float:
    """Compute Σ_y p_y^a q_y^(1−a), the exponential of (a − 1) times the Rényi divergence.

    Args:
        row: p.
        other: q.
        order: a.
    """
    p, q = row[row > 0], other[row > 0]
    with np.errstate(divide="ignore", over="ignore"):
        return float((p * (p / q) ** (order - 1)).sum())
