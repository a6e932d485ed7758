"""``feature-release``: all sets of features are listed, and the terms of binomial sums added up."""

import itertools
import math
from collections import Counter
from fractions import Fraction
from functools import cache

from mpmath import iv

from second_checker.exposure import (
    count_from,
    marginal,
    printed,
    rule_value,
    theorem_2_proves,
    threshold,
)
from second_checker.intervals import both, bottom, interval, surely, top, total
from second_checker.reading import demand, keys, whole, word

MOST_FEATURES, MOST_GROWN, MOST_TERMS, STEPS = 10, 20, 500, 110
REDACTED = -1
"""Stands for all values that are merged; numbers of a table are not negative."""


def maximise(found):
    return True


def claims(found):
    """The claims of the kind, each with its answer."""
    params, answer, proof = found["params"], found.get("answer"), found["certificate"]["proof"]
    keys(params, {"threshold", "budget", "weights"}, {"marginals", "table", "redact", "users", "delta"})
    demand(("table" in params) != ("marginals" in params), "a table or marginals")
    demand(0 < printed(params.get("delta", 0.05)) < 1, "delta is out of range")
    demand("users" not in params or ("table" in params and "redact" not in params), "users of a table")
    keys(answer, {"features"}, {"exposure", "rule", "thresholds", "pivot"})
    release = (ByMarginals if "marginals" in params else Future if "users" in params else ByTable)(
        params
    )
    budget, count = printed(params["budget"], 0, 1), len(release.kept)
    demand(isinstance(params["weights"], list) and len(params["weights"]) == count, "weights")
    weights = [printed(w, 0) * kept for w, kept in zip(params["weights"], release.kept, strict=True)]
    if count > (MOST_GROWN if "tree" in proof else MOST_FEATURES):
        yield "open", None
        return
    chosen = features(answer["features"], count)
    levels = [budget, *([printed(answer["exposure"], 0, 1)] if "exposure" in answer else [])]
    named = {"rule", "thresholds", "pivot"} & answer.keys()
    for level in levels:
        if named:
            yield "safe by its rule", release.shown(chosen, answer) <= level
        yield "safe", release.at_most(chosen, level)
    yield "value", sum(weights[j] for j in chosen) >= Fraction(repr(float(found["value"])))
    if found["bound"] is None:
        return
    if "tree" in proof and "marginals" in params:
        keys(proof, {"tree"})
        bound = Fraction(repr(float(found["bound"])))
        yield "bound", nothing_heavier(release, weights, budget, bound)
        return
    keys(proof, {"conflicts"}, {"prices"})
    demand(isinstance(proof["conflicts"], list), "no conflicts")
    conflicts = [features(conflict, count) for conflict in proof["conflicts"]]
    safe = [release.at_most(conflict, budget) for conflict in conflicts]
    yield "conflicts", both(True, *(None if answer is None else not answer for answer in safe))
    sets = itertools.chain.from_iterable(
        itertools.combinations(range(count), n) for n in range(count + 1)
    )
    bound = Fraction(repr(float(found["bound"])))
    heavy = [set(J) for J in sets if sum(weights[j] for j in J) > bound]
    yield "bound", all(any(set(conflict) <= J for conflict in conflicts) for J in heavy)


def nothing_heavier(release, weights, budget, bound):
    """Whether no safe set weighs more: safe sets are grown, and the tree of the file is not read."""
    grown = {()}
    while grown:
        if any(sum(weights[j] for j in J) > bound for J in grown):
            return False
        larger = {(*J, j) for J in grown for j in range(J[-1] + 1 if J else 0, len(weights))}
        grown = {J for J in larger if release.at_most(J, budget)}
    return True


def features(values, count):
    demand(isinstance(values, list), "no features")
    found = [whole(j, 0, count - 1) for j in values]
    demand(len(set(found)) == len(found), "a feature twice")
    return sorted(found)


def redacted(shares, r):
    """Which values of a feature are merged: the rarest, until nothing is below r, nor they together."""
    if r is None or min(shares.values()) >= r:
        return set()
    merged, mass = set(), Fraction(0)
    for value in sorted(shares, key=lambda value: (shares[value], value)):
        if shares[value] >= r and mass >= r:
            break
        merged.add(value)
        mass += shares[value]
    return merged


def least_share(params):
    if "redact" not in params:
        return None
    r = printed(params["redact"])
    demand(r > 0, "redact must be above 0")
    return r


class ByMarginals:
    """The least that theorem-3-tight or theorem-2 proves."""

    def __init__(self, params):
        self.t, r = threshold(params["threshold"]), least_share(params)
        given = params["marginals"]
        demand(isinstance(given, list) and 1 <= len(given) <= 64, "no marginals")
        self.marginals, self.kept = [], []
        for p in map(marginal, given):
            out = redacted(dict(enumerate(p)), r)
            merged = [sum(p[i] for i in out)] if out else []
            self.marginals.append([x for i, x in enumerate(p) if i not in out] + merged)
            self.kept.append(1 - sum(merged))

    def at_most(self, chosen, level):
        """Whether the risk of some features is at most a level."""
        if not chosen or level >= 1:
            return True
        marginals = [self.marginals[j] for j in chosen]
        least = {1: Fraction(0)}  # the least ΣQ for every product of numbers of values
        for p in marginals:
            choices = [(sum(x for x in p if x < s), count_from(p, s)) for s in set(p)]
            sums = {}
            for (n, Q), (low, m) in itertools.product(least.items(), choices):
                if Q + low + self.t * n * m <= level:
                    sums[n * m] = min(Q + low, sums.get(n * m, Q + low))
            least = sums
        return bool(least) or theorem_2_proves(marginals, self.t, level)

    def shown(self, chosen, answer):
        """What the rule of the answer proves, with a threshold for every feature, in rising order."""
        word(answer["rule"], ("theorem-3-tight", "theorem-2"))
        named = {name: answer[name] for name in ("rule", "thresholds", "pivot")}
        return rule_value([self.marginals[j] for j in chosen], self.t, "best", named)


class ByTable:
    """The share of the rows whose combination is rare."""

    def __init__(self, params):
        self.t, r = threshold(params["threshold"]), least_share(params)
        table = params["table"]
        demand(isinstance(table, list) and table, "no table")
        demand(all(isinstance(row, list) for row in table), "no table")
        demand(1 <= len(table[0]) <= 64 and len({len(row) for row in table}) == 1, "not rectangular")
        columns = list(zip(*[[whole(x, 0, 10**9) for x in row] for row in table], strict=True))
        self.size, self.columns, self.kept = len(table), [], []
        for column in columns:
            shares = {value: Fraction(n, self.size) for value, n in Counter(column).items()}
            out = redacted(shares, r)
            self.columns.append([REDACTED if value in out else value for value in column])
            self.kept.append(1 - sum(shares[value] for value in out))

    def sizes(self, chosen):
        """How often every combination occurs."""
        return Counter(zip(*[self.columns[j] for j in chosen], strict=True)).values()

    def at_most(self, chosen, level):
        if not chosen:
            return True
        return Fraction(sum(n for n in self.sizes(chosen) if n < self.t * self.size), self.size) <= level

    def shown(self, chosen, answer):
        demand(False, "a rule without marginals")


class Future(ByTable):
    """The expected share of n other users whose combination is rare among them."""

    def __init__(self, params):
        super().__init__(params)
        self.n = whole(params["users"], 1, 2_000_000)
        self.k = math.ceil(self.t * self.n)
        self.values = [len(set(column)) for column in self.columns]
        every = math.prod(1 + n for n in self.values) - 1
        delta = printed(params.get("delta", 0.05))
        self.surprise = iv.log(interval(2 * every / delta)) / self.size

    def at_most(self, chosen, level):
        if not chosen or self.k <= 1 or level >= 1:
            return True
        if self.k > MOST_TERMS:
            return None
        often = Counter(self.sizes(chosen))
        often[0] = math.prod(self.values[j] for j in chosen) - sum(often.values())
        return surely(total(self.term(n) * times for n, times in often.items() if times), level)

    def term(self, count):
        """Enclose the largest x F(k − 2; n − 1, x) where a frequency is no surprise; it is unimodal."""
        share = Fraction(count, self.size)
        low, high = self.end(share, Fraction(0)), self.end(share, Fraction(1))
        left, right = peak(self.n, self.k)
        if top(high) <= left:
            return worth(high, self.n, self.k)
        if bottom(low) >= right:
            return worth(low, self.n, self.k)
        most = (interval(right) * worth(interval(left), self.n, self.k) / interval(left)).b
        if bottom(high) >= left and top(low) <= left:
            return iv.mpf([worth(interval(left), self.n, self.k).a, most])
        return iv.mpf([0, most])

    def end(self, share, limit):
        """Enclose the x between a frequency and 0 or 1 whose coin makes it just too surprising."""
        near, far = share, limit
        for _ in range(STEPS):
            x = (near + far) / 2
            sides = ((share, x), (1 - share, 1 - x))
            found = sum((interval(p) * iv.log(interval(p / q)) for p, q in sides if p), iv.mpf(0))
            if surely(found, self.surprise):
                near = x
            elif surely(self.surprise, found):
                far = x
            else:
                break
        ends = sorted((near, far))
        return iv.mpf([interval(ends[0]).a, interval(ends[1]).b])


def chances(x, n, k):
    """Enclose F(k − 2; n − 1, x) and P(k − 1 of n − 1), for x in (0, 1): terms by their ratio."""
    term = found = iv.exp((n - 1) * iv.log(1 - x))
    step = x / (1 - x)
    for i in range(k - 1):
        term = term * step * (n - 1 - i) / (i + 1)
        if i < k - 2:
            found += term
    return found, term


def worth(x, n, k):
    return x * chances(x, n, k)[0]


@cache
def peak(n, k):
    """Two numbers between which x F(k − 2; n − 1, x) is largest: it rises until F = (k − 1) P."""
    low, high = Fraction(0), Fraction(1)
    for _ in range(STEPS):
        middle = (low + high) / 2
        found, term = chances(interval(middle), n, k)
        if surely((k - 1) * term, found):
            low = middle
        elif surely(found, (k - 1) * term):
            high = middle
        else:
            break
    return low, high
