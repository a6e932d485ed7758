"""Several reports about one person: what they do to a design's promise, and the ledger of releases.

The ledger lies beside the mechanism's file and holds, under the fingerprint of the mechanism, the date
of each release, the name of the released file and its SHA-256; no data. A mechanism's file and its
public part have one ledger.
"""

from __future__ import annotations

import datetime
import json
import math
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path

from ldpopt.core.errors import InvalidInputError, UnreadableFileError
from ldpopt.core.files import locked, write_whole
from ldpopt.core.rounding import at_least, in_full
from ldpopt.engine.verifying import NOT_CHECKED, read_document
from ldpopt.measures.levels import rldp_level
from ldpopt.measures.repeated_reports import Together, together
from ldpopt.models.uncertainty_sets import AllDistributions
from ldpopt.release.designed import Design
from ldpopt.release.designing import AnyDesign
from ldpopt.release.publishing import PublicDesign
from ldpopt.release.words import against

SUFFIX = ".releases.json"
ROUNDING = 1e-9


@lru_cache(maxsize=16)  # a page says it in several places
def reports_together(made: AnyDesign, reports: int) -> Together:
    """Compute the level of several reports about one person, over the design's uncertainty set.

    Of an encoding, whose level holds for all distributions, over all of them.
    """
    if made.encoding is not None:
        return _against_all(made, reports)
    return together(made.mechanism, made.uncertainty, reports)


def _against_all(made: AnyDesign, reports: int) -> Together:
    """Compute the level of several reports about one person over all distributions: levels add up."""
    if made.encoding is not None:
        return together(made.encoding.pair, AllDistributions(2, 1), reports)
    return together(made.mechanism, AllDistributions(*made.domain.shape), reports)


def _level(reports: Together) -> str:
    """Say the level, and how well it is known."""
    level = reports.found.level
    if not reports.exact:
        return f"a level of at least {at_least(level)}"
    return f"the exact level {'∞' if level == math.inf else f'{level:.4g}'}"


def adds_up(made: Design) -> bool:
    """Return whether the mechanism keeps its level against all distributions, where levels add up."""
    if made.encoding is not None:
        return True
    everything = AllDistributions(*made.domain.shape)
    level = rldp_level(made.mechanism, everything).level
    return level <= made.question.epsilon * (1 + ROUNDING)


def keeps_promise(made: AnyDesign, reports: Together) -> bool:
    """Return whether the level of several reports is exactly known and, up to rounding, as promised."""
    return reports.exact and reports.found.level <= made.promise.total * (1 + ROUNDING)


def repetition(made: Design) -> str:
    """Say what another report about the same person does to the promise, in words."""
    question, covered = made.question, made.question.reports
    if adds_up(made):
        return (
            f"two reports about one person have {_level(_against_all(made, 2))}, whatever the "
            "distribution of the data; r reports have r times the level of one"
        )
    more = reports_together(made, covered + 1)
    if keeps_promise(made, more):
        return f"{_number(covered + 1)} reports about one person have {_level(more)}, within the promise"
    outputs = " and ".join(map(str, more.found.outputs))
    said = (
        f"{_number(covered + 1)} have {_level(more)} (reports {outputs}), as robust LDP does not add up"
    )
    if covered == 1:
        return f"ε = {in_full(question.epsilon)} is for one report about a person; {said}"
    kept = _level(reports_together(made, covered))
    return f"{_number(covered)} reports about one person have {kept}; {said}"


def _number(reports: int) -> str:
    return {1: "one", 2: "two", 3: "three"}.get(reports, str(reports))


# ------------------------------------------------------------ the ledger


@dataclass(frozen=True)
class Release:
    """One use of a mechanism: the day, the name of the released file, and its SHA-256."""

    date: str
    file: str
    sha256: str


def ledger_of(mechanism: str | os.PathLike[str]) -> Path:
    """Return the file in which the releases of a mechanism are recorded.

    >>> ledger_of("mech.json").name == ledger_of("mech.public.json").name == "mech.json.releases.json"
    True
    """
    path = Path(mechanism)
    return path.with_name(path.stem.removesuffix(".public") + path.suffix + SUFFIX)


def releases(mechanism: str | os.PathLike[str], made: AnyDesign) -> list[Release]:
    """List the releases of a mechanism; those of another mechanism in the ledger do not count."""
    path = ledger_of(mechanism)
    if not path.exists():
        return []
    try:
        found = [Release(**entry) for entry in read_document(path).get(made.fingerprint, [])]
    except TypeError:
        raise UnreadableFileError(f"{path} is not a record of releases") from None
    if not all(isinstance(word, str) for release in found for word in asdict(release).values()):
        raise UnreadableFileError(f"{path} is not a record of releases")
    return found


def record(
    mechanism: str | os.PathLike[str],
    made: AnyDesign,
    released: str | os.PathLike[str],
    sha256: str,
    most: float | None = None,
) -> list[Release]:
    """Add a release to the ledger; returns all releases of the mechanism, this one last.

    The ledger is locked meanwhile: of two releases at once, the second one sees the first.

    Args:
        mechanism: the mechanism's file, or its public part.
        made: the design in it.
        released: the released file; its name alone is recorded.
        sha256: the hash of the released file, in hexadecimal.
        most: the level that all reports about one person may have together; see :func:`check_budget`.
    """
    path = ledger_of(mechanism)
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    with locked(path):
        before = releases(mechanism, made)
        if most is not None:
            check_budget(made, before, most)
        listed = [*before, Release(today, Path(released).name, sha256)]
        known = read_document(path) if path.exists() else {}
        entries = [asdict(release) for release in listed]
        write_whole(path, json.dumps({**known, made.fingerprint: entries}, indent=1) + "\n")
    return listed


def total(made: AnyDesign, reports: int) -> str:
    """Say the level of the given number of reports about one person, and for which distributions."""
    whom = ", whatever the distribution of the data"
    if not isinstance(made, PublicDesign):
        whom = f" {against(made)}"
    return f"{_level(reports_together(made, reports))}{whom}"


def warning(made: AnyDesign, before: Sequence[Release]) -> str:
    """Warn of another release, after those before; empty while the promise covers it."""
    count, asked = len(before) + 1, made.promise
    if count <= asked.reports:
        return ""
    times = "once" if len(before) == 1 else f"{len(before)} times"
    return (
        f"this mechanism was used {times} before (last on {before[-1].date}): on the same people, the "
        f"{count} reports about a person have together {total(made, count)} [{NOT_CHECKED}], where "
        f"{in_full(asked.total)} is promised for {_number(asked.reports)}"
    )


def check_budget(made: AnyDesign, before: Sequence[Release], most: float) -> None:
    """Refuse a release after which the reports about one person may have a level above ``most``.

    A level of which only a lower bound is known is refused, too.

    Args:
        made: the design of the mechanism.
        before: the releases so far.
        most: the level that all reports about one person may have together, in nats.

    Raises:
        InvalidInputError: the level is above the budget, or not known exactly.
    """
    if not 0 <= most < math.inf:
        raise InvalidInputError(f"max-level must be a finite number from 0, not {most!r}")
    count = len(before) + 1
    found = reports_together(made, count)
    if found.exact and found.found.level <= most * (1 + ROUNDING):
        return
    listed = "".join(f"\n  {release.date} {release.file}" for release in before)
    raise InvalidInputError(
        f"with this release the {count} reports about one person would have together "
        f"{total(made, count)}, above the budget {most:.15g}; releases before: {len(before)}{listed}"
    )
