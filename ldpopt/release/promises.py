"""Say in words what a design promises, for whom, and what it does not promise."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ldpopt.core.exact import CEILING
from ldpopt.core.number_text import at_most, factor_at_most, in_full
from ldpopt.engine.solving import answer_for
from ldpopt.measures.frequency_intervals import LEVEL, margins
from ldpopt.measures.numeric_report_variance import published_moments
from ldpopt.measures.rldp_level import Level
from ldpopt.mechanisms.encodings import SubsetSelection
from ldpopt.mechanisms.randomizer import WorstReport
from ldpopt.problems.polyopt import PolyOpt
from ldpopt.problems.robust_fidelity import RobustFidelity
from ldpopt.release import accuracy
from ldpopt.release.designed import Design
from ldpopt.release.designing import AnyDesign
from ldpopt.release.levels_of_secrecy import in_words
from ldpopt.release.matrix_randomizer import released
from ldpopt.release.method_summaries import SUMMARIES
from ldpopt.release.methods import METHODS
from ldpopt.release.several_reports import shares

FAR_BETTER = 2.0
"""How many times as precise the frequencies of another mechanism must be to be worth a word."""
A_MILLION = math.log(1e6)
"""The level at which a report tells two secrets apart by a factor of a million."""
PLAIN_GAP = 1e-4
"""The relative gap to which the best mechanism of plain LDP is sought, for comparison."""
MOST_NAMED = 3
"""Values of a group that are named."""


def promise(made: AnyDesign) -> str:
    """Say what ε means for this table."""
    asked, epsilon = made.promise, made.promise.epsilon
    several = (
        f"{asked.reports} reports about one person together have at most the level "
        f"{in_full(asked.total)}; "
        if asked.reports > 1
        else ""
    )
    return f"{several}ε = {at_most(epsilon, 6)}: {limit(made)}"


def limit(made: AnyDesign) -> str:
    """Say how far a report may tell values apart, and which."""
    secret, public, asked = made.domain.secret.name, made.domain.public, made.promise
    if asked.secrecy:
        levels = in_words(made.domain.secret, asked.secrecy, MOST_NAMED)
        return (
            f"no report is more than e^(ε·m) times as likely for one value of {secret} as for another, "
            f"m being {levels}"
        )
    times = f"more than {factor_at_most(asked.epsilon)} times as likely for one value of"
    if asked.sensitive:
        what = secret if public is None else f"{secret} and {public.name} together"
        return (
            f"no report that {secret} {sensitive(made)} can give is {times} {what} as for another; any "
            "other report may reveal a value that is not sensitive"
        )
    said = f"no report is {times} {secret} as for another"
    if asked.robust == "given":
        assert public is not None
        return f"{said} of the same {public.name}; {public.name} may be told as it is"
    return said


def sensitive(made: AnyDesign) -> str:
    """Name the sensitive values."""
    labels = [made.domain.secret.labels[s] for s in made.promise.sensitive]
    more = len(labels) - MOST_NAMED
    return " or ".join([*labels[:MOST_NAMED], *([f"{more} other values"] if more > 0 else [])])


def plain_ldp(made: Design, queries: Sequence[str] = ()) -> str:
    """Say how precise the frequencies are under plain LDP, the best for them, beside levels of values.

    Args:
        made: the design.
        queries: the columns whose frequencies are wanted; all if not given.
    """
    if not (made.question.sensitive or made.question.secrecy):
        return ""
    counts, n = made.question.counts, made.rows
    rows = accuracy.query_rows(made.domain, queries)
    asked = RobustFidelity(made.question.epsilon, (counts / n).reshape(-1, 1), rows)
    found = released(asked, answer_for(asked, gap=PLAIN_GAP))
    assert found is not None
    parts = accuracy.accuracies(found, counts, made.domain, queries)
    own = ", ".join(f"{part.name} {margin(part, n)}" for part in parts[:MOST_NAMED])
    return f"hiding every value alike, at the same level, would give {own}"


def method(made: Design) -> str:
    """Say what the method does, and how its mechanism was changed to allow several reports."""
    way, reports = METHODS[made.method], made.question.reports
    if reports == 1:
        return f"{made.method}: {SUMMARIES[made.method]}"
    mixed = "then mixed with a constant release as far as needed"
    how = "at a share of the level" if shares(made.question, way) else mixed
    return f"{made.method}: {SUMMARIES[made.method]}; {how}, for {reports} reports"


def against(made: AnyDesign) -> str:
    """Say for which distributions the promise holds."""
    asked, joint = made.promise, made.domain.shape[1] > 1
    if joint and asked.robust == "known":
        return "if the data have the distribution of the table"
    if joint and asked.robust == "chi2":
        return f"for all distributions that a χ² test at {in_full(asked.alpha)} does not reject"
    return "whatever the distribution of the data"


def holds_for(made: Design) -> str:
    """Say for whom the promise holds, which may be more than it was made for."""
    if not made.public.universal:
        return against(made)
    public = made.domain.public
    also = "" if made.promise.robust == "given" else "also "  # others have the price of caveat
    known = "" if public is None else f", {also}against whoever knows {public.name}"
    return f"whatever the distribution of the data{known}"


def hides_all(made: AnyDesign) -> bool:
    """Return whether any two inputs are hidden from each other at the level of the promise, exactly.

    The mechanism says so, not the name of the method, which no claim decides.
    """
    return made.randomizer.hides(made.promise.epsilon)


def tells_public(made: AnyDesign) -> bool:
    """Return whether the report is the public value itself: a report for each, whatever the secret."""
    if made.domain.public is None or made.ldp_level < math.inf:
        return False
    rows = made.mechanism.matrix.reshape(*made.domain.shape, -1)
    apart = len(set(rows[0].argmax(axis=1))) == len(made.domain.public)
    return apart and bool((rows == rows[0]).all() and (rows.max(axis=2) == 1).all())


def promise_of(made: AnyDesign, method: str) -> str:
    """Say what another method would promise for the same question: methods are compared by it."""
    secret, public = made.domain.secret.name, made.domain.public
    if public is None:
        return f"{secret} is hidden, whatever the distribution of the data"
    if METHODS[method].composed:
        return limit(made)
    if METHODS[method].hides_all:
        return f"{secret} and {public.name} are hidden, whatever the distribution of the data"
    if METHODS[method].adds_up or made.promise.robust == "all":
        return f"{secret} is hidden, whatever the distribution, also from whoever knows {public.name}"
    return f"{secret} is hidden {against(made)}"


def outcome(made: Design, queries: Sequence[str] = ()) -> str:
    """Say how precisely the reports of as many rows as the table's give the frequencies, or the mean."""
    n, counts, domain = made.rows, made.question.counts, made.domain
    raw = accuracy.data_accuracies(counts, domain, queries)
    parts = sorted(made.accuracy(queries), key=lambda part: -part.margin(n))
    alone = {part.name: margin(part, n).removesuffix(" points") for part in raw}
    known = [
        f"{'mean of ' * (part.unit is not None)}{part.name} {margin(part, n)} (without noise "
        f"{'at most ' * (part.unit is not None)}{alone[part.name]})"
        for part in parts[:MOST_NAMED]
    ]
    more = len(parts) - MOST_NAMED
    known += [f"{more} other column{'s' * (more > 1)} no worse"] if more > 0 else []
    known += [published(made)] if domain.of_numbers else []
    return f"with your {n:,} rows ({100 * LEVEL:g} %): {', '.join(known)}{_lost(made, queries)}"


def _lost(made: Design, queries: Sequence[str]) -> str:
    """Name the values that the reports of the table's rows do not tell from ones that never occur."""
    p, lost = made.question.p_hat.ravel(), []
    for group, part in zip(
        accuracy.column_groups(made.domain, queries), made.accuracy(queries), strict=True
    ):
        if part.unit is None:
            shares, errors = group.values.weights @ p, margins(part.variances, made.rows)
            rare = (
                label
                for label, a, b in zip(group.labels, shares, errors, strict=True)
                if a <= b < math.inf
            )
            lost += [f"{group.columns} {label}" for label in rare]
    more = f" and {len(lost) - MOST_NAMED} more" * (len(lost) > MOST_NAMED)
    return f"; cannot be told from zero: {', '.join(lost[:MOST_NAMED])}{more}" if lost else ""


def advice(made: Design, queries: Sequence[str] = ()) -> str:
    """Name the default where a mechanism that was asked for leaves frequencies open; else "".

    They are left open where reports about one column each, by subset selection, would tell one of the
    columns :data:`FAR_BETTER` times as precisely, or where the rows of the table do not determine one.

    Args:
        made: the design.
        queries: the columns whose frequencies are wanted; all if not given.
    """
    if made.domain.of_numbers:
        return ""
    n, parts = made.rows, made.accuracy(queries)
    known = all(part.margin(n) < FAR_BETTER * _selected(part, made, n / len(parts)) for part in parts)
    return "" if known else "; for frequencies design without --for and --method"


def _selected(part: accuracy.Accuracy, made: Design, n: float) -> float:
    """Compute roughly the margin ± of n reports about the column alone, by subset selection."""
    k = len(part.variances)
    if k == 1:
        return math.inf
    once = SubsetSelection.best(k, made.promise.epsilon).variance([1 / k] * k, 1)
    return accuracy.Accuracy(part.name, once).margin(n)


def margin(part: accuracy.Accuracy, n: float) -> str:
    """Say ± of the frequency that is known least, in points (a hundredth each), or ± of the mean.

    >>> import numpy as np
    >>> margin(accuracy.Accuracy("ward", np.array([4.0, 1.0])), 1_000_000)
    '±0.40 points'
    >>> margin(accuracy.Accuracy("ward", np.array([4.0, 1.0])), 153_000)
    '±1.1 points'
    """
    share = part.margin(n)
    if math.isinf(share):
        return "not determined"
    return f"±{two_digits(100 * share)} points" if part.unit is None else f"±{plain(share * part.unit)}"


def plain(size: float) -> str:
    """Write the margin of a mean, rounded up to two significant digits.

    >>> plain(2.31), plain(0.0203), plain(2310.0)
    ('2.4', '0.021', '2,400')
    """
    rounded = float(at_most(size, 2))
    return f"{rounded:,.0f}" if rounded >= 100 else two_digits(rounded)


def published(made: Design) -> str:
    """Say how precisely three published mechanisms would give the mean, on the numbers as rounded."""
    (column,) = made.domain.secret.columns
    p, n = made.question.p_hat.ravel(), made.rows
    x = np.linspace(-1, 1, len(p))
    moments = published_moments(made.promise.epsilon, x)
    unit = float(np.ptp(column.points))
    found = (
        f"{name} {margin(accuracy.Accuracy('', np.array([(p @ square - (p @ x) ** 2) / 4]), unit), n)}"
        for name, square in moments.items()
    )
    return f"by published mechanisms {', '.join(found)}"


def two_digits(points: float) -> str:
    """Write a margin of less than 50 points rounded up to two significant digits.

    >>> two_digits(0.392), two_digits(1.0), two_digits(11.2)
    ('0.40', '1.0', '12')
    """
    return f"{float(at_most(points, 2)):#.2g}".removesuffix(".")


def attained(made: Design) -> str:
    """Say the exact level of the mechanism, and by which report two secrets are told apart so far."""
    if (kept := made.kept) is not None:
        allowed = f"of {in_full(made.question.epsilon)} allowed"
        return f"{kept.measure.name} {kept.value:.4g} {allowed}, {against(made)}"
    attains = f"level {made.level.level:.4g} of {in_full(made.question.epsilon)} allowed"
    return f"{attains} {against(made)}, {worst_report(made, made.level).sentence}"


def worst_report(made: AnyDesign, level: Level) -> WorstReport:
    """Say by which report two secrets are told apart so far, and which."""
    labels = made.domain.secret.labels
    return made.randomizer.worst_report(level.y, f"{labels[level.s]} against {labels[level.other]}")


def learnable(made: Design) -> str:
    """Say which frequencies the reports of the table's rows determine, and what that costs."""
    if made.domain.of_numbers:
        return "the mean alone, not the frequencies of numbers"
    known, inputs = made.determined, made.inputs
    if known == inputs:
        return (
            f"the reports determine all {inputs} frequencies of the data; {made.sample_factor:.3g} "
            "times as many rows give them as precisely as the raw data"
        )
    said = f"{made.rows:,} reports determine {known or 'none'} of the {inputs} frequencies of the data"
    if made.dimensions is not None:
        said += f", {made.dimensions} of the {inputs - 1} dimensions of their distribution"
    return f"{said}; other estimates are ranges"


def caveat(made: Design) -> str:
    """Say what the promise does not cover: who knows the public value of a person, or does not."""
    if made.question.robust == "given":
        return _told(made)
    if made.question.sensitive or made.question.secrecy:
        return ""
    level, epsilon = made.level_given_public, made.question.epsilon
    if made.domain.public is None or level <= epsilon * (1 + 1e-9):
        return ""
    sure = ", some odds × over a million" if level > A_MILLION else ""
    return f"{guessing(made)}{sure}; --robust all hides it from them"


def guessing(made: Design) -> str:
    """Say how often whoever knows the public value of a person guesses the secret right.

    It is "" without a public column, and for an encoding, of which it is not computed.
    """
    secret, public = made.domain.secret.name, made.domain.public
    if public is None or math.isnan(made.information):
        return ""
    blind, seen = (round(100 * chance) for chance in made.guesses_given_public)
    return (
        f"whoever knows the {public.name} of a person guesses {secret} right in {blind} of 100 cases, "
        f"with one report in {seen}"
    )


def _told(made: Design) -> str:
    """Say what the public values, told as they are, tell of the secret."""
    assert made.domain.public is not None
    secret, public = made.domain.secret.name, made.domain.public.name
    level, blind, seen = made.unaware
    up_to = "reports exclude values" if math.isinf(level) else f"the level is {level:.3g}"
    return (
        f"{public} tells about {secret}: for whoever does not know it {up_to}, not "
        f"{in_full(made.question.epsilon)}, and guesses are right in {round(100 * seen)} of 100 cases, "
        f"without a report in {round(100 * blind)}"
    )


def merging(made: Design) -> str:
    """Say whether the mechanism merges public values, and what that costs at most; "" for not."""
    if not (groups := merged_groups(made)):
        return ""
    ceiling = next((c.value for c in made.verification.claims if c.about == CEILING and c.holds), None)
    lost = None if ceiling is None else math.nextafter(ceiling - made.information, math.inf)
    cost = "" if lost is None else f"; that costs at most {at_most(lost)} nats"
    public = made.domain.public
    assert public is not None
    return f"the {len(public)} values of {public.name} are told apart as {len(groups)} groups{cost}"


def merged_groups(made: Design) -> list[str]:
    """Name the groups of public values that the mechanism merges; none if it merges none."""
    problem, public = made.result.problem, made.domain.public
    if not isinstance(problem, PolyOpt) or problem.groups is None or public is None:
        return []
    (first, *others), groups = public.columns, problem.groups
    ordered = bool(first.edges) and not (others or first.missing)
    return [_named(public.labels, groups, g, ordered) for g in range(max(groups) + 1)]


def _named(labels: Sequence[str], groups: Sequence[int], group: int, ordered: bool) -> str:
    members = [label for label, own in zip(labels, groups, strict=True) if own == group]
    if ordered:
        return " to ".join(dict.fromkeys((members[0], members[-1])))
    more = len(members) - MOST_NAMED
    shown = ", ".join(f"({name})" if ", " in name else name for name in members[:MOST_NAMED])
    return f"{shown} and {more} more" if more > 0 else shown
