"""Lazy tables of problems, solvers and experiments: nothing is imported before it is used."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from ldpopt.core.errors import FailedError, InvalidInputError, LdpoptError, UnknownNameError, from_ctrl_c

T = TypeVar("T")


class Registry(Generic[T]):
    """Names to objects, from a table of ``"module:attribute"`` strings and from entry points.

    Args:
        what: the word for one entry, used in messages ("problem").
        group: the entry-point group through which other packages add theirs.
        table: the entries that ship with ldpopt, in the order that ``auto`` tries them.

    >>> Registry("number", "no.such.group", {"pi": "math:pi"})["pi"].__round__(2)
    3.14
    """

    def __init__(self, what: str, group: str, table: Mapping[str, str]) -> None:
        self.what = what
        self._group = group
        self._table = table
        self._given: dict[str, T] = {}
        self._loaded: dict[str, T] = {}
        self._clashes: dict[str, str] = {}

    def __iter__(self) -> Iterator[str]:
        return iter([*self._sources, *self._given])

    def __getitem__(self, name: str) -> T:
        if name in self._given:
            return self._given[name]
        if name in self._loaded:
            return self._loaded[name]
        if name not in self._sources:
            raise UnknownNameError(self.what, name, self)
        if name in self.clashes and name not in self._table:
            raise LdpoptError(self.clashes[name])
        source = self._sources[name]
        try:
            loaded: T = source.load()
        except LdpoptError:
            raise
        except (Exception, SystemExit) as error:  # whatever the code of another package raises
            if from_ctrl_c(error):
                raise KeyboardInterrupt from error
            said = " ".join(f"{type(error).__name__}: {error}".split())
            raise FailedError(
                f"the {self.what} {name!r} cannot be loaded from {source.value}: {said}"
            ) from error
        self._loaded[name] = loaded
        return loaded

    def __contains__(self, name: str) -> bool:
        return name in self._sources or name in self._given

    def add(self, name: str, entry: T) -> None:
        """Register an object for the rest of the process; the name of a registered one is refused."""
        if name in self._sources:
            raise InvalidInputError(f"the {self.what} name {name!r} is taken: choose another one")
        self._given[name] = entry

    @property
    def clashes(self) -> dict[str, str]:
        """The names that two packages register, with a sentence each; ldpopt's own entries win."""
        return self._clashes if self._sources else {}

    @cached_property
    def _sources(self) -> dict[str, EntryPoint]:
        sources = {name: EntryPoint(name, path, self._group) for name, path in self._table.items()}
        self._clashes = {}
        for entry in entry_points(group=self._group):
            if entry.name in sources:
                self._clashes[entry.name] = (
                    f"two packages register the {self.what} {entry.name!r}: "
                    f"{sources[entry.name].value} and {entry.value}"
                )
            else:
                sources[entry.name] = entry
        return sources

    def source(self, name: str) -> Source:
        """Read what the source code of an entry says of it, without importing the entry."""
        if name not in self._sources:
            raise UnknownNameError(self.what, name, self._sources)
        entry = self._sources[name]
        return read_source(entry.module, entry.attr)

    def added(self) -> list[str]:
        """List the names that are not ldpopt's own: of other packages, and of :meth:`add`."""
        return [name for name in self if name not in self._table]

    def attribute(self, module: str, name: str) -> T:
        """Return the shipped entry whose attribute is called ``name``: the module's ``__getattr__``."""
        for path in self._table.values():
            source, _, attribute = path.partition(":")
            if attribute == name:
                return getattr(import_module(source), attribute)
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    def classes(self) -> list[str]:
        """List the attribute names of the shipped entries, for the module's ``__dir__``."""
        return [path.partition(":")[2] for path in self._table.values()]


class Source(NamedTuple):
    """What the source of a class, or of a module, says.

    Attributes:
        summary: the first paragraph of its docstring, as one line.
        constants: the attributes in its body that are plain data.
    """

    summary: str
    constants: dict[str, Any]


def read_source(module: str, name: str) -> Source:
    """Describe a class by its source; a name that is not a class is described by its module.

    >>> read_source("ldpopt.core.errors", "LdpoptError").summary
    'The root of the tree.'
    """
    try:
        spec = find_spec(module)  # imports the packages around it
        if spec is None or spec.origin is None:
            raise LdpoptError(f"the module {module} is not installed")
        tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
    except LdpoptError:
        raise
    except (Exception, SystemExit) as error:
        said = " ".join(f"{type(error).__name__}: {error}".split())
        raise LdpoptError(f"the module {module} cannot be read: {said}") from error
    classes = (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)
    described = next(classes, tree)
    paragraph = (ast.get_docstring(described) or "").partition("\n\n")[0]
    return Source(" ".join(paragraph.split()), dict(_constants(described.body)))


def _constants(body: list[ast.stmt]) -> Iterator[tuple[str, Any]]:
    for statement in body:
        match statement:
            case ast.Assign([ast.Name(name)], ast.expr() as value):
                pass
            case ast.AnnAssign(ast.Name(name), value=ast.expr() as value):
                pass
            case _:
                continue
        with contextlib.suppress(ValueError):  # computed, not plain data
            yield name, ast.literal_eval(value)
