"""Balanced designs and the two-level mechanisms that they define.

A set D of m elements of an abelian group G is a (K, m, λ) difference set if every element but 0 is a
difference of two elements of D in exactly λ ways. Its translates are the blocks of a symmetric design,
and the mechanism W[x, y] ∝ E = e^ε if x ∈ D + y, else 1, attains φ*(ε, K) if m is the best block size.
Every set here is constructed, and :func:`is_difference_set` tests it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np

from ldpopt.core import validate
from ldpopt.core.mechanism import Mechanism
from ldpopt.core.validate import Array
from ldpopt.mechanisms import finite_field
from ldpopt.mechanisms.catalogue import randomized_response
from ldpopt.mechanisms.finite_field import Field, prime_power

Element = tuple[int, ...]


@dataclass(frozen=True)
class DifferenceSet:
    """A difference set in the group Z_{n1} × Z_{n2} × …; elements are tuples.

    >>> DifferenceSet("example", (7,), ((1,), (2,), (4,))).parameters
    (7, 3, 1)
    """

    name: str
    moduli: tuple[int, ...]
    elements: tuple[Element, ...]

    @property
    def parameters(self) -> tuple[int, int, int]:
        """(K, m, λ)."""
        k, m = math.prod(self.moduli), len(self.elements)
        return k, m, m * (m - 1) // (k - 1)

    def complement(self) -> DifferenceSet:
        """Return the elements not in the set: a (K, K − m, K − 2m + λ) difference set."""
        rest = tuple(g for g in _group(self.moduli) if g not in set(self.elements))
        return DifferenceSet(f"complement of {self.name}", self.moduli, rest)

    def blocks(self) -> Array:
        """Build the K × K matrix [x][y] that is 1 where x − y lies in the set.

        It is circulant if G is cyclic.
        """
        group = list(_group(self.moduli))
        place = {g: i for i, g in enumerate(group)}
        result = np.zeros((len(group), len(group)))
        for y, g in enumerate(group):
            for d in self.elements:
                moved = tuple((i + j) % n for i, j, n in zip(g, d, self.moduli, strict=True))
                result[place[moved], y] = 1
        return result


def is_difference_set(design: DifferenceSet) -> bool:
    """Return whether every difference but 0 occurs equally often."""
    counts = dict.fromkeys(_group(design.moduli), 0)
    for a in design.elements:
        for b in design.elements:
            counts[tuple((i - j) % n for i, j, n in zip(a, b, design.moduli, strict=True))] += 1
    del counts[tuple(0 for _ in design.moduli)]
    return len(set(counts.values())) == 1


def _group(moduli: tuple[int, ...]) -> Iterator[Element]:
    return product(*(range(n) for n in moduli))


# ---------------------------------------------------------------- constructions


def singer(k: int) -> Iterator[DifferenceSet]:
    """Build hyperplanes of projective spaces, cyclic difference sets (Singer 1938).

    K = (q^d − 1)/(q − 1) and m = (q^{d−1} − 1)/(q − 1).

    The set has the exponents i mod K with Tr(g^i) = 0, where g generates the field of q^d elements and
    Tr is the trace to the field of q elements.
    """
    for q in range(2, k):
        if prime_power(q) is None:
            continue
        for d in range(3, k.bit_length() + 1):
            if (q**d - 1) // (q - 1) == k:
                zeros = finite_field.trace_zeros(q, d)
                yield DifferenceSet(f"Singer PG({d - 1}, {q})", (k,), tuple((i,) for i in zeros))


def paley(k: int) -> Iterator[DifferenceSet]:
    """Build the set of squares of the field of K ≡ 3 mod 4 elements: m = (K − 1)/2 (Paley 1933)."""
    if k % 4 == 3 and prime_power(k) is not None:
        yield _powers(k, 2, zero=False, name=f"Paley GF({k})")


def quartic(k: int) -> Iterator[DifferenceSet]:
    """Build the set of fourth powers modulo a prime 4a² + 1 with a odd (Lehmer 1953).

    For a prime 4a² + 9 with a odd, 0 belongs to the set, too.
    """
    if prime_power(k) != (k, 1):
        return
    for offset, zero in ((1, False), (9, True)):
        a = math.isqrt((k - offset) // 4) if k > offset else 0
        if a % 2 == 1 and 4 * a * a + offset == k:
            yield _powers(k, 4, zero=zero, name=f"quartic residues mod {k}")


def octic(k: int) -> Iterator[DifferenceSet]:
    """Build the set of eighth powers modulo a prime 8a² + 1 = 64b² + 9, a and b odd (Lehmer 1953)."""
    a, b = math.isqrt((k - 1) // 8), math.isqrt(max(k - 9, 0) // 64)
    odd = a % 2 == 1 and b % 2 == 1
    if odd and prime_power(k) == (k, 1) and 8 * a * a + 1 == 64 * b * b + 9 == k:
        yield _powers(k, 8, zero=False, name=f"octic residues mod {k}")


def twin_primes(k: int) -> Iterator[DifferenceSet]:
    """Build the set for K = p(p + 2), both prime powers: m = (K − 1)/2 (Stanton and Sprott 1958).

    It has the pairs (x, y) with χ(x)χ(y) = 1, χ the quadratic character, and those with y = 0.
    """
    p = math.isqrt(k + 1) - 1
    if p < 3 or p * (p + 2) != k or prime_power(p) is None or prime_power(p + 2) is None:
        return
    first, second = Field.of(p), Field.of(p + 2)
    squares, others = first.powers(2), second.powers(2)
    zero = second.zero
    pairs = [
        x + y
        for x in first.elements()
        for y in second.elements()
        if y == zero or (any(x) and (x in squares) == (y in others))
    ]
    cyclic = len(first.zero) == len(zero) == 1
    if cyclic:
        # the Chinese remainder theorem: from (x mod p, y mod p + 2) to a number mod K
        left, right = (p + 2) * pow(p + 2, -1, p), p * pow(p, -1, p + 2)
        solved = sorted((x * left + y * right) % k for x, y in pairs)
        yield DifferenceSet(f"twin primes {p}·{p + 2}", (k,), tuple((i,) for i in solved))
    else:
        yield DifferenceSet(f"twin prime powers {p}·{p + 2}", first.moduli + second.moduli, tuple(pairs))


def bent(k: int) -> Iterator[DifferenceSet]:
    """Build the set of bit strings with x1x2 + x3x4 + … odd (Mann, Menon).

    K = 4^r and m = 2^{2r−1} − 2^{r−1}.
    """
    r = (k.bit_length() - 1) // 2
    if r >= 1 and 4**r == k:
        moduli = (2,) * (2 * r)
        ones = [x for x in _group(moduli) if np.dot(x[::2], x[1::2]) % 2]
        yield DifferenceSet(f"bent function on {2 * r} bits", moduli, tuple(ones))


CONSTRUCTIONS: tuple[Callable[[int], Iterable[DifferenceSet]], ...] = (
    singer,
    paley,
    quartic,
    octic,
    twin_primes,
    bent,
)


def single(k: int) -> DifferenceSet:
    """Build the set of one element in the cyclic group: the balanced design of the step mechanism."""
    return DifferenceSet("step", (k,), ((0,),))


def difference_sets(k: int, cyclic: bool = False) -> list[DifferenceSet]:
    """List the single element, every set that a construction gives for K, and all their complements.

    >>> [design.parameters for design in difference_sets(13)]
    [(13, 1, 0), (13, 4, 1), (13, 4, 1), (13, 12, 11), (13, 9, 6), (13, 9, 6)]
    """
    found = [single(k), *(design for construct in CONSTRUCTIONS for design in construct(k))]
    found = [design for design in found if 0 < len(design.elements) < k]
    both = [*found, *(design.complement() for design in found)]
    return [design for design in both if len(design.moduli) == 1 or not cyclic]


def _powers(q: int, exponent: int, zero: bool, name: str) -> DifferenceSet:
    field = Field.of(q)
    elements = sorted(field.powers(exponent) | ({field.zero} if zero else set()))
    return DifferenceSet(name, field.moduli, tuple(elements))


# ---------------------------------------------------------------- mechanisms


def two_level(blocks: Array, epsilon: float) -> Array:
    """Build the matrix with entries ∝ E where ``blocks`` is 1 and ∝ 1 elsewhere.

    The row sums of ``blocks`` must be equal.
    """
    levels = 1 + math.expm1(validate.epsilon(epsilon)) * blocks
    return levels / levels.sum(axis=1, keepdims=True)


def step_mechanism(k: int, epsilon: float) -> Mechanism:
    """Build the step mechanism: generalised randomised response (Pastore and Gastpar 2021, (23)).

    >>> step_mechanism(3, 1.0).matrix[0].round(4)
    array([0.5761, 0.2119, 0.2119])
    """
    return randomized_response(k, epsilon)


def subset_selection(k: int, epsilon: float, size: int) -> Mechanism:
    """Build the mechanism with all C(K, m) subsets as outputs (Ye and Barg 2018).

    The subsets that contain x are E times as likely as the others.

    Args:
        k: the number K of inputs.
        epsilon: the level ε, in nats.
        size: m, the size of the subsets, from 1 to K − 1.

    >>> subset_selection(4, 1.0, 2).shape
    (4, 6)
    """
    subsets = list(combinations(range(k), size))
    blocks = np.zeros((k, len(subsets)))
    for y, subset in enumerate(subsets):
        blocks[list(subset), y] = 1
    return Mechanism(two_level(blocks, epsilon), outputs=subsets)
