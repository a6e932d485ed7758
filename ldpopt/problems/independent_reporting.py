"""The best split of the budget when s and u are reported independently."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import permutations
from typing import Any, ClassVar

import numpy as np
from scipy.special import entr

from ldpopt.core.form import Form, FormSolution, Stage
from ldpopt.core.mechanism import Mechanism
from ldpopt.core.problem import Example, Stages
from ldpopt.core.validate import Array
from ldpopt.mechanisms import catalogue
from ldpopt.models.utilities import MutualInformation
from ldpopt.problems._robust.response_shares import (
    Apart,
    IntArray,
    extremes,
    golden,
    of_distance,
    of_pair,
)
from ldpopt.problems.reporting_problem import (
    Reporting,
    best_block,
    plain_member,
    response,
    response_noise,
    unclaimed,
)


@dataclass(frozen=True, eq=False)
class IndependentReporting(Reporting):
    """Maximise I(X; Y) over ε₂ for IR: s at level ε − ε₂, u at level δ₂.

    Lopuhaä-Zwakenberg and Goseling 2021, Protocol 1. Theorem 15: with d of (66), δ₂ = log(1 + 2 (e^ε₂ −
    1)/d) makes it (ε, F)-RLDP. With ``calibrate`` δ₂ is the highest level at which no member of F makes
    a report of u more than e^ε₂ times as likely under one secret as under another.

    >>> IndependentReporting(1.0, [[0.3, 0.2], [0.1, 0.4]], 1000).box
    (array([0.]), array([1.]))
    """

    kind: ClassVar[str] = "independent-reporting"

    @cached_property
    def distance(self) -> float:
        """d of (66): no two P_{U|s}, P_{U|s'} are further apart in ℓ1."""
        apart = np.abs(self.given[:, None] - self.given[None]).sum(axis=2).max()
        return float(min(2.0, 2 * self.radii.max() + apart))

    def limits(self, g: Array) -> Array:
        """Limit the block by d, or by the secrets and value that a member of F tells apart best."""
        a2 = self.uncertainty.shape[1]
        if not self.calibrate:
            return of_distance(a2, np.array([self.distance]))[None, :, None]
        F, (s, z, v), shares = self.uncertainty, *self._worst_shares(g)
        return of_pair(a2, extremes(F, s, v, shares, 1), extremes(F, z, v, 1 - shares, -1))[:, None]

    def _worst_shares(self, g: Array) -> tuple[tuple[IntArray, IntArray, IntArray], Array]:
        """Find the triples (s, z, v) that may limit the block, and for each g their shares of the slack.

        a − g b is concave in the share. A triple is left out if it is below the best one for every g,
        although both its secrets take all of the slack.
        """
        F = self.uncertainty
        a1, a2 = F.shape
        listed = [(s, z, v) for s, z in permutations(range(a1), 2) for v in range(a2)]
        s, z, v = np.array(listed).T

        def apart(x: Array, rest: Array) -> Array:
            return extremes(F, s, v, x, 1) - g[:, None] * extremes(F, z, v, rest, -1)

        half = np.full(len(s), 0.5)
        best = apart(half, half).max(axis=1, keepdims=True)
        # the rounding error of a difference of probabilities in floats
        near = (apart(2 * half, 2 * half) >= best - 1e-12).any(axis=0)
        s, z, v = s[near], z[near], v[near]
        return (s, z, v), golden(lambda x: apart(x, 1 - x), (len(g), len(s)))

    def stages(self, form: Form) -> Stages:
        """Declare the search; a calibrated one is bounded by a second search, with few members of F."""
        if not self.calibrate:
            yield from super().stages(form)
            return
        found = yield Stage(form, unclaimed, share=0.5)
        if found.point is None:
            return
        listed = self._members_around(found.point[0])
        shares = np.array([_shares(plain) for plain in listed])
        fixed = of_pair(self.uncertainty.shape[1], *shares.T)[None, None]

        def proven(solution: FormSolution) -> FormSolution:
            return replace(self.proven(solution), proof={"members": listed})

        yield Stage(self.search(lambda g: fixed), proven, bound_only=True)

    def _members_around(self, best: float) -> list[dict[str, Any]]:
        """List the worst members at splits spread over the range, more densely around the best one."""
        F = self.uncertainty
        # splits, spread over the range, whose worst members of F are part of a proof
        spread = self.epsilon * np.linspace(0, 1, 33)[1:]
        near = best * (1 + np.array([0, -1e-2, 1e-2, -1e-3, 1e-3]))
        g = np.exp(np.clip(np.append(spread, near), 0, self.epsilon))
        (s, z, v), shares = self._worst_shares(g)
        a, b = extremes(F, s, v, shares, 1), extremes(F, z, v, 1 - shares, -1)
        worst = (a - g[:, None] * b).argmax(axis=1)
        listed = []
        for i, j in enumerate(worst.tolist()):
            secrets, values = (int(s[j]), int(z[j])), (int(v[j]), int(v[j]))
            listed.append(plain_member(F, Apart(0.0, secrets, values, float(shares[i, j]))))
        return listed

    def utility(self, first: Array, blocks: Array) -> Array:
        """Compute the utility of Theorem 16."""
        second = blocks[:, 0]
        if self.blocks == "optimal":
            return np.array([self._best(a, b)[0] for a, b in zip(first, second, strict=True)])
        P = self.uncertainty.p_hat
        a1, a2 = P.shape
        c, d = (x[:, None, None] for x in response(a1, first))
        e, f = (x[:, None, None] for x in response(a2, second))
        out = c * e * P + c * f * P.sum(axis=1)[:, None] + d * e * P.sum(axis=0) + d * f
        noise = response_noise(a1, first) + response_noise(a2, second)
        return entr(out).sum(axis=(1, 2)) - noise

    def _best(self, first: float, second: float) -> tuple[float, Mechanism, Mechanism]:
        """Find good R¹ and R², each the best for the other, starting from randomised response for s.

        Both are staircase programs: I(X; Y) is I(S; R¹(S)) + I(U; R²(U) | R¹(S)), and the same with the
        parts exchanged; every step is no worse.
        """
        P = self.uncertainty.p_hat
        a1, a2 = P.shape
        secret = catalogue.response(a1, first)
        value = 0.0
        # how often the best responses for s and for u, given each other, are found in turn
        for _ in range(2):
            _, public = best_block(Conditional(secret.matrix.T @ P), a2, second)
            gained, secret = best_block(Conditional((P @ public.matrix).T), a1, first)
            known = float(MutualInformation(P.sum(axis=0))(public.matrix).sum())
            value = max(value, known + gained)
        return value, secret, public

    def reports_of(self, point: Array) -> list[list[int]]:
        """Count the outputs of the reports on s and on u."""
        return [[report.shape[1] for report in self._best(*self._levels(point))[1:]]]

    def _levels(self, point: Array) -> tuple[float, float]:
        """Compute the levels of the reports on s and on u."""
        return self.epsilon - float(point[0]), float(self.block_levels(point)[0])

    def mechanism(self, point: Array) -> Mechanism:
        """Build IR with the given ε₂."""
        first, second = self._levels(point)
        a1, a2 = self.uncertainty.shape
        if self.blocks == "optimal":
            return catalogue.independent_reporting(*self._best(first, second)[1:])
        return catalogue.independent_reporting(
            catalogue.response(a1, first), catalogue.response(a2, second)
        )

    @classmethod
    def examples(cls) -> Iterable[Example]:
        """Give known optima of a 3 × 3 table."""
        table = [[0.20, 0.10, 0.05], [0.05, 0.25, 0.10], [0.02, 0.08, 0.15]]
        yield Example(cls(0.5, table, 1000), 0.047085220034, 1e-6)
        yield Example(cls(2.0, table, 1000), 0.508172130104, 1e-6)


def _shares(plain: dict[str, Any]) -> tuple[float, float]:
    """Compute the probability of the reported value given each of the two secrets of a member."""
    rows = [plain["distribution"][s] for s in plain["secrets"]]
    a, b = (row[v] / sum(row) for row, v in zip(rows, plain["values"], strict=True))
    return a, b


class Conditional:
    """I(U; R(U) | C) as a sublinear function of the columns of R; ``joint``[c][u] = P(c, u)."""

    def __init__(self, joint: Array) -> None:
        self.parts = [(row.sum(), MutualInformation(row / row.sum())) for row in joint if row.any()]

    def __call__(self, columns: Array) -> Array:
        """Evaluate every column."""
        return sum((weight * part(columns) for weight, part in self.parts), np.zeros(columns.shape[1]))
