"""How much memory a solve takes."""

from __future__ import annotations

import ctypes
import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import psutil


@contextmanager
def peak_memory() -> Iterator[dict[str, float]]:
    """Measure by how many megabytes the process grew at most.

    The memory is sampled every few milliseconds and at the end.
    """
    process, found = psutil.Process(), {"megabytes": 0.0}
    _return_free_memory()
    start, done = process.memory_info().rss, threading.Event()

    def look() -> None:
        grown = (process.memory_info().rss - start) / 1e6
        found["megabytes"] = max(found["megabytes"], grown)

    def watch() -> None:
        while not done.wait(0.005):
            look()

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        done.set()
        thread.join()
        look()


def _return_free_memory() -> None:
    """Return freed memory, which glibc keeps, to the system, so that growth becomes visible."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
