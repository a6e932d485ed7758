"""The checker's section on asymptotic utility: decides results about the best protocol under a prior.

Standard library and :mod:`ldpopt.checker` only. Privacy is decided exactly; utilities are floats with
the stated tolerance, as they rest on logarithms of determinants.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from operator import mul
from typing import Any, NamedTuple

from .frame import (
    FORMS,
    KINDS,
    MAX_EPSILON,
    Claim,
    UnreadableError,
    agreement,
    is_private,
    is_stochastic,
    read_matrix,
    read_number,
    read_numbers,
)

LEVELS = 8
"""With a floor on the average privacy, columns of this many levels up to ε take part."""
FREE_EPSILON = 10.0
"""The largest level where ε is free."""


def _asymptotic_utility(params: dict[str, Any]) -> dict[str, Any]:
    floor, epsilon = params.get("min_average_privacy"), params.get("epsilon", FREE_EPSILON)
    count = 1 if floor is None else LEVELS
    return {
        "form": "convex-program",
        "alpha": params["alpha"],
        "epsilon": epsilon,
        "levels": [epsilon * (j + 1) / count for j in range(count)],
        "floor": floor,
    }


class DesignStatement(NamedTuple):
    """Maximise the discretised asymptotic utility of ε-LDP mechanisms.

    Lopuhaä-Zwakenberg et al. 2019, (6.1). With the points p_i and weights w_i of `prior_points` in place
    of the expectation it is −½ log 2πe + Σ_i w_i log det J(p_i)/(2k − 2), J(p) = Σ_y W_y W_yᵀ/(W_y·p).
    The weights are such that randomised response has no discretisation error. If all α are equal, every
    p_i stands for all its permutations.
    """

    alpha: tuple[float, ...]
    epsilon: float
    levels: tuple[float, ...]
    floor: float | None


DESIGN_TOLERANCE = 1e-9
MOST_VALUES, LEAST_ALPHA, MOST_ALPHA = 64, 1e-2, 1e4
"""Beyond these the sums here would not finish or lose their precision."""
HALF_LOG_2PIE = 0.5 * math.log(2 * math.pi * math.e)


def read_design_statement(plain: dict[str, Any]) -> DesignStatement:
    """The statement of a convex program, every part of it checked."""
    alpha = tuple(read_numbers(list(plain["alpha"]), "alpha"))
    epsilon, floor = read_number(plain["epsilon"], "epsilon"), plain["floor"]
    if not 2 <= len(alpha) <= MOST_VALUES or not LEAST_ALPHA <= min(alpha) <= max(alpha) <= MOST_ALPHA:
        raise UnreadableError(f"alpha {alpha} is no Dirichlet parameter that can be checked")
    if not 0 < epsilon <= MAX_EPSILON:
        raise UnreadableError(f"epsilon {epsilon} is not in (0, {MAX_EPSILON:g}]")
    if floor is not None and not 0 <= read_number(floor, "min_average_privacy") < 1:
        raise UnreadableError(f"min_average_privacy {floor} is not in [0, 1)")
    return DesignStatement(alpha, epsilon, tuple(read_numbers(plain["levels"], "levels")), floor)


def prior_points(alpha: Sequence[float], epsilon: float) -> tuple[list[list[float]], list[float]]:
    """Points and weights for expectations under Dirichlet(α), the same on every machine to rounding.

    Up to five values Gauss rules for the beta variables of stick-breaking, beyond fixed random draws.
    Then the weights are calibrated (as in survey sampling) such that Σ_x E log(1 + β P_x), on which the
    utility of randomised response rests, is exact for β = e^δ − 1 with δ = ε, ε/2, ε/4, and up to eight
    values also its like for pairs and triples of values.
    """
    points, weights = _raw_points(alpha)
    singles = [(1, math.expm1(epsilon / divisor)) for divisor in (1, 2, 4)]
    larger = [(m, math.expm1(epsilon)) for m in (2, 3) if m <= len(alpha) // 2 and len(alpha) <= 8]
    for controls in (singles + larger, singles, singles[:1]):
        rows = [[_set_sum(p, m, beta) for m, beta in controls] for p in points]
        exact = [_expected_sum(alpha, m, beta) for m, beta in controls]
        calibrated = _calibrated(weights, rows, exact)
        if min(calibrated) > 0:
            return points, calibrated
    return points, weights


def _raw_points(alpha: Sequence[float]) -> tuple[list[list[float]], list[float]]:
    k = len(alpha)
    if k > 5:
        count = 96 if k <= 8 else 24
        return list(_draws(alpha, count)), [1 / count] * count
    order = {2: 60, 3: 12, 4: 6, 5: 4}[k]
    points: list[tuple[list[float], float, float]] = [([], 1.0, 1.0)]
    for x in range(k - 1):
        rule = _gauss_beta(alpha[x], math.fsum(alpha[x + 1 :]), order)
        points = [([*p, left * z], left * (1 - z), w * v) for p, left, w in points for z, v in rule]
    return [[*p, left] for p, left, _ in points], [w for _, _, w in points]


def _set_sum(p: Sequence[float], m: int, beta: float) -> float:
    """Σ log(1 + β p(S)) over the sets S of size m."""
    return math.fsum(math.log1p(beta * math.fsum(S)) for S in combinations(p, m))


def _expected_sum(alpha: Sequence[float], m: int, beta: float) -> float:
    """Σ E log(1 + β P(S)) over the sets S of size m; P(S) is Beta(α(S), A − α(S))."""
    A, counts = math.fsum(alpha), Counter(math.fsum(S) for S in combinations(alpha, m))
    return math.fsum(n * expected_log((a, A - a), (1 + beta, 1.0)) for a, n in counts.items())


def _calibrated(weights: list[float], rows: list[list[float]], exact: list[float]) -> list[float]:
    """Weights w_i (1 + λ·(f_i − mean)) under which the means of the rows f_i are exact."""
    size = range(len(exact))
    mean = [math.fsum(w * row[a] for w, row in zip(weights, rows, strict=True)) for a in size]
    centred = [[row[a] - mean[a] for a in size] for row in rows]
    table = [
        [math.fsum(w * f[a] * f[b] for w, f in zip(weights, centred, strict=True)) for b in size]
        + [exact[a] - mean[a]]
        for a in size
    ]
    factors = _solved(table)
    return [w * (1 + sum(map(mul, factors, f))) for w, f in zip(weights, centred, strict=True)]


def _solved(table: list[list[float]]) -> list[float]:
    """Gauss–Jordan elimination of [A | b]."""
    size = len(table)
    for i in range(size):
        best = max(range(i, size), key=lambda r: abs(table[r][i]))
        table[i], table[best] = table[best], table[i]
        pivot = table[i][i] or 1e-300
        table[i] = [entry / pivot for entry in table[i]]
        for r in range(size):
            if r != i:
                factor = table[r][i]
                table[r] = [a - factor * b for a, b in zip(table[r], table[i], strict=True)]
    return [row[-1] for row in table]


def _gauss_beta(a: float, b: float, order: int) -> list[tuple[float, float]]:
    """Gauss quadrature for Beta(a, b): eigenvalues of the Jacobi matrix by bisection."""
    A, B = b - 1, a - 1
    diagonal, off = [(B - A) / (A + B + 2)], [0.0]
    for n in range(1, order):
        s = 2 * n + A + B
        diagonal.append((B * B - A * A) / (s * (s + 2)))
        ratio = 1.0 if n == 1 else (n + A + B) / (s - 1)
        off.append(4 * n * (n + A) * (n + B) * ratio / (s * s * (s + 1)))
    return [_gauss_node(diagonal, off, index) for index in range(order)]


def _gauss_node(diagonal: list[float], off: list[float], index: int) -> tuple[float, float]:
    low, high = -1.0, 1.0
    for _ in range(60):
        middle, d, below = (low + high) / 2, 1.0, 0
        for a, b in zip(diagonal, off, strict=True):
            d = a - middle - b / (d or 1e-300)
            below += d < 0
        low, high = (low, middle) if below > index else (middle, high)
    x, previous, p, total = (low + high) / 2, 0.0, 1.0, 1.0
    for n in range(len(diagonal) - 1):
        following = (x - diagonal[n]) * p - math.sqrt(off[n]) * previous
        previous, p = p, following / math.sqrt(off[n + 1])
        total += p * p
    return (1 + x) / 2, 1 / total


def _draws(alpha: Sequence[float], count: int) -> Iterator[list[float]]:
    """Dirichlet draws from the uniform numbers of Python's generator with seed 0."""
    uniform = random.Random(0).random
    for _ in range(count):
        gammas = [_gamma(a, uniform) for a in alpha]
        yield [g / math.fsum(gammas) for g in gammas]


def _gamma(alpha: float, uniform: Callable[[], float]) -> float:
    """A Gamma(α) draw by the method of Marsaglia and Tsang 2000."""
    if alpha < 1:
        boost = float((1 - uniform()) ** (1 / alpha))
        return max(boost * _gamma(alpha + 1, uniform), 1e-200)
    d = alpha - 1 / 3
    while True:
        radius = math.sqrt(-2 * math.log(1 - uniform()))
        normal = radius * math.cos(2 * math.pi * uniform())
        v = (1 + normal / math.sqrt(9 * d)) ** 3
        if v > 0 and math.log(1 - uniform()) < normal * normal / 2 + d - d * v + d * math.log(v):
            return d * v


def expected_log(alpha: Sequence[float], v: Sequence[float]) -> float:
    """E log(v·P) = ∫ ((1+t)^−A − Π (1 + t v_x)^−α_x) dt/t for v ≥ 1, the trapezoidal rule in log t."""
    A, total = math.fsum(alpha), 0.0
    for step in range(-160, 160 + int(160 / min(A, 1.0))):
        u = step / 4
        grow = A * _log1pexp(u)
        form = math.fsum(a * _log1pexp(u + math.log(w)) for a, w in zip(alpha, v, strict=True))
        total -= math.exp(-grow) * math.expm1(grow - form)
    return total / 4


def _log1pexp(x: float) -> float:
    return x if x > 40 else math.log1p(math.exp(x))


def leakage(alpha: Sequence[float], v: Sequence[float]) -> float:
    """Σ_x m_x v_x (log v_x − E' log(v·P)), E' under α + e_x, m the mean: what a column tells about X."""
    A, total = math.fsum(alpha), 0.0
    for x, (a, w) in enumerate(zip(alpha, v, strict=True)):
        raised = [b + (x == z) for z, b in enumerate(alpha)]
        total += a / A * w * (math.log(w) - expected_log(raised, v))
    return total


def _expected_entropy(alpha: Sequence[float]) -> float:
    """H(X | P) = −Σ_x m_x E' log P_x, through E' log P_x = ψ(α_x + 1) − ψ(A + 1)."""
    A = math.fsum(alpha)
    return _digamma(A + 1) - math.fsum(a / A * _digamma(a + 1) for a in alpha)


def _digamma(x: float) -> float:
    shift = 0.0
    while x < 20:
        shift, x = shift - 1 / x, x + 1
    s = 1 / (x * x)
    return shift + math.log(x) - 0.5 / x - s * (1 / 12 - s * (1 / 120 - s * (1 / 252 - s / 240)))


Matrix = list[list[float]]


class Atom(NamedTuple):
    """A column of entries 1 and e^level; with equal α it stands for all columns with m high entries."""

    label: tuple[Any, ...]
    column: list[float]


def _design_atoms(question: DesignStatement) -> list[Atom]:
    """All columns of the class; with equal α one per level and number of high entries."""
    k, equal = len(question.alpha), len(set(question.alpha)) == 1
    if not equal and k > 10:
        raise UnreadableError("unequal alpha with more than ten values")
    atoms = [Atom((0, 0), [1.0] * k)]
    for j, level in enumerate(question.levels):
        E = math.exp(level)
        if equal:
            atoms += [Atom((j, m), [E] * m + [1.0] * (k - m)) for m in range(1, k)]
        else:
            masks = range(1, 2**k - 1)
            columns = ([E if mask >> (k - 1 - x) & 1 else 1.0 for x in range(k)] for mask in masks)
            atoms += [Atom((j, mask), column) for mask, column in zip(masks, columns, strict=True)]
    return atoms


def _design_blocks(question: DesignStatement, p: list[float]) -> dict[tuple[Any, ...], Matrix]:
    """v vᵀ/(v·p) for every atom, averaged over the columns that it stands for."""
    blocks: dict[tuple[Any, ...], Matrix] = {}
    if len(set(question.alpha)) == 1:
        for j, level in enumerate(question.levels):
            averages = _listed_averages if len(p) <= 8 else _set_averages
            for m, block in enumerate(averages(p, math.expm1(level))):
                blocks[j, m] = block
        return blocks
    for atom in _design_atoms(question):
        q = math.fsum(a * b for a, b in zip(atom.column, p, strict=True))
        blocks[atom.label] = [[a * b / q for b in atom.column] for a in atom.column]
    return blocks


def _listed_averages(p: list[float], c: float) -> list[Matrix]:
    """The average of v vᵀ/(v·p), v = 1 + c 1_S, over the sets S of each size 0 … k, by listing them."""
    k = len(p)
    sums = [[[0.0] * k for _ in range(k)] for _ in range(k + 1)]
    for mask in range(2**k):
        v = [1 + c * (mask >> x & 1) for x in range(k)]
        block, q = sums[mask.bit_count()], sum(map(mul, v, p))
        for x in range(k):
            row, share = block[x], v[x] / q / math.comb(k, mask.bit_count())
            for z in range(k):
                row[z] += share * v[z]
    return sums


def _set_averages(p: list[float], c: float) -> list[Matrix]:
    """The average of v vᵀ/(v·p), v = 1 + c 1_S, over the sets S of each size 0 … k, unlisted.

    1/(1 + c p(S)) = ∫ e^{−t} Π_{x∈S} z_x dt with z_x = e^{−t c p_x}, so sums over sets are elementary
    symmetric polynomials of z; t = exp(τ − e^{−τ}) makes the trapezoidal rule converge at once.
    """
    k = len(p)
    empty = [0.0] * (k + 1)
    both = [[[0.0] * (k + 1) for _ in range(k)] for _ in range(k)]
    for step in range(-70, 64):
        tau = 0.06 * step
        t = math.exp(tau - math.exp(-tau))
        scale = 0.06 * t * (1 + math.exp(-tau)) * math.exp(-t)
        if scale < 1e-18:
            continue
        z = [math.exp(-t * c * q) for q in p]
        e = _symmetric_polynomials(z)
        empty = [s + scale * value for s, value in zip(empty, e, strict=True)]
        for x in range(k):
            without = _divided(e, z[x])
            for w in range(x, k):
                rest = without if w == x else _divided(without, z[w])
                factor, shift = (scale * z[x], 1) if w == x else (scale * z[x] * z[w], 2)
                row = both[x][w]
                for m in range(shift, k + 1):
                    row[m] += factor * rest[m - shift]
    return [
        [
            [
                (empty[m] + c * (both[x][x][m] + both[w][w][m]) + c * c * both[min(x, w)][max(x, w)][m])
                / math.comb(k, m)
                for w in range(k)
            ]
            for x in range(k)
        ]
        for m in range(k + 1)
    ]


def _symmetric_polynomials(z: list[float]) -> list[float]:
    e = [1.0] + [0.0] * len(z)
    for i, value in enumerate(z):
        for m in range(i + 1, 0, -1):
            e[m] += value * e[m - 1]
    return e


def _divided(e: list[float], z: float) -> list[float]:
    """The polynomial Σ e_m y^m divided by 1 + z y; z ≤ 1, so errors do not grow."""
    q = [e[0]]
    for m in range(1, len(e) - 1):
        q.append(e[m] - z * q[-1])
    return [*q, 0.0]


def _cholesky(matrix: Matrix) -> Matrix | None:
    k = len(matrix)
    L = [[0.0] * k for _ in range(k)]
    for i in range(k):
        for j in range(i + 1):
            rest = matrix[i][j] - math.fsum(L[i][m] * L[j][m] for m in range(j))
            if i == j and rest <= 0:
                return None
            L[i][j] = math.sqrt(rest) if i == j else rest / L[j][j]
    return L


def _inverse(L: Matrix) -> Matrix:
    """The inverse of L Lᵀ."""
    k = len(L)
    inverse = [[0.0] * k for _ in range(k)]
    for column in range(k):
        y = [0.0] * k
        for i in range(k):
            y[i] = (float(i == column) - math.fsum(L[i][m] * y[m] for m in range(i))) / L[i][i]
        for i in reversed(range(k)):
            tail = math.fsum(L[m][i] * inverse[m][column] for m in range(i + 1, k))
            inverse[i][column] = (y[i] - tail) / L[i][i]
    return inverse


def design_utility(matrix: Sequence[Sequence[float]], question: DesignStatement) -> float:
    """The discretised asymptotic utility of a mechanism; −inf if some J(p_i) is singular."""
    k = len(question.alpha)
    columns = [list(column) for column in zip(*matrix, strict=True) if any(column)]
    classes = _set_classes(columns) if len(columns) > 2000 and _treats_alike(matrix) else None
    total = []
    for p, w in zip(*prior_points(question.alpha, question.epsilon), strict=True):
        L = _cholesky(_information(columns, p) if classes is None else _class_information(classes, p))
        if L is None:
            return -math.inf
        total.append(2 * w * math.fsum(math.log(L[x][x]) for x in range(k)))
    return -HALF_LOG_2PIE + math.fsum(total) / (2 * k - 2)


def _information(columns: list[list[float]], p: list[float]) -> Matrix:
    """The lower half of J(p) = Σ_y W_y W_yᵀ/(W_y·p)."""
    k = len(p)
    J = [[0.0] * k for _ in range(k)]
    for column in columns:
        q = sum(map(mul, column, p))
        for x in range(k):
            share, row = column[x] / q, J[x]
            for z in range(x + 1):
                row[z] += share * column[z]
    return J


Classes = dict[tuple[float, int], float]


def _set_classes(columns: list[list[float]]) -> Classes | None:
    """Columns low·(1 + c 1_S) by c and size of S, with the sum of their lows; None if some is not so.

    Entries and ratios that agree to a relative 1e-10 count as equal: the rounding of the stored matrix.
    """
    found: dict[tuple[str, int], list[tuple[float, float]]] = {}
    for column in columns:
        ordered = sorted(column)
        size = sum(entry - ordered[0] > ordered[-1] - entry for entry in column)
        lows, highs = ordered[: len(column) - size], ordered[len(column) - size :]
        if any(part[-1] - part[0] > 1e-10 * part[-1] for part in (lows, highs) if part):
            return None
        low = math.fsum(lows) / len(lows)
        c = math.fsum(highs) / len(highs) / low - 1 if highs else 0.0
        found.setdefault((f"{c:.8e}", size), []).append((low, c))
    classes: Classes = {}
    for (_, size), members in found.items():
        total = math.fsum(low for low, _ in members)
        classes[math.fsum(low * c for low, c in members) / total, size] = total
    return classes


def _class_information(classes: Classes, p: list[float]) -> Matrix:
    """J(p) of a mechanism that treats all inputs alike, one average over sets per class."""
    k = len(p)
    averages = {c: _set_averages(p, c) for c, _ in classes}
    return [
        [math.fsum(low * averages[c][m][x][z] for (c, m), low in classes.items()) for z in range(k)]
        for x in range(k)
    ]


def design_bound(proof: dict[str, Any], question: DesignStatement) -> float:
    """The largest utility of any mechanism of the class that the proof leaves possible.

    The utility is concave in the weights of the atoms; its gradient g at the reference weights satisfies
    g_j ≤ β·v_j + λ·leakage(v_j) for every atom j, so no mechanism exceeds
    Φ(reference) − k/(2k − 2) + Σ β + λ·(allowed leakage). inf if the proof does not hold.
    """
    k, scale = len(question.alpha), 1 / (2 * len(question.alpha) - 2)
    equal = len(set(question.alpha)) == 1
    dual = read_numbers(proof["dual"], "the dual vector")
    price = read_number(proof["price"], "the price of privacy")
    reference = _reference(proof["reference"])
    atoms = _design_atoms(question)
    fits = len(dual) == (1 if equal else k) and set(reference) <= {atom.label for atom in atoms}
    if not fits or price < 0 or min(reference.values()) < 0 or (price and question.floor is None):
        return math.inf
    slope, value = dict.fromkeys((atom.label for atom in atoms), 0.0), -HALF_LOG_2PIE
    for p, w in zip(*prior_points(question.alpha, question.epsilon), strict=True):
        blocks = _design_blocks(question, p)
        J = [
            [math.fsum(t * blocks[label][x][z] for label, t in reference.items()) for z in range(k)]
            for x in range(k)
        ]
        L = _cholesky(J)
        if L is None:
            return math.inf
        value += 2 * w * scale * math.fsum(math.log(L[x][x]) for x in range(k))
        inverse = [number for row in _inverse(L) for number in row]
        for label in slope:
            block = blocks[label]
            entries = [number for row in block for number in row]
            slope[label] += scale * w * sum(map(mul, inverse, entries))
    for atom in atoms:
        mass = dual[0] * math.fsum(atom.column) / k if equal else sum(map(mul, dual, atom.column))
        cost = price * leakage(question.alpha, atom.column) if price else 0.0
        if slope[atom.label] > mass + cost + DESIGN_TOLERANCE / 10:
            return math.inf
    free = 0.0 if question.floor is None else 1 - question.floor
    allowed = free * _expected_entropy(question.alpha)
    return value - k * scale + math.fsum(dual) + price * allowed


def _reference(entries: Any) -> dict[tuple[Any, ...], float]:
    """The weights of the reference point, from pairs [[level, set], weight]."""
    if not isinstance(entries, list) or not entries:
        raise UnreadableError("the proof has no reference point")
    if any(not isinstance(e, list) or len(e) != 2 or not isinstance(e[0], list) for e in entries):
        raise UnreadableError("the reference point is no list of atoms and weights")
    return {tuple(label): read_number(weight, "a weight") for label, weight in entries}


def _average_privacy(matrix: Sequence[Sequence[float]], question: DesignStatement) -> float:
    columns: Counter[tuple[float, ...]] = Counter()
    equal = len(set(question.alpha)) == 1
    for column in zip(*matrix, strict=True):
        columns[tuple(sorted(column)) if equal else column] += 1
    leaked = 0.0
    for column, count in columns.items():
        low = min(column)
        if low > 0:  # of a column without zeros
            leaked += count * low * leakage(question.alpha, [entry / low for entry in column])
    return 1 - leaked / _expected_entropy(question.alpha)


def _treats_alike(matrix: Sequence[Sequence[float]]) -> bool:
    """Whether renaming the inputs only renames the outputs: checked for a swap and a cycle."""
    rows = [list(row) for row in matrix]
    for renamed in ([rows[1], rows[0], *rows[2:]], [*rows[1:], rows[0]]):
        before, after = (
            sorted(tuple(round(entry, 10) for entry in column) for column in zip(*version, strict=True))
            for version in (rows, renamed)
        )
        pairs = (zip(u, v, strict=True) for u, v in zip(before, after, strict=True))
        if any(abs(a - b) > 1e-9 for pair in pairs for a, b in pair):
            return False
    return True


def design_claims(document: dict[str, Any], plain: dict[str, Any]) -> Iterator[Claim]:
    """The claims of a result about the asymptotic utility."""
    question = read_design_statement(plain)
    if document["status"] not in ("optimal", "gap", "feasible"):
        raise UnreadableError(f"a result of status {document['status']!r} makes no claim")
    k = len(question.alpha)
    matrix, value = read_matrix(document, k), read_number(document["value"], "value")
    numeric = f"numeric {DESIGN_TOLERANCE:g}"
    yield Claim("every row of the mechanism sums to exactly 1", "exact", is_stochastic(matrix))
    private = is_private(matrix, range(k), question.epsilon)
    limit = f"e^{question.epsilon:g}"
    yield Claim(f"its entries for all inputs differ by at most a factor {limit}", "exact", private)
    if not private:
        return
    if len(set(question.alpha)) == 1:
        yield Claim("it treats all inputs alike", numeric, _treats_alike(matrix))
    enough = design_utility(matrix, question) >= value - DESIGN_TOLERANCE
    yield Claim(f"its asymptotic utility is at least {value!r}", numeric, enough)
    members = "mechanism"
    if question.floor is not None:
        kept = _average_privacy(matrix, question) >= question.floor - DESIGN_TOLERANCE
        yield Claim(f"its average privacy is at least {question.floor!r}", numeric, kept)
        members = f"mechanism of two-valued columns at {len(question.levels)} levels"
    if document["status"] == "feasible":
        return
    bound = read_number(document["bound"], "bound")
    proof = (document["certificate"] or {}).get("proof") or {}
    proven = design_bound(proof, question) <= bound + DESIGN_TOLERANCE
    yield Claim(f"no such {members} has an asymptotic utility above {bound!r}", numeric, proven)
    if document["status"] == "optimal":
        yield agreement(document, value, bound)


KINDS["asymptotic-utility"] = KINDS["privacy-utility-frontier"] = _asymptotic_utility
FORMS["convex-program"] = design_claims
