"""Audit a mechanism: its certificate, every measure of its privacy, and its sampler as a black box.

>>> from ldpopt.release.designing import design
>>> made = design("adult:sex-race", secret="sex", public="race", epsilon=1.0, method="srr")
>>> found = audit(made, samples=1000)
>>> found.passed, [measure.key for measure in found.measures if measure.holds]
(True, ['robust-all'])
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ldpopt.audit import black_box
from ldpopt.audit.audited import Audited, loaded, subject
from ldpopt.audit.black_box import Indices, Sample, Tally
from ldpopt.audit.findings import Audit, Empirical, judged
from ldpopt.audit.measures import Measured, data_measures, measures, worst_level
from ldpopt.core import validate
from ldpopt.core.errors import InvalidInputError, LdpoptError
from ldpopt.core.exact import SECONDS, Claim
from ldpopt.core.limits import Limits
from ldpopt.core.mechanism import Mechanism
from ldpopt.core.number_text import in_full
from ldpopt.core.problem import Subject
from ldpopt.core.validate import Array
from ldpopt.engine.result import Result
from ldpopt.engine.verifying import Verification, verify
from ldpopt.measures.rldp_level import Level
from ldpopt.mechanisms.randomizer import secure_words
from ldpopt.release.designing import AnyDesign
from ldpopt.release.promises import against
from ldpopt.release.public_design import PublicDesign
from ldpopt.release.released_reports import paired
from ldpopt.tables.batches import open_table

REPORTS, MOST_SAMPLES = 4_000_000, 1_000_000
"""Reports drawn per distribution by default, and the most per secret."""
GIVEN = "the given sampler"
MOST_WORDS = 1 << 24
"""Random words that the reports of an encoding may take, per input that is attacked."""


def audit(
    design: Audited | Mechanism | Array | list[list[float]],
    data: Any = None,
    released: Any = None,
    *,
    samples: int | None = None,
    confidence: float = 0.99,
    sampler: Sample | None = None,
    seed: int | None = None,
    time_limit: float | None = None,
    decided: Verification | None = None,
) -> Audit:
    """Audit a mechanism with all that the framework knows.

    Args:
        design: a design or a result, or a file of ``ldpopt design`` (of a public one, what needs no
            counts) or ``ldpopt solve``; or a mechanism or its matrix alone, without a promise.
        data: a table; the levels are also computed for its distribution.
        released: what was released of that table, row by row: its pairs are tested.
        samples: how many reports of the sampler are drawn per secret.
        confidence: the probability with which a correct sampler passes.
        sampler: the sampler to test; by default the exact one, which ``ldpopt privatize`` uses, for a
            design, and :meth:`ldpopt.Mechanism.sample` for a plain result.
        seed: repeats the inputs that are drawn for the sampler. It must not be the sampler's own: the
            reports would depend on the draws of the inputs.
        time_limit: seconds: up to half for the checker, which has a minute without it, up to half of the
            rest for the measures that are NP-hard, and then reports are drawn until it is over.
        decided: what the checker said of it, if it was asked.
    """
    validate.share("confidence", confidence)
    if released is not None and data is None:
        raise InvalidInputError("a released table is tested against its data: give data too")
    limits, rng = Limits.within(time_limit), np.random.default_rng(seed)
    if isinstance(design, Mechanism | np.ndarray | list):
        if data is not None:
            raise InvalidInputError("data need a design, which alone names the columns, not a mechanism")
        mechanism = design if isinstance(design, Mechanism) else Mechanism(design)
        of = Subject.of_values(mechanism, None, {})  # every input is a secret, and nothing is promised
        with limits.held():
            worst, drawn = worst_level(of), _of_matrix(mechanism, sampler, rng)
            found = tuple(measures(of, worst, limits))
            tests = [_attacked(drawn, of, worst, samples, confidence, rng, limits)]
        return judged(None, (), found, tuple(tests))
    with limits.held():
        counts = None if data is None else _counted(design, data)
        seconds = min(limits.left(0.5) or SECONDS, SECONDS)
        if decided is not None:
            verification = decided
        elif isinstance(design, AnyDesign):
            verification = design.verification
        else:
            verification = verify(design, budget=seconds)
        claims = verification.claims
        try:
            made = loaded(design)
            of = subject(made)
        except LdpoptError:
            if verification.usable:
                raise
            return judged(None, claims, (), ())
        worst = worst_level(of)
        found, tests = tuple(measures(of, worst, limits)), []
        if counts is not None:
            levels, tests = _with_data(made, of, counts, data, released, confidence, rng)
            found = (*levels, *found)
        box = _sampler(made, claims, sampler, rng)
        if box is not None:
            tests = [_attacked(box, of, worst, samples, confidence, rng, limits), *tests]
    return judged(of.epsilon, claims, found, tuple(tests), _undecidable(made, claims))


# ------------------------------------------------------------ reports


class _Box(NamedTuple):
    """What draws reports, with its name and the most reports of each secret."""

    source: str
    sample: Sample
    most: float = math.inf


def _sampler(
    made: AnyDesign | Result, claims: tuple[Claim, ...], given: Sample | None, rng: np.random.Generator
) -> _Box | None:
    """Choose what draws the reports; None for a design whose certificate is refuted or undecided."""
    if isinstance(made, Result):
        assert made.mechanism is not None
        return _of_matrix(made.mechanism, given, rng)
    if given is None and not all(claim.holds or claim.open for claim in claims):
        return None
    of = made.randomizer
    draw = given or partial(of.sample, words=secure_words)

    def sample(number: Indices) -> Indices:
        x = of.asked(number, rng)
        return of.said(number, x, draw(x), rng)

    most = MOST_WORDS // of.words if of.words > 1 else math.inf
    return _Box(GIVEN if given else "the exact sampler", sample, max(black_box.LEAST_SAMPLES, most))


def _of_matrix(mechanism: Mechanism, given: Sample | None, rng: np.random.Generator) -> _Box:
    if given is not None:
        return _Box(GIVEN, given)
    return _Box("Mechanism.sample", lambda x: mechanism.sample(x, rng))


def _attacked(
    box: _Box,
    of: Subject,
    worst: Level | None,
    samples: int | None,
    confidence: float,
    rng: np.random.Generator,
    limits: Limits,
) -> Empirical:
    """Attack a sampler on inputs from the worst distribution and from the observed one."""
    if samples is None:
        samples = max(black_box.LEAST_SAMPLES, min(MOST_SAMPLES, REPORTS // len(of.secret_names)))
    outputs, samples = of.mechanism.shape[1], int(min(samples, box.most))
    asked, drawn = _distributions(of, worst), {}
    for i, (name, p) in enumerate(asked.items()):
        part = limits.part(1 / (len(asked) - i))
        drawn[name] = black_box.draw(box.sample, of.secrets, p, outputs, samples, rng, part)
    return _tested(box.source, of, drawn, confidence)


def _distributions(of: Subject, worst: Level | None) -> dict[str, Array]:
    """List the distributions under which the sampler is attacked.

    If every input is its own secret, any full distribution will do.
    """
    inputs = of.mechanism.shape[0]
    if worst is None:
        return {"equal probability": np.full(inputs, 1 / inputs)}
    found = {"the worst distribution": worst.witness.ravel()}
    return found if of.p is None else {**found, "the observed distribution": of.p}


def _tested(source: str, of: Subject, drawn: dict[str, Tally], confidence: float) -> Empirical:
    tallies = list(drawn.values())
    bound = black_box.strongest_attack(tallies, of.secrets, (1 + confidence) / 2)
    counts = np.sum([part.counts for part in tallies], axis=0)
    fit = black_box.goodness_of_fit(counts, of.mechanism.matrix, (1 - confidence) / 2)
    allowed = of.mechanism.epsilon() if of.epsilon is None else of.epsilon
    name = of.secret_names[of.secrets[fit.x]]
    if of.public_names:
        name = f"{name}, {of.public_names[fit.x % len(of.public_names)]}"
    return Empirical(
        source=source,
        reports=int(counts.sum()),
        bound=bound,
        told_apart=(of.secret_names[bound.secret], of.secret_names[bound.other]),
        inputs=list(drawn)[bound.distribution],
        allowed=allowed,
        fit=fit,
        fit_x=name,
        confidence=confidence,
    )


# ------------------------------------------------------------ another table, and what was released of it


def _counted(design: Audited, data: Any) -> Indices | None:
    """Count the rows of a table, before the long work begins: one that cannot be counted is refused.

    A file that cannot be loaded is left to the checker, which says more of it: None.
    """
    try:
        made = loaded(design)
    except LdpoptError:
        return None
    if not isinstance(made, AnyDesign):
        raise InvalidInputError("data need a file of ldpopt design, which alone names the columns")
    return made.domain.count(open_table(data))


def _with_data(
    made: AnyDesign | Result,
    of: Subject,
    counts: Indices,
    data: Any,
    released: Any,
    confidence: float,
    rng: np.random.Generator,
) -> tuple[Iterator[Measured], list[Empirical]]:
    assert isinstance(made, AnyDesign)  # or there would be no counts
    tests = []
    if released is not None:
        counted = black_box.tally(_said(made, data, released, rng), of.mechanism.shape, rng)
        if isinstance(made, PublicDesign):  # of a real table, unlike the worst one, it is the promise
            of = replace(of, promises={"robust": made.promise.epsilon, **of.promises})
        tests = [_tested("the released table", of, {"the table": counted}, confidence)]
    return _levels_of(made, of, counts), tests


def _said(
    made: AnyDesign, data: Any, released: Any, rng: np.random.Generator
) -> Iterator[tuple[Indices, Indices]]:
    """Pair the rows of a table with what their reports say, as inputs and outputs of the subject."""
    for x, reports in paired(made, data, released):
        number = made.randomizer.numbered(x, rng)
        yield number, made.randomizer.said(number, x, reports, rng)


def _levels_of(made: AnyDesign, of: Subject, counts: Indices) -> Iterator[Measured]:
    if isinstance(made, PublicDesign) or of.part or not made.question.joint:
        return iter(())  # against all distributions, every table is alike
    absent = np.flatnonzero(counts.sum(axis=1) == 0)
    if len(absent):
        which = f"{made.domain.secret.name} = {made.domain.secret.labels[absent[0]]!r}"
        raise InvalidInputError(f"no row of the table has {which}: it says nothing about that secret")
    return data_measures(of, made.question, counts)


def _undecidable(made: AnyDesign | Result, claims: tuple[Claim, ...]) -> str:
    """Say which promise neither the file nor the audit decides; empty if there is none."""
    if not isinstance(made, PublicDesign) or not any(claim.open for claim in claims):
        return ""
    return (
        f"the promise ε = {in_full(made.promise.epsilon)} {against(made)} is about the counts of a "
        "table, and a public file has none"
    )
