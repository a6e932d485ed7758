"""Scripts of the folder ``tools``, as modules."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

TOOLS = Path(__file__).resolve().parents[2] / "tools"


def load(name):
    """Import a script by its name."""
    spec = spec_from_file_location(name, TOOLS / f"{name}.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
