"""Questions that are composed of notions of privacy and an objective."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from ldpopt.core.errors import InvalidInputError
from ldpopt.core.problem import Example
from ldpopt.core.validate import Array
from ldpopt.models import objective as objectives
from ldpopt.models import privacy as notions
from ldpopt.models.objective import Objective
from ldpopt.models.privacy import Privacy
from ldpopt.problems.composed_problem import ComposedProblem


@dataclass(frozen=True, eq=False)
class Program(ComposedProblem):
    """Find the best mechanism for an objective under one or several notions of privacy.

    Args:
        privacy: a notion of :mod:`ldpopt.privacy`, or a list of several that all hold.
        objective: one of :mod:`ldpopt.objective`; it says how many inputs there are.
        at_most: side conditions (costs, b): Σ costs[x][i] W[x, i] ≤ b, where the objective has linear
            pieces and the report i is its piece i; several reports for each piece where privacy is a
            union of cones.
        at_least: the same with ≥.
        max_outputs: 2 for the best mechanism of at most two reports; any number if not given.
    """

    kind: ClassVar[str] = "program"
    bench_sizes: ClassVar[tuple[int, ...]] = (3, 4, 5)
    privacy: Any
    objective: Any
    at_most: Any = ()
    at_least: Any = ()
    max_outputs: int | None = None

    def cleaned(self) -> dict[str, Any]:
        """Read the parts; what they mean is checked with the whole question."""
        listed = self.privacy if isinstance(self.privacy, list | tuple) else [self.privacy]
        return {
            "privacy": tuple(Privacy.read(part) for part in listed),
            "objective": Objective.read(self.objective),
            "at_most": tuple(_condition(one, "most") for one in self.at_most),
            "at_least": tuple(_condition(one, "least") for one in self.at_least),
            "max_outputs": self.max_outputs,
        }

    def to_params(self) -> dict[str, Any]:
        """Return the parameters as plain JSON data."""
        return self.composition()

    @classmethod
    def from_params(cls, **params: Any) -> Self:
        """Build the question from plain data."""
        allowed = ("privacy", "maximise", "minimise", "at_most", "at_least", "max_outputs")
        for name in params:
            if name not in allowed:
                raise InvalidInputError(
                    f"program has no parameter {name!r}; it takes {', '.join(allowed)}"
                )
        if "privacy" not in params or ("maximise" in params) == ("minimise" in params):
            raise InvalidInputError("program needs privacy, and one of maximise and minimise")
        sense = "maximise" if "maximise" in params else "minimise"
        found = cls(
            params["privacy"],
            params[sense],
            params.get("at_most", ()),
            params.get("at_least", ()),
            params.get("max_outputs"),
        )
        if found.sense != sense:
            raise InvalidInputError(f"{found.objective.name} is {found.sense}d, not {sense}d")
        return found

    @property
    def title(self) -> str:
        """The objective and the notions by their names in files; whether δ > 0, and reports are few."""
        names = [part.name + " with δ" * bool(getattr(part, "delta", 0)) for part in self.privacy]
        few = " with two reports" * (self.max_outputs is not None)
        return f"{self.objective.name} under {' and '.join(names)}{few}"

    @property
    def has_free_level(self) -> bool:
        """Whether there is such a level."""
        return self.level is not None

    def at_level(self, epsilon: float) -> Self:
        """Ask the same question at another level."""
        return replace(self, privacy=replace(self.privacy[0], epsilon=epsilon))

    @classmethod
    def random(cls, size: int, rng: np.random.Generator) -> Iterable[tuple[str, Self]]:
        """Draw a prior and a loss, and ask for the best mechanism under every notion of privacy."""
        prior, other = rng.dirichlet(np.ones(size), size=2)
        places = np.sort(rng.random(size))
        distances = np.abs(np.subtract.outer(places, places))
        information, guess = objectives.MutualInformation(prior), objectives.Guessing(prior)
        loss = objectives.Loss(prior, rng.random((size, size)))
        secrets = [x % 2 for x in range(size)]
        yield f"k={size} metric, loss", cls(notions.Metric(4, distances), loss)
        yield f"k={size} (ε, δ), guessing", cls(notions.LDP(1, 0.05), guess)
        yield f"k={size} PML, information", cls(notions.PML(0.5, prior), information)
        yield f"k={size} sensitive, information", cls(notions.Sensitive(1, [0, 1]), information)
        both = [notions.LDP(2), notions.MaximalLeakage(0.5)]
        yield f"k={size} LDP and maximal leakage, information", cls(both, information)
        yield (
            f"k={size} maximal leakage about a secret, loss",
            cls(notions.StatisticLeakage(0.3, secrets), loss),
        )
        kl = objectives.KL([prior, other])
        yield f"k={size} information privacy, kl", cls(notions.InformationPrivacy(1, prior), kl)
        yield f"k={size} metric, log det", cls(notions.Metric(4, distances), objectives.LogDet(prior))
        counts = objectives.Queries(np.tri(size), prior)
        yield f"k={size} PML, queries", cls(notions.PML(0.5, prior), counts)
        yield f"k={size} Rényi, guessing", cls(notions.Renyi(0.5, 2), guess)
        joint = rng.dirichlet(np.full(4, 5.0)).reshape(2, 2)
        ball = {"kind": "total-variation", "p_hat": joint.tolist(), "radius": 0.02}
        robust = cls(notions.Robust(1, ball), objectives.MutualInformation(joint.ravel()))
        yield "2x2 robust, information", robust

    @classmethod
    def examples(cls) -> Iterable[Example]:
        """Give optima that are known in closed form."""
        E, prior = math.e, [0.25] * 4
        yield Example(cls(notions.LDP(1), objectives.Guessing(prior)), E / (E + 3))
        pair = objectives.Guessing([0.5, 0.5])
        yield Example(cls(notions.LDP(1, delta=0.05), pair), (E + 0.05) / (1 + E))
        # one input of four is told from another by two reports, the others as either of them
        few = cls(notions.LDP(1), objectives.Guessing(prior), max_outputs=2)
        yield Example(few, E / (2 * (E + 1)))
        # half of the inputs share a report: Grosse, Saeidian and Oechtering 2023
        half = notions.PML(np.log(2), prior)
        yield Example(cls(half, objectives.MutualInformation(prior)), float(np.log(2)))
        yield Example(cls(notions.Sensitive(1, [0]), pair), 1 - 0.5 / E)  # Mangat 1994
        hamming = objectives.Loss([0.4, 0.3, 0.2, 0.1], 1 - np.eye(4))
        leaked = 1 - 0.4 - 0.3 * (np.exp(0.5) - 1)
        yield Example(cls(notions.MaximalLeakage(0.5), hamming), float(leaked))
        # e^0.7 = p²/(1 − p) + (1 − p)²/p for randomised response, of order 2
        high = (1 + math.sqrt(1 - 4 / (math.exp(0.7) + 3))) / 2
        yield Example(cls(notions.Renyi(0.7, 2), pair), high, 1e-8)
        # randomised response: its J has the eigenvalue ((E − 1)/(E + 1))² next to that of J P = 1
        known = 2 * math.log((E - 1) / (E + 1)) + math.log(2) - math.log(0.5)
        yield Example(cls(notions.LDP(1), objectives.LogDet([0.5, 0.5])), known, 1e-8)
        counted = objectives.Queries(np.eye(4), prior)
        yield Example(cls(notions.LDP(1), counted), (34.224891557110 - 1) / 4, 1e-8)


def _condition(given: Any, end: str) -> tuple[Array, float]:
    """Read a side condition: a pair, or an object as files have it."""
    if isinstance(given, dict):
        given = given.get("costs"), given.get(end)
    try:
        costs, limit = given
        return np.array(costs, dtype=float), float(limit)
    except (TypeError, ValueError):
        raise InvalidInputError(
            f"a side condition must be a pair (matrix of costs, limit), not {given!r:.80}"
        ) from None
