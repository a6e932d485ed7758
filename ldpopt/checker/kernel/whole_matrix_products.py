"""Products of matrices of whole numbers."""

from __future__ import annotations

from collections.abc import Sequence
from operator import mul

from .budget import tick


def product(A: Sequence[Sequence[int]], B: Sequence[Sequence[int]]) -> list[list[int]]:
    """Compute A Bᵀ, each column of B written into the digits of one number.

    An entry of A times such a number is that entry times the whole column: one multiplication for many.
    Digits have a width at which no sum reaches half of them, and half of them is added before they are
    read, so that they may be negative.
    """
    sizes = [max(abs(x) for row in matrix for x in row).bit_length() for matrix in (A, B)]
    width = (sum(sizes) + len(B[0]).bit_length() + 2 + 7) // 8
    half = 1 << (8 * width - 1)
    halves = _packed([half] * len(B), width)
    columns = [_packed([x + half for x in column], width) - halves for column in zip(*B, strict=True)]
    found = []
    for row in A:
        tick()
        digits = (sum(map(mul, row, columns)) + halves).to_bytes(width * len(B), "little")
        found.append(
            [
                int.from_bytes(digits[start : start + width], "little") - half
                for start in range(0, len(digits), width)
            ]
        )
    return found


def _packed(digits: Sequence[int], width: int) -> int:
    return int.from_bytes(b"".join(digit.to_bytes(width, "little") for digit in digits), "little")
