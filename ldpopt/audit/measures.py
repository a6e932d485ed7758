"""Every privacy measure of a mechanism in one list: value, unit, meaning, and what was promised."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2_contingency

from ldpopt.core.errors import InvalidInputError, UnreadableFileError
from ldpopt.core.mechanism import Mechanism
from ldpopt.core.validate import Array
from ldpopt.engine.result import Result
from ldpopt.problems.leakage_design import LeakageDesign
from ldpopt.problems.polyopt import PolyOpt
from ldpopt.problems.secret_staircase import SecretStaircase
from ldpopt.release.designing import Design, level_given_public
from ldpopt.release.methods import Question
from ldpopt.theory.bayes import metrics
from ldpopt.theory.bayes.priors import Dirichlet
from ldpopt.theory.leakage import measures as leakage
from ldpopt.theory.robust.level import Level, rldp_level
from ldpopt.theory.robust.protocols import Reporting
from ldpopt.theory.robust.uncertainty import AllDistributions, Chi2Set, Uncertainty

ROUNDING = 1e-9
"""The relative rounding that a level in floats may have; the checker decides exactly."""
LEAKAGE_SECONDS = 10.0
"""The time for each measure that is NP-hard; what is not proven by then is an interval."""


@dataclass(frozen=True)
class Measure:
    """How private a mechanism is, in one sense.

    Attributes:
        key: its name for machines.
        name: its name for people.
        value: the value; where ``upper`` is larger, a proven lower bound.
        unit: "nats", "share" or "probability".
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
        """The value, or the proven interval."""
        value = f"{self.value:.4g}"
        upper = value if self.upper is None else f"{self.upper:.4g}"
        return value if value == upper else f"{value} to {upper}"

    def to_json(self) -> dict[str, Any]:
        """Plain data; infinity is the word "inf"."""
        numbers = {"value": self.value, "upper": self.upper, "promised": self.promised}
        return {
            "key": self.key,
            "name": self.name,
            **{name: plain_number(number) for name, number in numbers.items()},
            "unit": self.unit,
            "holds": self.holds,
            "meaning": self.meaning,
            "detail": self.detail,
        }


@dataclass(frozen=True, eq=False)
class Subject:
    """A mechanism with what is secret about its inputs.

    Attributes:
        mechanism: the mechanism.
        secrets: the number of the secret of each input.
        secret_names: the secrets in words.
        public_names: the public values in words, if the inputs are all (s, u) in order; else empty.
        p: the observed distribution of the inputs, if there is one.
        uncertainty: the distributions against which the secret is hidden.
        promises: what is promised not to be exceeded, by the key of the measure.
    """

    mechanism: Mechanism
    secrets: NDArray[np.int64]
    secret_names: tuple[str, ...]
    public_names: tuple[str, ...]
    p: Array | None
    uncertainty: Uncertainty | None
    promises: Mapping[str, float]

    @property
    def epsilon(self) -> float | None:
        """The promised level of privacy, of whatever kind."""
        levels = [self.promises[key] for key in ("robust", "robust-all", "ldp") if key in self.promises]
        return levels[0] if levels else None

    @cached_property
    def level(self) -> Level | None:
        """The exact level over the uncertainty set, with its witness."""
        return None if self.uncertainty is None else rldp_level(self.mechanism, self.uncertainty)

    def channel(self, p: Array) -> tuple[Mechanism, Array]:
        """P(y|s) and P(s) of the secrets that occur under P."""
        mass = np.bincount(self.secrets, weights=p)
        joint = np.zeros((len(mass), self.mechanism.shape[1]))
        np.add.at(joint, self.secrets, p[:, None] * self.mechanism.matrix)
        seen = mass > 0
        rows = joint[seen] / joint[seen].sum(axis=1, keepdims=True)
        return Mechanism(rows), mass[seen] / mass[seen].sum()


def subject(made: Design | Result) -> Subject:
    """What is to be audited, of a design or of a plain result."""
    return _designed(made) if isinstance(made, Design) else _solved(made)


def _designed(made: Design) -> Subject:
    question, domain = made.question, made.domain
    promises = dict.fromkeys(_promised(made), question.epsilon)
    public = () if domain.public is None else domain.public.labels
    return _grid(
        made.mechanism, domain.secret.labels, public, question.p_hat, question.uncertainty, promises
    )


def _promised(made: Design) -> Iterator[str]:
    """The measures that ε limits: what was asked for, and what the method guarantees beyond that."""
    question, method = made.question, made.method
    if question.joint and question.robust != "all":
        yield "robust"
    if question.joint and (question.robust == "all" or method in ("staircase", "srr")):
        yield "robust-all"
    if not question.joint or method in ("ldp", "grr"):
        yield "ldp"


def _solved(result: Result) -> Subject:
    mechanism, problem = result.mechanism, result.problem
    if mechanism is None:
        raise InvalidInputError("the file holds no mechanism: there is nothing to audit")
    if isinstance(problem, LeakageDesign):
        groups = problem.form.groups
        names = tuple(f"secret {g}" for g in range(groups.max() + 1))
        promises = {"statistic-maximal-leakage": problem.budget}
        return Subject(mechanism, groups, names, (), None, None, promises)
    if isinstance(problem, PolyOpt | Reporting):
        p, F = problem.uncertainty.p_hat, problem.uncertainty
        return _grid(mechanism, *_numbered(p), p, F, {"robust": problem.epsilon})
    if isinstance(problem, SecretStaircase):
        p, everything = problem.prior, AllDistributions(*problem.prior.shape)
        return _grid(mechanism, *_numbered(p), p, everything, {"robust-all": problem.epsilon})
    epsilon, prior = getattr(problem, "epsilon", None), getattr(problem, "prior", None)
    names = tuple(map(str, mechanism.inputs))
    p = prior[:, None] if isinstance(prior, np.ndarray) and prior.ndim == 1 else None
    return _grid(mechanism, names, (), p, None, {} if epsilon is None else {"ldp": epsilon})


def _numbered(p: Array) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return tuple(f"s = {s}" for s in range(p.shape[0])), tuple(f"u = {u}" for u in range(p.shape[1]))


def _grid(
    mechanism: Mechanism,
    secret_names: tuple[str, ...],
    public_names: tuple[str, ...],
    p: Array | None,
    uncertainty: Uncertainty | None,
    promises: Mapping[str, float],
) -> Subject:
    width = max(len(public_names), 1)
    inputs = len(secret_names) * width
    if mechanism.shape[0] != inputs:
        raise UnreadableFileError(f"the mechanism has {mechanism.shape[0]} inputs, the table {inputs}")
    secrets = np.repeat(np.arange(len(secret_names)), width)
    hidden = uncertainty if public_names else AllDistributions(len(secret_names), 1)
    flat = None if p is None else p.ravel()
    return Subject(mechanism, secrets, secret_names, public_names, flat, hidden, promises)


# ------------------------------------------------------------ the list


def measures(of: Subject) -> Iterator[Measure]:
    """Every measure that applies, those with a promise first."""
    found = [*_levels(of), *_leakages(of), *_averages(of)]
    yield from sorted(found, key=lambda measure: measure.promised is None)


def _levels(of: Subject) -> Iterator[Measure]:
    if of.public_names and of.uncertainty is not None and of.level is not None:
        meaning = "no report changes the odds of two secrets by more than e^this, for "
        if not isinstance(of.uncertainty, AllDistributions):
            whom = in_words(of.uncertainty)
            yield _level(of, "robust", "robust LDP level", of.level, meaning + whom)
        everything = AllDistributions(*of.uncertainty.shape)
        level = rldp_level(of.mechanism, everything)
        name = "robust LDP level, all distributions"
        yield _level(of, "robust-all", name, level, meaning + in_words(everything))
    if of.p is not None and of.public_names:
        yield Measure(
            "observed",
            "level for the observed data",
            of.channel(of.p)[0].epsilon(),
            "nats",
            "the same for the observed distribution alone, as if it were known",
        )
    if of.public_names:
        shape = (len(of.secret_names), len(of.public_names))
        yield Measure(
            "known-public",
            "level if the public value is known",
            level_given_public(of.mechanism.matrix, shape),
            "nats",
            "no report changes the odds of two secrets of a person whose public value is known by more "
            "than e^this",
        )
    yield Measure(
        "ldp",
        "LDP level",
        of.mechanism.epsilon(),
        "nats",
        "no report changes the odds of any two inputs (public parts too) by more than e^this",
        of.promises.get("ldp"),
    )


def _level(of: Subject, key: str, name: str, level: Level, meaning: str) -> Measure:
    return Measure(
        key,
        name,
        level.level,
        "nats",
        meaning,
        of.promises.get(key),
        detail=witness_in_words(of, level),
    )


def data_measures(of: Subject, question: Question, counts: NDArray[np.int64]) -> Iterator[Measure]:
    """The levels for a table, and whether it differs from the one of the design by chance.

    The promise is about the distribution that the design's table is a sample of. The frequencies of
    another sample of it can exceed the level by chance; so the promise is held against them only if
    Pearson's test at the design's alpha says that the two tables differ by more than chance.
    """
    own = replace(question, counts=counts)
    alike = homogeneity(question.counts, counts)
    yield Measure(
        "data-observed",
        "level for this table's data",
        of.channel(own.p_hat.ravel())[0].epsilon(),
        "nats",
        "the level for the distribution of the table of --data alone, as if it were exactly right",
        of.epsilon if alike < question.alpha else None,
    )
    yield Measure(
        "data-alike",
        "chance of such a table",
        alike,
        "probability",
        "of a table that differs as much from the design's, if both are of one distribution (χ² test)",
    )
    level = rldp_level(of.mechanism, own.uncertainty)
    yield Measure(
        "data-robust",
        "robust LDP level for this table",
        level.level,
        "nats",
        f"what a design for the table of --data would have to limit: for {in_words(own.uncertainty)}",
        detail=witness_in_words(of, level),
    )


def homogeneity(first: Any, second: Any) -> float:
    """The p-value of Pearson's test that two tables of counts are of one distribution.

    >>> homogeneity([[3, 4]], [[3, 4]])
    1.0
    """
    both = np.array([np.ravel(first), np.ravel(second)])
    return float(chi2_contingency(both[:, both.any(axis=0)], correction=False).pvalue)


def _leakages(of: Subject) -> Iterator[Measure]:
    W, secrets = of.mechanism.matrix, of.secrets.tolist()
    low, high = leakage.statistic_leakage_bounds(W, secrets, LEAKAGE_SECONDS)
    yield Measure(
        "statistic-maximal-leakage",
        "statistic maximal leakage",
        low,
        "nats",
        "a report multiplies the chance to guess the secret by at most e^this, whatever the prior",
        of.promises.get("statistic-maximal-leakage"),
        high,
    )
    low, high = leakage.infimum_leakage_bounds(W, secrets, LEAKAGE_SECONDS)
    yield Measure(
        "infimum-leakage",
        "infimum leakage",
        low,
        "nats",
        "who names a value that the secret is not errs e^this times less often with a report, at most",
        upper=high,
    )
    yield Measure(
        "pointwise-leakage",
        "pointwise leakage",
        leakage.pointwise_leakage(W, secrets),
        "nats",
        "the worst single report multiplies the chance to guess the secret by at most e^this",
    )
    yield Measure(
        "indistinguishability",
        "indistinguishability",
        leakage.indistinguishability(W, secrets),
        "nats",
        "entries of two inputs with different secrets differ by at most e^this in every report",
    )
    yield Measure(
        "maximal-leakage",
        "maximal leakage",
        leakage.maximal_leakage(W),
        "nats",
        "a report multiplies the chance to guess anything about the input by at most e^this",
    )


def _averages(of: Subject) -> Iterator[Measure]:
    prior = Dirichlet.jeffreys(of.mechanism.shape[0])
    yield Measure(
        "average-privacy",
        "average privacy",
        float(metrics.average_privacy(of.mechanism, prior)),
        "share",
        "of the information in an input this share stays hidden, on average over distributions "
        "(Jeffreys' Dirichlet(1/2) prior)",
    )
    yield Measure(
        "worst-case-privacy",
        "worst-case privacy",
        float(metrics.worst_case_privacy(of.mechanism)),
        "share",
        "the share that stays hidden for the worst distribution and report, e^-LDP",
    )
    if of.p is not None:
        yield from _observed(of, of.p)


def _observed(of: Subject, p: Array) -> Iterator[Measure]:
    channel, prior = of.channel(p)
    if of.public_names:
        yield Measure(
            "secret-information",
            "information about the secret",
            float(metrics.mutual_information(channel, prior)),
            "nats",
            "I(S;Y): what a report tells about the secret on average, for the observed distribution",
        )
    yield Measure(
        "information",
        "information released",
        float(metrics.mutual_information(of.mechanism, p)),
        "nats",
        "I(X;Y): what a report tells about the whole input: the use of the data",
    )
    yield Measure(
        "blind-guess",
        "guessing the secret without a report",
        float(prior.max()),
        "probability",
        "the chance of an attacker who knows the observed distribution alone",
    )
    yield Measure(
        "guess",
        "guessing the secret from a report",
        float(metrics.attacker_success(channel, prior)),
        "probability",
        "the chance of the same attacker after seeing one report",
    )


# ------------------------------------------------------------ words


def in_words(uncertainty: Uncertainty) -> str:
    """The distributions of a set, as the end of a sentence."""
    if isinstance(uncertainty, Chi2Set):
        return (
            f"every distribution that a χ² test at {uncertainty.alpha:g} does not reject after "
            f"{uncertainty.n:.12g} rows"
        )
    return "every distribution, however secret and public data depend on each other"


def witness_in_words(of: Subject, level: Level) -> str:
    """Which report tells which secrets apart, and where the worst distribution differs most."""
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
    return f"{text}; worst where {where} has {worst[i, u]:.4g} instead of {observed[i, u]:.4g}"


def plain_number(number: float | None) -> float | str | None:
    """A number as JSON allows it."""
    return "inf" if number is not None and math.isinf(number) else number
