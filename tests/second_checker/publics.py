"""Public mechanism files: labels, the level whatever the distribution, the promises, the digest."""

from collections import Counter
from fractions import Fraction
from itertools import combinations, pairwise, permutations

from mpmath import iv

from second_checker import encodings
from second_checker.designs import digest, labelled, promised, read_promise, shape
from second_checker.intervals import both, interval, surely
from second_checker.reading import demand, keys, number, numbers, word

MOST_REPORTS = 10
"""Of so many reports every set is tried for one that refutes a promise."""


def claims(found):
    """The claims of a public file, each with its answer: True, False, None, or "open"."""
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
        demand(all((x * 2**52).denominator == 1 for row in W for x in row), "multiples of 2^-52")
    fields = {"method", "epsilon", "robust", "alpha", "level", "domain", "digest"}
    keys(section, fields, {"together", "recoverable", "salt", "sensitive", "secrecy"})
    demand(isinstance(section.get("salt", ""), str), "salt must be text")
    word(section.get("recoverable", "exactly"), ("not at all", "approximately", "exactly"))
    read_promise(section)
    demand(section["level"] is None or number(section["level"], 0, 30) >= 0, "level")
    yield from labelled(section["domain"], mechanism["encoding"] if encoded else mechanism)
    width = shape(section["domain"])[1]
    if encoded:
        private, known = stated.private, True
    else:
        yield "rows", all(sum(row) == 1 for row in W)
        known = section["robust"] == "all" or width == 1

        def private(level):
            return compared(W, width, level)

    if section["level"] is not None:
        yield "level", private(number(section["level"]))
    if (notion := promised(section)) is not None:
        demand(not encoded and len(W) <= 400, "a matrix")
        yield "promise", keeps(W, notion, width)
    for reports, epsilon in [] if notion is not None else promises(section):
        answer = private(epsilon / reports)
        if answer is False and not known:
            answer = False if refuted(W, width, epsilon / reports) else "open"
        yield "promise", answer
    if section.get("recoverable") == "not at all" and not encoded:
        yield "recoverable", alike(W, width, section["epsilon"])
    yield "digest", digest(found) == section["digest"]


def keeps(W, notion, width):
    """Whether each column is private where the notion asks for it."""
    ((name, given),) = notion.items()
    if name == "pairs":
        levels = given["levels"]
        demand(any(m is not None for line in levels for m in line), "something is hidden")
        demand(all(m is None or m <= 30 for line in levels for m in line), "levels up to 30")
        limits = [
            (x, z, m) for x, line in enumerate(levels) for z, m in enumerate(line) if m is not None
        ]
        factors = {m: iv.exp(interval(m)) for _, _, m in limits}
        return both(
            *(
                column[x] <= column[z] or surely(column[x], factors[m] * interval(column[z]))
                for column in zip(*W, strict=True)
                for x, z, m in limits
            )
        )
    factor = iv.exp(interval(given["epsilon"]))
    answers = []
    for column in zip(*W, strict=True):
        held = [x for x, entry in enumerate(column) if entry]
        if name == "sensitive" and len(held) == 1 and held[0] not in given["inputs"]:
            continue
        pairs = {
            (column[x], column[z])
            for x, z in permutations(range(len(W)), 2)
            if name == "sensitive" or x % width == z % width
        }
        answers += [a <= b or surely(a, factor * interval(b)) for a, b in pairs]
    return both(*answers)


def promises(section):
    """How many reports are promised which level together."""
    yield 1, number(section["epsilon"])
    if "together" in section:
        yield section["together"]["reports"], number(section["together"]["epsilon"])


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


def compared(W, width, level):
    """Whether all entries of inputs of different secrets differ by at most e^level."""
    factor = iv.exp(interval(level)) if level else interval(1)
    pairs = {
        pair
        for x, z in permutations(range(len(W)), 2)
        if x // width != z // width
        for pair in zip(W[x], W[z], strict=True)
    }
    return both(*(high <= low or surely(high, factor * interval(low)) for high, low in pairs))


def refuted(W, width, level):
    """Whether some set of reports is e^level times as likely for all inputs of s as for any of s'."""
    reports, factor = range(len(W[0])), iv.exp(interval(level))
    sizes = reports if len(reports) <= MOST_REPORTS else (0,)
    for some in (chosen for size in sizes for chosen in combinations(reports, size + 1)):
        shares = [sum(row[y] for y in some) for row in W]
        blocks = [shares[x : x + width] for x in range(0, len(W), width)]
        for one, other in permutations(blocks, 2):
            if surely(min(one), factor * interval(max(other))) is False:
                return True
    return False
