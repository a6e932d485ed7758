"""What a design promises, for whom, and what it does not, in words."""

from __future__ import annotations

import math

from ldpopt.release.designing import AnyDesign, Design


def promise(made: AnyDesign) -> str:
    """Say what ε means for this table."""
    asked, epsilon = made.promise, made.promise.epsilon
    several = (
        f"{asked.reports} reports about one person together have the level {asked.total:g}; "
        if asked.reports > 1
        else ""
    )
    factor = math.exp(epsilon)
    return (
        f"{several}ε = {epsilon:.4g}: no report is more than {factor:.3g} times as likely for one value "
        f"of {made.domain.secret.name} as for another"
    )


def against(made: AnyDesign) -> str:
    """Say for which distributions the promise holds."""
    asked, joint = made.promise, made.domain.shape[1] > 1
    if joint and asked.robust == "known":
        return "if the data have the distribution of the table"
    if joint and asked.robust == "chi2":
        return f"for all distributions that a χ² test at {asked.alpha:.2g} does not reject"
    return "whatever the distribution of the data"


def caveat(made: Design) -> str:
    """Say what the promise does not cover: observers who know the public value of a person."""
    level, epsilon = made.level_given_public, made.question.epsilon
    if made.domain.public is None or level <= epsilon * (1 + 1e-9):
        return ""
    secret, public = made.domain.secret.name, made.domain.public.name
    factor = "without limit" if level == math.inf else f"by a factor of {math.exp(level):.3g}"
    return (
        f"whoever knows the {public} of a person can tell two values of {secret} apart {factor}; "
        "--robust all hides it from them, too"
    )
