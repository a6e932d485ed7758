"""Time ldpopt against other packages on the same instances, and check that the answers agree."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from statistics import median
from typing import Any, NamedTuple

from ldpopt.core.limits import Limits, OutOfTime, processor_time
from ldpopt.engine.sweep import Row

OURS = "ldpopt"
"""How the rows name this package."""
ENOUGH = 0.5
"""Seconds of processor time after which a call is not repeated."""
REPEATS = 5
"""The most calls whose median is taken."""


def same(answer: Any) -> Any:
    """Return the answer unchanged: the default of :attr:`Contender.like`."""
    return answer


class Contender(NamedTuple):
    """One way to the answer.

    Attributes:
        name: the name of the package, and of what is called.
        answer: the call that is timed; what it needs is prepared before.
        module: must be importable; "" for what ldpopt itself needs.
        refusal: why the instance is not for it; "" if it is.
        like: converts ldpopt's answer to what this contender returns.
    """

    name: str
    answer: Callable[[], Any]
    module: str = ""
    refusal: str = ""
    like: Callable[[Any], Any] = same


class Contest(NamedTuple):
    """One instance for several contenders, ldpopt first.

    Attributes:
        task: what is asked for.
        label: the instance, in words.
        contenders: ldpopt and its peers.
        difference: the difference of two answers, ldpopt's first.
        tolerance: the largest difference of answers that agree.
        unit: the unit of the difference.
    """

    task: str
    label: str
    contenders: tuple[Contender, ...]
    difference: Callable[[Any, Any], float]
    tolerance: float
    unit: str = ""


def contest_rows(contests: Iterable[Contest], seconds: float) -> Iterator[list[Row]]:
    """Yield a row per contender for every contest.

    The first call of a contender for a task is repeated before it counts: it pays for imports and
    compilation.

    Args:
        contests: the instances.
        seconds: after which a call is interrupted.
    """
    warm: set[tuple[str, str]] = set()
    for contest in contests:
        rows: list[Row] = []
        ours: Any = None
        for contender in contest.contenders:
            absent = contender.module and not is_here(contender.module.split(".")[0])
            row: Row = {
                "task": contest.task,
                "instance": contest.label,
                "method": contender.name,
                "seconds": None,
                "ratio": None,
                "difference": None,
                "unit": contest.unit,
                "agrees": None,
                "reason": "absent" if absent else contender.refusal,
            }
            rows.append(row)
            if row["reason"]:
                continue
            try:
                if (contest.task, contender.name) not in warm:
                    Limits.within(seconds).in_time(contender.answer)
                    warm.add((contest.task, contender.name))
                row["seconds"], answer = Limits.within(seconds).in_time(partial(timed, contender.answer))
            except OutOfTime:
                row["reason"] = f"did not end within {seconds:g} s"
                continue
            except Exception as error:  # one package's crash must not lose the others' rows
                row["reason"] = " ".join(f"crashed: {type(error).__name__}: {error}".split())
                continue
            if contender is contest.contenders[0]:
                ours = answer
            elif ours is not None:
                row["difference"] = contest.difference(contender.like(ours), answer)
                row["agrees"] = bool(row["difference"] <= contest.tolerance)
        _rate(rows)
        yield rows


def is_here(package: str) -> bool:
    """Return whether a package can be imported."""
    return importlib.util.find_spec(package) is not None


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """Return the median processor time of a few calls, and what the last one returned."""
    spent: list[float] = []
    while len(spent) < REPEATS and sum(spent) < ENOUGH:
        start = processor_time()
        answer = call()
        spent.append(processor_time() - start)
    return median(spent), answer


def _rate(rows: list[Row]) -> None:
    """Add how many times the processor time of ldpopt each row took."""
    ours = rows[0]["seconds"]
    for row in rows:
        if ours and row["seconds"] is not None:
            row["ratio"] = row["seconds"] / ours


def absent_line(rows: Iterable[Row]) -> str:
    """Say in one line which packages are not installed; empty if all are."""
    names = dict.fromkeys(row["method"].split(":")[0] for row in rows if row["reason"] == "absent")
    return f"absent: {', '.join(names)} (pip install 'ldpopt[cdd,peers]')" if names else ""


def disagreements(rows: Iterable[Row]) -> list[str]:
    """Write a sentence for every peer whose answer differs from ldpopt's."""
    return [
        f"{row['method']} on {row['task']}, {row['instance']}: differs by "
        f"{row['difference']:.3g} {row['unit']}".rstrip()
        for row in rows
        if row["agrees"] is False
    ]
