"""What an audit finds: attacks on reports, claims and measures, and the verdict on all of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ldpopt.audit.black_box import Fit, LowerBound
from ldpopt.audit.measures import Measured
from ldpopt.core.exact import OPEN, Claim, Verdict
from ldpopt.core.number_text import at_least, in_full, plain_number
from ldpopt.engine.verifying import NOT_CHECKED

SHOWN = 5
"""Measures that a printed audit shows."""


@dataclass(frozen=True)
class Empirical:
    """What the reports of a sampler show, whatever the sampler.

    Attributes:
        source: whose reports they are.
        reports: how many.
        bound: with what confidence ε is at least what.
        told_apart: the two secrets of the attack, in words.
        inputs: where the inputs of the attack come from, in words.
        allowed: what ε may be at most.
        fit: the test that they come from the mechanism; ``fit_x`` names the worst input.
        confidence: the probability with which a correct sampler passes both.
    """

    source: str
    reports: int
    bound: LowerBound
    told_apart: tuple[str, str]
    inputs: str
    allowed: float
    fit: Fit
    fit_x: str
    confidence: float

    @property
    def private(self) -> bool:
        """Whether the lower bound on ε is within what is allowed."""
        return self.bound.epsilon <= self.allowed

    @property
    def fits(self) -> bool:
        """Whether the reports may come from the mechanism."""
        return self.fit.p_value >= (1 - self.confidence) / 2

    @property
    def holds(self) -> bool:
        """Whether the sampler is private and its reports fit the mechanism."""
        return self.private and self.fits

    def in_words(self) -> tuple[str, str]:
        """Say what the attack found and what the test of the fit found, a sentence each."""
        bound, outcome = self.bound, "could not be told from" if self.fits else "do NOT fit"
        secret, other = self.told_apart
        chosen = f"{len(bound.outputs)} report{'' if len(bound.outputs) == 1 else 's'}"
        return (
            f"Attack on {self.reports:,} reports of {self.source}: ε ≥ {at_least(bound.epsilon)} "
            f"({in_full(self.confidence)} confidence), allowed {in_full(self.allowed)}; {chosen} chosen "
            f"from inputs of {self.inputs} made up {bound.hits / max(bound.trials, 1):.4g} of those on "
            f"{secret} and {bound.other_hits / max(bound.other_trials, 1):.4g} on {other}.",
            f"The reports {outcome} those of the mechanism (χ² test of {self.fit.rows} inputs, "
            f"p = {self.fit.p_value:.2g}).",
        )

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            **{name: part for name, part in vars(self).items() if name != "fit_x"},
            "bound": {**vars(self.bound), "outputs": list(self.bound.outputs)},
            "told_apart": list(self.told_apart),
            "allowed": plain_number(self.allowed),
            "private": self.private,
            "fit": {**self.fit._asdict(), "input": self.fit_x},
            "fits": self.fits,
        }


@dataclass(frozen=True, repr=False)
class Audit:
    """What an audit found.

    Attributes:
        epsilon: the promised level, if there is one.
        claims: the claims of the certificate, as the independent checker decided them.
        measures: every measure of privacy that applies.
        empirical: what reports show.
        verdict: the outcome in one or two sentences.
        passed: whether every claim was verified and nothing contradicts what was promised; None if
            nothing contradicts it but the checker left a claim undecided; OPEN if no promise was
            checked, or the file cannot decide its own.
    """

    epsilon: float | None
    claims: tuple[Claim, ...]
    measures: tuple[Measured, ...]
    empirical: tuple[Empirical, ...]
    verdict: str
    passed: Verdict

    def __getitem__(self, key: str) -> Measured:
        return next(measure for measure in self.measures if measure.key == key)

    def __repr__(self) -> str:
        """Show the verdict and five measures, those with a promise first."""
        first = sorted(self.measures, key=lambda measure: measure.promised is None)[:SHOWN]
        rows = [
            f"  {measure.name} ≈ {measure.text} {measure.unit}"
            + (f", promised {measure.limit}" if measure.limit else "")
            for measure in first
        ]
        more = len(self.measures) - len(first)
        return "\n".join([self.verdict, *rows, *([f"  {more} more in .measures"] if more > 0 else [])])

    def to_json(self) -> dict[str, Any]:
        """Return plain data; infinity is the word "inf"."""
        return {
            **vars(self),
            "passed": None if self.passed is OPEN else self.passed,
            "promise_decided": self.passed is not OPEN,
            "claims": [claim._asdict() for claim in self.claims],
            "measures": [measure.to_json() for measure in self.measures],
            "empirical": [part.to_json() for part in self.empirical],
        }


def judged(
    epsilon: float | None,
    claims: tuple[Claim, ...],
    found: tuple[Measured, ...],
    tests: tuple[Empirical, ...],
    rest: str = "",
) -> Audit:
    """Give the verdict: failed if anything contradicts a promise, else undecided if a claim is.

    An audit that compared nothing with a promise, or not the promise of the file, has not passed.

    Args:
        epsilon: the promised level, if there is one.
        claims: the claims of the certificate, decided.
        found: every measure of privacy that applies.
        tests: what reports show.
        rest: the promise that neither the file nor the audit decides, in words; empty if there is none.
    """
    reasons = [f"the certificate is refuted: {c.statement}" for c in claims if c.holds is False]
    undecided = [c.statement for c in claims if c.verdict is None]
    reasons += [_broken(measure) for measure in found if measure.holds is False]
    reasons += [reason for test in tests for reason in _caught(test)]
    passed: Verdict
    if reasons:
        verdict, passed = f"FAILED: {'; '.join(reasons)}.", False
    elif undecided:
        open_claims = f"{len(undecided)} of {len(claims)} claims within its time and memory"
        verdict = (
            f"UNDECIDED: nothing contradicts the promise, but the checker did not decide {open_claims}"
        )
        verdict, passed = f"{verdict}, first: {undecided[0]}.", None
    else:
        verdict = f"{_kept(epsilon, claims, found, tests, rest)}."
        passed = True if not rest and any(measure.holds for measure in found) else OPEN
    return Audit(epsilon, claims, found, tests, verdict, passed)


def _broken(measure: Measured) -> str:
    said = f"the {measure.name} is {measure.text}, above the promised {measure.limit}"
    if measure.key == "data-observed":
        return f"this table's distribution is outside what the mechanism was designed for: {said}"
    return said


def _caught(test: Empirical) -> Iterator[str]:
    sure = f"{in_full(test.confidence)} confidence"
    if not test.private:
        yield (
            f"{test.source} gives away at least ε = {at_least(test.bound.epsilon)}, more than "
            f"{in_full(test.allowed)} ({sure})"
        )
    if not test.fits:
        yield (
            f"the reports of {test.source} are not those of the mechanism ({sure}): they differ "
            f"most for the input {test.fit_x} (p = {test.fit.p_value:.2g})"
        )


def _kept(
    epsilon: float | None,
    claims: tuple[Claim, ...],
    found: tuple[Measured, ...],
    tests: tuple[Empirical, ...],
    rest: str,
) -> str:
    kept = ", ".join(f"{m.name} {m.text} ≤ {m.limit}" for m in found if m.holds)
    if rest:
        stated = f"; the stated level holds ({kept} [{NOT_CHECKED}])" if kept else ""
        promises = f"NOT DECIDED: {rest}{stated}, and the other"
    elif kept:
        promises = f"PASSED: what was promised holds ({kept} [{NOT_CHECKED}]), and all"
    else:
        promises = "NO PROMISE WAS CHECKED: all"
    verified = sum(claim.holds is True for claim in claims)
    shown = ", ".join(
        f"an attack on {t.reports:,} reports of {t.source} shows ε ≥ {at_least(t.bound.epsilon)} "
        f"({in_full(t.confidence)} confidence)"
        for t in tests
    )
    chance = "".join(
        f"; the frequencies of this table alone give {m.value:.4g}, which may be chance"
        for m in found
        if m.key == "data-observed" and m.promised is None and m.value > (epsilon or m.value)
    )
    if not claims:
        return f"NO PROMISE WAS CHECKED: there is no certificate; {shown}{chance}"
    return f"{promises} {verified} claims of the certificate were verified; {shown}{chance}"
