"""The base class of all questions, what a question is about, and what its value measures."""

from __future__ import annotations

import dataclasses
import inspect
from abc import ABC, abstractmethod
from collections.abc import Generator, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from ldpopt.core import validate
from ldpopt.core.errors import InvalidInputError
from ldpopt.core.exact import UnreadableError, frame, with_names_of_today
from ldpopt.core.form import Form, FormSolution, Stage
from ldpopt.core.mechanism import Mechanism
from ldpopt.core.validate import Array, Cleaned

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


class Measure(NamedTuple):
    """The name of a quantity, as a sentence uses it, and its unit ("" for a pure number).

    >>> str(Measure("statistic maximal leakage", "nats")), str(Measure("φ"))
    ('statistic maximal leakage (nats)', 'φ')
    """

    name: str
    unit: str = ""

    def __str__(self) -> str:
        return f"{self.name} ({self.unit})" if self.unit else self.name


INFORMATION = Measure("information released, I(X; Y)", "nats")
"""I(X; Y) under the distribution of the problem's subject; its share of H(X) can be stated."""


Stages = Generator[Stage, FormSolution, None]


class Example(NamedTuple):
    """A tiny instance with its known optimum, for the conformance suite and for newcomers."""

    problem: Problem
    optimum: float
    tolerance: float = 1e-9


class Problem(Cleaned, ABC):
    """A question about privacy mechanisms.

    Subclasses are frozen dataclasses whose fields are the parameters, checked by :meth:`cleaned`.
    A problem knows mathematics, never a solver.
    """

    kind: ClassVar[str]
    """The slug: name in the registry and tag in JSON."""
    bench_sizes: ClassVar[tuple[int, ...]] = ()
    """The sizes that ``ldpopt bench`` runs by default: three or more show the growth."""
    full_bench_sizes: ClassVar[tuple[int, ...]] = ()
    """The sizes that ``ldpopt bench --full`` runs, from seconds to minutes; if empty, the same."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_params()

    def cleaned(self) -> dict[str, Any]:
        """Read numpy's numbers as Python's, and the level; :meth:`check_params` looks at the rest."""
        given = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}  # type: ignore[arg-type]
        found = {name: v.item() for name, v in given.items() if isinstance(v, np.generic)}
        if frame.knows(self.kind) and given.get("epsilon") is not None:
            found["epsilon"] = validate.epsilon(given["epsilon"])
        return found

    def check_params(self) -> None:
        """Refuse what the checker refuses: what a built-in kind may ask is written once, there."""
        if frame.knows(self.kind):
            try:
                _ = self.question
            except UnreadableError as error:
                raise InvalidInputError(f"{self.kind}: {error}") from None

    def __getstate__(self) -> dict[str, Any]:
        """Copy and pickle what was given, not the exact question, which has functions in it."""
        return {name: value for name, value in vars(self).items() if name != "question"}

    @property
    def title(self) -> str:
        """The question in a few words, as a heading: its kind, unless a question says more."""
        return self.kind

    @property
    def sense(self) -> Literal["maximise", "minimise"]:
        """Whether more of the value is better, or less."""
        return "maximise"

    @property
    def measure(self) -> Measure:
        """What the value measures, and in which unit."""
        return Measure("objective")

    @property
    def level(self) -> float | None:
        """The level ε, in nats, at which secrets are to be hidden; None if nothing says that they are.

        The statement says it, which the checker decides, and not a field that is called ``epsilon``: in
        other notions of privacy that may be a rate per unit of distance.
        """
        stated = self.statement()
        return None if stated is None else stated.get("epsilon")

    @property
    def has_free_level(self) -> bool:
        """Whether the level is the parameter ``epsilon`` itself, so that it can be varied."""
        return self.level is not None and getattr(self, "epsilon", None) == self.level

    def at_level(self, epsilon: float) -> Self:
        """Ask the same question at another level."""
        return dataclasses.replace(self, epsilon=epsilon)  # type: ignore[type-var]

    def subject(self, mechanism: Mechanism) -> Subject:
        """Say what an audit of an answer is about: what is secret, for whom, and what is promised.

        By default that is what the statement says: the secrets that it names, or every input, are hidden
        at its level; of privacy for a set of distributions nothing is promised. A question that promises
        something else overrides this.
        """
        stated, level = self.statement() or {}, self.level
        if level is None or stated.keys() & {"p_hat", "uncertainty"}:
            return Subject.of_values(mechanism, None, {})
        secrets = [tuple(s) if isinstance(s, list) else s for s in stated.get("secrets", ())]
        if len(set(secrets)) == len(secrets):
            return Subject.of_values(mechanism, None, {"ldp": level})
        return Subject.of_groups(mechanism, secrets, None, {"indistinguishability": level})

    @abstractmethod
    def forms(self) -> Iterable[Form]:
        """List the question's forms as solvers understand them, best form first."""

    def stages(self, form: Form) -> Stages:
        """Declare what is solved, in which order; here the form itself, in one stage.

        The engine runs every stage within the one deadline and sends back what it contributed. The
        best point of all stages becomes the answer, the best of all proven bounds the bound.
        """
        yield Stage(form)

    @abstractmethod
    def lift(self, form: Form, solution: FormSolution) -> Any:
        """Express the answer in the problem's own terms: a :class:`Mechanism`, or plain JSON data."""

    def unrepaired(self, form: Form, solution: FormSolution) -> Any:
        """Express the answer as floats give it, for a result that certifies nothing.

        A question whose repair to exact arithmetic takes long leaves it out here.
        """
        return self.lift(form, solution)

    def proof_of(self, answer: Any, solution: FormSolution) -> dict[str, Any] | None:
        """Return the proof of the file: the solver's, and what is shown of the repaired answer."""
        return solution.proof

    @abstractmethod
    def value(self, answer: Any) -> float:
        """Evaluate the objective of an answer from its definition, never from the form."""

    def claim(self, answer: Any) -> float:
        """Evaluate the objective for the result file, rounded so that the answer is truly that good."""
        return self.value(answer)

    def audit(self, answer: Any) -> dict[str, Any]:
        """Measure the answer's privacy independently, as plain data for the certificate."""
        return {}

    @classmethod
    @abstractmethod
    def examples(cls) -> Iterable[Example]:
        """Give tiny instances with known optimum."""

    @classmethod
    def random(cls, size: int, rng: np.random.Generator) -> Iterable[tuple[str, Self]]:
        """Draw instances of a size, with their labels, for the benchmark."""
        raise InvalidInputError(
            f"{cls.kind} has no random instances to benchmark: give its class a method random, or "
            "benchmark files of questions"
        )

    def statement(self) -> dict[str, Any] | None:
        """State what is to be proven, in the checker's vocabulary; None if the checker cannot know it.

        The checker reads the statement of a built-in kind off the parameters by itself. A kind of
        another package says it here, as ``ldpopt/checker/frame.py`` spells it.
        """
        known = frame.knows(self.kind)
        return frame.statement(self.kind, self.to_params()) if known else None

    @cached_property
    def question(self) -> Any:
        """The exact question of the statement, as the checker reads it; None where there is none."""
        stated = self.statement()
        return None if stated is None else frame.question(stated)

    def to_params(self) -> dict[str, Any]:
        """Return the parameters as plain JSON data: arrays as lists, unset ones left out."""
        fields = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}  # type: ignore[arg-type]
        return {name: _plain(name, v) for name, v in fields.items() if v is not None}

    @classmethod
    def from_params(cls, **params: Any) -> Self:
        """Build the problem from plain data; an unknown, empty or missing parameter is named.

        A parameter may have the name of version 1 of the file format, as files of that version do.
        """
        try:
            params = with_names_of_today(cls.kind, params)
        except UnreadableError as error:
            raise InvalidInputError(str(error)) from None
        known = inspect.signature(cls).parameters
        for name, value in params.items():
            if name not in known:
                raise InvalidInputError(
                    f"{cls.kind} has no parameter {name!r}; it takes {', '.join(known)}"
                )
            if value is None:
                raise InvalidInputError(f"{cls.kind}: {name} must have a value or be left out, not None")
        for name, parameter in known.items():
            if parameter.default is parameter.empty and name not in params:
                raise InvalidInputError(f"{cls.kind} needs the parameter {name!r}")
        return cls(**params)


PLAIN = {str, int, float, bool, type(None)}
"""The types that JSON holds as they are."""


def _plain(name: str, value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, dict):
        return {key: _plain(name, part) for key, part in value.items()}
    if isinstance(value, (tuple, list)):
        plain = PLAIN.issuperset(map(type, value))  # quick, as a table may have a million rows
        return list(value) if plain else [_plain(name, part) for part in value]
    if isinstance(value, Mechanism):
        return value.to_json()
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    raise InvalidInputError(f"the parameter {name!r} is Python code and cannot be written as JSON")
