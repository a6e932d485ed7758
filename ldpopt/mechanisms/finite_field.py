"""Finite fields, as far as the constructions of difference sets need them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

Element = tuple[int, ...]


def prime_power(q: int) -> tuple[int, int] | None:
    """Find (p, e) with q = p^e, or None.

    >>> prime_power(27), prime_power(12)
    ((3, 3), None)
    """
    if q < 2:
        return None
    p = next((d for d in range(2, int(q**0.5) + 1) if q % d == 0), q)
    e, rest = 0, q
    while rest % p == 0:
        rest //= p
        e += 1
    return (p, e) if rest == 1 else None


@dataclass(frozen=True)
class Field:
    """The field of p^e elements: tuples of e coordinates mod p, in the powers of a generator g.

    ``cycle[i]`` is g^i; its length is p^e − 1.
    """

    moduli: tuple[int, ...]
    cycle: tuple[Element, ...]

    @classmethod
    @cache
    def of(cls, q: int) -> Field:
        """Build the field of q elements, by trying polynomials until one is primitive."""
        found = prime_power(q)
        assert found is not None, q
        p, e = found
        tail = next(tail for tail in product(range(p), repeat=e) if _is_primitive(p, tail))
        return cls((p,) * e, tuple(_cycle(p, tail)))

    @property
    def zero(self) -> Element:
        """The zero element."""
        return (0,) * len(self.moduli)

    def elements(self) -> Iterator[Element]:
        """List all elements."""
        return product(*(range(n) for n in self.moduli))

    def powers(self, exponent: int) -> set[Element]:
        """Return the non-zero elements that are an ``exponent``-th power."""
        n = len(self.cycle)
        return {self.cycle[i * exponent % n] for i in range(n)}


def _is_primitive(p: int, tail: Element) -> bool:
    """Return whether x has the order n = p^e − 1 modulo x^e + tail: xⁿ = 1, x^(n/r) ≠ 1 for primes r.

    Then the powers of x are all n elements but zero, so each of these has an inverse.
    """
    e = len(tail)
    n, one, x = p**e - 1, np.eye(e, dtype=np.int64), np.eye(e, k=-1, dtype=np.int64)
    x[:, -1] = (x[:, -1] - tail) % p

    def is_one(exponent: int) -> bool:
        power, square = one, x
        while exponent:
            power = power @ square % p if exponent % 2 else power
            square, exponent = square @ square % p, exponent // 2
        return np.array_equal(power, one)

    primes = (r for r in range(2, n + 1) if n % r == 0 and prime_power(r) == (r, 1))
    return is_one(n) and not any(is_one(n // r) for r in primes)


def _cycle(p: int, tail: Element) -> list[Element]:
    """List the powers of x modulo x^e + tail, until they return to 1; for e = 1 the powers of −tail."""
    e = len(tail)
    one: Element = (1,) + (0,) * (e - 1)
    powers, current = [one], _times_x(one, tail, p)
    while current != one and any(current) and len(powers) < p**e:
        powers.append(current)
        current = _times_x(current, tail, p)
    return powers


def _times_x(a: Element, tail: Element, p: int) -> Element:
    """Compute x·a modulo x^e + Σ tail_i x^i."""
    top = a[-1]
    shifted = (0, *a[:-1])
    return tuple((s - top * t) % p for s, t in zip(shifted, tail, strict=True))


def trace_zeros(q: int, d: int) -> list[int]:
    """List the i below (q^d − 1)/(q − 1) for which g^i has trace zero over the field of q elements."""
    field = Field.of(q**d)
    n, p = len(field.cycle), field.moduli[0]
    cycle: NDArray[np.int64] = np.array(field.cycle)
    i = np.arange(n // (q - 1))
    trace = sum(cycle[i * q**j % n] for j in range(d)) % p
    return [int(index) for index in i[~trace.any(axis=1)]]
