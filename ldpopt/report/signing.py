"""The page that a data-protection officer signs: who is protected from whom, and who is not."""

from __future__ import annotations

import datetime
import math
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

from ldpopt.core.exact import is_counted
from ldpopt.core.number_text import factor_at_most, in_full
from ldpopt.core.validate import Whole
from ldpopt.engine.verifying import NOT_CHECKED
from ldpopt.measures.frequency_intervals import LEVEL
from ldpopt.release import release_ledger
from ldpopt.release.accuracy import data_accuracies
from ldpopt.release.designed import Design
from ldpopt.release.designing import AnyDesign
from ldpopt.release.promises import against, caveat, guessing, hides_all, limit, margin, sensitive
from ldpopt.release.public_design import PublicDesign
from ldpopt.release.recoverable_counts import NOT_AT_ALL, WORDS
from ldpopt.report.loading import Loaded, Published
from ldpopt.report.reproducing import embedded_table
from ldpopt.report.sections import Fact
from ldpopt.report.subject import NO_COUNTS, promised, proven

ALWAYS = Fraction(999_999, 1_000_000)
"""An input with a report of at least this probability is named: it has practically no noise."""
NOISE = (
    "drawn for each row by itself: by whoever holds the table (ldpopt privatize), who sees the rows as "
    "they are, or on the device of each person (ldpopt export), so that nobody else sees them"
)
"""Where the noise is added, and who sees what is protected."""
MOST_NAMED = 6
MILLION = math.log(1e6)
"""A level at which a report is a million times as likely for one person as for another."""
EVERYBODY = "whatever the distribution of the data"


class Guard(NamedTuple):
    """Somebody, how much they can learn from a report in short, whether that is bad, and why.

    No guard says "protected": a level does not, however high; its factor says how far.
    """

    observer: str
    learns: str
    bad: bool
    words: str


UNCHECKED, MORE, OPEN = NOT_CHECKED, "more than promised", "not protected"
"""What is said in short of what no claim decides, exceeds the promise, or is helped by no mechanism."""


def limited(level: float) -> str:
    """Say in short how far a proven level lets the odds of two values shift."""
    return f"odds × {factor_at_most(level)} at most"


@dataclass(frozen=True)
class Signing:
    """What an officer needs to decide, before all details."""

    facts: list[Fact]
    beware: list[str]
    guards: list[Guard]
    hidden: str
    rare: list[str]
    away: str
    """Whether a report gives a group away, where nobody gives one report practically always."""
    accuracy: list[str]


def signing(loaded: Loaded | Published) -> Signing | None:
    """Describe a design whose claims hold, or its public part; None for anything else."""
    made = loaded.content
    if isinstance(made, PublicDesign):
        return _public_signing(loaded, made) if loaded.verification.usable else None
    if not isinstance(made, Design) or not loaded.verification:
        return None
    name = embedded_table(made)
    rows = f"{made.rows:,} rows{f' of {name}' if name else ''}"
    rows += "" if is_counted(made.result.problem.to_params()) else f" [{NOT_CHECKED}]"
    return Signing(
        [*_facts(loaded.path, loaded.digest, made, Fact("Table", rows)), *ledger(loaded.path, made)],
        list(_beware(loaded.path, made)),
        list(_guards(made)),
        hidden(made),
        list(rare(made, made.question.counts.ravel())),
        away(made),
        list(_accuracy(made)),
    )


def _public_signing(loaded: Loaded | Published, made: PublicDesign) -> Signing:
    assert isinstance(loaded, Published)
    beware = [] if made.universal else [proven(made)]
    beware += [] if made.recovery.startswith(WORDS[NOT_AT_ALL]) else [f"{made.recovery}."]
    return Signing(
        _facts(Path(loaded.path).name, loaded.digest, made, Fact("Table", NO_COUNTS, made.recovery)),
        beware,
        list(_guards(made)),
        f"{promised(loaded)} {proven(made)}".removesuffix("."),
        list(rare(made)),
        away(made),
        ["With every estimate, ldpopt estimate says how precise it is"],
    )


def _facts(path: str, digest: str, made: AnyDesign, table: Fact) -> list[Fact]:
    now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
    return [
        Fact("Date of this page", now),
        table,
        Fact("Protected", "what one row says: a row is taken to be one person", NOT_CHECKED),
        Fact("Noise", NOISE),
        Fact("Mechanism", made.fingerprint, f"in {path}, SHA-256 {digest}"),
        Fact("To check it", f"ldpopt verify {shlex.quote(path)}", "by everyone who has the file"),
    ]


def ledger(path: str, made: Design) -> list[Fact]:
    """List the releases in the ledgers of the mechanism."""

    found = release_ledger.releases(path, made)
    if not found:
        return [Fact("Releases", "none is in the ledger")]
    names = (f"Released on {r.date}{f' ({r.population})' * bool(r.population)}" for r in found)
    return [Fact(name, r.file, f"SHA-256 {r.sha256}") for name, r in zip(names, found, strict=True)]


def _beware(path: str, made: Design) -> Iterator[str]:
    """Warn of what the promise does not cover, and of more releases than it covers."""
    if caveat(made):
        yield f"{caveat(made)} [{NOT_CHECKED}]."
    done, covered = (
        release_ledger.most_about_one(release_ledger.releases(path, made)),
        made.promise.reports,
    )
    if done > covered:
        yield (
            f"the ledger holds {done} releases, and the promise covers {covered}. On the same people "
            f"they have together {release_ledger.total(made, done)} [{NOT_CHECKED}]."
        )


def hidden(made: Design) -> str:
    """Say what "hidden" means for this mechanism."""
    secret, public = made.domain.secret.name, made.domain.public
    if made.kept is not None:
        return (
            f"“Hidden” means: {limit(made)}. It asks nothing of the distribution of the data: it holds "
            "for everyone"
        )
    said = (
        f"“Hidden” means: no report is more than {factor_at_most(made.question.epsilon)} times as "
        f"likely for one value of {secret} as for another, so that a report shifts the "
        "odds between two values by that factor at most"
    )
    if public is not None and hides_all(made):
        return (
            f"{said}. {public.name} is hidden, too, and each combination of both. It asks nothing of "
            "the distribution of the data: it holds for everyone"
        )
    if made.public.universal:
        known = "" if public is None else f", also from those who know the {public.name} of the person"
        return f"{said}. It asks nothing of the distribution of the data: it holds for everyone{known}"
    return f"{said}. It holds {against(made)}, and for observers who know nothing else about the person"


def _guards(made: AnyDesign) -> Iterator[Guard]:
    """List who may look at a report, and whether the secret is hidden from them."""
    notion = _pair_guards if made.promise.secrecy else _notion_guards
    yield from _level_guards(made) if made.kept is None else notion(made)
    count, of_table = made.promise.reports + 1, isinstance(made, Design)
    again = f"they have together {release_ledger.total(made, count)}"
    if isinstance(made, Design) and made.kept is None:
        again = release_ledger.repetition(made)
    yield Guard(
        f"somebody who sees {'two' if count == 2 else count} reports about one person",
        *repeated(made, count),
        f"{again} [{NOT_CHECKED}]",
    )
    yield Guard(
        f"somebody who holds the table{', or the file of the mechanism with its counts' * of_table}",
        OPEN,
        True,
        "the mechanism is about reports, not about what they are made from",
    )


def _level_guards(made: AnyDesign) -> Iterator[Guard]:
    """List them where the promise is a level between any two secrets."""
    secret, public, epsilon = made.domain.secret.name, made.domain.public, made.promise.epsilon
    level = made.level_given_public
    if isinstance(made, Design):
        proven_level = epsilon if made.public.universal else None
        whom = EVERYBODY if made.public.universal else against(made)
        guarded = limited(epsilon), False, f"{_by(epsilon, secret)}, {whom}"
    else:
        proven_level = made.proven
        asked = f"ε = {in_full(epsilon)} is promised {against(made)}, and this file cannot prove it"
        guarded = UNCHECKED, False, asked
    guess = f"; {guessing(made)}" if isinstance(made, Design) and guessing(made) else ""
    informed = *measured(level, epsilon), f"{shift(level, secret)}{guess} [{NOT_CHECKED}]"
    if proven_level is not None:
        known = f"{_by(proven_level, secret)}, {EVERYBODY}"
        sure = f"{guess} [{NOT_CHECKED}]" if guess else ""
        informed = limited(proven_level), proven_level > epsilon, f"{known}{sure}"
        if isinstance(made, PublicDesign) and made.universal:
            guarded = limited(proven_level), False, known
    yield Guard("somebody who sees one report and knows nothing else about the person", *guarded)
    if public is not None:
        yield Guard(f"somebody who also knows the {public.name} of the person", *informed)
        open_level = made.ldp_level
        meant = isinstance(made, Design) and open_level > epsilon * (1 + release_ledger.ROUNDING)
        purpose = f": {public.name} is what the reports may tell" if meant else ""
        yield Guard(
            f"somebody who wants to know the {public.name} of the person",
            *measured(open_level, epsilon),
            f"{shift(open_level, public.name)}{purpose} [{NOT_CHECKED}]",
        )
    if isinstance(made, Design) and not made.public.universal:
        yield Guard(
            "somebody who sees reports of people unlike those of the table",
            OPEN,
            True,
            f"the promise is made {against(made)}; privatize compares a table with it",
        )


def _notion_guards(made: AnyDesign) -> Iterator[Guard]:
    """List the same where the promise is about those who know u, or about sensitive values."""
    secret, epsilon = made.domain.secret.name, made.promise.epsilon
    if made.promise.sensitive:
        whom = f"somebody who wants to find that the {secret} is {sensitive(made)}"
        yield Guard(whom, limited(epsilon), False, f"{limit(made)}, {EVERYBODY}")
        yield Guard(
            f"somebody who wants to know the {secret} where it is not sensitive",
            OPEN,
            True,
            "a report may come from one such value alone, and reveal it",
        )
        yield from _told_public(made, "a report may come from one pair of values alone, and reveal both")
    else:
        assert made.domain.public is not None
        public = made.domain.public.name
        whom = f"somebody who sees one report and knows the {public} of the person"
        yield Guard(whom, limited(epsilon), False, f"{_by(epsilon, secret)}, {EVERYBODY}")
        told, short = f"each report tells {public}, which may tell about {secret}", (OPEN, True)
        if isinstance(made, Design):
            level = made.unaware[0]
            told = f"{told}; in the table, {shift(level, secret)} [{NOT_CHECKED}]"
            short = measured(level, epsilon)
        yield Guard("somebody who sees one report and knows nothing else about the person", *short, told)
        yield from _told_public(made, f"{public} may be told as it is")


def _pair_guards(made: AnyDesign) -> Iterator[Guard]:
    """List the same where each pair of secrets has its own level."""
    secret, public, multiples = made.domain.secret.name, made.domain.public, made.promise.secrecy
    weakest = made.promise.epsilon * max(m for row in multiples for m in row if m is not None)
    whom = f"somebody who wants to tell two values of {secret} from each other"
    unlimited = any(row.count(None) > 1 for row in multiples)
    bounded = f"{whom}, of a pair that has a limit" if unlimited else whom
    yield Guard(bounded, limited(weakest), False, f"{limit(made)}, {EVERYBODY}")
    if unlimited:
        yield Guard(f"{whom}, of a pair without limit", OPEN, True, "a report may tell them apart")
    if public is not None:
        yield from _told_public(made, f"{public.name} is what the reports may tell")


def _told_public(made: AnyDesign, why: str) -> Iterator[Guard]:
    """Say that nothing hides the public value, if there is one, and why."""
    if (public := made.domain.public) is not None:
        yield Guard(f"somebody who wants to know the {public.name} of the person", OPEN, True, why)


def _by(level: float, what: str) -> str:
    return f"the odds between two values of {what} shift by a factor of {factor_at_most(level)} at most"


def measured(level: float, promised: float) -> tuple[str, bool]:
    """Say in short whether a level that no claim decides exceeds the promise, which is bad."""
    return (MORE, True) if level > promised * (1 + release_ledger.ROUNDING) else (UNCHECKED, False)


def repeated(made: AnyDesign, reports: int) -> tuple[str, bool]:
    """Say in short whether so many reports about one person keep the promise; no claim decides it."""
    kept = release_ledger.keeps_promise(made, release_ledger.reports_together(made, reports))
    return (UNCHECKED, False) if kept else (MORE, True)


def shift(level: float, what: str) -> str:
    """Say how far a report shifts the odds between two values."""
    if math.isinf(level):
        return f"some reports exclude values of {what}: the odds shift without limit"
    if level > MILLION:
        return f"the odds between two values of {what} can shift by more than a million"
    return _by(level, what)


def rare(made: AnyDesign, counts: Whole | None = None) -> Iterator[str]:
    """Name the inputs that nearly always give the same report, and how many rows give it.

    Args:
        made: the design.
        counts: the counts of its table, an entry per input; None for a public file.
    """
    labels, p = made.domain.labels, None if counts is None else counts / counts.sum()
    found = made.randomizer.fixed(ALWAYS, p)
    if len(found) == made.inputs and len(reports := set(found.values())) == 1:
        yield f"each of the {made.inputs:,} inputs: the report {reports.pop()}"
        return
    if counts is None:
        inputs = {x: labels[x] for x in found}
    else:
        rows = {x: f"{counts[x]:,} row{'' if counts[x] == 1 else 's'}" for x in found}
        inputs = {x: f"{labels[x]} ({rows[x]})" for x in sorted(found, key=lambda x: counts[x])}
    for x in list(inputs)[:MOST_NAMED]:
        yield f"{inputs[x]}: the report {found[x]}"
    if len(found) > MOST_NAMED:
        yield f"and {len(found) - MOST_NAMED} more inputs"


def away(made: AnyDesign) -> str:
    """Say whether reports give groups away, of people whose reports are drawn at random."""
    groups = "values" if made.domain.public is None else "combinations of values"
    if made.ldp_level <= MILLION:
        return (
            "Nobody’s report gives their group away: every report can come from each of the "
            f"{made.inputs:,} {groups}, and is at most {factor_at_most(made.ldp_level)} times as likely "
            "from one as from another"
        )
    often = "never" if math.isinf(made.ldp_level) else "a million times less often"
    return (
        "Nobody gives the same report always. Some reports still give a group away: one of the "
        f"{made.inputs:,} {groups} gives them, and another {often}"
    )


def _accuracy(made: Design) -> Iterator[str]:
    """Say how precisely frequencies or the mean can be estimated, column by column."""
    n = int(made.question.counts.sum())
    as_they_are = data_accuracies(made.question.counts, made.domain)
    for part, raw in zip(made.accuracy(), as_they_are, strict=True):
        if math.isinf(part.margin(n)):
            what = "share of some values open; their estimates are ranges"
            said = f"{n:,} reports leave the {what if part.unit is None else 'mean open'}"
        elif part.unit is not None:
            said = f"the mean is known to within {margin(part, n)} from {n:,} reports"
            said += f", from the data as they are within {margin(raw, n)}"
        else:
            said = (
                f"from {n:,} reports, the share of each value is known to within {margin(part, n)} "
                f"({100 * LEVEL:g} of 100 times), from the data as they are within {margin(raw, n)}"
            )
        yield f"{part.name}: {said} [{NOT_CHECKED}]"
