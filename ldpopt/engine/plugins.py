"""Load solvers, problems and experiments that are not registered, by the file or module they are in.

``MODULE:NAME`` or ``file.py:NAME``.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable
from contextlib import suppress
from importlib import import_module, invalidate_caches
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from ldpopt.core.errors import FailedError, InvalidInputError, from_ctrl_c
from ldpopt.core.problem import Problem
from ldpopt.core.solver import Solver
from ldpopt.problems import PROBLEMS
from ldpopt.solvers import SOLVERS


def load_solvers(references: Iterable[str]) -> list[type[Solver[Any]]]:
    """Import the solver classes that the references name, each under a name of its own."""
    loaded: dict[str, type[Solver[Any]]] = {}
    for reference in references:
        cls = load_solver(reference)
        if cls.name in SOLVERS or cls.name in loaded:
            raise InvalidInputError(
                f"the plugin {reference!r} has the name {cls.name!r}, which is taken"
            )
        loaded[cls.name] = cls
    return list(loaded.values())


def load_solver(reference: str) -> type[Solver[Any]]:
    """Import one solver class.

    >>> load_solver("ldpopt.solvers.row_selection_greedy:Greedy").name
    'greedy'
    >>> load_solver("enum:Enum")
    Traceback (most recent call last):
    ...
    ldpopt.core.errors.InvalidInputError: the plugin 'enum:Enum' is not a subclass of ldpopt.Solver
    """
    return _subclass(reference, Solver)


def problem_class(name: str) -> type[Problem]:
    """Return the class of a registered kind of problem, or of one named by where it is.

    The latter is registered under its kind for the rest of the process, so that its results are read.

    >>> problem_class("staircase").kind
    'staircase'
    """
    if ":" not in name:
        return PROBLEMS[name]
    cls: type[Problem] = _subclass(name, Problem)
    if not isinstance(getattr(cls, "kind", None), str):
        raise InvalidInputError(f'the plugin {name!r} has no kind: set kind = "my-problem"')
    PROBLEMS.add(cls.kind, cls)
    return cls


def load_object(reference: str) -> Any:
    """Import what a reference names."""
    source, _, name = reference.rpartition(":")
    if not source or not name:
        raise InvalidInputError(f"a plugin is MODULE:NAME or path/to/file.py:NAME, not {reference!r}")
    found = getattr(_module(reference, source), name, None)
    if found is None:
        raise InvalidInputError(f"the plugin {reference!r} is missing: {source} has no {name!r}")
    return found


def _subclass(reference: str, base: type) -> Any:
    cls: Any = load_object(reference)
    if not (inspect.isclass(cls) and issubclass(cls, base)):
        raise InvalidInputError(f"the plugin {reference!r} is not a subclass of ldpopt.{base.__name__}")
    if inspect.isabstract(cls):
        lacking = ", ".join(sorted(vars(cls)["__abstractmethods__"]))
        raise InvalidInputError(f"the plugin {reference!r} does not define {lacking}")
    return cls


def _module(reference: str, source: str) -> ModuleType:
    if source.endswith(".py") and not Path(source).is_file():
        raise InvalidInputError(f"the plugin {reference!r} is missing: there is no file {source}")
    try:
        return _module_of_file(Path(source)) if source.endswith(".py") else import_module(source)
    except (Exception, SystemExit) as error:  # whatever the code of a stranger raises
        if from_ctrl_c(error):
            raise KeyboardInterrupt from error
        problem = " ".join(f"{type(error).__name__}: {error}".split())
        if isinstance(error, ModuleNotFoundError) and f"{source}.".startswith(f"{error.name}."):
            raise InvalidInputError(f"the plugin {reference!r} is missing: {problem}") from error
        raise FailedError(f"the plugin {reference!r} cannot be imported: {problem}") from error


def _module_of_file(path: Path) -> ModuleType:
    """Import a file once, however often and by whomever it is named.

    Its directory becomes the last one of the path, so that it finds its neighbours, and they find it. A
    file whose name an installed module has, such as ``numpy.py``, is imported under its whole path.
    """
    path = path.resolve()
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    invalidate_caches()
    module = import_module(path.stem) if _leads_to(path.stem, path) else _under_its_path(path)
    for pickler in ("joblib.externals.cloudpickle", "cloudpickle"):  # for joblib's and Dask's workers
        with suppress(ImportError):
            import_module(pickler).register_pickle_by_value(module)  # workers cannot import the file
    return module


def _leads_to(name: str, path: Path) -> bool:
    try:
        spec = None if "." in name else find_spec(name)
    except ValueError:  # a module that was not imported, such as __main__
        return False
    return spec is not None and spec.origin is not None and Path(spec.origin).resolve() == path


def _under_its_path(path: Path) -> ModuleType:
    name = f"plugin {path}"
    if name in sys.modules:
        return sys.modules[name]
    spec = spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    sys.modules[name] = module = module_from_spec(spec)  # where dataclasses look for their module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
