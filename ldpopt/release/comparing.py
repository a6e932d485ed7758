"""Design by every method for the same question, and keep the most useful."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from ldpopt.core.errors import LdpoptError
from ldpopt.core.limits import Limits, Progress
from ldpopt.engine.verifying import NOT_CHECKED, verify_within
from ldpopt.release.accuracy import accuracies
from ldpopt.release.designed import Design
from ldpopt.release.designing import GAP, preferred, solved
from ldpopt.release.methods import METHODS, MOST_LEARNT, applicable

INTERRUPTED = "interrupted"
TOGETHER = 120.0
"""The seconds of a comparison, all methods together."""
LEAST_PATIENCE = 0.5
"""The least seconds for the check of one design."""


def compare(
    made: Design,
    *,
    time_limit: float = TOGETHER,
    progress: Progress | None = None,
    step: Callable[[int, int, str], None] | None = None,
    row: Callable[[str, Design | str], None] | None = None,
) -> dict[str, Design | str]:
    """Make a design by every method for the same question, or give the reason why there is none.

    Quick methods come first. Ctrl-C keeps what is found; the reason of the other methods is then
    :data:`INTERRUPTED`.

    Args:
        made: the design whose question is asked again.
        time_limit: seconds for all methods together: each may take an equal share of what is left.
        progress: called with (value, bound) during long work.
        step: called with (finished, total, name) before every method.
        row: called with the name and the design, or the reason, after every method.
    """
    found: dict[str, Design | str] = {}
    stopped, limits = made.interrupted, Limits.within(time_limit)
    reasons = applicable(made.question)
    ahead = sum(reason is None and name != made.method for name, reason in reasons.items())
    for name in sorted(reasons, key=_effort):
        reason = reasons[name]
        if step is not None:
            step(len(found), len(reasons), name)
        if name == made.method:
            found[name] = made
        elif reason is not None:
            found[name] = reason
        elif stopped:
            found[name] = INTERRUPTED
        else:
            seconds = limits.part(1 / ahead).remaining()
            ahead -= 1
            found[name] = other = _attempt(made, name, seconds, progress)
            stopped = was_interrupted(other)
        if row is not None:
            row(name, found[name])
    return {name: found[name] for name in reasons}


def was_interrupted(other: Design | str) -> bool:
    """Return whether Ctrl-C ended a method, with a design or before it had one."""
    return other.interrupted if isinstance(other, Design) else other == INTERRUPTED


def _effort(name: str) -> tuple[bool, bool, int]:
    """Order the methods: those that need no search, then the simpler ones, which the table lists last.

    Methods that solve another method many times come at the end.
    """
    method = METHODS[name]
    return method.repeats is not None, method.solver == "auto", -list(METHODS).index(name)


def _attempt(made: Design, name: str, time_limit: float, progress: Progress | None) -> Design | str:
    asked = replace(made.question, epsilon=made.question.promised, together=None)
    try:
        return solved(made.domain, asked, name, GAP, time_limit, progress)
    except LdpoptError as error:
        return str(error).split("\n", maxsplit=1)[0]
    except KeyboardInterrupt:
        return INTERRUPTED


def checked_within(
    found: Mapping[str, Design | str], kept: Design, seconds: float
) -> dict[str, Design | str]:
    """Let the checker decide each design in an equal share of the seconds; return designs and verdicts.

    Args:
        found: the designs, or reasons why there is none.
        kept: the design that is kept, which was checked already.
        seconds: the seconds of all the others together.
    """
    share = max(seconds / max(len(found), 1), LEAST_PATIENCE)

    def checked(other: Design | str) -> Design | str:
        if isinstance(other, str):
            return other
        if other.method == kept.method:
            return kept
        return replace(other, decided=verify_within(other.to_json(), share))

    return {name: checked(other) for name, other in found.items()}


def best(
    found: Mapping[str, Design | str], goal: str = "estimates", queries: Sequence[str] = ()
) -> Design:
    """Return the most useful of the designs.

    Args:
        found: the designs, or reasons why there is none.
        goal: what they are for, of :data:`ldpopt.release.methods.GOALS`.
        queries: the columns whose frequencies are wanted; all if not given.
    """
    return preferred([made for made in found.values() if isinstance(made, Design)], goal, queries)


def to_publish(made: Design, goal: str = "estimates", queries: Sequence[str] = ()) -> str:
    """Name the best method from whose mechanism no count can be computed back, and what it costs.

    It is sought among randomised response and, for estimates, balanced designs, without a certificate.

    Args:
        made: the design.
        goal: what it is for, of :data:`ldpopt.release.methods.GOALS`.
        queries: the columns whose frequencies are wanted; all if not given.
    """
    question, counts = made.question, made.question.counts
    named = "No count can be computed back from the mechanism"
    if question.composed:
        more = ", which promises more" * (not question.secrecy)
        return f"{named} of --robust all --method grr{more} [{NOT_CHECKED}]"
    if counts.size > MOST_LEARNT:
        return f"{named}s of --method srr, grr and subset [{NOT_CHECKED}]"
    asked = replace(question, epsilon=question.promised / question.reports, together=None)
    names = [name for name in ("srr", "learn", "grr", "mean") if METHODS[name].reason(asked) is None]
    found = {}
    for name in names:
        mechanism = METHODS[name].randomizer(asked, GAP, TOGETHER)
        assert mechanism is not None
        if goal == "information":
            found[name] = mechanism.information(question.p_hat.ravel())
        else:
            parts = accuracies(mechanism, counts, made.domain, queries)
            found[name] = -sum(part.squared_error for part in parts)
    best = max(found, key=lambda name: found[name])
    own = made.worth(goal, queries)
    what = "information" if goal == "information" else "squared error"
    known = math.isfinite(own) and own != 0 and math.isfinite(found[best])
    times = f"{found[best] / own:.2g}" if known else ""
    cost = f", with {'about the same' if times == '1' else f'{times} times the'} {what}" if known else ""
    return f"{named} of --method {best}{cost} [{NOT_CHECKED}]"
