"""Run the checker alone, without the rest of ldpopt: ``python -I -S ldpopt/checker FILE``."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path


def load() -> None:
    """Import this directory as the package ``checker``, whatever lies around it."""
    here = Path(__file__).resolve().parent
    spec = importlib.util.spec_from_file_location(
        "checker", here / "__init__.py", submodule_search_locations=[str(here)]
    )
    assert spec is not None
    assert spec.loader is not None
    package = importlib.util.module_from_spec(spec)
    sys.modules["checker"] = package
    spec.loader.exec_module(package)


def limit_memory() -> None:
    """Limit the memory of this process to that of the budget.

    The system then refuses memory that the checker's own estimates miss: such a claim is "undecided".
    """
    try:
        import resource
    except ImportError:  # this system has no such limits
        return
    limit = importlib.import_module("checker.kernel.budget").BYTES
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.getrlimit(resource.RLIMIT_AS)[1]))


if __name__ == "__main__":
    load()
    limit_memory()
    main = importlib.import_module("checker.frame").main
    sys.exit(main(*sys.argv[1:]))
