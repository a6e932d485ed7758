"""Utilities of a mechanism that are sums over its columns of a sublinear function g.

A utility is ``U(W) = Σ_y g(W[:, y])`` with g convex and positively homogeneous of degree one. Merging
or splitting proportional outputs changes nothing, and some optimal mechanism uses only extreme rays of
the privacy cone (Kairouz, Oh and Viswanath 2014).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, TypeGuard

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import entr, rel_entr, xlog1py

from ldpopt.core import validate
from ldpopt.core.errors import InvalidInputError
from ldpopt.core.forms.column_program import Sublinear
from ldpopt.core.problem import INFORMATION, Measure
from ldpopt.core.validate import Array
from ldpopt.models import objective
from ldpopt.models.pricing import DivergencePricer, InformationPricer, LargestPricer


def entropy(p: ArrayLike) -> float:
    """Compute H(X) = −Σ p log p in nats: the information of the data as they are.

    >>> round(entropy([[0.25, 0.25], [0.5, 0.0]]), 12)
    1.03972077084
    """
    return float(entr(validate.distribution("p", np.ravel(p))).sum())


@dataclass(frozen=True, eq=False)
class MutualInformation:
    """μ(T) = Σ_x P_x T_x log T_x − q log q, q = Σ_x P_x T_x.

    Lopuhaä-Zwakenberg and Goseling 2021, (103). Summed over the columns of a mechanism it is I(X; Y) in
    nats. Computed as q Σ_x P_x h(T_x/q), h(t) = t log t − t + 1 ≥ 0, which is the same as P sums to 1:
    where T is nearly constant, or one P_x nearly 1, the two terms of μ would cancel.

    >>> MutualInformation(np.array([0.5, 0.5]))(np.eye(2)).sum() == np.log(2)
    np.True_
    """

    measure: ClassVar[Measure] = INFORMATION
    prior: Array

    @property
    def nominal(self) -> MutualInformation:
        """Itself; see :func:`nominal`."""
        return self

    def pricer(self) -> InformationPricer:
        """Return what finds columns that are worth more than a price."""
        return InformationPricer(self)

    def __call__(self, columns: Array) -> Array:
        """Evaluate every column."""
        q = self.prior @ columns
        mean = np.where(q > 0, q, 1.0)
        above = (columns - mean) / mean
        return q * (self.prior @ (xlog1py(1 + above, above) - above))


class TwoHypotheses(ABC):
    """g(w) = q1 f(q0/q1) with q0 = p0·w, q1 = p1·w and f convex.

    It sees a column through two linear functions: g(w) = G(A w) with A = (p0; p1) and G the largest of
    its tangents, G(z) = max_τ τ·z. The tangent at the ratio r is τ = (f'(r), f(r) − r f'(r)). To
    add a divergence, write a subclass with the methods :meth:`terms` and :meth:`slopes`.
    """

    p0: Array
    p1: Array

    @abstractmethod
    def terms(self, q0: Array, q1: Array) -> Array:
        """Evaluate q1 f(q0/q1)."""

    @abstractmethod
    def slopes(self, r: Array) -> tuple[Array, Array]:
        """Compute the tangent (f'(r), f(r) − r f'(r)) at each ratio."""

    def __call__(self, columns: Array) -> Array:
        """Evaluate every column."""
        return self.terms(self.p0 @ columns, self.p1 @ columns)

    def pricer(self) -> DivergencePricer:
        """Return what finds columns that are worth more than a price."""
        return DivergencePricer(self)

    @property
    def finite(self) -> bool:
        """Whether :meth:`tangents` lists all tangents, which is so if g is piecewise linear."""
        return False

    @property
    def functions(self) -> Array:
        """The matrix A: the two hypotheses."""
        return np.stack([self.p0, self.p1])

    def tangents(self, span: float) -> Array:
        """List tangents at ratios that are spread over the reachable ones on a log scale."""
        low, high = (_log_reach(p, q, span) for p, q in ((self.p1, self.p0), (self.p0, self.p1)))
        return self._tangents(np.exp(np.linspace(-low, high, SPREAD)))

    def tangents_at(self, values: Array) -> Array:
        """Compute the tangents at the ratios z0/z1."""
        return self._tangents(values[0] / values[1])

    def _tangents(self, ratios: Array) -> Array:
        return np.stack(np.broadcast_arrays(*self.slopes(ratios)))


SPREAD = 25
"""The number of tangents to begin with; with fewer, more rounds are needed."""


def _log_reach(p: Array, q: Array, span: float) -> float:
    """Compute the largest log p·v/q·v over vectors v whose entries have log-ratios of at most ``span``.

    It is reached where v is high on the inputs of the largest ratios p/q.
    """
    order = np.argsort(-p / np.maximum(p + q, 1e-300), kind="stable")
    gain = -np.expm1(-span)
    least = np.exp(-span)
    return float(
        np.log((least + gain * np.cumsum(p[order])) / (least + gain * np.cumsum(q[order]))).max()
    )


def _chi_squared(q0: Array, q1: Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(q0 == q1, 0.0, (q0 - q1) ** 2 / q1)


class Terms(NamedTuple):
    """A divergence Σ_y d(q0(y), q1(y)) of q0 from q1.

    Attributes:
        of: d.
        slopes: (∂d/∂q0, ∂d/∂q1) at the ratio r = q0/q1.
    """

    of: Callable[[Array, Array], Array]
    slopes: Callable[[Array], tuple[Array, Array]]


DIVERGENCES = {
    "kl": Terms(rel_entr, lambda r: (1 + np.log(r), -r)),
    "total-variation": Terms(
        lambda q0, q1: np.abs(q0 - q1) / 2,
        lambda r: (np.where(r > 1, 0.5, -0.5), np.where(r > 1, -0.5, 0.5)),
    ),
    "chi-squared": Terms(_chi_squared, lambda r: (2 * (r - 1), 1 - r * r)),
    "hellinger": Terms(
        lambda q0, q1: (np.sqrt(q0) - np.sqrt(q1)) ** 2,
        lambda r: (1 - 1 / np.sqrt(r), 1 - np.sqrt(r)),
    ),
}
"""The divergences that have a name."""


@dataclass(frozen=True, eq=False)
class Divergence(TwoHypotheses):
    """g(T) = d(p0·T, p1·T): how well the released data tell two hypotheses apart.

    >>> tv = Divergence(np.array([1.0, 0.0]), np.array([0.0, 1.0]), "total-variation")
    >>> float(tv(np.eye(2)).sum())
    1.0
    """

    p0: Array
    p1: Array
    name: str

    @property
    def measure(self) -> Measure:
        """The divergence by its usual name."""
        return objective.Objective.known[self.name].measure

    @property
    def finite(self) -> bool:
        """Whether it is piecewise linear: total variation is."""
        return self.name == "total-variation"

    def terms(self, q0: Array, q1: Array) -> Array:
        """Evaluate d(q0, q1)."""
        return DIVERGENCES[self.name].of(q0, q1)

    def slopes(self, r: Array) -> tuple[Array, Array]:
        """Compute the tangent of d at each ratio."""
        return DIVERGENCES[self.name].slopes(r)

    def tangents(self, span: float) -> Array:
        """List the two tangents of total variation, or tangents at ratios that are spread out."""
        return self._tangents(np.array([0.5, 2.0])) if self.finite else super().tangents(span)


@dataclass(frozen=True, eq=False)
class PowerDivergence(TwoHypotheses):
    """g(T) = (q0^α q1^(1−α) − q0)/(α − 1): the Rényi divergence of order α in a sublinear form.

    Over the outputs of a mechanism it sums to v = (Σ q0^α q1^(1−α) − 1)/(α − 1), and the Rényi
    divergence is log(1 + (α − 1) v)/(α − 1), which increases in v: the two have the same optimal
    mechanisms. At α = 2 it is χ², at α = 1/2 the squared Hellinger distance; towards α = 1 it is KL.

    >>> p, q = np.array([0.5, 0.5]), np.array([0.2, 0.8])
    >>> float(PowerDivergence(p, q, 2.0)(np.eye(2)).sum().round(12))
    0.5625
    """

    p0: Array
    p1: Array
    order: float

    @property
    def measure(self) -> Measure:
        """The power divergence, with the order."""
        return Measure(f"power divergence of order {self.order:g} (of Rényi's family)")

    def terms(self, q0: Array, q1: Array) -> Array:
        """Evaluate q0 (r^(α−1) − 1)/(α − 1), which is 0 where q0 is."""
        with np.errstate(divide="ignore", invalid="ignore"):
            found = q0 * np.expm1((self.order - 1) * np.log(q0 / q1)) / (self.order - 1)
        return np.where(q0 > 0, found, 0.0)

    def slopes(self, r: Array) -> tuple[Array, Array]:
        """Compute ((α r^(α−1) − 1)/(α − 1), −r^α)."""
        grown = np.expm1((self.order - 1) * np.log(r)) / (self.order - 1)
        return 1 + self.order * grown, -(r**self.order)


@dataclass(frozen=True, eq=False)
class Largest:
    """g(T) = max_i a_i·T, the largest of given linear functions: any piecewise linear utility.

    >>> best_guess = Largest(np.diag([0.7, 0.3]), objective.Guessing.measure)
    >>> float(best_guess(np.eye(2)).sum())
    1.0
    """

    finite: ClassVar[bool] = True
    functions: Array
    measure: Measure = objective.Largest.measure

    def __call__(self, columns: Array) -> Array:
        """Evaluate every column."""
        return (self.functions @ columns).max(axis=0)

    def pricer(self) -> LargestPricer:
        """Return what finds columns that are worth more than a price."""
        return LargestPricer(self)

    def tangents(self, span: float) -> Array:
        """List one tangent per function."""
        return np.eye(len(self.functions))

    def tangents_at(self, values: Array) -> Array:
        """Select the function that is largest."""
        return np.eye(len(self.functions))[:, values.argmax(axis=0)]


def bayes(hypotheses: Array, weights: Array) -> Largest:
    """Build g(T) = max_i weight_i p_i·T: the probability of naming the true one of M hypotheses.

    The hypothesis i is true with probability weight_i; whoever sees the output decides for the most
    probable one.
    """
    return Largest(weights[:, None] * hypotheses, objective.Bayes.measure)


def guessing(prior: Array) -> Largest:
    """Build g(T) = max_x P_x T_x: the probability of guessing the input from the output."""
    return Largest(np.diag(prior), objective.Guessing.measure)


FewFunctions = TwoHypotheses | Largest
"""Utilities g(w) = G(A w) with few rows of A that list tangents of G: see the solver ``tangents``."""


def has_tangents(utility: object) -> TypeGuard[FewFunctions]:
    """Return whether a utility sees a column through few linear functions and lists its tangents."""
    return hasattr(utility, "tangents")


def nominal(utility: object) -> MutualInformation | None:
    """Return the mutual information that a utility is, or is nowhere above; None if it names none."""
    return getattr(utility, "nominal", None)


@dataclass(frozen=True)
class Fisher:
    """The Fisher information about one parameter, g(w) = (Σ_x P_x score_x w_x)²/(P·w)."""

    prior: Array
    score: Array

    def __call__(self, columns: Array) -> Array:
        """Evaluate g on every column."""
        q = self.prior @ columns
        return ((self.prior * self.score) @ columns) ** 2 / np.where(q > 0, q, 1.0)


def cleaned_utility(kind: str, ndim: int, given: dict[str, Any]) -> dict[str, Any]:
    """Read the distributions of a utility and fill in its defaults; the schema checks the rest.

    Args:
        kind: the kind of the problem, for messages.
        ndim: 1 for a distribution as a list, 2 for a matrix [s][u].
        given: ``prior`` or ``hypotheses``, ``utility``, ``weights``, ``order``; None where not given.
    """
    prior, hypotheses, utility = given["prior"], given["hypotheses"], given["utility"]
    if (prior is None) == (hypotheses is None):
        both = "both" if prior is not None else "neither"
        raise InvalidInputError(f"{kind} needs either 'prior' or 'hypotheses', not {both}")
    if given["weights"] is not None and utility != "bayes":
        raise InvalidInputError(f"weights belong to the utility bayes, not to {utility}")
    if given["order"] is not None and utility != "renyi":
        raise InvalidInputError(f"an order belongs to the utility renyi, not to {utility}")
    if prior is not None:
        named = "mutual-information" if utility is None else utility
        return {"prior": validate.distribution("prior", prior, ndim), "utility": named}
    rows = _hypotheses(hypotheses, ndim)
    if utility != "bayes":
        return {"hypotheses": rows}
    weights = np.full(len(rows), 1 / len(rows)) if given["weights"] is None else given["weights"]
    return {"hypotheses": rows, "weights": validate.distribution("weights", weights)}


def _hypotheses(value: Any, ndim: int) -> Array:
    listed = validate.array("hypotheses", value, 2) if ndim == 1 else value
    if not isinstance(listed, (list, tuple, np.ndarray)) or not len(listed):
        raise InvalidInputError(f"hypotheses must be two or more distributions, not {listed!r:.60}")
    rows = [validate.distribution(f"hypotheses[{i}]", row, ndim) for i, row in enumerate(listed)]
    if len({row.shape for row in rows}) > 1:
        sizes = [row.size for row in rows]
        raise InvalidInputError(
            f"hypotheses must be distributions on the same inputs, not of the sizes {sizes!r:.80}"
        )
    found = np.stack(rows)
    found.setflags(write=False)
    return found


def named_utility(
    name: str, prior: Array | None, hypotheses: Array | None, weights: Array | None, order: float | None
) -> Sublinear:
    """Build the utility of a column from cleaned parameters.

    Args:
        name: the name of the utility.
        prior: for mutual-information and guessing; it and the hypotheses may be matrices [s][u].
        hypotheses: for the other utilities.
        weights: the probabilities of the hypotheses of bayes.
        order: the order of renyi.
    """
    if prior is not None:
        flat = prior.ravel()
        return guessing(flat) if name == "guessing" else MutualInformation(flat)
    assert hypotheses is not None
    rows = hypotheses.reshape(len(hypotheses), -1)
    if name == "bayes":
        assert weights is not None
        return bayes(rows, weights)
    if name == "renyi":
        assert order is not None
        return PowerDivergence(rows[0], rows[1], order)
    return Divergence(rows[0], rows[1], name)
