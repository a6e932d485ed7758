"""``ldpopt plan``: the level, or the number of rows, needed for a precision of the frequencies."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ldpopt.cli import options as given
from ldpopt.cli.terminal import check_picture, counting, hang, print_table, save_plot, tell
from ldpopt.core.errors import InvalidInputError
from ldpopt.core.number_text import plain_number

if TYPE_CHECKING:
    from ldpopt.release.planning import Plan, Point


def plan(
    table: given.TableName,
    secret: given.SecretColumns,
    target: Annotated[str, typer.Option()],
    public: str = "",
    epsilon: float | None = None,
    queries: str = "",
    robust: str | None = None,
    told: given.Told = False,
    sensitive: list[str] | None = None,
    secrecy: given.Secrecy = "",
    alpha: float = 0.05,
    method: str = "auto",
    bins: list[str] | None = None,
    top: list[str] | None = None,
    levels: list[str] | None = None,
    missing: str = "refuse",
    person: given.Person = "",
    sep: str | None = None,
    encoding: str = "utf-8",
    decimal: str = ".",
    dates: str = given.ISO,
    part: given.PartOption = "",
    text: str = "",
    plot: Path | None = None,
    force: bool = False,
    time_limit: float = 30.0,
    as_json: given.AsJson = False,
) -> None:
    """Find the privacy level, or with --epsilon the number of rows, that a precision takes.

    Options:
        target: The wanted ± of every frequency at 95 %: 1% or 0.01 is one point.
        epsilon: Say how many rows this level takes, instead of the level.
        robust: Hide for all distributions, those near the table's (chi2), its own (known).
        method: A name of ldpopt list methods; auto: the best of those built at once.
        plot: Draw ± against the level here (.png, .svg or .pdf).
        time_limit: Seconds for all solves together.
    """
    from ldpopt.core.limits import LEAST_LEFT, Limits

    limits = Limits.within(time_limit)
    from ldpopt.release import planning

    if plot is not None:
        check_picture(plot, force, table)
    with counting("levels") as progress:
        found = planning.plan(
            given.opened(table, sep, encoding, person, decimal, dates, part),
            given.split_columns(secret),
            given.split_columns(public),
            target=read_share(target),
            epsilon=epsilon,
            queries=given.split_columns(queries),
            robust=given.robustness(robust, False, told, bool(sensitive), bool(secrecy)),
            sensitive=given.sensitive_values(sensitive),
            secrecy=secrecy or None,
            alpha=alpha,
            method=method,
            **given.coarser(bins, text, top, levels),
            missing=missing,
            time_limit=max(limits.remaining(), LEAST_LEFT),
            progress=progress,
            warn=lambda sentence: tell(f"note: {sentence}"),
        )
    if plot is not None:
        save_plot(found, plot)
    if as_json:
        wanted = None if found.wanted is None else _plain(found.wanted)
        points = [_plain(point) for point in found.points]
        plain = {"target": found.target, "n": found.n, "wanted": wanted, "levels": points}
        plain["raw margin"] = found.raw
        print(json.dumps(plain, allow_nan=False))
        return
    hang("", _sentence(found, epsilon is not None))
    rows = [
        (f"{p.epsilon:g}", p.method, _points(p.margin), "–" if math.isinf(p.rows) else f"{p.rows:,.0f}")
        for p in found.points
    ]
    titles = (
        "epsilon",
        "method",
        f"± with {found.n:,} rows",
        f"rows for ±{100 * found.target:g} points",
    )
    print_table(titles, rows, left=("method",), title="Precision by level (95 %, each value by itself)")
    hang(
        "",
        "Computed from the covariance of the estimates, for data like those of the table; not checked. "
        "Searched mechanisms may need less: ldpopt design --for estimates tries them, too.",
    )


def read_share(text: str) -> float:
    """Read ``1%`` or ``0.01``.

    >>> read_share("1%"), read_share("0.01")
    (0.01, 0.01)
    """
    number, percent = text.strip().removesuffix("%"), text.strip().endswith("%")
    try:
        return float(number) / (100 if percent else 1)
    except ValueError:
        raise InvalidInputError(f"--target must look like 1% or 0.01, not {text!r}") from None


def _sentence(found: Plan, level_given: bool) -> str:
    from ldpopt.release.accuracy import MOST_ROWS

    wanted, points = found.wanted, f"±{100 * found.target:g} points"
    if wanted is None:
        if found.raw > found.target:
            without = f"without any noise they give {_points(found.raw)}"
            return f"{points} are not reached at any level with your {found.n:,} rows: {without}."
        highest = found.points[-1].epsilon
        return (
            f"{points} are not reached up to epsilon = {highest:g} with your {found.n:,} rows by the "
            "methods below."
        )
    if not level_given:
        return (
            f"{points} are reached at epsilon = {wanted.epsilon:g} with your {found.n:,} rows, by "
            f"--method {wanted.method}."
        )
    if math.isinf(wanted.rows):
        level = f"epsilon = {wanted.epsilon:g} by --method {wanted.method}"
        return f"no table gives {points} at {level}: it would take more than {MOST_ROWS:,} rows."
    return (
        f"{points} are reached with {wanted.rows:,.0f} rows at epsilon = {wanted.epsilon:g}, by "
        f"--method {wanted.method}; the table has {found.n:,}."
    )


def _points(margin: float) -> str:
    from ldpopt.release.promises import two_digits

    return "not determined" if math.isinf(margin) else f"±{two_digits(100 * margin)} points"


def _plain(point: Point) -> dict[str, object]:
    numbers = {"margin": plain_number(point.margin), "rows": plain_number(point.rows)}
    return {**point._asdict(), **numbers}
