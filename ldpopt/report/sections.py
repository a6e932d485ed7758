"""What the page shows about a result, part by part."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from markupsafe import Markup

from ldpopt.audit.findings import Audit
from ldpopt.core.exact import Claim, Verdict, combined
from ldpopt.engine.verifying import WORDS
from ldpopt.report.reproducing import Command

if TYPE_CHECKING:
    from ldpopt.report.signing import Signing


class Fact(NamedTuple):
    """A line of a list: a name, what is to be said, and why that matters."""

    name: str
    text: str
    note: str = ""


class Cell(NamedTuple):
    """A probability: as text, and as the share of the largest one that shades it."""

    text: str
    shade: float


class Group(NamedTuple):
    """Inputs with the same secret."""

    name: str
    rows: list[tuple[str, list[Cell]]]


@dataclass(frozen=True)
class Heatmap:
    """A mechanism as a table; ``image`` stands before it if it is large."""

    shape: tuple[int, int]
    corner: str
    outputs: list[str]
    groups: list[Group]
    overall: list[Cell]
    largest: str
    image: str
    large: bool


@dataclass(frozen=True)
class Curve:
    """The trade-off curve, its numbers as a table, and what was not computed."""

    svg: Markup
    levels: list[str]
    rows: list[tuple[str, list[tuple[str, str, list[str]]]]]
    """What is promised, and the methods that promise it with their values; the result's own first."""
    explored: dict[str, Any]
    """Every method at every level, for the slider: plain data."""
    omitted: tuple[str, ...]
    sentence: str


class Grid(NamedTuple):
    """A small labelled table."""

    corner: str
    columns: list[str]
    rows: list[tuple[str, list[str]]]


class Summary(NamedTuple):
    """The row of a result in the table that compares all."""

    id: str
    title: str
    method: str
    epsilon: str
    value: str = "–"
    share: str = "–"
    bound: str = "–"
    gap: str = "–"
    status: str = "–"


@dataclass(frozen=True, repr=False)
class Part:
    """All that the page says about one result."""

    id: str
    title: str
    signing: Signing | None
    path: str
    explanation: list[str]
    question: list[Fact]
    answer: list[Fact]
    plain_answer: list[Fact]
    mechanism: Heatmap | None
    claims: tuple[Claim, ...]
    unchecked: tuple[str, ...]
    verified: Verdict
    curve_sentence: str
    audit: Audit | None
    audit_facts: list[Fact]
    commands: list[Command]
    provenance: list[Fact]
    summary: Summary
    curve: Curve | None = None
    witness: Grid | None = None
    internal: bool = False
    """Whether it holds statistics of a table: its file has counts."""
    complaint: str = ""
    beyond: str = ""
    """What the verdict is not about, to follow it; may be empty."""

    def __repr__(self) -> str:
        return f"<Part {self.title}: {len(self.claims)} claims {WORDS[self.verified]}, in {self.path}>"

    @property
    def sound(self) -> Verdict:
        """Whether every claim holds and the audit, if there is one, was passed."""
        return combined((self.verified, True if self.audit is None else self.audit.passed))
