"""A page on results that anyone can read, print and check.

>>> from ldpopt.problems import Staircase
>>> from ldpopt.engine.verifying import verify
>>> from ldpopt.engine.solving import solve
>>> result = solve(Staircase(epsilon=1, prior=[0.4, 0.3, 0.2, 0.1]))
>>> part = described(Loaded("best.json", "0" * 64, result, verify(result)), "r1", seconds=0)
>>> part.title, part.verified, [fact.text for fact in part.answer][0]
('staircase, ε = 1', True, '0.121973 nats')
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ldpopt.core.errors import InvalidInputError
from ldpopt.core.exact import SECONDS
from ldpopt.core.files import PathName, write_whole
from ldpopt.core.limits import UNLIMITED, Limits
from ldpopt.core.number_text import at_most, in_full
from ldpopt.engine.result import Result
from ldpopt.engine.verifying import NOT_CHECKED, read_document
from ldpopt.release.designed import Design
from ldpopt.release.public_design import SECTION
from ldpopt.release.release_ledger import most_about_one, releases, total
from ldpopt.report import reproducing
from ldpopt.report.answer import answer, plain_answer, summary
from ldpopt.report.audit_summary import audited, certificate_audit, witness, worst_case
from ldpopt.report.curve import Progress, trade_off_curve
from ldpopt.report.deployment_record import record
from ldpopt.report.heatmap import design_heatmap, heatmap
from ldpopt.report.loading import Loaded, Published, is_internal, read, read_public
from ldpopt.report.rendering import rendered
from ldpopt.report.sections import Fact, Part, Summary
from ldpopt.report.signing import ledger, signing
from ldpopt.report.subject import (
    design_question,
    explanation,
    problem_question,
    promised,
    proven,
    released,
    title,
)
from ldpopt.report.wording import number
from ldpopt.tables import datasets

INTERNAL = "Internal, holds statistics of the table"
"""The first words of a page on a file with counts; the page to hand out is of the public file."""
CHECKER_SHARE, PAGE_SHARE, AUDIT_SHARE, CURVE_SHARE = 0.5, 0.1, 0.5, 0.8
"""The share of the time for the checker; of the rest, that for writing the page; of what is left of the
time of each result, those for its audit and then for its curve."""

NO_LEVEL = "the file states no level that holds whatever the distribution of the data"
PRIVACY_ALONE = "; none is about the utility, which the checker does not know"
"""What follows the verdict on a result whose privacy alone is claimed."""


PROVENANCE = "solver, seconds and environment: by what the answer was found, and in which time"
"""What no claim of any result is about."""


def described(
    loaded: Loaded,
    name: str,
    seconds: float,
    progress: Progress | None = None,
    limits: Limits = UNLIMITED,
) -> Part:
    """Describe a result as one part of the page; the curve comes last, in the time that is left.

    Args:
        loaded: the result.
        name: the id of the part; other ids begin with it.
        seconds: how long the trade-off curve may take; 0 for none.
        progress: called with (finished, total) solves of the curve.
        limits: the time that the part may take.
    """
    content, result = loaded.content, loaded.result
    made = content if isinstance(content, Design) else None
    audit, signed = audited(loaded, limits.part(AUDIT_SHARE)), signing(loaded)
    most = min(seconds, limits.left(CURVE_SHARE) or seconds)
    curve, sentence = trade_off_curve(loaded, name, most, progress)
    return Part(
        id=name,
        title=title(loaded),
        signing=signed,
        path=loaded.path,
        internal=loaded.internal,
        complaint=loaded.complaint,
        explanation=explanation(loaded),
        question=design_question(made) if made else problem_question(result.problem),
        answer=answer(loaded),
        plain_answer=[] if result.mechanism else plain_answer(result.answer),
        mechanism=heatmap(loaded),
        claims=loaded.verification.claims,
        unchecked=(*loaded.verification.unchecked, PROVENANCE),
        verified=loaded.verification.verdict,
        beyond="" if loaded.verification.certifies_utility else PRIVACY_ALONE,
        curve=curve,
        curve_sentence=sentence,
        audit=audit,
        audit_facts=worst_case(made) if made else certificate_audit(loaded),
        witness=witness(made) if made else None,
        commands=reproducing.design_commands(made, loaded.path)
        if made
        else reproducing.result_commands(result, loaded.path),
        provenance=_provenance(loaded),
        summary=summary(loaded, name),
    )


def described_public(loaded: Published, name: str, limits: Limits = UNLIMITED) -> Part:
    """Describe a public mechanism as one part of the page: what may be said of it without counts.

    Args:
        loaded: the mechanism.
        name: the id of the part; other ids begin with it.
        limits: the time that the part may take.
    """
    made, verification, file = loaded.content, loaded.verification, Path(loaded.path).name
    marked, dense, usable = verification.marked_promise, made.randomizer.dense, verification.usable
    title = marked(f"{released(made)}, ε = {in_full(made.promise.epsilon)}")
    return Part(
        id=name,
        title=title,
        signing=signing(loaded),
        path=file,
        explanation=[promised(loaded), *([proven(made)] if usable else [])],
        question=design_question(made),
        answer=[_level(loaded) if usable else Fact("Level", "not proven")],
        plain_answer=plain_answer(made.randomizer.to_json()) if dense is None else [],
        mechanism=None if dense is None else design_heatmap(made.domain, dense),
        claims=verification.claims,
        unchecked=verification.unchecked,
        verified=verification.verdict,
        curve_sentence="Other methods and levels are compared on the page of the file with the counts.",
        audit=audited(loaded, limits),
        audit_facts=worst_case(made),
        commands=reproducing.public_commands(file),
        provenance=[Fact("File", file), Fact("SHA-256 of the file", loaded.digest)],
        summary=Summary(
            id=name,
            title=title,
            method=f"{made.promise.method} [{NOT_CHECKED}]",
            epsilon=marked(number(made.promise.epsilon)),
        ),
    )


def _level(loaded: Published) -> Fact:
    made = loaded.content
    if made.proven is None:
        return Fact("Level", "none", NO_LEVEL)
    promise = loaded.verification.marked_promise(in_full(made.promise.epsilon))
    note = f"in nats, whatever the distribution of the data; promised are {promise}"
    return Fact("Level", at_most(made.proven, 6), note)


def parts(
    results: Sequence[Loaded | Published],
    seconds: float,
    progress: Progress | None = None,
    limits: Limits = UNLIMITED,
    step: Callable[[str], object] = str,
) -> list[Part]:
    """Describe every result as a part of the page.

    Args:
        results: what the page is about.
        seconds: how long all curves may take; 0 for none.
        progress: called with (finished, total) solves of a curve.
        limits: the time that all parts may take.
        step: called with what is done next, in words.
    """
    found = []
    for i, loaded in enumerate(results):
        part = limits.part(1 / (len(results) - i))
        step(f"audit and curve of {loaded.path}")
        if isinstance(loaded, Published):
            found.append(described_public(loaded, f"r{i + 1}", part))
        else:
            found.append(described(loaded, f"r{i + 1}", seconds / len(results), progress, part))
    return found


def page(parts: Sequence[Part]) -> str:
    """Write the whole page as HTML that loads nothing from anywhere."""
    title = parts[0].title if len(parts) == 1 else f"{len(parts)} results"
    internal = f"{INTERNAL}: " if any(part.internal for part in parts) else ""
    return rendered("report.html", title=title, internal=internal, parts=parts)


Reported = PathName | Result | Design
"""What a page is about: a file, a result, or a design."""


def page_name(results: Sequence[Reported]) -> str:
    """Name the page: beside its file, if it is about one; one with counts is called internal."""
    stem = "report"
    if len(results) == 1 and isinstance(results[0], str | os.PathLike):
        stem = str(Path(results[0]).with_suffix(""))
    contents = (
        one.to_json() if isinstance(one, Result | Design) else read_document(one) for one in results
    )
    return f"{stem}{'.internal' if any(map(is_internal, contents)) else ''}.html"


def report(
    results: Reported | Sequence[Reported],
    out: PathName | None = None,
    *,
    curve_seconds: float = 60.0,
    time_limit: float | None = None,
    registry: PathName | None = None,
    progress: Progress | None = None,
    step: Callable[[str], object] = str,
) -> list[Part]:
    """Write one self-contained HTML page on files of designs, private or public, or results.

    Args:
        results: a file, a result of :func:`ldpopt.solve`, a design, or a list of them; the file of a
            result or a design is written beside the page, as ``page.result-1.json`` for ``page.html``,
            so that a reader can verify it.
        out: where the page is written, whole or not at all; unless given, beside the file or as
            ``report.html``, and ``….internal.html`` if it holds statistics of a table.
        curve_seconds: how long all trade-off curves may take; 0 for none.
        time_limit: seconds for the page: up to half for the checker, up to half of the rest for the
            audit, and most of what is left then for the curves.
        registry: where the records for a public registry of deployments are written, if anywhere.
        progress: called with (finished, total) solves of a curve.
        step: called with what is done next, in words.

    Returns:
        The parts of the page, one per file; ``sound`` says whether every claim of it holds.
    """
    given: Sequence[Any] = results if isinstance(results, list | tuple) else [results]
    for one in given:
        if not isinstance(one, str | os.PathLike | Result | Design):
            raise InvalidInputError(
                "a page is about files, results of solve and designs, whose claims can be checked, not "
                f"about {one!r:.60}; audit measures a mechanism alone"
            )
    out = page_name(given) if out is None else out
    paths = [_as_file(one, Path(out), number) for number, one in enumerate(given, 1)]
    limits, opened = Limits.within(time_limit), []
    with limits.held():
        for i, path in enumerate(paths):
            left = limits.left(CHECKER_SHARE / (len(paths) - i)) or SECONDS
            step(f"check of {os.fspath(path)}")
            reading = read_public if SECTION in read_document(path) else read
            opened.append(reading(path, min(left, SECONDS)))
        deployed = [] if registry is None else [record(one) for one in opened]
        found = parts(opened, curve_seconds, progress, limits.part(1 - PAGE_SHARE), step)
        text = page(found)
    write_whole(out, text)
    if registry is not None:
        write_whole(registry, json.dumps(deployed, indent=1) + "\n")
    return found


def _as_file(given: Reported, out: Path, number: int) -> PathName:
    """Return the name of a file; a result or a design is saved beside the page first."""
    if not isinstance(given, Result | Design):
        return given
    path = out.with_suffix(f".result-{number}.json")
    given.save(path)
    return path


def _releases(path: str, made: Design) -> list[Fact]:
    """List the releases in the ledger, with the level of those about the same people."""
    found, facts = releases(path, made), ledger(path, made)
    if not found:
        return facts
    most = most_about_one(found)
    said = f"{len(found)}; {most} about the same people have together {total(made, most)}"
    return [*facts, Fact("Releases in the ledger", said, NOT_CHECKED)]


def _provenance(loaded: Loaded) -> list[Fact]:
    made = loaded.content
    facts = [Fact("File", loaded.path), Fact("SHA-256 of the file", loaded.digest)]
    if isinstance(made, Design):
        facts.insert(0, Fact("Not in the file", reproducing.unsaid(made), "add what was given"))
        facts.append(Fact("Fingerprint of the mechanism", made.fingerprint))
        facts += _releases(loaded.path, made)
    versions = ", ".join(f"{name} {version}" for name, version in loaded.result.environment.items())
    facts.append(Fact("Computed with", versions, NOT_CHECKED))
    if isinstance(made, Design) and (name := reproducing.embedded_table(made)):
        facts.append(Fact("Data", datasets.source(), f"the embedded table {name}"))
    return facts
