"""``numeric-mean``: all 2^k columns are visited, and all places where a variance can be largest."""

import itertools
from fractions import Fraction

from mpmath import iv

from second_checker.columns import audit, is_private
from second_checker.intervals import both, interval, surely, total
from second_checker.reading import demand, distribution, epsilon, keys, matrix, number, whole

MOST_LISTED = 12
"""The most points for which columns are listed; bounds on larger grids are left open."""
LARGEST = 1e30


def maximise(found):
    return False


def claims(found):
    """The claims of the kind, each with its answer."""
    params = found["params"]
    keys(params, {"epsilon", "points"}, {"prior"})
    e, k = epsilon(params), whole(params["points"], 2, 101)
    grid = [Fraction(2 * i - (k - 1), k - 1) for i in range(k)]
    W = matrix(found, k)
    demand(found["mechanism"].get("inputs") == [x.numerator / x.denominator for x in grid], "no grid")
    outputs = found["mechanism"].get("outputs")
    demand(isinstance(outputs, list), "no reports")
    reports = [number(r, -LARGEST, LARGEST) for r in outputs]
    yield "stochastic", all(sum(row) == 1 for row in W)
    yield "private", is_private(W, range(k), iv.exp(interval(e)))
    first, second = (
        [sum(p * r**j for p, r in zip(row, reports, strict=True)) for row in W] for j in (1, 2)
    )
    largest = max(abs(r) for r in reports)
    yield "grid", all(abs(m - x) * 2**40 <= largest for m, x in zip(first, grid, strict=True))
    covered = sorted(set(first)) == first and first[0] <= -1 <= 1 <= first[-1]
    yield "unbiased", covered
    prior = None
    if "prior" in params:
        demand(isinstance(params["prior"], list) and 0 not in params["prior"], "positive prior")
        prior = distribution(params["prior"])
        demand(len(prior) == k, "a prior of another length")
    yield "value", covered and at_most(Fraction(found["value"]), grid, prior, first, second)
    proof = found["certificate"]["proof"]
    if proof is not None or found["bound"] is not None:
        keys(proof, {"alpha", "beta"} | ({"weights"} if prior is None else set()))
        alpha, beta = (listed(proof[name]) for name in ("alpha", "beta"))
        weights = prior
        if prior is None:
            demand(isinstance(proof["weights"], list) and 0 not in proof["weights"], "positive weights")
            weights = distribution(proof["weights"])
        if found["bound"] is not None:
            demand(len(alpha) == len(beta) == len(weights) == k, "other lengths")
            below = sum(
                b * x - a - w * x * x for a, b, w, x in zip(alpha, beta, weights, grid, strict=True)
            )
            yield "bound", Fraction(found["bound"]) <= below and dominated(alpha, beta, weights, e)
    yield from audit(found, W, range(k))


def listed(value):
    demand(isinstance(value, list) and len(value) > 1, "a list is missing")
    return [number(entry, -LARGEST, LARGEST) for entry in value]


def variances(first, second):
    """The variances at the means and ends within [−1, 1], and where a parabola between means is flat."""
    for (m, M), (n, N) in itertools.pairwise(zip(first, second, strict=True)):
        for x in (m, n, -1, 1, (N - M) / (n - m) / 2):
            if m <= x <= n and -1 <= x <= 1:
                share = (x - m) / (n - m)
                yield (1 - share) * M + share * N - x * x


def at_most(value, grid, prior, first, second):
    """Whether no variance, or not their mean under the prior, is above the value."""
    if prior is None:
        return all(v <= value for v in variances(first, second))
    mean = Fraction(0)
    for p, x in zip(prior, grid, strict=True):
        low = max(i for i, m in enumerate(first[:-1]) if m <= x)
        share = (x - first[low]) / (first[low + 1] - first[low])
        mean += p * ((1 - share) * second[low] + share * second[low + 1] - x * x)
    return mean <= value


def dominated(alpha, beta, weights, e):
    """Whether (β·v)² ≤ 4 (λ·v)(α·v) and α·v ≥ 0 for every v, by listing them."""
    if len(alpha) > MOST_LISTED:
        return None
    powers = (iv.mpf(1), iv.exp(interval(e)))
    answers = {True}
    rows = [[[interval(c) * p for p in powers] for c in row] for row in (alpha, beta, weights)]
    for v in itertools.product((0, 1), repeat=len(alpha)):
        paid, drawn, mass = (total(at[j] for at, j in zip(row, v, strict=True)) for row in rows)
        answers |= {surely(0, paid), surely(drawn * drawn, 4 * paid * mass)}
        if False in answers:
            return False
    return both(*answers)
