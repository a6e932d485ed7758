"""Encodings that are stated by parameters, not by a matrix: their level and their error, exactly.

Statement. All k inputs are secrets, so privacy is plain ε-LDP. A report *supports* a set of inputs:
the user's own input with the probability p (``own``), each other one with the probability q. Stated
probabilities are multiples of 2^−52, which 52 random bits draw exactly: what is proven is so of what is
released. The encodings:

* *unary*: each input is supported independently of the others, with p or q (``other``);
* *subset*: a set of m (``size``) inputs. With probability p it is drawn uniformly from the sets that
  contain the own input, else from the others. So q = (m − p)/(k − 1);
* *hashing*: a prime g (``buckets``). An input x < g^d is written as its d digits x_i in base g, where
  d is the least number with g^d ≥ k. A seed (a, b) of 2 d digits is drawn uniformly, whatever the
  data; it hashes x to the bucket Σ a_i x_i + b_i x_i² mod g (for g = 2, where x² = x, to Σ a_i x_i,
  with seeds of d digits). The report is the seed and a bucket: that of x with probability p, else one
  of the others, uniformly. It supports the inputs of the reported bucket, so q = 1/g (Lemma 2). With g
  = 2 it is Hadamard response: the seed is a column of a Hadamard matrix, the bucket the sign of x in
  it.

Lemma 1 (:func:`read_encoding`). Let p > q. The probabilities of one report for two inputs differ at
most by the factor

    unary p(1 − q)/(q(1 − p)),    subset p(k − m)/((1 − p) m),    hashing p(g − 1)/(1 − p).

Proof. *Unary*: for two inputs x and z all factors but those of x and z are equal; these are largest
where x is supported and z is not. *Subset*: a set has the probability p/C(k−1, m−1) for the inputs in
it and (1 − p)/C(k−1, m) for the others. *Hashing*: the seed does not depend on the input, and given the
seed a bucket has the probability p for the inputs in it and (1 − p)/(g − 1) for the others. ∎ Each is
attained, by a report that supports x and not z; as p > q, each is at least 1.

Lemma 2. Under hashing, the bucket of z ≠ x differs from that of x by a uniform number mod g, so z is
supported with the probability p/g + (1 − 1/g)(1 − p)/(g − 1) = 1/g. Proof. The difference is a·v + b·w
for the differences v and w of the digits and of their squares, and v ≠ 0: one digit of the seed has a
factor that is not 0 modulo the prime g, and makes the sum uniform whatever the others are. ∎

Lemma 3 (:func:`error`). From n independent users with any distribution P, (share of the reports that
support x − q)/(p − q) estimates P_x without bias, and the sum of the k squared errors has an
expectation of at most k s (1 − s)/((p − q)² n), s = q + (p − q)/k. Proof. A report supports x with s_x
= q + (p − q) P_x, so the variance is s_x (1 − s_x)/((p − q)² n); s (1 − s) is concave and the s_x have
the mean s. ∎ The uniform distribution attains it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

from ..arithmetic import exp_below
from ..claims import Claim, decided
from ..reading import UnreadableError
from ..schema import DRAWN_BITS, Number, OneOf, Record, Schema, Whole

MOST_INPUTS = 65_536
MOST_BUCKETS = 1021
"""Within these limits, a seed and a bucket fit together into a whole number below 2^63."""
INPUTS = Whole(2, MOST_INPUTS)
SHARE = Number(above=0, below=1, bits=DRAWN_BITS)


class Encoding(NamedTuple):
    """What a file states about an encoding: k, p, q and the largest ratio, all exact."""

    inputs: int
    own: Fraction
    other: Fraction
    ratio: Fraction


class Law(NamedTuple):
    """What one encoding is: the parameters beside k and p, and q and the ratio of Lemma 1 from these."""

    parameters: dict[str, Schema]
    of: Callable[[int, Fraction, dict[str, Any]], tuple[Fraction, Fraction]]


def _unary(k: int, p: Fraction, plain: dict[str, Any]) -> tuple[Fraction, Fraction]:
    q = Fraction(plain["other"])
    return q, p * (1 - q) / (q * (1 - p))


def _subset(k: int, p: Fraction, plain: dict[str, Any]) -> tuple[Fraction, Fraction]:
    m = plain["size"]
    if m >= k:
        raise UnreadableError(f"the size of the subsets must be below the {k} inputs, not {m}")
    return (m - p) / (k - 1), p * (k - m) / ((1 - p) * m)


def _hashing(k: int, p: Fraction, plain: dict[str, Any]) -> tuple[Fraction, Fraction]:
    g = _prime(plain["buckets"])
    return Fraction(1, g), p * (g - 1) / (1 - p)


LAWS = {
    "unary": Law({"other": SHARE}, _unary),
    "subset": Law({"size": Whole(1, MOST_INPUTS - 1)}, _subset),
    "hashing": Law({"buckets": Whole(2, MOST_BUCKETS)}, _hashing),
}
"""Every encoding by its name."""
ENCODING = OneOf(
    {name: Record({"inputs": INPUTS, "own": SHARE, **law.parameters}) for name, law in LAWS.items()}
)


def read_encoding(plain: dict[str, Any]) -> Encoding:
    """Compute q and the ratio of an encoding that its schema has read, by Lemmas 1 and 2."""
    k, p = plain["inputs"], Fraction(plain["own"])
    q, ratio = LAWS[plain["kind"]].of(k, p, plain)
    if not p > q:
        raise UnreadableError("an encoding must support the own input more often than each other one")
    return Encoding(k, p, q, ratio)


def _prime(buckets: int) -> int:
    if any(buckets % d == 0 for d in range(2, math.isqrt(buckets) + 1)):
        raise UnreadableError(f"the number of buckets must be prime, not {buckets}")
    return buckets


def error(found: Encoding) -> Fraction:
    """Compute the bound of Lemma 3, times n."""
    gain = found.own - found.other
    s = found.other + gain / found.inputs
    return found.inputs * s * (1 - s) / gain**2


def private(found: Encoding, epsilon: float) -> Claim:
    """Check the claim of ε-LDP, by Lemma 1."""
    words = f"for every report two inputs differ in their probability by at most a factor e^{epsilon!r}"
    return decided("privacy", words, lambda: found.ratio <= exp_below(epsilon), value=epsilon)
