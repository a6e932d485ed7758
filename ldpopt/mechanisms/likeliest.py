"""The report that an input of an encoding gives most often."""

from __future__ import annotations

import math
from fractions import Fraction

from ldpopt.mechanisms.stated import StatedEncoding

HALF = Fraction(1, 2)


def likeliest(made: StatedEncoding) -> tuple[Fraction, str]:
    """Compute the exact probability of such a report, the same for all inputs, and say what it supports.

    Unary: the own input is marked or not, and each other one or not, whichever is likelier. Subset: all
    sets with the own input are equally likely, and likelier than those without. Hashing: any seed, and
    the bucket of the own input.

    >>> from ldpopt.mechanisms.stated import encoding
    >>> likeliest(encoding({"kind": "unary", "inputs": 3, "own": 0.75, "other": 0.25}))
    (Fraction(27, 64), 'the own input alone')
    """
    p, q, others = made.exact.own, made.exact.other, made.inputs - 1
    if made.kind == "unary":
        said = "every input" if q > HALF else "the own input alone" if p > HALF else "no input"
        return max(p, 1 - p) * max(q, 1 - q) ** others, said
    if made.kind == "subset":
        more = made.plain["size"] - 1
        said = f"the own input and {more} more" if more else "the own input alone"
        return p / math.comb(others, more), said
    seeds = made.outputs // made.plain["buckets"]
    return p / seeds, "the inputs that a seed puts in the bucket of the own one"
