"""Write tables of names, with their parameters and what they do, into the pages of docs/api.

    python tools/reference.py

The page of the top level lists ``ldpopt.__all__``, the page of a room what its files define. The site
renders the docstrings below the tables; these are read in the repository as well.
"""

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from types import ModuleType
from typing import Any

import ldpopt

PAGES = Path(__file__).resolve().parents[1] / "docs" / "api"
TOP = "index"
"""The page of the names at the top level."""
CODE, MARKUP = re.compile(r"(`+[^`]+`+)"), re.compile(r"([*\[\]])")
ROLE = re.compile(r":\w+:(`[^`]+`)")
OPENED = ("Mechanism", "Result", "Verification")
"""The classes whose methods are listed."""
BEGIN, END = "<!-- python tools/reference.py writes the table -->\n", "<!-- end of the table -->\n"


def parameters(thing: Any) -> str:
    """Return the parameters of something that is called, without types; what is no data is …"""
    called = callable(thing) and not getattr(thing, "_is_protocol", False)
    if not called or (isinstance(thing, type) and issubclass(thing, Enum)):
        return ""
    try:
        given = inspect.signature(thing).parameters.values()
    except (TypeError, ValueError):  # an exception, or a class whose objects say what they take
        return ""
    bare = [p.replace(annotation=p.empty) for p in given if p.name != "self" and p.name[0] != "_"]
    said = re.sub(r"<(?:[^<>]|<\w+>)*>", "…", str(inspect.Signature(bare)))
    return re.sub(r"Limits\([^)]*\)", "UNLIMITED", said)  # it shows when its clock started


def summary(thing: Any) -> str:
    """Return the first paragraph of the documentation, without roles; only code is markup."""
    paragraph = (inspect.getdoc(thing) or "").partition("\n\n")[0]
    parts = CODE.split(ROLE.sub(r"\1", " ".join(paragraph.split()).replace("|", "\\|")))
    return "".join(part if CODE.fullmatch(part) else MARKUP.sub(r"\\\1", part) for part in parts)


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


def rows_of(room: str) -> Iterator[str]:
    """Give a row for each public class and function that a file of a room defines."""
    package = importlib.import_module(f"ldpopt.{room}")
    found = pkgutil.walk_packages(getattr(package, "__path__", []), f"{package.__name__}.")
    for name in [package.__name__, *sorted(module.name for module in found)]:
        if "._" in name:
            continue
        for member, thing in sorted(vars(importlib.import_module(name)).items()):
            own = getattr(thing, "__module__", None) == name and inspect.isroutine(thing)
            if (own or (inspect.isclass(thing) and thing.__module__ == name)) and member[0] != "_":
                file = name.removeprefix("ldpopt.").replace(".", "/")
                yield f"| `{member}{parameters(thing)}` | {summary(thing)} | `{file}.py` |"


def page(text: str, name: str) -> str:
    """Return the page of a room, or of the top level, with the table of today."""
    before, _, rest = text.partition(BEGIN)
    if name == TOP:
        table = ["| name | what it does |", "|---|---|", *rows()]
    else:
        table = ["| name | what it does | file |", "|---|---|---|", *rows_of(name)]
    return f"{before}{BEGIN}\n" + "\n".join(table) + f"\n\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    for path in PAGES.glob("*.md"):
        if BEGIN in (text := path.read_text(encoding="utf-8")):
            path.write_text(page(text, path.stem), encoding="utf-8")
