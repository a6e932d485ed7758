"""What a table is to be protected against, and which frequencies are wanted."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ldpopt.core import validate
from ldpopt.core.exact import (
    KNOWN_SAMPLES,
    MOST_EPSILON,
    MOST_TOGETHER,
    SET_ALPHA,
    UnreadableError,
    pair_level,
)
from ldpopt.core.problem import Uncertainty
from ldpopt.core.validate import Array, Cleaned, InvalidInputError
from ldpopt.measures.rldp_level import rldp_level
from ldpopt.models.privacy import Given, Pairs, Privacy, Sensitive
from ldpopt.models.uncertainty_sets import AllDistributions, Chi2Set, entropy_keeping_groups
from ldpopt.tables.cells import is_number
from ldpopt.tables.domain import Attribute

ROBUSTNESS = ("all", "chi2", "known", "given")
MOST_PUBLIC, MOST_CELLS = 10, 30
"""PolyOpt merges public values of larger tables into groups, to stay within seconds."""


@dataclass(frozen=True, eq=False)
class Question(Cleaned):
    """What a table is to be protected against.

    Args:
        counts: how often each (s, u) occurs, a matrix [s][u]; one column if there is nothing but s.
        epsilon: the level, in nats.
        robust: the distributions for which s is hidden: "all"; "chi2", those that a χ² test at ``alpha``
            does not reject; or "known", the observed one alone. Or "given": s is hidden from those who
            know u, and u is told.
        alpha: the significance level.
        width: how many public values PolyOpt tells apart; chosen by the size if not given.
        reports: how many reports about one person the promise covers.
        together: the level of all of them, where there are several; ``epsilon`` is that of one.
        queries: the frequencies that are wanted, a row of weights of the inputs (s, u) each; None if
            none are wanted.
        of_numbers: whether the inputs are equally spaced numbers, of which the mean is wanted.
        sensitive: numbers of the values of s that are sensitive, where not all are (with "all").
        ranks: for each public column whose values have an order the place of every public value in it:
            those that are merged are neighbours.
        secrecy: for each pair of values of s the multiple of ``epsilon`` that is their level, None for
            no limit; empty where all have the same (with "all").
    """

    counts: Any
    epsilon: float
    robust: str = "all"
    alpha: float = 0.05
    width: int | None = None
    reports: int = 1
    together: float | None = None
    queries: Any = None
    of_numbers: bool = False
    sensitive: tuple[int, ...] = ()
    secrecy: tuple[tuple[float | None, ...], ...] = ()
    ranks: tuple[tuple[float, ...], ...] = ()

    def cleaned(self) -> dict[str, Any]:
        """Check the parameters."""
        validate.choice("robust", self.robust, ROBUSTNESS)
        try:
            SET_ALPHA.read(self.alpha, "alpha")
        except UnreadableError as error:
            raise InvalidInputError(str(error)) from None
        if self.width is not None:
            validate.whole_number("width", self.width, 2)
        validate.whole_number("reports", self.reports, 1)
        if self.reports > MOST_TOGETHER:
            raise InvalidInputError(f"reports must be at most {MOST_TOGETHER}, not {self.reports}")
        counts = validate.array("counts", self.counts, 2)
        whole = (counts == np.floor(counts)) & (0 <= counts) & (counts <= 2**53)
        if not (whole.all() and counts.any()):
            raise InvalidInputError(
                "counts must be whole numbers from 0 to 2^53, at least one of them above 0, not "
                f"{counts.tolist()!r:.60}"
            )
        if self.robust == "given" and counts.shape[1] < 2:
            raise InvalidInputError(
                "given hides the secret from those who know the public columns: it needs public columns "
                "of two or more values"
            )
        if (self.sensitive or self.secrecy) and self.robust != "all":
            raise InvalidInputError(
                f"sensitive values are hidden whatever the distribution: robust must be all, not "
                f"{self.robust}"
            )
        if self.sensitive and self.secrecy:
            raise InvalidInputError("give sensitive values or levels of secrecy, not both")
        most = max((m for row in self.secrecy for m in row if m is not None), default=1.0)
        if self.epsilon * most > MOST_EPSILON:
            raise InvalidInputError(
                f"epsilon times a level of secrecy must be at most {MOST_EPSILON:g}, not "
                f"{self.epsilon * most:.4g}; inf says that there is no limit"
            )
        if self.reports > 1 and self.composed:
            raise InvalidInputError(
                "given, sensitive and secrecy promise a level for one report, not for several"
            )
        return {"epsilon": validate.epsilon(self.epsilon), "counts": counts.astype(np.int64)}

    @cached_property
    def p_hat(self) -> Array:
        """The observed distribution [s][u]."""
        return self.counts / self.counts.sum()

    @property
    def notion(self) -> Privacy:
        """The notion of privacy that is promised, where it is one."""
        (a1, a2), epsilon = self.counts.shape, self.epsilon
        if self.secrecy:
            of = [[None if m is None else pair_level(epsilon, m) for m in row] for row in self.secrecy]
            return Pairs(np.repeat(np.repeat(np.array(of, dtype=object), a2, 0), a2, 1).tolist())
        inputs = [s * a2 + u for s in self.sensitive for u in range(a2)]
        return Sensitive(epsilon, inputs) if inputs else Given(epsilon, (a1, a2))

    @property
    def promised(self) -> float:
        """The level that is promised: of all reports about one person together."""
        return self.epsilon if self.together is None else self.together

    @property
    def composed(self) -> bool:
        """Whether the promise is a notion of privacy other than that every secret is hidden."""
        return self.robust == "given" or bool(self.sensitive or self.secrecy)

    @property
    def joint(self) -> bool:
        """Whether there is anything public."""
        return bool(self.counts.shape[1] > 1)

    @cached_property
    def uncertainty(self) -> Uncertainty:
        """The uncertainty set: the distributions against all of which s is hidden."""
        if self.robust in ("all", "given") or not self.joint:
            return AllDistributions(*self.counts.shape)
        n = KNOWN_SAMPLES if self.robust == "known" else float(self.counts.sum())
        return Chi2Set(self.p_hat, n, self.alpha)

    @cached_property
    def public_level(self) -> float:
        """The exact level at which the public values as they are hide the secret."""
        a1, a2 = self.counts.shape
        return rldp_level(np.tile(np.eye(a2), (a1, 1)), self.uncertainty).level

    def confidence(self) -> dict[str, Any]:
        """Return the parameters of a problem over the confidence set."""
        if self.robust == "known":
            return {"p_hat": self.p_hat.tolist(), "n": KNOWN_SAMPLES, "alpha": self.alpha}
        return {"counts": self.counts.tolist(), "alpha": self.alpha}

    def merged_width(self) -> int | None:
        """Return how many public values PolyOpt tells apart; None for all."""
        a1, a2 = self.counts.shape
        most = self.width or max(2, min(MOST_PUBLIC, MOST_CELLS // a1))
        return most if most < a2 else None

    def merged(self) -> dict[str, Any]:
        """Return how PolyOpt merges public values: how many groups are left, and the group of each."""
        if (width := self.merged_width()) is None:
            return {}
        groups = entropy_keeping_groups(self.p_hat, width, self.ranks)
        return {"width": width, "groups": groups.tolist()}


def ranks(attribute: Attribute | None) -> tuple[tuple[float, ...], ...]:
    """Return for each column of bins or numbers the place of every value of an attribute in its order.

    An empty cell has none, nor has "(other)": not a number.
    """
    if attribute is None:
        return ()
    found = []
    for i, column in enumerate(attribute.columns):
        own = column.values[: len(column.values) - column.missing - column.other]
        if column.edges or (not column.text and all(map(is_number, own))):
            numbers = range(len(own)) if column.edges else [float(value) for value in own]
            places = [*np.argsort(np.argsort(numbers)).tolist(), math.nan, math.nan]
            found.append(tuple(float(places[member[i]]) for member in attribute.members))
    return tuple(found)
