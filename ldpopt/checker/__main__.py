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


if __name__ == "__main__":
    load()
    main = importlib.import_module("checker.frame").main
    sys.exit(main(sys.argv[1]) if len(sys.argv) == 2 else 2)
