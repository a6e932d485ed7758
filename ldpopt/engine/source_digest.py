"""A digest of the code that a function or class runs; comments and blank lines change nothing.

It covers the file in which it is defined and every file of the user that this one imports, directly or
not, also inside functions. Code of a notebook or of a session lies in no file: there it covers the
definition, and the functions, classes, modules and plain values that it names. Installed packages and
ldpopt itself are not read here: their versions, and the digest of ldpopt's files, go beside it.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import json
import sys
import sysconfig
import textwrap
from collections.abc import Iterator
from importlib.machinery import PathFinder
from importlib.util import find_spec, resolve_name
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from ldpopt.engine.provenance import HOUSE

STANDARD = tuple(Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib"))
PACKAGES = {"site-packages", "dist-packages"}
"""Directories in which packages are installed, whichever Python they are of."""


def source_digest(defined: Any) -> str:
    """Compute the SHA-256 of what a function or class runs; empty for what was made in C.

    >>> source_digest(source_digest) == source_digest(source_digest)
    True
    """
    defined = inspect.unwrap(getattr(defined, "func", defined))
    if not isinstance(defined, (FunctionType, type)):
        defined = type(defined)
    parts: dict[str, str] = {}
    _of_object(defined, parts)
    text = json.dumps(sorted(parts.items()))
    return hashlib.sha256(text.encode()).hexdigest() if parts else ""


def _of_object(defined: Any, parts: dict[str, str]) -> None:
    """Add the file of a function or class with what it imports, or the definition if it has no file."""
    module = sys.modules.get(getattr(defined, "__module__", None) or "")
    path, functions = _file(module), _functions(defined)
    places = {Path(function.__code__.co_filename).resolve() for function in functions}
    if module is not None and path is not None and (path in places or not places):
        _of_file(module.__name__, path, parts)
        return
    key = f"{getattr(defined, '__module__', '')}.{getattr(defined, '__qualname__', defined)}"
    if key in parts or (isinstance(defined, type) and defined.__module__ == "builtins"):
        return
    try:
        source = textwrap.dedent(inspect.getsource(defined))
        # where the file is not there, Python may show lines of the program that runs
        parts[key] = ast.dump(ast.parse(source)) if defined.__name__ in source else ""
    except (OSError, TypeError, SyntaxError):  # a session keeps no source
        parts[key] = ""
    parts[key] = parts[key] or repr([_plain_code(function.__code__) for function in functions])
    for function in functions:
        for name in _names(function.__code__):
            if name in function.__globals__:
                _of_global(f"{key}:{name}", function.__globals__[name], parts)


def _of_global(key: str, value: Any, parts: dict[str, str]) -> None:
    """Add what a definition without a file names: code of the user, or a plain value."""
    if isinstance(value, ModuleType):
        if (path := _file(value)) is not None and _is_users(path):
            _of_file(value.__name__, path, parts)
    elif isinstance(value, (FunctionType, type)):
        path = _file(sys.modules.get(value.__module__))
        if path is None or _is_users(path):
            _of_object(value, parts)
    elif isinstance(value, np.ndarray):
        parts[key] = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
    elif isinstance(value, (int, float, complex, str, bytes, bool, tuple, list, dict, set, type(None))):
        parts[key] = repr(value)


def _functions(defined: Any) -> list[FunctionType]:
    """List a function, or the methods of a class."""
    if not isinstance(defined, type):
        return [defined]
    found = (getattr(value, "__func__", value) for value in vars(defined).values())
    return [value for value in found if isinstance(value, FunctionType)]


def _names(code: CodeType) -> Iterator[str]:
    """List the names that code, and the functions inside it, use."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _plain_code(code: CodeType) -> list[Any]:
    """Write code without the numbers of its lines."""
    constants = [_plain_code(c) if isinstance(c, CodeType) else repr(c) for c in code.co_consts]
    return [code.co_code.hex(), code.co_names, code.co_varnames, constants]


def _of_file(name: str, path: Path, parts: dict[str, str]) -> None:
    """Add a file and the files of the user that it imports."""
    if f"module {name}" in parts:
        return
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return
    parts[f"module {name}"] = ast.dump(tree)
    spec = getattr(sys.modules.get(name), "__spec__", None)
    package = name if spec and spec.submodule_search_locations else name.rpartition(".")[0]
    for imported in _imports(tree, package):
        found = _file(sys.modules.get(imported)) or _unloaded(imported)
        if found is not None and _is_users(found):
            _of_file(imported, found, parts)


def _imports(tree: ast.AST, package: str) -> Iterator[str]:
    """List the modules that a file may import, also those inside functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            dots = "." * node.level + (node.module or "")
            try:
                base = resolve_name(dots, package) if node.level else dots
            except ImportError:
                continue
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


def _unloaded(name: str) -> Path | None:
    """Find the file of a module that is not imported yet; nothing is imported on the way."""
    top, *rest = name.split(".")
    try:
        spec = None if top in sys.stdlib_module_names else find_spec(top)
    except (ImportError, ValueError, AttributeError):
        return None
    for part in rest:
        if spec is None or not spec.submodule_search_locations:
            return None
        spec = PathFinder.find_spec(f"{spec.name}.{part}", spec.submodule_search_locations)
    return Path(spec.origin).resolve() if spec and spec.origin and spec.has_location else None


def _file(module: ModuleType | None) -> Path | None:
    """Return the Python file of a module, if there is one."""
    named = getattr(module, "__file__", None)
    path = None if named is None else Path(named).resolve()
    return path if path is not None and path.suffix == ".py" and path.is_file() else None


def _is_users(path: Path) -> bool:
    """Return whether a file belongs neither to Python, to an installed package, nor to ldpopt."""
    return not (PACKAGES & {*path.parts} or any(map(path.is_relative_to, (*STANDARD, HOUSE))))
