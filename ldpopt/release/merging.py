"""Choose into how many groups the public values of a wide table are merged, by the mechanism's value.

More groups say more of u, but rare groups widen the polytopes around the confidence set, and with them
the mechanism gets worse: which width is best depends on the table and on ε, so it is tried.
"""

from __future__ import annotations

import math
from dataclasses import replace

from ldpopt.engine.solving import solve, whole_answers
from ldpopt.problems.polyopt import PolyOpt
from ldpopt.release.methods import METHODS
from ldpopt.release.question import MOST_PUBLIC, Question

WIDTHS = (2, 3, 5, 7, 10)
"""The widths that are tried, from the narrowest, until the mechanism gets worse.

With few public values and many secrets, all values are also tried unmerged, last.
"""
ROUGH_GAP, SHARE = 1e-2, 0.1
"""The gap to which a width is tried, and the share of the time that each may take."""


def with_width(question: Question, method: str, time_limit: float) -> Question:
    """Return the question with the number of groups chosen, if its method merges public values.

    Args:
        question: what is asked; a width that it states is kept.
        method: the name of the method.
        time_limit: seconds of this and of the solve that follows.
    """
    most = question.merged_width()
    problem = METHODS[method].problem(question)
    if question.width is not None or most is None:
        return question
    if not isinstance(problem, PolyOpt) or problem.width is None:
        return question
    best, width, values = -math.inf, WIDTHS[0], question.counts.shape[1]
    all_apart = [values] if values <= MOST_PUBLIC else []
    for tried in [*(w for w in WIDTHS if w <= most), *all_apart]:
        merged = tried if tried < values else None
        trial = replace(problem, width=merged, groups=None, calibrate=False)
        with whole_answers():  # what Ctrl-C leaves of a trial tells nothing about its width
            found = solve(trial, gap=ROUGH_GAP, time_limit=max(SHARE * time_limit, 1e-3))
        if found.value is None or found.value <= best:
            break
        best, width = found.value, tried
    return replace(question, width=width)
