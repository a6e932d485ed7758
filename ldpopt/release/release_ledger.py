"""Several reports about one person: what they do to a design's promise, and the ledger of releases.

The ledger holds, under the SHA-256 of the mechanism with its labels, the date of each release, the name
of the released file and its SHA-256; no data. It is kept twice: in a directory of the user, where it
follows the mechanism whatever its file is called and whatever is promised of it, and beside the file. A
mechanism's file and its public part have the same ledgers. They guard against forgetting: whoever wants
to can delete them.
"""

from __future__ import annotations

import datetime
import json
import math
import os
import secrets
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from itertools import product
from pathlib import Path

import numpy as np

from ldpopt.core.errors import InvalidInputError, UnknownNameError, UnreadableFileError
from ldpopt.core.exact import printable
from ldpopt.core.files import PathName, file_digest, locked, write_whole
from ldpopt.core.number_text import at_least, in_full
from ldpopt.engine.verifying import NOT_CHECKED, read_document
from ldpopt.measures.repeated_reports import RepeatedLevel, Together, together
from ldpopt.models.uncertainty_sets import AllDistributions
from ldpopt.release.designed import Design
from ldpopt.release.designing import AnyDesign
from ldpopt.release.promises import against
from ldpopt.release.public_design import PublicDesign

SUFFIX = ".releases.json"
ROUNDING = 1e-9


@lru_cache(maxsize=16)  # a page says it in several places
def reports_together(made: AnyDesign, reports: int) -> Together:
    """Compute the level of several reports about one person, over the design's uncertainty set.

    Of an encoding, whose level holds for all distributions, over all of them.
    """
    if (kept := made.kept) is not None:  # every report has its level, and that of r is r times it
        return Together(RepeatedLevel(reports * kept.value, (), 0, 0, np.zeros(made.domain.shape)), True)
    return together(*made.compared(made.uncertainty), reports)


def _level(reports: Together) -> str:
    """Say the level, and how well it is known."""
    level = reports.found.level
    if not reports.exact:
        return f"a level of at least {at_least(level)}"
    return f"the exact level {'∞' if level == math.inf else f'{level:.4g}'}"


def adds_up(made: Design) -> bool:
    """Return whether the mechanism keeps its level against all distributions, where levels add up."""
    return made.universal_level.level <= made.question.epsilon * (1 + ROUNDING)


def keeps_promise(made: AnyDesign, reports: Together) -> bool:
    """Return whether the level of several reports is exactly known and, up to rounding, as promised."""
    return reports.exact and reports.found.level <= made.promise.total * (1 + ROUNDING)


def repetition(made: Design) -> str:
    """Say what another report about the same person does to the promise, in words."""
    question, covered = made.question, made.question.reports
    if made.kept is not None:
        level = _level(reports_together(made, 2))
        by_pair = ", times the multiple of each pair" if made.promise.secrecy else ""
        return f"two reports about one person have {level}{by_pair}; r have r times it"
    if adds_up(made):
        two = together(*made.compared(AllDistributions(*made.domain.shape)), 2)
        return (
            f"two reports about one person have {_level(two)}, whatever the "
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
    """One use of a mechanism.

    Attributes:
        date: the day.
        file: the name of the released file.
        sha256: the hash of the released file.
        run: the name of this use, by which it can be made void.
        population: who the people are; those of different names are different people.
        void: the day on which it was made void; empty while it counts.
        path: where the released file was written; in the user's ledger alone.
    """

    date: str
    file: str
    sha256: str
    run: str = ""
    population: str = ""
    void: str = ""
    path: str = ""


DIRECTORY = "LDPOPT_LEDGERS"
"""The environment variable that names the directory of ledgers; a group of people can share one."""


def ledgers(mechanism: PathName, made: AnyDesign) -> tuple[Path, Path]:
    """Return the two files in which the releases of a mechanism are recorded.

    The user's ledger has the mechanism's identity for a name, so that it stays the same for a file that
    is copied, linked or renamed, or promises something else. The one beside the mechanism's file is for
    other users of that file.

    Args:
        mechanism: the mechanism's file, or its public part.
        made: the design in it.
    """
    path = Path(mechanism)
    beside = path.with_name(path.stem.removesuffix(".public") + path.suffix + SUFFIX)
    return _directory() / (made.identity + SUFFIX), beside


def _directory() -> Path:
    """Return the directory of the user's ledgers, wherever the system keeps the data of programs."""
    if named := os.environ.get(DIRECTORY):
        return Path(named)
    data = os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_DATA_HOME")
    try:
        return (Path(data) if data else Path.home() / ".local" / "share") / "ldpopt" / "ledgers"
    except RuntimeError:
        raise InvalidInputError(
            f"there is no home directory for the ledger: name a directory in {DIRECTORY}"
        ) from None


def releases(mechanism: PathName, made: AnyDesign) -> list[Release]:
    """List the releases of a mechanism in both of its ledgers, each once; void ones are left out."""
    return [release for release in _recorded(ledgers(mechanism, made), made) if not release.void]


def of_population(found: Sequence[Release], population: str) -> list[Release]:
    """Choose the releases about the people of this name."""
    return [release for release in found if release.population == population]


def most_about_one(found: Sequence[Release]) -> int:
    """Return how many of the releases are about the same people: most of any population."""
    return max(Counter(release.population for release in found).values(), default=0)


def _recorded(paths: Sequence[Path], made: AnyDesign) -> list[Release]:
    """Read the releases of a mechanism in some ledgers; one that is void in any of them is void.

    Earlier versions named ledgers by the fingerprint, which is about the promise, too.
    """
    found: dict[str, Release] = {}
    former = paths[0].with_name(made.fingerprint + SUFFIX)
    for path, name in product((*paths, former), (made.identity, made.fingerprint)):
        for release in _entries(path, name):
            if release.run not in found or release.void:
                found[release.run] = release
    return sorted(found.values(), key=lambda release: release.date)


def _entries(path: Path, name: str) -> Iterator[Release]:
    """Read the releases of one mechanism in one ledger; those of an earlier format are given a name."""
    known = read_document(path).get(name, []) if path.exists() else []
    try:
        for place, entry in enumerate(known):
            release = Release(**entry)
            if not all(isinstance(word, str) for word in asdict(release).values()):
                raise TypeError
            yield release if release.run else replace(release, run=f"{release.sha256[:8]}-{place}")
    except TypeError:
        raise UnreadableFileError(f"{path} is not a record of releases") from None


@contextmanager
def _opened(mechanism: PathName, made: AnyDesign) -> Iterator[list[Release]]:
    """Lock both ledgers and yield their releases, void ones too; what is in the list is written then."""
    paths = ledgers(mechanism, made)
    try:
        paths[0].parent.mkdir(0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInputError(
            f"cannot write the ledger {paths[0]}: {error.strerror}; name another directory in "
            f"{DIRECTORY}"
        ) from None
    with ExitStack() as locks:
        for path in paths:
            locks.enter_context(locked(path))
        listed = _recorded(paths, made)
        yield listed
        bare = [replace(release, path="") for release in listed]
        for path, kept in zip(paths, (listed, bare), strict=True):
            known = read_document(path) if path.exists() else {}
            entries = [asdict(release) for release in kept]
            write_whole(path, json.dumps({**known, made.identity: entries}, indent=1) + "\n")


def _today() -> str:
    return datetime.datetime.now(datetime.UTC).date().isoformat()


def record(
    mechanism: PathName,
    made: AnyDesign,
    released: PathName,
    sha256: str,
    most: float | None = None,
    population: str = "",
) -> list[Release]:
    """Add a release to the ledgers; returns all releases about these people, this one last.

    The ledgers are locked meanwhile: of two releases at once, the second one sees the first.

    Args:
        mechanism: the mechanism's file, or its public part.
        made: the design in it.
        released: the released file; beside the mechanism's file its name alone is recorded.
        sha256: the hash of the released file, in hexadecimal.
        most: the level that all reports about one person may have together; see :func:`check_budget`.
        population: the name of the people.
    """
    with _opened(mechanism, made) as listed:
        before = of_population([release for release in listed if not release.void], population)
        if most is not None:
            check_budget(made, before, most)
        run = secrets.token_hex(4)
        name, path = printable(Path(released).name), printable(str(Path(released).resolve()))
        this = Release(_today(), name, sha256, run, population, path=path)
        listed.append(this)
    return [*before, this]


def void(mechanism: PathName, made: AnyDesign, run: str) -> Release:
    """Make a release void: it was a rehearsal, and nobody has its file. It stays in the ledgers.

    The file is looked for where it was written, beside the mechanism's file and in the working
    directory.

    Args:
        mechanism: the mechanism's file, or its public part.
        made: the design in it.
        run: the name of the release in the ledger.

    Raises:
        UnknownNameError: no release that counts has this name.
        InvalidInputError: its file is still in one of these places.
    """
    with _opened(mechanism, made) as listed:
        known = {release.run: i for i, release in enumerate(listed) if not release.void}
        if run not in known:
            raise UnknownNameError("run of this mechanism", run, known)
        found = listed[known[run]]
        places = [
            Path(found.path or found.file),
            Path(mechanism).with_name(found.file),
            Path(found.file),
        ]
        for file in places:
            if file.is_file() and file_digest(file) == found.sha256:
                raise InvalidInputError(f"delete {file} first: a release that is void has no file")
        listed[known[run]] = replace(found, void=_today())
    return found


def total(made: AnyDesign, reports: int) -> str:
    """Say the level of the given number of reports about one person, and for which distributions."""
    whom = ", whatever the distribution of the data"
    if not isinstance(made, PublicDesign):
        whom = f" {against(made)}"
    if made.kept is not None:
        whom = f" of what is promised{whom}"
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
