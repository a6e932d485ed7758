"""A mechanism for a table, with its certificate and what its inputs mean.

The mechanism is a matrix, or an encoding that is stated by its parameters: there are too many reports
for a matrix, and what is asked of one is computed from the parameters.
"""

from __future__ import annotations

import json
import math
import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ldpopt.core import notebook
from ldpopt.core.errors import InvalidInputError
from ldpopt.core.exact import SECONDS, content_digest
from ldpopt.core.exact import design_digest as digest
from ldpopt.core.files import PRIVATE, write_whole
from ldpopt.core.measure import INFORMATION
from ldpopt.core.mechanism import Mechanism
from ldpopt.core.rounding import in_full
from ldpopt.core.subject import Uncertainty
from ldpopt.engine.result import Result
from ldpopt.engine.verifying import Verification, verify_within
from ldpopt.measures.channel_fidelity import alpha
from ldpopt.measures.information_metrics import mutual_information
from ldpopt.measures.intervals import margins
from ldpopt.measures.levels import Level, level_given_public, rldp_level
from ldpopt.mechanisms.stated import StatedEncoding, encoding
from ldpopt.models.uncertainty_sets import AllDistributions
from ldpopt.models.utilities import entropy
from ldpopt.problems.frequency_encoding import FrequencyEncoding
from ldpopt.release.accuracy import Accuracy, accuracies, encoded_accuracies, report_variances
from ldpopt.release.publishing import (
    NO_MATRIX,
    MatrixOrEncoding,
    Promise,
    PublicDesign,
    published,
    published_encoding,
)
from ldpopt.release.question import Question
from ldpopt.release.recovering import NOT_AT_ALL
from ldpopt.tables.domain import Domain


@dataclass(frozen=True, eq=False)
class Design(MatrixOrEncoding):
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

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism; its rows are the inputs (s, u) of :attr:`domain` in order."""
        if self.encoding is not None:
            raise InvalidInputError(NO_MATRIX)
        assert self.result.mechanism is not None
        return self.result.mechanism

    @cached_property
    def encoding(self) -> StatedEncoding | None:
        """The encoding, where the mechanism is stated by its parameters; else None."""
        stated = isinstance(self.result.problem, FrequencyEncoding) and self.result.answer is not None
        return encoding(self.result.answer) if stated else None

    @property
    def unanswered(self) -> bool:
        """Whether there is neither a matrix nor an encoding."""
        return self.result.mechanism is None and self.encoding is None

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the solve, with what was proven so far."""
        return bool(self.result.stats.get("interrupted"))

    @cached_property
    def verification(self) -> Verification:
        """What the independent checker says of the claims, those about labels and counts included."""
        return verify_within(self.to_json(), SECONDS) if self.decided is None else self.decided

    @cached_property
    def level(self) -> Level:
        """The exact level at which the secret is hidden, with its witness; see :func:`pair_level`."""
        if self.encoding is not None:
            return pair_level(self.encoding)
        return rldp_level(self.mechanism, self.question.uncertainty)

    @cached_property
    def level_given_public(self) -> float:
        """The level against someone who knows u: max over u, y, s, s' of log W[s,u,y]/W[s',u,y].

        Robust LDP for a set of distributions does not limit it; for all distributions it does.
        """
        if self.encoding is not None:
            return self.encoding.level
        return level_given_public(self.mechanism.matrix, self.domain.shape)

    @property
    def rows(self) -> int:
        """How many rows the table has."""
        return int(self.question.counts.sum())

    @cached_property
    def determined(self) -> int:
        """How many frequencies of inputs as many reports as the table has rows determine."""
        counts = self.question.counts
        if self.encoding is not None:
            likely = (counts.ravel() + 0.5) / (counts + 0.5).sum()
            variances = self.encoding.variances(likely, np.ones(self.inputs))
        else:
            variances = report_variances(self.mechanism.matrix, counts, np.eye(self.inputs))
        return int(np.isfinite(margins(variances, self.rows)).sum())

    @cached_property
    def dimensions(self) -> int:
        """How many dimensions of the data's distribution P as many reports as rows determine.

        The dimensions are the functionals f with Σ P f = 0 and Σ P f² = 1 that the reports tell
        uncorrelated, D^½ f an eigenvector of D^½ W diag(PW)⁻¹ Wᵀ D^½ for D = diag(P); 1/λ is n times
        the variance of the estimate. As for frequencies, one is determined if its interval is shorter
        than the range max f − min f.
        """
        W, counts = self.mechanism.matrix, self.question.counts.ravel() + 0.5
        P = counts / counts.sum()
        W = W[:, W.any(axis=0)]
        whole = np.sqrt(P)[:, None] * W / np.sqrt(P @ W) - np.outer(np.sqrt(P), np.sqrt(P @ W))
        vectors, values, _ = np.linalg.svd(whole, full_matrices=False)
        ranges = np.ptp(vectors / np.sqrt(P)[:, None], axis=0)
        with np.errstate(divide="ignore"):
            return int(np.isfinite(margins((values * ranges) ** -2, self.rows)).sum())

    @property
    def informs(self) -> bool:
        """Whether the method maximises I(X; Y): then value and bound of its result are in nats."""
        return self.result.problem.measure == INFORMATION

    @cached_property
    def information(self) -> float:
        """I(X; Y) under the observed distribution, in nats; the certified value where there is one.

        Of an encoding it is not computed: not a number.
        """
        if self.encoding is not None:
            return math.nan
        if self.informs and self.result.value is not None:
            return self.result.value
        return float(mutual_information(self.mechanism, self.question.p_hat.ravel()))

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
        counts, full = self.question.counts.ravel() + 0.5, self.determined == self.inputs
        if not full:
            return math.inf
        if self.encoding is not None:
            p, ones = counts / counts.sum(), np.ones(len(counts))
            return float(self.encoding.variances(p, ones).sum() / (1 - (p**2).sum()))
        return alpha(self.mechanism, counts / counts.sum(), "mse")

    def accuracy(self, queries: Sequence[str] = ()) -> tuple[Accuracy, ...]:
        """Compute how precisely reports give the frequencies of the named columns, by default of all."""
        if self.encoding is not None:
            return encoded_accuracies(self.encoding, self.question.counts, self.domain, queries)
        return accuracies(self.mechanism.matrix, self.question.counts, self.domain, queries)

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
        return Promise(self.method, *against, question.reports, question.together)

    @property
    def uncertainty(self) -> Uncertainty:
        """The distributions against all of which the secret is hidden."""
        return self.question.uncertainty

    @cached_property
    def public(self) -> PublicDesign:
        """The part to publish; what of the counts follows from it, its ``recovery`` says."""
        if self.encoding is not None:
            return published_encoding(self.encoding, self.domain, self.promise)
        made = published(self.mechanism, self.domain, self.promise)
        if self.salt is None or made.recoverable == NOT_AT_ALL:
            return made
        return replace(made, salt=content_digest([self.salt])[:32])

    @property
    def recovery(self) -> str:
        """What of the counts can be computed back from the mechanism, in words."""
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

    def _repr_html_(self) -> str:
        told = ("information", f"{self.information:.6g} nats")
        if self.encoding is not None:
            told = ("encoding", ", ".join(f"{k} {v}" for k, v in self.encoding.plain.items()))
        facts = [
            ("secret", self.domain.secret.name),
            ("public", "–" if self.domain.public is None else self.domain.public.name),
            ("level", f"{in_full(self.promise.total)} nats"),
            ("method", self.method),
            told,
            ("certificate", self.verification.summary),
        ]
        if self.encoding is not None:
            return notebook.table("design", facts)
        rows, outputs = self.mechanism.matrix, self.mechanism.outputs
        shown = notebook.matrix("P(report | input), rounded", rows, self.domain.labels, outputs)
        return notebook.table("design", facts) + shown

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
        section: dict[str, Any] = {
            "method": self.method,
            "epsilon": question.epsilon,
            "robust": question.robust,
            "alpha": question.alpha,
            "width": question.width,
            "counts": question.counts.tolist(),
            "domain": self.domain.to_json(),
        }
        if question.together is not None:
            section["together"] = {"reports": question.reports, "epsilon": question.together}
        if self.salt is not None:
            section["salt"] = self.salt
        return {**self.result.to_json(), "design": section}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the file, whole or not at all, for the owner alone: it has counts and edges of bins."""
        write_whole(path, json.dumps(self.to_json(), indent=1, allow_nan=False) + "\n", PRIVATE)


def pair_level(of: StatedEncoding) -> Level:
    """Return the level of an encoding, attained by reports that support one of two inputs alone.

    The encodings treat all inputs alike, so any two will do. It holds for every distribution, and is
    attained by those that give each of two secrets a public value of its own.
    """
    return rldp_level(of.pair, AllDistributions(2, 1))
