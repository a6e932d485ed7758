"""The hardest of many distributions: the supremum of α over {p ≥ p0}, and what no mechanism can beat.

E = e^ε, K is the number of inputs, and the *vertices* of {p ≥ p0} are its K points whose entries are p0
but for one, which is h = 1 − (K−1) p0. Two classes of mechanisms occur: *square* ones (K outputs),
whose second moments pΦ(W) are linear in p, and *all* ε-LDP mechanisms, whose second moments are only
concave in p.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from ldpopt.core import validate
from ldpopt.core.exact import UNIT_BITS, EnclosedMatrix, convex_from, units_down
from ldpopt.core.validate import Array, InvalidInputError
from ldpopt.measures import estimation_fidelity
from ldpopt.measures.channel import square_matrix


class Supremum(NamedTuple):
    """sup α over {p ≥ p0}: a value attained at p, and a proven upper bound; equal where exact."""

    value: float
    bound: float
    p: Array


def worst_alpha(W: Any, p0: float, loss: str) -> Supremum:
    """Compute the supremum of α(W, p) over all p with entries ≥ p0, for a square W.

    It is attained at a vertex: for "f-divergence" by Pastore and Gastpar 2021, Lemma 10 and (36), for
    "mse" by (39)–(41). For "tv" the paper has the upper bound (43) only; here √α = N(p)/D(p), N = Σ
    √(pΦ_k − p_k²) and D = Σ √(p_k − p_k²), is at most t on {p ≥ p0} if it is at the vertices and N − tD
    is convex; ``convex_from`` in ``ldpopt/checker/kernel/proofs/worst_alpha.py`` says from which t on it
    is. The bound is the square of the larger of the two.

    Args:
        W: a square mechanism.
        p0: the least entry of p, above 0 and at most 1/K.
        loss: "f-divergence", "mse" or "tv".
    """
    Phi, (value, p) = estimation_fidelity.phi_matrix(square_matrix(W)), worst_vertex(W, p0, loss)
    bound = value
    if loss == "tv" and p0 < 1 / len(Phi):
        exact = EnclosedMatrix(
            [[units_down(x) for x in row] for row in Phi.tolist()], UNIT_BITS, Fraction(0)
        )
        bound = float(convex_from(exact, Fraction(p0), Fraction(math.sqrt(value)))) ** 2
    return Supremum(value, max(bound, value), p)


def worst_vertex(W: Any, p0: float, loss: str) -> tuple[float, Array]:
    """Compute the largest α(W, p) of the vertices p of {p ≥ p0}, for a square W, and that vertex.

    Args:
        W: a square mechanism.
        p0: the least entry of p, above 0 and at most 1/K.
        loss: "f-divergence", "mse" or "tv".
    """
    matrix = square_matrix(W)
    validate.choice("loss", loss, estimation_fidelity.LOSSES)
    points = vertices(len(matrix), p0)
    Phi = estimation_fidelity.phi_matrix(matrix)
    values = [estimation_fidelity.alpha_of(p @ Phi, p, loss) for p in points]
    best = int(np.argmax(values))
    return values[best], points[best]


def vertices(k: int, p0: float) -> Array:
    """List the vertices of {p ≥ p0} on K inputs, one in each row."""
    p0 = floor(p0, k)
    return np.full((k, k), p0) + (1 - k * p0) * np.eye(k)


def worst_step_alpha(k: int, epsilon: float, loss: str, p0: float) -> float:
    """Evaluate the closed forms for the step mechanism: Pastore and Gastpar 2021, (38), (42), (43).

    (38) corrected: (K−1)(E+K−2) where (K−1)(E+K−1) is printed; then it is the exact supremum. (42) is
    exact as well, (43) an upper bound.

    Args:
        k: the number K of inputs.
        epsilon: the level ε, in nats.
        loss: "f-divergence", "mse" or "tv".
        p0: the least entry of p.
    """
    k, E, p0 = validate.whole_number("k", k, 2), math.exp(validate.epsilon(epsilon)), floor(p0, k)
    validate.choice("loss", loss, estimation_fidelity.LOSSES)
    high = 1 - (k - 1) * p0
    if loss == "f-divergence":
        odds = p0 / high + high / p0
        bracket = E + (k - 1) * (E + k - 2) + odds * (k - 1)
        return ((E + k - 2) / (E - 1) ** 2 * bracket - k / (E - 1) - 1) / (k - 1)
    row = ((E + k - 1) * (E + k - 2) - (E - 1)) / (E - 1) ** 2
    if loss == "mse":
        return (row - 1) / (p0 * (k - 1) * (2 - k * p0)) + 1
    clear = (k - 1) * math.sqrt(p0 * (1 - p0)) + math.sqrt(high * (1 - high))
    return (k * row - 1) / clear**2


# ---------------------------------------------------------------- lower bounds


class SymmetricBound(NamedTuple):
    """A lower bound on sup α of all ε-LDP mechanisms, and the numbers that prove it.

    Attributes:
        bound: the bound.
        rest: the distribution is rest at all inputs but one.
        rows: (z, u, w): the vector of input 1 is z n, those of the others are u P e_k − w n.
        sizes: the sizes of the subsets in the best mixture of subset selections, one or two.
    """

    bound: float
    rest: float
    rows: tuple[float, float, float]
    sizes: tuple[int, ...]


def symmetric_bound(k: int, epsilon: float, loss: str, p0: float) -> SymmetricBound:
    """Bound the supremum of α over {p ≥ p0} from below for every ε-LDP mechanism, whatever its outputs.

    Lemma. Let p_1, …, p_K be the distributions with one entry h' and the others l, M_i = W diag(p_iW)⁻¹
    Wᵀ, and Σ_i = M_i⁻¹ − p_i p_iᵀ, so that α(W, p_i) is a function of the variances Σ_i,kk. For vectors
    y_k that sum to 0, (Σ_i)_kk ≥ y_kk²/D_ik with D_ik = y_kᵀ M_i y_k = Σ_y (y_k·w_y)²/(p_i·w_y), by
    Cauchy–Schwarz (Σ_i is the inverse of M_i on that space). Let the y_k of p_i be those of p_1 with i
    and 1 swapped; with n = (K−1, −1, …, −1) and P the projection to the vectors that are 0 at 1 and sum
    to 0, they are

        y_1 = z n,    y_k = u P e_k − w n for k > 1.

    With C_k = 1/p_k for "f-divergence" and 1 else, Γ(v) = Σ_i Σ_k C_k (y_k·v)²/(p_i·v) is sublinear and
    does not change when inputs are permuted. So Σ_i Σ_k C_k D_ik = Σ_y Γ(w_y) ≤ K B with B the largest
    Γ(v)/|v|₁ of the columns v that are E on m inputs and 1 on the others, m = 0, …, K. Therefore the
    mean over i of

        Σ_k C_k (Σ_i)_kk is at least (Σ_k C_k y_kk)²/B,
        Σ_k √(Σ_i)_kk    is at least (Σ_k y_kk^{2/3})^{3/2}/√B

    (Cauchy–Schwarz and Hölder over k, then convexity of 1/x and 1/√x in i), and the supremum of α is at
    least the mean of α, or of √α, over p_1, …, p_K. ∎

    The best numbers come from the best mixture of subset selections at p_1: there all steps are
    equalities, so no smaller supremum over p_1, …, p_K can be reached. "tv" tries several h', the other
    losses h.

    Args:
        k: the number K of inputs.
        epsilon: the level ε, in nats.
        loss: "f-divergence", "mse" or "tv".
        p0: the least entry of p.
    """
    k, p0 = validate.whole_number("k", k, 2), floor(p0, k)
    epsilon = validate.epsilon(epsilon)
    validate.choice("loss", loss, estimation_fidelity.LOSSES)
    rests = [p0] if loss != "tv" else [p0, *(p0 + (1 / k - p0) * np.array([0.02, 0.1, 0.3, 0.6]))]
    return max(
        (_at_rest(k, epsilon, loss, float(rest)) for rest in rests), key=lambda found: found.bound
    )


def _at_rest(k: int, epsilon: float, loss: str, rest: float) -> SymmetricBound:
    peak = 1 - (k - 1) * rest
    flat, round_ = gains(k, epsilon, rest)
    first, other = (1 / peak, 1 / rest) if loss == "f-divergence" else (1.0, 1.0)

    def variances(i: int, j: int, share: float) -> tuple[float, float]:
        """Compute x and y of Σ = x P + y n nᵀ for a mixture of subset selections of two sizes."""
        turn = share * flat[i] + (1 - share) * flat[j]
        return (k - 2) / turn if turn > 0 else 0.0, 1 / (share * round_[i] + (1 - share) * round_[j])

    def cost(i: int, j: int, share: float) -> float:
        x, y = variances(i, j, share)
        own, others = (k - 1) ** 2 * y, x * (k - 2) / (k - 1) + y
        if loss == "tv":
            return math.sqrt(own) + (k - 1) * math.sqrt(others)
        return first * own + other * (k - 1) * others

    best = (math.inf, 1, 1, 1.0)
    near = [m for m in range(1, k) if flat[m] > 0 or k == 2]
    singles = sorted(near, key=lambda m: cost(m, m, 1.0))[:6]
    for i, j in combinations_with_replacement(singles, 2):
        found = minimize_scalar(lambda t, i=i, j=j: cost(i, j, t), bounds=(0, 1), method="bounded")
        for share in (1.0, float(found.x)):
            best = min(best, (cost(i, j, share), i, j, share))
    _, i, j, share = best
    x, y = variances(i, j, share)
    own, others = (k - 1) ** 2 * y, x * (k - 2) / (k - 1) + y
    scale = (own**-0.25, others**-0.25) if loss == "tv" else (1.0, 1.0)
    rows = (scale[0] * (k - 1) * y, scale[1] * x, scale[1] * y)
    sizes = (i,) if share == 1.0 or i == j else tuple(sorted((i, j)))
    return SymmetricBound(proven(k, epsilon, loss, rest, rows), rest, rows, sizes)


def proven(k: int, epsilon: float, loss: str, rest: float, rows: tuple[float, float, float]) -> float:
    """Compute the bound that z, u and w prove at such a distribution, see :func:`symmetric_bound`.

    Args:
        k: the number K of inputs.
        epsilon: the level ε, in nats.
        loss: "f-divergence", "mse" or "tv".
        rest: the entry l of the distribution at all inputs but one.
        rows: z, u and w.
    """
    z, u, w = rows
    peak = 1 - (k - 1) * rest
    flat, round_ = gains(k, epsilon, rest)
    first, other = (1 / peak, 1 / rest) if loss == "f-divergence" else (1.0, 1.0)
    most = (other * u * u * flat + (first * z * z + other * (k - 1) * w * w) * round_).max()
    own, others = (k - 1) * z, u * (k - 2) / (k - 1) + w
    if loss == "tv":
        clear = math.sqrt(peak * (1 - peak)) + (k - 1) * math.sqrt(rest * (1 - rest))
        return float((own ** (2 / 3) + (k - 1) * others ** (2 / 3)) ** 3 / most / clear**2)
    cost = (first * own + other * (k - 1) * others) ** 2 / most
    clear = k - 1 if loss == "f-divergence" else (k - 1) * rest * (2 - k * rest)
    return float(cost / clear)


def gains(k: int, epsilon: float, rest: float) -> tuple[Array, Array]:
    """Compute Σ_i vᵀP_iv/(p_i·v)/|v|₁ and Σ_i (n_i·v)²/(p_i·v)/|v|₁.

    The column v has m = 0..K entries E.

    Args:
        k: the number K of inputs.
        epsilon: the level ε, in nats.
        rest: the entry l of the distribution at all inputs but one.
    """
    m = np.arange(k + 1)
    excess, peak = math.expm1(epsilon), 1 - (k - 1) * rest
    inside = 1 + excess * (peak + rest * (m - 1))  # p_i·v if i is one of the m
    outside = 1 + excess * rest * m
    size = k + excess * m
    turn = m * (m - 1) * (k - m) / inside + (k - m) * m * (k - 1 - m) / outside
    swing = m * (k - m) ** 2 / inside + (k - m) * m**2 / outside
    return excess**2 * turn / (k - 1) / size, excess**2 * swing / size


def floor(p0: float, k: int) -> float:
    """Check a least probability: it must leave a distribution on k inputs."""
    p0 = validate.positive_number("p0", p0)
    if p0 > 1 / k:
        raise InvalidInputError(f"p0 must be at most 1/{k} for {k} inputs, not {p0:g}")
    return p0
