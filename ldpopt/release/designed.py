"""A mechanism for a table, with its certificate and what its inputs mean.

What is asked of the mechanism, its :class:`ldpopt.mechanisms.randomizer.Randomizer` answers.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ldpopt.core import notebook
from ldpopt.core.exact import content_digest
from ldpopt.core.exact import design_digest as digest
from ldpopt.core.files import PRIVATE
from ldpopt.core.mechanism import Mechanism
from ldpopt.core.number_text import in_full
from ldpopt.core.problem import INFORMATION, Uncertainty
from ldpopt.core.validate import Array
from ldpopt.engine.result import Result
from ldpopt.engine.verifying import Verification
from ldpopt.measures.frequency_intervals import margins
from ldpopt.measures.information_metrics import Guesses, guesses_given_public
from ldpopt.measures.rldp_level import Level, rldp_level
from ldpopt.mechanisms.randomizer import Randomizer, Values
from ldpopt.models.utilities import entropy
from ldpopt.release.accuracy import Accuracy, accuracies, likely
from ldpopt.release.matrix_randomizer import released
from ldpopt.release.public_design import Promise, PublicDesign, Released, published
from ldpopt.release.question import Question
from ldpopt.release.recoverable_counts import NOT_AT_ALL
from ldpopt.tables.domain import Domain


@dataclass(frozen=True, eq=False, repr=False)
class Design(Released):
    """A mechanism for a table: the certified result, and what its inputs mean.

    Attributes:
        result: the answer with its certificate.
        domain: the columns and values that the mechanism's rows stand for.
        question: the counts of the table and what s is hidden against.
        method: the name of the method, of :data:`ldpopt.release.methods.METHODS`.
        decided: what the checker said of the file of the design, if it was asked.
        salt: random digits that stand in the file and in its digest alone: without them, whoever sees
            the digest could try counts until one fits. None for a file that was written without. A hash
            of it salts the public file, from which it cannot be computed back.
    """

    result: Result
    domain: Domain
    question: Question
    method: str
    decided: Verification | None = None
    salt: str | None = field(default_factory=lambda: secrets.token_hex(16))
    mode: ClassVar[int] = PRIVATE
    """The file has counts and edges of bins: it is for the owner alone."""

    @cached_property
    def randomizer(self) -> Randomizer:
        """The mechanism; its inputs are the (s, u) of :attr:`domain` in order."""
        found = released(self.result.problem, self.result.answer)
        assert found is not None
        return found

    @property
    def unanswered(self) -> bool:
        """Whether there is no mechanism that can be released."""
        return released(self.result.problem, self.result.answer) is None

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the solve, with what was proven so far."""
        return bool(self.result.stats.get("interrupted"))

    @cached_property
    def level(self) -> Level:
        """The exact level at which the secret is hidden, with its witness."""
        return rldp_level(*self.compared(self.question.uncertainty))

    @cached_property
    def guesses_given_public(self) -> Guesses:
        """How often whoever knows u guesses s right without and with a report, of the rows observed."""
        return guesses_given_public(self.mechanism, self.question.p_hat)

    @cached_property
    def unaware(self) -> tuple[float, float, float]:
        """What a report tells whoever does not know u, of the rows observed.

        They are the level of s, and how often s is guessed right without and with a report.
        """
        p = self.question.p_hat
        joint = np.einsum("su,suy->sy", p, self.mechanism.matrix.reshape(*p.shape, -1))
        level = Mechanism(joint / joint.sum(axis=1, keepdims=True)).epsilon()
        return level, float(p.sum(axis=1).max()), float(joint.max(axis=0).sum())

    @property
    def rows(self) -> int:
        """How many rows the table has."""
        return int(self.question.counts.sum())

    @cached_property
    def determined(self) -> int:
        """How many frequencies of inputs as many reports as the table has rows determine."""
        return int(np.isfinite(margins(self._cell_variances, self.rows)).sum())

    @cached_property
    def _cell_variances(self) -> Array:
        """n times the variance of the estimate of each input's frequency."""
        cells = Values(np.arange(self.inputs), self.inputs)
        return self.randomizer.variances(likely(self.question.counts), [cells])[0]

    @cached_property
    def dimensions(self) -> int | None:
        """How many dimensions of the data's distribution as many reports as rows determine.

        The dimensions are the functionals that the reports tell uncorrelated. As for frequencies, one is
        determined if its interval is shorter than the range max f − min f. None if not computed.
        """
        found = self.randomizer.spectrum(likely(self.question.counts))
        return None if found is None else int(np.isfinite(margins(found, self.rows)).sum())

    @property
    def informs(self) -> bool:
        """Whether the method maximises I(X; Y): then value and bound of its result are in nats."""
        return self.result.problem.measure == INFORMATION

    @cached_property
    def information(self) -> float:
        """I(X; Y) under the observed distribution, in nats; the certified value where there is one.

        Of an encoding and of numbers it is not computed: not a number.
        """
        if self.domain.of_numbers:
            return math.nan
        if self.informs and self.result.value is not None:
            return self.result.value
        return self.randomizer.information(self.question.p_hat.ravel())

    @property
    def bound(self) -> float | None:
        """The proven bound on the information of such mechanisms; None if nothing is proven about it."""
        return self.result.bound if self.informs else None

    @cached_property
    def sample_factor(self) -> float:
        """α: how many times as many rows give the frequencies as precisely as the raw data do.

        Pastore and Gastpar 2021, (20b), the squared error, at the observed distribution (half a row
        added to each cell, as α needs full support); infinite if they are not :attr:`determined`.
        """
        if self.determined < self.inputs:
            return math.inf
        p = likely(self.question.counts)
        return float(self._cell_variances.sum() / (1 - (p**2).sum()))

    def accuracy(self, queries: Sequence[str] = ()) -> tuple[Accuracy, ...]:
        """Compute how precisely reports give the frequencies of the named columns, by default of all."""
        return accuracies(self.randomizer, self.question.counts, self.domain, queries)

    def worth(self, goal: str, queries: Sequence[str] = ()) -> float:
        """Measure how good the design is for a goal: the larger, the better.

        Args:
            goal: "information" in nats (where it is not computed, less than any other), or "estimates":
                less the expected squared error, times n.
            queries: the columns whose frequencies are wanted; all if not given.
        """
        if goal == "information":
            return -math.inf if math.isnan(self.information) else self.information
        return -sum(part.squared_error for part in self.accuracy(queries))

    @property
    def entropy(self) -> float:
        """H(X): the utility of releasing the data as they are, in nats."""
        return entropy(self.question.p_hat)

    @property
    def promise(self) -> Promise:
        """What is promised about the secret."""
        question = self.question
        against = question.epsilon, question.robust, question.alpha
        several = question.reports, question.together
        return Promise(self.method, *against, *several, question.sensitive, question.secrecy)

    @property
    def uncertainty(self) -> Uncertainty:
        """The distributions against all of which the secret is hidden."""
        return self.question.uncertainty

    @cached_property
    def public(self) -> PublicDesign:
        """The part to publish; what of the counts follows from it, its ``recovery`` says."""
        made = published(self.randomizer, self.domain, self.promise)
        if self.salt is None or made.recoverable == NOT_AT_ALL:
            return made
        return replace(made, salt=content_digest([self.salt])[:32])

    @property
    def recovery(self) -> str:
        """What of the counts can be computed back from mechanism and labels, in words."""
        return self.public.recovery

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the mechanism with its labels: that of its public part."""
        return self.public.fingerprint

    @property
    def identity(self) -> str:
        """The SHA-256 of the mechanism with its labels alone: that of its public part."""
        return self.public.identity

    def to_frame(self) -> Any:
        """Return the mechanism as a pandas.DataFrame: a row per input in words, a column per report."""
        return notebook.frame(self.mechanism.matrix, list(self.domain.labels))

    def _facts(self) -> list[tuple[str, object]]:
        known = not math.isnan(self.information)
        return [
            ("secret", self.domain.secret.name),
            ("public", "–" if self.domain.public is None else self.domain.public.name),
            ("level", f"{in_full(self.promise.total)} nats"),
            ("method", self.method),
            ("information", f"{self.information:.6g} nats" if known else "not computed"),
            ("certificate", self.verification.summary),
        ]

    def __repr__(self) -> str:
        return notebook.text("design", self._facts())

    def _repr_html_(self) -> str:
        return notebook.table("design", self._facts()) + self.randomizer.shown(self.domain.labels)

    def to_json(self) -> dict[str, Any]:
        """Return the result file's content with the section ``design``."""
        document = self._undigested()
        document["design"]["digest"] = self.digest
        return document

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of question, mechanism and section, which takes long for a large matrix."""
        return digest(self._undigested())

    def _undigested(self) -> dict[str, Any]:
        question = self.question
        section = {
            **self.promise.to_json(),
            "width": question.width,
            "counts": question.counts.tolist(),
            "domain": self.domain.to_json(),
        }
        if self.salt is not None:
            section["salt"] = self.salt
        return {**self.result.to_json(), "design": section}
