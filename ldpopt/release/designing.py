"""From a table to a mechanism for it: count, solve, audit, certify.

>>> made = design("adult:sex-race", secret="sex", public="race", epsilon=1.0)
>>> made.method, made.result.status.value, round(made.result.value, 4)
('queries', 'optimal', 21.7849)
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ldpopt.core.errors import InvalidInputError, LdpoptError, RefutedFileError, UnreadableFileError
from ldpopt.core.exact import RECOVERABLE
from ldpopt.core.files import PathName
from ldpopt.core.limits import LEAST_LEFT, Limits, Progress
from ldpopt.engine.result import Result
from ldpopt.engine.solving import solve, whole_answers
from ldpopt.engine.verifying import read_document, within
from ldpopt.problems.polyopt import PolyOpt
from ldpopt.release.accuracy import column_groups, query_rows
from ldpopt.release.designed import Design
from ldpopt.release.levels_of_secrecy import multiples
from ldpopt.release.methods import METHODS, MOST_ROWS, chosen
from ldpopt.release.public_design import SECTION, Promise, PublicDesign, load_public
from ldpopt.release.question import MOST_PUBLIC, Question, ranks
from ldpopt.release.several_reports import LEVELS, several, shares
from ldpopt.tables.coarser_levels import Levels
from ldpopt.tables.domain import Domain
from ldpopt.tables.number_survey import number_survey
from ldpopt.tables.one_row_per_person import FirstRows
from ldpopt.tables.part_of_rows import PartOfRows
from ldpopt.tables.survey import Bins, survey

GAP, SECONDS = 1e-6, 30.0
"""The relative gap to prove, and the time limit of a design."""

WIDTHS = (2, 3, 5, 7, 10)
"""The widths that are tried, from the narrowest, until the mechanism gets worse.

With few public values and many secrets, all values are also tried unmerged, last.
"""
ROUGH_GAP, SHARE = 1e-2, 0.1
"""The gap to which a width is tried, and the share of the time that each may take."""

AnyDesign = Design | PublicDesign


def opened(made: AnyDesign | PathName) -> AnyDesign:
    """Return the design, read from its file where that is given."""
    return load_mechanism(made) if isinstance(made, str | os.PathLike) else made


def load_mechanism(path: PathName) -> AnyDesign:
    """Read a file of ``ldpopt design``: the one with the counts, or the public one."""
    with within():
        document = read_document(path)
        return load_public(path, document) if SECTION in document else load_design(path, document)


def load_design(path: PathName, document: dict[str, Any] | None = None) -> Design:
    """Read a file of ``ldpopt design``; its table, parameters and mechanism must be those of its proof.

    Nothing else in it is trusted before ``verify`` says so.

    Args:
        path: the file.
        document: its content, where it has been read.
    """
    made, digest = read_design(path, document)
    if not _agrees(made):
        raise RefutedFileError(
            f"{os.fspath(path)}: the table that it describes is not that of its proof"
        )
    if made.digest != digest:
        raise RefutedFileError(
            f"{os.fspath(path)}: labels, bins, counts, parameters or mechanism are not those that were "
            "designed: they do not match its digest"
        )
    return made


class ReadDesign(NamedTuple):
    """A design as its file spells it, and the digest that the file states."""

    design: Design
    digest: Any


def read_design(path: PathName, document: dict[str, Any] | None = None) -> ReadDesign:
    """Read a file of ``ldpopt design`` as it stands, to examine one that may have been changed.

    Args:
        path: the file.
        document: its content, where it has been read.
    """
    document = read_document(path) if document is None else document
    if "design" not in document:
        raise UnreadableFileError(
            f"{os.fspath(path)} does not say for which table it is: it was not written by ldpopt design"
        )
    section, result = document["design"], Result.from_json(document)
    try:
        promise, domain = Promise.from_json(section), Domain.from_json(section["domain"])
        against = promise.epsilon, promise.robust, promise.alpha
        several = section["width"], promise.reports, promise.together
        asked = result.problem.to_params()
        composed = asked.get("minimise", {}).get("queries", {})
        queries = asked.get("queries", composed.get("queries"))
        about = queries, domain.of_numbers, promise.sensitive
        question = Question(section["counts"], *against, *several, *about, secrecy=promise.secrecy)
    except (KeyError, TypeError, AttributeError) as error:
        raise UnreadableFileError(f"{os.fspath(path)} is not a design: {error!r}") from None
    made = Design(result, domain, question, promise.method, salt=section.get("salt"))
    return ReadDesign(made, section.get("digest"))


def _agrees(made: Design) -> bool:
    """Return whether domain, counts, ε and uncertainty set are those of the certified question."""
    question, proven = made.question, made.result.problem
    if made.unanswered or made.domain.shape != question.counts.shape:
        return False
    if not isinstance(made.method, str) or made.method not in METHODS:
        return False
    method = METHODS[made.method]
    if method.build is None and method.reason(question) is not None:
        return False  # the file does not say what a mechanism was built for
    asked = method.problem(question)
    return (asked.kind, asked.to_params()) == (proven.kind, proven.to_params())


def design(
    table: Any,
    secret: str | Sequence[str],
    public: str | Sequence[str] = (),
    *,
    epsilon: float,
    robust: str = "all",
    sensitive: Mapping[str, Sequence[str]] | None = None,
    secrecy: Any = None,
    alpha: float = 0.05,
    method: str = "auto",
    bins: Mapping[str, Bins] | None = None,
    text: Iterable[str] = (),
    top: Mapping[str, int] | None = None,
    levels: Mapping[str, Levels] | None = None,
    missing: str = "refuse",
    width: int | None = None,
    reports: int = 1,
    goal: str = "estimates",
    queries: Sequence[str] = (),
    mean_over: Sequence[float] | None = None,
    gap: float = GAP,
    time_limit: float = SECONDS,
    progress: Progress | None = None,
    step: Callable[[str], object] = str,
    warn: Callable[[str], None] | None = None,
) -> Design:
    """Design a mechanism that hides the secret columns of a table and releases the public ones.

    Without public columns, all of the data are secret: plain ε-LDP.

    Args:
        table: a CSV or Parquet file, a data frame, columns by name, or an embedded "adult:sex-race".
        secret: the column or columns to hide.
        public: the column or columns to release as well as that allows.
        epsilon: the level, in nats.
        robust: hide s for "all" distributions, so also from those who know u; for those that a χ² test
            does not reject ("chi2"); or for the observed one ("known"). Or "given": hide it from those
            who know the public columns, and tell these as they are.
        sensitive: for secret columns, the values that are sensitive; others may be told (with "all").
        secrecy: a table of pairs of secrets, each with the multiple of ``epsilon`` that is its level,
            for pairs whose level is not ``epsilon`` (:func:`multiples`; with "all").
        alpha: the significance level.
        method: a name of ``ldpopt list methods``, or "auto" (:func:`ldpopt.release.methods.chosen`).
        bins: for columns of numbers, dates or times, how many bins, or the edges between them.
        text: columns whose cells are words even if some look like numbers or like "NA".
        top: for columns of words, how many of the most frequent are told apart; others are "(other)".
        levels: for columns of words, how many first characters count, or the groups of the words.
        missing: what becomes of rows with an empty cell: "refuse", "drop", or "category" ("(missing)").
        width: how many groups of public values polyopt tells apart (:func:`with_width`).
        reports: how many reports about one person share ``epsilon``; see
            :mod:`ldpopt.release.several_reports`.
        goal: what "auto" chooses by: "estimates" of the frequencies of ``queries``, or "information".
        queries: the columns whose frequencies are wanted; all if not given.
        mean_over: the least and the greatest number of the secret, where it is one column of numbers and
            its mean is wanted; all of it is hidden, whatever the distribution.
        gap: the relative gap to prove.
        time_limit: seconds for the table and all methods that are tried together.
        progress: called with (value, bound) during long work.
        step: called with the name of a method before it is tried.
        warn: called with what was left out or taken together, methods too, and with bins that hold all
            rows.
    """
    whole = Limits.within(time_limit)
    with whole.held():
        if mean_over is None:
            domain, counts = survey(
                table, secret, public, bins, text, top=top, levels=levels, missing=missing, warn=warn
            )
        else:
            column = _only_column(secret, public, bins, text, top, levels)
            domain, counts = number_survey(table, column, mean_over, missing=missing, warn=warn)
            robust = "all"
    if warn is not None and isinstance(table, FirstRows | PartOfRows):
        warn(table.in_words)
    named = goal == "estimates" or method in ("queries", "sampled", "split")
    column_groups(domain, queries)  # refuses a name that is no column
    wanted = query_rows(domain, queries) if named and counts.size <= MOST_ROWS else None
    about = counts, epsilon, robust, alpha, width, reports, None, wanted, domain.of_numbers
    apart = () if secrecy is None else multiples(domain.secret, secrecy)
    few = sensitive_secrets(domain, sensitive or {})
    question = Question(*about, few, apart, ranks(domain.public))
    found: list[Design] = []
    failed: dict[str, LdpoptError] = {}
    only = "composed" if question.composed and method == "auto" else method
    names = chosen(question, only, goal)
    for i, name in enumerate(names):
        if found and whole.expired():
            failed[name] = InvalidInputError("no time was left; allow more (--time-limit)")
            continue
        part = whole.part(1 / (len(names) - i))
        step(name)
        asked = with_width(question, name, part.remaining())
        try:
            found.append(solved(domain, asked, name, gap, part.remaining(), progress))
        except LdpoptError as error:
            failed[name] = error
        if found and found[-1].interrupted:
            break
    if not found:
        raise next(iter(failed.values()))
    if warn is not None:
        for reason in dict.fromkeys(map(str, failed.values())):
            left_out = [name for name, error in failed.items() if str(error) == reason]
            one = f"the method {left_out[0]} was"
            many = f"the methods {', '.join(left_out)} were"
            warn(f"{one if len(left_out) == 1 else many} left out: {reason}")
    best = preferred(found, goal, queries)
    stopped = {"interrupted": 1.0} if found[-1].interrupted else {}  # the search for a better one was
    return replace(best, result=replace(best.result, stats={**best.result.stats, **stopped}))


def _only_column(secret: str | Sequence[str], *others: Any) -> str:
    """Return the one column of which the mean is wanted."""
    names = [secret] if isinstance(secret, str) else [*secret]
    if len(names) != 1 or any(others):
        raise InvalidInputError(
            "a mean is that of one column, without public columns, bins, text, top or levels"
        )
    return names[0]


def sensitive_secrets(domain: Domain, values: Mapping[str, Sequence[str]]) -> tuple[int, ...]:
    """Return the numbers of the secrets that have a sensitive value in some column.

    Args:
        domain: the columns of the table.
        values: the sensitive values of secret columns.

    Raises:
        InvalidInputError: a name is no secret column, a value does not occur, or all are sensitive.
    """
    columns = {column.name: (i, column.values) for i, column in enumerate(domain.secret.columns)}
    wanted = []
    for name, own in values.items():
        if name not in columns:
            raise InvalidInputError(
                f"sensitive values are those of a secret column, {', '.join(columns)}, not of {name!r}"
            )
        place, known = columns[name]
        for value in own:
            if value not in known:
                raise InvalidInputError(f"{name} has the values {', '.join(known)}, not {value!r}")
        wanted += [(place, known.index(value)) for value in own]
    members = domain.secret.members
    found = tuple(s for s, member in enumerate(members) if any(member[i] == v for i, v in wanted))
    if len(found) == len(members):
        raise InvalidInputError("where all values are sensitive, leave the option out")
    return found


def with_width(question: Question, method: str, time_limit: float) -> Question:
    """Return the question with the number of groups chosen, if its method merges public values.

    More groups say more of u, but rare groups widen the polytopes around the confidence set, and with
    them the mechanism gets worse: which width is best depends on the table and on ε, so it is tried.

    Args:
        question: what is asked; a width that it states is kept.
        method: the name of the method.
        time_limit: seconds of this and of the solve that follows.
    """
    most = question.merged_width()
    problem = METHODS[method].problem(question)
    if question.width is not None or most is None:
        return question
    if not isinstance(problem, PolyOpt) or problem.width is None:
        return question
    best, width, values = -math.inf, WIDTHS[0], question.counts.shape[1]
    all_apart = [values] if values <= MOST_PUBLIC else []
    for tried in [*(w for w in WIDTHS if w <= most), *all_apart]:
        asked = METHODS[method].problem(replace(question, width=tried))
        assert isinstance(asked, PolyOpt)
        trial = replace(asked, calibrate=False)
        with whole_answers():  # what Ctrl-C leaves of a trial tells nothing about its width
            found = solve(trial, gap=ROUGH_GAP, time_limit=max(SHARE * time_limit, 1e-3))
        if found.value is None or found.value <= best:
            break
        best, width = found.value, tried
    return replace(question, width=width)


def preferred(found: Sequence[Design], goal: str, queries: Sequence[str]) -> Design:
    """Return the most useful design; of equally useful ones, that from which least can be computed back.

    Args:
        found: the designs.
        goal: what they are for, of :data:`ldpopt.release.methods.GOALS`.
        queries: the columns whose frequencies are wanted; all if not given.
    """
    worth = [made.worth(goal, queries) for made in found]
    best = max(worth)
    equal = [
        (useful, made)
        for useful, made in zip(worth, found, strict=True)
        if useful >= best - GAP * abs(best)
    ]
    if len(equal) == 1:
        return equal[0][1]

    def told(made: Design) -> int:
        """Return how much of the counts can be computed back; nothing where they were not used."""
        return RECOVERABLE.index(made.public.recoverable or RECOVERABLE[0])

    return min(equal, key=lambda pair: (told(pair[1]), -pair[0]))[1]


def solved(
    domain: Domain,
    question: Question,
    name: str,
    gap: float,
    time_limit: float,
    progress: Progress | None,
) -> Design:
    """Answer the question of a table by one method.

    Args:
        domain: what the rows of the mechanism stand for.
        question: what the table is to be protected against.
        name: the name of the method.
        gap: the relative gap to prove.
        time_limit: seconds; for several reports, mechanisms of several levels share them.
        progress: called with (value, bound) during long work.
    """
    share = 1 if question.reports == 1 or shares(question, METHODS[name]) else LEVELS
    seconds = max(time_limit / share, LEAST_LEFT)

    def answered(level: float) -> Result:
        return METHODS[name].solve(replace(question, epsilon=level), gap, seconds, progress)

    if question.reports == 1:
        answer = answered(question.epsilon)
    else:
        question, answer = several(question, METHODS[name], answered)
    made = Design(answer, domain, question, name)
    if made.unanswered:
        merge = ", or merge values (--width 4)" if isinstance(answer.problem, PolyOpt) else ""
        given = f"in {time_limit:.3g} s" if time_limit > LEAST_LEFT else "as no time was left"
        raise InvalidInputError(f"no mechanism was found {given}; allow more (--time-limit){merge}")
    return made
