"""Public mechanism files: labels, the level whatever the distribution, several reports, the digest."""

from collections import Counter
from fractions import Fraction
from itertools import pairwise

from mpmath import iv

from second_checker import encodings
from second_checker.designs import digest, labelled, read_promise, shape
from second_checker.intervals import interval, surely
from second_checker.reading import demand, keys, number, numbers, word


def claims(found):
    """The claims of a public file, each with its answer."""
    section, mechanism = found["public"], found["mechanism"]
    keys(found, {"format", "public", "mechanism"})
    demand(found["format"] == 1 and type(found["format"]) is int, "the format is another")
    encoded = isinstance(mechanism, dict) and "encoding" in mechanism
    keys(mechanism, {"encoding" if encoded else "matrix"})
    if encoded:
        stated = encodings.read(mechanism["encoding"])
    else:
        demand(isinstance(mechanism["matrix"], list) and mechanism["matrix"], "rows")
        W = [numbers(row, least=0) for row in mechanism["matrix"]]
        demand(len({len(row) for row in W}) == 1 and max(map(max, W)) <= 1, "a matrix of probabilities")
    fields = {"method", "epsilon", "robust", "alpha", "level", "domain", "digest"}
    keys(section, fields, {"together", "recoverable"})
    word(section.get("recoverable", "exactly"), ("not at all", "approximately", "exactly"))
    read_promise(section)
    demand(section["level"] is None or number(section["level"], 0, 30) >= 0, "level")
    if encoded:
        yield from labelled(section["domain"], mechanism["encoding"])
        if claimed(section) is not None:
            yield "level", stated.private(claimed(section))
    else:
        yield "rows", all(sum(row) == 1 for row in W)
        yield from labelled(section["domain"], mechanism)
        yield from promised(section, W)
    yield from together(section)
    if section.get("recoverable") == "not at all" and not encoded:
        yield "recoverable", alike(W, shape(section["domain"])[1], section["epsilon"])
    yield "digest", digest(found) == section["digest"]


def alike(W, width, epsilon):
    """Whether two rows hold the same pairs of numbers wherever their inputs differ in the same way.

    Numbers are told apart from 2^−44 on; each is e^ε times the one before, unless that is 0.
    """
    slack = Fraction(1, 2**44)
    entries = sorted({Fraction(entry) for row in W for entry in row})
    firsts, names = [], {}
    for entry in entries:
        if not firsts or entry - firsts[-1] > slack:
            firsts.append(entry)
        names[entry] = len(firsts) - 1
    if len(firsts) > 4:
        return False
    factor = iv.exp(interval(epsilon)) if epsilon else interval(1)
    for low, high in pairwise(firsts[1:] if firsts[0] == 0 else firsts):
        if not surely(high, factor * interval(low + 2 * slack)):
            return False
        if low > 2 * slack and not surely(factor * interval(low - 2 * slack), high + slack):
            return False
    seen = {}
    for x, row in enumerate(W):
        for z, other in enumerate(W):
            pairs = Counter(
                (names[Fraction(a)], names[Fraction(b)]) for a, b in zip(row, other, strict=True)
            )
            if seen.setdefault((x // width == z // width, x % width == z % width), pairs) != pairs:
                return False
    return True


def claimed(section):
    """The level of one report that a file claims: with "all" at most what is promised; None if none.

    Else only what the file states as its level is claimed.
    """
    stated = [section["level"]] + ([section["epsilon"]] if section["robust"] == "all" else [])
    return min((number(level) for level in stated if level is not None), default=None)


def together(section):
    """The level of several reports, where a promise for all distributions covers them."""
    if claimed(section) is not None and "together" in section and section["robust"] == "all":
        promise = section["together"]
        yield "together", promise["reports"] * claimed(section) <= number(promise["epsilon"])


def promised(section, W):
    """The level of one report: all inputs of different secrets are compared."""
    level, width = claimed(section), shape(section["domain"])[1]
    if level is None:
        return
    factor = iv.exp(interval(level)) if level else interval(1)
    for x, row in enumerate(W):
        for z, other in enumerate(W):
            if x // width != z // width:
                for high, low in {*zip(row, other, strict=True)}:
                    yield "level", high <= low or surely(high, factor * interval(low))
