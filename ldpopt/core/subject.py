"""What an audit of a mechanism is about: its secrets, the possible distributions, the promises."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from ldpopt.core.errors import InvalidInputError
from ldpopt.core.measure import Measure
from ldpopt.core.mechanism import Mechanism
from ldpopt.core.validate import Array

LEVELS = ("robust", "robust-all", "ldp", "indistinguishability")
"""The promises that are levels ε of privacy, the one that was asked for first."""


class Uncertainty(Protocol):
    """A set of joint distributions of (s, u)."""

    @property
    def shape(self) -> tuple[int, int]:
        """The number of secrets s and of public values u."""

    def contains(self, p: Any) -> bool:
        """Return whether the joint distribution p is a member."""

    def sample(self, rng: np.random.Generator) -> Array:
        """Draw a distribution of the set."""


class Promise(NamedTuple):
    """A promise in words of its own, for a notion of privacy that is none of the usual measures."""

    measure: Measure
    value: float
    promised: float
    meaning: str


@dataclass(frozen=True, eq=False)
class Subject:
    """A mechanism with what is secret about its inputs.

    Attributes:
        mechanism: the mechanism.
        secrets: the number of the secret of each input.
        secret_names: the secrets in words.
        public_names: the public values in words, if the inputs are all (s, u) in order; else empty.
        p: the distribution of the inputs, if the question states one.
        uncertainty: the distributions of pairs (s, u) against which s is hidden.
        promises: what is promised not to be exceeded, by the key of the measure: "ldp", "robust",
            "robust-all", "indistinguishability", "statistic-maximal-leakage", or another of
            :func:`ldpopt.audit.measures.measures`.
        own: promises of other notions of privacy, measured.
        part: whether it is a part of a larger mechanism, which has the same levels; other measures do
            not say anything of the whole.
    """

    mechanism: Mechanism
    secrets: NDArray[np.int64]
    secret_names: tuple[str, ...]
    public_names: tuple[str, ...] = ()
    p: Array | None = None
    uncertainty: Uncertainty | None = None
    promises: Mapping[str, float] = field(default_factory=dict)
    own: Sequence[Promise] = ()
    part: bool = False

    def __post_init__(self) -> None:
        inputs, stated = self.mechanism.shape[0], len(self.secrets)
        if inputs != stated:
            raise InvalidInputError(
                f"the mechanism must have {stated} inputs, as the question has, not {inputs}"
            )

    @classmethod
    def of_values(cls, mechanism: Mechanism, p: Array | None, promises: Mapping[str, float]) -> Self:
        """Describe a mechanism for which every input is a secret of its own.

        Args:
            mechanism: the mechanism.
            p: the distribution of the inputs, if the question states one.
            promises: what is promised not to be exceeded, by the key of the measure.
        """
        names = tuple(map(str, mechanism.inputs))
        return cls(mechanism, np.arange(len(names)), names, p=p, promises=promises)

    @classmethod
    def of_groups(
        cls,
        mechanism: Mechanism,
        labels: Sequence[Hashable],
        p: Array | None,
        promises: Mapping[str, float],
    ) -> Self:
        """Describe a mechanism whose inputs have labels, where the label is the secret.

        Args:
            mechanism: the mechanism.
            labels: the secret of each input, in the order of the inputs.
            p: the distribution of the inputs, if the question states one.
            promises: what is promised not to be exceeded, by the key of the measure.
        """
        numbers: dict[Hashable, int] = {}
        secrets = np.array([numbers.setdefault(label, len(numbers)) for label in labels], np.int64)
        names = tuple(f"secret {label}" for label in numbers)
        return cls(mechanism, secrets, names, p=p, promises=promises)

    @classmethod
    def of_pairs(
        cls,
        mechanism: Mechanism,
        p: Array,
        uncertainty: Uncertainty,
        promises: Mapping[str, float],
        names: tuple[Sequence[str], Sequence[str]] | None = None,
    ) -> Self:
        """Describe a mechanism whose inputs are the pairs (s, u) of a distribution p[s][u]; s is secret.

        Args:
            mechanism: the mechanism, its inputs in the order of ``p.ravel()``.
            p: the distribution.
            uncertainty: the distributions against which s is hidden.
            promises: what is promised.
            names: the values of s and of u in words; numbers if not given.
        """
        a1, a2 = p.shape
        s_names, u_names = names or ([f"s = {s}" for s in range(a1)], [f"u = {u}" for u in range(a2)])
        secrets, flat = np.repeat(np.arange(a1), a2), p.ravel()
        return cls(mechanism, secrets, tuple(s_names), tuple(u_names), flat, uncertainty, promises)

    @property
    def epsilon(self) -> float | None:
        """The promised level of privacy, of whatever kind."""
        return next((self.promises[key] for key in LEVELS if key in self.promises), None)

    def channel(self, p: Array) -> tuple[Mechanism, Array]:
        """Compute P(y|s) and P(s) of the secrets that occur under P."""
        mass = np.bincount(self.secrets, weights=p)
        joint = np.zeros((len(mass), self.mechanism.shape[1]))
        np.add.at(joint, self.secrets, p[:, None] * self.mechanism.matrix)
        seen = mass > 0
        rows = joint[seen] / joint[seen].sum(axis=1, keepdims=True)
        return Mechanism(rows), mass[seen] / mass[seen].sum()
