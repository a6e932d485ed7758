"""Decide whether a mechanism is a reporting protocol with any blocks: ``block_splits.py`` says which.

Lemma (:func:`is_made_of`). If the answer is yes, then a protocol of the kind differs from the mechanism
by at most the entry error, entry by entry. Proof. The reports on s and on u are read off the mechanism
as row sums. Rounding to floats may have raised their levels, so each is mixed with the uniform report,
which gets a share of :data:`MIXED` times the error. Their rows sum to 1 if those of the mechanism do.
Let r₁ and r₂ be the largest ratios of the report on s and of one on u. Then r₁ (1 + (r₂ − 1) d/2) ≤ E
says that the split g = E/r₁ leaves both the levels that they have. So the protocol made of them is of
the kind, and each of its entries is compared. ∎
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from ..claims import Claim, decided
from ..section import Case
from .block_splits import BY, Splits, read_proof
from .private_rows import Rows
from .reporting_protocols import Reporting, entry_error

MIXED = Fraction(1, 4)
"""How much of the allowed error the mixture with uniform reports takes."""
Report = list[list[Fraction]]


def is_made_of(matrix: Rows, question: Reporting, reports: list[list[int]]) -> bool:
    """Return whether the mechanism is the protocol with some reports, up to the entry error.

    Args:
        matrix: the mechanism.
        question: the protocol and its level.
        reports: how many outputs the reports on s and on u have (one pair); or, conditionally, for every
            output of the report on s the secret that it announces and how many outputs then follow.
    """
    parts, allowed = Splits(question), entry_error(question, len(matrix[0]))
    rows = [[Fraction(p) for p in row] for row in matrix]
    width = len(parts.given[0])
    starts = [rows[x : x + width] for x in range(0, len(rows), width)]
    mixed = MIXED * allowed
    if parts.conditional:
        if sum(count for _, count in reports) != len(rows[0]):
            return False
        if any(t >= len(starts) or count < 1 for t, count in reports):
            return False
        made = _conditional(parts, starts, reports, mixed)
    else:
        sizes = reports[0]
        if len(reports) > 1 or 0 in sizes or sizes[0] * sizes[1] != len(rows[0]):
            return False
        made = _independent(parts, starts, sizes, mixed)
    return made is not None and all(
        abs(p - q) <= allowed
        for row, own in zip(rows, made, strict=True)
        for p, q in zip(row, own, strict=True)
    )


def _mix(report: Report, share: Fraction) -> Report:
    """Mix a report with the uniform one."""
    uniform = share / len(report[0])
    return [[(1 - share) * p + uniform for p in row] for row in report]


def _ratio(report: Report) -> Fraction:
    """Compute the largest ratio of two probabilities of one output."""
    return max(max(column) / min(column) for column in zip(*report, strict=True))


def _allowed(parts: Splits, first: Fraction, second: Report, t: int) -> bool:
    """Return whether some split leaves both reports the levels that they have.

    Args:
        parts: the protocol.
        first: the largest ratio of the report on s.
        second: the report on u.
        t: which block that is.
    """
    spent = first * (1 + (_ratio(second) - 1) * Fraction(parts.distances[t].high) / 2)
    return spent <= Fraction(parts.factor.low)


def _independent(
    parts: Splits, starts: list[Report], sizes: list[int], mixed: Fraction
) -> Report | None:
    m1, m2 = sizes
    firsts = [[sum(rows[0][y * m2 : (y + 1) * m2], Fraction(0)) for y in range(m1)] for rows in starts]
    seconds = [[sum(row[v::m2], Fraction(0)) for v in range(m2)] for row in starts[0]]
    first, second = _mix(firsts, mixed), _mix(seconds, mixed)
    if not _allowed(parts, _ratio(first), second, 0):
        return None
    return [[p * q for p in own for q in said] for own in first for said in second]


def _conditional(
    parts: Splits, starts: list[Report], reports: list[list[int]], mixed: Fraction
) -> Report | None:
    places, at = [], 0
    for t, count in reports:
        places.append((t, slice(at, at + count)))
        at += count
    firsts = [[sum(rows[0][place], Fraction(0)) for _, place in places] for rows in starts]
    first = _mix(firsts, mixed)
    spent = _ratio(first)
    made: Report = [[] for rows in starts for _ in rows]
    for y, (t, place) in enumerate(places):
        totals = [sum(row[place], Fraction(0)) for row in starts[t]]
        if not all(totals):
            return None
        block = _mix(
            [[p / mass for p in row[place]] for row, mass in zip(starts[t], totals, strict=True)], mixed
        )
        if not _allowed(parts, spent, block, t):
            return None
        columns = list(zip(*block, strict=True))
        drawn = [
            sum((p * q for p, q in zip(column, parts.given[t], strict=True)), Fraction(0))
            for column in columns
        ]
        for x, row in enumerate(made):
            s, u = divmod(x, len(block))
            row += [first[s][y] * p for p in (block[u] if s == t else drawn)]
    return made


def made_of_reports(case: Case) -> Iterator[Claim]:
    """Check the claim that the mechanism is its protocol, made of the reports that the proof names."""
    question = case.question
    if question.protocol in BY:
        reports = read_proof(case)["reports"]
        within = float(entry_error(question, len(case.answer[0])))
        kept = f"reports on s and u that keep the levels of one split by {BY[question.protocol]}"
        words = f"it is {question.protocol} with {kept}, each entry to within {within!r}"
        yield decided("member", words, lambda: is_made_of(case.answer, question, reports))


def unchecked_kind(plain: dict[str, Any]) -> list[str]:
    """Say that no claim is about the kind of the mechanism: unary encoding with optimal blocks."""
    if plain["blocks"] == "grr" or plain["protocol"] in BY:
        return []
    return [f"that the mechanism is {plain['protocol']}: no claim of this file is about its kind"]
