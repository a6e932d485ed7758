"""Independent and conditional reporting with any reports of their levels: the cells of the page."""

from fractions import Fraction
from itertools import pairwise

from mpmath import iv

from second_checker import columns
from second_checker.intervals import both, interval, surely, top, total, xlogx
from second_checker.membership import entry_error
from second_checker.polyopt import duals
from second_checker.reading import demand, keys, number, whole

CELLS, CEILING = {"splits", "public", "secret"}, {"ceiling", "secret_dual"}


def made_of(proof, bound, W, protocol):
    """Whether the mechanism is made of the reports that the proof names."""
    demand(isinstance(proof, dict), "a proof")
    rest = set() if bound is None else CEILING if "ceiling" in proof else CELLS
    keys(proof, {"reports"} | rest)
    reports = proof["reports"]
    demand(isinstance(reports, list) and reports, "a list of reports")
    demand(all(isinstance(pair, list) and len(pair) == 2 for pair in reports), "pairs")
    for pair in reports:
        demand(all(whole(count, 0, 10**9) is not None for count in pair), "counts")
    made = conditional if protocol.kind == "grr-conditional" else independent
    return made(W, protocol, reports, entry_error(W, protocol))


def read(proof):
    """Read the three lists that prove a bound."""
    demand(all(isinstance(proof[name], list) for name in CELLS), "lists")
    demand(proof["public"] and proof["secret"], "lists of duals")
    splits = [number(g) for g in proof["splits"]]
    demand(len(splits) <= 1000 and all(g > 1 for g in splits), "splits")
    demand(all(isinstance(row, list) for row in proof["public"] + proof["secret"]), "lists of duals")
    public = [[None if d is None else duals(d) for d in row] for row in proof["public"]]
    return splits, public, [[duals(d) for d in row] for row in proof["secret"]]


def at_most(bound, proof, protocol):
    """Whether the cells prove the bound."""
    splits, public, secret = read(proof)
    return Cells(protocol, [Fraction(1), *splits, top(protocol.E)], public, secret).at_most(bound)


class Cells:
    """The cells between splits, and the dual vectors at their ends."""

    def __init__(self, protocol, ends, public, secret):
        self.protocol, self.ends, self.public, self.secret = protocol, ends, public, secret
        self.conditional = protocol.kind == "grr-conditional"
        self.s = protocol.robust.secrets
        self.u = protocol.robust.given
        if not self.conditional:
            self.u = [[sum(column) for column in zip(*protocol.robust.table, strict=True)]]
        cells = len(ends) - 1
        demand(all(a < b for a, b in pairwise(ends)), "splits in order")
        demand(len(public) == len(secret) == cells, "duals for every cell")
        for j in range(cells):
            count = (2 if self.conditional else 1) * (1 if j == cells - 1 else 2)
            demand(len(public[j]) == len(self.u), "a dual per block")
            demand(
                all(d is None or len(d) == len(q) for d, q in zip(public[j], self.u, strict=True)),
                "sizes",
            )
            demand([len(d) for d in secret[j]] == [len(self.s)] * count, "duals for s")

    def at_most(self, bound):
        answers, low = [], [Fraction(0)] * len(self.u)
        for j, (a, b) in enumerate(pairwise(self.ends)):
            high = [self.worth(d, q) for d, q in zip(self.public[j], self.u, strict=True)]
            for t, (d, q) in enumerate(zip(self.public[j], self.u, strict=True)):
                if d is not None:
                    ratio = 1 + 2 * interval(b - 1) / self.protocol.d[t]
                    answers.append(tells(d, top(iv.log(ratio)), q))
            told = [chord(x, y, a - 1, b - 1) for x, y in zip(low, high, strict=True)]
            answers += self.cell(j, (a, b), told, bound)
            if False in answers:
                return False
            low = high
        return both(*answers)

    @staticmethod
    def worth(dual, q):
        return sum(dual) if dual is not None else top(-total(xlogx(p) for p in q))

    def cell(self, j, ends, told, bound):
        """Whether the dual vectors hold on a cell, and its bound is below the stated one."""
        last, lines = j == len(self.secret) - 1, []
        for i in (0, 1):
            pick = [
                self.secret[j][2 * n + i] if self.conditional else self.secret[j][n]
                for n in ((0,) if last else (0, 1))
            ]
            for n, dual in enumerate(pick):
                level = top(iv.log(self.protocol.E / interval(ends[n])))
                extra = (
                    [m * line[i] for m, line in zip(self.s, told, strict=True)]
                    if self.conditional
                    else [0]
                )
                for t, w in enumerate(extra):
                    lowered = list(dual)
                    lowered[t] -= w
                    yield tells(lowered, level, self.s)
            sums = [sum(dual) for dual in pick]
            E = self.ends[-1]
            at_high, at_low = chord(sums[-1], sums[0], Fraction(0) if last else E - ends[1], E - ends[0])
            more = 0 if self.conditional else told[0][i]
            lines.append((at_low + more, at_high + more))
        (a, b), (c, d) = lines
        yield max(a, (b + c) / 2, d) <= bound


def chord(near, far, start, end):
    """The ends of a line above what rises and lies below its chord in 1/y."""
    if start == 0 or near >= far:
        return far, far
    m, slope = (start + end) / 2, (far - near) / (1 / start - 1 / end)
    found = tuple(far - slope * (2 / m - y / m**2 - 1 / end) for y in (start, end))
    return found if sum(found) < 2 * far else (far, far)


def tells(dual, level, prior):
    return columns.dominates(dual, (list(range(len(prior))), level, "mutual-information", [prior], None))


def spoken(first, second, protocol, t):
    """Whether a split leaves both reports their levels."""
    r, q = (max(max(c) / min(c) for c in zip(*report, strict=True)) for report in (first, second))
    return surely(interval(r) * (1 + interval(q - 1) * protocol.d[t] / 2), protocol.E)


def mixed(report, room):
    return [[p + (Fraction(1, len(row)) - p) * room / 4 for p in row] for row in report]


def close(W, rows, room):
    return all(
        abs(p - q) <= room for a, b in zip(W, rows, strict=True) for p, q in zip(a, b, strict=True)
    )


def independent(W, protocol, reports, room):
    (m, n), k = reports[0], protocol.a2
    if len(reports) > 1 or m * n != len(W[0]):
        return False
    s = mixed([[sum(row[y * n : y * n + n]) for y in range(m)] for row in W[::k]], room)
    u = mixed([[sum(row[v::n]) for v in range(n)] for row in W[:k]], room)
    rows = [[p * q for p in a for q in b] for a in s for b in u]
    return both(spoken(s, u, protocol, 0), close(W, rows, room))


def conditional(W, protocol, reports, room):
    k, starts = protocol.a2, [0]
    for _, count in reports:
        starts.append(starts[-1] + count)
    if starts[-1] != len(W[0]) or any(t >= protocol.a1 or not count for t, count in reports):
        return False
    places = [slice(a, b) for a, b in pairwise(starts)]
    s = mixed([[sum(row[place]) for place in places] for row in W[::k]], room)
    rows, answers = [[] for _ in W], []
    for y, ((t, _), place) in enumerate(zip(reports, places, strict=True)):
        own = [row[place] for row in W[t * k : t * k + k]]
        if not all(map(sum, own)):
            return False
        block = mixed([[p / sum(row) for p in row] for row in own], room)
        answers.append(spoken(s, block, protocol, t))
        law = protocol.robust.given[t]
        drawn = [
            sum(p * q for p, q in zip(column, law, strict=True)) for column in zip(*block, strict=True)
        ]
        for x, row in enumerate(rows):
            row += [s[x // k][y] * p for p in (block[x % k] if x // k == t else drawn)]
    return both(*answers, close(W, rows, room))
