"""Write the names at the top level into docs/api/index.md, with their parameters and what they do.

    python tools/reference.py

The rest of the reference is rendered with the site; this table is read in the repository as well.
"""

import inspect
import re
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from types import ModuleType
from typing import Any

import ldpopt

PAGE = Path(__file__).resolve().parents[1] / "docs" / "api" / "index.md"
ROLE = re.compile(r":\w+:(`[^`]+`)")
OPENED = ("Mechanism", "Result", "Verification")
"""The classes whose methods are listed."""
BEGIN, END = "<!-- python tools/reference.py writes the table -->\n", "<!-- end of the table -->\n"


def parameters(thing: Any) -> str:
    """Return the parameters of something that is called, without types; what is no data is …"""
    if not callable(thing) or (isinstance(thing, type) and issubclass(thing, Enum)):
        return ""
    given = inspect.signature(thing).parameters.values()
    bare = [p.replace(annotation=p.empty) for p in given if p.name != "self" and p.name[0] != "_"]
    return re.sub(r"<[^>]*>", "…", str(inspect.Signature(bare)))


def summary(thing: Any) -> str:
    """Return the first paragraph of the documentation, without roles."""
    paragraph = (inspect.getdoc(thing) or "").partition("\n\n")[0]
    return ROLE.sub(r"\1", " ".join(paragraph.split()).replace("|", "\\|"))


def members(cls: type) -> Iterator[tuple[str, Any]]:
    """List the public methods and properties of a class."""
    for name, found in inspect.getmembers(cls):
        if not name.startswith("_") and (callable(found) or isinstance(found, property)):
            yield name, found


def rows() -> Iterator[str]:
    """Give a row for each name of ``ldpopt.__all__``, and for what its classes can do."""
    for name in sorted(ldpopt.__all__, key=lambda name: (name.lower(), name)):
        thing = getattr(ldpopt, name)
        if isinstance(thing, str) or (isinstance(thing, ModuleType) and not callable(thing)):
            continue
        yield f"| `{name}{parameters(thing)}` | {summary(thing)} |"
        for member, found in members(thing) if name in OPENED else ():
            yield f"| `{name}.{member}{parameters(found)}` | {summary(found)} |"


def page(text: str) -> str:
    """Return the page with the table of today."""
    before, _, rest = text.partition(BEGIN)
    table = "\n".join(["| name | what it does |", "|---|---|", *rows()])
    return f"{before}{BEGIN}\n{table}\n\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
