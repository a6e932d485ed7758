"""Reporting protocols: the best parameters of independent and of conditional reporting."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from decimal import Context, localcontext
from functools import partial
from typing import Any, NamedTuple

from .claims import Claim, decided
from .decimals import DIGITS, MAX_NODES
from .form import Case, Form, Kind, Section, maximise
from .polyopt import _subset_sums
from .reading import UnreadableError
from .robust import (
    CONFIDENCE,
    PARAMS,
    RobustStatement,
    confidence,
    empirical_value,
    robust_answer,
    robust_members,
    robust_question,
    uncertain,
)
from .schema import Anything, Record, Word

PROTOCOLS = ("independent-reporting", "grr-conditional", "ue-conditional")
BLOCKS = Word("grr", "optimal")
MOST_SECRETS = 12
"""The utility of unary encoding is a sum over all subsets of the secrets."""


class Reporting(NamedTuple):
    """The robust statement, the protocol, and what its blocks are."""

    robust: RobustStatement
    protocol: str
    blocks: str


def _statement(protocol: str, params: dict[str, Any]) -> dict[str, Any]:
    blocks = params.get("blocks", "grr")
    return {"form": "reporting", "protocol": protocol, "blocks": blocks, **confidence(params)}


def _question(plain: dict[str, Any]) -> Reporting:
    robust = robust_question(plain)
    if plain["protocol"] == "ue-conditional" and len(robust.p_hat) > MOST_SECRETS:
        raise UnreadableError(
            f"unary encoding takes at most {MOST_SECRETS} secrets, not {len(robust.p_hat)}"
        )
    return Reporting(robust, plain["protocol"], plain["blocks"])


def _answer(document: dict[str, Any], question: Reporting) -> list[list[float]]:
    return robust_answer(document, question.robust)


def _members(case: Case) -> Iterator[Claim]:
    return robust_members(case._replace(question=case.question.robust))


def _value(case: Case) -> Iterator[Claim]:
    return empirical_value(case._replace(question=case.question.robust))


def reporting_bound(case: Case) -> Iterator[Claim]:
    """The claim about the best parameters of the protocol."""
    question, bound = case.question, case.bound
    assert bound is not None
    if question.blocks != "grr":
        raise UnreadableError("only protocols of randomised responses have a bound that can be proven")
    test = partial(protocol_bounded, question.robust, question.protocol, bound)
    words = f"no such protocol has a utility above {bound!r}"
    about = f"{question.protocol} with randomised responses"
    yield decided("bound", words, test, strength="numeric 1e-11", about=about, value=bound)


def protocol_bounded(question: RobustStatement, protocol: str, bound: float) -> bool:
    """No parameters give the protocol more than the bound: halve their range until monotony proves it.

    Each part of a protocol is the better the higher its own level, so on a range of parameters the
    utility is at most that with every level at its best end.
    """
    with localcontext(Context(prec=DIGITS)):
        step = [float(k) for k in uncertain(question).step]
    p_hat = [[float(p) for p in row] for row in question.p_hat]
    upper = Protocols(p_hat, step, question.epsilon).upper(protocol)
    two = protocol == "ue-conditional"
    ranges = [(0.0, question.epsilon / 2), (0.0, 1.0)] if two else [(0.0, question.epsilon)]
    pending = [(ranges, 1.0)]
    for _ in range(MAX_NODES):
        if not pending:
            return True
        box, size = pending.pop()
        if upper([low for low, _ in box], [high for _, high in box]) <= bound + 1e-11:
            continue
        if size < 1e-12:
            return False
        widths = [
            (high - low) / (full[1] - full[0]) for (low, high), full in zip(box, ranges, strict=True)
        ]
        side = widths.index(max(widths))
        low, high = box[side]
        for half in ((low, (low + high) / 2), ((low + high) / 2, high)):
            pending.append(([*box[:side], half, *box[side + 1 :]], max(widths)))
    return False


class Protocols:
    """Utilities of the protocols with randomised response, in closed form, in floats."""

    def __init__(self, p_hat: list[list[float]], step: list[float], epsilon: float) -> None:
        self.p_hat, self.epsilon = p_hat, epsilon
        self.secrets = [sum(row) for row in p_hat]
        self.given = [[p / sum(row) for p in row] for row in p_hat]
        self.radii = [self._radius(q, k * (2 + k)) for q, k in zip(self.given, step, strict=True)]
        apart = max(
            sum(abs(a - b) for a, b in zip(q, r, strict=True)) for q in self.given for r in self.given
        )
        self.distance = min(2.0, 2 * max(self.radii) + apart)
        self.sums = _subset_sums(self.secrets) if len(self.secrets) <= MOST_SECRETS else []

    @staticmethod
    def _radius(q: list[float], B: float) -> float:
        """d_s of (65)."""
        if B < 1:
            return math.sqrt(B)
        least = min(q)
        return (B - 2 * B * least + math.sqrt(B * B + 4 * B * least * (1 - least))) / (B + 1)

    def upper(self, protocol: str) -> Callable[[list[float], list[float]], float]:
        """The utility with each level at its best between two ends."""
        known = {
            "independent-reporting": self._ir,
            "grr-conditional": self._grr,
            "ue-conditional": self._ue,
        }
        return known[protocol]

    def _ir(self, least: list[float], most: list[float]) -> float:
        a1, a2 = len(self.p_hat), len(self.p_hat[0])
        first, second = self.epsilon - least[0], _relaxed(most[0], self.distance)
        (c, d), (e, f) = _response(a1, first), _response(a2, second)
        values = [sum(column) for column in zip(*self.p_hat, strict=True)]
        out = (
            c * e * p + c * f * ps + d * e * pu + d * f
            for row, ps in zip(self.p_hat, self.secrets, strict=True)
            for p, pu in zip(row, values, strict=True)
        )
        return sum(map(_entropy, out)) - _noise(a1, first) - _noise(a2, second)

    def _blocks(self, second: float) -> float:
        parts = zip(self.secrets, self.given, self.radii, strict=True)
        return sum(p * _information(q, _relaxed(second, d)) for p, q, d in parts)

    def _grr(self, least: list[float], most: list[float]) -> float:
        first = self.epsilon - least[0]
        c, d = _response(len(self.secrets), first)
        return _information(self.secrets, first) + (c + d) * self._blocks(most[0])

    def _ue(self, least: list[float], most: list[float]) -> float:
        k, kappa, low = len(self.secrets), most[1], least[1]
        lam = min(low / (low + (1 - low) * math.exp(self.epsilon - least[0])), kappa)
        total = 0.0
        for i, mass in enumerate(self.sums):
            ones = i.bit_count()
            inside = kappa * lam ** (ones - 1) * (1 - lam) ** (k - ones) if ones else 0.0
            outside = (1 - kappa) * lam**ones * (1 - lam) ** (k - 1 - ones) if ones < k else 0.0
            total += _entropy(mass * inside + (1 - mass) * outside)
        bits = _entropy(kappa) + _entropy(1 - kappa) + (k - 1) * (_entropy(lam) + _entropy(1 - lam))
        return total - bits + kappa * self._blocks(most[0])


def _entropy(p: float) -> float:
    return -p * math.log(p) if p > 0 else 0.0


def _relaxed(level: float, distance: float) -> float:
    """δ = log(1 + 2 (e^ε − 1)/d): Theorems 15 and 17."""
    return math.log1p(2 * math.expm1(level) / distance)


def _response(k: int, level: float) -> tuple[float, float]:
    """Randomised response sends p to c·p + d."""
    d = math.exp(-level) / (1 + (k - 1) * math.exp(-level))
    return 1 - k * d, d


def _noise(k: int, level: float) -> float:
    c, d = _response(k, level)
    return _entropy(c + d) + (k - 1) * _entropy(d)


def _information(p: list[float], level: float) -> float:
    c, d = _response(len(p), level)
    return sum(_entropy(c * entry + d) for entry in p) - _noise(len(p), level)


SECTION = Section(
    kinds={
        protocol: Kind(
            Record(PARAMS.required, {**PARAMS.optional, "blocks": BLOCKS}), partial(_statement, protocol)
        )
        for protocol in PROTOCOLS
    },
    forms={
        "reporting": Form(
            statement=Record(
                {"form": Word("reporting"), "protocol": Word(*PROTOCOLS), "blocks": BLOCKS, **CONFIDENCE}
            ),
            question=_question,
            answer=_answer,
            members=_members,
            value=_value,
            bound=reporting_bound,
            sense=maximise,
            proof=Anything(),
        )
    },
)
