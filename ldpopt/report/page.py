"""A report on results: one page that anyone can read, print and check.

>>> from ldpopt.problems import Staircase
>>> from ldpopt.engine.verifying import verify
>>> from ldpopt.engine.solving import solve
>>> result = solve(Staircase(epsilon=1, prior=[0.4, 0.3, 0.2, 0.1]))
>>> part = described(Loaded("best.json", "0" * 64, result, verify(result)), "r1", seconds=0)
>>> part.title, part.verified, [fact.text for fact in part.answer][0]
('staircase, ε = 1', True, '0.121973 nats')
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from scipy.special import entr

from ldpopt.audit.auditing import Audit, audit
from ldpopt.checker.frame import Claim
from ldpopt.core.mechanism import Mechanism
from ldpopt.core.problem import Problem
from ldpopt.core.status import Status
from ldpopt.core.validate import Array
from ldpopt.engine.result import Result
from ldpopt.release.designing import Design
from ldpopt.release.methods import METHODS
from ldpopt.release.words import against, caveat
from ldpopt.report import figures as reportfigures
from ldpopt.report import tradeoff
from ldpopt.report.files import Loaded
from ldpopt.report.reproducing import Command, design_commands, embedded_table, result_commands
from ldpopt.tables import datasets
from ldpopt.tables.domain import Attribute

LARGE, MOST_CELLS = 40, 40_000
"""Mechanisms with more rows or columns are drawn, the table folded; with more cells there is none."""
AUDIT_SAMPLES, AUDIT_CONFIDENCE = 200_000, 1 - 1e-6
"""Reports per secret that are attacked, and how sure an attack must be to fail a result."""
LEAST = 1e-6
"""Probabilities below this are shown as ≈ 0."""

Progress = Callable[[int, int], None]


# ------------------------------------------------------------ what the page shows


class Fact(NamedTuple):
    """A line of a list: a name, what is to be said, and why that matters."""

    name: str
    text: str
    note: str = ""


class Cell(NamedTuple):
    """A probability: as text, and as the share of the largest one that shades it."""

    text: str
    shade: float


class Group(NamedTuple):
    """Inputs with the same secret."""

    name: str
    rows: list[tuple[str, list[Cell]]]


@dataclass(frozen=True)
class Heatmap:
    """A mechanism as a table; ``image`` stands before it if it is large."""

    shape: tuple[int, int]
    corner: str
    outputs: list[str]
    groups: list[Group]
    overall: list[Cell]
    largest: str
    image: str
    large: bool


@dataclass(frozen=True)
class Curve:
    """The trade-off curve, its numbers as a table, and what was not computed."""

    svg: Markup
    levels: list[str]
    rows: list[tuple[str, str, list[str]]]
    omitted: tuple[str, ...]
    sentence: str


class Grid(NamedTuple):
    """A small labelled table."""

    corner: str
    columns: list[str]
    rows: list[tuple[str, list[str]]]


class Summary(NamedTuple):
    """The row of a result in the table that compares all."""

    id: str
    title: str
    method: str
    epsilon: str
    value: str
    share: str
    bound: str
    gap: str
    status: str
    verified: bool | None


@dataclass(frozen=True)
class Part:
    """All that the page says about one result."""

    id: str
    title: str
    path: str
    complaint: str
    explanation: list[str]
    question: list[Fact]
    answer: list[Fact]
    plain_answer: list[Fact]
    mechanism: Heatmap | None
    claims: tuple[Claim, ...]
    verified: bool
    curve: Curve | None
    curve_sentence: str
    audit: Audit | None
    audit_facts: list[Fact]
    witness: Grid | None
    commands: list[Command]
    provenance: list[Fact]
    summary: Summary

    @property
    def sound(self) -> bool:
        """Whether every claim holds and the audit, if there is one, was passed."""
        return self.verified and (self.audit is None or self.audit.passed)


def described(loaded: Loaded, name: str, seconds: float, progress: Progress | None = None) -> Part:
    """What the page says about a result.

    Args:
        loaded: the result.
        name: the id of the part; other ids begin with it.
        seconds: how long the trade-off curve may take; 0 for none.
        progress: called with (finished, total) solves of the curve.
    """
    content, result = loaded.content, loaded.result
    made = content if isinstance(content, Design) else None
    curve, sentence = _curve(loaded, name, seconds, progress)
    return Part(
        id=name,
        title=_title(loaded),
        path=loaded.path,
        complaint=loaded.complaint,
        explanation=_explanation(loaded),
        question=_design_question(made) if made else _problem_question(result.problem),
        answer=_answer(loaded),
        plain_answer=[] if result.mechanism else _plain_answer(result.answer),
        mechanism=_heatmap(loaded),
        claims=loaded.verification.claims,
        verified=bool(loaded.verification),
        curve=curve,
        curve_sentence=sentence,
        audit=_audited(content),
        audit_facts=_worst_case(made) if made else _certificate_audit(result),
        witness=_witness(made) if made else None,
        commands=design_commands(made, loaded.path) if made else result_commands(result, loaded.path),
        provenance=_provenance(loaded),
        summary=_summary(loaded, name),
    )


def parts(results: Sequence[Loaded], seconds: float, progress: Progress | None = None) -> list[Part]:
    """A part for every result; all their curves together take about ``seconds``."""
    return [
        described(loaded, f"r{i + 1}", seconds / len(results), progress)
        for i, loaded in enumerate(results)
    ]


def page(parts: Sequence[Part]) -> str:
    """The whole page as HTML that loads nothing from anywhere."""
    environment = Environment(
        loader=PackageLoader("ldpopt.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = number
    return environment.get_template("report.html").render(
        title=parts[0].title if len(parts) == 1 else f"{len(parts)} results",
        parts=parts,
        style=Markup(
            files("ldpopt.report").joinpath("templates", "report.css").read_text(encoding="utf-8")
        ),
    )


# ------------------------------------------------------------ the question


def _title(loaded: Loaded) -> str:
    made = loaded.content
    level = "" if loaded.epsilon is None else f", ε = {loaded.epsilon:g}"
    if not isinstance(made, Design):
        return f"{made.problem.kind}{level}"
    public = f", {made.domain.public.name} released" if made.domain.public else ""
    return f"{made.domain.secret.name} hidden{public}{level}"


def _explanation(loaded: Loaded) -> list[str]:
    made = loaded.content
    if not isinstance(made, Design):
        told, _ = _documented(type(made.problem))
        return told if loaded.epsilon is None else [*told, _level_in_words(loaded.epsilon)]
    secret, factor = made.domain.secret.name, math.exp(made.question.epsilon)
    people = f"Every row of the table is one person with a value of {secret}"
    if made.domain.public is None:
        first = f"{people}. The mechanism turns it into a random report that hides it."
    else:
        first = (
            f"{people} and one of {made.domain.public.name}. The mechanism turns both into one random "
            f"report, which tells as much as possible about the row and yet hides {secret}."
        )
    second = (
        f"Privacy level ε = {made.question.epsilon:g}: no report is more than e^ε = {factor:.3g} times "
        f"as likely for one value of {secret} as for another. Whoever sees a report, and knows nothing "
        f"else about the person, can shift the odds between two values of {secret} by that factor at "
        f"most. This holds {against(made)}."
    )
    return [first, second, *([f"Beware: {caveat(made)}."] if caveat(made) else [])]


def _level_in_words(epsilon: float) -> str:
    return (
        f"Privacy level ε = {epsilon:g}: no report is more than e^ε = {math.exp(epsilon):.3g} times as "
        "likely for one value of what is hidden as for another."
    )


def _design_question(made: Design) -> list[Fact]:
    domain, question = made.domain, made.question
    public = "nothing: all of the data are secret" if domain.public is None else _values(domain.public)
    return [
        Fact("Hidden", _values(domain.secret)),
        Fact("Released", public),
        Fact("Table", f"{int(question.counts.sum()):,} rows"),
        Fact("Method", f"{made.method}: {METHODS[made.method].summary}"),
    ]


def _values(attribute: Attribute) -> str:
    labels = attribute.labels
    more = f" and {len(labels) - 12} more" if len(labels) > 12 else ""
    return f"{attribute.name}, {len(labels)} values: {'; '.join(labels[:12])}{more}"


def _problem_question(problem: Problem) -> list[Fact]:
    _, meanings = _documented(type(problem))
    return [
        Fact(name, abbreviated(value), meanings.get(name, ""))
        for name, value in problem.to_params().items()
    ]


def _documented(cls: type[Problem]) -> tuple[list[str], dict[str, str]]:
    """The paragraphs of a problem's docstring, and what it says about each parameter."""
    meanings: dict[str, str] = {}
    for ancestor in reversed(cls.__mro__):
        _, _, arguments = _plain_words(ancestor.__doc__ or "").partition("Args:\n")
        for name, text in re.findall(r"^    (\w+): (.*(?:\n {6,}.*)*)", arguments, re.MULTILINE):
            meanings[name] = " ".join(text.split())
    told = _plain_words(cls.__doc__ or "").partition("Args:\n")[0].partition(">>>")[0]
    paragraphs = re.split(r"\n\n|\n(?=– )", told)
    return [" ".join(text.split()) for text in paragraphs if text.strip()], meanings


def _plain_words(docstring: str) -> str:
    """A docstring without the marks of reStructuredText."""
    text = inspect.cleandoc(docstring)
    text = re.sub(r":\w+:`([^`]*)`", r"\1", text).replace("``", "")
    return re.sub(r"^\* ", "– ", text, flags=re.MULTILINE)


# ------------------------------------------------------------ the answer

STATUS_WORDS = {
    Status.OPTIMAL: "proven optimal among answers of its kind, to the relative gap that was asked for",
    Status.GAP: "feasible, with a proven bound that is farther away than was asked for",
    Status.FEASIBLE: "feasible; nothing is proven about better ones",
    Status.INFEASIBLE: "infeasible: the solver found that there is no answer",
    Status.UNBOUNDED: "unbounded: the solver found answers of any value",
    Status.LIMIT: "stopped by a limit before anything feasible was found",
}

ROBUST = ("polyopt", "independent-reporting", "grr-conditional", "ue-conditional")
MEASURES = {
    **dict.fromkeys((*ROBUST, "secret-staircase"), ("information released, I(X; Y)", "nats")),
    **dict.fromkeys(("circulant-fidelity", "square-fidelity", "broad-fidelity"), ("φ", "")),
    **dict.fromkeys(("fidelity", "minimax-fidelity"), ("α: times as many reports as without noise", "")),
    **dict.fromkeys(("asymptotic-utility", "privacy-utility-frontier"), ("asymptotic utility", "nats")),
    "statistic-leakage": ("statistic maximal leakage", "nats"),
    "leakage-design": ("worst expected distortion", ""),
    "composition-bound": ("exposure, a share of the users", ""),
    "feature-release": ("weight of the released features", ""),
}
"""What the value of each kind of problem is, and its unit."""
UTILITIES = {
    "mutual-information": ("information released, I(X; Y)", "nats"),
    "kl": ("Kullback–Leibler divergence", "nats"),
    "total-variation": ("total variation", ""),
    "chi-squared": ("χ² divergence", ""),
}
"""The same for the utilities of a staircase."""


def _measure(problem: Problem) -> str:
    if problem.kind == "staircase":
        return UTILITIES.get(getattr(problem, "utility", ""), ("utility", ""))[0]
    return MEASURES.get(problem.kind, ("objective", ""))[0]


def _unit(problem: Problem) -> str:
    if problem.kind == "staircase":
        return UTILITIES.get(getattr(problem, "utility", ""), ("utility", ""))[1]
    return MEASURES.get(problem.kind, ("objective", ""))[1]


def _distribution(problem: Problem) -> Array | None:
    """The distribution under which the value is I(X; Y); None if the value is something else."""
    if problem.kind in ROBUST and getattr(problem, "objective", "empirical") == "empirical":
        return problem.uncertainty.p_hat.ravel()  # type: ignore[attr-defined]
    if problem.kind == "secret-staircase" or _measure(problem) == UTILITIES["mutual-information"][0]:
        return np.ravel(problem.prior)  # type: ignore[attr-defined]
    return None


def _entropy(loaded: Loaded) -> float | None:
    """H(X), the information of the data as they are, where the value is information."""
    p = _distribution(loaded.result.problem)
    return None if p is None else float(entr(p).sum())


def _share(loaded: Loaded) -> str | None:
    entropy, value = _entropy(loaded), loaded.result.value
    return None if not entropy or value is None else f"{value / entropy:.1%}"


def _summary(loaded: Loaded, name: str) -> Summary:
    result, made = loaded.result, loaded.content
    return Summary(
        name,
        _title(loaded),
        made.method if isinstance(made, Design) else result.solver,
        number(loaded.epsilon),
        f"{number(result.value)} {_unit(result.problem)}".strip(),
        _share(loaded) or "–",
        number(result.bound),
        number(result.gap, 2),
        result.status.value,
        bool(loaded.verification) if loaded.verification.claims else None,
    )


def _answer(loaded: Loaded) -> list[Fact]:
    result, unit = loaded.result, _unit(loaded.result.problem)
    sense = "less is better" if result.problem.sense == "minimise" else "more is better"
    facts = [
        Fact("Value", f"{number(result.value)} {unit}".strip(), f"{_measure(result.problem)}; {sense}")
    ]
    share, entropy = _share(loaded), _entropy(loaded)
    if share is not None:
        note = f"of H(X) = {number(entropy)} nats, what the data as they are would tell"
        facts.append(Fact("Share", share, note))
    side = "below" if result.problem.sense == "minimise" else "above"
    if result.bound is None:
        facts.append(Fact("Bound", "none", "nothing is proven about better answers"))
    else:
        note = f"no answer of its kind (see the certificate) is {side}"
        facts.append(Fact("Bound", f"{number(result.bound)} {unit}".strip(), note))
    if result.gap is not None:
        note = "distance of value and bound, relative to the larger"
        facts.append(Fact("Gap", number(result.gap, 2), note))
    facts.append(Fact("Status", result.status.value, STATUS_WORDS[result.status]))
    facts.append(Fact("Solver", result.solver, f"{result.seconds:.3g} s"))
    if isinstance(loaded.content, Design):
        facts += _use(loaded.content)
    if (ceiling := _ceiling(result)) is not None:
        note = "nothing that is private in this way is above, by whatever method"
        facts.insert(3, Fact("Ceiling", f"{number(ceiling)} {unit}".strip(), note))
    return facts


def _use(made: Design) -> Iterator[Fact]:
    """What the reports are good for."""
    if not METHODS[made.method].informs:
        share = f"{made.information / made.entropy:.1%} of H(X), what the data as they are would tell"
        yield Fact("Information", f"{number(made.information)} nats", share)
    inputs = made.mechanism.shape[0]
    if made.rank < inputs:
        note = "dimensions of the distribution of the data; for the rest estimates are ranges"
        yield Fact("Estimates", f"{made.rank} of {inputs}", note)
    else:
        note = "times as many rows give the frequencies as precisely as the raw data do"
        yield Fact("Estimates", f"{made.sample_factor:.3g}", note)


def _ceiling(result: Result) -> float | None:
    """The bound on every private mechanism, where the bound is one on the method's own."""
    found = (result.certificate.proof or {}).get("ceiling")
    return found if isinstance(found, float) and found != result.bound else None


def _plain_answer(answer: Any) -> list[Fact]:
    if not isinstance(answer, dict):
        return [] if answer is None else [Fact("answer", abbreviated(answer))]
    return [Fact(name, abbreviated(value)) for name, value in answer.items()]


def number(value: Any, digits: int = 6) -> str:
    """A number as the page shows it; a dash for none.

    >>> number(0.6293585414035195), number(None), number(32561), number(math.inf)
    ('0.629359', '–', '32561', '∞')
    """
    if value is None:
        return "–"
    if value == math.inf:
        return "∞"
    return f"{value:.{digits}g}" if isinstance(value, float) else str(value)


def abbreviated(value: Any, most: int = 8) -> str:
    """Plain data as text, long arrays cut short.

    >>> abbreviated([[0.125, 1]] + [[2, 3]] * 20)
    '[[0.125, 1], [2, 3], [2, 3], [2, 3], [2, 3], [2, 3], … 21 in all]'
    """
    if isinstance(value, dict):
        return ", ".join(f"{name}: {abbreviated(part, most)}" for name, part in value.items())
    if not isinstance(value, (list, tuple)):
        return number(value)
    shown = [abbreviated(part, most) for part in value[: most if len(value) <= most else most - 2]]
    more = [f"… {len(value)} in all"] if len(value) > most else []
    return f"[{', '.join(shown + more)}]"


# ------------------------------------------------------------ the mechanism


def _heatmap(loaded: Loaded) -> Heatmap | None:
    mechanism = loaded.result.mechanism
    if mechanism is None:
        return None
    corner, named = _named_inputs(loaded.content, mechanism)
    largest = float(mechanism.matrix.max())
    p = _distribution(loaded.result.problem)
    rows, columns = mechanism.shape
    fits = rows * columns <= MOST_CELLS
    large = max(rows, columns) > LARGE
    secrets = [list(group) for _, group in groupby(named, key=lambda pair: pair[0])]
    return Heatmap(
        shape=mechanism.shape,
        corner=corner,
        outputs=[_label(output) for output in mechanism.outputs],
        groups=list(_groups(named, mechanism.matrix, largest)) if fits else [],
        overall=_cells(p @ mechanism.matrix, largest) if fits and p is not None else [],
        largest=f"{largest:.3f}",
        image=reportfigures.mechanism_png(mechanism, [len(group) for group in secrets]) if large else "",
        large=large,
    )


def _named_inputs(content: Design | Result, mechanism: Mechanism) -> tuple[str, list[tuple[str, str]]]:
    """The word for an input, and for every row its secret ("" without groups) and its own name."""
    if isinstance(content, Design):
        secret, public = content.domain.secret, content.domain.public
        if public is None:
            return secret.name, [("", label) for label in secret.labels]
        pairs = [(f"{secret.name}: {s}", u) for s in secret.labels for u in public.labels]
        return public.name, pairs
    joint = [label for label in mechanism.inputs if isinstance(label, tuple) and len(label) == 2]
    if len(joint) == len(mechanism.inputs):
        return "public value", [(f"secret: {label[0]}", str(label[1])) for label in joint]
    return "input", [("", _label(label)) for label in mechanism.inputs]


def _groups(named: list[tuple[str, str]], matrix: Array, largest: float) -> Iterator[Group]:
    rows = iter(matrix)
    for name, members in groupby(named, key=lambda pair: pair[0]):
        yield Group(name, [(label, _cells(next(rows), largest)) for _, label in members])


def _cells(row: Iterable[float], largest: float) -> list[Cell]:
    return [Cell(_probability(p), round(p / largest, 3)) for p in row]


def _probability(p: float) -> str:
    """Three decimals, or what there is below them; what the repair to exact arithmetic left is ≈ 0."""
    if p == 0 or p >= 0.001:
        return f"{p:.3f}" if p else "0"
    return f"{p:.0e}" if p >= LEAST else "≈ 0"


def _label(label: Any) -> str:
    return ", ".join(map(str, label)) if isinstance(label, tuple) else str(label)


# ------------------------------------------------------------ the trade-off


def _curve(
    loaded: Loaded, name: str, seconds: float, progress: Progress | None
) -> tuple[Curve | None, str]:
    """The curve, or the sentence that says why there is none."""
    content, result = loaded.content, loaded.result
    if not tradeoff.has_level(result):
        what = "has no level ε to vary" if loaded.epsilon is None else "has no value to compare"
        return None, f"There is no curve over ε: the problem {result.problem.kind} {what}."
    if not loaded.verification:
        return None, "No curve was computed: the result is refuted."
    if seconds <= 0:
        return None, "No curve was computed, as asked (--curve-seconds 0)."
    if isinstance(content, Design):
        found = tradeoff.of_design(content, seconds, progress)
    else:
        found = tradeoff.of_result(content, seconds, progress)
    return _drawn(found, loaded, name), ""


def _curve_measure(loaded: Loaded) -> str:
    """What the curve is about; designs are compared by their information, whatever they optimise."""
    if isinstance(loaded.content, Design):
        return "information released, I(X; Y) (nats)"
    problem = loaded.result.problem
    return f"{_measure(problem)} ({_unit(problem)})" if _unit(problem) else _measure(problem)


def _drawn(found: tradeoff.TradeOff, loaded: Loaded, name: str) -> Curve:
    measure = _curve_measure(loaded)
    title = f"{measure} over the privacy level ε".capitalize()
    own, names = found.own, ", ".join(series.name for series in found.series)
    description = (
        f"Curves of {names}. This result: {number(own.value)} at ε = {own.epsilon:g}. "
        "All numbers are in the table below the figure."
    )
    svg = reportfigures.curve_svg(
        found,
        measure,
        loaded.content.entropy if isinstance(loaded.content, Design) else _entropy(loaded),
        {"its proven bound": own.bound, "bound of every method": _ceiling(loaded.result)},
        f"{name}-curve",
        title,
        description,
    )
    rows = []
    for series in found.series:
        at = {point.epsilon: point for point in series.points}
        values = [number(at[level].value, 4) if level in at else "–" for level in found.levels]
        rows.append((series.name, series.summary, values))
    sentence = (
        f"Each point is the same question at another ε, to a relative gap of {tradeoff.GAP:g} or until "
        f"{tradeoff.SECONDS:g} s have passed; all together took {found.seconds:.0f} s."
    )
    return Curve(Markup(svg), [f"{level:.4g}" for level in found.levels], rows, found.omitted, sentence)


# ------------------------------------------------------------ the audit


def _audited(content: Design | Result) -> Audit | None:
    """Every measure of a mechanism, and an attack on its sampler."""
    if isinstance(content, Result) and content.mechanism is None:
        return None
    return audit(content, samples=AUDIT_SAMPLES, confidence=AUDIT_CONFIDENCE)


def _worst_case(made: Design) -> list[Fact]:
    level, labels = made.level, made.domain.secret.labels
    return [
        Fact("Report", _label(made.mechanism.outputs[level.y]), "the one that tells most"),
        Fact("Secrets", f"{labels[level.s]} against {labels[level.other]}"),
        Fact(
            "Factor", f"{math.exp(level.level):.4g}", f"of {math.exp(made.question.epsilon):.4g} allowed"
        ),
    ]


def _witness(made: Design) -> Grid | None:
    """The distribution of the set that attains the level, as P(u | s), for the two secrets."""
    if made.domain.public is None:
        return None
    level, secrets = made.level, made.domain.secret.labels
    rows = []
    for s in (level.s, level.other):
        total = level.witness[s].sum()
        given = level.witness[s] / total if total > 0 else level.witness[s]
        rows.append((secrets[s], [f"{p:.4f}" for p in given]))
    return Grid(made.domain.secret.name, list(made.domain.public.labels), rows)


def _certificate_audit(result: Result) -> list[Fact]:
    meanings = {
        "level": "the exact level that was measured on the answer",
        "product_level": "the same over the larger product set",
        "output": "the report that tells most",
        "secrets": "the two secrets that it tells apart best",
        "witness": "the distribution [s][u] of the set for which that is so",
    }
    return [
        Fact(name.replace("_", " "), abbreviated(value), meanings.get(name, ""))
        for name, value in result.certificate.audit.items()
    ]


# ------------------------------------------------------------ how to reproduce it


def _provenance(loaded: Loaded) -> list[Fact]:
    made = loaded.content
    facts = [Fact("File", loaded.path), Fact("SHA-256 of the file", loaded.digest)]
    if isinstance(made, Design):
        facts.append(Fact("Fingerprint of the mechanism", made.fingerprint))
    versions = ", ".join(f"{name} {version}" for name, version in loaded.result.environment.items())
    facts.append(Fact("Computed with", versions))
    if isinstance(made, Design) and (name := embedded_table(made)):
        facts.append(Fact("Data", datasets.source(), f"the embedded table {name}"))
    return facts
