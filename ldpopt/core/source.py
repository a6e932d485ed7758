"""Read what a module says of itself without importing it: a listing must not load every solver."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from ldpopt.core.errors import LdpoptError


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
