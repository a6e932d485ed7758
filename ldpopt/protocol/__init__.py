"""The two-round protocol by which users release features without a trusted party."""

from importlib import import_module

TYPE_CHECKING = False  # as type checkers know it; before a program has left the working directory,
if TYPE_CHECKING:  # nothing is imported that could lie there: not even the module typing
    from ldpopt.protocol.deciding import Policy
    from ldpopt.protocol.faults import Fault
    from ldpopt.protocol.hierarchy import Hierarchy, run_hierarchy
    from ldpopt.protocol.run import Outcome, run_protocol
    from ldpopt.protocol.session import Incident, ProtocolError

__all__ = [
    "Fault",
    "Hierarchy",
    "Incident",
    "Outcome",
    "Policy",
    "ProtocolError",
    "run_hierarchy",
    "run_protocol",
]

_HOMES = {
    "deciding": ("Policy",),
    "faults": ("Fault",),
    "hierarchy": ("Hierarchy", "run_hierarchy"),
    "run": ("Outcome", "run_protocol"),
    "session": ("Incident", "ProtocolError"),
}


if not TYPE_CHECKING:  # type checkers read the imports above, and report a name that is none of them

    def __getattr__(name):
        """Import a name when it is used first."""
        for home, names in _HOMES.items():
            if name in names:
                globals()[name] = found = getattr(import_module(f"ldpopt.protocol.{home}"), name)
                return found
        raise AttributeError(f"module 'ldpopt.protocol' has no attribute {name!r}")
