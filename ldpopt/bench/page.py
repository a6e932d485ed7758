"""The page of a benchmark: one HTML file that needs nothing else, and the same tables in Markdown."""

from __future__ import annotations

import inspect
import io
import os
import platform
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import matplotlib as mpl
import psutil
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup, escape
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from ldpopt.bench.benchmark import Benchmark, Entry, catalogue, exponent
from ldpopt.core.files import write_whole
from ldpopt.core.solver import Solver
from ldpopt.engine.solving import environment
from ldpopt.engine.sweep import Row, write_csv
from ldpopt.problems import PROBLEMS
from ldpopt.solvers import SOLVERS

LEAST_MEGABYTES = 0.3
"""Growth below this may be noise (the least of any solve is 0.1); no exponent is fitted to it."""
COLOURS = ("#0072b2", "#d55e00", "#007a5a", "#a3467e", "#7a6000", "#1f1f1f", "#3f8fc0", "#8a4b00")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES = (
    "-",
    (0, (5, 2)),
    (0, (1, 1.5)),
    (0, (5, 1.5, 1, 1.5)),
    (0, (9, 2)),
    (0, (3, 1, 1, 1, 1, 1)),
)


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
    """Write ``bench.html``, ``bench.md`` and ``bench.csv`` into an existing directory.

    Args:
        found: the benchmark.
        directory: where to.
        command: the command line that runs it again.
        started: when it began, in UTC.
        plugins: the solvers that are not registered.
    """
    told = facts(found, command, started, plugins)
    paths = [directory / name for name in ("bench.html", "bench.md", "bench.csv")]
    for path in paths[:2]:
        write_whole(path, _templates().get_template(path.name).render(told))
    write_csv(paths[2], found.rows)
    return paths


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
    forms = catalogue(plugins)
    return {
        "found": found,
        "command": command,
        "date": started.strftime("%Y-%m-%d %H:%M UTC"),
        "machine": machine(),
        "versions": environment(),
        "plugins": [plugin.name for plugin in plugins],
        "problems": len({row["problem"] for row in found.measured}),
        "solvers": len({row["solver"] for row in found.measured}),
        "instances": len({(row["instance"], row["seed"]) for row in found.rows}),
        "refused": sum(row["status"] == "refused" for row in found.rows),
        "least_megabytes": LEAST_MEGABYTES,
        "overview": overview(found),
        "forms": [_form_part(name, rows, found, forms) for name, rows in _by("form", found.rows)],
        "skipped": [kind for kind in PROBLEMS if not PROBLEMS[kind].bench_sizes],
    }


def machine() -> dict[str, str]:
    """Describe the machine that the times belong to: processor, cores, memory, system and load."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "processor": _processor(),
        "cores": f"{cores} usable",
        "memory": f"{psutil.virtual_memory().total / 1e9:.1f} GB",
        "system": platform.platform(),
        "load average at the end": ", ".join(f"{load:.1f}" for load in psutil.getloadavg())
        + " (1, 5, 15 minutes)",
        "threads of the linear algebra": os.environ.get("OMP_NUM_THREADS", "not limited"),
    }


def _processor() -> str:
    try:
        named = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        named = None
    return named[1] if named else platform.processor() or platform.machine()


def overview(found: Benchmark) -> Table:
    """Find for every problem the fastest solver that proves its largest instances optimal."""
    head = ("problem", "form", "size", "fastest proven optimal", "median s", "× faster", "baseline")
    rows = []
    for form, of_form in _by("form", found.rows):
        for kind, of_problem in _by("problem", of_form):
            rows.append((kind, form, *_fastest(of_problem)))
    return Table(head, "llrlrrl", rows)


def _fastest(rows: list[Row]) -> tuple[str, ...]:
    for size in sorted({row["size"] for row in rows}, reverse=True):
        here = [row for row in rows if row["size"] == size]
        count = len({(row["instance"], row["seed"]) for row in here})
        proven = {
            solver: tried
            for solver, tried in _by("solver", [row for row in here if _is_proven(row)])
            if len(tried) == count
        }
        if proven:
            best = min(proven, key=lambda solver: _median("seconds", proven[solver]) or 0.0)
            tried = proven[best]
            numbers = (_number(_median(name, tried)) for name in ("seconds", "speedup"))
            return str(size), best, *numbers, tried[0]["baseline"]
    return "–", "none proves all instances of a size", "–", "–", "–"


def _is_proven(row: Row) -> bool:
    return row["status"] == "optimal" and bool(row["agrees"]) and row["verified"] is not False


def _form_part(name: str, rows: list[Row], found: Benchmark, forms: dict[str, Entry]) -> FormPart:
    asks = _first_paragraph(forms[name].form) if name in forms else ""
    seen = {row["solver"] for row in rows}
    parts = [_problem_part(kind, of_problem, found) for kind, of_problem in _by("problem", rows)]
    return FormPart(name, asks, parts, [solver for solver in SOLVERS if solver not in seen])


def _problem_part(kind: str, rows: list[Row], found: Benchmark) -> ProblemPart:
    tried = [row for row in rows if row["status"] != "refused"]
    return ProblemPart(
        kind,
        _first_paragraph(PROBLEMS[kind]),
        _first_paragraph(PROBLEMS[kind].random),
        next((row["baseline"] for row in tried if row["baseline"]), "–"),
        _times(tried),
        _growth(tried, found.time_limit),
        _refusals(rows),
        draw_times(tried, f"Time against size: {kind}, {rows[0]['form']}"),
    )


def _first_paragraph(documented: object) -> str:
    return " ".join((inspect.getdoc(documented) or "").split("\n\n")[0].split())


def _times(rows: list[Row]) -> Table:
    head = ("solver", "size", "instances", "median s", "× faster", "status", "largest gap", "peak MB")
    table = Table((*head, "verified", "agrees"), "lrrrrlrrll", [])
    for solver, of_solver in _by("solver", rows):
        for size, tried in _by("size", of_solver):
            table.rows.append(
                (
                    solver,
                    str(size),
                    str(len(tried)),
                    _number(_median("seconds", tried)),
                    _number(_median("speedup", tried)),
                    _counts(row["status"] for row in tried),
                    _number(max(_known("gap", tried), default=None), 2),
                    _number(max(_known("megabytes", tried), default=None)),
                    _verdict(row["verified"] for row in tried),
                    _verdict(row["agrees"] for row in tried),
                )
            )
    return table


def _growth(rows: list[Row], time_limit: float) -> Table:
    table = Table(("solver", "sizes", "time ∝ size^a", "memory ∝ size^b"), "llrr", [])
    for solver, of_solver in _by("solver", rows):
        measured = [row for row in of_solver if row["seconds"] is not None]
        cut = {
            row["size"] for row in measured if row["seconds"] >= time_limit or row["status"] == "limit"
        }
        ended = [row for row in measured if row["size"] not in cut]
        sizes = ", ".join(str(size) for size, _ in _by("size", ended)) or "–"
        table.rows.append((solver, sizes, _fit("seconds", ended), _fit("megabytes", ended)))
    return table


def _fit(name: str, rows: list[Row]) -> str:
    """Fit the exponent of the medians of a column; for memory, of those that are not noise."""
    medians = {size: _median(name, of_size) or 0.0 for size, of_size in _by("size", rows)}
    large = {s: m for s, m in medians.items() if name != "megabytes" or m >= LEAST_MEGABYTES}
    found = exponent(list(large), list(large.values()))
    return "too few sizes" if found is None else f"{found:.2f}"


def _refusals(rows: list[Row]) -> Table:
    table = Table(("solver", "sizes", "instances", "reason"), "llrl", [])
    for solver, of_solver in _by("solver", [row for row in rows if row["status"] == "refused"]):
        for reason, refused in _by("reason", of_solver):
            sizes = ", ".join(str(size) for size, _ in _by("size", refused))
            table.rows.append((solver, sizes, str(len(refused)), reason))
    return table


def draw_times(rows: list[Row], title: str) -> Markup:
    """Draw median time against size on logarithmic axes as an ``<svg>`` element, a line per solver."""
    figure = Figure(figsize=(5.6, 2.7), layout="constrained")
    axes = figure.subplots()
    for i, (solver, of_solver) in enumerate(
        _by("solver", [r for r in rows if r["seconds"] is not None])
    ):
        points = [(size, _median("seconds", of_size)) for size, of_size in _by("size", of_solver)]
        style = {"color": COLOURS[i % 8], "marker": MARKERS[i % 8], "linestyle": DASHES[i % 6]}
        (line,) = axes.plot(*zip(*points, strict=True), label=solver)
        line.set(markersize=5, linewidth=1.5, **style)
    axes.set(xscale="log", yscale="log", xlabel="size", ylabel="median time (s)")
    sizes = sorted({row["size"] for row in rows})
    axes.set_xticks(sizes, [str(size) for size in sizes])
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.grid(alpha=0.3)
    if axes.lines:
        figure.legend(loc="outside right upper", frameon=False, handlelength=4, fontsize="small")
    text = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": title}):
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(text, format="svg", metadata=nothing)
    svg = text.getvalue()[text.getvalue().index("<svg") :]
    return Markup(svg.replace("<svg", f'<svg role="img" aria-label="{escape(title)}"', 1))


# ------------------------------------------------------------ rows to cells


def _by(name: str, rows: Iterable[Row]) -> list[tuple[Any, list[Row]]]:
    """Group the rows by a column, in the order of first appearance."""
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        groups.setdefault(row[name], []).append(row)
    return list(groups.items())


def _known(name: str, rows: Iterable[Row]) -> list[float]:
    return [row[name] for row in rows if row[name] is not None]


def _median(name: str, rows: Iterable[Row]) -> float | None:
    values = _known(name, rows)
    return median(values) if values else None


def _number(value: float | None, digits: int = 3) -> str:
    return "–" if value is None else f"{value:.{digits}g}"


def _counts(statuses: Iterable[str]) -> str:
    groups = [(status, len(list(same))) for status, same in groupby(sorted(statuses))]
    return groups[0][0] if len(groups) == 1 else ", ".join(f"{n} {status}" for status, n in groups)


def _verdict(answers: Iterable[bool | None]) -> str:
    """Write NO if any is false, yes if any is true, a dash if nothing was to be decided."""
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
