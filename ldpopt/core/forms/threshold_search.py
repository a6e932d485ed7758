"""Threshold searches: the thresholds of marginals with which a rule proves the least exposure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ldpopt.core.form import Form
from ldpopt.core.validate import Array


@dataclass(frozen=True, eq=False)
class ThresholdSearch(Form):
    """Minimise a rule's bound over the thresholds of the marginals."""

    name: ClassVar[str] = "threshold-search"
    marginals: tuple[Array, ...]
    threshold: float
    rule: str


@dataclass(frozen=True, eq=False)
class BestBound(Form):
    """Minimise the bound over every rule, and over the proofs about the worst joint distribution."""

    name: ClassVar[str] = "best-bound"
    marginals: tuple[Array, ...]
    threshold: float
