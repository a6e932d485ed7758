"""``frequency-encoding``: the probabilities of reports are listed, not quoted from a lemma."""

import math
from fractions import Fraction

from mpmath import iv

from second_checker.fidelity import phi_star
from second_checker.intervals import interval, surely
from second_checker.reading import demand, epsilon, keys, number, whole, word

NAMES = ("unary", "subset", "hashing")
MOST, MOST_BUCKETS = 65_536, 1021


def maximise(found):
    return False


def claims(found):
    """The claims of the kind, each with its answer."""
    params = found["params"]
    keys(params, {"encoding", "inputs", "epsilon"}, {"buckets"})
    word(params["encoding"], NAMES)
    whole(params["inputs"], 2, MOST)
    e = epsilon(params)
    if "buckets" in params:
        whole(params["buckets"], 2, MOST_BUCKETS)
        demand(params["encoding"] == "hashing", "buckets of another encoding")
    demand(found["mechanism"] is None, "a matrix beside an encoding")
    encoding = read(found["answer"])
    yield "encoding", found["answer"]["kind"] == params["encoding"]
    yield "inputs", encoding.k == params["inputs"]
    yield "buckets", params.get("buckets") in (None, found["answer"].get("buckets"))
    yield "private", encoding.private(e)
    yield "error", encoding.error() <= Fraction(found["value"])
    if found["bound"] is not None:
        k = params["inputs"]
        least = (phi_star(k, iv.exp(interval(e))) - 1) / k
        yield "bound", surely(Fraction(found["bound"]), least)


class Encoding:
    """The laws of what a report says, given the own input: a list of (probability, probability)."""

    def __init__(self, k, p, q, laws):
        self.k, self.p, self.q, self.laws = k, p, q, laws

    def private(self, e):
        """Whether the probabilities of no report differ by more than e^ε between two inputs."""
        factor = iv.exp(interval(e))
        said = [surely(a, factor * interval(b)) for a, b in self.laws]
        said += [surely(b, factor * interval(a)) for a, b in self.laws]
        return False if False in said else None if None in said else True

    def error(self):
        """n times the squared error of all inputs, for the uniform distribution."""
        supported = (self.p + (self.k - 1) * self.q) / self.k
        return self.k * supported * (1 - supported) / (self.p - self.q) ** 2


def read(plain):
    """Read an encoding, and list its reports: what one input makes of them, and what another does."""
    demand(isinstance(plain, dict), "an encoding is missing")
    kind = word(plain.get("kind"), NAMES)
    more = {"unary": "other", "subset": "size", "hashing": "buckets"}[kind]
    keys(plain, {"kind", "inputs", "own", more})
    k, p = whole(plain["inputs"], 2, MOST), number(plain["own"])
    demand(0 < p < 1 and (p * 2**52).denominator == 1, "a share")
    if kind == "unary":
        q = number(plain["other"])
        demand(0 < q < 1 and (q * 2**52).denominator == 1, "a share")
        own, other = {1: p, 0: 1 - p}, {1: q, 0: 1 - q}
        laws = [(own[x] * other[z], other[x] * own[z]) for x in (0, 1) for z in (0, 1)]
    elif kind == "subset":
        m = whole(plain["size"], 1, MOST - 1)
        demand(m < k, "a size")
        # C(k − 1, m − 1) sets with an input, C(k − 1, m) = C(k − 1, m − 1) (k − m)/m without it
        laws = [(p, (1 - p) / Fraction(k - m, m))]
        q = p * Fraction(m - 1, k - 1) + (1 - p) * Fraction(m, k - 1)
    else:
        g = whole(plain["buckets"], 2, MOST_BUCKETS)
        demand(math.factorial(g - 1) % g == g - 1, "a prime (Wilson)")
        laws = [(p, (1 - p) / (g - 1))]
        q = p / g + (1 - p) / (g - 1) * Fraction(g - 1, g)
    demand(p > q, "the own input is supported more often")
    return Encoding(k, p, q, laws)
