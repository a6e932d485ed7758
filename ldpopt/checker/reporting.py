"""Reporting protocols: the best parameters of independent and of conditional reporting.

Lopuhaä-Zwakenberg and Goseling 2021, Sections VI and VII. Each protocol reports s by one randomiser
and u by randomised responses. Its parameters are g = e^ε₂ and, for unary encoding, κ. With E = e^ε:

* *independent-reporting*: s by randomised response of odds o₁ = g/E (the probability of a wrong
  value over that of the right one), u by one of odds 1/(1 + 2 (g − 1)/d), d of (66); 1 ≤ g ≤ E.
* *grr-conditional*: s by the same; where it came out true, u by a response of odds 1/(1 + 2 (g −
  1)/d_s), d_s of (65), and else by the same response to a value drawn from p̂_{U|s'}; 1 ≤ g ≤ E.
* *ue-conditional*: the true secret is reported with probability κ, every other one with probability
  λ = κ/(κ + (1 − κ) E/g), each with a value as before; 1 ≤ g ≤ √E, 0 ≤ κ ≤ 1.

Claims. Privacy, value and audit: ``robust.py``. For a bound, two more:

Member (:func:`of_kind`). The mechanism is the protocol with some parameters, up to
:data:`ENTRY_ERROR` in each entry (what its repair to exact numbers takes). The parameters are read
off the mechanism, exactly but as a guess; then every entry is compared. Lemma. A product of numbers
in [0, 1] that are each rounded down by less than a unit, with every product rounded down, is off by
less than two units per factor. ∎

Bound (:class:`Search`). Lemma. A protocol with smaller odds, or with larger κ and smaller λ, is at
least as good: the other can be computed from its output, entry by entry (for a bit, the point (λ,
κ) lies below the segments through the other's). So on a box of parameters the utility is at most
that with every part at its own best end: o₁ at the least g, the odds for u at the greatest g, κ at
its greatest, λ at the least κ and g. ∎ These are rounded to the better side too and then exact
numbers, at which the utilities of Theorems 16, 18 and 20 (they hold for every odds and every κ ≥ λ)
are enclosed by ``fixed.py``. Boxes are halved until each is below the bound.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

from .budget import UndecidedError, reserve, tick
from .claims import Claim, decided
from .confidence import CONFIDENCE, PARAMS, confidence, robust_question
from .fixed import BITS, UNIT, above, below, entropy_above, entropy_below, rounded
from .form import Case, Form, Kind, Section, maximise
from .mechanism import Rows
from .protocols import Protocol, Reporting, of_kind
from .reading import UnreadableError
from .robust import empirical_value, robust_answer, robust_audit, robust_members
from .schema import Anything, Record, Word

PROTOCOLS = ("independent-reporting", "grr-conditional", "ue-conditional")
BLOCKS = Word("grr", "optimal")
MOST_SECRETS = 12
"""The utility of unary encoding is a sum over all subsets of the secrets."""
MOST_BOXES = 2_000_000
SMALLEST = UNIT >> 60
"""A box that is not below the bound at this relative width is above it, or too close to tell."""


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


# ---------------------------------------------------------------- the bound


class Search:
    """No parameters give the protocol more than the bound: halve their range until that is proven."""

    def __init__(self, question: Reporting) -> None:
        self.parts = Protocol(question)
        self.unary = question.protocol == "ue-conditional"
        self.secrets = [rounded(p) for p in self.parts.secrets]
        self.table = [[rounded(p) for p in row] for row in self.parts.p_hat]
        self.values = [rounded(sum(column)) for column in zip(*self.parts.p_hat, strict=True)]
        self.given = [[rounded(p) for p in row] for row in self.parts.given]
        self.E = above(self.parts.E)
        self.distances = [below(d) for d in self.parts.radii]
        self.firsts: dict[int, tuple[int, int]] = {}
        self.seconds: dict[int, int] = {}
        self.sums = [0]
        if self.unary:
            reserve(2 ** len(self.secrets), "the subsets of the secrets")
            for p in self.secrets:
                self.sums += [p + q for q in self.sums]

    def holds(self, bound: float) -> bool | None:
        """Return whether every parameter vector has at most the bound."""
        goal = rounded(Fraction(bound))
        top = above(self.parts.most)
        ranges = [(UNIT, top), (0, UNIT)] if self.unary else [(UNIT, top)]
        spans = [high - low for low, high in ranges]
        pending = [ranges]
        for _ in range(MOST_BOXES):
            if not pending:
                return True
            tick()
            box = pending.pop()
            if self.above([low for low, _ in box], [high for _, high in box]) <= goal:
                continue
            widths = [
                ((high - low) << BITS) // span for (low, high), span in zip(box, spans, strict=True)
            ]
            side = widths.index(max(widths))
            if widths[side] < SMALLEST:
                return False
            low, high = box[side]
            for half in ((low, (low + high) // 2), ((low + high) // 2, high)):
                pending.append([*box[:side], half, *box[side + 1 :]])
        raise UndecidedError(f"not decided within {MOST_BOXES} boxes")

    def above(self, least: list[int], most: list[int]) -> int:
        """Bound the utility on a box of parameters from above, in units."""
        if self.unary:
            kappa, low = most[1], least[1]
            spread = (UNIT - low) * self.E // least[0] + 1
            lam = min((low << BITS) // (low + spread), kappa)
            return self._encoding(kappa, lam) + (kappa * self._blocks(most[0]) >> BITS) + 1
        if self.parts.name == "grr-conditional":
            own, right = self._first(least[0])
            return own + (right * self._blocks(most[0]) >> BITS) + 1
        return self._independent(self._first_odds(least[0]), self._block_odds(most[0])[0])

    def _first_odds(self, g: int) -> int:
        """Compute g/E, rounded down."""
        return (g << BITS) // self.E

    def _block_odds(self, g: int) -> list[int]:
        """Compute d/(d + 2 (g − 1)), rounded down: it rises with d."""
        return [(d << BITS) // (d + 2 * (g - UNIT)) for d in self.distances]

    def _first(self, g: int) -> tuple[int, int]:
        """Bound I(S; R¹(S)) and the probability that s comes out true from above."""
        if g not in self.firsts:
            odds = self._first_odds(g)
            self.firsts[g] = information(self.secrets, odds), Odds(len(self.secrets), odds).right + 1
        return self.firsts[g]

    def _blocks(self, g: int) -> int:
        """Bound Σ_s p̂_s I(U; R^s(U) | s) from above; the bound is not below 0."""
        if g not in self.seconds:
            terms = (
                (p + 1) * max(information(q, odds), 0)
                for p, q, odds in zip(self.secrets, self.given, self._block_odds(g), strict=True)
            )
            self.seconds[g] = (sum(terms) >> BITS) + 1
        return self.seconds[g]

    def _independent(self, first: int, second: int) -> int:
        """Bound the utility of Theorem 16 from above.

        The output has probabilities c e P + c f P_s + d e P_u + d f.
        """
        a1, a2 = len(self.table), len(self.table[0])
        s, u = Odds(a1, first), Odds(a2, second)
        found = 0
        for row, ps in zip(self.table, self.secrets, strict=True):
            for p, pu in zip(row, self.values, strict=True):
                out = s.slope * (u.slope * p + u.wrong * ps) + s.wrong * (u.slope * pu + u.wrong * UNIT)
                found += entropy_above(max((out >> 2 * BITS) - 16, 0), 32)
        return found - s.noise() - u.noise()

    def _encoding(self, kappa: int, lam: int) -> int:
        """Compute I(S; UE(S)): the entropy of the reported set less that of its independent bits."""
        k = len(self.secrets)
        inside, outside = [0] * (k + 1), [0] * (k + 1)
        for ones in range(k + 1):
            if ones:
                inside[ones] = _powers(kappa, (lam, ones - 1), (UNIT - lam, k - ones))
            if ones < k:
                outside[ones] = _powers(UNIT - kappa, (lam, ones), (UNIT - lam, k - 1 - ones))
        slack = 8 * k + 16
        found = 0
        for i, mass in enumerate(self.sums):
            ones = i.bit_count()
            out = (mass * inside[ones] + (UNIT - mass) * outside[ones]) >> BITS
            found += entropy_above(max(out - slack, 0), 2 * slack)
        bits = entropy_below(kappa, 0) + entropy_below(UNIT - kappa, 0)
        return found - bits - (k - 1) * (entropy_below(lam, 0) + entropy_below(UNIT - lam, 0))


class Odds:
    """Randomised response of exact odds, in units: p goes to slope·p + wrong, rounded down."""

    def __init__(self, k: int, odds: int) -> None:
        self.k = k
        self.wrong = (odds << BITS) // (UNIT + (k - 1) * odds)
        self.right = (UNIT << BITS) // (UNIT + (k - 1) * odds)
        self.slope = self.right - self.wrong

    def noise(self) -> int:
        """Bound the entropy of the output for a given input from below."""
        return entropy_below(self.right) + (self.k - 1) * entropy_below(self.wrong)


def information(p: Sequence[int], odds: int) -> int:
    """Bound I(X; Y) of randomised response from above; p in units, rounded down."""
    response = Odds(len(p), odds)
    found = 0
    for entry in p:
        out = (response.slope * entry >> BITS) + response.wrong
        found += entropy_above(max(out - 4, 0), 8)
    return found - response.noise()


def _powers(start: int, *factors: tuple[int, int]) -> int:
    """Compute start · Π base^count in units, rounded down by less than two units per factor."""
    for base, count in factors:
        for _ in range(count):
            start = start * base >> BITS
    return start


# ---------------------------------------------------------------- the claims


def reporting_bound(case: Case) -> Iterator[Claim]:
    """Check the claims that the mechanism is of its kind, and about the best parameters."""
    question, bound = case.question, case.bound
    assert bound is not None
    if question.blocks != "grr":
        raise UnreadableError("only protocols of randomised responses have a bound that can be proven")
    about = f"{question.protocol} with randomised responses"
    words = f"it is {about}, each entry to within 1e-9"
    yield decided("member", words, partial(of_kind, case.answer, question))
    words = f"no parameters of {about} have a utility above {bound!r}"
    yield decided("bound", words, partial(_bounded, question, bound), about=about, value=bound)


def _bounded(question: Reporting, bound: float) -> bool | None:
    return Search(question).holds(bound)


def _answer(document: dict[str, Any], question: Reporting) -> Rows:
    return robust_answer(document, question.robust)


def _members(case: Case) -> Iterator[Claim]:
    return robust_members(case._replace(question=case.question.robust))


def _value(case: Case) -> Iterator[Claim]:
    return empirical_value(case._replace(question=case.question.robust))


def _audit(case: Case) -> Iterator[Claim]:
    return robust_audit(case._replace(question=case.question.robust))


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
            audit=_audit,
        )
    },
)
