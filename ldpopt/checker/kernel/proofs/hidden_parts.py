"""Privacy at one level: ``ldp`` and ``secret``, of which ``ldp`` is the case of a secret per input.

The table of :mod:`privacy_parts` says what they mean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import permutations
from typing import Any

from ..fixed_point import Vector
from ..labels import Labels
from ..reading import UnreadableError
from ..schema import EPSILON, Number, Record
from .differences import Budget, Cone, Difference, Part
from .private_rows import hidden


def one(x: int) -> Vector:
    """Return the unit vector of an input."""
    return {x: Fraction(1)}


def ratios(pairs: Iterable[tuple[int, int]], level: Fraction) -> Cone:
    """Say w_x ≤ e^level w_z for every pair (x, z)."""
    return tuple(Difference(one(x), one(z), level) for x, z in pairs)


def _hidden(secrets: tuple[Any, ...], epsilon: float) -> Part:
    """Say w_x ≤ e^ε w_z for inputs of different secrets."""

    def cones() -> Sequence[Cone]:
        pairs = permutations(range(len(secrets)), 2)
        apart = ((x, z) for x, z in pairs if secrets[x] != secrets[z])
        return (ratios(apart, Fraction(epsilon)),)

    return Part(hidden(secrets, epsilon), cones, (), secrets, epsilon)


def _ldp(part: dict[str, Any], k: int) -> Part:
    epsilon, delta = part["epsilon"], part.get("delta", 0.0)
    if not delta:
        return _hidden(tuple(range(k)), epsilon)
    words = (
        f"every set of reports has p ≤ e^{epsilon!r} p' + {delta!r} for its probabilities at any two "
        "inputs"
    )
    nothing = Difference({}, {})
    differences = ratios(permutations(range(k), 2), Fraction(epsilon))
    spent = ((nothing, difference) for difference in differences)
    return Part(words, budgets=tuple(Budget(pieces, Fraction(delta)) for pieces in spent))


def _secret(part: dict[str, Any], k: int) -> Part:
    epsilon, secrets = part["epsilon"], tuple(part["secrets"])
    several(secrets, k)
    return _hidden(secrets, epsilon)


def count(name: str, given: int, k: int) -> None:
    """Refuse what is not as long as there are inputs.

    Args:
        name: what it is called.
        given: how long it is.
        k: the number of inputs.
    """
    if given != k:
        raise UnreadableError(f"{name} must be {k}, the number of inputs, not {given}")


def several(secrets: Sequence[Any], k: int) -> None:
    """Refuse labels that are not one for each input, or that are all alike."""
    count("secrets", len(secrets), k)
    if len(set(secrets)) < 2:
        raise UnreadableError(
            "secrets must be at least two different labels: with one nothing is hidden"
        )


PARTS: dict[str, tuple[Record, Callable[[dict[str, Any], int], Part]]] = {
    "ldp": (Record({"epsilon": EPSILON}, {"delta": Number(0, below=1)}), _ldp),
    "secret": (Record({"epsilon": EPSILON, "secrets": Labels(2)}), _secret),
}
"""What each part may say, and what it means for so many inputs."""
