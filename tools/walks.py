"""Walk through six commands with a profiler: how many files they touch, how often they change room.

    python tools/walks.py                # this tree
    python tools/walks.py OLDER          # another one, with the packages of this Python

*Files* are those of ``ldpopt/`` in which a function is called, one that a decorator or a registry calls
while it is imported included; a file that is imported only is none. A *room* is a directory directly in
``ldpopt/``; the files beside them are one room. *Changes* of room are counted in the order of time along
the first call in every file: how often a file that is opened for the first time lies in another room
than the one before it; and, more finely, along the first call of every function. So they say how often a
reader who follows the command through the code has to go elsewhere. Each walk is a process of its own.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable
from inspect import CO_OPTIMIZED
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any

QUESTION = {
    "problem": "polyopt",
    "params": {
        "epsilon": 1.0,
        "p_hat": [[0.14, 0.08, 0.06], [0.11, 0.17, 0.07], [0.09, 0.13, 0.15]],
        "n": 1000,
    },
}
WALKS = {
    "solve": ["solve", "polyopt.json", "--out", "result.json"],
    "verify": ["verify", "result.json"],
    "design": [
        *("design", "adult:sex-race", "--secret", "sex", "--public", "race"),
        *("--epsilon", "1", "-o", "design.json"),
    ],
    "report": ["report", "design.json", "-o", "page.html", "--curve-seconds", "5"],
    "experiment": ["experiment", "rldp-polyopt", "--out", "figure"],
    "bench": ["bench", "staircase", "--sizes", "3"],
}
"""The command of every walk; each may use the files of those before."""


def walked(tree: Path, words: list[str]) -> list[str]:
    """Run a command of the package in ``tree``; return the file of every function, in order."""
    sys.path.insert(0, str(tree))
    import ldpopt.cli

    house = os.path.dirname(ldpopt.__file__)
    if Path(house) != tree / "ldpopt":
        sys.exit(f"the package is that of {house}, not of {tree}")
    met: dict[Any, str] = {}

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code not in met and code.co_flags & CO_OPTIMIZED:  # no module, no class
            met[code] = code.co_filename

    sys.argv = ["ldpopt", *words]
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        ldpopt.cli.main()
    except SystemExit as end:
        if end.code:
            sys.exit(f"{' '.join(words)} ended with exit code {end.code}")
    finally:
        sys.setprofile(None)
    return [os.path.relpath(file, house) for file in met.values() if file.startswith(house + os.sep)]


def changes(files: Iterable[str]) -> int:
    """Count how often the room changes from one file to the next."""
    rooms = [file.split(os.sep)[0] if os.sep in file else "" for file in files]
    return sum(one != other for one, other in pairwise(rooms))


def main() -> None:
    """Print the table, or, within a process of its own, do one walk."""
    tree = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent).resolve()
    if len(sys.argv) > 2:
        name, out = sys.argv[2], sys.argv[3]
        Path(out).write_text(json.dumps(walked(tree, WALKS[name])))
        return
    print(f"{'walk':12}{'files':>6}{'changes by file':>17}{'by function':>13}")
    with tempfile.TemporaryDirectory() as place:
        Path(place, "polyopt.json").write_text(json.dumps(QUESTION))
        for name in WALKS:
            command = [sys.executable, __file__, str(tree), name, "walk.json"]
            done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
            if done.returncode:
                sys.exit(f"{name}: {done.stderr or done.stdout}")
            called = json.loads(Path(place, "walk.json").read_text())
            files = list(dict.fromkeys(called))
            print(f"{name:12}{len(files):>6}{changes(files):>17}{changes(called):>13}")


if __name__ == "__main__":
    main()
