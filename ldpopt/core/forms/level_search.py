"""Level searches: the member of a set under which a mechanism tells two secrets apart most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ldpopt.core.exact import LevelStatement
from ldpopt.core.form import Form
from ldpopt.core.validate import Array


@dataclass(frozen=True, eq=False)
class LevelSearch(Form):
    """Maximise log P(y|s)/P(y|z) over the members P of a convex set, outputs y and secrets s ≠ z.

    Attributes:
        matrix: the mechanism, one row per input (s, u).
        question: the same in exact arithmetic, with the set.
    """

    name: ClassVar[str] = "level-search"
    matrix: Array
    question: LevelStatement
