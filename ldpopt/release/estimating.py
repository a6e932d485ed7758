"""What the released reports say about the data: frequencies with their uncertainty.

Every frequency is a linear function c·P of the distribution P of the inputs (s, u): a cell, a value of
the secret or of a public column. Reports with distribution PW determine c·P iff c = W a for some a; then
c·P = PW·a is estimated by the mean of a over the reports. Otherwise they leave a range.
"""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from ldpopt.core import notebook
from ldpopt.core.errors import InvalidInputError
from ldpopt.core.files import save_figure
from ldpopt.core.quantiles import greatest_share, least_share, normal_quantile
from ldpopt.core.validate import Array
from ldpopt.measures import estimators
from ldpopt.measures.posterior import DRAWS, SampledPosterior, posterior
from ldpopt.mechanisms.stated import StatedEncoding
from ldpopt.models.priors import Dirichlet
from ldpopt.release.accuracy import are_determined, unbiased_estimates
from ldpopt.release.designing import AnyDesign, opened
from ldpopt.release.functionals import functionals, group_names, value_groups
from ldpopt.release.intervals import encoded_intervals, score_intervals
from ldpopt.release.publishing import NO_MATRIX
from ldpopt.release.reading import report_counts

MOST_DRAWN = 60
"""Combinations of columns with more frequencies are left out of the plot."""
MOST_RANGES = 100
"""The most undetermined frequencies whose ranges are computed, by two linear programs each."""
MOST_SAMPLED = 200
"""The most inputs with different rows whose posterior is sampled: a step takes 18 ms for 200 inputs and
0.6 s for 763, and there are at least 600."""


@dataclass(frozen=True)
class Frequency:
    """One estimated frequency.

    Attributes:
        group: "secret", "public" or "joint"; for one of several columns "public: ward".
        label: the value in words.
        estimate: the unbiased estimate, cut to [0, 1]; where ``determined`` is false, one of many.
        low, high: the interval of this frequency by itself (:mod:`ldpopt.release.intervals`); where the
            frequency is not determined, what the reports leave open.
        determined: whether the reports determine it.
        ml: the maximum-likelihood estimate; this and what follows is None unless it was asked for.
        together_low, together_high: an interval; all of these hold at once with the stated level.
        mmse: the distribution whose output law is nearest to the reports.
        bayes: the posterior mean under the uniform prior.
        credible_low, credible_high: the equal-tailed credible interval of this frequency by itself. The
            prior decides much of it where there are many cells.
    """

    group: str
    label: str
    estimate: float
    low: float
    high: float
    determined: bool
    ml: float | None = None
    together_low: float | None = None
    together_high: float | None = None
    mmse: float | None = None
    bayes: float | None = None
    credible_low: float | None = None
    credible_high: float | None = None

    def plain(self) -> dict[str, Any]:
        """Return what is known, as plain data."""
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True, eq=False)
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
    """

    rows: tuple[Frequency, ...]
    n: int
    level: float
    names: dict[str, str]
    posterior: str

    def group(self, name: str) -> tuple[Frequency, ...]:
        """Return the rows of one group."""
        return tuple(row for row in self.rows if row.group == name)

    def to_frame(self) -> Any:
        """Return the rows as a pandas.DataFrame."""
        return notebook.frame([row.plain() for row in self.rows])

    def _repr_html_(self) -> str:
        caption = f"frequencies from {self.n:,} reports, intervals at {100 * self.level:.10g} %"
        rows = [
            (
                f"{row.group}: {row.label}",
                f"{row.estimate:.4f}" if row.determined else "not determined",
                f"{row.low:.4f} – {row.high:.4f}",
            )
            for row in self.rows
        ]
        return notebook.table(caption, rows, ("", "estimate", "interval"))

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "n": self.n,
            "level": self.level,
            "names": self.names,
            "posterior": self.posterior,
            "frequencies": [row.plain() for row in self.rows],
        }

    def plot(self, path: str | os.PathLike[str]) -> Path:
        """Draw the estimates with their intervals, a panel per group, as a PNG or SVG."""
        from matplotlib.figure import Figure

        shown = [name for name in self.names if self._is_drawn(name)]
        sizes = [len(self.group(name)) for name in shown]
        figure = Figure(figsize=(8, 1.6 + 0.34 * (sum(sizes) + 2 * len(sizes))), layout="constrained")
        panels = figure.subplots(len(shown), 1, squeeze=False, height_ratios=[s + 1.5 for s in sizes])
        for name, axes in zip(shown, panels[:, 0], strict=True):
            _draw(axes, self.group(name))
            axes.set_title(f"{name.partition(':')[0]}: {self.names[name]}", loc="left")
        panels[-1, 0].set_xlabel("frequency")
        handles, names = panels[0, 0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside lower center", ncols=4, frameon=False)
        figure.suptitle(f"Frequencies from {self.n:,} reports, intervals at {100 * self.level:.10g} %")
        save_figure(figure, path, dpi=140)
        return Path(path)

    def _is_drawn(self, group: str) -> bool:
        """Return whether a group is one column, or has few frequencies."""
        combined = group == "joint" or any(name.startswith(f"{group}:") for name in self.names)
        return not combined or len(self.group(group)) <= MOST_DRAWN


def estimate(
    released: Any,
    mechanism: AnyDesign | str | os.PathLike[str],
    *,
    level: float = 0.95,
    others: bool = False,
    seed: int = 0,
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
    counts = report_counts(released, made, jobs, scheduler)
    return frequencies(counts, made, level=level, others=others, seed=seed)


def frequencies(
    counts: NDArray[np.int64],
    made: AnyDesign,
    *,
    level: float = 0.95,
    others: bool = False,
    seed: int = 0,
) -> Frequencies:
    """Estimate frequencies from how often each report was made.

    Args:
        counts: how often each report was made, an entry per output; of an encoding, how many reports
            support each input, and last how many there are.
        made: the design of the mechanism that made them.
        level: the confidence level of each interval.
        others: whether to compute other estimates and intervals, too.
        seed: the seed of the sampled posterior.
    """
    if not 0 < level < 1:
        raise InvalidInputError(f"level must lie between 0 and 1, not {level}")
    if not counts.any():
        raise InvalidInputError("there are no reports to estimate from")
    if made.encoding is not None:
        if others:
            raise InvalidInputError(f"other estimates need a matrix, and {NO_MATRIX}")
        return _encoded(made, made.encoding, counts, level)
    W = made.mechanism.matrix
    asked = list(functionals(made.domain))
    C = np.array([functional.weights for functional in asked])
    found = score_intervals(W, counts, C, level)
    if not found.determined.all():
        free = ~found.determined
        ranges = confidence_intervals(W, counts, C[free], level)
        found.low[free], found.high[free] = ranges.low, ranges.high
    words, more = _others(made, counts, C, level, seed) if others else ("", [{} for _ in asked])
    rows = tuple(
        Frequency(
            functional.group,
            functional.label,
            float(found.value[i]),
            float(found.low[i]),
            float(found.high[i]),
            bool(found.determined[i]),
            **more[i],
        )
        for i, functional in enumerate(asked)
    )
    return Frequencies(rows, int(counts.sum()), level, group_names(made.domain), words)


def _encoded(
    made: AnyDesign, of: StatedEncoding, counts: NDArray[np.int64], level: float
) -> Frequencies:
    """Estimate frequencies from how often an encoding's reports support each input."""
    n = int(counts[-1])
    cells = of.estimates(counts[:-1], n)
    rows: list[Frequency] = []
    for group in value_groups(made.domain):
        sizes = np.bincount(group.codes, minlength=len(group.labels))
        mean = np.bincount(group.codes, cells, minlength=len(group.labels)).astype(float)
        found = encoded_intervals(of, mean, sizes, n, level)
        columns = zip(group.labels, *(part.tolist() for part in found), strict=True)
        rows += [Frequency(group.name, *cell) for cell in columns]
    return Frequencies(tuple(rows), n, level, group_names(made.domain), "")


def _others(
    made: AnyDesign, counts: NDArray[np.int64], C: Array, level: float, seed: int
) -> tuple[str, list[dict[str, float]]]:
    """Compute the other estimates and intervals, with words about the posterior."""
    W = made.mechanism.matrix
    intervals = confidence_intervals(W, counts, C, level)
    ml, mmse = (C @ rule(W, counts) for rule in (estimators.maximum_likelihood, estimators.mmse))
    found = {"ml": ml, "together_low": intervals.low, "together_high": intervals.high, "mmse": mmse}
    apart = len(np.unique(W, axis=0))
    if apart > MOST_SAMPLED:
        words = f"left out, as the mechanism tells {apart:,} inputs apart, and more than {MOST_SAMPLED} "
        words += "take minutes to sample"
    else:
        believed = posterior(made.mechanism, Dirichlet.uniform(len(W)), counts, seed=seed)
        low, high = np.array([believed.functional(weights).interval(level) for weights in C]).T
        words = f"uniform prior, {believed.method}"
        if not isinstance(believed, SampledPosterior):
            words += f"; the intervals from {DRAWS} draws"
        found |= {"bayes": C @ believed.mean(), "credible_low": low, "credible_high": high}
    return words, [{name: float(part[i]) for name, part in found.items()} for i in range(len(C))]


# ------------------------------------------------------------ intervals


class Intervals(NamedTuple):
    """An interval per functional, and whether the reports determine it."""

    low: Array
    high: Array
    determined: NDArray[np.bool_]


def confidence_intervals(
    W: Array, counts: NDArray[np.int64], functionals: Array, level: float
) -> Intervals:
    """Compute intervals that hold all at once with the given confidence, cut to [0, 1].

    Determined functionals: normal intervals around the mean of the a of least variance with W a = c,
    with the largest variance that a box of Clopper–Pearson intervals allows; the plain variance of few
    or of rare reports is too small too often. Others: the range of c·P over all P whose output law lies
    in such a box; if there are more than :data:`MOST_RANGES`, it is [0, 1]. Each kind has half of
    1 − level if both occur, shared by Bonferroni's rule. The ranges hold for every number of reports;
    the normal intervals rest on an approximation.

    Args:
        W: the mechanism W[x, y].
        counts: how often each report was made, an entry per output.
        functionals: c, one per row.
        level: the probability with which all intervals hold.

    Raises:
        InvalidInputError: there are no reports, or no data explain them at this level.

    >>> W = np.array([[0.75, 0.25], [0.25, 0.75], [0.25, 0.75]])
    >>> found = confidence_intervals(W, np.array([500, 500]), np.eye(3), 0.95)
    >>> found.determined.tolist(), found.low.round(2).tolist(), found.high.round(2).tolist()
    ([True, False, False], [0.43, 0.0, 0.0], [0.57, 0.58, 0.58])
    """
    n = int(counts.sum())
    if n == 0:
        raise InvalidInputError("there are no reports to estimate from")
    centres, weights = unbiased_estimates(W, counts, functionals)
    determined = are_determined(W, functionals, weights)
    alpha = (1 - level) / (1 if determined.all() or not determined.any() else 2)
    low, high = np.zeros(len(functionals)), np.ones(len(functionals))
    if determined.any():
        a, centre = weights[determined], centres[determined]
        variance = _largest_means((a - centre[:, None]) ** 2, _box(counts, alpha))
        half = normal_quantile(alpha / 2 / len(a)) * np.sqrt(variance / n)
        low[determined], high[determined] = centre - half, centre + half
    free = np.flatnonzero(~determined)
    for i in free if len(free) <= MOST_RANGES else ():
        low[i], high[i] = _range(W, functionals[i], _box(counts, alpha))
    return Intervals(np.clip(low, 0, 1), np.clip(high, 0, 1), determined)


def _box(counts: NDArray[np.int64], alpha: float) -> tuple[Array, Array]:
    """Compute Clopper–Pearson intervals for the probability of every report, all at once."""
    n, tail = int(counts.sum()), alpha / 2 / len(counts)
    return least_share(tail, counts, n), greatest_share(tail, counts, n)


def _largest_means(values: Array, box: tuple[Array, Array]) -> Array:
    """Compute for each row of values its largest mean under a law in the box: large values first."""
    low, high = box
    order = np.argsort(-values, axis=1)
    room = (high - low)[order]
    left = 1 - low.sum() - np.cumsum(room, axis=1) + room
    law = low[order] + np.clip(left, 0.0, room)
    return (np.take_along_axis(values, order, axis=1) * law).sum(axis=1)


def _range(W: Array, functional: Array, box: tuple[Array, Array]) -> tuple[float, float]:
    """Compute the least and the largest c·P over the distributions P whose output law is in the box."""
    laws, limits = np.vstack([W.T, -W.T]), np.concatenate([box[1], -box[0]])
    ends = []
    for sign in (1.0, -1.0):
        found = linprog(sign * functional, laws, limits, A_eq=np.ones((1, len(W))), b_eq=[1.0])
        if found.fun is None:
            raise InvalidInputError(
                "no data explain these reports at this level: another mechanism made them, or chance, "
                "if the level is low"
            )
        ends.append(sign * float(found.fun))
    return ends[0], ends[1]


def _draw(axes: Any, rows: tuple[Frequency, ...]) -> None:
    y = np.arange(len(rows))
    value, low, high = (np.array([getattr(row, n) for row in rows]) for n in ("estimate", "low", "high"))
    known = np.array([row.determined for row in rows])
    axes.hlines(y, low, high, color="C0", linewidth=8, alpha=0.5, label="interval")
    axes.plot(value[known], y[known], "|", color="black", markersize=11, label="estimate")
    for i, row in enumerate(rows):
        words = f"{row.low:.4f} – {row.high:.4f}"
        axes.text(1.01, i, words, transform=axes.get_yaxis_transform(), va="center", fontsize="small")
    if rows[0].ml is not None:
        axes.plot([row.ml for row in rows], y + 0.2, "x", color="C3", label="maximum likelihood")
        axes.hlines(
            y + 0.35,
            [row.credible_low for row in rows],
            [row.credible_high for row in rows],
            color="C1",
            linewidth=2,
            linestyle="--",
            label="credible interval",
        )
        axes.plot(
            [row.bayes for row in rows], y + 0.35, "s", color="C1", markersize=4, label="posterior mean"
        )
    names = [row.label if row.determined else f"{row.label} (range only)" for row in rows]
    axes.set_yticks(y, names)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(left=0)
    axes.grid(axis="x", alpha=0.3)
