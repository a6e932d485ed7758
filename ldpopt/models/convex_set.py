"""Convex uncertainty sets described as plain data: balls, scenarios, and credible sets."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from scipy.optimize import linprog

from ldpopt.core.errors import InvalidInputError
from ldpopt.core.exact import (
    UNCERTAINTY,
    ScenarioSet,
    UndecidedError,
    UnreadableError,
    WassersteinBall,
    read_set,
)
from ldpopt.core.validate import Array

TOLERANCE = 1e-9
"""A distribution counts as a member if it is outside the set by at most this in any cell."""


class ConvexSet:
    """A convex set of joint distributions [s][u], described as plain data.

    Args:
        kind: "known", "scenarios", "total-variation", "kullback-leibler", "likelihood", "hellinger",
            "wasserstein", "chi-squared" or "credible".
        described: what the kind needs: ``p_hat`` and ``radius`` of a ball (and ``distance`` of cells for
            "wasserstein"), ``p``, ``members``, ``n`` and ``alpha``, or ``counts``, ``prior`` and
            ``alpha``.

    >>> F = ConvexSet("total-variation", p_hat=[[0.3, 0.2], [0.15, 0.35]], radius=0.05)
    >>> F.shape, F.contains([[0.35, 0.15], [0.15, 0.35]]), F.contains([[0.36, 0.14], [0.15, 0.35]])
    ((2, 2), True, False)
    """

    def __init__(self, kind: str, **described: Any) -> None:
        plain = {"kind": kind, **{name: _plain(part) for name, part in described.items()}}
        try:
            self.exact = read_set(UNCERTAINTY.read(plain, "uncertainty"))
        except (UnreadableError, UndecidedError) as error:
            raise InvalidInputError(str(error)) from None
        self.plain: dict[str, Any] = plain

    @property
    def kind(self) -> str:
        """The name of the kind of set."""
        return str(self.plain["kind"])

    @property
    def shape(self) -> tuple[int, int]:
        """The number of secrets s and of public values u."""
        return self.exact.shape

    @property
    def center(self) -> Array:
        """The distribution around which the set lies, as a matrix [s][u]."""
        return np.array(self.exact.floats).reshape(self.shape)

    def contains(self, p: Any) -> bool:
        """Return whether the joint distribution p is a member, up to rounding."""
        P = np.asarray(p, dtype=float)
        if P.shape != self.shape or (P < 0).any() or abs(P.sum() - 1) > TOLERANCE:
            return False
        if isinstance(self.exact, ScenarioSet):
            return _mixes(np.array(self.exact.lists), P.ravel())
        if isinstance(self.exact, WassersteinBall):
            spent = _transport(self.center.ravel(), P.ravel(), np.array(self.exact.distance))
            return spent <= float(self.exact.radius) * (1 + TOLERANCE)
        near = [Fraction(x) for x in ((1 - TOLERANCE) * P + TOLERANCE * self.center).ravel().tolist()]
        mass = sum(near)
        return self.exact.contains([x / mass for x in near]) is True

    def sample(self, rng: np.random.Generator | int) -> Array:
        """Draw a member: from the center a random part of the way to the end in a random direction."""
        rng = np.random.default_rng(rng)
        far = self.exact.worst(rng.normal(size=self.center.size).tolist())
        step = rng.random()
        return (1 - step) * self.center + step * self.table(far)

    def table(self, witness: Any) -> Array:
        """Compute the member that a witness describes, as a matrix [s][u]."""
        return np.array(self.exact.cells(witness)).reshape(self.shape)


def convex_set(described: Any) -> ConvexSet:
    """Return the set that is given as a ConvexSet or as plain data {"kind": …, …}."""
    if isinstance(described, ConvexSet):
        return described
    if not isinstance(described, dict) or not isinstance(described.get("kind"), str):
        raise InvalidInputError(
            f"uncertainty must be a ConvexSet or an object with the key 'kind', not {described!r:.60}"
        )
    return ConvexSet(**described)


def _plain(part: Any) -> Any:
    """Return arrays and their numbers as lists and numbers; the schema checks them later."""
    if isinstance(part, (list, tuple)):
        return [_plain(entry) for entry in part]
    return part.tolist() if isinstance(part, (np.ndarray, np.generic)) else part


def _mixes(members: Array, P: Array) -> bool:
    """Return whether P is a mixture of the rows."""
    count = len(members)
    A = np.vstack([members.T, np.ones(count)])
    # minimise the largest difference t
    cost = np.append(np.zeros(count), 1.0)
    upper = np.hstack([np.vstack([A, -A]), -np.ones((2 * len(A), 1))])
    goal = np.append(P, 1.0)
    found = linprog(cost, A_ub=upper, b_ub=np.append(goal, -goal), bounds=(0, None))
    return found.fun is not None and found.fun <= TOLERANCE


def _transport(p: Array, q: Array, distance: Array) -> float:
    """Compute the least cost of moving p to q."""
    k = len(p)
    rows, columns = np.kron(np.eye(k), np.ones(k)), np.kron(np.ones(k), np.eye(k))
    found = linprog(
        distance.ravel(), A_eq=np.vstack([rows, columns]), b_eq=np.append(p, q), bounds=(0, None)
    )
    assert found.fun is not None
    return float(found.fun)
