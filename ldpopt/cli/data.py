"""The commands for people with a table: ``ldpopt design | privatize | estimate``."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ldpopt.cli.terminal import (
    AsJson,
    check_writable,
    counting,
    err_console,
    print_facts,
    print_table,
    watching,
)
from ldpopt.core.errors import InvalidInputError

if TYPE_CHECKING:
    from ldpopt.release.designing import Design
    from ldpopt.release.estimating import Frequencies

TableName = Annotated[
    str,
    typer.Argument(
        metavar="TABLE", help="A CSV or Parquet file, or an embedded table: adult, adult:sex-race, …"
    ),
]
MechanismFile = Annotated[
    Path, typer.Option("--mechanism", "-m", help="The file that ldpopt design wrote.")
]


def design(
    table: TableName,
    secret: Annotated[
        str,
        typer.Option(help="Columns to hide, comma-separated; a name with a comma in double quotes."),
    ],
    epsilon: Annotated[float, typer.Option(help="The privacy level, in nats.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Write the mechanism here.")],
    public: Annotated[
        str, typer.Option(help="Columns to release, comma-separated; without, all data are secret.")
    ] = "",
    robust: Annotated[
        str | None,
        typer.Option(
            help="chi2 (default): hide it for every distribution near the table's; all: for all."
        ),
    ] = None,
    known: Annotated[
        bool, typer.Option("--known", help="Take the table's distribution for the true one.")
    ] = False,
    alpha: Annotated[float, typer.Option(help="Significance level of the χ² set.")] = 0.05,
    method: Annotated[
        str,
        typer.Option(help="auto, polyopt, calibrated, staircase, srr, ir, cr, ue, ldp, learn or grr."),
    ] = "auto",
    compare: Annotated[
        bool, typer.Option("--compare", help="Solve by every method; with auto, keep the best.")
    ] = False,
    bins: Annotated[
        list[str] | None, typer.Option(help="COLUMN=5 (that many bins) or COLUMN=18,30,65 (edges).")
    ] = None,
    text: Annotated[
        str, typer.Option(help="Columns whose cells are words, even '12' and 'NA'; comma-separated.")
    ] = "",
    width: Annotated[
        int | None, typer.Option(help="How many public values polyopt tells apart.")
    ] = None,
    time_limit: Annotated[float, typer.Option(help="Seconds per solve.")] = 30.0,
    as_json: AsJson = False,
) -> None:
    """Design a mechanism that hides the secret columns of a table and releases the public ones."""
    from ldpopt.engine.result import verify
    from ldpopt.release import designing

    check_writable(out, table)
    with watching() as progress:
        made = designing.design(
            table,
            _split(secret),
            _split(public),
            epsilon=epsilon,
            robust=_robustness(robust, known),
            alpha=alpha,
            method=method,
            bins=_bins(bins or []),
            text=_split(text),
            width=width,
            time_limit=time_limit,
            progress=progress,
        )
    found: dict[str, Design | str] = {}
    if compare:
        with counting("methods") as count:
            found = designing.compare(made, time_limit=time_limit, progress=count)
        made = designing.best(found) if method == "auto" else made
    made.save(out)
    verified = bool(verify(out))
    if as_json:
        print(json.dumps(_design_summary(made, found, verified), allow_nan=False))
    else:
        if found:
            _print_comparison(found, made)
        _print_design(made, table, out, verified)
    if not verified:
        raise typer.Exit(1)
    if made.interrupted or designing.INTERRUPTED in found.values():
        raise KeyboardInterrupt


def privatize(
    table: TableName,
    mechanism: MechanismFile,
    out: Annotated[Path, typer.Option("--out", "-o", help="The released file: .csv or .parquet.")],
    seed: Annotated[
        int | None,
        typer.Option(min=0, help="Repeatable noise, for tests: whoever knows it undoes the protection."),
    ] = None,
) -> None:
    """Send every row of a table through a mechanism; only the reports are written."""
    from ldpopt.release import releasing
    from ldpopt.release.designing import load_design

    check_writable(out, table, mechanism)
    made = load_design(mechanism)
    if seed is not None:
        err_console.print(
            "warning: --seed makes the noise repeatable: whoever knows the seed can take it out again. "
            "Never release this file.",
            soft_wrap=True,
        )
    with counting("rows") as count:
        rows = releasing.privatize(
            table, made, out, seed=seed, progress=None if count is None else lambda n: count(n, None)
        )
    print(
        f"wrote {rows:,} reports to {out}, one for each row of {table}: numbers from 0 to "
        f"{made.mechanism.shape[1] - 1}\nnext: ldpopt estimate {out} --mechanism {mechanism}"
    )


def estimate(
    released: Annotated[
        str, typer.Argument(metavar="RELEASED", help="The file that ldpopt privatize wrote.")
    ],
    mechanism: MechanismFile,
    level: Annotated[float, typer.Option(help="Of all confidence intervals together.")] = 0.95,
    plot: Annotated[Path | None, typer.Option(help="Draw the estimates: .png, .svg or .pdf.")] = None,
    joint: Annotated[
        bool, typer.Option("--joint", help="Also print each pair of secret and public values.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Of the sampled posterior.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Estimate the frequencies of the data from released reports, with their uncertainty."""
    from ldpopt.release import estimating
    from ldpopt.release.designing import load_design

    if plot is not None:
        check_writable(plot, released, mechanism)
        if plot.suffix.lower() not in (".png", ".svg", ".pdf"):
            raise InvalidInputError(f"--plot must end in .png, .svg or .pdf, not {plot.name!r}")
    made = load_design(mechanism)
    found = estimating.estimate(released, made, level=level, seed=seed)
    if as_json:
        print(json.dumps(found.to_json(), allow_nan=False))
    else:
        shown = [group for group in found.names if joint or group != "joint"]
        _print_frequencies(found, shown)
    if plot is not None:
        found.plot(plot)
        err_console.print(f"wrote {plot}")


# ------------------------------------------------------------ reading options


def _split(columns: str) -> list[str]:
    try:
        names = next(csv.reader([columns], skipinitialspace=True), [])
    except csv.Error:
        raise InvalidInputError(f"put the column name {columns!r} in double quotes") from None
    return [name.strip() for name in names if name.strip()]


def _robustness(robust: str | None, known: bool) -> str:
    if known and robust is not None:
        raise InvalidInputError("--known and --robust exclude each other")
    return "known" if known else robust or "chi2"


def _bins(options: list[str]) -> dict[str, int | list[float]]:
    found: dict[str, int | list[float]] = {}
    for option in options:
        name, _, spec = option.rpartition("=")
        try:
            parts = [float(part) for part in spec.split(",") if part.strip()]
        except ValueError:
            parts = []
        if not name or not parts:
            raise InvalidInputError(f"--bins must look like COLUMN=5 or COLUMN=18,30,65, not {option!r}")
        if name in found:
            raise InvalidInputError(f"--bins says twice how to bin {name!r}")
        found[name] = int(parts[0]) if "," not in spec and parts[0] % 1 == 0 else parts
    return found


# ------------------------------------------------------------ printing


def _print_design(made: Design, table: str, out: Path, verified: bool) -> None:
    from ldpopt.release.methods import METHODS
    from ldpopt.release.words import against, caveat, promise

    result, question, domain = made.result, made.question, made.domain
    facts = {
        "table": f"{table}, {int(question.counts.sum()):,} rows",
        "secret": f"{domain.secret.name} ({len(domain.secret)} values)",
        "public": "–"
        if domain.public is None
        else f"{domain.public.name} ({len(domain.public)} values)",
        "promise": promise(made),
        "it holds": against(made),
        "method": f"{made.method}: {METHODS[made.method].summary}",
        "utility": _utility(made),
        "status": f"{result.status.value}, by {result.solver} in {result.seconds:.1f} s",
        "audit": _level(made),
        "estimates": _learnable(made),
        "certificate": "the independent checker verifies every claim" if verified else "REFUTED",
        **({"beware": caveat(made)} if caveat(made) else {}),
        "note": f"{out} contains the counts of the table: design on data that may be known",
        "wrote": f"{out}; check it with: ldpopt verify {out}",
        "next": f"ldpopt privatize {table} --mechanism {out} -o released.csv",
    }
    print_facts(facts)


def _utility(made: Design) -> str:
    value, entropy, bound = made.information, made.entropy, made.bound
    proven = "" if bound is None else f"; proven bound {bound:.4g}"
    return f"{value:.4g} of {entropy:.4g} nats of information ({value / entropy:.1%}){proven}"


def _level(made: Design) -> str:
    level, labels = made.level, made.domain.secret.labels
    return (
        f"exact level {level.level:.4g} of {made.question.epsilon:g} allowed, at report {level.y}: "
        f"{labels[level.s]} against {labels[level.other]}"
    )


def _learnable(made: Design) -> str:
    rank, inputs = made.rank, made.mechanism.shape[0]
    if rank == inputs:
        return (
            f"the reports determine all {inputs} frequencies of the data, from {made.sample_factor:.3g} "
            "times as many rows as precisely as the raw data"
        )
    return f"the reports determine {rank} of the {inputs} dimensions of the distribution; else ranges"


def _print_comparison(found: dict[str, Design | str], kept: Design) -> None:
    rows = [_comparison_row(name, made) for name, made in found.items() if not isinstance(made, str)]
    rows.sort(key=lambda row: -row["nats"])
    for row in rows:
        row["method"] += " *" if row["method"] == kept.method else ""
    titles = list(rows[0])
    print_table(
        titles,
        [list(row.values()) for row in rows],
        left=("method", "status"),
        title="Information released, most first (* is kept)",
    )
    for name, made in found.items():
        if isinstance(made, str):
            print(f"{name}: {made}")
    print()


def _comparison_row(name: str, made: Design) -> dict[str, Any]:
    value = made.information
    return {
        "method": name,
        "nats": value,
        "of all": f"{value / made.entropy:.1%}",
        "proven bound": made.bound,
        "status": made.result.status.value,
        "level of the secret": made.level.level,
        "LDP level": made.mechanism.epsilon(),
        "reports": made.mechanism.shape[1],
        "determined": f"{made.rank}/{made.mechanism.shape[0]}",
        "× rows": made.sample_factor,
        "seconds": made.result.seconds,
        "verified": bool(made.verification),
    }


def _print_frequencies(found: Frequencies, groups: list[str]) -> None:
    for group in groups:
        name = found.names[group]
        rows = [
            (
                row.label,
                f"{row.ml:.4f}" if row.determined else "not determined",
                f"{row.low:.4f} – {row.high:.4f}",
                f"{row.mmse:.4f}" if row.determined else "not determined",
                f"{row.bayes:.4f}",
                f"{row.credible_low:.4f} – {row.credible_high:.4f}",
            )
            for row in found.group(group)
        ]
        percent = f"{100 * found.level:.10g} %"
        titles = (
            name,
            "maximum likelihood",
            f"{percent} confidence",
            "least squares",
            "posterior mean",
            f"{percent} credible",
        )
        print_table(titles, rows, left=(name,), title=f"Frequencies of {name} ({group})")
    print(
        f"From {found.n:,} reports. The confidence intervals hold all at once, each credible interval "
        f"by itself ({found.posterior})."
    )
    if not all(row.determined for row in found.rows):
        print(
            "Not determined: different distributions of the data give the same reports; the confidence "
            "interval is the range that they leave open."
        )


def _design_summary(made: Design, found: dict[str, Design | str], verified: bool) -> dict[str, Any]:
    rows = {
        name: {"reason": other} if isinstance(other, str) else _finite(_comparison_row(name, other))
        for name, other in found.items()
    }
    return {
        **_finite(_comparison_row(made.method, made)),
        "secret": made.domain.secret.labels,
        "public": None if made.domain.public is None else made.domain.public.labels,
        "fingerprint": made.fingerprint,
        "entropy": made.entropy,
        "verified": verified,
        "methods": rows,
    }


def _finite(row: dict[str, Any]) -> dict[str, Any]:
    """JSON has no infinity: null stands for it."""
    return {key: None if value in (math.inf, -math.inf) else value for key, value in row.items()}
