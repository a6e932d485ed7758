"""Objectives that depend on a mechanism through the second moments of an efficient estimate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from ldpopt.core.forms.matrix_program import Slope
from ldpopt.core.validate import Array, InvalidInputError
from ldpopt.measures.channel import inverse_information
from ldpopt.measures.minimax import vertices, worst_vertex


@dataclass(frozen=True, eq=False)
class MomentObjective:
    """A function of ν₂(W) = diag(M⁻¹), M = W diag(pW)⁻¹ Wᵀ.

    Attributes:
        prior: the distribution p.
        loss: "phi" for K Σ ν₂ (which is φ(W) if p is uniform), or the α of "f-divergence", "mse", "tv".

    >>> round(MomentObjective(np.full(2, 0.5), "phi")(np.array([[0.75, 0.25], [0.25, 0.75]])), 9)
    5.0
    """

    prior: Array
    loss: str = "phi"

    @property
    def is_design(self) -> bool:
        """Whether this is α at the known distribution."""
        return self.loss != "phi"

    @property
    def is_symmetric(self) -> bool:
        """Whether this is φ."""
        return self.loss == "phi"

    @property
    def parts(self) -> Sequence[Self]:
        """The objective itself: it has a gradient."""
        return [self]

    def __call__(self, W: Array) -> float:
        """Evaluate the objective; it is infinite where W cannot be inverted."""
        return self.slope(W).value

    def slope(self, W: Array) -> Slope:
        """Compute the objective and its gradient with respect to the entries of W.

        With weights c_k = ∂F/∂ν₂ₖ and G = M⁻¹ diag(c) M⁻¹: dF/dW = −2 G W Q⁻¹ + pᵀ h, where
        h_y = w_yᵀ G w_y / q_y².
        """
        q = self.prior @ W
        try:
            inverse = inverse_information(W, q)
        except InvalidInputError:
            return Slope(np.inf, np.zeros_like(W))
        value, weights = self._of(np.diag(inverse))
        G = (inverse * weights) @ inverse
        scaled = G @ W / q
        gradient = -2 * scaled + np.outer(self.prior, (W * scaled).sum(axis=0) / q)
        return Slope(value, gradient)

    def _of(self, moments: Array) -> tuple[float, Array]:
        p, k = self.prior, len(self.prior)
        if self.loss == "phi":
            return float(k * moments.sum()), np.full(k, float(k))
        if self.loss == "f-divergence":
            return float(((moments / p).sum() - 1) / (k - 1)), 1 / p / (k - 1)
        if self.loss == "mse":
            rest = 1 - p @ p
            return float((moments.sum() - p @ p) / rest), np.full(k, 1 / rest)
        deviations = np.sqrt(np.maximum(moments - p**2, 1e-300))
        clear = np.sqrt(p - p**2).sum()
        total = deviations.sum()
        return float((total / clear) ** 2), total / clear**2 / deviations


@dataclass(frozen=True, eq=False)
class WorstObjective:
    """The supremum of α over all p with entries ≥ p0, for square W, as its vertices give it.

    It is never less, and more for "tv" alone: there the claim about an answer says its proven upper end.
    """

    prior: Array
    loss: str
    p0: float

    is_design: ClassVar[bool] = False
    is_symmetric: ClassVar[bool] = True

    @property
    def parts(self) -> Sequence[MomentObjective]:
        """The α of every vertex."""
        return [MomentObjective(p, self.loss) for p in vertices(len(self.prior), self.p0)]

    def __call__(self, W: Array) -> float:
        """Evaluate the objective; it is infinite where W cannot be inverted."""
        try:
            return worst_vertex(W, self.p0, self.loss)[0]
        except InvalidInputError:
            return np.inf
