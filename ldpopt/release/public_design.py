"""A mechanism to publish: in a file that does not state the counts of the table that it was made for.

The file holds the mechanism, what its rows mean, the promise, and the level that holds whatever the
distribution of the data. Beware: most methods make the mechanism for the counts, which can then be
computed back from it (:mod:`ldpopt.release.recoverable_counts`), and the labels name what occurs in
the table; neither is protected.
"""

from __future__ import annotations

import json
import math
import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from ldpopt.core import exact
from ldpopt.core.errors import LdpoptError, RefutedFileError, UnreadableFileError
from ldpopt.core.files import READABLE, PathName, write_whole
from ldpopt.core.mechanism import Mechanism
from ldpopt.core.problem import Measure, Uncertainty
from ldpopt.core.problem import Promise as Measured
from ldpopt.engine.verifying import Verification, read_document, verify_within
from ldpopt.measures.achieved_privacy import promised
from ldpopt.measures.rldp_level import Level, level_given_public, rldp_level
from ldpopt.mechanisms.randomizer import Randomizer
from ldpopt.mechanisms.stated import encoding
from ldpopt.models.privacy import Privacy
from ldpopt.models.uncertainty_sets import AllDistributions
from ldpopt.release.matrix_randomizer import Matrix
from ldpopt.release.recoverable_counts import WORDS, recovery
from ldpopt.tables.domain import Domain

SECTION = "public"
SECRECY = Measure("level of secrecy", "nats")
ROUNDING = 1e-12
"""The relative error that a level computed in floats may have."""


@dataclass(frozen=True)
class Promise:
    """What a design promises about the secret.

    Attributes:
        method: the name of the method, of :data:`ldpopt.release.methods.METHODS`.
        epsilon: the level of one report, in nats.
        robust: for which distributions: "chi2", "all" or "known"; or "given", from those who know u.
        alpha: the significance level of the set "chi2".
        reports: how many reports about one person it covers.
        together: the level of all of them, where there are several.
        sensitive: numbers of the secrets that are sensitive, where not all are.
        secrecy: for each pair of secrets the multiple of ``epsilon`` that is their level, None for no
            limit; empty where all have the same.
    """

    method: str
    epsilon: float
    robust: str
    alpha: float
    reports: int = 1
    together: float | None = None
    sensitive: tuple[int, ...] = ()
    secrecy: tuple[tuple[float | None, ...], ...] = ()

    def notion(self, domain: Domain) -> exact.TablePromise | None:
        """Return the notion of privacy that is promised; None where every secret is hidden."""
        return exact.table_promise({**self.to_json(), "domain": domain.to_json()})

    @property
    def total(self) -> float:
        """The level that is promised: of all reports about one person together."""
        return self.epsilon if self.together is None else self.together

    def to_json(self) -> dict[str, Any]:
        """Return what a file says of the promise."""
        plain = {name: getattr(self, name) for name in ("method", "epsilon", "robust", "alpha")}
        if self.sensitive:
            plain["sensitive"] = list(self.sensitive)
        if self.secrecy:
            plain["secrecy"] = list(map(list, self.secrecy))
        if self.together is None:
            return plain
        return plain | {"together": {"reports": self.reports, "epsilon": self.together}}

    @classmethod
    def from_json(cls, section: dict[str, Any]) -> Promise:
        """Read what a file says of the promise."""
        several = section.get("together")
        asked = section["method"], section["epsilon"], section["robust"], section["alpha"]
        few, secrecy = tuple(section.get("sensitive", ())), map(tuple, section.get("secrecy", ()))
        found = cls(*asked, sensitive=few, secrecy=tuple(secrecy))
        if several is None:
            return found
        return replace(found, reports=several["reports"], together=several["epsilon"])


class Released(ABC):
    """What a design and its public part have in common: a mechanism on the inputs of a domain."""

    domain: Domain
    promise: Any
    """What is promised about the secret, a :class:`Promise`."""
    decided: Verification | None
    mode: ClassVar[int] = READABLE
    """Who may read the file."""

    @cached_property
    def kept(self) -> Measured | None:
        """What the mechanism uses of the notion that is promised; None where every secret is hidden."""
        asked: exact.TablePromise | None = self.promise.notion(self.domain)
        if asked is None:
            return None
        notion, part = Privacy.read(asked.notion), asked.part(self.inputs)
        found = promised(self.mechanism, notion, part)
        if not self.promise.secrecy:
            return found
        return Measured(
            SECRECY,
            found.value * self.promise.epsilon,
            self.promise.epsilon,
            "the least ε at which any two secrets have at most the level that is their multiple of ε",
        )

    @property
    @abstractmethod
    def randomizer(self) -> Randomizer:
        """The mechanism; its inputs are the (s, u) of the domain in order."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Return the file, as plain data."""

    def save(self, path: PathName) -> None:
        """Write the file, whole or not at all."""
        write_whole(path, json.dumps(self.to_json(), indent=1, allow_nan=False) + "\n", self.mode)

    @cached_property
    def verification(self) -> Verification:
        """What the independent checker says of the claims, those about labels and counts included."""
        return verify_within(self.to_json(), exact.SECONDS) if self.decided is None else self.decided

    @property
    @abstractmethod
    def recovery(self) -> str:
        """What of the counts can be computed back from mechanism and labels, in words."""

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism as a matrix; an encoding refuses."""
        return self.randomizer.as_matrix("this needs the matrix of a mechanism")

    @property
    def inputs(self) -> int:
        """How many inputs (s, u) the mechanism has."""
        return self.randomizer.inputs

    @property
    def ldp_level(self) -> float:
        """The level at which any two inputs are hidden from each other, public parts too."""
        return self.randomizer.level

    def compared(self, uncertainty: Uncertainty) -> tuple[Mechanism, Uncertainty]:
        """Return the matrix and the distributions of which the levels over a set are computed.

        See :meth:`ldpopt.mechanisms.randomizer.Randomizer.compared`.
        """
        matrix, over = self.randomizer.compared(uncertainty)
        return matrix, AllDistributions(len(matrix.inputs), 1) if over is None else over

    @cached_property
    def universal_level(self) -> Level:
        """The exact level of the secret whatever the distribution of the data, with its witness."""
        return rldp_level(*self.compared(AllDistributions(*self.domain.shape)))

    @cached_property
    def level_given_public(self) -> float:
        """The level against someone who knows u: max over u, y, s, s' of log W[s,u,y]/W[s',u,y].

        Robust LDP for a set of distributions does not limit it; for all distributions it does.
        """
        matrix, over = self.compared(AllDistributions(*self.domain.shape))
        return level_given_public(matrix.matrix, over.shape)


@dataclass(frozen=True, eq=False)
class PublicDesign(Released):
    """A mechanism for tables of a domain, with what may be said of it in public.

    Attributes:
        stated: the mechanism; its inputs are the (s, u) of ``domain`` in order.
        domain: the columns and values that the rows stand for.
        promise: what was promised; where it is not :attr:`universal`, only a file with the counts can
            prove it.
        level: the secret is hidden at this level whatever the distribution of the data; None if its file
            states none (:func:`published` does so where no level up to 30 holds).
        recoverable: how well the counts can be computed back from the mechanism, of
            :data:`ldpopt.core.exact.RECOVERABLE`; None if its file does not say it.
        salt: digits in the file that nobody can guess who does not have it; None where the mechanism
            holds no counts, and for a file that was written without.
        decided: what the checker said of the file, if it was asked.
    """

    stated: Randomizer
    domain: Domain
    promise: Promise
    level: float | None
    recoverable: str | None = None
    salt: str | None = None
    decided: Verification | None = None

    @property
    def randomizer(self) -> Randomizer:
        """The mechanism."""
        return self.stated

    @property
    def universal(self) -> bool:
        """Whether the mechanism alone proves the promise: whatever the distribution of the data."""
        return all(claim.holds for claim in self.verification.claims if claim.what in exact.PROMISES)

    @property
    def proven(self) -> float | None:
        """The least level that the file proves whatever the distribution of the data; None for none."""
        hides = self.universal and self.promise.notion(self.domain) is None
        levels = (self.level, self.promise.epsilon if hides else None)
        return min((level for level in levels if level is not None), default=None)

    @cached_property
    def recovery(self) -> str:
        """What of the counts can be computed back from mechanism and labels, in words.

        It is decided again; the file's word counts where that is the worse one.
        """
        width, asked = self.domain.shape[1], self.promise
        decided = self.randomizer.recoverable(width, asked.method, asked.epsilon)
        worse = max(decided, self.recoverable or decided, key=list(WORDS).index)
        return recovery(worse, self.domain)

    @property
    def uncertainty(self) -> AllDistributions:
        """The distributions that the levels of a public design are about: all of them."""
        return AllDistributions(*self.domain.shape)

    @cached_property
    def fingerprint(self) -> str:
        """The fingerprint of the mechanism with its labels: 32 hexadecimal digits.

        Released files show it. It is salted: else whoever has the reports alone could try counts until
        a mechanism that is made for them has this fingerprint.
        """
        digest: str = self.to_json()[SECTION]["digest"]
        return digest[:32]

    @cached_property
    def identity(self) -> str:
        """The SHA-256 of the mechanism with its labels alone, whatever is promised of it."""
        document = self.to_json()
        return exact.content_digest([document["mechanism"], document[SECTION]["domain"]])

    def to_json(self) -> dict[str, Any]:
        """Return the content of the public file."""
        section = {**self.promise.to_json(), "level": self.level, "domain": self.domain.to_json()}
        if self.recoverable is not None:
            section["recoverable"] = self.recoverable
        if self.salt is not None:
            section["salt"] = self.salt
        stated = {self.randomizer.form: self.randomizer.to_json()}
        document = {"format": 1, SECTION: section, "mechanism": stated}
        section["digest"] = exact.public_digest(document)
        return document


def published(randomizer: Randomizer, domain: Domain, promise: Promise) -> PublicDesign:
    """Make the public part of a design, with the least level that the checker can verify.

    Args:
        randomizer: the mechanism of the design.
        domain: the columns and values that its inputs stand for.
        promise: what the design promises.
    """
    width = domain.shape[1]
    how = randomizer.recoverable(width, promise.method, promise.epsilon)
    said = how if how in exact.RECOVERABLE else None
    made = PublicDesign(FORMS[randomizer.form](randomizer.to_json()), domain, promise, None, said)
    level = made.universal_level.level
    tried = (promise.epsilon, level * (1 + ROUNDING), level * (1 + 1e3 * ROUNDING), exact.MOST_EPSILON)
    found = (
        float(stated)
        for stated in tried
        if stated <= exact.MOST_EPSILON and randomizer.hides(stated, width)
    )
    return replace(made, level=next(found, None))


def load_public(
    path: PathName, document: dict[str, Any] | None = None, decided: Verification | None = None
) -> PublicDesign:
    """Read a public mechanism file; nothing in it is trusted before ``verify`` says so.

    The checker decides the file as it is, not what was understood of it.

    Args:
        path: the file.
        document: its content, where it has been read.
        decided: what the checker said of it, where it was asked.
    """
    document = read_document(path) if document is None else document
    decided = verify_within(document, exact.SECONDS) if decided is None else decided
    try:
        section = document[SECTION]
        promise = Promise.from_json(section)
        domain = Domain.from_json(section["domain"])
        ((form, stated),) = document["mechanism"].items()
        said = section["level"], section.get("recoverable"), section.get("salt")
        made = PublicDesign(FORMS[form](stated), domain, promise, *said, decided)
        same = made.to_json() == document
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        why = str(error) if isinstance(error, LdpoptError) else repr(error)
        raise UnreadableFileError(f"{os.fspath(path)} is not a public mechanism: {why}") from None
    if not same or math.prod(domain.shape) != made.inputs:
        raise RefutedFileError(
            f"{os.fspath(path)}: labels, bins, promise or mechanism are not those that were published: "
            "they do not match its digest"
        )
    return made


FORMS: dict[str, Callable[[Any], Randomizer]] = {
    "matrix": lambda rows: Matrix(Mechanism(rows)),
    "encoding": encoding,
}
"""How a public file states a mechanism, whose inputs and reports are numbered."""


def public_path(path: PathName) -> Path:
    """Return where the public part of a mechanism's file lies.

    >>> public_path("census.json").name
    'census.public.json'
    """
    private = Path(path)
    return private.with_name(f"{private.stem}.public{private.suffix}")
