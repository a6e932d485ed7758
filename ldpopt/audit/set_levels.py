"""The proven level of a mechanism over sets around the table that it was designed for.

>>> read_set_name("tv:0.05")
('total-variation', 0.05)
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

from ldpopt.audit.audited import Audited, loaded, subject
from ldpopt.core.errors import InvalidInputError
from ldpopt.core.limits import Limits, OutOfTime
from ldpopt.core.problem import Subject
from ldpopt.engine.result import Result
from ldpopt.measures.level_over_set import level_question, proven_level
from ldpopt.models.convex_set import ConvexSet
from ldpopt.release.designing import AnyDesign

SHORT = {"tv": "total-variation", "kl": "kullback-leibler"}
BALLS = ("total-variation", "kullback-leibler", "likelihood", "hellinger", "wasserstein")


class SetLevel(NamedTuple):
    """The level over one set.

    Attributes:
        name: the set, as it was asked for.
        value: a member tells two secrets apart by e^value, in exact arithmetic; None if one report may
            settle the secret, or no member was found that certainly lies in the set.
        bound: no member tells them apart by more than e^bound, by the checker's exact proof; None if
            that is not proven.
        late: whether the time was over before more was known.
    """

    name: str
    value: float | None
    bound: float | None
    late: bool = False

    def in_words(self) -> str:
        """Say the level as a sentence; numbers in full, as a rounded one may be on the wrong side."""
        over = f"Level over {self.name} around the file's table"
        if self.late and self.value is None:
            return f"{over}: the time was over before it was known; allow more (--time-limit)."
        if self.value is None and self.bound is None:
            return f"{over}: no bound is proven; some report may settle the secret."
        least = "no member is found" if self.value is None else f"at least {self.value!r}"
        most = "no bound is proven" if self.bound is None else f"at most {self.bound!r}"
        more = "; the time was over, allow more (--time-limit)" if self.late else ""
        return f"{over}: {least}, {most} [exact]{more}."

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return self._asdict()


def read_set_name(words: str) -> tuple[str, float | None]:
    """Read the name of a set and its radius: ``kind:radius``; ``known`` has none.

    Raises:
        InvalidInputError: there is no such set, or its number is missing or cannot be read.
    """
    name, _, number = words.partition(":")
    kind = SHORT.get(name, name)
    if kind not in (*BALLS, "credible", "known"):
        raise InvalidInputError(
            f"a set is one of {', '.join((*SHORT, *BALLS))}, credible or known, not {name!r}"
        )
    if kind == "known" and not number:
        return kind, None
    try:
        return kind, float(number)
    except ValueError:
        raise InvalidInputError(f"a set is written like {name}:0.05, not {words!r}") from None


def levels_over(
    design: Audited, names: Iterable[str], time_limit: float | None = None
) -> list[SetLevel]:
    """Prove the level of a mechanism over sets around its table.

    Args:
        design: a design or a result on pairs (s, u), or its file.
        names: the sets, as :func:`read_set_name` reads them.
        time_limit: seconds for all of them.
    """
    asked = [(name, *read_set_name(name)) for name in names]
    if not asked:
        return []
    limits = Limits.within(time_limit)
    with limits.held():
        return _levels(loaded(design), asked, limits)


def _levels(
    made: AnyDesign | Result, asked: list[tuple[str, str, float | None]], limits: Limits
) -> list[SetLevel]:
    of = subject(made)
    if of.p is None or not of.public_names:
        raise InvalidInputError(
            "--set needs a file that was made for a table with a secret and a public column"
        )
    counts = getattr(getattr(made, "question", None), "counts", None)
    return [
        _level(name, of, _around(kind, number, of, counts), limits.part(1 / (len(asked) - i)))
        for i, (name, kind, number) in enumerate(asked)
    ]


def _around(kind: str, number: float | None, of: Subject, counts: Any) -> ConvexSet:
    assert of.p is not None
    p = of.p.reshape(len(of.secret_names), len(of.public_names))
    if kind == "known":
        return ConvexSet(kind, p=p)
    if kind == "credible":
        if counts is None:
            raise InvalidInputError(
                "a credible set needs counts: give a file of ldpopt design that holds them"
            )
        return ConvexSet(kind, counts=counts, alpha=number)
    return ConvexSet(kind, p_hat=p, radius=number)


def _level(name: str, of: Subject, F: ConvexSet, limits: Limits) -> SetLevel:
    matrix = of.mechanism.matrix
    try:
        place, value, bound = proven_level(matrix, level_question(matrix.tolist(), F.exact), limits)
    except OutOfTime:
        best = limits.kept()
        known = best is not None and _is_member(F, best.point["witness"])
        return SetLevel(name, best.value if best is not None and known else None, None, late=True)
    known = _is_member(F, place.witness.tolist()) and value < math.inf
    return SetLevel(name, value if known else None, bound)


def _is_member(F: ConvexSet, witness: list[list[float]]) -> bool:
    return F.exact.member(witness, "witness")[1] is True
