"""A page on a public mechanism: what may be said of it without the counts of its table."""

from __future__ import annotations

import datetime
import hashlib
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ldpopt.core.exact import SECONDS
from ldpopt.core.limits import UNLIMITED, Limits
from ldpopt.core.rounding import at_most, factor_at_most, in_full
from ldpopt.engine.verifying import NOT_CHECKED, Verification, read_document, verify_document, within
from ldpopt.release.methods import METHODS
from ldpopt.release.publishing import PublicDesign, load_public
from ldpopt.release.recovering import NOT_AT_ALL, WORDS
from ldpopt.release.repetition import total
from ldpopt.release.words import against, promise
from ldpopt.report.answer import plain_answer
from ldpopt.report.heatmap import design_heatmap
from ldpopt.report.parts import Fact, Part, Summary
from ldpopt.report.privacy import audited, telling
from ldpopt.report.question import released, values
from ldpopt.report.reproducing import public_commands
from ldpopt.report.signing import (
    OPEN,
    UNCHECKED,
    Guard,
    Signing,
    limited,
    measured,
    rare,
    repeated,
    shift,
)
from ldpopt.report.words import number

NO_COUNTS = "its counts are not in this file"
NO_LEVEL = "the file states no level that holds whatever the distribution of the data"


class Published(NamedTuple):
    """A public file that was read and checked."""

    path: str
    digest: str
    content: PublicDesign
    verification: Verification


def read_public(path: str | os.PathLike[str], seconds: float = SECONDS) -> Published:
    """Read a public mechanism and let the checker decide its claims within so many seconds."""
    name = os.fspath(path)
    digest = hashlib.sha256(Path(name).read_bytes()).hexdigest()
    document = read_document(name)
    decided = verify_document(document, budget=seconds)
    with within(seconds):
        return Published(name, digest, load_public(name, document), decided)


def described(loaded: Published, name: str, limits: Limits = UNLIMITED) -> Part:
    """Describe a public mechanism as one part of the page.

    Args:
        loaded: the mechanism.
        name: the id of the part; other ids begin with it.
        limits: the time that the part may take.
    """
    made, verification, file = loaded.content, loaded.verification, Path(loaded.path).name
    level, marked = in_full(made.promise.epsilon), verification.marked_promise
    dense = made.randomizer.dense
    title = marked(f"{released(made)}, ε = {level}")
    return Part(
        id=name,
        title=title,
        signing=_signing(loaded) if verification.usable else None,
        path=file,
        internal=False,
        complaint="",
        explanation=[_promised(loaded), *([_proven(made)] if verification.usable else [])],
        question=_question(made),
        answer=[_level(loaded) if verification.usable else Fact("Level", "not proven")],
        plain_answer=plain_answer(made.randomizer.to_json()) if dense is None else [],
        mechanism=None if dense is None else design_heatmap(made.domain, dense),
        claims=verification.claims,
        unchecked=verification.unchecked,
        verified=verification.verdict,
        beyond="",
        curve=None,
        curve_sentence="Other methods and levels are compared on the page of the file with the counts.",
        audit=audited(made, limits),
        audit_facts=_worst_case(made),
        witness=None,
        commands=public_commands(file),
        provenance=[Fact("File", file), Fact("SHA-256 of the file", loaded.digest)],
        summary=Summary(
            id=name,
            title=title,
            method=f"{made.promise.method} [{NOT_CHECKED}]",
            epsilon=marked(number(made.promise.epsilon)),
            value="–",
            share="–",
            bound="–",
            gap="–",
            status="–",
        ),
    )


def _promised(loaded: Published) -> str:
    made = loaded.content
    said = f"{promise(made)}, {against(made)}"
    return f"Promised is {loaded.verification.marked_promise(said)}."


def _proven(made: PublicDesign) -> str:
    """Say what of the promise the file proves."""
    if made.universal:
        return "This file proves it: the promise holds whatever the distribution of the data."
    said = (
        f"The promise ε = {in_full(made.promise.epsilon)} is about the counts of a table, which this "
        "file does not hold: nobody can check it here. "
    )
    if made.proven is None:
        return f"{said}The file states no level."
    return (
        f"{said}The file proves the level {at_most(made.proven)} alone, whatever the distribution of "
        "the data."
    )


def _question(made: PublicDesign) -> list[Fact]:
    """List what the mechanism hides and releases, and how it was made."""
    public, method = made.domain.public, made.promise.method
    known = f": {METHODS[method].summary}" if method in METHODS else ""
    return [
        Fact("Secret", values(made.domain.secret)),
        Fact("Public", "nothing: all of the data are secret" if public is None else values(public)),
        Fact("Table", NO_COUNTS, made.recovery),
        Fact("Method", f"{method}{known} [{NOT_CHECKED}]"),
    ]


def _level(loaded: Published) -> Fact:
    made = loaded.content
    if made.proven is None:
        return Fact("Level", "none", NO_LEVEL)
    promised = loaded.verification.marked_promise(in_full(made.promise.epsilon))
    note = f"in nats, whatever the distribution of the data; promised are {promised}"
    return Fact("Level", at_most(made.proven, 6), note)


def _worst_case(made: PublicDesign) -> list[Fact]:
    """Name the report and the two secrets that some distribution tells apart best."""
    level = made.universal_level
    factor = "without limit" if math.isinf(level.level) else f"{math.exp(level.level):.4g}"
    note = f"for the worst distribution of all; {NOT_CHECKED}"
    return [*telling(made, level), Fact("Factor", factor, note)]


# ------------------------------------------------------------ what is signed


def _signing(loaded: Published) -> Signing:
    made = loaded.content
    now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
    facts = [
        Fact("Date of this page", now),
        Fact("Table", NO_COUNTS, made.recovery),
        Fact("Mechanism", made.fingerprint, f"in {Path(loaded.path).name}, SHA-256 {loaded.digest}"),
    ]
    beware = [] if made.universal else [_proven(made)]
    beware += [] if made.recovery == WORDS[NOT_AT_ALL] else [f"{made.recovery}."]
    told = "with every estimate, ldpopt estimate says how precise it is"
    return Signing(
        facts,
        beware,
        list(_guards(made)),
        f"{_promised(loaded)} {_proven(made)}".removesuffix("."),
        list(rare(made)),
        [f"{told[0].upper()}{told[1:]}"],
    )


def _guards(made: PublicDesign) -> Iterator[Guard]:
    """List who may look at a report, and whether the secret is hidden from them."""
    secret, public, epsilon = made.domain.secret.name, made.domain.public, made.promise.epsilon
    proven = made.proven
    if proven is None:
        level = made.universal_level.level
        known, known_in_short = f"{shift(level, secret)} [{NOT_CHECKED}]", measured(level, epsilon)
    else:
        known = (
            f"the odds between two values of {secret} shift by a factor of {factor_at_most(proven)} at "
            "most, whatever the distribution of the data"
        )
        known_in_short = limited(proven), proven > epsilon
    asked = f"ε = {in_full(epsilon)} is promised {against(made)}, and this file cannot prove it"
    yield Guard(
        "somebody who sees one report and knows nothing else about the person",
        limited(proven) if made.universal and proven is not None else UNCHECKED,
        False,
        known if made.universal else asked,
    )
    if public is not None:
        yield Guard(
            f"somebody who also knows the {public.name} of the person",
            *known_in_short,
            known,
        )
        level = made.ldp_level
        yield Guard(
            f"somebody who wants to know the {public.name} of the person",
            *measured(level, epsilon),
            f"{shift(level, public.name)} [{NOT_CHECKED}]",
        )
    count = made.promise.reports + 1
    yield Guard(
        f"somebody who sees {'two' if count == 2 else count} reports about one person",
        *repeated(made, count),
        f"they have together {total(made, count)} [{NOT_CHECKED}]",
    )
    yield Guard(
        "somebody who holds the table",
        OPEN,
        True,
        "the mechanism is about reports, not about what they are made from",
    )
