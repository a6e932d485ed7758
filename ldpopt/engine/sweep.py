"""The sweep engine: one experiment, many points, one tidy row each; parallel and resumable."""

from __future__ import annotations

import contextlib
import csv
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib

from ldpopt.core import notebook
from ldpopt.core.errors import InvalidInputError
from ldpopt.core.files import write_whole
from ldpopt.core.limits import Limits
from ldpopt.core.workers import Parallel, workers
from ldpopt.engine.artifact import RESULTS, write_manifest
from ldpopt.engine.provenance import code_digest
from ldpopt.engine.solving import environment, kept_results, whole_answers
from ldpopt.engine.source_digest import source_digest

Row = dict[str, Any]
Point = Mapping[str, Any]
Points = list[dict[str, Any]]


@dataclass(frozen=True, repr=False)
class Study:
    """What a run of an experiment leaves: its rows, its files, and what they show.

    ``reused`` of the rows were there from an earlier run of the same code. If the study was
    interrupted, ``missing`` points have no row; ``late`` more took longer than they may.
    """

    rows: list[Row]
    files: list[Path]
    conclusion: str
    reused: int = 0
    missing: int = 0
    late: int = 0

    def __repr__(self) -> str:
        files = [("file", path) for path in self.files]
        return notebook.text(f"{len(self.rows)} rows: {self.conclusion}", files)


@dataclass(frozen=True)
class Experiment:
    """A figure of a paper, or a study of our own; the docstring of its module says which, in a line.

    Attributes:
        name: the slug; file names start with it.
        points: the parameter settings, as plain JSON data; ``points(quick)`` with quick=False gives the
            paper's sizes.
        measure: one point to one row of plain values; a module-level function, as it runs in workers.
        draw: rows to figures, written into the given directory; returns their paths.
        conclude: rows to the sentence that says what the figure shows and where the paper differs.
        panel: the column of a point that names its panel, "" if there is one panel only.
        method: the column of a point that names the method measured, "" if a point measures all.
        usual: the methods that are measured unless others are asked for; empty for all of them.
        draws: the column of a point that counts random draws ("draws") or numbers one ("seed").
    """

    name: str
    points: Callable[[bool], Iterable[Point]]
    measure: Callable[..., Row]
    draw: Callable[[list[Row], Path], list[Path]]
    conclude: Callable[[list[Row]], str]
    panel: str = ""
    method: str = ""
    usual: tuple[str, ...] = ()
    draws: str = ""

    def run(
        self,
        quick: bool = True,
        *,
        only: Sequence[str] = (),
        methods: Sequence[str] = (),
        draws: int | None = None,
        out: Path | str | None = None,
        jobs: int = 1,
        scheduler: str | None = None,
        progress: Callable[[int, int], None] | None = None,
        force: bool = False,
        time_limit: float | None = None,
        keep_results: bool = False,
    ) -> Study:
        """Measure every point, draw, conclude.

        Ctrl-C ends the run early: what is finished is written and drawn, and the same call goes on
        from there.

        Args:
            quick: few small points (seconds) instead of the full study.
            only: the panels to measure; all if empty.
            methods: the methods to measure; the usual ones if empty.
            draws: how many random draws a mean is taken over, in place of the study's own number.
            out: a directory for CSV and figures; points already finished there by the same code are not
                measured again. Without it nothing is written.
            jobs: worker processes on this machine.
            scheduler: the address of a Dask scheduler to run on instead.
            progress: called with (finished, total) after every point.
            force: measure every point again.
            time_limit: seconds for a point; one that takes longer is left out. On a Dask cluster, whose
                workers are threads, nothing can be interrupted.
            keep_results: write the certified result of every solve into ``results`` of the directory,
                and a manifest of all files, so that ``ldpopt verify DIRECTORY`` checks them.

        Raises:
            InvalidInputError: there is no such panel or method, or nothing is drawn at random, or every
                point took longer than it may.
            KeyboardInterrupt: the user interrupted before a point was finished.
        """
        points = self.chosen(quick, only, methods, draws)
        whole = self.chosen(quick, draws=draws)
        places = workers(jobs, scheduler)
        Limits.within(time_limit)  # refuses what is no limit
        if out is None:
            if keep_results:
                raise InvalidInputError("results are kept in a directory: give out")
            rows, _, late = _measured(self, points, places, None, progress, time_limit, False)
            missing = len(points) - len(rows) - late
            return Study(rows, [], self._conclusion(rows, points, whole), missing=missing, late=late)
        directory = Path(out)
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InvalidInputError(f"cannot write to {directory}: {error.strerror}") from None
        journal = directory / f"{self.name}.journal.jsonl"
        if force:
            journal.unlink(missing_ok=True)
        rows, reused, late = _measured(self, points, places, journal, progress, time_limit, keep_results)
        table = directory / f"{self.name}.csv"
        write_csv(table, rows)
        files = [table, *self.draw(rows, directory)]
        if keep_results:
            kept = [directory / name for row in rows for name in row["results"]]
            files.append(write_manifest(directory, [*files, *kept]))
        missing = len(points) - len(rows) - late
        return Study(rows, files, self._conclusion(rows, points, whole), reused, missing, late)

    def chosen(
        self,
        quick: bool,
        only: Sequence[str] = (),
        methods: Sequence[str] = (),
        draws: int | None = None,
    ) -> Points:
        """List the points of a run.

        Args:
            quick: few small points instead of the full study.
            only: the panels to measure; all if empty.
            methods: the methods to measure; the usual ones if empty.
            draws: how many random draws to take; the study's own number if None.
        """
        points = [dict(point) for point in self.points(quick)]
        points = _with(points, self.panel, only, f"{self.name} has no panels to choose from")
        if methods or self.usual:
            refusal = f"{self.name} measures all methods at once"
            points = _with(points, self.method, methods or self.usual, refusal)
        return points if draws is None else _redrawn(points, self.draws, draws, self.name)

    def _conclusion(self, rows: list[Row], points: Points, whole: Points) -> str:
        """Return the conclusion of a whole study; for a part of it, say that it is a part."""
        if points == whole and len(rows) == len(points):
            return self.conclude(rows)
        return f"This is a part of the study ({len(rows)} of its points): no conclusion is drawn."


def _with(points: Points, column: str, names: Sequence[str], none: str) -> Points:
    """Keep the points with one of the names in a column; every name must occur in it."""
    if not names:
        return points
    if not column:
        raise InvalidInputError(none)
    there = list(dict.fromkeys(f"{point[column]}" for point in points))
    unknown = [name for name in names if name not in there]
    if unknown:
        raise InvalidInputError(
            f"there is no {column} {unknown[0]!r}; choose among {', '.join(map(repr, there))}"
        )
    return [point for point in points if f"{point[column]}" in names]


def _redrawn(points: Points, column: str, draws: int, name: str) -> Points:
    """Set the number of draws of every setting; settings without draws stay unchanged."""
    if not column:
        raise InvalidInputError(f"{name} draws nothing at random: --draws has no meaning for it")
    if column == "draws":
        return [point | {column: draws} if column in point else point for point in points]
    settings: dict[str, dict[str, Any]] = {}
    for point in points:
        rest = {key: value for key, value in point.items() if key != column}
        settings.setdefault(json.dumps([rest, column in point]), point)
    return [
        point | ({column: seed} if column in point else {})
        for point in settings.values()
        for seed in range(draws if column in point else 1)
    ]


def point_key(point: Point, code: str = "") -> str:
    """Compute a digest of a point and of what computes it, under which its row is remembered.

    Args:
        point: the parameters of the row.
        code: the digest of the code that measures; a change of it makes all rows new.
    """
    text = json.dumps({"point": point, "by": environment(), "code": code}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def measure_row(
    experiment: str,
    measure: Callable[..., Row],
    point: Point,
    time_limit: float | None = None,
    keep_results: bool = False,
) -> Row | None:
    """Measure one row with its provenance; None if that takes longer than it may.

    The provenance is: experiment, version, seconds (and the point's own seed and solver).

    Args:
        experiment: its name.
        measure: maps a point to its row.
        point: the parameters of the row.
        time_limit: seconds.
        keep_results: whether the row has a column ``results``: what was certified, as files hold it.
    """
    limits = Limits.within(time_limit)
    with whole_answers(), kept_results() as kept:  # what Ctrl-C leaves of a solve is not the row
        found = limits.in_time(lambda: measure(**point), lambda: None)
    if found is None:
        return None
    if keep_results:
        found = {**found, "results": [one.to_json() for one in kept if one.value is not None]}
    provenance = {"experiment": experiment, "version": environment()["ldpopt"]}
    return {**provenance, "seed": None, "solver": None, **point, **found, "seconds": limits.elapsed()}


def _written(results: list[dict[str, Any]], directory: Path, key: str) -> list[str]:
    """Write the results of a row; return the names of their files."""
    (directory / RESULTS).mkdir(exist_ok=True)
    names = [f"{RESULTS}/{key}-{i}.json" for i in range(len(results))]
    for name, result in zip(names, results, strict=True):
        write_whole(directory / name, json.dumps(result, allow_nan=False) + "\n")
    return names


def read_journal(path: Path) -> dict[str, Row]:
    """Read the finished points of an earlier run; a last line cut off by an interruption is dropped."""
    rows: dict[str, Row] = {}
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            with contextlib.suppress(ValueError, KeyError, TypeError):
                entry = json.loads(line)
                rows[entry["key"]] = entry["row"]
    return rows


def append_line(path: Path, line: str) -> None:
    """Append a line to a file, which is made if there is none."""
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(line)
    except OSError as error:
        raise InvalidInputError(f"cannot write {path}: {error.strerror or error}") from None


def read_csv(path: Path) -> list[Row]:
    """Read what :func:`write_csv` wrote, numbers and lists as such; an empty cell is None."""
    with path.open(encoding="utf-8", newline="") as file:
        return [{name: _value(cell) for name, cell in row.items()} for row in csv.DictReader(file)]


def write_csv(path: Path, rows: list[Row]) -> None:
    """Write one tidy line per row; columns in the order of first appearance."""
    import io

    names = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows({k: _cell(v) for k, v in row.items()} for row in rows)
    write_whole(path, text.getvalue())


def _cell(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, (list, tuple, dict)) else value


def _value(cell: str) -> Any:
    if cell in ("", "True", "False"):
        return {"": None, "True": True, "False": False}[cell]
    try:
        return json.loads(cell)
    except ValueError:
        return cell


Workers = contextlib.AbstractContextManager[Parallel]


def _measured(
    experiment: Experiment,
    points: Points,
    places: Workers,
    journal: Path | None,
    progress: Callable[[int, int], None] | None,
    time_limit: float | None,
    keep_results: bool,
) -> tuple[list[Row], int, int]:
    """Measure the rows, in the order of the points; each new row is journalled at once.

    After Ctrl-C the rows are those that are finished. The numbers are those of the rows that were there
    and of the points that took too long.
    """
    code = source_digest(experiment.measure) + code_digest()
    keys = [point_key(point, code + ("with results" if keep_results else "")) for point in points]
    rows = {} if journal is None else read_journal(journal)
    todo = [(key, p) for key, p in zip(keys, points, strict=True) if key not in rows]
    late = 0
    try:
        with places as parallel:
            tasks = (
                joblib.delayed(measure_row)(
                    experiment.name, experiment.measure, p, time_limit, keep_results
                )
                for _, p in todo
            )
            for (key, _), row in zip(todo, parallel(tasks), strict=True):
                if row is None:
                    late += 1
                    continue
                if keep_results and journal is not None:
                    row["results"] = _written(row["results"], journal.parent, key)
                rows[key] = row
                if journal is not None:
                    append_line(journal, json.dumps({"key": key, "row": row}) + "\n")
                if progress is not None:
                    progress(sum(k in rows for k in keys), len(keys))
    except KeyboardInterrupt:
        if not any(key in rows for key in keys):
            raise
    there = [rows[key] for key in keys if key in rows]
    if late and not there:
        raise InvalidInputError(
            f"every point took longer than {time_limit:g} s; allow more (--time-limit)"
        )
    return there, len(keys) - len(todo), late
