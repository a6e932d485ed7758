"""Learning a distribution: rational matrices are inverted exactly, corners are listed."""

import itertools
from fractions import Fraction

from mpmath import iv

from second_checker.columns import audit, is_private
from second_checker.intervals import both, interval, root, surely, total
from second_checker.reading import (
    demand,
    distribution,
    epsilon,
    keys,
    matrix,
    number,
    numbers,
    whole,
    word,
)
from second_checker.squares import circulant_reaches, columns_reach, square_reaches

MOST_INPUTS = 10
"""Larger matrices are not inverted, and 2^k corners not visited."""
LOSSES = ("f-divergence", "mse", "tv")


def maximise(found):
    return False


def claims(found):
    """The claims of the kind, each with its answer."""
    yield from {"fidelity": _fidelity, "minimax-fidelity": _minimax}.get(found["problem"], _phi)(found)


# ---------------------------------------------------------------- φ


def _phi(found):
    params, proof = found["params"], found["certificate"]["proof"]
    keys(params, {"inputs", "epsilon"})
    k, E = whole(params["inputs"], 2, 100_000), iv.exp(interval(epsilon(params)))
    trees = {
        "circulant-fidelity": ("tree", circulant_reaches),
        "square-fidelity": ("boxes", columns_reach),
    }
    name, tree = trees.get(found["problem"], ("", None))
    demand(proof is None or set(proof) == {name}, "a proof of another kind")
    value = Fraction(found["value"])
    if found["problem"] == "broad-fidelity" and found["mechanism"] is None:
        answer = found.get("answer")
        keys(answer, {"mechanism", "inputs", "size", "ratio"})
        word(answer["mechanism"], ("subset-selection",))
        whole(answer["inputs"], k, k)
        m, r = whole(answer["size"], 1, k - 1), number(answer["ratio"])
        demand(r > 1, "the ratio must exceed 1")
        yield "private", surely(r, E)
        yield "value", balanced(k, m, r) <= value
        yield from audit(found, [[r], [Fraction(1)]], [0, 1])
    else:
        W = matrix(found, k)
        yield from _members(W, E, found["problem"].removesuffix("-fidelity"))
        moments = _moments(W, [Fraction(1)] * k)
        yield "value", None if moments == [] else moments is not None and sum(moments) <= value
        yield from audit(found, W, range(k))
    if found["bound"] is not None:
        bound = Fraction(found["bound"])
        plain = tree(k, E, bound, proof) if proof is not None else surely(bound, phi_star(k, E))
        if proof is None and plain is False and found["problem"] != "broad-fidelity":
            plain = square_reaches(k, E, bound) if k <= MOST_INPUTS else None
        yield "bound", plain


def balanced(k, m, E):
    """φ of subset selection, ratio E."""
    return 1 + ((k - 1) * (m * E + k - m) / (E - 1)) ** 2 / (m * (k - m))


def phi_star(k, E):
    """Enclose the least φ: the minimum over all m, one by one where that is possible."""
    sizes = range(1, k)
    if k > 2000:
        near = int(k / (1 + float(E.mid)))
        sizes = [m for m in range(near - 5, near + 6) if 0 < m < k]  # it falls, then rises
    values = [balanced(k, m, E) for m in sizes]
    low = min(values, key=lambda x: x.a.mid)
    high = min(values, key=lambda x: x.b.mid)
    return iv.mpf([low.a, high.b])


def _members(W, E, family):
    k = len(W)
    yield "stochastic", all(sum(row) == 1 for row in W)
    if family != "broad":
        yield "square", all(len(row) == k for row in W)
    if family == "circulant":
        yield "circulant", all(W[x][y] == W[0][(y - x) % k] for x in range(k) for y in range(len(W[0])))
    yield "private", is_private(W, range(k), E)


def _moments(W, p):
    """The diagonal of M⁻¹, M = W diag(pW)⁻¹ Wᵀ, exactly; None if M is singular, [] if it is large."""
    k = len(W)
    if k > MOST_INPUTS or len(W[0]) > 300:
        return []
    columns = [column for column in zip(*W, strict=True) if any(column)]
    weights = [1 / sum(a * b for a, b in zip(p, column, strict=True)) for column in columns]
    M = [
        [
            sum(column[i] * column[j] * w for column, w in zip(columns, weights, strict=True))
            for j in range(k)
        ]
        for i in range(k)
    ]
    inverse = inverted(M)
    return None if inverse is None else [inverse[i][i] for i in range(k)]


def inverted(matrix):
    """The inverse of a rational matrix, or None."""
    k = len(matrix)
    rows = [[*map(Fraction, row), *(Fraction(i == j) for j in range(k))] for i, row in enumerate(matrix)]
    for i in range(k):
        pivot = next((j for j in range(i, k) if rows[j][i]), None)
        if pivot is None:
            return None
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [entry / rows[i][i] for entry in rows[i]]
        for j in range(k):
            if j != i and rows[j][i]:
                factor = rows[j][i]
                rows[j] = [a - factor * b for a, b in zip(rows[j], rows[i], strict=True)]
    return [row[k:] for row in rows]


# ---------------------------------------------------------------- α at a known p


def alpha(moments, p, loss):
    """Enclose α."""
    k, square = len(p), sum(x * x for x in p)
    if loss == "f-divergence":
        return interval((sum(m / x for m, x in zip(moments, p, strict=True)) - 1) / (k - 1))
    if loss == "mse":
        return interval((sum(moments) - square) / (1 - square))
    spread = total(root(m - x * x) for m, x in zip(moments, p, strict=True))
    return (spread / total(root(x - x * x) for x in p)) ** 2


def _fidelity(found):
    params = found["params"]
    keys(params, {"prior", "epsilon"}, {"loss", "family"})
    p, E = distribution(params["prior"]), iv.exp(interval(epsilon(params)))
    demand(min(params["prior"]) >= 1e-15, "an entry of p is too small")
    loss = word(params.get("loss", "f-divergence"), LOSSES)
    family = word(params.get("family", "broad"), ("square", "broad"))
    W = matrix(found, len(p))
    yield from _members(W, E, family)
    moments = _moments(W, p)
    if moments:
        yield "value", surely(alpha(moments, p, loss), Fraction(found["value"]))
    else:
        yield "value", None if moments == [] else False
    if found["bound"] is not None:
        proof, bound = found["certificate"]["proof"], Fraction(found["bound"])
        if proof is None:
            proven = alpha_floor(p, E, loss)
        else:
            proven = (design_floor if "Y" in proof else affine_floor)(p, E, loss, proof)
        yield "bound", reached(bound, proven)
    yield from audit(found, W, range(len(p)))


def reached(bound, proven):
    """Whether the bound is at most what is proven: an interval, False (nothing is) or None (open)."""
    return proven if proven is None or proven is False else surely(bound, proven)


def larger(*numbers):
    """Enclose the largest."""
    numbers = list(map(interval, numbers))
    low = max(numbers, key=lambda x: x.a.mid)
    high = max(numbers, key=lambda x: x.b.mid)
    return iv.mpf([low.a, high.b])


def alpha_floor(p, E, loss):
    """Enclose what no α is below, from the parameters alone."""
    k, least, square = len(p), phi_star(len(p), E), interval(sum(x * x for x in p))
    if loss == "f-divergence":
        first = 4 * E * (k - 1) / (E - 1) ** 2
        return larger(1, first, (least * interval(min(p) / max(p)) - 1) / (k - 1))
    if loss == "mse":
        return (larger(1, least * interval(min(p))) - square) / (1 - square)
    spread = [x - x * x for x in p]
    j = spread.index(max(spread))
    rest = total(root(s) for i, s in enumerate(spread) if i != j)
    raised = root(interval(spread[j]) + larger(0, least * interval(min(p)) - 1))
    return larger(1, ((rest + raised) / total(map(root, spread))) ** 2)


def design_floor(p, E, loss, proof):
    """Enclose what the vectors of the proof say no α is below; False if β fails at a corner."""
    k = len(p)
    keys(proof, {"Y", "beta"})
    demand(isinstance(proof["Y"], list) and len(proof["Y"]) == k, "Y has another size")
    rows, beta = [numbers(row, k) for row in proof["Y"]], numbers(proof["beta"], k)
    if k > MOST_INPUTS:
        return None
    rows = [[y - sum(row) / k for y in row] for row in rows]
    weights = [1 / x if loss == "f-divergence" else Fraction(1) for x in p]
    for v in itertools.product((iv.mpf(1), E), repeat=k):
        dots = [total(interval(y) * t for y, t in zip(row, v, strict=True)) for row in [*rows, beta, p]]
        left = total(interval(c) * d**2 for c, d in zip(weights, dots, strict=False))
        holds = surely(left, dots[k] * dots[k + 1])
        if not holds or surely(0, dots[k]) is False:
            return holds and False
    if sum(beta) <= 0:
        return False
    own = [rows[i][i] for i in range(k)]
    if loss == "tv":
        top = total(iv.mpf(0) if y == 0 else iv.exp(iv.log(interval(y * y)) / 3) for y in own) ** 3
        return top / interval(sum(beta)) / total(root(x - x * x) for x in p) ** 2
    cost = sum(c * y for c, y in zip(weights, own, strict=True)) ** 2 / sum(beta)
    return interval(cost / (k - 1 if loss == "f-divergence" else 1 - sum(x * x for x in p)))


def affine_floor(p, E, loss, proof):
    """Enclose what prices affine in p say; False if they fail at some size and mass of a set."""
    k, e = len(p), E - 1
    keys(proof, {"squares", "share", "beta"})
    (a, b), (low, high) = (numbers(proof[name], 2) for name in ("squares", "beta"))
    t = number(proof["share"], 0, 1)
    squares = [a + b * x for x in p]
    refs = [(1 - t) / k + t * x for x in p]
    total_paid = k * low + high
    if min(squares) < 0 or total_paid <= 0:
        return False

    def excess(m, x):
        """(β·v)(p·v) − Σ C (y·v)² at a set of m inputs and mass x."""
        rho = (1 - t) * Fraction(m, k) + t * x
        left = (a * m + b * x) * (1 - 2 * rho) + rho * rho * sum(squares)
        paid = interval(total_paid) + e * interval(low * m + high * x)
        return paid * (1 + e * interval(x)) - e**2 * interval(left)

    for m in range(k + 1):
        inner, outer = sum(sorted(p)[:m]), sum(sorted(p)[k - m :])
        said = _above(lambda x, m=m: excess(m, x), inner, outer)
        if not said:
            return said
    if loss == "tv":
        own = [interval(s * (1 - r) ** 2) for s, r in zip(squares, refs, strict=True)]
        top = total(iv.mpf(0) if y.b == 0 else iv.exp(iv.log(y) / 3) for y in own) ** 3
        return top / interval(total_paid) / total(root(x - x * x) for x in p) ** 2
    weights = [1 / x if loss == "f-divergence" else Fraction(1) for x in p]
    parts = zip(weights, squares, refs, strict=True)
    top = total(root(c * s) * interval(1 - r) for c, s, r in parts) ** 2
    clear = k - 1 if loss == "f-divergence" else 1 - sum(x * x for x in p)
    return top / interval(total_paid) / interval(clear)


def _above(function, low, high, depth=0):
    """Whether a polynomial of degree 2 is ≥ 0 between two ends: its control points, then halves."""
    ends, middle = [function(low), function(high)], (low + high) / 2
    if any(surely(0, end) is False for end in [*ends, function(middle)]):
        return False
    control = 2 * function(middle) - (ends[0] + ends[1]) / 2
    if all(surely(0, point) for point in [*ends, control]):
        return True
    if depth == 40:
        return None
    return both(_above(function, low, middle, depth + 1), _above(function, middle, high, depth + 1))


# ---------------------------------------------------------------- the worst α


def _minimax(found):
    params = found["params"]
    keys(params, {"inputs", "epsilon", "p0"}, {"loss"})
    k, E = whole(params["inputs"], 2, 100_000), iv.exp(interval(epsilon(params)))
    loss = word(params.get("loss", "mse"), LOSSES)
    number(params["p0"], 1e-15, 1 / k)
    p0 = min(Fraction(params["p0"]), Fraction(1, k))
    W = matrix(found, k)
    yield from _members(W, E, "square")
    yield "value", _worst(W, p0, loss, Fraction(found["value"]))
    proof = found["certificate"]["proof"]
    demand(proof in (None, {}) or loss == "tv", "the parameters prove the bound")
    if found["bound"] is not None:
        proven = minimax_floor(k, E, loss, p0) if proof is None else symmetric_floor(k, E, p0, proof)
        answer = reached(Fraction(found["bound"]), proven)
        if answer is False and loss == "mse":
            phi = k * (1 + (Fraction(found["bound"]) - 1) * p0 * (k - 1) * (2 - k * p0))
            answer = square_reaches(k, E, phi) if k <= MOST_INPUTS else None
        yield "bound", answer
    yield from audit(found, W, range(k))


def _worst(W, p0, loss, value):
    """Whether the supremum is at most the value: vertices decide, but for tv, where they only refute."""
    k = len(W)
    if k > MOST_INPUTS:
        return None
    inverse = inverted(W) if len(W[0]) == k else None
    if inverse is None:
        return False
    Phi = [[sum(W[x][y] * inverse[y][i] ** 2 for y in range(k)) for i in range(k)] for x in range(k)]
    answers = []
    for at in range(k):
        p = [1 - (k - 1) * p0 if i == at else p0 for i in range(k)]
        moments = [sum(x * Phi[j][i] for j, x in enumerate(p)) for i in range(k)]
        answers.append(surely(alpha(moments, p, loss), value))
    found = both(*answers)
    return None if loss == "tv" and found else found


def minimax_floor(k, E, loss, p0):
    """Enclose what no worst α is below, from the parameters alone."""
    if k > 2000:
        return None
    if loss == "tv":
        return (phi_star(k, E) - 1) / (k - 1)
    if loss == "mse":
        return 1 + (phi_star(k, E) / k - 1) / interval(p0 * (k - 1) * (2 - k * p0))
    h = 1 - (k - 1) * p0
    c = (h / p0 + p0 / h + k - 2) / k
    s, c = interval(1 + (k - 1) * c), interval(c)
    gains = [
        (E - 1) ** 2
        * (m * (k - m))
        * ((k - m) / (s + (E - 1) * (1 + c * (m - 1))) + m / (s + (E - 1) * c * m))
        / (k + (E - 1) * m)
        for m in range(1, k)
    ]
    return (k / s + k * (k - 1) ** 2 / larger(*gains) - 1) / (k - 1)


def symmetric_floor(k, E, p0, proof):
    """Enclose what the symmetric vectors say no worst α (tv) is below; False if they are none."""
    keys(proof, {"rest", "rows"})
    rest = number(proof["rest"], 0, 1)
    z, u, w = map(interval, numbers(proof["rows"], 3, least=0))
    peak = 1 - (k - 1) * rest
    if rest < p0 or peak < p0:
        return False
    if k > 2000:
        return None
    low, high = interval(rest), interval(peak)
    sizes = []
    for m in range(1, k):
        a, b = 1 + (E - 1) * (high + low * (m - 1)), 1 + (E - 1) * low * m
        turn = u**2 / (k - 1) * (m * (m - 1) * (k - m) / a + (k - m) * m * (k - 1 - m) / b)
        swing = (z**2 + (k - 1) * w**2) * (m * (k - m) ** 2 / a + (k - m) * m**2 / b)
        sizes.append((E - 1) ** 2 / (k + (E - 1) * m) * (turn + swing))
    cubes = [(k - 1) * z, u * (k - 2) / (k - 1) + w]
    first, second = (iv.mpf(0) if x.b == 0 else iv.exp(2 * iv.log(x) / 3) for x in cubes)
    clear = root(peak - peak**2) + (k - 1) * root(rest - rest**2)
    return (first + (k - 1) * second) ** 3 / larger(*sizes) / clear**2
