"""The claims that all files have in common, and the opinion on a file."""

import itertools
from fractions import Fraction

from second_checker import (
    asymptotic,
    columns,
    designs,
    encodings,
    exposure,
    fidelity,
    leakage,
    levels,
    numeric,
    optimum,
    polyopt,
    programs,
    publics,
    queries,
    releases,
    reporting,
    set_optima,
)
from second_checker.intervals import both
from second_checker.reading import UnreadableError, demand, document, plain, word

SECTIONS = {
    "staircase": columns,
    "secret-staircase": columns,
    "program": programs,
    "circulant-fidelity": fidelity,
    "square-fidelity": fidelity,
    "broad-fidelity": fidelity,
    "fidelity": fidelity,
    "minimax-fidelity": fidelity,
    "statistic-leakage": leakage,
    "leakage-design": leakage,
    "polyopt": polyopt,
    "robust-optimum": optimum,
    "robust-fidelity": queries,
    "robust-level": levels,
    "set-optimum": set_optima,
    "independent-reporting": reporting,
    "grr-conditional": reporting,
    "ue-conditional": reporting,
    "asymptotic-utility": asymptotic,
    "privacy-utility-frontier": asymptotic,
    "composition-bound": exposure,
    "feature-release": releases,
    "frequency-encoding": encodings,
    "numeric-mean": numeric,
}
FORMS = (
    "column-program",
    "private-mechanism",
    "matrix-program",
    "moment-program",
    "minimax-program",
    "selection-program",
    "leakage-program",
    "convex-program",
    "polyopt",
    "robust-optimum",
    "query-program",
    "robust-level",
    "set-optimum",
    "reporting",
    "composition-bound",
    "feature-release",
    "encoding",
    "numeric-mean",
    "program",
)
"""The forms of statements; on all but the last there is no opinion, other than by a kind."""
COVERED = tuple(SECTIONS)
"""The kinds on which there is a second opinion."""


def opinion(content):
    """What this checker says: "verified", "refuted", "unreadable", or None where it cannot tell.

    "open" is said of a file that does not decide its own promise.
    """
    try:
        found = plain(content)
        if "public" in found:
            return verdict(publics.claims(found))
        document(found)
        if found["problem"] not in SECTIONS:
            return stated(found)
        demand("statement" not in found, "the kind says what is asked")
        section = SECTIONS[found["problem"]]
        named = [section.claims(found), common(found, section.maximise(found))]
        if "design" in found:
            named.append(designs.claims(found))
        return verdict(itertools.chain(*named))
    except (UnreadableError, KeyError, TypeError, OverflowError):
        return "unreadable"


def stated(found):
    """The opinion on a file of another package's kind: on its statement, if that is a program."""
    demand("statement" in found and "design" not in found, "a statement alone")
    asked = dict(found["statement"])
    form = word(asked.pop("form"), FORMS)
    if form != "program":
        return None
    found = found | {"params": asked}
    if "inputs" in asked:
        return verdict(programs.claims(found))
    return verdict(itertools.chain(programs.claims(found), common(found, programs.maximise(found))))


def verdict(claims):
    """What the answers to all claims say together; after one that is False no more are asked for."""
    answers = []
    for _, answer in claims:
        answers.append(answer)
        if answer is False:
            break
    found = {True: "verified", False: "refuted", None: None}[both(*answers)]
    return "open" if found == "verified" and "open" in answers else found


UNSCALED = ("statistic-leakage", "leakage-design")
"""The kinds whose optimum of zero may be missed by the rounding of floats."""


def common(found, maximise):
    """The claims about order, gap and status."""
    if found["bound"] is None:
        return
    value, bound = Fraction(found["value"]), Fraction(found["bound"])
    yield "order", value <= bound if maximise else value >= bound
    gap = abs(bound - value) / max(abs(value), abs(bound), Fraction(1e-4))
    if "gap" in found:
        yield "gap", abs(Fraction(found["gap"]) - gap) <= gap / 2**50
    if found["status"] == "optimal":
        yield "optimal", gap <= min(Fraction(found["certificate"]["gap"]), Fraction(1e-6))
        noise = Fraction(1e-15) if found["problem"] in UNSCALED else 0
        near = max(abs(value) / 100, abs(bound) / 100, noise)
        yield "near", abs(bound - value) <= near
