"""The page that a data-protection officer signs: who is protected from whom, and who is not."""

from __future__ import annotations

import datetime
import hashlib
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ldpopt.core.exact import is_counted
from ldpopt.core.rounding import factor_at_most
from ldpopt.engine.verifying import NOT_CHECKED
from ldpopt.release.accuracy import LEVEL
from ldpopt.release.designed import Design
from ldpopt.release.designing import AnyDesign
from ldpopt.release.methods import METHODS
from ldpopt.release.repetition import (
    adds_up,
    keeps_promise,
    releases,
    repetition,
    reports_together,
    total,
)
from ldpopt.release.words import MOST_POINTS, against, caveat, margin
from ldpopt.report.files import Loaded
from ldpopt.report.parts import Fact
from ldpopt.report.reproducing import embedded_table
from ldpopt.report.words import label_text

ALWAYS = 1 - 1e-6
"""An input with a report of at least this probability is named: it has practically no noise."""
MOST_NAMED = 6


class Guard(NamedTuple):
    """Somebody, whether people are protected from them (None: nobody checked it), and how."""

    observer: str
    protected: bool | None
    words: str


@dataclass(frozen=True)
class Signing:
    """What an officer needs to decide, before all details."""

    facts: list[Fact]
    beware: list[str]
    guards: list[Guard]
    hidden: str
    rare: list[str]
    accuracy: list[str]


def signing(loaded: Loaded) -> Signing | None:
    """Describe a design whose claims hold; None for anything else."""
    made = loaded.content
    if not isinstance(made, Design) or not loaded.verification:
        return None
    return Signing(
        _facts(loaded, made),
        list(_beware(loaded, made)),
        list(_guards(made)),
        hidden(made),
        list(_rare(made)),
        list(_accuracy(made)),
    )


def table_digest(made: Design) -> str:
    """Compute the SHA-256 of a table's values and counts, as the design's file states them."""
    plain = {"domain": made.domain.to_json(), "counts": made.question.counts.tolist()}
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()


def _facts(loaded: Loaded, made: Design) -> list[Fact]:
    name = embedded_table(made)
    rows = f"{int(made.question.counts.sum()):,} rows{f' of {name}' if name else ''}"
    rows += "" if is_counted(made.result.problem.to_params()) else f" [{NOT_CHECKED}]"
    facts = [
        Fact("Date of this page", datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")),
        Fact("Table", rows, f"SHA-256 of its values and counts {table_digest(made)}"),
        Fact("Mechanism", made.fingerprint, f"in {loaded.path}, SHA-256 {loaded.digest}"),
    ]
    return [*facts, *ledger(loaded.path, made)]


def ledger(path: str, made: AnyDesign) -> list[Fact]:
    """List the releases in the ledger beside the mechanism's file."""
    found = releases(path, made)
    if not found:
        return [Fact("Releases", "none is in the ledger beside the file")]
    return [Fact(f"Released on {r.date}", r.file, f"SHA-256 {r.sha256}") for r in found]


def _beware(loaded: Loaded, made: Design) -> Iterator[str]:
    if caveat(made):
        yield f"{caveat(made)} [{NOT_CHECKED}]."
    yield from ledger_warning(loaded.path, made)


def ledger_warning(path: str, made: AnyDesign) -> Iterator[str]:
    """Warn of more releases than the promise covers."""
    done, covered = len(releases(path, made)), made.promise.reports
    if done > covered:
        yield (
            f"the ledger holds {done} releases, and the promise covers {covered}. On the same people "
            f"they have together {total(made, done)} [{NOT_CHECKED}]."
        )


def hidden(made: Design) -> str:
    """Say what "hidden" means for this mechanism."""
    secret, public = made.domain.secret.name, made.domain.public
    said = (
        f"“Hidden” means: no report is more than {factor_at_most(made.question.epsilon)} times as "
        f"likely for one value of {secret} as for another, so that a report shifts the "
        "odds between two values by that factor at most"
    )
    if public is not None and METHODS[made.method].hides_all:
        return (
            f"{said}. The method {made.method} hides {public.name}, too, and each combination "
            "of both. It asks nothing of the distribution of the data: it holds for everyone"
        )
    if adds_up(made):
        known = "" if public is None else f", also from those who know the {public.name} of the person"
        return f"{said}. It asks nothing of the distribution of the data: it holds for everyone{known}"
    return f"{said}. It holds {against(made)}, and for observers who know nothing else about the person"


def _guards(made: Design) -> Iterator[Guard]:
    """List who may look at a report, and whether the secret is hidden from them."""
    secret, public, epsilon = made.domain.secret.name, made.domain.public, made.question.epsilon
    everything = adds_up(made)
    yield Guard(
        "somebody who sees one report and knows nothing else about the person",
        True,
        f"the odds between two values of {secret} shift by a factor of {factor_at_most(epsilon)} at "
        f"most, {'whatever the distribution of the data' if everything else against(made)}",
    )
    if public is not None:
        yield Guard(
            f"somebody who also knows the {public.name} of the person",
            made.level_given_public <= epsilon * (1 + 1e-9),
            f"{shift(made.level_given_public, secret)} [{NOT_CHECKED}]",
        )
        level = made.ldp_level
        yield Guard(
            f"somebody who wants to know the {public.name} of the person",
            level <= epsilon * (1 + 1e-9),
            f"{shift(level, public.name)}: {public.name} is what the reports may tell [{NOT_CHECKED}]"
            if level > epsilon * (1 + 1e-9)
            else f"{shift(level, public.name)} [{NOT_CHECKED}]",
        )
    if not everything:
        yield Guard(
            "somebody who sees reports of people unlike those of the table",
            False,
            f"the promise is made {against(made)}; privatize compares a table with it",
        )
    covered = made.promise.reports
    more = "two reports" if covered == 1 else f"{covered + 1} reports"
    yield Guard(
        f"somebody who sees {more} about one person",
        keeps_promise(made, reports_together(made, covered + 1)),
        f"{repetition(made)} [{NOT_CHECKED}]",
    )
    yield Guard(
        "somebody who holds the table, or the file of the mechanism with its counts",
        False,
        "the mechanism protects reports, not what they are made from",
    )


def shift(level: float, what: str) -> str:
    """Say how far a report shifts the odds between two values."""
    if math.isinf(level):
        return f"some reports exclude values of {what}: the odds shift without limit"
    if level > math.log(1e6):
        return f"the odds between two values of {what} can shift by more than a million"
    return f"the odds between two values of {what} shift by a factor of {factor_at_most(level)} at most"


def _rare(made: Design) -> Iterator[str]:
    """Name the inputs that nearly always give the same report, and how many rows give it."""
    if made.encoding is not None:
        return  # every input has many reports
    matrix, counts = made.mechanism.matrix, made.question.counts.ravel()
    labels, law = made.domain.labels, counts / counts.sum() @ matrix
    fixed = np.flatnonzero(matrix.max(axis=1) >= ALWAYS)
    for x in fixed[np.argsort(counts[fixed], kind="stable")][:MOST_NAMED]:
        y = int(matrix[x].argmax())
        name = label_text(made.mechanism.outputs[y])
        rows = f"{counts[x]:,} row{'' if counts[x] == 1 else 's'}"
        yield f"{labels[x]} ({rows}): the report {name}, which {law[y]:.2%} of all rows give"
    if len(fixed) > MOST_NAMED:
        yield f"and {len(fixed) - MOST_NAMED} more inputs"


def _accuracy(made: Design) -> Iterator[str]:
    """Say how precisely frequencies can be estimated, column by column."""
    n = int(made.question.counts.sum())
    for part in made.accuracy():
        if math.isinf(part.margin(n)):
            said = "the reports leave the share of some values open; estimates are ranges"
        elif 100 * part.margin(n) >= MOST_POINTS:
            said = f"{n:,} reports leave the share of some value open by 100 points or more"
        else:
            said = (
                f"from {n:,} reports, the share of each value is known to within {margin(part, n)} "
                f"({100 * LEVEL:g} of 100 times)"
            )
        yield f"{part.name}: {said} [{NOT_CHECKED}]"
