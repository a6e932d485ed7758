"""Every privacy measure of a mechanism in one list: value, unit, meaning, and what was promised."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ldpopt.core.limits import UNLIMITED, Limits
from ldpopt.core.number_text import at_least, at_most, in_full, plain_number
from ldpopt.core.problem import Subject, Uncertainty
from ldpopt.core.validate import Array, InvalidInputError, Whole
from ldpopt.measures import information_metrics, leakage
from ldpopt.measures.repeated_reports import together
from ldpopt.measures.rldp_level import Level, level_given_public, rldp_level
from ldpopt.models.convex_set import ConvexSet
from ldpopt.models.priors import Dirichlet
from ldpopt.models.uncertainty_sets import AllDistributions, Chi2Set
from ldpopt.release.question import Question
from ldpopt.release.table_consistency import homogeneity

ROUNDING = 1e-9
"""The relative rounding that a level in floats may have; the checker decides exactly."""
LEAKAGE_SECONDS, LEAKAGE_SHARE = 10.0, 0.25
"""The most seconds, and the share of the time left, for each measure that is NP-hard.

What is not proven by then is an interval.
"""


@dataclass(frozen=True)
class Measured:
    """How private a mechanism is, in one sense.

    Attributes:
        key: its name for machines.
        name: its name for people.
        value: the value; where ``upper`` is larger, a proven lower bound.
        unit: "nats", "share", "probability", or that of a promise.
        meaning: what it says, in plain words.
        promised: the value is promised not to exceed this.
        upper: the proven upper bound.
        detail: where the value is attained.
    """

    key: str
    name: str
    value: float
    unit: str
    meaning: str
    promised: float | None = None
    upper: float | None = None
    detail: str = ""

    @property
    def holds(self) -> bool | None:
        """Whether the promise is kept; None without one, or if the proven interval does not tell."""
        if self.promised is None:
            return None
        allowed = self.promised * (1 + ROUNDING)
        if self.value > allowed:
            return False
        return True if self.upper is None or self.upper <= allowed else None

    @property
    def text(self) -> str:
        """The value, or the proven interval, in so many digits that it is on its side of the promise."""
        low = high = ""
        for digits in range(4, 18):
            low = high = f"{self.value:.{digits}g}"
            if self.upper is not None and low != f"{self.upper:.{digits}g}":
                low, high = at_least(self.value, digits), at_most(self.upper, digits)
            shown = float((high if self.holds else low).replace("∞", "inf"))
            if self.promised is None or self.holds in (None, shown <= self.promised):
                break
        return low if low == high else f"{low} to {high}"

    @property
    def limit(self) -> str:
        """What is promised, in full; empty without a promise."""
        return "" if self.promised is None else in_full(self.promised)

    def to_json(self) -> dict[str, Any]:
        """Return plain data; infinity is the word "inf"."""
        numbers = ("value", "upper", "promised")
        plain = {name: plain_number(getattr(self, name)) for name in numbers}
        return {**vars(self), **plain, "holds": self.holds}


class Words(NamedTuple):
    """What a measure is called, what it says, and its unit."""

    name: str
    meaning: str
    unit: str = "nats"


WORDS = {
    "data-observed": Words(
        "level for this table's data",
        "the level for the distribution of the table of --data alone, as if it were exactly right",
    ),
    "data-alike": Words(
        "chance of such a table",
        (
            "the probability that two tables differ as much as this one and the design's, or more, if "
            "both come from one distribution (χ² test; of few rows, a bound by the rarest count)"
        ),
        "probability",
    ),
    "statistic-maximal-leakage": Words(
        "statistic maximal leakage",
        "a report multiplies the chance to guess the secret by at most e^this, whatever the prior",
    ),
    "infimum-leakage": Words(
        "infimum leakage",
        "whoever rules out one value of the secret errs at most e^this times less often with a report",
    ),
    "pointwise-leakage": Words(
        "pointwise leakage",
        "the worst single report multiplies the chance to guess the secret by at most e^this",
    ),
    "indistinguishability": Words(
        "indistinguishability",
        "a report is at most e^this times as likely for one input as for another with another secret",
    ),
    "maximal-leakage": Words(
        "maximal leakage",
        "a report multiplies the chance to guess anything about the input by at most e^this",
    ),
    "average-privacy": Words(
        "average privacy",
        (
            "of the information in an input this share stays hidden, on average over distributions "
            "(Jeffreys' Dirichlet(1/2) prior)"
        ),
        "share",
    ),
    "worst-case-privacy": Words(
        "worst-case privacy",
        "the share that stays hidden for the worst distribution and report: e^(−LDP level)",
        "share",
    ),
    "information": Words(
        "information released", "I(X;Y): what a report tells about the whole input: the use of the data"
    ),
    "blind-guess": Words(
        "guessing the secret without a report",
        "the chance of an attacker who knows the observed distribution alone",
        "probability",
    ),
    "guess": Words(
        "guessing the secret from a report",
        "the chance of the same attacker after seeing one report",
        "probability",
    ),
    "observed": Words(
        "level for the observed data",
        (
            "no report changes the odds of two secrets by more than e^this, for the observed "
            "distribution alone, as if it were known"
        ),
    ),
    "known-public": Words(
        "level if the public value is known",
        (
            "no report changes the odds of two secrets of a person whose public value is known by more "
            "than e^this"
        ),
    ),
    "secret-information": Words(
        "information about the secret",
        "I(S;Y): what a report tells about the secret on average, for the observed distribution",
    ),
    "blind-guess-given-public": Words(
        "the same for whoever knows the public value",
        "the chance to guess the secret of a person whose public value is known, without a report",
        "probability",
    ),
    "guess-given-public": Words(
        "the same from a report",
        "the chance of whoever knows the public value after seeing one report",
        "probability",
    ),
}
"""The words of the measures whose meaning is always the same, by their keys."""


def _measured(key: str, value: float, **more: Any) -> Measured:
    name, meaning, unit = WORDS[key]
    return Measured(key, name, value, unit, meaning, **more)


FOUND = "a report changes the odds of two secrets by e^this, and a search found no more, for "
"""What the level over a :class:`ConvexSet` means: a climb finds it, and only a certificate proves it."""
LDP = "no report changes the odds of any two inputs (public parts too) by more than e^this"
ADDS_UP = (
    "two reports about one person change the odds of two secrets by e^this at most: levels against all "
    "distributions add up"
)


def worst_level(of: Subject) -> Level | None:
    """Compute the level over the uncertainty set, with its witness.

    The answer is None if the inputs are not pairs (s, u).
    """
    return None if of.uncertainty is None else rldp_level(of.mechanism, of.uncertainty)


# ------------------------------------------------------------ the list


def measures(of: Subject, worst: Level | None, limits: Limits = UNLIMITED) -> list[Measured]:
    """List every measure that applies, with what is promised about it, those with a promise first.

    Args:
        of: the mechanism and its secrets.
        worst: its :func:`worst_level`.
        limits: the time that this and what comes after may take.

    Raises:
        InvalidInputError: the subject promises something that is not measured.
    """
    found = list(_levels(of, worst))
    if not of.part:
        found += [*_leakages(of, limits), *_averages(of)]
    keys = [measure.key for measure in found]
    for key in of.promises:
        if key not in keys:
            raise InvalidInputError(f"promises are about one of {', '.join(keys)}, not about {key!r}")
    found = [replace(measure, promised=of.promises.get(measure.key)) for measure in found]
    own = [
        Measured(
            f"promise-{i}", one.measure.name, one.value, one.measure.unit, one.meaning, one.promised
        )
        for i, one in enumerate(of.own, 1)
    ]
    return sorted([*own, *found], key=lambda measure: measure.promised is None)


def _levels(of: Subject, worst: Level | None) -> Iterator[Measured]:
    if of.uncertainty is not None and worst is not None:
        meaning = "no report changes the odds of two secrets by more than e^this, for "
        if not isinstance(of.uncertainty, AllDistributions):
            own = FOUND if isinstance(of.uncertainty, ConvexSet) else meaning
            yield _level(of, "robust", "robust LDP level", worst, own + in_words(of.uncertainty))
        everything = AllDistributions(*of.uncertainty.shape)
        level = rldp_level(of.mechanism, everything)
        name = "robust LDP level, all distributions"
        yield _level(of, "robust-all", name, level, meaning + in_words(everything))
        yield _two_reports(of, of.uncertainty, level.level)
    if of.p is not None and of.public_names:
        yield _measured("observed", of.channel(of.p)[0].epsilon())
    if of.public_names:
        shape = (len(of.secret_names), len(of.public_names))
        yield _measured("known-public", level_given_public(of.mechanism.matrix, shape))
    level_of_inputs = of.mechanism.epsilon()
    yield Measured("ldp", "LDP level", level_of_inputs, "nats", LDP)
    if of.part:
        yield Measured("two-reports", "level of two reports", 2 * level_of_inputs, "nats", ADDS_UP)


def _two_reports(of: Subject, uncertainty: Uncertainty, level_of_all: float) -> Measured:
    """Bound the level of two reports about one person: at most twice that against all distributions."""
    two = together(of.mechanism, uncertainty, 2)
    s, other = of.secret_names[two.found.s], of.secret_names[two.found.other]
    return Measured(
        "two-reports",
        "level of two reports",
        two.found.level,
        "nats",
        "two reports about one person change the odds of two secrets by e^this at most (levels of "
        f"robust LDP do not add up), for {in_words(uncertainty)}"
        if not isinstance(uncertainty, AllDistributions)
        else ADDS_UP,
        upper=None if two.exact else 2 * level_of_all,
        detail=f"reports {two.found.outputs[0]} and {two.found.outputs[1]}, {s} against {other}",
    )


def _level(of: Subject, key: str, name: str, level: Level, meaning: str) -> Measured:
    return Measured(key, name, level.level, "nats", meaning, detail=witness_in_words(of, level))


def data_measures(of: Subject, question: Question, counts: Whole) -> Iterator[Measured]:
    """Measure the levels for a table, and whether it differs from the design's table by chance.

    The promise is about the distribution that the design's table is a sample of. The frequencies of
    another sample of it can exceed the level by chance; so the promise is held against them only if
    Pearson's test at the design's alpha says that the two tables differ by more than chance.

    Args:
        of: the mechanism and its secrets.
        question: the counts, the uncertainty set and alpha of the design.
        counts: the counts [s][u] of the other table.
    """
    own = replace(question, counts=counts)
    alike = homogeneity(question.counts, counts).p_value
    yield _measured(
        "data-observed",
        of.channel(own.p_hat.ravel())[0].epsilon(),
        promised=of.epsilon if alike < question.alpha else None,
    )
    yield _measured("data-alike", alike)
    level = rldp_level(of.mechanism, own.uncertainty)
    yield Measured(
        "data-robust",
        "robust LDP level for this table",
        level.level,
        "nats",
        "the level that a design for the table of --data would have to limit, for "
        + in_words(own.uncertainty),
        detail=witness_in_words(of, level),
    )


def _leakages(of: Subject, limits: Limits) -> Iterator[Measured]:
    def seconds() -> float:
        return min(LEAKAGE_SECONDS, limits.left(LEAKAGE_SHARE) or math.inf)

    W, secrets = of.mechanism.matrix, of.secrets.tolist()
    low, high = leakage.statistic_maximal_leakage(W, secrets, effort=math.inf, time_limit=seconds())
    yield _measured("statistic-maximal-leakage", low, upper=high)
    low, high = leakage.infimum_leakage(W, secrets, effort=math.inf, time_limit=seconds())
    yield _measured("infimum-leakage", low, upper=high)
    yield _measured("pointwise-leakage", leakage.pointwise_leakage(W, secrets))
    yield _measured("indistinguishability", leakage.indistinguishability(W, secrets))
    yield _measured("maximal-leakage", float(leakage.maximal_leakage(W)))


def _averages(of: Subject) -> Iterator[Measured]:
    prior = Dirichlet.jeffreys(of.mechanism.shape[0])
    yield _measured("average-privacy", float(information_metrics.average_privacy(of.mechanism, prior)))
    yield _measured("worst-case-privacy", float(information_metrics.worst_case_privacy(of.mechanism)))
    if of.p is not None:
        yield from _observed(of, of.p)


def _observed(of: Subject, p: Array) -> Iterator[Measured]:
    channel, prior = of.channel(p)
    if of.public_names:
        yield _measured(
            "secret-information", float(information_metrics.mutual_information(channel, prior))
        )
    yield _measured("information", float(information_metrics.mutual_information(of.mechanism, p)))
    yield _measured("blind-guess", float(prior.max()))
    yield _measured("guess", float(information_metrics.attacker_success(channel, prior)))
    if of.public_names:
        joint = p.reshape(-1, len(of.public_names))
        blind, seen = information_metrics.guesses_given_public(of.mechanism, joint)
        yield _measured("blind-guess-given-public", blind)
        yield _measured("guess-given-public", seen)


# ------------------------------------------------------------ words


def in_words(uncertainty: Uncertainty) -> str:
    """Name the distributions of a set, as the end of a sentence."""
    if isinstance(uncertainty, Chi2Set):
        return (
            f"every distribution that a χ² test at {in_full(uncertainty.alpha)} does not reject after "
            f"{uncertainty.n:.12g} rows"
        )
    if isinstance(uncertainty, ConvexSet):
        return f"every distribution of the {uncertainty.kind} set"
    return "every distribution, however secret and public data depend on each other"


def witness_in_words(of: Subject, level: Level) -> str:
    """Say which report tells which secrets apart, and where the worst distribution differs most.

    Where four digits show no difference from what was observed, that place is left out.
    """
    s, other = of.secret_names[level.s], of.secret_names[level.other]
    text = f"report {level.y}, {s} against {other}"
    if not of.public_names or of.p is None:
        return text
    rows = level.witness[[level.s, level.other]]
    seen = of.p.reshape(level.witness.shape)[[level.s, level.other]]
    with np.errstate(invalid="ignore"):
        worst, observed = (part / part.sum(axis=1, keepdims=True) for part in (rows, seen))
    i, u = np.unravel_index(np.nanargmax(np.abs(worst - observed)), worst.shape)
    where = f"{of.public_names[u]} given {(s, other)[i]}"
    has, had = f"{worst[i, u]:.4g}", f"{observed[i, u]:.4g}"
    return text if has == had else f"{text}; worst where {where} has {has} instead of {had}"
