"""The page of a benchmark: one HTML file that needs nothing else, and the same tables in Markdown."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import psutil
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup, escape

from ldpopt.bench.benchmark import Benchmark
from ldpopt.bench.comparison import absent_line
from ldpopt.bench.figures import draw_gaps, draw_times, svg
from ldpopt.bench.peer_errors import RUNS
from ldpopt.bench.ranking import CLEARLY, ROUGH, SHIFT, standings
from ldpopt.bench.rows import by, exponent, known, middle
from ldpopt.core.files import write_whole
from ldpopt.core.solver import Solver
from ldpopt.engine.provenance import code_digest, commit, processor, provenance
from ldpopt.engine.sweep import Row, write_csv
from ldpopt.problems import PROBLEMS
from ldpopt.solvers import BY_FORM, SOLVERS

LEAST_MEGABYTES = 0.3
"""Growth below this may be noise (the least of any solve is 0.1); no exponent is fitted to it."""


class Table(NamedTuple):
    """A table of text; ``align`` has one letter per column, l or r."""

    head: tuple[str, ...]
    align: str
    rows: list[tuple[str, ...]]


@dataclass(frozen=True)
class ProblemPart:
    """What the page says about one problem in one form."""

    kind: str
    question: str
    instances: str
    baseline: str
    times: Table
    growth: Table
    refusals: Table
    plot: Markup
    gaps: Markup


@dataclass(frozen=True)
class FormPart:
    """What the page says about one form."""

    name: str
    asks: str
    problems: list[ProblemPart]
    others: list[str]


def write(
    found: Benchmark,
    directory: Path,
    command: str,
    started: datetime,
    plugins: Sequence[type[Solver[Any]]] = (),
) -> list[Path]:
    """Write the page as ``bench.html`` and ``bench.md``, and all rows, into an existing directory.

    Args:
        found: the benchmark.
        directory: where to.
        command: the command line that runs it again.
        started: when it began, in UTC.
        plugins: the solvers that are not registered.
    """
    told = facts(found, command, started, plugins)
    paths = [directory / name for name in ("bench.html", "bench.md")]
    for path in paths:
        write_whole(path, _templates().get_template(path.name).render(told))
    return [*paths, *write_rows(found, directory)]


def write_rows(found: Benchmark, directory: Path) -> list[Path]:
    """Write the rows, what the solves knew over time, and the comparison, each as CSV if there is any.

    Every line says by which commit, on which processor and on which test set it was measured.

    Args:
        found: the benchmark.
        directory: where to.
    """
    made = {"commit": commit() or code_digest(), "processor": processor(), "test_set": found.digest}
    tables = {"bench.csv": found.rows, "curves.csv": list(found.curves)}
    tables |= {"peers.csv": list(found.peers), "errors.csv": list(found.errors)}
    for name, rows in tables.items():
        if rows:
            write_csv(directory / name, [row | made for row in rows])
    return [directory / name for name, rows in tables.items() if rows]


def facts(
    found: Benchmark, command: str, started: datetime, plugins: Sequence[type[Solver[Any]]] = ()
) -> dict[str, Any]:
    """Collect everything that the templates show.

    Args:
        found: the benchmark.
        command: the command line that runs it again.
        started: when it began, in UTC.
        plugins: the solvers that are not registered.
    """
    return {
        "found": found,
        "command": command,
        "date": started.strftime("%Y-%m-%d %H:%M UTC"),
        "machine": machine(),
        "plugins": [plugin.name for plugin in plugins],
        "problems": len({row["problem"] for row in found.measured}),
        "solvers": len({row["solver"] for row in found.measured}),
        "instances": len({(row["instance"], row["seed"]) for row in found.rows}),
        "refused": sum(row["status"] == "refused" for row in found.rows),
        "least_megabytes": LEAST_MEGABYTES,
        "ranking": ranking(found),
        "shift": SHIFT,
        "chosen_baseline": found.baseline is not None,
        "clearly": CLEARLY,
        "peers": peers(found),
        "errors": errors(found),
        "runs": RUNS,
        "absent": absent_line([*found.peers, *found.errors]),
        "forms": [_form_part(name, rows, found, plugins) for name, rows in by("form", found.rows)],
        "skipped": [kind for kind in PROBLEMS if not PROBLEMS[kind].bench_sizes],
    }


def machine() -> dict[str, str]:
    """Describe what the times belong to: code, machine, its load now, and packages."""
    loads = ", ".join(f"{load:.1f}" for load in psutil.getloadavg())
    return provenance() | {
        "memory": f"{psutil.virtual_memory().total / 1e9:.1f} GB",
        "load average at the end": f"{loads} (1, 5, 15 minutes)",
    }


def ranking(found: Benchmark) -> Table:
    """Rank the solvers of every problem over all its instances."""
    head = (
        *("problem", "rank", "solver", "solved", "CPU s", "quartiles", "÷ best"),
        *(f"CPU s to {ROUGH:.0%}", "starts s"),
    )
    table = Table(head, "lrlrrrrrr", [])
    for kind, rows in by("problem", found.rows):
        standing = standings(rows, found)
        best = min((entry.mean for entry in standing), default=1.0)
        table.rows.extend(
            (
                kind,
                "–" if entry.rank is None else str(entry.rank),
                entry.solver,
                f"{entry.solved} of {entry.instances}",
                *(
                    (_number(entry.mean), _range(entry.low, entry.high), _number(entry.mean / best))
                    if entry.solved
                    else ("–", "–", "–")
                ),
                _number(entry.rough),
                _number(entry.start) if entry.start else "–",
            )
            for entry in standing
        )
    return table


def peers(found: Benchmark) -> Table:
    """Tabulate the comparison with other packages, a row per instance and package."""
    head = ("task", "instance", "method", "CPU s", "× ldpopt", "difference", "agrees")
    table = Table(head, "lllrrrl", [])
    for row in found.peers:
        if row["reason"] == "absent":
            continue
        difference = f"{_number(row['difference'], 2)} {row['unit'] if row['agrees'] else ''}".rstrip()
        verdict = row["reason"] or _verdict([row["agrees"]])
        numbers = (_number(row["seconds"]), _number(row["ratio"]), difference, verdict)
        table.rows.append((row["task"], row["instance"], row["method"], *numbers))
    return table


def errors(found: Benchmark) -> Table:
    """Tabulate the errors of estimates at equal promises, a row per question and mechanism."""
    table = Table(("question", "table", "ε", "method", "RMSE", "÷ ldpopt", "run"), "llrlrrr", [])
    for row in found.errors:
        if row["reason"] != "absent":
            asked = row["question"], row["instance"], f"{row['epsilon']:g}", row["method"]
            ratio = f"{row['ratio']:.3f}" if row["ratio"] > 0.5 else _number(row["ratio"], 2)
            numbers = _number(row["error"], 4), ratio, _number(row["measured"], 4)
            table.rows.append((*asked, *numbers))
    return table


def _form_part(
    name: str, rows: list[Row], found: Benchmark, plugins: Sequence[type[Solver[Any]]]
) -> FormPart:
    solvers = [*(SOLVERS[solver] for solver in BY_FORM.get(name, ())), *plugins]
    asks = next((_first_paragraph(cls.form) for cls in solvers if cls.form.name == name), "")
    seen = {row["solver"] for row in rows}
    parts = [_problem_part(kind, of_problem, found) for kind, of_problem in by("problem", rows)]
    return FormPart(name, asks, parts, [solver for solver in SOLVERS if solver not in seen])


def _problem_part(kind: str, rows: list[Row], found: Benchmark) -> ProblemPart:
    tried = [row for row in rows if row["status"] != "refused"]
    form, sized = rows[0]["form"], rows[0]["size"] is not None
    return ProblemPart(
        kind,
        _first_paragraph(PROBLEMS[kind]),
        _first_paragraph(PROBLEMS[kind].random) if sized else "Files of the test set.",
        next((row["baseline"] for row in tried if row["baseline"]), "–"),
        _times(tried),
        _growth(tried if sized else []),
        refusals(rows),
        svg(draw_times(tried), f"Time against size: {kind}, {form}") if sized else Markup(""),
        svg(draw_gaps(rows, found), f"Proven gap over time and profiles: {kind}, {form}"),
    )


def _first_paragraph(documented: object) -> str:
    return " ".join((inspect.getdoc(documented) or "").split("\n\n")[0].split())


def _times(rows: list[Row]) -> Table:
    head = (
        *("solver", "size", "instances", "solved", "CPU s", "quartiles", "starts s", "× faster"),
        *("status", "largest gap", "from best bound", "peak MB", "child MB", "verified", "agrees"),
    )
    table = Table(head, "lrrrrrrrlrrrrll", [])
    for solver, of_solver in by("solver", rows):
        for size, tried in by("size", of_solver):
            table.rows.append(
                (
                    solver,
                    "–" if size is None else str(size),
                    str(len(tried)),
                    str(sum(bool(row["solved"]) for row in tried)),
                    _number(middle("cpu", tried)),
                    _spread(tried),
                    _number(middle("start", tried) or None),
                    _number(middle("speedup", tried)),
                    _counts(row["status"] for row in tried),
                    _number(max(known("gap", tried), default=None), 2),
                    _number(max(known("known_gap", tried), default=None), 2),
                    _number(max(known("megabytes", tried), default=None)),
                    _number(max(known("child_megabytes", tried), default=None)),
                    _verdict(row["verified"] for row in tried),
                    _verdict(row["agrees"] for row in tried),
                )
            )
    return _told(table)


def _told(table: Table) -> Table:
    """Leave out the columns that say nothing in any row."""
    told = [i for i, cells in enumerate(zip(*table.rows, strict=True)) if set(cells) != {"–"}]
    rows = [tuple(row[i] for i in told) for row in table.rows]
    return Table(tuple(table.head[i] for i in told), "".join(table.align[i] for i in told), rows)


def _growth(rows: list[Row]) -> Table:
    table = Table(("solver", "sizes", "time ∝ size^a", "memory ∝ size^b"), "llrr", [])
    for solver, of_solver in by("solver", rows):
        measured = [row for row in of_solver if row["cpu"] is not None]
        cut = {row["size"] for row in measured if not row["solved"] and row["status"] != "feasible"}
        ended = [row for row in measured if row["size"] not in cut]
        sizes = ", ".join(str(size) for size, _ in by("size", ended)) or "–"
        table.rows.append((solver, sizes, _fit("cpu", ended), _fit("megabytes", ended)))
    return table


def _fit(name: str, rows: list[Row]) -> str:
    """Fit the exponent of the medians of a column; for memory, of those that are not noise."""
    medians = {size: middle(name, of_size) or 0.0 for size, of_size in by("size", rows)}
    large = {s: m for s, m in medians.items() if name != "megabytes" or m >= LEAST_MEGABYTES}
    found = exponent(list(large), list(large.values()))
    return "too few sizes" if found is None else f"{found:.2f}"


def refusals(rows: list[Row]) -> Table:
    """Tabulate who refused which sizes, and why."""
    table = Table(("solver", "sizes", "instances", "reason"), "llrl", [])
    for solver, of_solver in by("solver", [row for row in rows if row["status"] == "refused"]):
        for reason, refused in by("reason", of_solver):
            sizes = ", ".join("–" if size is None else str(size) for size, _ in by("size", refused))
            table.rows.append((solver, sizes, str(len(refused)), reason))
    return table


# ------------------------------------------------------------ rows to cells


def _number(value: float | None, digits: int = 3) -> str:
    return "–" if value is None else f"{value:.{digits}g}"


def _spread(rows: list[Row]) -> str:
    """Write the medians of the quartiles; a dash where no run was repeated."""
    if not any((row["runs"] or 0) > 1 for row in rows):
        return "–"
    return _range(*(middle(name, rows) for name in ("cpu_low", "cpu_high")))


def _range(low: float | None, high: float | None) -> str:
    return f"{_number(low)} – {_number(high)}"


def _counts(statuses: Iterable[str]) -> str:
    groups = [(status, len(list(same))) for status, same in groupby(sorted(statuses))]
    return groups[0][0] if len(groups) == 1 else ", ".join(f"{n} {status}" for status, n in groups)


def _verdict(answers: Iterable[bool | None]) -> str:
    """Write NO if any is false, else yes if any is true, else a dash."""
    known = [answer for answer in answers if answer is not None]
    return "–" if not known else "yes" if all(known) else "NO"


# ------------------------------------------------------------ templates


def _templates() -> Environment:
    templates = Environment(
        loader=PackageLoader("ldpopt.bench", "templates"),
        autoescape=select_autoescape(("html",)),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    filters: dict[str, Callable[[str], str]] = {"code": _html_code, "markdown": _markdown}
    templates.filters |= filters
    return templates


def _html_code(text: str) -> Markup:
    """Write docstring text in HTML: what stands in double backquotes is code."""
    return Markup(re.sub(r"``(.+?)``", r"<code>\1</code>", str(escape(text))))


def _markdown(text: str) -> str:
    """Escape text for Markdown, so that none of its characters ends a cell or opens a tag."""
    return text.replace("``", "`").replace("|", "\\|").replace("<", "&lt;")
