"""Limit the memory of this process while it reads a file that it does not trust."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from ldpopt.core.exact import BYTES


@contextmanager
def confined(memory: int = BYTES) -> Iterator[None]:
    """Limit the memory of the process, as what a reader or the checker reserves may miss something.

    Inside, the process may take ``memory`` bytes of addresses more than it has. Beyond that the system
    raises a MemoryError, which counts as "undecided". Other threads would be refused memory as well, so
    where there are some, and where the system does not say how much is in use, this does nothing.

    Args:
        memory: bytes.
    """
    if threading.active_count() > 1:
        yield
        return
    try:
        import resource

        with open("/proc/self/statm", encoding="ascii") as file:
            used = int(file.read().split()[0]) * resource.getpagesize()
    except (ImportError, OSError):
        yield
        return
    before, most = resource.getrlimit(resource.RLIMIT_AS)
    limits = [limit for limit in (before, most) if limit != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_AS, (min([used + memory, *limits]), most))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (before, most))
