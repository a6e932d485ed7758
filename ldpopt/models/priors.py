"""What the aggregator believes about the unknown distribution P of the data before any report."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import digamma, gammaln, xlogy

from ldpopt.core import validate
from ldpopt.core.errors import InvalidInputError
from ldpopt.core.mechanism import Channel, Mechanism
from ldpopt.core.validate import Array, Cleaned
from ldpopt.models.quadrature import break_sticks, gauss_beta, tanh_sinh_beta

STEP = 0.25
"""Step of the trapezoidal rule in log t; its error is of the order e^{−2π²/STEP} < 1e-34."""


class Prior(ABC):
    """A distribution of P on the simplex with ``size`` corners.

    Lopuhaä-Zwakenberg et al. 2019, Section 2.4. A column matrix V holds linear forms: column j is the
    form p ↦ V[:, j]·p, the probability of an output whose likelihoods are V[:, j].
    """

    continuous: bool

    @property
    @abstractmethod
    def size(self) -> int:
        """The number a of data values."""

    @abstractmethod
    def mean(self) -> Array:
        """Compute E P."""

    @abstractmethod
    def covariance(self) -> Array:
        """Compute the covariance matrix of P."""

    @abstractmethod
    def sample(self, size: int, rng: np.random.Generator | int) -> Array:
        """Draw P independently, one per row."""

    @abstractmethod
    def expected_log(self, columns: Array) -> Array:
        """Compute E log(v·P) of every column v."""

    @abstractmethod
    def expected_xlogx(self, columns: Array) -> Array:
        """Compute E (v·P) log(v·P) of every column v."""

    @abstractmethod
    def nodes(self, degree: int) -> tuple[Array, Array]:
        """Return points (rows) and positive weights, exact for polynomials in P of this degree."""

    @abstractmethod
    def node_count(self, degree: int) -> int:
        """Count the points that :meth:`nodes` returns."""

    def differential_entropy(self) -> float:
        """Compute h(P) of (2.1); only a continuous prior has one."""
        raise InvalidInputError("this prior has no density, so no differential entropy")

    def check_size(self, inputs: int) -> None:
        """Refuse a mechanism with another number of inputs."""
        if self.size != inputs:
            raise InvalidInputError(
                f"the prior must have {inputs} values, one per input, not {self.size}"
            )

    def expected_entropy(self) -> float:
        """Compute H(X | P) in nats."""
        return -float(self.expected_xlogx(np.eye(self.size)).sum())

    def push(self, mechanism: Channel) -> Prior:
        """Return the distribution of the output distribution: the push-forward of Definition 7.2."""
        return Pushed(self, Mechanism(mechanism.matrix, mechanism.inputs, mechanism.outputs))


class Dirichlet(Prior):
    """Density B(α)⁻¹ Π p_x^{α_x − 1} on the simplex (Lopuhaä-Zwakenberg et al. 2019, (2.4)).

    >>> prior = Dirichlet([0.5, 1.2, 2.0])
    >>> prior.mean().round(4)
    array([0.1351, 0.3243, 0.5405])
    >>> round(Dirichlet.uniform(3).differential_entropy(), 6)  # −log of the density 2
    -0.693147
    """

    continuous = True
    alpha: Array

    def __init__(self, alpha: ArrayLike) -> None:
        self.alpha = validate.array("alpha", alpha, 1)
        if (self.alpha <= 0).any():
            x = int(np.argmax(self.alpha <= 0))
            raise InvalidInputError(f"alpha[{x}] must be > 0, not {self.alpha[x]}")
        if len(self.alpha) < 2:
            raise InvalidInputError("alpha needs at least two entries: with one value P is known")

    @classmethod
    def jeffreys(cls, k: int) -> Self:
        """Create the uninformative prior: every α_x = 1/2."""
        return cls(np.full(validate.whole_number("the number of values", k, 2), 0.5))

    @classmethod
    def uniform(cls, k: int) -> Self:
        """Create the prior with uniform density: every α_x = 1."""
        return cls(np.ones(validate.whole_number("the number of values", k, 2)))

    def __repr__(self) -> str:
        return f"Dirichlet({self.alpha.tolist()})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dirichlet) and np.array_equal(self.alpha, other.alpha)

    def __hash__(self) -> int:
        return hash(self.alpha.tobytes())

    @property
    def size(self) -> int:
        """The number of data values."""
        return len(self.alpha)

    @cached_property
    def total(self) -> float:
        """A = Σ α_x."""
        return math.fsum(self.alpha)

    @property
    def exchangeable(self) -> bool:
        """Whether all values play the same part."""
        return bool((self.alpha == self.alpha[0]).all())

    @cached_property
    def log_beta(self) -> float:
        """log B(α)."""
        return float(gammaln(self.alpha).sum() - gammaln(self.total))

    def mean(self) -> Array:
        """Compute α / A."""
        return self.alpha / self.total

    def covariance(self) -> Array:
        """Compute (diag(m) − m mᵀ) / (A + 1) with m the mean."""
        m = self.mean()
        return (np.diag(m) - np.outer(m, m)) / (self.total + 1)

    def moment(self, powers: ArrayLike) -> float:
        """Compute E Π P_x^{t_x} = B(α + t) / B(α)."""
        t = validate.array("powers", powers, 1)
        if len(t) != self.size or (self.alpha + t <= 0).any():
            raise InvalidInputError(
                f"powers must be {self.size} numbers that exceed −alpha, not {t.tolist()} "
                f"for alpha {self.alpha.tolist()}"
            )
        total = self.total + math.fsum(t)
        return math.exp(float(gammaln(self.alpha + t).sum() - gammaln(total)) - self.log_beta)

    def log_density(self, p: ArrayLike) -> Array:
        """Evaluate the logarithm of the density at each row of p."""
        points = np.asarray(p, dtype=np.float64)
        return xlogy(self.alpha - 1, points).sum(axis=-1) - self.log_beta

    def differential_entropy(self) -> float:
        """Compute log B(α) + (A − a) ψ(A) − Σ (α_x − 1) ψ(α_x)."""
        spread = float(((self.alpha - 1) * digamma(self.alpha)).sum())
        return self.log_beta + (self.total - self.size) * float(digamma(self.total)) - spread

    def expected_entropy(self) -> float:
        """Compute ψ(A + 1) − Σ m_x ψ(α_x + 1); (10.2) for Jeffreys' prior."""
        own = float(self.mean() @ digamma(self.alpha + 1))
        return float(digamma(self.total + 1)) - own

    def sample(self, size: int, rng: np.random.Generator | int) -> Array:
        """Draw independently."""
        rng = np.random.default_rng(rng)
        return rng.dirichlet(self.alpha, size)

    def expected_log(self, columns: Array) -> Array:
        """Compute ∫_0^∞ ((1+t)^{−A} − Π (1 + t v_x)^{−α_x}) dt / t for every column v.

        This is Frullani's integral of log, applied to independent Gamma variables whose shares are P.
        """
        integral, peak = _frullani(columns, self.alpha, None)
        return integral + np.log(peak)

    def expected_xlogx(self, columns: Array) -> Array:
        """Compute Σ_x m_x v_x E' log(v·P), E' over Dirichlet(α + e_x): size-biasing, then Frullani."""
        used = columns.any(axis=0)
        result = np.zeros(columns.shape[1])
        if used.any():
            V, m = columns[:, used], self.mean()
            integral, peak = _frullani(V, self.alpha, m)
            result[used] = peak * integral + xlogy(m @ V, peak)
        return result

    def leakage_slopes(self, columns: Array) -> Array:
        """Compute the derivatives of what positive columns v leak, ℓ = E Σ_x P_x v_x log(v_x/(v·P)).

        They are m_x (log v_x − E' log(v·P)), E' over Dirichlet(α + e_x). ℓ is homogeneous, so that ℓ(v)
        is v times them.
        """
        tilted = [Dirichlet(self.alpha + own).expected_log(columns) for own in np.eye(self.size)]
        return self.mean()[:, None] * (np.log(columns) - np.array(tilted))

    def node_count(self, degree: int) -> int:
        """Count the points: ⌈(degree + 1)/2⌉ in every dimension."""
        return int((degree // 2 + 1) ** (self.size - 1))

    def nodes(self, degree: int) -> tuple[Array, Array]:
        """Build Gauss–Jacobi rules for the independent beta variables of stick-breaking."""
        order = degree // 2 + 1
        return break_sticks([gauss_beta(a, b, order) for a, b in self.sticks()])

    def fine_nodes(self, level: int) -> tuple[Array, Array]:
        """Build double-exponential rules instead, for functions with singularities at the boundary."""
        return break_sticks([tanh_sinh_beta(a, b, level) for a, b in self.sticks()])

    def sticks(self) -> list[tuple[float, float]]:
        """List the beta parameters of P_1, P_2/(1 − P_1), …, which are independent of each other."""
        rest = np.cumsum(self.alpha[::-1])[::-1]
        return [(float(a), float(b)) for a, b in zip(self.alpha[:-1], rest[1:], strict=True)]


def dirichlet_prior(what: str, prior: Prior) -> Dirichlet:
    """Check that a prior is a Dirichlet prior, which something needs."""
    if not isinstance(prior, Dirichlet):
        raise InvalidInputError(f"{what} needs a Dirichlet prior, not a {type(prior).__name__}")
    return prior


@dataclass(frozen=True, eq=False)
class PointMixture(Cleaned, Prior):
    """P is one of finitely many distributions, each with its probability.

    Lopuhaä-Zwakenberg et al. 2019, Remark 4.4.

    >>> PointMixture([[1.0, 0.0], [0.0, 1.0]], [0.5, 0.5]).mean()
    array([0.5, 0.5])
    """

    points: Any
    weights: Any
    continuous = False

    def cleaned(self) -> dict[str, Any]:
        """Check the parameters."""
        points = validate.array("points", self.points, 2)
        for i, row in enumerate(points):
            validate.distribution(f"points[{i}]", row)
        weights = validate.distribution("weights", self.weights)
        if len(weights) != len(points):
            raise InvalidInputError(
                f"there must be {len(points)} weights, one per point, not {len(weights)}"
            )
        return {"points": points, "weights": weights}

    @property
    def size(self) -> int:
        """The number of data values."""
        return int(self.points.shape[1])

    def mean(self) -> Array:
        """Average the points by their weights."""
        return self.weights @ self.points

    def covariance(self) -> Array:
        """Compute Σ w (p − m)(p − m)ᵀ."""
        centred = self.points - self.mean()
        return (self.weights * centred.T) @ centred

    def sample(self, size: int, rng: np.random.Generator | int) -> Array:
        """Draw independently."""
        rng = np.random.default_rng(rng)
        return self.points[rng.choice(len(self.weights), size, p=self.weights)]

    def expected_log(self, columns: Array) -> Array:
        """Sum over the points by their weights."""
        return self.weights @ np.log(self.points @ columns)

    def expected_xlogx(self, columns: Array) -> Array:
        """Sum over the points by their weights."""
        q = self.points @ columns
        return self.weights @ xlogy(q, q)

    def node_count(self, degree: int) -> int:
        """Count the points."""
        return len(self.weights)

    def nodes(self, degree: int) -> tuple[Array, Array]:
        """Return the points themselves."""
        return self.points, self.weights


@dataclass(frozen=True, eq=False)
class Pushed(Prior):
    """The distribution of ``mechanism.push(P)`` when P follows ``base``.

    >>> flip = Mechanism([[0.75, 0.25], [0.25, 0.75]])
    >>> Dirichlet([1.0, 3.0]).push(flip).mean()
    array([0.375, 0.625])
    """

    base: Prior
    mechanism: Mechanism
    continuous = False

    def __post_init__(self) -> None:
        if len(self.mechanism.inputs) != self.base.size:
            raise InvalidInputError(
                f"push: the mechanism must have {self.base.size} inputs, one per value of the prior, "
                f"not {len(self.mechanism.inputs)}"
            )

    @property
    def size(self) -> int:
        """The number of outputs of the mechanism."""
        return len(self.mechanism.outputs)

    def mean(self) -> Array:
        """Return the image of the mean."""
        return self.base.mean() @ self.mechanism.matrix

    def covariance(self) -> Array:
        """Compute Wᵀ C W."""
        W = self.mechanism.matrix
        return W.T @ self.base.covariance() @ W

    def sample(self, size: int, rng: np.random.Generator | int) -> Array:
        """Map draws from the base."""
        return self.base.sample(size, rng) @ self.mechanism.matrix

    def expected_log(self, columns: Array) -> Array:
        """Evaluate with the base: a linear form of the image is a linear form of P."""
        return self.base.expected_log(self.mechanism.matrix @ columns)

    def expected_xlogx(self, columns: Array) -> Array:
        """Evaluate with the base: a linear form of the image is a linear form of P."""
        return self.base.expected_xlogx(self.mechanism.matrix @ columns)

    def node_count(self, degree: int) -> int:
        """Count the base's points."""
        return self.base.node_count(degree)

    def nodes(self, degree: int) -> tuple[Array, Array]:
        """Map the base's points."""
        points, weights = self.base.nodes(degree)
        return points @ self.mechanism.matrix, weights


def _frullani(columns: Array, alpha: Array, shares: Array | None) -> tuple[Array, Array]:
    """Compute ∫ (reference − M(t)·bias(t)) dt/t for every column scaled to peak 1, and the peaks.

    M(t) = Π (1 + t v_x)^{−α_x} = E e^{−t v·G}; bias is 1, or Σ_x m_x v_x/(1 + t v_x) for shares m.
    """
    peak = columns.max(axis=0)
    if not (peak > 0).all():
        raise InvalidInputError("the logarithm of a linear form that is zero has no expectation")
    if columns.shape[1] > 1 and (alpha == alpha[0]).all():
        # columns that differ by a permutation have the same integral
        alike, which = np.unique(np.sort(columns, axis=0), axis=1, return_inverse=True)
        if alike.shape[1] < columns.shape[1]:
            return _frullani(alike, alpha, shares)[0][which.ravel()], peak
    V, total = columns / peak, float(alpha.sum())
    carried = [float(alpha[v > 0].sum()) for v in V.T]
    least = min(float(v[v > 0].min()) for v in V.T)
    high = 40 / min([*carried, 1.0]) - math.log(least)
    u = np.arange(-40, high, STEP)  # log t, as t itself may overflow
    grow, own = total * np.logaddexp(0, u), np.exp(-np.logaddexp(0, u))
    with np.errstate(divide="ignore"):
        log_v = np.log(V)
    result = np.empty(V.shape[1])
    for j, (v, log_form) in enumerate(zip(V.T, log_v.T, strict=True)):
        log_terms = np.logaddexp(0, log_form[:, None] + u)
        log_m = alpha @ log_terms
        if shares is None:
            terms = -np.exp(-grow) * np.expm1(np.minimum(grow - log_m, 700.0))
            terms = np.where(grow - log_m > 30, np.exp(-grow) - np.exp(-log_m), terms)
        else:
            bias = (shares * v) @ np.exp(-log_terms)
            terms = float(shares @ v) * np.exp(-grow) * own - np.exp(-log_m) * bias
        result[j] = terms.sum() * STEP
    return result, peak
