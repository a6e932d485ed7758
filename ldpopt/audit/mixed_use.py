"""The level of one report of each of several mechanisms about one person."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from ldpopt.audit.audited import subject
from ldpopt.audit.auditing import Audited, loaded
from ldpopt.core.errors import InvalidInputError
from ldpopt.core.subject import Subject
from ldpopt.engine.verifying import NOT_CHECKED
from ldpopt.measures.repeated_reports import RepeatedLevel, composed_level


class MixedUse(NamedTuple):
    """What several mechanisms, each used once, tell together about a person's secret.

    Attributes:
        mechanisms: how many there are.
        found: the exact level against the distributions for which the first one was made.
        secrets: the two secrets that are told apart best.
    """

    mechanisms: int
    found: RepeatedLevel
    secrets: tuple[str, str]

    def in_words(self) -> str:
        """Say the level as a sentence."""
        level = "∞" if self.found.level == math.inf else f"{self.found.level:.4g}"
        reports = " and ".join(map(str, self.found.outputs))
        return (
            f"One report of each of the {self.mechanisms} mechanisms about one person: together the "
            f"exact level {level} (reports {reports}, {' against '.join(self.secrets)}), for the "
            f"distributions for which the first was made [{NOT_CHECKED}]."
        )

    def to_json(self) -> dict[str, Any]:
        """Return plain data; an infinite level as "inf"."""
        level = "inf" if self.found.level == math.inf else self.found.level
        return {"mechanisms": self.mechanisms, "level": level, "reports": list(self.found.outputs)}


def used_beside(design: Audited, others: Sequence[Audited]) -> MixedUse | None:
    """Compute the exact level of one report of a mechanism and one of each other; None without others.

    Args:
        design: a design or a result on pairs (s, u), or its file; its set of distributions counts.
        others: mechanisms for the same secret and public values.

    Raises:
        InvalidInputError: a mechanism is for other values, or the reports are too many to list.
    """
    if not others:
        return None
    first, *rest = (subject(loaded(made)) for made in (design, *others))
    if first.uncertainty is None:
        raise InvalidInputError(
            "--beside needs a file that was made for a table with a secret and a public column"
        )
    for other in rest:
        _check_values(first, other)
    found = composed_level([of.mechanism for of in (first, *rest)], first.uncertainty)
    names = first.secret_names[found.s], first.secret_names[found.other]
    return MixedUse(1 + len(rest), found, names)


def _check_values(first: Subject, other: Subject) -> None:
    ours, theirs = ((of.secret_names, of.public_names) for of in (first, other))
    if ours != theirs:
        raise InvalidInputError(
            f"the mechanisms must be for the same values: {ours[0]} and {ours[1]}, not {theirs[0]} and "
            f"{theirs[1]}"
        )
