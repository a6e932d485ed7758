"""The risk of users yet to come, in floats, beside the checker's whole numbers."""

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, stats
from scipy.special import rel_entr

from ldpopt.core.validate import Array


def statistical_exposure_ceiling(
    p_hat: ArrayLike, n: int, k: int, reach: float, *, support: int | None = None
) -> float:
    """Bound Q_p(n, k) from above if p̂ would be no more of a surprise than ``reach`` for any value.

    Σ_i max { x F(k−2; n−1, x) : kl(p̂_i, x) ≤ reach }, kl the divergence of two coins: the corrected
    Theorem 8 of Bravo-Hermsdorff et al. 2022 before it is linearised, with Chernoff's inequality for
    Hoeffding's. As kl(p, x) ≥ 2(x − p)², it is never above Q_p̂(n, k) + γ Σ L_i, γ = √(reach/2). Each
    term rises to one peak and falls after it. Splitting values into finer ones never lowers it.
    """
    frequencies = np.asarray(p_hat, float)
    unseen = 0 if support is None else support - len(frequencies)
    centres = np.append(frequencies, 0.0)
    worst = np.clip(_peak(n, k), _end(centres, reach, 0.0), _end(centres, reach, 1.0))
    terms = worst * stats.binom.cdf(k - 2, n - 1, worst)
    return min(1.0, float(terms[:-1].sum() + unseen * terms[-1]))


def _end(p: Array, reach: float, limit: float) -> Array:
    """Find the x between p and a limit, 0 or 1, with kl(p, x) = reach, by bisection."""
    near, far = p.astype(np.float64), np.full(len(p), limit)
    for _ in range(100):
        middle = (near + far) / 2
        beyond = rel_entr(p, middle) + rel_entr(1 - p, 1 - middle) > reach
        near, far = np.where(beyond, near, middle), np.where(beyond, middle, far)
    return near


def _peak(n: int, k: int) -> float:
    """Find the x where x F(k−2; n−1, x) is largest.

    There F = (k−1) b(k−1; n−1, x), once between 0 and (k−1)/(n−1).
    """
    if not 1 < k <= n:
        return 1.0

    def slope(x: float) -> float:
        return float(stats.binom.cdf(k - 2, n - 1, x) - (k - 1) * stats.binom.pmf(k - 1, n - 1, x))

    return float(optimize.brentq(slope, 0.0, (k - 1) / (n - 1), xtol=1e-15))
