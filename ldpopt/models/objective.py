"""Objectives, to be composed: ``Program(…, objective.MutualInformation(prior))``.

Each is a sum over the columns w of a mechanism of a convex and positively homogeneous g(w), or a design:
a function of the information J = Σ_y w wᵀ/(P·w) of a report about the distribution of the input, at P.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from numpy.typing import ArrayLike

from ldpopt.core.problem import INFORMATION, Measure
from ldpopt.models.json_part import Part


class Objective(Part):
    """What is maximised; or, of a loss, minimised."""

    sense: ClassVar[Literal["maximise", "minimise"]] = "maximise"
    measure: ClassVar[Measure]


class MutualInformation(Objective, measure=INFORMATION):
    """I(X; Y) in nats, X having the distribution ``prior``."""

    prior: ArrayLike


class Guessing(Objective, measure=Measure("probability of guessing the input")):
    """The probability of guessing the input from the report: Σ_y max_x P_x W[x, y]."""

    prior: ArrayLike


class Bayes(Objective, measure=Measure("Bayes probability of deciding right")):
    """The probability of naming the true one of several hypotheses, equally likely unless weighted."""

    hypotheses: ArrayLike
    weights: ArrayLike | None = None


class KL(Objective, measure=Measure("Kullback–Leibler divergence", "nats")):
    """The Kullback–Leibler divergence of the reports under the first hypothesis from the second."""

    hypotheses: ArrayLike


class TotalVariation(Objective, measure=Measure("total variation")):
    """The total variation of the reports under two hypotheses."""

    hypotheses: ArrayLike


class ChiSquared(Objective, measure=Measure("χ² divergence")):
    """The χ² divergence of the reports under the first hypothesis from the second."""

    hypotheses: ArrayLike


class Hellinger(Objective, measure=Measure("squared Hellinger distance")):
    """The squared Hellinger distance Σ_y (√q₀ − √q₁)² of the reports under two hypotheses."""

    hypotheses: ArrayLike


class Renyi(Objective, measure=Measure("power divergence (of Rényi's family)")):
    """The power divergence (Σ_y q₀^α q₁^(1−α) − 1)/(α − 1), which grows with the Rényi divergence."""

    hypotheses: ArrayLike
    order: float


class Fisher(Objective, measure=Measure("Fisher information")):
    """The Fisher information about one parameter: Σ_y (Σ_x P_x score_x W[x, y])²/Σ_x P_x W[x, y].

    Args:
        prior: the distribution P of the input at the parameter.
        score: the derivative of log P_x by the parameter, for each input; its mean is 0.
    """

    prior: ArrayLike
    score: ArrayLike


class Largest(Objective, measure=Measure("utility")):
    """Any piecewise linear utility: Σ_y max_i pieces[i]·W[:, y]."""

    pieces: ArrayLike


class Loss(Objective, sense="minimise", measure=Measure("expected loss")):
    """The expected loss, minimised; the reports are decisions.

    Args:
        prior: the distribution P of the input.
        loss: the loss of each decision at each input, a matrix [input][decision].
    """

    prior: ArrayLike
    loss: ArrayLike


class Queries(
    Objective,
    sense="minimise",
    measure=Measure("squared error of the queries, times the number of reports"),
):
    """The squared error of linear queries, minimised: Σ_i c_iᵀ(J⁻¹ − P Pᵀ)c_i.

    That is n times the summed variance of efficient estimates of c_i·P from n reports.

    Args:
        queries: the c_i, a row for each with an entry for each input.
        prior: the distribution P of the input, without zeros.
    """

    queries: ArrayLike
    prior: ArrayLike


class LogDet(Objective, measure=Measure("log det of the information of a report", "nats")):
    """log det J: the larger, the smaller the volume in which n reports confine the distribution.

    Args:
        prior: the distribution P of the input, without zeros.
    """

    prior: ArrayLike
