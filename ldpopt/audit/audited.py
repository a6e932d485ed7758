"""What an audit of a design, of its public part or of a plain result is about."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ldpopt.core.errors import InvalidInputError
from ldpopt.core.subject import Subject
from ldpopt.engine.result import Result
from ldpopt.release.designing import AnyDesign
from ldpopt.release.publishing import PublicDesign
from ldpopt.release.question import Question


def subject(made: AnyDesign | Result) -> Subject:
    """Return the subject of the audit of a design or a plain result."""
    if isinstance(made, PublicDesign):
        return _public_subject(made)
    if isinstance(made, Result):
        if made.mechanism is None:
            raise InvalidInputError("the file holds no mechanism: there is nothing to audit")
        return made.problem.subject(made.mechanism)
    question, domain, mechanism = made.question, made.domain, made.mechanism
    more = made.result.problem.subject(mechanism).promises
    promises = {**more, _asked(question): question.epsilon}
    if question.together is not None and question.joint:
        promises["two-reports"] = question.together
    if domain.public is None:
        plain = Subject.of_values(mechanism, question.p_hat.ravel(), promises)
        return replace(plain, secret_names=tuple(domain.secret.labels))
    names = domain.secret.labels, domain.public.labels
    return Subject.of_pairs(mechanism, question.p_hat, question.uncertainty, promises, names)


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
    )


def _asked(question: Question) -> str:
    """Name the measure that the level of a design limits; its problem may promise more."""
    if not question.joint:
        return "ldp"
    return "robust-all" if question.robust == "all" else "robust"
