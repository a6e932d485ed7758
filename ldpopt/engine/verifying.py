"""Let the checker decide a result or a result file; nothing else of ldpopt is imported to do so."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ldpopt.checker import frame as checker
from ldpopt.core.errors import UnreadableFileError

if TYPE_CHECKING:
    from ldpopt.engine.result import Result


@dataclass(frozen=True)
class Verification:
    """The checker's answer: truthy if every claim holds.

    >>> bool(Verification((checker.Claim("one is one", "exact", True),)))
    True
    """

    claims: tuple[checker.Claim, ...]

    def __bool__(self) -> bool:
        return all(claim.holds for claim in self.claims)

    def __str__(self) -> str:
        marks = {True: "holds  ", False: "REFUTED"}
        return "\n".join(f"{marks[c.holds]}  {c.statement} [{c.strength}]" for c in self.claims)

    def _repr_html_(self) -> str:
        from ldpopt.core import notebook

        marks = {True: "holds", False: "REFUTED"}
        rows = [(marks[c.holds], c.statement, c.strength) for c in self.claims]
        return notebook.table("verified" if self else "refuted", rows, ("", "claim", "strength"))


def verify(result: Result | str | os.PathLike[str]) -> Verification:
    """Let the independent checker decide every claim of a result or result file.

    The statement comes from the checker's own reading of the parameters, or, for a kind that another
    package registered, from that problem's ``statement()``.
    """
    document = read_document(result) if isinstance(result, (str, os.PathLike)) else result.to_json()
    kind, plain = document.get("problem"), None
    try:
        if isinstance(kind, str) and not checker.knows(kind):
            plain = _statement(kind, document.get("params", {}))
        return Verification(tuple(checker.check(document, plain)))
    except checker.UnreadableError as error:
        raise UnreadableFileError(str(error)) from None


def _statement(kind: str, params: dict[str, Any]) -> dict[str, Any] | None:
    """The statement of a kind that another package registered; None if nobody did."""
    from ldpopt.problems import PROBLEMS

    return PROBLEMS[kind].from_params(**params).statement() if kind in PROBLEMS else None


def read_document(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The JSON object in a file."""
    try:
        document = checker.read(os.fspath(path))
    except checker.UnreadableError as error:
        raise UnreadableFileError(str(error)) from None
    if not isinstance(document, dict):
        raise UnreadableFileError(f"{os.fspath(path)} holds no JSON object")
    return document
