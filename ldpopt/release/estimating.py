"""What the released reports say about the data: frequencies with their uncertainty.

Every frequency is a linear function c·P of the distribution P of the inputs (s, u): a cell, a value of
the secret or of a public column. It is estimated without bias by the mean over the reports of an a with
W a = c, where the reports determine it (:mod:`ldpopt.measures.frequency_intervals` says when they do).
Otherwise they leave a range (:mod:`ldpopt.measures.frequency_intervals`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ldpopt.core import notebook
from ldpopt.core.files import PathName
from ldpopt.core.validate import Array, InvalidInputError, Whole
from ldpopt.measures import estimators
from ldpopt.measures.frequency_intervals import Estimates, confidence_intervals, estimated
from ldpopt.measures.posterior import DRAWS, SampledPosterior, posterior
from ldpopt.mechanisms.randomizer import Column, Tally
from ldpopt.models.priors import Dirichlet
from ldpopt.release.accuracy import Group, estimated_groups
from ldpopt.release.asked_quantities import BinnedColumn, cells
from ldpopt.release.asked_quantities import means as asked_of
from ldpopt.release.designing import AnyDesign, opened
from ldpopt.release.quantities import Asked, Quantity, quantities
from ldpopt.release.released_reports import report_counts

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_DRAWN = 60
"""Combinations of columns with more frequencies are left out of the plot."""
MOST_COVARIANCES = 200
"""Groups with more frequencies have standard errors but no covariance."""
ROUNDING = 1e-9
"""An estimate that is so little below 0 or above 1 is not cut."""
MOST_SAMPLED = 200
"""The most inputs with different rows whose posterior is sampled: a step takes 18 ms for 200 inputs and
0.6 s for 763, and there are at least 600."""


@dataclass(frozen=True)
class Frequency:
    """One estimated frequency.

    Attributes:
        group: "secret", "public" or "joint"; for one of several columns "public: ward".
        label: the value in words.
        low, high: the interval of this frequency by itself, cut to [0, 1]; where the frequency is not
            determined, what the reports leave open.
        determined: whether the reports determine it.
        estimate: the unbiased estimate, also below 0 or above 1; None where it is not determined.
        standard_error: its standard error, by the spread of the reports.
        clipped: the estimate cut to [0, 1], where it lies outside: the nearest that a frequency can be,
            but biased.
        ml: the maximum-likelihood estimate; this and what follows is None unless it was asked for.
        together_low, together_high: an interval; all of these hold at once with the stated level.
        mmse: the distribution whose output law is nearest to the reports.
        bayes: the posterior mean under the uniform prior.
        credible_low, credible_high: the equal-tailed credible interval of this frequency by itself. The
            prior decides much of it where there are many cells.
    """

    group: str
    label: str
    low: float
    high: float
    determined: bool
    estimate: float | None = None
    standard_error: float | None = None
    clipped: float | None = None
    ml: float | None = None
    together_low: float | None = None
    together_high: float | None = None
    mmse: float | None = None
    bayes: float | None = None
    credible_low: float | None = None
    credible_high: float | None = None

    @property
    def written(self) -> str:
        """The estimate in words, with its sign."""
        return "not determined" if self.estimate is None else f"{self.estimate:z.4f}"

    def plain(self) -> dict[str, Any]:
        """Return what is known, as plain data."""
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True, eq=False, repr=False)
class Frequencies:
    """The frequencies that a released file tells about.

    Attributes:
        rows: one per value of every column, of the secret and public columns taken together, and of each
            pair of these.
        n: the number of reports.
        level: the confidence level.
        names: the groups with the names of their columns.
        posterior: the prior of the Bayesian estimate and how the posterior was computed, or why it was
            left out, in words; empty if it was not asked for.
        covariance: of the estimates of each group of at most :data:`MOST_COVARIANCES` frequencies, in
            the order of its rows; not a number where one of the two is not determined.
        absent: (group, label) of the values that no input has: nothing is estimated of them.
        explained: whether data exist that the ranges of undetermined frequencies could come from; if
            not, by chance of at most 1 − level, they are those of the nearest reports.
        quantities: means and others that were asked for; their covariance is that of "quantities".
        quantiles: those of binned columns that were asked for.
        people: of weighted reports, how many people they stand for.
    """

    rows: tuple[Frequency, ...]
    n: int
    level: float
    names: dict[str, str]
    posterior: str
    covariance: dict[str, Array]
    absent: tuple[tuple[str, str], ...] = ()
    explained: bool = True
    quantities: tuple[Quantity, ...] = ()
    quantiles: tuple[Quantity, ...] = ()
    people: float | None = None

    def totals(self, row: Frequency) -> dict[str, float]:
        """Return how many of the people that weights stand for have a value, with its standard error."""
        if self.people is None or row.estimate is None or row.standard_error is None:
            return {}
        return {"total": self.people * row.estimate, "total_error": self.people * row.standard_error}

    def group(self, name: str) -> tuple[Frequency, ...]:
        """Return the rows of one group."""
        return tuple(row for row in self.rows if row.group == name)

    def to_frame(self) -> Any:
        """Return the rows as a pandas.DataFrame."""
        return notebook.frame([row.plain() for row in self.rows])

    def _shown(self) -> tuple[str, list[tuple[str, ...]]]:
        caption = f"frequencies from {self.n:,} reports, intervals at {100 * self.level:.10g} %"
        return caption, [
            (
                f"{row.group}: {row.label}",
                row.written,
                "" if row.standard_error is None else f"{row.standard_error:.4f}",
                f"{row.low:.4f} – {row.high:.4f}",
            )
            for row in self.rows
        ]

    def __repr__(self) -> str:
        caption, rows = self._shown()
        return notebook.text(caption, [(name, f"{said}, {span}") for name, said, _, span in rows])

    def _repr_html_(self) -> str:
        caption, rows = self._shown()
        return notebook.table(caption, rows, ("", "estimate", "standard error", "interval"))

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "n": self.n,
            "level": self.level,
            "names": self.names,
            "posterior": self.posterior,
            "explained": self.explained,
            **({} if self.people is None else {"people": self.people}),
            "absent": [{"group": group, "label": label} for group, label in self.absent],
            "frequencies": [row.plain() | self.totals(row) for row in self.rows],
            "quantities": [row.plain() for row in self.quantities],
            "quantiles": [row.plain() for row in self.quantiles],
            "covariance": {
                group: [[None if math.isnan(cell) else cell for cell in row] for row in rows.tolist()]
                for group, rows in self.covariance.items()
            },
        }

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the estimates with their intervals, group below group.

        Args:
            ax: where to draw; a new figure if not given.
        """
        if not self.names:
            raise InvalidInputError("a mean alone is not drawn: the picture is of frequencies")
        lines: list[tuple[str, Frequency | None]] = []
        for name in filter(self._is_drawn, self.names):
            lines.append((f"{name.partition(':')[0]}: {self.names[name]}", None))
            for row in self.group(name):
                lines.append((row.label if row.determined else f"{row.label} (range only)", row))
        axes = notebook.axes(ax, 8, 1.6 + 0.34 * len(lines))
        _draw(axes, {i: row for i, (_, row) in enumerate(lines) if row is not None})
        axes.set_yticks(range(len(lines)), [words for words, _ in lines])
        for (_, drawn), words in zip(lines, axes.get_yticklabels(), strict=True):
            words.set_fontweight("bold" if drawn is None else "normal")
        axes.set(ylim=(len(lines) - 0.4, -0.6), xlabel="frequency")
        axes.grid(axis="x", alpha=0.3)
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -2.5 / (len(lines) + 3)), ncols=3)
        axes.set_title(f"Frequencies from {self.n:,} reports, intervals at {100 * self.level:.10g} %")
        return axes

    def _is_drawn(self, group: str) -> bool:
        """Return whether a group is one column, or has few frequencies."""
        combined = group == "joint" or any(name.startswith(f"{group}:") for name in self.names)
        return not combined or len(self.group(group)) <= MOST_DRAWN


def estimate(
    released: Any,
    mechanism: AnyDesign | PathName,
    *,
    level: float = 0.95,
    others: bool = False,
    seed: int = 0,
    means: Mapping[str, Sequence[float] | None] | None = None,
    ends: Sequence[float] | None = None,
    tables: Sequence[Sequence[str]] = (),
    shares: Mapping[str, Sequence[float]] | None = None,
    registry: bool = False,
    weights: str = "",
    jobs: int = 1,
    scheduler: str | None = None,
) -> Frequencies:
    """Estimate frequencies from a released file.

    Args:
        released: what :func:`ldpopt.release.releasing.privatize` wrote, a directory of such files, or a
            Dask frame; reports of another mechanism are refused.
        mechanism: the design that released it, or its file, private or public.
        level: the confidence level of each interval.
        others: whether to also compute other estimates and intervals; with more than
            :data:`MOST_SAMPLED` inputs that the mechanism tells apart, without the posterior.
        seed: the seed of the sampled posterior.
        means: columns whose means are wanted, with the numbers that their values stand for, or None.
        ends: where the first bin of such a column begins and the last one ends.
        tables: cross tables that are wanted, each the names of its columns.
        shares: binned columns whose quantiles are wanted, each with the shares below: 0.5 is the median.
        registry: whether the rows were all people that the frequencies are about, not a sample of them:
            standard errors and intervals are then those of the reports alone.
        weights: the column of the released file that says how many people each report stands for.
        jobs: worker processes on this machine, which count the parts of a released directory.
        scheduler: the address of a Dask scheduler to count on instead.

    >>> import tempfile
    >>> from ldpopt.release.designing import design
    >>> from ldpopt.release.releasing import privatize
    >>> made = design("adult:sex-race", secret="sex", public="race", epsilon=1.0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rows = privatize("adult:sex-race", made, f"{folder}/released.csv", seed=0)
    ...     found = estimate(f"{folder}/released.csv", made)
    >>> female = found.group("secret")[0]
    >>> female.low < 10771 / 32561 < female.high
    True
    """
    made = opened(mechanism)
    wanted = list(asked_of(made.domain, means or {}, ends))
    wanted += [one for table in tables for one in cells(made.domain, table)]
    bins = [BinnedColumn(made.domain, name, ends) for name in shares or {}]
    if weights and (registry or others):
        raise InvalidInputError("weights are of a sample: leave --registry and other estimates out")
    counts, reports, people = report_counts(released, made, jobs, scheduler, weights)
    found = frequencies(
        counts, made, level=level, others=others, seed=seed, asked=wanted, registry=registry
    )
    if weights:
        found = replace(found, n=reports, people=people)
    below = [(of, quantities(made.randomizer, counts, of.below, level, registry).rows) for of in bins]
    pairs = zip(below, (shares or {}).values(), strict=True)
    known = (of.quantile(share, rows) for (of, rows), wished in pairs for share in wished)
    return replace(found, quantiles=tuple(known))


def frequencies(
    counts: Tally,
    made: AnyDesign,
    *,
    level: float = 0.95,
    others: bool = False,
    seed: int = 0,
    asked: Sequence[Asked] | None = None,
    registry: bool = False,
) -> Frequencies:
    """Estimate frequencies from how often each report was made.

    Args:
        counts: the tally of the reports, as the mechanism's randomizer counts them.
        made: the design of the mechanism that made them.
        level: the confidence level of each interval.
        others: whether to compute other estimates and intervals, too.
        seed: the seed of the sampled posterior.
        asked: means and others that are wanted; by default the mean of numbers, where the design is for
            it.
        registry: whether the rows were all people that the frequencies are about.
    """
    if not 0 < level < 1:
        raise InvalidInputError(f"level must lie between 0 and 1, not {level}")
    if not counts.any():
        raise InvalidInputError("there are no reports to estimate from")
    of, groups = made.randomizer, list(estimated_groups(made.domain))
    listed = [_present(group) for group in groups]
    columns = [group.values for group, _ in listed]
    if others and not columns:
        raise InvalidInputError(
            "other estimates are those of frequencies, and a mean alone is estimated"
        )
    n = round(of.reported(counts))
    moments, found, explained = estimated(of, counts, columns, level, registry=registry)
    words, more = _others(made, counts, columns, level, seed) if others else ("", iter(dict, None))
    rows: list[Frequency] = []
    covariance: dict[str, Array] = {}
    for (group, _), part, moment in zip(listed, found, moments, strict=True):
        rows += _rows(group.name, group.labels, part, moment.spread, more)
        if len(group.labels) <= MOST_COVARIANCES:
            known = np.outer(part.determined, part.determined)
            covariance[group.name] = np.where(known, moment.covariance(), np.nan)
    absent = tuple((group.name, label) for group, labels in listed for label in labels)
    about = n, level, {group.name: group.columns for group in groups}, words
    asked = list(asked_of(made.domain, {})) if asked is None else asked
    more_found: tuple[Quantity, ...] = ()
    if asked:
        more_found, covariance["quantities"] = quantities(of, counts, asked, level, registry)
    return Frequencies(tuple(rows), *about, covariance, absent, explained, more_found)


def _present(group: Group) -> tuple[Group, list[str]]:
    """Return a group without the values that no input has, and these."""
    here, codes = np.unique(group.codes, return_inverse=True)
    absent = sorted(set(range(len(group.labels))) - set(here.tolist()))
    labels = [group.labels[i] for i in here]
    return group._replace(labels=labels, codes=codes), [group.labels[i] for i in absent]


def _rows(
    group: str, labels: Sequence[str], found: Estimates, spread: Array, more: Iterator[dict[str, Any]]
) -> Iterator[Frequency]:
    """List the frequencies of a group.

    Args:
        group: its name.
        labels: its values.
        found: the estimates and intervals.
        spread: the variances of the estimates.
        more: the other estimates and intervals; as many are taken as there are labels.
    """
    values, errors = found.value.tolist(), np.sqrt(spread).tolist()
    for i, label in enumerate(labels):
        ends = float(found.low[i]), float(found.high[i])
        row = Frequency(group, label, *ends, bool(found.determined[i]))
        if row.determined:
            outside = not -ROUNDING <= values[i] <= 1 + ROUNDING
            cut = float(values[i] > 0) if outside else None
            row = replace(row, estimate=values[i], standard_error=errors[i], clipped=cut)
        yield replace(row, **next(more))


def _others(
    made: AnyDesign, counts: Whole, columns: Sequence[Column], level: float, seed: int
) -> tuple[str, Iterator[dict[str, float]]]:
    """Compute the other estimates and intervals, with words about the posterior."""
    mechanism = made.randomizer.as_matrix("other estimates need a matrix")
    W, C = mechanism.matrix, np.vstack([column.weights for column in columns])
    intervals = confidence_intervals(W, counts, C, level)
    ml, mmse = (C @ rule(W, counts) for rule in (estimators.maximum_likelihood, estimators.mmse))
    found = {"ml": ml, "together_low": intervals.low, "together_high": intervals.high, "mmse": mmse}
    apart = len(np.unique(W, axis=0))
    if apart > MOST_SAMPLED:
        words = f"left out, as the mechanism tells {apart:,} inputs apart, and more than {MOST_SAMPLED} "
        words += "take minutes to sample"
    else:
        believed = posterior(mechanism, Dirichlet.uniform(len(W)), counts, seed=seed)
        low, high = np.array([believed.functional(weights).interval(level) for weights in C]).T
        words = f"uniform prior, {believed.method}"
        if not isinstance(believed, SampledPosterior):
            words += f"; the intervals from {DRAWS} draws"
        found |= {"bayes": C @ believed.mean(), "credible_low": low, "credible_high": high}
    return words, ({name: float(part[i]) for name, part in found.items()} for i in range(len(C)))


def _draw(axes: Axes, rows: dict[int, Frequency]) -> None:
    """Draw frequencies, each at its height."""
    y, ends = np.array(list(rows)), np.array([(row.low, row.high) for row in rows.values()])
    axes.hlines(y, *ends.T, color="C0", linewidth=8, alpha=0.5, label="interval")
    known = {i: row.estimate for i, row in rows.items() if row.estimate is not None}
    axes.plot(list(known.values()), list(known), "|k", markersize=11, label="estimate")
    axes.set_xlim(left=min(0.0, *known.values(), 0.0))
    for i, row in rows.items():
        words = f"{row.low:.4f} – {row.high:.4f}"
        axes.text(1.01, i, words, transform=axes.get_yaxis_transform(), va="center", fontsize="small")
    if likely := [row.ml for row in rows.values() if row.ml is not None]:
        axes.plot(likely, y + 0.2, "x", color="C3", label="maximum likelihood")
    if any(row.bayes is not None for row in rows.values()):
        ends = np.array([(row.credible_low, row.credible_high) for row in rows.values()], dtype=float)
        axes.hlines(y + 0.35, *ends.T, color="C1", linewidth=2, ls="--", label="credible interval")
        means = np.array([row.bayes for row in rows.values()], dtype=float)
        axes.plot(means, y + 0.35, "s", color="C1", markersize=4, label="posterior mean")
