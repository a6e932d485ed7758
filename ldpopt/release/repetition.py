"""Several reports about one person: what they do to a design's promise, and the record of releases.

The record lies beside the mechanism's file and holds the fingerprint of the mechanism and the dates of
its releases, no data.
"""

from __future__ import annotations

import datetime
import json
import math
import os
from collections.abc import Sequence
from pathlib import Path

from ldpopt.core.errors import UnreadableFileError
from ldpopt.core.files import write_whole
from ldpopt.engine.verifying import read_document
from ldpopt.release.designing import Design
from ldpopt.theory.robust.level import rldp_level
from ldpopt.theory.robust.repeated import Together, together
from ldpopt.theory.robust.uncertainty import AllDistributions

SUFFIX = ".releases.json"
ROUNDING = 1e-9


def reports_together(made: Design, reports: int) -> Together:
    """Compute the level of several reports about one person."""
    return together(made.mechanism, made.question.uncertainty, reports)


def _level(reports: Together) -> str:
    """Say the level, and how well it is known."""
    level = "∞" if reports.found.level == math.inf else f"{reports.found.level:.4g}"
    return f"the exact level {level}" if reports.exact else f"a level of at least {level}"


def adds_up(made: Design) -> bool:
    """Return whether the mechanism keeps its level against all distributions, where levels add up."""
    everything = AllDistributions(*made.domain.shape)
    level = rldp_level(made.mechanism, everything).level
    return level <= made.question.epsilon * (1 + ROUNDING)


def repetition(made: Design) -> str:
    """Say what another report about the same person does to the promise, in words."""
    question, covered = made.question, made.question.reports
    if adds_up(made):
        two = reports_together(made, 2)
        return (
            f"two reports about one person have {_level(two)}; r reports at most r times the level of "
            "one, as the mechanism keeps it against all distributions"
        )
    more = reports_together(made, covered + 1)
    outputs = " and ".join(map(str, more.found.outputs))
    said = (
        f"{_number(covered + 1)} have {_level(more)} (reports {outputs}), as robust LDP does not add up"
    )
    if covered == 1:
        return f"ε = {question.epsilon:g} is for one report about a person; {said}"
    kept = _level(reports_together(made, covered))
    return f"{_number(covered)} reports about one person have {kept}; {said}"


def warning(made: Design, dates: Sequence[str]) -> str:
    """Warn of another release, after those of the given dates; empty while the promise covers it."""
    count, question = len(dates) + 1, made.question
    if count <= question.reports:
        return ""
    before = "once" if len(dates) == 1 else f"{len(dates)} times"
    return (
        f"this mechanism was used {before} before (last on {dates[-1]}): on the same people, the "
        f"{count} reports about a person have together {_level(reports_together(made, count))}, where "
        f"{question.promised:g} is promised for {_number(question.reports)}"
    )


def _number(reports: int) -> str:
    return {1: "one", 2: "two", 3: "three"}.get(reports, str(reports))


# ------------------------------------------------------------ the record


def record_of(mechanism: str | os.PathLike[str]) -> Path:
    """Return the file in which the releases of a mechanism's file are recorded."""
    path = Path(mechanism)
    return path.with_name(path.name + SUFFIX)


def releases(mechanism: str | os.PathLike[str], made: Design) -> list[str]:
    """List the dates of a mechanism's releases; those of another mechanism in the file do not count."""
    path = record_of(mechanism)
    if not path.exists():
        return []
    found = read_document(path).get(made.fingerprint, [])
    if not isinstance(found, list) or not all(isinstance(date, str) for date in found):
        raise UnreadableFileError(f"{path} is not a record of releases")
    return found


def record(mechanism: str | os.PathLike[str], made: Design) -> None:
    """Add a release to the record."""
    path = record_of(mechanism)
    known = read_document(path) if path.exists() else {}
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    dates = [*releases(mechanism, made), today]
    write_whole(path, json.dumps({**known, made.fingerprint: dates}, indent=1) + "\n")
