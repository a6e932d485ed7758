"""Draws of P given the reports, for any mechanism and any number of reports: Hamiltonian Monte Carlo.

Let g have the density Π g_x^{α_x − 1} e^{−g_x} · Π_y (gW)_y^{s_y} on g > 0. Then P = g/Σg has the
posterior density (Lopuhaä-Zwakenberg et al. 2019, (9.1)), and Σg is an independent Gamma variable. In g
the likelihood is log-concave: what the reports fix, they fix to a thin *flat* slab, which one linear map
makes round.

Two difficulties remain: the pole of g_x^{α_x − 1} at 0, and frequencies that only the prior knows. There
g^{α − 1} ∝ g^{α + m − 1} ∫ λ^{m − 1} e^{−λ g} dλ, so λ_x, distributed as Gamma(m)/g_x given g, joins the
chain. Given λ the density is log-concave and vanishes at 0, and λ_x tells the scale of g_x: the mass
matrix follows it. A step draws λ given g (over-relaxed, Adler 1981), then moves g given λ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpotri
from scipy.special import gammainc, gammaincinv, ndtr, ndtri

from ldpopt.core.validate import Array

CHAINS = 8
WARM_UP, FIRST_ROUND = 300, 300
"""Steps that adapt the moves, and steps before the first diagnosis; each next one takes half as many
again as were made."""
STEPS, WORK = 16_000, 1e11
"""Sampling stops after this many steps of each chain or this many operations, converged or not."""

OVERRELAXATION = 0.95
UNFINISHED = "monte-carlo, not converged"
"""The method of a result whose chains did not agree before the limit on the work."""


@dataclass(frozen=True, eq=False)
class Draws:
    """Draws of P, [chain, step, value], with their diagnosis.

    Attributes:
        values: the draws.
        rhat: the largest split R̂ of any frequency.
        effective_size: the least number of independent draws that any mean is worth.
        steps: how many steps each chain took.
    """

    values: Array
    rhat: float
    effective_size: float
    steps: int

    @property
    def converged(self) -> bool:
        """Whether R̂ ≤ 1.01 and at least 1000 effective draws."""
        # converged: no frequency has a larger split R̂ or fewer effective draws
        return self.rhat <= 1.01 and self.effective_size >= 1000.0


def sample(columns: Array, alpha: Array, counts: Array, rng: np.random.Generator) -> Draws:
    """Draw until the chains have converged or the limit on the work is reached.

    The first quarter after warm-up is dropped.

    Args:
        columns: W[x, y]; every output that was reported has a positive entry.
        alpha: the parameters of the Dirichlet prior.
        counts: s_y ≥ 0, not necessarily whole (power posteriors need that).
        rng: the source of randomness.
    """
    walk = Walk(Target(columns, alpha, counts), CHAINS, rng)
    walk.warm_up(WARM_UP)
    values, every = np.empty((CHAINS, 0, len(alpha))), 1
    while True:
        length = max(FIRST_ROUND, (walk.steps - WARM_UP) // 2)
        values = np.concatenate([values, walk.run(length, every)], axis=1)
        late = values[:, values.shape[1] // 4 :]
        rhat, size = float(split_rhat(late).max()), float(effective_sizes(late).min())
        draws = Draws(late, rhat, size, walk.steps)
        if draws.converged or 1.5 * walk.steps > STEPS or 1.5 * walk.work > WORK:
            return draws
        # at least half as many draws of each chain are kept, evenly spaced
        if values.shape[1] > 1500:
            values, every = values[:, ::2], 2 * every


class Target:
    """The density of g in linear coordinates θ that make the likelihood round.

    Values are reordered: first the ``loose`` ones, whose frequency is not far above 0 on the scale of
    its uncertainty. For those θ is r = g/centre, which keeps its relative precision at 0; the others
    follow them by regression, and the rest of their θ is nearly standard normal.
    """

    def __init__(self, columns: Array, alpha: Array, counts: Array) -> None:
        seen = counts > 0
        W, self.counts = columns[:, seen], counts[seen].astype(np.float64)
        centre = _centre(W, alpha, self.counts)
        V = centre[:, None] * W
        spread = np.sqrt(np.diag(np.linalg.inv(_precision(V, self.counts) + np.diag(alpha))))
        # a frequency at least six standard deviations above 0 needs no λ
        loose = spread > 1 / 6
        self.order = np.argsort(~loose, kind="stable")
        self.loose = b = int(loose.sum())
        self.alpha, self.centre, V = alpha[self.order], centre[self.order], V[self.order]
        # α + m where α < 2.5: the larger it is, the rounder is the density given λ, but the less g can
        # move
        self.extra = np.maximum(3.5 - self.alpha[:b], 1.0)
        self.shape = self.alpha[:b] + self.extra
        self.power = np.concatenate([self.shape, self.alpha[b:]]) - 1
        self.q = V.sum(axis=0)
        H = _precision(V, self.counts)
        root = np.linalg.cholesky(H[b:, b:] + np.diag(self.alpha[b:]))
        half = solve_triangular(root, H[b:, :b], lower=True)
        self.schur = H[:b, :b] - half.T @ half
        self.schur.flat[:: b + 1] += 4e-16 * np.trace(H)  # what the difference lost to rounding
        self.map = np.eye(len(alpha))
        self.map[b:, :b] = -solve_triangular(root.T, half)
        self.map[b:, b:] = solve_triangular(root.T, np.eye(len(root)))
        self.output_map: Array = self.map.T @ V
        self.origin = np.concatenate([np.ones(b), np.zeros(len(root))])  # θ at the centre
        self.offset = np.concatenate([np.zeros(b), 1 - self.map[b:, :b].sum(axis=1)])

    @property
    def size(self) -> int:
        """The number of values."""
        return len(self.alpha)

    def relative(self, theta: Array) -> Array:
        """Compute r = g/centre of every row."""
        return self.offset + theta @ self.map.T

    def outputs(self, theta: Array) -> Array:
        """Compute gW of the outputs that were reported, of every row."""
        return self.q + (theta - self.origin) @ self.output_map

    def log_density(self, theta: Array, scales: Array) -> Array:
        """Evaluate the logarithm of the density of θ given λ; −∞ outside of g > 0."""
        r, q = self.relative(theta), self.outputs(theta) / self.q
        inside = (r > 0).all(axis=1) & (q > 0).all(axis=1)
        r, q = np.where(inside[:, None], r, 1.0), np.where(inside[:, None], q, 1.0)
        value = np.log(r) @ self.power + np.log(q) @ self.counts - (r - 1) @ self.centre
        value -= (scales * r[:, : self.loose]).sum(axis=1)
        return np.where(inside, value, -np.inf)

    def force(self, theta: Array, scales: Array) -> Array:
        """Compute the gradient of the logarithm of the density."""
        pull = self.power / self.relative(theta) - self.centre
        pull[:, : self.loose] -= scales
        ratio = self.counts / self.outputs(theta)
        return ratio @ self.output_map.T + pull @ self.map

    def frequencies(self, theta: Array) -> Array:
        """Compute P = g/Σg of every row, in the given order of the values."""
        g = np.empty_like(theta)
        g[:, self.order] = self.relative(theta) * self.centre
        return g / g.sum(axis=1, keepdims=True)


def _precision(V: Array, counts: Array) -> Array:
    """Compute the information Σ_y s_y V_y V_yᵀ / q_y² about log g, q = 1·V."""
    q = V.sum(axis=0)
    return (V * (counts / q**2)) @ V.T


def _centre(columns: Array, alpha: Array, counts: Array) -> Array:
    """Find the mode of log g: maximise Σ α log g + Σ s log gW − Σ g by Newton's method."""
    g = np.full(len(alpha), (alpha.sum() + counts.sum()) / len(alpha))
    for _ in range(100):
        V = g[:, None] * columns
        q = V.sum(axis=0)
        gradient = alpha + V @ (counts / q) - g
        step = np.linalg.solve(_precision(V, counts) + np.diag(alpha), gradient)
        slope, change = float(gradient @ step), step @ V / q
        if slope < 1e-6:
            break
        length = min(1.0, 0.95 / max(-step.min(), 0.95))
        for _ in range(40):
            rise = alpha @ np.log1p(length * step) + counts @ np.log1p(length * change)
            if rise - length * float(g @ step) >= 0.1 * length * slope:
                break
            length /= 2
        g = g * (1 + length * step)
    return g


class Walk:
    """Independent chains side by side, one per row.

    Attributes:
        steps: how many steps were taken.
        work: how many floating-point operations, roughly.
    """

    def __init__(self, target: Target, chains: int, rng: np.random.Generator) -> None:
        self.target, self.rng, self.steps, self.work = target, rng, 0, 0.0
        self._leap = 0.3
        self._theta = self._starts(chains)
        r = target.relative(self._theta)[:, : target.loose]
        self._scales = rng.standard_gamma(target.extra, r.shape) / r

    def warm_up(self, steps: int) -> None:
        """Make steps that choose the leap for the wanted acceptance: dual averaging (Nesterov 2009)."""
        start = chosen = math.log(self._leap)
        excess = 0.0
        for i in range(1, steps + 1):
            # the wanted acceptance is 0.75
            excess += (0.75 - self._step() - excess) / (i + 10)
            tried = min(start - 20 * math.sqrt(i) * excess, 0.0)
            chosen += i**-0.75 * (tried - chosen)
            self._leap = math.exp(tried)
        self._leap = math.exp(chosen)

    def run(self, steps: int, every: int) -> Array:
        """Take steps, and return P after each ``every``-th of them, as [chain, step, value]."""
        draws = []
        for i in range(steps):
            self._step()
            if (i + 1) % every == 0:
                draws.append(self.target.frequencies(self._theta))
        return np.stack(draws, axis=1)

    def _starts(self, chains: int) -> Array:
        """Draw with twice the spread of the normal approximation; pull the draws inwards until g > 0."""
        b = self.target.loose
        away = 2 * self.rng.standard_normal((chains, self.target.size))
        root = np.linalg.cholesky(self.target.schur + np.diag(self.target.alpha[:b]))
        away[:, :b] = solve_triangular(root.T, away[:, :b].T).T
        while (outside := (self.target.relative(self.target.origin + away) <= 0).any(axis=1)).any():
            away[outside] *= 0.7
        return self.target.origin + away

    def _refresh_scales(self) -> None:
        """Draw λ given g: the normal score of λ g is reflected, with noise, so that g keeps moving."""
        r = self.target.relative(self._theta)[:, : self.target.loose]
        chance = gammainc(self.target.extra, self._scales * r)
        score = -OVERRELAXATION * ndtri(np.clip(chance, 1e-15, 1 - 1e-15))
        score += math.sqrt(1 - OVERRELAXATION**2) * self.rng.standard_normal(r.shape)
        self._scales = gammaincinv(self.target.extra, ndtr(score)) / r

    def _step(self) -> float:
        """Draw new λ, then a trajectory of θ, accepted or not; return the mean chance of acceptance."""
        self._refresh_scales()
        target, theta, b = self.target, self._theta, self.target.loose
        mass = np.repeat(target.schur[None], len(theta), axis=0)
        # given λ, and as the likelihood falls at the centre, r_x is like Gamma(shape)/(λ + α)
        mass[:, np.arange(b), np.arange(b)] += (self._scales + target.alpha[:b]) ** 2 / target.shape
        roots = np.linalg.cholesky(mass)
        momentum = self.rng.standard_normal(theta.shape)
        inverses, velocity = _inverses(roots), momentum.copy()
        velocity[:, :b] = (inverses @ (roots @ momentum[:, :b, None]))[:, :, 0]
        before = target.log_density(theta, self._scales) - (momentum**2).sum(axis=1) / 2
        with np.errstate(all="ignore"):  # a trajectory that leaves g > 0 may overflow: it is refused
            end, velocity = self._trajectory(velocity, inverses)
            velocity[:, :b] = (velocity[:, None, :b] @ roots)[:, 0]
            after = target.log_density(end, self._scales) - (velocity**2).sum(axis=1) / 2
        gain = after - before
        chance = np.exp(np.where(gain < 0, gain, 0.0)) * ~np.isnan(gain)
        accepted = self.rng.random(len(theta)) < chance
        self._theta = np.where(accepted[:, None], end, theta)
        self.steps += 1
        return float(chance.mean())

    def _trajectory(self, velocity: Array, inverse_mass: Array) -> tuple[Array, Array]:
        """Make leapfrog steps from the present θ, each chain with its own mass matrix."""
        target, theta, b = self.target, self._theta, self.target.loose
        chains, k = theta.shape
        leap = self._leap * self.rng.uniform(0.8, 1.2, (chains, 1))
        # the time of a trajectory; between a quarter and half of a period moves g furthest
        leaps = min(math.ceil(2.5 / self._leap), 100)

        def acceleration(at: Array) -> Array:
            force = target.force(at, self._scales)
            force[:, :b] = (inverse_mass @ force[:, :b, None])[:, :, 0]
            return force

        velocity = velocity + leap / 2 * acceleration(theta)
        for i in range(leaps):
            theta = theta + leap * velocity
            velocity = velocity + (leap if i < leaps - 1 else leap / 2) * acceleration(theta)
        self.work += chains * (float(b) ** 3 + leaps * (4 * k * (k + len(target.q)) + 2 * b**2))
        return theta, velocity


def _inverses(roots: Array) -> Array:
    """Invert the matrices whose Cholesky factors are given."""
    if not roots.size:
        return roots
    lower = np.stack([dpotri(root, lower=1)[0] for root in roots])
    return lower + np.swapaxes(np.tril(lower, -1), 1, 2)


# ---------------------------------------------------------------- diagnosis


def split_rhat(draws: Array) -> Array:
    """Compute the split R̂ of every quantity (Gelman et al. 2013, (11.4)).

    It is 1 if half-chains differ no more from each other than draws within them explain. The draws are
    [chain, step, quantity].
    """
    parts = _halves(draws)
    n = parts.shape[1]
    within = parts.var(axis=1, ddof=1).mean(axis=0)
    between = parts.mean(axis=1).var(axis=0, ddof=1)
    return np.sqrt((n - 1) / n + between / within)


def effective_sizes(draws: Array) -> Array:
    """Estimate how many independent draws the mean of every quantity is worth.

    Autocorrelations are summed in pairs as long as these fall and stay positive (Geyer 1992), with the
    variance between half-chains counted in (Gelman et al. 2013, Section 11.5).
    """
    parts = _halves(draws)
    c, n, k = parts.shape
    spectrum = np.fft.rfft(parts - parts.mean(axis=1, keepdims=True), 2 * n, axis=1)
    covariance = np.fft.irfft(np.abs(spectrum) ** 2, axis=1)[:, :n].mean(axis=0) / n
    within = covariance[0] * n / (n - 1)
    total = covariance[0] + parts.mean(axis=1).var(axis=0, ddof=1)
    correlation = 1 - (within - covariance) / total
    pairs = correlation[: n // 2 * 2].reshape(-1, 2, k).sum(axis=1)
    positive = np.logical_and.accumulate(pairs > 0, axis=0)
    falling = np.minimum.accumulate(np.where(positive, pairs, 0.0), axis=0)
    time = 2 * falling.sum(axis=0) - 1
    return c * n / np.maximum(time, 1 / math.log10(c * n))


def _halves(draws: Array) -> Array:
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, -half:]])
