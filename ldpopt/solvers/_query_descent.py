"""Many queries about many inputs under ε-LDP: descent on all columns at once, and a bound.

The columns w_y of a mechanism lie between z_y and e^ε z_y. Projected gradients move them and the levels
z_y (McKenna et al. 2020, whose objective is that of another reconstruction). The start matters: the best
information has D^½ J D^½ ∝ |C D^½ Π| (D = diag p, Π the projection off √p, |A| = (AᵀA)^½), and a column
that is e^ε on S adds 1_S 1_Sᵀ to J. So the first sets are where random vectors of about that covariance
are largest, and p(S) is the share 1/(e^ε + 1) that tells most.

The bound is (Σ of the singular values of C D^½ Π)²/τ
(:mod:`ldpopt.checker.kernel.proofs.quadratic_forms`): with the singular value decomposition U S Vᵀ, the
rows of U Vᵀ D^½ are a proof, and those of an orthonormal basis of the rest, for no queries, complete it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ldpopt.core.forms.query_program import QueryProgram
from ldpopt.core.validate import Array

OUTPUTS, MOST_OUTPUTS = 12, 1024
"""Outputs per input, and the most."""
SMOOTH = 0.6
"""The power of |C D^½ Π| from which the first sets are drawn: cutting vectors off at a level roughens
them, and 0.6 gave the least error for prefixes among 0.5, 0.6, 0.7 and 0.8."""
LEAST, TINY = 0.1, 1e-300
"""The least of those powers, as a share of their mean; and what stands for a probability of 0."""
STEPS, LEAST_GAIN = 20, 1e-3
"""The descent ends once so many steps lower the error by a smaller share."""
HALVED = 60
"""Halvings of the range of a shift; it is exact to rounding long before."""
DIGITS = 40
"""Binary digits of the numbers of a proof."""


class Spectrum:
    """The singular value decomposition of C D^½ Π, and an orthonormal basis of what it leaves out."""

    def __init__(self, form: QueryProgram) -> None:
        self.p, self.ratio = form.prior, math.exp(form.cone.epsilon)
        root = np.sqrt(self.p)
        A = (form.queries - (form.queries @ self.p)[:, None]) * root
        left, values, right = np.linalg.svd(A, full_matrices=False)
        rank = int((values > 1e-13 * values.max() * max(A.shape)).sum())
        rest = np.linalg.svd(np.vstack([right[:rank], root]))[2][rank + 1 :]
        self.left, self.values = left[:, :rank], values[:rank]
        self.right = np.vstack([right[:rank], rest])

    def bound(self) -> tuple[float, Any]:
        """Compute the bound, in floats, with its proof; none where an input has the probability 0."""
        p, E, k = self.p, self.ratio, len(self.p)
        if p.min() <= 0:
            return 0.0, None
        shares = np.arange(k + 1) / k if np.ptp(p) == 0 else np.array([1 / (E + 1)])
        spread = (shares * (1 - shares) * ((E - 1) / (1 + shares * (E - 1))) ** 2).max()
        rank = len(self.values)
        rows = np.vstack([self.left @ self.right[:rank], self.right[rank:]]) * np.sqrt(p)
        Y = np.round(rows * 2.0**DIGITS) / 2.0**DIGITS
        centred = Y - Y.mean(axis=1, keepdims=True)
        form = centred.T @ centred
        size = form.trace() / (1 - p @ p)
        off = np.abs(form - size * (np.diag(p) - np.outer(p, p))).sum(axis=1)
        price = spread * (size + (off / p).max()) * (1 + 1e-9)
        return self.values.sum() ** 2 / price, {"Y": Y.tolist(), "beta": (price * p).tolist()}

    def first_sets(self, rng: np.random.Generator) -> Array:
        """Draw sets of inputs, one per row, from vectors that are orthogonal in groups."""
        p, k, size = self.p, len(self.p), len(self.right)
        powers = np.zeros(size)
        powers[: len(self.values)] = (self.values / self.values.max()) ** SMOOTH
        powers = np.maximum(powers, LEAST * powers.mean())
        groups = min(OUTPUTS, MOST_OUTPUTS // k)
        turns = [np.linalg.qr(rng.normal(size=(size, size)))[0] for _ in range(groups)]
        scores = (self.right.T * powers) @ np.hstack(turns) / np.sqrt(np.maximum(p, TINY))[:, None]
        order = np.argsort(-scores.T, axis=1)
        inside = np.cumsum(p[order], axis=1) <= (1 + 1e-12) / (self.ratio + 1)
        inside[:, 0] = True
        sets = np.zeros(order.shape)
        np.put_along_axis(sets, order, inside.astype(float), axis=1)
        return sets


class Descent:
    """A mechanism W with z_y ≤ W_xy ≤ E z_y, its error, and the gradient of the error."""

    def __init__(self, form: QueryProgram, sets: Array) -> None:
        E = math.exp(form.cone.epsilon)
        self.p, self.E = form.prior, E
        centred = form.queries - (form.queries @ form.prior)[:, None]  # as Jp = 1, that subtracts (c·p)²
        self.gram = centred.T @ centred
        columns = 1 + (E - 1) * sets.T
        self.z = np.full(len(sets), 1 / columns.sum(axis=1).mean())
        self.W = projected(columns * self.z, self.z, E)
        self.value, self.gradient = self._error(self.W)
        slope = self.gradient - self.gradient.mean(axis=1, keepdims=True)
        self.length = 0.02 * self.W.mean() / np.abs(slope).mean()

    def _error(self, W: Array) -> tuple[float, Array]:
        """Compute Σ_i c_iᵀJ⁻¹c_i − (c_i·p)² and its gradient; infinite where J is singular."""
        q = self.p @ W
        try:
            factor = cho_factor((W / q) @ W.T, lower=True)
        except np.linalg.LinAlgError:
            return math.inf, W
        solved = cho_solve(factor, self.gram)
        image = cho_solve(factor, solved.T) @ W
        return float(np.trace(solved)), np.outer(self.p, (W * image).sum(axis=0) / q**2) - 2 * image / q

    def round(self, expired: Callable[[], bool]) -> bool:
        """Take some steps; return whether they gained enough to go on."""
        before = self.value
        for _ in range(STEPS):
            if expired() or not self._step():
                return False
        return self.value < (1 - LEAST_GAIN) * before

    def _step(self) -> bool:
        """Move along the gradient, as far as that lowers the error; False if no length does."""
        W, z, E, slope = self.W, self.z, self.E, self.gradient
        low, high = W <= z * (1 + 1e-9), W >= E * z * (1 - 1e-9)
        free = ~(low | high)
        level = (slope * free).sum(axis=1) / np.maximum(free.sum(axis=1), 1)
        held = slope - level[:, None]  # what is gained where an end of the range moves with the level
        pull = (held * low).sum(axis=0) + E * (held * high).sum(axis=0)
        pull = (pull - pull.mean()) / len(W)
        while self.length * np.abs(slope).max() > 1e-15 * W.max():
            moved = np.maximum(z - self.length * pull, 0.7 * z)
            moved *= min(1.0, 0.999 / moved.sum()) * max(1.0, 1.001 / (E * moved.sum()))
            found = projected(W - self.length * slope, moved, E)
            value, gradient = self._error(found)
            if value < self.value:
                self.W, self.z, self.value, self.gradient = found, moved, value, gradient
                self.length *= 1.3
                return True
            self.length /= 2
        return False


def projected(R: Array, z: Array, E: float) -> Array:
    """Project every row to {z ≤ w ≤ E z, Σ w = 1}: cut R + a number for the row off at the ends.

    The number is found by halving and, near it, by Newton's method.

    Args:
        R: the rows.
        z: the lower ends; Σ z ≤ 1 ≤ E Σ z.
        E: the ratio of the ends.
    """
    low, high = (z - R).min(axis=1), (E * z - R).max(axis=1)
    shift = (low + high) / 2
    for step in range(HALVED):
        moved = R + shift[:, None]
        missing = 1 - np.clip(moved, z, E * z).sum(axis=1)
        if np.abs(missing).max() < 1e-14:
            break
        low, high = np.where(missing > 0, shift, low), np.where(missing < 0, shift, high)
        free = ((moved > z) & (moved < E * z)).sum(axis=1)
        newton = shift + missing / np.maximum(free, 1)
        inside = (free > 0) & (newton > low) & (newton < high) & (step > HALVED // 8)
        shift = np.where(inside, newton, (low + high) / 2)
    return np.clip(R + shift[:, None], z, E * z)
