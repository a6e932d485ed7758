"""The pairs of entries that decide privacy, against all pairs."""

import random
from fractions import Fraction

from ldpopt.checker.kernel.proofs.private_rows import worst_ratios


def ratio(high: float, low: float) -> Fraction:
    """high / low; a number beyond all others where only low is 0; 1 where both are."""
    if low == 0:
        return Fraction(10**9) if high else Fraction(1)
    return Fraction(high) / Fraction(low)


def test_no_other_pair_has_a_larger_ratio() -> None:
    rng = random.Random(0)
    for _ in range(2000):
        size = rng.randint(2, 6)
        secrets = [rng.randrange(3) for _ in range(size)]
        column = [rng.choice([0.0, 0.125, 0.25, 0.5, rng.random()]) for _ in range(size)]
        pairs = [
            ratio(column[x], column[z])
            for x in range(size)
            for z in range(size)
            if secrets[x] != secrets[z]
        ]
        found = [ratio(*pair) for pair in worst_ratios([[entry] for entry in column], secrets)]
        assert max(found, default=None) == max(pairs, default=None), (column, secrets)
