"""What was found, and what is proven about it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from ldpopt.core.exact import CEILING, GAP_FLOOR
from ldpopt.core.form import Status
from ldpopt.core.number_text import at_most, bound_text, percent, value_text
from ldpopt.core.problem import INFORMATION
from ldpopt.core.validate import Array
from ldpopt.engine.result import Result
from ldpopt.engine.verifying import NOT_CHECKED
from ldpopt.models.utilities import entropy
from ldpopt.release.designed import Design
from ldpopt.report.loading import Loaded
from ldpopt.report.sections import Fact, Summary
from ldpopt.report.subject import title
from ldpopt.report.wording import abbreviated, number

STATUS_WORDS = {
    Status.OPTIMAL: "proven optimal among {among}, to the gap that was asked for",
    Status.GAP: "feasible, with a proven bound that is farther away than “optimal” allows",
    Status.FEASIBLE: "feasible; nothing is proven about better ones",
    Status.INFEASIBLE: "infeasible: the solver found that there is no answer",
    Status.UNBOUNDED: "unbounded: the solver found answers of any value",
    Status.LIMIT: "stopped by a limit before anything feasible was found",
}


def known_distribution(result: Result) -> Array | None:
    """Return the distribution under which the value is I(X; Y); None if the value is something else."""
    if result.mechanism is None or result.problem.measure != INFORMATION:
        return None
    return result.problem.subject(result.mechanism).p


def data_entropy(loaded: Loaded) -> float | None:
    """Compute H(X), the information of the data as they are, where the value is information."""
    p = known_distribution(loaded.result)
    return None if p is None else entropy(p)


def _share(loaded: Loaded) -> str | None:
    entropy, value = data_entropy(loaded), loaded.result.value
    return None if not entropy or value is None else percent(value / entropy)


def summary(loaded: Loaded, name: str) -> Summary:
    """State the result in one row, for the table that compares all."""
    result, made = loaded.result, loaded.content
    return Summary(
        name,
        title(loaded),
        f"{made.method if isinstance(made, Design) else result.solver} [{NOT_CHECKED}]",
        loaded.level or number(None),
        f"{_value(result)} {result.problem.measure.unit}".strip(),
        _share(loaded) or "–",
        _bound(result),
        _gap(result),
        loaded.verification.marked_utility(loaded.verification.status(result.status.value)),
    )


def _value(result: Result) -> str:
    """Write the value, rounded to the side on which it is proven."""
    if result.value is None:
        return number(None)
    return value_text(result.value, result.problem.sense, 6)


def _bound(result: Result) -> str:
    """Write the bound, rounded to the side on which it is proven."""
    if result.bound is None:
        return number(None)
    return bound_text(result.bound, result.problem.sense, 6)


def _gap(result: Result) -> str:
    """Write the gap, rounded up."""
    return number(None) if result.gap is None else at_most(result.gap, 2)


def answer(loaded: Loaded) -> list[Fact]:
    """State value, bound, gap and status, and what the reports are good for."""
    result, unit = loaded.result, loaded.result.problem.measure.unit
    sense = "less is better" if result.problem.sense == "minimise" else "more is better"
    certified = loaded.verification.certifies_utility  # else value and bound are marked
    marked = str if certified else loaded.verification.marked_utility
    value = f"{_value(result)} {unit}".strip()
    facts = [Fact("Value", marked(value), f"{result.problem.measure.name}; {sense}")]
    share, entropy = _share(loaded), data_entropy(loaded)
    if share is not None:
        note = f"of H(X) = {number(entropy)} nats, what the data as they are would tell; {NOT_CHECKED}"
        facts.append(Fact("Share", share, note))
    side = "below" if result.problem.sense == "minimise" else "above"
    if result.bound is None:
        facts.append(Fact("Bound", "none", "nothing is proven about better answers"))
    else:
        note = f"no answer of its kind (see the certificate) is {side}"
        if not loaded.verification.certifies_utility:
            note = f"the solver's word: no answer of its kind is {side}"
        facts.append(Fact("Bound", marked(f"{_bound(result)} {unit}".strip()), note))
    if result.gap is not None:
        least = f"or to {GAP_FLOOR:g} if both are smaller"
        note = f"distance of value and bound, relative to the larger, {least}"
        facts.append(Fact("Gap", marked(_gap(result)), note))
    facts.append(_status(loaded))
    facts.append(
        Fact("Solver", f"{result.solver} [{NOT_CHECKED}]", f"{result.seconds:.3g} s; {NOT_CHECKED}")
    )
    if isinstance(loaded.content, Design):
        facts += _use(loaded.content)
    if (ceiling := proven_ceiling(loaded)) is not None:
        note = "no mechanism that is private in this way has a higher value, by whatever method"
        facts.insert(3, Fact("Ceiling", f"{at_most(ceiling, 6)} {unit}".strip(), note))
    return facts


def _status(loaded: Loaded) -> Fact:
    """State how the solve ended; what that means is a fact only if the checker verified it."""
    status, verification = loaded.result.status, loaded.verification
    meaning = STATUS_WORDS[status].format(among=verification.among or "answers of its kind")
    if not verification.claims:
        meaning = f"{meaning}; {NOT_CHECKED}"
    elif not verification:
        meaning = verification.summary
    elif not verification.certifies_utility:
        meaning = f"the solver's word: {meaning}"
    return Fact("Status", verification.marked_utility(status.value), meaning)


def _use(made: Design) -> Iterator[Fact]:
    """State how useful the reports are."""
    if not (made.informs or math.isnan(made.information)):
        share = (
            f"{percent(made.information / made.entropy)} of H(X), what the data as they are would tell"
        )
        yield Fact("Information", f"{number(made.information)} nats", f"{share}; {NOT_CHECKED}")
    inputs = made.inputs
    if made.domain.of_numbers:
        return
    if made.determined < inputs:
        note = f"frequencies of the data are determined by {made.rows:,} reports; the others are ranges"
        yield Fact("Estimates", f"{made.determined} of {inputs}", f"{note}; {NOT_CHECKED}")
    else:
        note = "times as many rows give the frequencies as precisely as the raw data do"
        yield Fact("Estimates", f"{made.sample_factor:.3g}", f"{note}; {NOT_CHECKED}")


def proven_ceiling(loaded: Loaded) -> float | None:
    """Return the verified bound on every private mechanism, where the bound is on those of a method."""
    found = [c.value for c in loaded.verification.claims if c.about == CEILING and c.holds]
    lowest = min(filter(None, found), default=None)
    return None if lowest == loaded.result.bound else lowest


def plain_answer(answer: Any) -> list[Fact]:
    """List an answer that is not a mechanism."""
    if not isinstance(answer, dict):
        return [] if answer is None else [Fact("answer", abbreviated(answer))]
    return [Fact(name, abbreviated(value)) for name, value in answer.items()]
