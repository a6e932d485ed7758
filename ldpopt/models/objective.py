"""Objectives, to be composed: ``Program(…, objective.MutualInformation(prior))``.

Each is a sum over the columns w of a mechanism of a convex and positively homogeneous g(w), or a design:
a function of the information J = Σ_y w wᵀ/(P·w) of a report about the distribution of the input, at P.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from numpy.typing import ArrayLike

from ldpopt.core.problem import INFORMATION, Measure
from ldpopt.models.json_part import Part


class Objective(Part):
    """What is maximised; or, of a loss, minimised."""

    sense: ClassVar[Literal["maximise", "minimise"]] = "maximise"
    measure: ClassVar[Measure]


@dataclass(frozen=True, eq=False)
class MutualInformation(Objective):
    """I(X; Y) in nats, X having the distribution ``prior``."""

    name: ClassVar[str] = "mutual-information"
    measure: ClassVar[Measure] = INFORMATION
    prior: ArrayLike


@dataclass(frozen=True, eq=False)
class Guessing(Objective):
    """The probability of guessing the input from the report: Σ_y max_x P_x W[x, y]."""

    name: ClassVar[str] = "guessing"
    measure: ClassVar[Measure] = Measure("probability of guessing the input")
    prior: ArrayLike


@dataclass(frozen=True, eq=False)
class Bayes(Objective):
    """The probability of naming the true one of several hypotheses, equally likely unless weighted."""

    name: ClassVar[str] = "bayes"
    measure: ClassVar[Measure] = Measure("Bayes probability of deciding right")
    hypotheses: ArrayLike
    weights: ArrayLike | None = None


@dataclass(frozen=True, eq=False)
class KL(Objective):
    """The Kullback–Leibler divergence of the reports under the first hypothesis from the second."""

    name: ClassVar[str] = "kl"
    measure: ClassVar[Measure] = Measure("Kullback–Leibler divergence", "nats")
    hypotheses: ArrayLike


@dataclass(frozen=True, eq=False)
class TotalVariation(Objective):
    """The total variation of the reports under two hypotheses."""

    name: ClassVar[str] = "total-variation"
    measure: ClassVar[Measure] = Measure("total variation")
    hypotheses: ArrayLike


@dataclass(frozen=True, eq=False)
class ChiSquared(Objective):
    """The χ² divergence of the reports under the first hypothesis from the second."""

    name: ClassVar[str] = "chi-squared"
    measure: ClassVar[Measure] = Measure("χ² divergence")
    hypotheses: ArrayLike


@dataclass(frozen=True, eq=False)
class Hellinger(Objective):
    """The squared Hellinger distance Σ_y (√q₀ − √q₁)² of the reports under two hypotheses."""

    name: ClassVar[str] = "hellinger"
    measure: ClassVar[Measure] = Measure("squared Hellinger distance")
    hypotheses: ArrayLike


@dataclass(frozen=True, eq=False)
class Renyi(Objective):
    """The power divergence (Σ_y q₀^α q₁^(1−α) − 1)/(α − 1), which grows with the Rényi divergence."""

    name: ClassVar[str] = "renyi"
    measure: ClassVar[Measure] = Measure("power divergence (of Rényi's family)")
    hypotheses: ArrayLike
    order: float


@dataclass(frozen=True, eq=False)
class Fisher(Objective):
    """The Fisher information about one parameter: Σ_y (Σ_x P_x score_x W[x, y])²/Σ_x P_x W[x, y].

    Args:
        prior: the distribution P of the input at the parameter.
        score: the derivative of log P_x by the parameter, for each input; its mean is 0.
    """

    name: ClassVar[str] = "fisher"
    measure: ClassVar[Measure] = Measure("Fisher information")
    prior: ArrayLike
    score: ArrayLike


@dataclass(frozen=True, eq=False)
class Largest(Objective):
    """Any piecewise linear utility: Σ_y max_i pieces[i]·W[:, y]."""

    name: ClassVar[str] = "largest"
    measure: ClassVar[Measure] = Measure("utility")
    pieces: ArrayLike


@dataclass(frozen=True, eq=False)
class Loss(Objective):
    """The expected loss, minimised; the reports are decisions.

    Args:
        prior: the distribution P of the input.
        loss: the loss of each decision at each input, a matrix [input][decision].
    """

    name: ClassVar[str] = "loss"
    sense: ClassVar[Literal["maximise", "minimise"]] = "minimise"
    measure: ClassVar[Measure] = Measure("expected loss")
    prior: ArrayLike
    loss: ArrayLike


@dataclass(frozen=True, eq=False)
class Queries(Objective):
    """The squared error of linear queries, minimised: Σ_i c_iᵀ(J⁻¹ − P Pᵀ)c_i.

    That is n times the summed variance of efficient estimates of c_i·P from n reports.

    Args:
        queries: the c_i, a row for each with an entry for each input.
        prior: the distribution P of the input, without zeros.
    """

    name: ClassVar[str] = "queries"
    sense: ClassVar[Literal["maximise", "minimise"]] = "minimise"
    measure: ClassVar[Measure] = Measure("squared error of the queries, times the number of reports")
    queries: ArrayLike
    prior: ArrayLike


@dataclass(frozen=True, eq=False)
class LogDet(Objective):
    """log det J: the larger, the smaller the volume in which n reports confine the distribution.

    Args:
        prior: the distribution P of the input, without zeros.
    """

    name: ClassVar[str] = "log-det"
    measure: ClassVar[Measure] = Measure("log det of the information of a report", "nats")
    prior: ArrayLike


PARTS: Sequence[type[Any]] = (
    MutualInformation,
    Guessing,
    Bayes,
    KL,
    TotalVariation,
    ChiSquared,
    Hellinger,
    Renyi,
    Fisher,
    Largest,
    Loss,
    Queries,
    LogDet,
)
"""Every objective that a file may name."""
