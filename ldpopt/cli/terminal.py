"""What the commands share: consoles, cells of tables, progress bars, checks of where output goes."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.measure import Measurement
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table
from rich.text import Text

from ldpopt.checker.claims import printable
from ldpopt.core.errors import InvalidInputError

out_console = Console()
err_console = Console(stderr=True)


def say(line: str) -> None:
    """Print a line; what would move the cursor, break it or turn its direction is spelt out."""
    print(printable(line))


def tell(line: str) -> None:
    """Print a line on standard error, in the same way."""
    print(printable(line), file=sys.stderr)


def print_table(
    titles: Sequence[str],
    rows: Iterable[Sequence[Any]],
    left: Sequence[str] = (),
    title: str | None = None,
) -> None:
    """Print a table with a title per column, those in ``left`` aligned left; a pipe gets whole lines.

    On a terminal too narrow for its longest words, every row is a line of text instead.

    Args:
        titles: the titles of the columns.
        rows: the values of each row, in the order of the titles.
        left: the titles of the columns that are aligned left.
        title: of the table.
    """
    rows = [[cell(value) for value in row] for row in rows]
    shown = None if title is None else Text(printable(title), style="italic")
    table = Table(title=shown)
    for name in titles:
        table.add_column(Text(printable(name)), justify="left" if name in left else "right")
    for row in rows:
        table.add_row(*map(Text, row))
    console = out_console if out_console.is_terminal else Console(width=200)
    wide = console.options.update(max_width=10_000)
    if Measurement.get(console, wide, table).minimum <= console.width:
        console.print(table)
        return
    if shown is not None:
        console.print(shown)
    for name, *others in rows:
        facts = (f"{printable(title)} {value}" for title, value in zip(titles[1:], others, strict=True))
        console.print(Text(f"{name}: {', '.join(facts)}"))


def print_facts(facts: dict[str, str]) -> None:
    """Print a line per fact, the names in a column of their own."""
    width = max(map(len, facts))
    for name, text in facts.items():
        say(f"{name:<{width}}  {text}")


def cell(value: Any, digits: int = 4) -> str:
    """Format a value as a table shows it."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "NO"
    if isinstance(value, float):
        return f"{value:.{digits}g}"
    return printable(str(value))


def check_new(path: Path, force: bool) -> None:
    """Refuse to write over an earlier file, unless forced."""
    if path.exists() and not force:
        raise InvalidInputError(f"cannot write {path}: it exists; choose another name, or --force")


def check_writable(path: Path, *inputs: str | os.PathLike[str]) -> None:
    """Refuse a place for output before the work begins, and one that an input would be lost to."""
    if path.is_dir():
        raise InvalidInputError(f"cannot write {path}: it is a directory")
    if path.exists() and not path.is_file():
        raise InvalidInputError(f"cannot write {path}: it is not a regular file")
    for name in inputs:
        if path.exists() and os.path.exists(name) and path.samefile(name):
            raise InvalidInputError(f"cannot write {path}: it would replace {os.fspath(name)}")
    if not path.parent.is_dir():
        raise InvalidInputError(f"cannot write {path}: there is no directory {path.parent}")
    if not os.access(path.parent, os.W_OK):
        raise InvalidInputError(f"cannot write {path}: permission denied")


def make_directory(path: Path) -> None:
    """Make a directory for output, unless it is there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInputError(f"cannot write to {path}: {error.strerror}") from None


@contextlib.contextmanager
def watching() -> Iterator[Callable[[float, float], None] | None]:
    """Show a spinner with value and bound, on a terminal only."""
    if not err_console.is_terminal:
        yield None
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=err_console, transient=True) as bar:
        task = bar.add_task("solving")

        def show(value: float, bound: float) -> None:
            bar.update(task, description=f"value {value:.9g}  bound {bound:.9g}")

        yield show


@contextlib.contextmanager
def counting(what: str) -> Iterator[Callable[[int, int | None], None] | None]:
    """Show a bar with how much is done, of how much, on a terminal only."""
    if not err_console.is_terminal:
        yield None
        return
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=err_console, transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda finished, total: bar.update(task, completed=finished, total=total)
