"""What the commands share: consoles, cells of tables, progress bars, checks of where output goes."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

import typer
from rich import progress
from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table
from rich.text import Text

from ldpopt.core.errors import InvalidInputError
from ldpopt.core.exact import EXIT_CODES, printable
from ldpopt.core.files import PathName, save_figure
from ldpopt.core.form import relative_gap

if TYPE_CHECKING:
    from ldpopt.release.designing import AnyDesign
    from ldpopt.release.estimating import Frequencies
    from ldpopt.release.planning import Plan


class _Console(Console):
    """A console that does not end the process where nobody reads it, but says so to its caller."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


out_console = _Console()
err_console = _Console(stderr=True)


def say(line: str) -> None:
    """Print a line; characters that move the cursor, break lines or change direction are escaped."""
    print(printable(line))


def tell(line: str) -> None:
    """Print a line on standard error, in the same way.

    It is one write, so that Ctrl-C does not come between the line and its end.
    """
    sys.stderr.write(f"{printable(line)}\n")


NARROW = 16
"""The width to which a column of words is narrowed before a column is left out."""
BROKEN = 6
"""The width to which it is narrowed when no column is spare: then words are broken."""


def print_table(
    titles: Sequence[str],
    rows: Iterable[Sequence[Any]],
    left: Sequence[str] = (),
    title: str | None = None,
    spare: Sequence[str] = (),
) -> None:
    """Print a table with a title per column; a pipe gets whole lines.

    On a terminal too narrow for all columns the spare ones are left out, and a line says which.

    Args:
        titles: the titles of the columns.
        rows: the values of each row, in the order of the titles.
        left: the titles of the columns of words, which are aligned left and may be wrapped.
        title: the title of the table.
        spare: the titles of the columns that may be left out, in this order.
    """
    cells = [[cell(value) for value in row] for row in rows]
    console = out_console if out_console.is_terminal else _Console(width=200)
    texts = {name: [row[i] for row in cells] for i, name in enumerate(titles)}
    least = {name: _least_width(name, texts[name], name in left) for name in titles}
    shown, going = list(titles), [name for name in spare if name in titles]
    while going and _table_width(least[name] for name in shown) > console.width:
        shown.remove(going.pop(0))
    widths = {name: least[name] for name in shown}
    words = [name for name in shown if name in left]
    while words and _table_width(widths.values()) > console.width:
        widest = max(words, key=lambda name: widths[name])
        if widths[widest] <= BROKEN:
            break
        widths[widest] -= 1
    room = console.width - _table_width(widths.values())
    for name in shown:
        wished = max(map(cell_len, [printable(name), *texts[name]]))
        more = min(max(room, 0), wished - widths[name])
        widths[name] += more
        room -= more
    table = Table(title=None if title is None else Text(printable(title), style="italic"))
    for name in shown:
        side: Literal["left", "right"] = "left" if name in left else "right"
        table.add_column(Text(printable(name)), justify=side, overflow="fold", width=widths[name])
    for row in zip(*(texts[name] for name in shown), strict=True):
        table.add_row(*map(Text, row))
    console.print(table)
    if gone := [name for name in titles if name not in shown]:
        hang("left out at this width: ", ", ".join(gone))


def _least_width(title: str, texts: Sequence[str], words: bool) -> int:
    """Return how narrow a column may get: numbers are not broken, and words only if very long."""
    longest = max(map(cell_len, texts), default=0)
    if words:
        word = max((cell_len(word) for text in texts for word in text.split()), default=0)
        longest = min(longest, max(NARROW, min(word, 2 * NARROW)))
    return max(longest, *map(cell_len, printable(title).split()))


def _table_width(widths: Iterable[int]) -> int:
    """Return the width of a table with its lines and the space around its cells."""
    return 1 + sum(3 + width for width in widths)


def print_facts(facts: dict[str, str]) -> None:
    """Print a line per fact, the names in a column of their own; on a terminal, wrapped lines hang.

    A command stays in one line, as it will be copied.
    """
    width = max(map(len, facts))
    for name, text in facts.items():
        head = f"{name:<{width}}  "
        if text.startswith("ldpopt "):
            say(head + text)
        else:
            hang(head, text)


def hang(head: str, text: str) -> None:
    """Print a line; on a terminal, what does not fit is continued below its text, not below its head.

    Args:
        head: what the line begins with; below a long one the text hangs by four columns.
        text: what follows it, and hangs.
    """
    line, room = printable(head + text), out_console.width - cell_len(printable(head))
    if not out_console.is_terminal or cell_len(line) <= out_console.width or room < NARROW:
        print(line)
        return
    width = cell_len(printable(head))
    indent = " " * (width if width <= 2 * NARROW else 4)
    print(textwrap.fill(line, out_console.width, subsequent_indent=indent, break_on_hyphens=False))


def cell(value: Any, digits: int = 4) -> str:
    """Format a value as a table shows it."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "NO"
    if isinstance(value, float):
        return f"{value:.{digits}g}"
    return printable(str(value))


def check_output(path: Path, force: bool, *inputs: PathName) -> None:
    """Refuse, before the work begins, an output that cannot be written or would replace a file.

    Args:
        path: the place.
        force: whether an earlier output may be lost.
        inputs: files that must not be lost, and other outputs of the command.
    """
    if path.is_dir():
        raise InvalidInputError(f"cannot write {path}: it is a directory")
    if path.exists() and not path.is_file():
        raise InvalidInputError(f"cannot write {path}: it is not a regular file")
    for name in inputs:
        both = path.exists() and os.path.exists(name)
        if path.samefile(name) if both else os.path.realpath(path) == os.path.realpath(name):
            raise InvalidInputError(f"cannot write {path}: it would replace {os.fspath(name)}")
    if not path.parent.is_dir():
        raise InvalidInputError(f"cannot write {path}: there is no directory {path.parent}")
    if not os.access(path.parent, os.W_OK):
        raise InvalidInputError(f"cannot write {path}: permission denied")
    if path.exists() and not force:
        raise InvalidInputError(f"cannot write {path}: it exists; choose another name, or --force")


def check_picture(path: Path, force: bool, *inputs: PathName) -> None:
    """Refuse as :func:`check_output` does, and a path that names no format of pictures.

    Args:
        path: the place.
        force: whether an earlier picture may be lost.
        inputs: files that must not be lost.
    """
    check_output(path, force, *inputs)
    if path.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise InvalidInputError(f"--plot must end in .png, .svg or .pdf, not {path.name!r}")


def save_plot(found: Frequencies | Plan, path: Path) -> None:
    """Write the picture of what was found; no window is opened."""
    import matplotlib as mpl

    mpl.use("agg")
    figure = found.plot().get_figure(root=True)
    assert figure is not None
    save_figure(figure, path, dpi=140)
    tell(f"wrote {path}")


def end_as_decided(made: AnyDesign) -> None:
    """End the command with the exit code of the verdict on a mechanism's file; say why if it is not 0.

    What is refuted or undecided was refused before; what is left is a promise that the file does not
    decide.
    """
    found = made.verification
    if not found:
        tell(f"warning: {found.summary}")
    raise typer.Exit(EXIT_CODES[found.verdict])


def make_directory(path: Path) -> None:
    """Make a directory for output, unless it is there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInputError(f"cannot write to {path}: {error.strerror}") from None


class Left(progress.ProgressColumn):
    """How many seconds are left at most, where the work has a time limit."""

    def render(self, task: progress.Task) -> Text:
        """Write the seconds."""
        if (limit := task.fields.get("limit")) is None:
            return Text("")
        return Text(f"≤ {max(0.0, limit - (task.elapsed or 0.0)):.0f} s left")


class Watch:
    """A line that names the step of long work and what is known so far; silent without a bar.

    Args:
        bar: what shows the line; None for nothing.
        what: the first step.
        limit: seconds that the work may take; None for no limit.
    """

    def __init__(self, bar: progress.Progress | None, what: str, limit: float | None) -> None:
        self._bar, self._what, self._known = bar, what, ""
        self._task = None if bar is None else bar.add_task(printable(what), limit=limit)

    def step(self, what: str, limit: float | None = None) -> None:
        """Name another step; one with a time limit of its own starts the clock again."""
        self._what, self._known = what, ""
        if limit is not None and self._bar is not None and self._task is not None:
            self._bar.reset(self._task, limit=limit)
        self._show()

    def __call__(self, value: float, bound: float, /) -> None:
        """Show the best value and the proven bound so far; the first of a step without delay."""
        first = not self._known
        gap = relative_gap(value, bound) if math.isfinite(value) and math.isfinite(bound) else None
        self._known = f"value {value:.6g}" + (
            ", no bound yet" if gap is None else f", bound {bound:.6g}, gap {gap:.2g}"
        )
        self._show(at_once=first)

    def _show(self, at_once: bool = False) -> None:
        if self._bar is not None and self._task is not None:
            text = f"{self._what}: {self._known}" if self._known else self._what
            self._bar.update(self._task, description=escape(printable(text)), refresh=at_once)


def _described() -> progress.TextColumn:
    """Give the column of what is being done: it alone is cut where the line is too narrow for all."""
    column = Column(no_wrap=True, overflow="ellipsis", ratio=1)
    return progress.TextColumn("{task.description}", table_column=column)


@contextlib.contextmanager
def _drawn(bar: progress.Progress) -> Iterator[progress.Progress]:
    """Draw a bar, and erase it in the end."""
    try:
        with _held_back():
            bar.start()
        yield bar
    finally:
        with _held_back():
            bar.stop()


@contextlib.contextmanager
def _held_back() -> Iterator[None]:
    """Delay Ctrl-C to the end of the block, so that no half-drawn or half-erased bar remains."""
    pressed: list[bool] = []
    before = signal.getsignal(signal.SIGINT)
    if not callable(before):  # ignored, as behind nohup
        yield
        return
    signal.signal(signal.SIGINT, lambda *_: pressed.append(True))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if pressed:
            before(signal.SIGINT, None)


@contextlib.contextmanager
def watching(what: str, limit: float | None = None) -> Iterator[Watch]:
    """Show a spinner with the step, value, bound and gap, and the time left; on a terminal only.

    Args:
        what: the first step.
        limit: seconds that the work may take; None for no limit.
    """
    if not err_console.is_terminal:
        yield Watch(None, what, limit)
        return
    columns = (
        progress.SpinnerColumn(),
        _described(),
        progress.TimeElapsedColumn(table_column=Column(no_wrap=True)),
        Left(table_column=Column(no_wrap=True)),
    )
    with _drawn(progress.Progress(*columns, console=err_console, transient=True, expand=True)) as bar:
        yield Watch(bar, what, limit)


class Counting(Protocol):
    """A function that is called with how much is done, how much in all, and what is done now."""

    def __call__(self, finished: int, total: int | None, doing: str = "", /) -> None:
        """Receive how far the work is.

        Args:
            finished: how much is done.
            total: how much there is in all; None if nobody knows.
            doing: what is being done now.
        """


@contextlib.contextmanager
def counting(what: str) -> Iterator[Counting | None]:
    """Show a bar with how much is done, of how much, and the time left, on a terminal only."""
    if not err_console.is_terminal:
        yield None
        return
    columns = (
        _described(),
        progress.BarColumn(12),
        progress.MofNCompleteColumn(table_column=Column(no_wrap=True)),
        progress.TimeElapsedColumn(table_column=Column(no_wrap=True)),
        progress.TextColumn("left"),
        progress.TimeRemainingColumn(table_column=Column(no_wrap=True)),
    )
    with _drawn(progress.Progress(*columns, console=err_console, transient=True, expand=True)) as bar:
        task = bar.add_task(what, total=None)

        def show(finished: int, total: int | None, doing: str = "", /) -> None:
            text = printable(f"{what}: {doing}" if doing else what)
            bar.update(task, completed=finished, total=total, description=escape(text))

        yield show
