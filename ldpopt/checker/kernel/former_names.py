"""The names that parameters had in version 1 of the file format, and how they are read today.

A name is another word for the same number: a file of version 1 asks the question that the same file
with today's names asks, so nothing else in the checker knows of versions.
"""

from __future__ import annotations

from typing import Any

from .claims import quoted
from .reading import UnreadableError

FORMER_NAMES: dict[str, dict[str, str]] = {
    "circulant-fidelity": {"k": "inputs"},
    "square-fidelity": {"k": "inputs"},
    "broad-fidelity": {"k": "inputs"},
    "fidelity": {"p": "prior"},
    "minimax-fidelity": {"k": "inputs"},
    "asymptotic-utility": {"alpha": "dirichlet"},
    "privacy-utility-frontier": {"alpha": "dirichlet"},
    "leakage-design": {"budget": "leakage"},
}
"""For each kind, the parameters of version 1 that have another name today."""


def with_names_of_today(kind: Any, params: Any) -> Any:
    """Return the parameters of a kind under the names that they have today.

    Raises:
        UnreadableError: one parameter is given twice, under its former name and under today's.
    """
    former = FORMER_NAMES.get(kind, {}) if isinstance(kind, str) else {}
    if not isinstance(params, dict) or former.keys().isdisjoint(params):
        return params
    for old, new in former.items():
        if old in params and new in params:
            raise UnreadableError(
                f"{kind}: {quoted(old)} is the former name of {quoted(new)}: give one of them, not both"
            )
    return {former.get(name, name): value for name, value in params.items()}
