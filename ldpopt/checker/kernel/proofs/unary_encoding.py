"""Unary encoding: its information, and a protocol that is stated by its parameters alone.

A report of ``ue-conditional`` is a vector with one entry per secret t: with probability κ (the true
secret) or λ (every other one) a value, else silence. The value of the true secret is the response to
u, which is right with probability y_t and else any other value; the value of another secret is the
same response to a value drawn from p̂_{U|t}. The matrix has (1 + k)^m columns for m secrets and k
values, so that a file may state κ, λ and y instead, as whole multiples of 2^−52.

Lemma 1 (:func:`is_private`). With R_t = P_{U|t}, q_t = p̂_{U|t}, W the response and W_v its column, the
probabilities of one report under s and under z ≠ s differ in their entries for s and z only. They
are at most E apart for every report and every P ∈ F if and only if for all s ≠ z and values v, w

    κ (1 − λ) R_s·W_v ≤ E λ (1 − κ) q_s·W_v                    (s reported, z silent)
    (1 − κ) λ q_z·W_w ≤ E (1 − λ) κ R_z·W_w                    (s silent, z reported)
    R_s·W_v · q_z·W_w ≤ E q_s·W_v · R_z·W_w, unless κ λ = 0     (both reported)

for every P ∈ F; if both are silent, they are equal. R·W_v = ω + (y − ω) R_v, ω = (1 − y)/(k − 1), and
R_v lies between P^min and P^max (``confidence_set.py``, Lemma 3), which decides the first two. For the
third, it is enough that it holds with both secrets at their extremes; where it does not, Lemma 3 of
``robust_privacy.py`` is applied to the columns W_v and W_w, with E q_s·W_v/q_z·W_w in the place of E. ∎

Lemma 2 (:func:`value_below`; Theorem 20). Under p̂ the information is I(S; set of reported secrets) + κ
Σ_s p̂_s I(U; response | s). Proof. The values of false secrets say nothing, and that of the true one
says the same whichever it is, as under p̂ both are drawn from q. ∎

Lemma 3 (:func:`encoding_cap`). Let e^t be the ratio of the odds of κ and λ. The information of the
reported set is at most t (e^t − 1)/(e^t + 1). Proof. It is at most the largest D(P_s ‖ P_z), the mean of
L log L under P_z for the ratio L of the two, which lies in [e^−t, e^t] and has the mean 1. L log L is
convex, hence below its chord there, and at L = 1 the chord is t (e^t − 1)/(e^t + 1). ∎
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

from ..arithmetic import enclose, exp_below
from ..budget import reserve, tick
from ..fixed_point import BITS, UNIT, subset_sums, units_down
from ..fixed_point_log import LOG_ERROR, entropy_above, entropy_below, log_units
from ..reading import UnreadableError
from ..schema import DRAWN_BITS, List, Number, Record
from .confidence_set import RobustStatement, most_share, uncertain
from .linear_minimum import alike
from .robust_privacy import PrivacyProof

GRID = 2**DRAWN_BITS
SHARE = Number(0, 1, bits=DRAWN_BITS)
ANSWER = Record({"kappa": SHARE, "lambda": SHARE, "right": List(SHARE, 2)})


class Unary(NamedTuple):
    """κ, λ, and how often the response of every secret is right."""

    kappa: Fraction
    lam: Fraction
    rights: list[Fraction]


def read_unary(answer: Any, question: RobustStatement) -> Unary:
    """Read an answer that states the parameters."""
    plain = ANSWER.read(answer, "answer")
    found = Unary(
        Fraction(plain["kappa"]), Fraction(plain["lambda"]), [Fraction(y) for y in plain["right"]]
    )
    a1, a2 = len(question.p_hat), len(question.p_hat[0])
    if len(found.rights) != a1 or min(found.rights) * a2 < 1 or found.lam > found.kappa:
        raise UnreadableError(
            f"answer must have {a1} entries of right, each at least 1/{a2}, and lambda at most kappa"
        )
    return found


# ---------------------------------------------------------------- privacy


def is_private(answer: Unary, question: RobustStatement) -> bool:
    """Return whether the protocol is proven private against every member of the set: Lemma 1."""
    E, F = exp_below(question.epsilon), uncertain(question)
    kappa, lam = answer.kappa, answer.lam
    ratios = []
    for row, y, step, least in zip(question.p_hat, answer.rights, F.step, F.p_min, strict=True):
        mass = sum(row, Fraction(0))
        b, w = step * (step + enclose(2)), (1 - y) / (len(row) - 1)
        block = []
        for p, low in zip(row, least, strict=True):
            tick()
            q = p / mass
            drawn = w + (y - w) * q
            most = w + (y - w) * Fraction(most_share(q, b).high)
            fewest = w + (y - w) * max(Fraction(low.low), Fraction(0))
            if fewest == 0:
                return False
            if kappa * (1 - lam) * most > E * lam * (1 - kappa) * drawn:
                return False
            if (1 - kappa) * lam * drawn > E * (1 - lam) * kappa * fewest:
                return False
            block.append((most / drawn, drawn / fewest, drawn))
        ratios.append(block)
    if kappa * lam == 0:
        return True
    proof = Reports(F, E, answer.rights)
    return all(
        proof.holds((s, z), mine, theirs)
        for s, mine in enumerate(ratios)
        for z, theirs in enumerate(ratios)
        if s != z
    )


Ratios = list[tuple[Fraction, Fraction, Fraction]]
"""For every value of u: its greatest probability over the drawn one, the drawn one over its least, and
the drawn one itself."""


class Reports:
    """Two secrets that are both reported: the third line of Lemma 1."""

    def __init__(self, F: Any, E: Fraction, rights: list[Fraction]) -> None:
        self.F, self.E, self.rights = F, E, rights

    def holds(self, pair: tuple[int, int], mine: Ratios, theirs: Ratios) -> bool:
        """Return whether no values of two reported secrets tell them apart by more than E.

        Args:
            pair: the two secrets s and z.
            mine: the ratios of s.
            theirs: the ratios of z.
        """
        most = max(down for _, down, _ in theirs)
        for v, (up, _, drawn) in enumerate(mine):
            if up * most <= self.E:
                continue
            for w, (_, down, other) in enumerate(theirs):
                tick()
                if up * down > self.E and not self._shared(pair, (v, w), self.E * drawn / other):
                    return False
        return True

    def _shared(self, pair: tuple[int, int], values: tuple[int, int], E: Fraction) -> bool:
        """Prove R_s·W_v ≤ E R_z·W_w, both columns multiplied by k − 1, where s and z share the slack."""
        k = len(self.F.p_min[0])
        columns = []
        for t, value in zip(pair, values, strict=True):
            right = _decimal(self.rights[t] * (k - 1))
            wrong = _decimal(1 - self.rights[t])
            columns.append([right if u == value else wrong for u in range(k)])
        sides = [alike(column, self.F.given[t]) for t, column in zip(pair, columns, strict=True)]
        return PrivacyProof(self.F, E).pair_private(sides[0], sides[1], pair)


def _decimal(dyadic: Fraction) -> Decimal:
    """Write a whole multiple of 2^−52 as a decimal, exactly."""
    return Decimal(f"{int(dyadic * GRID) * 5**52}e-52")  # methods would round to 28 digits


# ---------------------------------------------------------------- information


class Response:
    """Randomised response, in units: p goes to slope·p + wrong, each off by at most a unit."""

    def __init__(self, k: int, right: int) -> None:
        self.k = k
        self.right, self.wrong = right, (UNIT - right) // (k - 1)
        self.slope = self.right - self.wrong

    def noise(self) -> int:
        """Bound the entropy of the output for a given input from below."""
        return entropy_below(self.right) + (self.k - 1) * entropy_below(self.wrong)

    def outputs(self, p: Sequence[int]) -> Iterator[int]:
        """Compute the probabilities of the outputs less 4 units, off by fewer than 8; p rounded down."""
        for entry in p:
            yield max((self.slope * entry >> BITS) + self.wrong - 4, 0)


def information(p: Sequence[int], right: int) -> int:
    """Bound I(X; Y) of randomised response from above; p in units, rounded down."""
    response = Response(len(p), right)
    return sum(entropy_above(out, 8) for out in response.outputs(p)) - response.noise()


def information_below(p: Sequence[int], right: int) -> int:
    """Bound I(X; Y) of randomised response from below; p in units, rounded down."""
    response = Response(len(p), right)
    noise = entropy_above(response.right) + (response.k - 1) * entropy_above(response.wrong)
    return sum(entropy_below(out, 8) for out in response.outputs(p)) - noise


class Encoding:
    """I(S; reported set): the entropy of the set less that of its independent bits."""

    def __init__(self, secrets: Sequence[int]) -> None:
        reserve(2 ** len(secrets), "the subsets of the secrets")
        self.k, self.sums = len(secrets), subset_sums(secrets)

    def below(self, kappa: int, lam: int) -> int:
        """Bound the information from below."""
        slack = 8 * self.k + 16
        found = sum(entropy_below(out, 2 * slack) for out in self._sets(kappa, lam, slack))
        bits = entropy_above(kappa, 0) + entropy_above(UNIT - kappa, 0)
        return found - bits - (self.k - 1) * (entropy_above(lam, 0) + entropy_above(UNIT - lam, 0))

    def _sets(self, kappa: int, lam: int, slack: int) -> Iterable[int]:
        """Compute the probability of every set less the slack, off by fewer than two slacks."""
        k = self.k
        inside, outside = [0] * (k + 1), [0] * (k + 1)
        for ones in range(k + 1):
            if ones:
                inside[ones] = _powers(kappa, (lam, ones - 1), (UNIT - lam, k - ones))
            if ones < k:
                outside[ones] = _powers(UNIT - kappa, (lam, ones), (UNIT - lam, k - 1 - ones))
        for i, mass in enumerate(self.sums):
            ones = i.bit_count()
            out = (mass * inside[ones] + (UNIT - mass) * outside[ones]) >> BITS
            yield max(out - slack, 0)


def _powers(start: int, *factors: tuple[int, int]) -> int:
    """Compute start · Π base^count in units, rounded down by less than two units per factor."""
    for base, count in factors:
        for _ in range(count):
            start = start * base >> BITS
    return start


def encoding_cap(E: int, g: int) -> int:
    """Bound the information of the reported set where the odds of κ and λ are E/g apart: Lemma 3."""
    ratio = (E << BITS) // g + 1
    level = log_units(ratio) + LOG_ERROR
    return max(level * (ratio - UNIT) // (ratio + UNIT) + 1, 0)


def value_below(answer: Unary, question: RobustStatement) -> Fraction:
    """Compute a number just below the information under p̂: Lemma 2."""
    masses, kappa = [units_down(mass) for mass in question.secrets], units_down(answer.kappa)
    own = Encoding(masses).below(kappa, units_down(answer.lam))
    blocks = 0
    for row, mass, right in zip(question.given, masses, answer.rights, strict=True):
        information = information_below([units_down(p) for p in row], units_down(right))
        blocks += mass * max(information, 0) >> BITS
    return Fraction(max(own, 0) + (kappa * blocks >> BITS), UNIT)
