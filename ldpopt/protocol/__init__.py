"""The two-round protocol by which users release features without a trusted party."""

from ldpopt.protocol.deciding import Policy
from ldpopt.protocol.faults import Fault
from ldpopt.protocol.hierarchical_protocol import Hierarchy, run_hierarchy
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
