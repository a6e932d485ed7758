"""What an audit is about: a design, its public part or a plain result, by itself or beside others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ldpopt.core.errors import InvalidInputError
from ldpopt.core.files import PathName
from ldpopt.core.problem import Subject
from ldpopt.engine.result import Result
from ldpopt.engine.verifying import NOT_CHECKED, read_document, within
from ldpopt.measures.repeated_reports import RepeatedLevel, composed_level
from ldpopt.release.designing import AnyDesign, read_design
from ldpopt.release.public_design import SECTION, PublicDesign, load_public

Audited = AnyDesign | Result | PathName


def loaded(design: Audited) -> AnyDesign | Result:
    """Load a design or a result, if it is given as a file."""
    if isinstance(design, AnyDesign | Result):
        return design
    with within():
        document = read_document(design)
        if SECTION in document:
            return load_public(design, document)
        if "design" in document:
            return read_design(design, document).design
        return Result.from_json(document)


def subject(made: AnyDesign | Result) -> Subject:
    """Return the subject of the audit of a design or a plain result."""
    if isinstance(made, Result):
        if made.mechanism is None:
            raise InvalidInputError("the file holds no mechanism: there is nothing to audit")
        return made.problem.subject(made.mechanism)
    mechanism, over = made.randomizer.compared(made.uncertainty)
    if over is None:
        asked = {"ldp": made.promise.epsilon, "two-reports": made.promise.together}
        promised = {key: level for key, level in asked.items() if level is not None}
        return replace(Subject.of_values(mechanism, None, promised), part=True)
    if isinstance(made, PublicDesign):
        return _public_subject(made)
    question, domain = made.question, made.domain
    limited = "robust-all" if question.robust == "all" else "robust"
    own = [] if made.kept is None else [made.kept]
    promises = dict(made.result.problem.subject(mechanism).promises)
    if not own:
        promises[limited if question.joint else "ldp"] = question.epsilon
    if question.together is not None and question.joint:
        promises["two-reports"] = question.together
    if domain.public is None:
        plain = Subject.of_values(mechanism, question.p_hat.ravel(), promises)
        return replace(plain, secret_names=tuple(domain.secret.labels), own=own)
    names = domain.secret.labels, domain.public.labels
    found = Subject.of_pairs(mechanism, question.p_hat, question.uncertainty, promises, names)
    return replace(found, own=own)


def _public_subject(made: PublicDesign) -> Subject:
    """Return the subject of an audit without counts: the level claimed for all distributions."""
    secrets, publics = made.domain.shape
    names = made.domain.secret.labels
    alone = made.domain.public is None
    promises = {} if made.proven is None else {"ldp" if alone else "robust-all": made.proven}
    return Subject(
        made.mechanism,
        np.repeat(np.arange(secrets), publics),
        names,
        () if made.domain.public is None else made.domain.public.labels,
        uncertainty=None if alone else made.uncertainty,
        promises=promises,
        own=[] if made.kept is None else [made.kept],
    )


class MixedUse(NamedTuple):
    """What several mechanisms, each used once, tell together about a person's secret.

    Attributes:
        mechanisms: how many there are.
        found: the exact level against the distributions for which the first one was made.
        secrets: the two secrets that are told apart best.
    """

    mechanisms: int
    found: RepeatedLevel
    secrets: tuple[str, str]

    def in_words(self) -> str:
        """Say the level as a sentence."""
        level = "∞" if self.found.level == math.inf else f"{self.found.level:.4g}"
        reports = " and ".join(map(str, self.found.outputs))
        return (
            f"One report of each of the {self.mechanisms} mechanisms about one person: together the "
            f"exact level {level} (reports {reports}, {' against '.join(self.secrets)}), for the "
            f"distributions for which the first was made [{NOT_CHECKED}]."
        )

    def to_json(self) -> dict[str, Any]:
        """Return plain data; an infinite level as "inf"."""
        level = "inf" if self.found.level == math.inf else self.found.level
        return {"mechanisms": self.mechanisms, "level": level, "reports": list(self.found.outputs)}


def used_beside(design: Audited, others: Sequence[Audited]) -> MixedUse | None:
    """Compute the exact level of one report of a mechanism and one of each other; None without others.

    Args:
        design: a design or a result on pairs (s, u), or its file; its set of distributions counts.
        others: mechanisms for the same secret and public values.

    Raises:
        InvalidInputError: a mechanism is for other values, or the reports are too many to list.
    """
    if not others:
        return None
    read = [loaded(made) for made in (design, *others)]
    first, *rest = map(subject, read)
    if first.uncertainty is None:
        raise InvalidInputError(
            "--beside needs a file that was made for a table with a secret and a public column"
        )
    ours, *theirs = map(_values, read, (first, *rest))
    for other in theirs:
        if other != ours:
            raise InvalidInputError(f"the mechanisms must be for the same values: {ours}, not {other}")
    found = composed_level([of.mechanism for of in (first, *rest)], first.uncertainty)
    names = first.secret_names[found.s], first.secret_names[found.other]
    return MixedUse(1 + len(rest), found, names)


def _values(made: AnyDesign | Result, of: Subject) -> str:
    """Write secret and public values, with the names of their columns where the file has them."""
    names = ["", ""]
    if not isinstance(made, Result):
        names = [f"{side.name} " for side in made.domain.sides]
    values = zip(names, (of.secret_names, of.public_names), strict=False)
    return " and ".join(f"{name}{labels}" for name, labels in values)
