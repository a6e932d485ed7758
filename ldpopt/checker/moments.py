"""φ and α of mechanisms, and the bounds that no mechanism is below (Pastore and Gastpar 2021)."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Context, Decimal, localcontext
from fractions import Fraction

from .arithmetic import exp_above
from .decimals import DIGITS, MARGIN, decimal
from .reading import UnreadableError
from .schema import Distribution

MOST_PROVEN = 12
"""The corners of the cone are listed where the file has a proof of its own."""


def read_source(values: list[float]) -> list[Decimal]:
    """The distribution p, positive, scaled to sum to 1 in 60 digits."""
    return source_of(Distribution(2, positive=True).read(values, "p"))


def source_of(p: list[Fraction]) -> list[Decimal]:
    """The exact distribution in 60 digits."""
    with localcontext(Context(prec=DIGITS)):
        return [decimal(x) for x in p]


def balanced_phi(k: int, m: int, E: Fraction) -> Fraction:
    """φ of a balanced design of block size m: all eigenvalues of W D⁻¹ Wᵀ but one are equal."""
    return 1 + ((k - 1) * (m * E + k - m) / (E - 1)) ** 2 / (m * (k - m))


def phi_bound_below(k: int, epsilon: float) -> Decimal:
    """A number just below min_m 1 + (K−1)² (mE + K − m)² / (m(K−m)(E−1)²), which no φ is below.

    W D⁻¹ Wᵀ has the eigenvalue 1, and its trace Σ_y ‖w_y‖²/c_y is at most K times the largest
    ‖v‖²/‖v‖₁² over columns v with entries in {1, E}; the harmonic mean of its other eigenvalues is at
    most the arithmetic one. Each term falls as E grows, so an E just above e^ε gives a lower bound.
    """
    with localcontext(Context(prec=DIGITS)):
        E = exp_above(epsilon)
        least = min(balanced_phi(k, m, E) for m in range(1, k))
        return Decimal(least.numerator) / Decimal(least.denominator) * (1 - MARGIN)


def phi_above(matrix: Sequence[Sequence[float]]) -> Decimal:
    """A number just above φ = tr((W D⁻¹ Wᵀ)⁻¹); infinite if that cannot be inverted."""
    with localcontext(Context(prec=DIGITS)):
        return sum(moments_above(matrix, [Decimal(1) for _ in matrix]), Decimal(0))


def moments_above(matrix: Sequence[Sequence[float]], p: Sequence[Decimal]) -> list[Decimal]:
    """Numbers just above the diagonal of M⁻¹, M = W diag(pW)⁻¹ Wᵀ; infinite if M has no inverse.

    R ≈ M⁻¹ by elimination with 60 digits. With F = M R − I, M⁻¹ = R(I + F)⁻¹, which differs from R by
    at most ‖R‖ ‖F‖ / (1 − ‖F‖) in the Frobenius norm.
    """
    with localcontext(Context(prec=DIGITS)):
        used = _used(matrix)
        M = _information(used, p)
        R = _inverse(M)
        if R is None:
            return [Decimal("Infinity") for _ in p]
        columns = list(zip(*R, strict=True))
        F = [[_dot(row, c) - (i == j) for j, c in enumerate(columns)] for i, row in enumerate(M)]
        off = _norm(F)
        if off > MARGIN:
            return [Decimal("Infinity") for _ in p]
        return [R[i][i] + 2 * _norm(R) * off + MARGIN for i in range(len(R))]


def _used(matrix: Sequence[Sequence[float]]) -> list[list[Decimal]]:
    """The matrix without the outputs that never occur."""
    columns = [column for column in zip(*matrix, strict=True) if any(column)]
    return [[Decimal(entry) for entry in row] for row in zip(*columns, strict=True)]


def _information(rows: list[list[Decimal]], p: Sequence[Decimal]) -> list[list[Decimal]]:
    q = [_dot(p, column) for column in zip(*rows, strict=True)]
    scaled = [[entry / c for entry, c in zip(row, q, strict=True)] for row in rows]
    return [[_dot(a, b) for b in scaled] for a in rows]


def _dot(a: Sequence[Decimal], b: Sequence[Decimal]) -> Decimal:
    return sum(map(Decimal.__mul__, a, b), Decimal(0))


def _norm(rows: Sequence[Sequence[Decimal]]) -> Decimal:
    return sum((_dot(row, row) for row in rows), Decimal(0)).sqrt()


def _inverse(M: list[list[Decimal]]) -> list[list[Decimal]] | None:
    """Gauss–Jordan elimination without pivoting: M is positive definite, or None is returned."""
    k = len(M)
    rows = [[*row, *(Decimal(i == j) for j in range(k))] for i, row in enumerate(M)]
    for i in range(k):
        pivot = rows[i][i]
        if pivot <= Decimal("1e-40"):
            return None
        rows[i] = [entry / pivot for entry in rows[i]]
        for j in range(k):
            factor = rows[j][i]
            if j != i and factor:
                rows[j] = [a - factor * b for a, b in zip(rows[j], rows[i], strict=True)]
    return [row[k:] for row in rows]


def alpha_of(moments: Sequence[Decimal], p: Sequence[Decimal], loss: str) -> Decimal:
    """α from the second moments; Pastore and Gastpar 2021, (20a)–(20c)."""
    if loss == "f-divergence":
        total = sum((m / x for m, x in zip(moments, p, strict=True)), Decimal(0))
        return (total - 1) / (len(p) - 1)
    if loss == "mse":
        return (sum(moments, Decimal(0)) - _dot(p, p)) / (1 - _dot(p, p))
    spread = sum((_root(m - x * x) for m, x in zip(moments, p, strict=True)), Decimal(0))
    return (spread / sum((_root(x - x * x) for x in p), Decimal(0))) ** 2


def alpha_above(matrix: Sequence[Sequence[float]], source: Sequence[Decimal], loss: str) -> Decimal:
    """A number just above α of the mechanism at the source p."""
    moments = moments_above(matrix, source)
    with localcontext(Context(prec=DIGITS)):
        return alpha_of(moments, source, loss) * (1 + MARGIN)


def _root(x: Decimal) -> Decimal:
    return x.sqrt() if x > 0 else Decimal(0)


def alpha_bound_below(p: Sequence[Decimal], epsilon: float, loss: str) -> Decimal:
    """A number just below Pastore and Gastpar 2021, (46), with φ* in place of Lemma 11.

    For f-divergences also (K − 1)/sinh²(ε/2), which no p beats: the harmonic mean of the eigenvalues
    of D^½ W diag(pW)⁻¹ Wᵀ D^½ but the first, 1, is at most their mean, and a column that is E on S and
    1 elsewhere adds at most max_s s(1−s)(E−1)²/(1+s(E−1))² = (E−1)²/4E to their sum.
    """
    k, least = len(p), phi_bound_below(len(p), epsilon)
    with localcontext(Context(prec=DIGITS)):
        low, high, square = min(p), max(p), _dot(p, p)
        if loss == "f-divergence":
            E = Decimal(epsilon).exp()
            everywhere = 4 * E * (k - 1) / (E - 1) ** 2
            found = max(Decimal(1), everywhere, (low / high * least - 1) / (k - 1))
        elif loss == "mse":
            found = (max(Decimal(1), low * least) - square) / (1 - square)
        else:
            clear = [_root(x - x * x) for x in p]
            at = min(range(k), key=lambda i: abs(p[i] - Decimal("0.5")))
            raised = _root(clear[at] ** 2 + max(least * low - 1, Decimal(0)))
            found = ((sum(clear, Decimal(0)) - clear[at] + raised) / sum(clear, Decimal(0))) ** 2
        return found * (1 - MARGIN)


def design_bound_below(
    p: Sequence[Decimal], epsilon: float, loss: str, Y: list[list[float]], beta: list[float]
) -> Decimal:
    """A number just below the α that Y and β prove: cost tr(C M⁻¹) ≥ tr(C Y)²/Σβ.

    tr(C M⁻¹) ≥ 2s tr(C Y) − s² tr(G M) for G = Y C Yᵀ and every s; tr(G M) = Σ_y w_yᵀ G w_y/(p·w_y) is
    at most Σβ if β·v ≥ vᵀ G v/(p·v) on the corners v ∈ {1, E}^K, which generate the cone of columns.
    """
    k = len(p)
    fits = len(Y) == k and all(len(row) == k for row in Y) and len(beta) == k
    if loss == "tv" or not fits or k > MOST_PROVEN:
        raise UnreadableError("the proof does not fit the question")
    with localcontext(Context(prec=DIGITS)):
        C = [1 / x if loss == "f-divergence" else Decimal(1) for x in p]
        rows = [[Decimal(y) for y in row] for row in Y]
        weighted = [[y * c for y, c in zip(row, C, strict=True)] for row in rows]
        G = [[_dot(a, b) for b in rows] for a in weighted]
        b, E = [Decimal(x) for x in beta], Decimal(epsilon).exp()
        for corner in range(2**k):
            v = [E if corner >> i & 1 else Decimal(1) for i in range(k)]
            gain = _dot(v, [_dot(row, v) for row in G])
            if _dot(b, v) * _dot(p, v) < gain + MARGIN * (1 + abs(gain)):
                return Decimal("-Infinity")
        trace = sum((rows[i][i] * C[i] for i in range(k)), Decimal(0))
        cost = trace**2 / sum(b, Decimal(0))
        moments = [cost / C[0] if i == 0 else Decimal(0) for i in range(k)]
        return alpha_of(moments, p, loss) * (1 - MARGIN)


def worst_alpha_above(matrix: Sequence[Sequence[float]], p0: float, loss: str) -> Decimal:
    """A number just above sup α over {p ≥ p0} of a square mechanism.

    Pastore and Gastpar 2021, Section 7.2. For an f-divergence and for the mean squared error all
    entries but one are p0 at the supremum; for total variation it is the bound (43).
    """
    k = len(matrix)
    with localcontext(Context(prec=DIGITS)):
        rows = _used(matrix)
        R = _inverse(_information(rows, [Decimal(1)] * k)) if rows and len(rows[0]) == k else None
        if R is None:
            return Decimal("Infinity")
        columns = [list(column) for column in zip(*rows, strict=True)]
        inverse = [[_dot(c, r) / sum(c, Decimal(0)) for r in R] for c in columns]
        squares = [[x * x for x in column] for column in zip(*inverse, strict=True)]
        Phi = [[_dot(row, column) for column in squares] for row in rows]
        low, high = Decimal(p0), 1 - (k - 1) * Decimal(p0)
        worst = Decimal(0)
        for i in range(k):
            p = [high if j == i else low for j in range(k)]
            moments = [_dot(p, column) for column in zip(*Phi, strict=True)]
            if loss == "tv":
                clear = (k - 1) * _root(low - low * low) + _root(high - high * high)
                worst = max(worst, (k * sum(moments, Decimal(0)) - 1) / clear**2)
            else:
                worst = max(worst, alpha_of(moments, p, loss))
        return worst * (1 + MARGIN)


def minimax_bound_below(k: int, epsilon: float, loss: str, p0: float) -> Decimal:
    """A number just below Pastore and Gastpar 2021, (48), (50), (54), with φ* in place of Lemma 11."""
    least = phi_bound_below(k, epsilon)
    with localcontext(Context(prec=DIGITS)):
        low = Decimal(p0)
        if loss == "f-divergence":
            found = (least - 1) / (k - 1)
        elif loss == "mse":
            found = 1 + (least / k - 1) / (low * (k - 1) * (2 - k * low))
        else:
            secant = Decimal(k - 1).sqrt() + (least - k) / (2 * (k * least - 1).sqrt())
            found = max((least - 1) / k, secant**2) / (k - 1)
        return found * (1 - MARGIN)
