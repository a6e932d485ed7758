"""Asymptotic utility: the best protocol under a Dirichlet prior.

Privacy is decided exactly; utilities are floats with the stated tolerance, as they rest on logarithms of
determinants.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from operator import mul
from typing import Any, NamedTuple

from .claims import Claim, decided
from .expectation import expected_entropy, leakage, prior_points
from .form import Case, Form, Kind, Section, maximise
from .mechanism import is_private, private, read_matrix, stochastic
from .reading import UnreadableError
from .schema import EPSILON, Label, List, Nullable, Number, Record, Word

LEVELS = 8
"""With a floor on the average privacy, columns of this many levels up to ε take part."""
FREE_EPSILON = 10.0
"""The largest level where ε is free."""
MOST_UNEQUAL = 10
"""Without equal α every set of inputs is listed."""


def _statement(params: dict[str, Any]) -> dict[str, Any]:
    floor, epsilon = params.get("min_average_privacy"), params.get("epsilon", FREE_EPSILON)
    return {"form": "convex-program", "alpha": params["alpha"], "epsilon": epsilon, "floor": floor}


class DesignStatement(NamedTuple):
    """Maximise the discretised asymptotic utility of ε-LDP mechanisms.

    Lopuhaä-Zwakenberg et al. 2019, (6.1). With the points p_i and weights w_i of `prior_points` in
    place of the expectation it is −½ log 2πe + Σ_i w_i log det J(p_i)/(2k − 2), J(p) = Σ_y W_y
    W_yᵀ/(W_y·p). The weights are such that randomised response has no discretisation error. If all α
    are equal, every p_i stands for all its permutations.
    """

    alpha: tuple[float, ...]
    epsilon: float
    levels: tuple[float, ...]
    floor: float | None


DESIGN_TOLERANCE = 1e-9
MOST_VALUES, LEAST_ALPHA, MOST_ALPHA = 64, 1e-2, 1e4
"""Beyond these the sums here would not finish or lose their precision."""
HALF_LOG_2PIE = 0.5 * math.log(2 * math.pi * math.e)


ALPHA = List(Number(LEAST_ALPHA, MOST_ALPHA), 2, MOST_VALUES)
FLOOR = Number(0, below=1)


def design_question(plain: dict[str, Any]) -> DesignStatement:
    """The question of a statement that its schema has read."""
    alpha, epsilon, floor = tuple(plain["alpha"]), plain["epsilon"], plain["floor"]
    if len(set(alpha)) > 1 and len(alpha) > MOST_UNEQUAL:
        raise UnreadableError(f"alpha of more than {MOST_UNEQUAL} entries must be equal numbers")
    count = 1 if floor is None else LEVELS
    levels = tuple(epsilon * (j + 1) / count for j in range(count))
    return DesignStatement(alpha, epsilon, levels, floor)


Matrix = list[list[float]]


class Atom(NamedTuple):
    """A column of entries 1 and e^level; with equal α it stands for all columns with m high entries."""

    label: tuple[Any, ...]
    column: list[float]


def _design_atoms(question: DesignStatement) -> list[Atom]:
    """All columns of the class; with equal α one per level and number of high entries."""
    k, equal = len(question.alpha), len(set(question.alpha)) == 1
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
    dual, price, reference = proof["dual"], proof["price"], _reference(proof["reference"])
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
    allowed = free * expected_entropy(question.alpha)
    return value - k * scale + math.fsum(dual) + price * allowed


def _reference(entries: list[list[Any]]) -> dict[tuple[Any, ...], float]:
    """The weights of the reference point, from pairs [[level, set], weight]."""
    if any(len(entry) != 2 or not isinstance(entry[0], tuple) for entry in entries):
        raise UnreadableError("the reference point is no list of atoms and weights")
    return {label: Number(0).read(weight, "a weight of the reference") for label, weight in entries}


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
    return 1 - leaked / expected_entropy(question.alpha)


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


def _answer(document: dict[str, Any], question: DesignStatement) -> Matrix:
    return read_matrix(document, len(question.alpha))


NUMERIC = f"numeric {DESIGN_TOLERANCE:g}"


def _members(case: Case) -> Iterator[Claim]:
    question, matrix = case.question, case.answer
    inputs = range(len(question.alpha))
    yield stochastic(matrix)
    yield private(matrix, inputs, question.epsilon)
    if not is_private(matrix, inputs, question.epsilon):
        return
    if len(set(question.alpha)) == 1:
        words = "it treats all inputs alike"
        yield decided("member", words, lambda: _treats_alike(matrix), strength=NUMERIC)
    if question.floor is not None:
        words = f"its average privacy is at least {question.floor!r}"
        yield decided(
            "privacy",
            words,
            lambda: _average_privacy(matrix, question) >= question.floor - DESIGN_TOLERANCE,
            strength=NUMERIC,
            value=question.floor,
        )


def _value(case: Case) -> Iterator[Claim]:
    question, matrix = case.question, case.answer
    if not is_private(matrix, range(len(question.alpha)), question.epsilon):
        return
    words = f"its asymptotic utility is at least {case.value!r}"
    yield decided(
        "value",
        words,
        lambda: design_utility(matrix, question) >= case.value - DESIGN_TOLERANCE,
        strength=NUMERIC,
        value=case.value,
    )


def _bound(case: Case) -> Iterator[Claim]:
    question, bound = case.question, case.bound
    assert bound is not None
    members = "mechanism"
    if question.floor is not None:
        members = f"mechanism of two-valued columns at {len(question.levels)} levels"
    words = f"no such {members} has an asymptotic utility above {bound!r}"
    yield decided(
        "bound",
        words,
        lambda: design_bound(case.proof, question) <= bound + DESIGN_TOLERANCE,
        strength=NUMERIC,
        about=f"{members}s of this privacy",
        value=bound,
    )


SECTION = Section(
    kinds={
        "asymptotic-utility": Kind(
            Record({"alpha": ALPHA, "epsilon": EPSILON}, {"min_average_privacy": FLOOR}), _statement
        ),
        "privacy-utility-frontier": Kind(
            Record({"alpha": ALPHA, "min_average_privacy": FLOOR}, {"epsilon": EPSILON}), _statement
        ),
    },
    forms={
        "convex-program": Form(
            statement=Record(
                {
                    "form": Word("convex-program"),
                    "alpha": ALPHA,
                    "epsilon": EPSILON,
                    "floor": Nullable(FLOOR),
                }
            ),
            question=design_question,
            answer=_answer,
            members=_members,
            value=_value,
            bound=_bound,
            sense=maximise,
            proof=Record(
                {
                    "dual": List(Number(), 1),
                    "price": Number(0),
                    "reference": List(List(Label(), 2, 2), 1),
                }
            ),
        )
    },
)
