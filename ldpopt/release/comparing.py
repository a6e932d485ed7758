"""Design by every method for the same question, and keep the most useful."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from ldpopt.core.errors import LdpoptError
from ldpopt.release.designing import GAP, SECONDS, Design, solved
from ldpopt.release.methods import applicable

INTERRUPTED = "interrupted"


def compare(
    made: Design,
    *,
    gap: float = GAP,
    time_limit: float = SECONDS,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Design | str]:
    """Make a design by every method for the same question, or give the reason why there is none.

    Ctrl-C keeps what is found; the reason of the other methods is then :data:`INTERRUPTED`.

    Args:
        made: the design whose question is asked again.
        gap: the relative gap to prove.
        time_limit: seconds for each method.
        progress: called with (finished, total) methods.
    """
    found: dict[str, Design | str] = {}
    stopped = made.interrupted
    reasons = applicable(made.question)
    for name, reason in reasons.items():
        if progress is not None:
            progress(len(found), len(reasons))
        if reason is not None:
            found[name] = reason
        elif name == made.method:
            found[name] = made
        elif stopped:
            found[name] = INTERRUPTED
        else:
            found[name] = other = _attempt(made, name, gap, time_limit)
            stopped = other.interrupted if isinstance(other, Design) else other == INTERRUPTED
    return found


def _attempt(made: Design, name: str, gap: float, time_limit: float) -> Design | str:
    asked = replace(made.question, epsilon=made.question.promised, together=None)
    try:
        return solved(made.domain, asked, name, gap, time_limit, None)
    except LdpoptError as error:
        return str(error).split("\n", maxsplit=1)[0]
    except KeyboardInterrupt:
        return INTERRUPTED


def best(
    found: Mapping[str, Design | str], goal: str = "information", queries: Sequence[str] = ()
) -> Design:
    """Return the most useful of the designs.

    Args:
        found: the designs, or reasons why there is none.
        goal: what they are for, of :data:`ldpopt.release.methods.GOALS`.
        queries: the columns whose frequencies are wanted; all without.
    """
    return max(
        (made for made in found.values() if isinstance(made, Design)),
        key=lambda made: made.worth(goal, queries),
    )
