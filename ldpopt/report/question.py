"""What a result is about, in words."""

from __future__ import annotations

from ldpopt.core.problem import Problem
from ldpopt.core.rounding import at_most, factor_at_most, in_full
from ldpopt.engine.verifying import NOT_CHECKED
from ldpopt.release import words
from ldpopt.release.designed import Design
from ldpopt.release.designing import AnyDesign
from ldpopt.release.words import hides_all, holds_for, tells_public
from ldpopt.report.files import Loaded
from ldpopt.report.parts import Fact
from ldpopt.report.words import abbreviated, documented
from ldpopt.tables.domain import Attribute


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
    if public is None:
        return f"Random reports on {secret} that hide it"
    if tells_public(made):
        return f"Reports that tell {public.name} as it is and hide {secret}"
    if hides_all(made):
        return f"Random reports on {secret} and {public.name} that hide both"
    return f"Random reports on {secret} and {public.name} that hide {secret}"


def explanation(loaded: Loaded) -> list[str]:
    """Say what the mechanism is for, and what is claimed about its privacy."""
    made = loaded.content
    if not isinstance(made, Design):
        told, _ = documented(type(made.problem))
        return [*told, *(f"Claimed and decided: {said}." for said in loaded.verification.privacy)]
    secret, epsilon = made.domain.secret.name, made.question.epsilon
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
    second = (
        f"Privacy level ε = {at_most(epsilon, 6)}: no report is more than e^ε ≤ "
        f"{factor_at_most(epsilon)} times as likely for one value of {secret} as for another, "
        f"{holds_for(made)}; whoever sees a report, and knows nothing else about the person, can shift "
        f"the odds between two values of {secret} by that factor at most"
    )
    return [first, f"{loaded.verification.marked_promise(second)}."]


def design_question(made: Design) -> list[Fact]:
    """List what the design hides and releases, of which table, and how."""
    domain, question = made.domain, made.question
    public = "nothing: all of the data are secret" if domain.public is None else values(domain.public)
    return [
        Fact("Secret", values(domain.secret)),
        Fact("Public", public),
        Fact("Table", f"{int(question.counts.sum()):,} rows"),
        Fact("Method", f"{words.method(made)} [{NOT_CHECKED}]"),
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
