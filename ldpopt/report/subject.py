"""What a result is about, in words."""

from __future__ import annotations

from ldpopt.core.number_text import at_most, factor_at_most, in_full
from ldpopt.core.problem import Problem
from ldpopt.engine.verifying import NOT_CHECKED
from ldpopt.release import promises
from ldpopt.release.designed import Design
from ldpopt.release.designing import AnyDesign
from ldpopt.release.method_summaries import SUMMARIES
from ldpopt.release.promises import hides_all, holds_for, tells_public
from ldpopt.release.public_design import PublicDesign
from ldpopt.report.loading import Loaded, Published
from ldpopt.report.sections import Fact
from ldpopt.report.wording import abbreviated, documented
from ldpopt.tables.domain import Attribute

NO_COUNTS = "its counts are not in this file"


def title(loaded: Loaded) -> str:
    """Name what is hidden and released, or the kind of the problem, and the level that is claimed."""
    made = loaded.content
    if not isinstance(made, Design):
        return f"{made.problem.title}{loaded.level and f', ε = {loaded.level}'}"
    said = f"{released(made)}, ε = {in_full(made.question.epsilon)}"
    return loaded.verification.marked_promise(said)


def released(made: AnyDesign) -> str:
    """Name what leaves the table, and what is hidden."""
    secret, public = made.domain.secret.name, made.domain.public
    if made.promise.sensitive or made.promise.secrecy:
        both = "" if public is None else f" and {public.name}"
        what = promises.sensitive(made) or "with a level for each pair of values"
        return f"Random reports on {secret}{both} that hide {secret} {what}"
    if public is None:
        return f"Random reports on {secret} that hide it"
    if made.promise.robust == "given":
        return f"Reports that tell {public.name} as it is and hide {secret} from those who know it"
    if tells_public(made):
        return f"Reports that tell {public.name} as it is and hide {secret}"
    if hides_all(made):
        return f"Random reports on {secret} and {public.name} that hide both"
    return f"Random reports on {secret} and {public.name} that hide {secret}"


def explanation(loaded: Loaded) -> list[str]:
    """Say what the mechanism is for, and what is claimed about its privacy."""
    made = loaded.content
    if not isinstance(made, Design):
        explained, _ = documented(type(made.problem))
        return [*explained, *(f"Claimed and decided: {said}." for said in loaded.verification.privacy)]
    secret, epsilon = made.domain.secret.name, made.question.epsilon
    shown = f"can shift the odds between two values of {secret} by that factor at most"
    alone = "" if made.public.universal else ", and knows nothing else about the person,"
    seen = f"whoever sees a report{alone} {shown}"
    if made.promise.sensitive:
        seen = f"whoever sees a report that {promises.sensitive(made)} can give {shown}"
    elif made.promise.robust == "given":
        assert made.domain.public is not None
        seen = f"whoever sees a report, and knows the {made.domain.public.name} of the person, {shown}"
    people = f"Every row of the table is one person with a value of {secret}"
    if made.domain.public is None:
        first = f"{people}. The mechanism turns it into a random report."
    elif tells_public(made):
        first = (
            f"{people} and one of {made.domain.public.name}. The report is the value of "
            f"{made.domain.public.name} as it is, without noise; {secret} is not used."
        )
    else:
        first = (
            f"{people} and one of {made.domain.public.name}. The mechanism turns both into one random "
            "report."
        )
    factor = factor_at_most(epsilon)
    limit = promises.limit(made).replace(f"more than {factor} times", f"more than e^ε ≤ {factor} times")
    second = f"Privacy level ε = {at_most(epsilon, 6)}: {limit}, {holds_for(made)}; {seen}"
    return [first, f"{loaded.verification.marked_promise(second)}."]


def promised(loaded: Published) -> str:
    """Say what was promised of a public mechanism."""
    said = f"{promises.promise(loaded.content)}, {promises.against(loaded.content)}"
    return f"Promised is {loaded.verification.marked_promise(said)}."


def proven(made: PublicDesign) -> str:
    """Say what of the promise a public file proves."""
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


def design_question(made: AnyDesign) -> list[Fact]:
    """List what the design hides and releases, of which table, and how."""
    public, method = made.domain.public, made.promise.method
    if isinstance(made, Design):
        table, how = Fact("Table", f"{made.rows:,} rows"), promises.method(made)
    else:
        known = f": {SUMMARIES[method]}" if method in SUMMARIES else ""
        table, how = Fact("Table", NO_COUNTS, made.recovery), f"{method}{known}"
    return [
        Fact("Secret", values(made.domain.secret)),
        Fact("Public", "nothing: all of the data are secret" if public is None else values(public)),
        table,
        Fact("Method", f"{how} [{NOT_CHECKED}]"),
    ]


def values(attribute: Attribute) -> str:
    """Name an attribute and its values, at most the first twelve."""
    labels = attribute.labels
    more = f" and {len(labels) - 12} more" if len(labels) > 12 else ""
    return f"{attribute.name}, {len(labels)} values: {'; '.join(labels[:12])}{more}"


def problem_question(problem: Problem) -> list[Fact]:
    """List the problem's parameters with their meaning."""
    _, meanings = documented(type(problem))
    return [
        Fact(name, abbreviated(value), meanings.get(name, ""))
        for name, value in problem.to_params().items()
    ]
