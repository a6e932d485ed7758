"""``ldpopt estimate``: frequencies of the data from released reports."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ldpopt.cli import options as given
from ldpopt.cli.terminal import check_picture, end_as_decided, hang, print_table, save_plot, watching

if TYPE_CHECKING:
    from ldpopt.release.estimating import Frequencies

MOST_NAMED = 3
"""Frequencies that are not determined of which the names are printed."""


def estimate(
    released: Annotated[str, typer.Argument(metavar="RELEASED")],
    mechanism: given.MechanismFile,
    level: float = 0.95,
    plot: Path | None = None,
    force: bool = False,
    joint: bool = False,
    others: Annotated[bool, typer.Option("--all")] = False,
    explain: bool = False,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    mean: list[str] | None = None,
    shares: Annotated[list[str] | None, typer.Option("--quantile")] = None,
    between: Annotated[str, typer.Option("--range", metavar="LOW,HIGH")] = "",
    queries: list[str] | None = None,
    registry: bool = False,
    weights: str = "",
    jobs: given.Jobs = 1,
    scheduler: str | None = None,
    as_json: given.AsJson = False,
) -> None:
    """Estimate the frequencies of the data from released reports, with their uncertainty.

    Exit code 0: done, 1: a claim of the mechanism's file is refuted, 2: bad input, 3: one is undecided,
    4: done, but a public file does not decide its promise.

    Options:
        released: The file of reports, or a directory of them.
        level: The confidence level of each interval.
        plot: Draw the estimates: .png, .svg or .pdf.
        joint: Also print each pair of secret and public values.
        others: Also other estimates, intervals that hold at once, a posterior.
        explain: Also print the ranges of what is not determined.
        seed: The seed of the sampled posterior.
        mean: COLUMN: the mean of its numbers; COLUMN=1,2,3: what its values stand for.
        shares: COLUMN=0.25,0.5: quantiles of a column of numbers in bins.
        between: Where first and last bin end.
        queries: diabetes*sex: cells, shares of the first column in each group, and differences.
        registry: The rows were all people, not a sample: no sampling error.
    """
    from ldpopt.release import estimating
    from ldpopt.release.designing import load_mechanism
    from ldpopt.release.public_design import PublicDesign
    from ldpopt.release.releasing import check_certificate

    if plot is not None:
        check_picture(plot, force, released, mechanism)
    means, ends, quantiles = given.read_means(mean), given.read_ends(between), given.read_shares(shares)
    made = load_mechanism(mechanism)
    check_certificate(made)
    with watching(f"estimating from {released}" + (", by every method" if others else "")):
        found = estimating.estimate(
            released,
            made,
            level=level,
            others=others,
            seed=seed,
            means=means,
            ends=ends,
            shares=quantiles,
            tables=[query.split("*") for query in queries or []],
            registry=registry,
            weights=weights,
            jobs=jobs,
            scheduler=scheduler,
        )
    if as_json:
        print(json.dumps(found.to_json(), allow_nan=False))
    else:
        shown = [group for group in found.names if joint or group != "joint"]
        _print_frequencies(found, shown, explain or others)
    if plot is not None:
        save_plot(found, plot)
    if isinstance(made, PublicDesign):
        end_as_decided(made)


def _print_frequencies(found: Frequencies, groups: list[str], ranges: bool) -> None:
    """Print a table for each group; without ``ranges``, what is not determined is only named."""
    percent, omitted = f"{100 * found.level:.10g} %", []
    for group in groups:
        name, rows = found.names[group], found.group(group)
        title = f"Frequencies of {name} ({group.partition(':')[0]})"
        if not any(row.determined or row.low > 0 or row.high < 1 for row in rows):
            said = f"none of the {len(rows):,} is determined; no narrower range than 0 to 1 is given."
            hang(f"{title}: ", said)
            continue
        if not ranges:
            omitted += [f"{name} {row.label}" for row in rows if not row.determined]
            rows = tuple(row for row in rows if row.determined)
        if not rows:
            continue
        columns = {
            name: [row.label for row in rows],
            "estimate": [row.written for row in rows],
            "standard error": [_number(row.standard_error) for row in rows],
            f"{percent} interval": [f"{row.low:.4f} – {row.high:.4f}" for row in rows],
        }
        if found.people is not None:
            columns["people (standard error)"] = [_total(found.totals(row)) for row in rows]
        if found.posterior:
            columns |= {
                f"all at once, {percent}": [
                    _between(row.together_low, row.together_high) for row in rows
                ],
                "maximum likelihood": [_number(row.ml if row.determined else None) for row in rows],
                "least squares": [_number(row.mmse if row.determined else None) for row in rows],
            }
        if rows[0].bayes is not None:
            columns |= {
                "posterior mean": [f"{row.bayes:.4f}" for row in rows],
                f"{percent} credible": [_between(row.credible_low, row.credible_high) for row in rows],
            }
        shown = [tuple(cells) for cells in zip(*columns.values(), strict=True)]
        spare = ("least squares", "maximum likelihood", *reversed(tuple(columns)[4:]))
        print_table(tuple(columns), shown, (name,), title, spare)
    if found.quantities or found.quantiles:
        _print_quantities(found, percent)
    _print_notes(found, groups, percent, omitted)


def _print_notes(found: Frequencies, groups: list[str], percent: str, omitted: list[str]) -> None:
    """Say what the numbers are, and of what the reports tell nothing.

    Args:
        found: the estimates.
        groups: those that are printed.
        percent: the level of the intervals.
        omitted: the names of frequencies that are not determined and not printed.
    """
    hang(
        "",
        f"From {found.n:,} reports. Each interval covers its own {'frequency' if groups else 'mean'} "
        f"with a probability of about {percent}. The covariance of the estimates: --json.",
    )
    if found.people is not None:
        hang(
            "",
            f"The reports stand for {found.people:,.0f} people, the sum of the weights; all is about "
            "these. Standard errors are those of people drawn one by one, not by place or by group.",
        )
    if any(row.clipped is not None for group in groups for row in found.group(group)):
        hang(
            "",
            "Estimates have no bias, so that of a rare value may lie below 0; cut to 0 it would be too "
            "large on average. Intervals are cut to [0, 1].",
        )
    if found.posterior:
        known = found.rows[0].bayes is not None
        beware = " It depends on the prior where there are many cells." if known else ""
        hang("", f"The posterior: {found.posterior}.{beware}")
    if not all(row.determined for group in groups for row in found.group(group)):
        hang("Not determined: ", f"{_why_open(omitted)}.")
    if not found.explained:
        hang(
            "",
            f"No data explain the reports at {percent}: by chance that happens in at most "
            f"{100 * (1 - found.level):.10g} of 100 releases, or another mechanism made them. The "
            "ranges are those of the nearest reports that data explain.",
        )
    absent = [f"{found.names[group]} {label}" for group, label in found.absent if group in groups]
    if absent:
        hang("Cannot occur: ", f"{', '.join(absent)}. The mechanism was designed for no such row.")


def _print_quantities(found: Frequencies, percent: str) -> None:
    """Print means and others, in their units, with as many digits as the standard error needs."""
    rows = []
    for row in (*found.quantities, *found.quantiles):
        said = "not determined", "–", f"{row.low:.6g} – {row.high:.6g}"
        if row.estimate is not None and row.standard_error:
            digits = max(0, 2 - math.floor(math.log10(row.standard_error)))
            numbers = (row.estimate, row.standard_error, row.low, row.high)
            estimate, error, low, high = (f"{number:,.{digits}f}" for number in numbers)
            said = estimate, error, f"{low} – {high}"
        elif row.estimate is not None:
            said = f"{row.estimate:,.4g}", "–", f"{row.low:g} – {row.high:g}"
        rows.append((row.name, *said))
    titles = ("quantity", "estimate", "standard error", f"{percent} interval")
    print_table(titles, rows, ("quantity",))
    for row in found.quantities:
        if row.binning is not None:
            what = f"The {row.name} is that of the middles of bins; that of the numbers themselves is "
            hang("", f"{what}within ±{row.binning:.6g} of it, where these lie in the range.")


def _why_open(omitted: list[str]) -> str:
    """Say why frequencies are not determined, and name the first of those that are not printed."""
    same, more = "give the same reports, or nearly so", len(omitted) - MOST_NAMED
    if not omitted:
        open_range = "the interval is the range that they leave open"
        return f"distributions of the data that differ much in this frequency {same}; {open_range}"
    named = f"{'; '.join(omitted[:MOST_NAMED])}{f' and {more} more' if more > 0 else ''}"
    return f"{named}: distributions that differ much in them {same}. Ranges: --explain"


def _total(found: dict[str, float]) -> str:
    return f"{found['total']:,.0f} ({found['total_error']:,.0f})" if found else "–"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


def _between(low: float | None, high: float | None) -> str:
    return f"{low:.4f} – {high:.4f}"
