"""What encodings draw by their definitions."""

import itertools
import math
from fractions import Fraction


def law(plain, x):
    """Every report as it is written, the set that it supports, and its probability for the input x."""
    k, p = plain["inputs"], Fraction(plain["own"])
    if plain["kind"] == "unary":
        q = Fraction(plain["other"])
        for bits in itertools.product((0, 1), repeat=k):
            chances = [p if z == x else q for z in range(k)]
            chance = math.prod(c if b else 1 - c for b, c in zip(bits, chances, strict=True))
            yield written(bits), bits, chance
    elif plain["kind"] == "subset":
        m = plain["size"]
        for chosen in itertools.combinations(range(k), m):
            inside = p / math.comb(k - 1, m - 1), (1 - p) / math.comb(k - 1, m)
            bits = tuple(int(z in chosen) for z in range(k))
            yield written(bits), bits, inside[0 if x in chosen else 1]
    else:
        g = plain["buckets"]
        size = next(d for d in itertools.count(1) if g**d >= k)
        digits = [[z // g**i % g for i in range(size)] for z in range(k)]
        points = digits if g == 2 else [[*d, *(v * v for v in d)] for d in digits]
        for seed in itertools.product(range(g), repeat=len(points[0])):
            buckets = [sum(a * v for a, v in zip(seed, point, strict=True)) % g for point in points]
            for told in range(g):
                chance = p if told == buckets[x] else (1 - p) / (g - 1)
                number = told + sum(a * g ** (i + 1) for i, a in enumerate(seed))
                yield str(number), tuple(int(b == told) for b in buckets), chance / g ** len(seed)


def written(bits):
    """A set in hexadecimal digits, by the definition of the text of a report."""
    padded = [*bits, *[0] * (-len(bits) % 8)]
    return (
        "x"
        + bytes(
            sum(bit << 7 - i for i, bit in enumerate(padded[start : start + 8]))
            for start in range(0, len(padded), 8)
        ).hex()
    )
