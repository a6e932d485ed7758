"""The errors of estimates at the same promise: of ldpopt, other packages, mechanisms by hand, a curator.

The promise is ε-LDP for a whole row, whatever else is known of its person; or, where a column is told as
it is, for the answer of everybody whose value there is known. Errors are root mean squared ones about
the frequencies of the rows, or their mean, without bias: what the reports add. They are computed from
the laws of the mechanisms. Other packages are also run, by their own code, with ldpopt beside them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldpopt.bench.comparison import OURS, is_here
from ldpopt.bench.peers import DIRECT, UNARY, Protocol, clipped
from ldpopt.core.validate import Array, Whole
from ldpopt.engine.sweep import Row
from ldpopt.measures.numeric_report_variance import published_moments
from ldpopt.mechanisms.randomizer import Values, seeded_words
from ldpopt.release.accuracy import column_groups, likely
from ldpopt.release.designed import Design
from ldpopt.release.designing import design

SOURCE = "statsmodels"
"""The package of the tables."""
LEVELS = (1.0,)
ALL_LEVELS = (0.5, 1.0, 2.0, 4.0)
"""The levels of a short comparison and of a long one."""
RUNS = 20
"""How often another package makes and counts the reports of a table."""
BY_HAND = "randomised response"
CURATOR = "curator: geometric noise"
MARGINS, CELLS, GIVEN, MEAN = "two margins", "cells", "cells, second column told", "mean"
"""The questions."""

Codes = Whole
SUBSET = Protocol("SS", "SS", ("", ""))
Estimates = Callable[[], Array]
"""Makes and counts the reports of all rows once."""


class Survey(NamedTuple):
    """Two columns of words and one of numbers.

    Attributes:
        name: the name of the table in its package.
        columns: the cells of the two columns, by name.
        number: the name of the column of numbers.
        numbers: its cells.
        ends: the range of the numbers, stated without looking at them.
    """

    name: str
    columns: dict[str, NDArray[np.str_]]
    number: str
    numbers: Array
    ends: tuple[float, float]

    @property
    def rows(self) -> int:
        """The number of people."""
        return len(self.numbers)


class Rival(NamedTuple):
    """A way to the same frequencies or the same mean.

    Attributes:
        name: of its mechanism.
        error: its root mean squared error.
        run: how its package makes and counts reports; None if the error is only computed.
    """

    name: str
    error: float
    run: Estimates | None = None


def error_rows(full: bool, time_limit: float) -> Iterator[list[Row]]:
    """Yield the rows of each question: a table, a level, and what is asked.

    Args:
        full: at more levels.
        time_limit: seconds of a design.
    """
    if not is_here(SOURCE):
        yield [_row("", "", 1.0, Rival(SOURCE, math.nan), math.nan) | {"reason": "absent"}]
        return
    for survey in surveys():
        for epsilon in ALL_LEVELS if full else LEVELS:
            for ask in (_margins, _cells, _given, _mean):
                yield ask(survey, epsilon, time_limit)


def surveys() -> Iterator[Survey]:
    """Read three tables: of couples, voters, and insured people."""
    from statsmodels import datasets

    fair = datasets.fair.load_pandas().data
    yield _survey("fair", fair, ("rate_marriage", "occupation_husb"), "age", (15, 50))
    voters = datasets.anes96.load_pandas().data
    yield _survey("anes96", voters, ("vote", "educ"), "age", (18, 100))
    insured = datasets.randhie.load_pandas().data
    marks = [insured[name] == 1 for name in ("hlthp", "hlthf", "hlthg")]
    insured["health"] = np.select(marks, ["poor", "fair", "good"], "excellent")
    insured["visits"] = insured["mdvis"].clip(upper=6)
    yield _survey("randhie", insured, ("health", "visits"), "disea", (0, 60))


def _survey(
    name: str, frame: Any, columns: Sequence[str], number: str, ends: tuple[float, float]
) -> Survey:
    words = {column: frame[column].astype(str).to_numpy(dtype=str) for column in columns}
    return Survey(name, words, number, frame[number].to_numpy(dtype=float), ends)


# ------------------------------------------------------------ the questions


def _margins(survey: Survey, epsilon: float, seconds: float) -> list[Row]:
    """Ask for the frequencies of both columns, of which nothing is told."""
    n, names = survey.rows, [*survey.columns]
    made = design(survey.columns, names, epsilon=epsilon, queries=names, time_limit=seconds)
    groups = column_groups(made.domain, names)
    columns = [Values(group.codes, len(group.labels)) for group in groups]
    codes = [_codes(column) for column in survey.columns.values()]
    shares = [np.bincount(column) / n for column in codes]

    def half(law: Law) -> float:
        return _rms([variances(p, *law(len(p), epsilon / 2), n) for p in shares])

    def drawn(law: Law) -> float:
        return _rms([variances(p, *law(len(p), epsilon), n, 0.5) for p in shares])

    rivals = [
        _ours(made, columns),
        Rival(f"{BY_HAND}, half of ε each", half(response)),
        Rival(f"{BY_HAND}, one column each", drawn(response), _multi_freq(codes, "GRR", epsilon)),
        Rival("subset selection, one column each", drawn(subset), _multi_freq(codes, "SS", epsilon)),
        Rival("optimised unary, one column each", drawn(unary), _multi_freq(codes, "UE", epsilon)),
        Rival("RS+FD", _rms([variances(p, *faked(len(p), epsilon), n) for p in shares])),
        Rival(CURATOR, geometric(epsilon / 2) / n),
    ]
    return _judged(MARGINS, f"{survey.name}: {', '.join(names)}", epsilon, rivals, shares)


def _cells(survey: Survey, epsilon: float, seconds: float) -> list[Row]:
    """Ask for the frequencies of all pairs of values, of which nothing is told."""
    n, (first, second) = survey.rows, survey.columns.values()
    pairs = np.char.add(np.char.add(first, " "), second)
    made = design({"pair": pairs}, "pair", epsilon=epsilon, time_limit=seconds)
    codes = _codes(pairs)
    p, k = np.bincount(codes) / n, int(codes.max()) + 1
    rivals = [
        _ours(made, [Values(np.arange(k), k)]),
        *(
            Rival(name, _rms([variances(p, *law(k, epsilon), n)]), _alone(codes, of, epsilon))
            for name, law, of in (
                (BY_HAND, response, DIRECT),
                ("subset selection", subset, SUBSET),
                ("optimised unary", unary, UNARY),
            )
        ),
        Rival(CURATOR, geometric(epsilon) / n),
    ]
    label = f"{survey.name}: {' × '.join(survey.columns)}"
    return _judged(CELLS, label, epsilon, rivals, [p])


def _given(survey: Survey, epsilon: float, seconds: float) -> list[Row]:
    """Ask for the same pairs, where the second column is told as it is."""
    n, (first, second) = survey.rows, survey.columns
    asked = {"epsilon": epsilon, "robust": "given", "time_limit": seconds}
    made = design(survey.columns, first, second, **asked)  # type: ignore[arg-type]
    joint = made.question.counts / n
    k = len(joint)

    def beside(law: Law) -> float:
        own, other = law(k, epsilon)
        marked = joint * own * (1 - own) + (joint.sum(axis=0) - joint) * other * (1 - other)
        return _rms([marked / n / (own - other) ** 2])

    rivals = [_ours(made, [Values(np.arange(joint.size), joint.size)])]
    for name, law in ((BY_HAND, response), ("subset selection", subset), ("optimised unary", unary)):
        rivals.append(Rival(f"{name}, {second} as it is", beside(law)))
    return _judged(GIVEN, f"{survey.name}: {first} × {second}", epsilon, rivals)


def _mean(survey: Survey, epsilon: float, seconds: float) -> list[Row]:
    """Ask for the mean of the numbers."""
    low, high = survey.ends
    numbers = {survey.number: survey.numbers}
    made = design(numbers, survey.number, epsilon=epsilon, mean_over=survey.ends, time_limit=seconds)
    half, n = (high - low) / 2, survey.rows
    x = np.clip((survey.numbers - low) / half - 1, -1, 1)
    (accuracy,) = made.accuracy()
    within = np.clip(survey.numbers, low, high)
    noise = accuracy.variances[0] * (high - low) ** 2 - within.var()
    rivals = [Rival(OURS, math.sqrt(noise / n))]
    for name, moments in published_moments(epsilon, x).items():
        rivals.append(Rival(name, half * math.sqrt((moments - x**2).mean() / n)))
    rivals.append(Rival("curator: Laplace noise", 2 * half * math.sqrt(2) / (n * epsilon)))
    return _judged(MEAN, f"{survey.name}: {survey.number}", epsilon, rivals)


# ------------------------------------------------------------ the laws of mechanisms

Law = Callable[[int, float], tuple[float, float]]
"""The chance that a report marks the own value, and another, of k values at level ε."""


def response(k: int, epsilon: float) -> tuple[float, float]:
    """Randomised response: the report is one value.

    >>> response(2, math.log(3))
    (0.75, 0.25)
    """
    own = 1 / (1 + (k - 1) * math.exp(-epsilon))
    return own, (1 - own) / (k - 1)


def subset(k: int, epsilon: float) -> tuple[float, float]:
    """Subset selection: the report is a set of about k/(e^ε + 1) values (Ye and Barg 2018).

    >>> subset(4, math.log(3)) == response(4, math.log(3))
    True
    """
    size = max(1, round(k / (math.exp(epsilon) + 1)))
    own = size / (size + (k - size) * math.exp(-epsilon))
    return own, own * (size - 1) / (k - 1) + (1 - own) * size / (k - 1)


def unary(k: int, epsilon: float) -> tuple[float, float]:
    """Optimised unary encoding: a bit per value (Wang et al. 2017)."""
    return 0.5, 1 / (math.exp(epsilon) + 1)


def faked(k: int, epsilon: float) -> tuple[float, float]:
    """One of two columns by randomised response, the other drawn uniformly (Arcolezi et al. 2021).

    Its authors state the level ln(1 + (e^ε' − 1)/2) where the response has the level ε', for one column
    may not be drawn. Two rows that differ in both are told apart at ε' (a test): here ε' = ε.
    """
    own, other = response(k, epsilon)
    return own / 2 + 1 / (2 * k), other / 2 + 1 / (2 * k)


def variances(shares: Array, own: float, other: float, n: float, drawn: float = 1.0) -> Array:
    """Compute the variances of unbiased frequencies about those of n rows.

    A report marks a value with the chance ``own`` if it is the person's, else with ``other``. Where a
    share of the people is drawn to report, the frequencies of the others are missing:

        ([p own (1 − own) + (1 − p) other (1 − other)]/(own − other)² + p (1 − p) (1 − drawn))/(drawn n)

    Args:
        shares: p, the frequencies of the rows.
        own: see above.
        other: see above.
        n: the rows.
        drawn: the share that reports.

    >>> variances(np.array([0.5, 0.5]), 0.75, 0.25, 3)
    array([0.25, 0.25])
    """
    marked = shares * own * (1 - own) + (1 - shares) * other * (1 - other)
    unseen = shares * (1 - shares) * (1 - drawn)
    found: Array = (marked / (own - other) ** 2 + unseen) / (drawn * n)
    return found


def geometric(epsilon: float) -> float:
    """Compute the standard deviation of geometric noise on counts, two of which may change by 1.

    >>> geometric(2 * math.log(2))
    2.0
    """
    ratio = math.exp(-epsilon / 2)
    return math.sqrt(2 * ratio) / (1 - ratio)


# ------------------------------------------------------------ ldpopt and other packages, run


def _ours(made: Design, columns: Sequence[Values]) -> Rival:
    """Compute the error of a design, and let its reports be made and its estimates be computed."""
    of, counts = made.randomizer, made.question.counts
    people = np.repeat(np.arange(counts.size), counts.ravel())
    p, words = likely(counts), seeded_words(0)
    sampling = [column.weights**2 @ p - (column.weights @ p) ** 2 for column in columns]
    parts = zip(of.variances(p, columns), sampling, strict=True)
    error = _rms([(whole - own) / len(people) for whole, own in parts])

    def run() -> Array:
        tally = of.tallied(of.sample(people, words))
        return np.concatenate([part.estimates.mean for part in of.moments(tally, columns)])

    return Rival(OURS, error, run)


def _multi_freq(columns: Sequence[Codes], kind: str, epsilon: float) -> Estimates | None:
    """Let multi-freq-ldpy draw one column for each row, and estimate both."""
    if not is_here("multi_freq_ldpy"):
        return None
    from multi_freq_ldpy.mdim_freq_est import SMP_solution

    client = getattr(SMP_solution, f"SMP_{kind}_Client")
    count = getattr(SMP_solution, f"SMP_{kind}_Aggregator_MI")
    sizes = [int(column.max()) + 1 for column in columns]
    people = list(zip(*(column.tolist() for column in columns), strict=True))
    known = () if kind == "UE" else (sizes,)

    def run() -> Array:
        reports = [client(person, sizes, len(sizes), epsilon) for person in people]
        return np.concatenate(count(reports, *known, len(sizes), epsilon))

    return run


def _alone(codes: Codes, of: Protocol, epsilon: float) -> Estimates | None:
    """Let multi-freq-ldpy report one column, or pure-ldp where that is unary encoding."""
    people, at = codes.tolist(), (int(codes.max()) + 1, epsilon)
    if of is UNARY:
        pure = is_here("pure_ldp")
        return (lambda: np.asarray(of.served(of.privatised(people, at), at))) if pure else None
    multi = is_here("multi_freq_ldpy")
    return (lambda: np.asarray(of.counted(of.drawn(people, at), at))) if multi else None


# ------------------------------------------------------------ rows


def _codes(column: NDArray[np.str_]) -> Codes:
    return np.unique(column, return_inverse=True)[1].astype(np.int64)


def _rms(parts: Sequence[Array]) -> float:
    return math.sqrt(np.concatenate([np.ravel(part) for part in parts]).mean())


def _judged(
    question: str, instance: str, epsilon: float, rivals: Sequence[Rival], shares: Sequence[Array] = ()
) -> list[Row]:
    """Write a row for each rival: its error, as a multiple of ldpopt's too, and that of its runs."""
    found = []
    for rival in rivals:
        row = _row(question, instance, epsilon, rival, rival.error / rivals[0].error)
        found.append(row)
        if rival.run is None or not any(other.run for other in rivals[1:]):
            continue
        try:
            row["measured"] = _rms([_off(rival.run(), shares) ** 2 for _ in range(RUNS)])
        except Exception as error:  # one package's crash must not lose the others' rows
            row["reason"] = " ".join(f"crashed: {type(error).__name__}: {error}".split())
    return found


def _off(estimates: Array, shares: Sequence[Array]) -> Array:
    """Return the errors of estimates whose columns are made distributions, as multi-freq-ldpy does."""
    columns = np.split(estimates, np.cumsum([len(part) for part in shares])[:-1])
    pairs = zip(columns, shares, strict=True)
    return np.concatenate([clipped(column) - part for column, part in pairs])


def _row(question: str, instance: str, epsilon: float, rival: Rival, ratio: float) -> Row:
    return {
        "question": question,
        "instance": instance,
        "epsilon": epsilon,
        "method": rival.name,
        "error": rival.error,
        "ratio": ratio,
        "measured": None,
        "reason": "",
    }
