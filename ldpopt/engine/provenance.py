"""Where numbers come from: the code that computed them, its packages, and the machine."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

import ldpopt

HOUSE = Path(ldpopt.__file__).resolve().parent
"""The directory of the package."""

TOOLS = re.compile(r"extra == .(docs|lint|test|dev)")
"""Marks packages that compute nothing."""


@cache
def code_digest() -> str:
    """Compute the SHA-256 of all Python files of ldpopt, as they are now."""
    whole = hashlib.sha256()
    for path in sorted(HOUSE.rglob("*.py")):
        whole.update(path.relative_to(HOUSE).as_posix().encode() + b"\0")
        whole.update(hashlib.sha256(path.read_bytes()).digest())
    return whole.hexdigest()


@cache
def commit() -> str:
    """Return the commit of the checkout that ldpopt runs from, "…, changed" if files differ from it.

    Empty if ldpopt does not run from a checkout of its own, or git is not installed.
    """
    if not (HOUSE.parent / ".git").exists():
        return ""
    try:
        head = _git("rev-parse", "HEAD")
        return f"{head}, changed" if _git("status", "--porcelain", "--", str(HOUSE)) else head
    except (OSError, subprocess.CalledProcessError):
        return ""


def _git(*words: str) -> str:
    command = ["git", "-C", str(HOUSE.parent), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@cache
def packages() -> dict[str, str]:
    """List the versions of Python, ldpopt, and the installed packages that it computes with."""
    found = {"python": platform.python_version(), "ldpopt": version("ldpopt")}
    for needed in requires("ldpopt") or []:
        name = re.split(r"[^\w.-]", needed)[0].lower()
        if TOOLS.search(needed):
            continue
        try:
            found.setdefault(name, version(name))
        except PackageNotFoundError:
            continue
    return found


def processor() -> str:
    """Name the processor, as the system does."""
    try:
        named = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        named = None
    return named[1] if named else platform.processor() or platform.machine()


def provenance() -> dict[str, str]:
    """Tell by which code, on which machine and with which packages numbers were computed."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "commit": commit() or "none: not run from a checkout",
        "SHA-256 of ldpopt's files": code_digest(),
        "processor": processor(),
        "cores": f"{cores} usable",
        "system": platform.platform(),
        "threads of the linear algebra": os.environ.get("OMP_NUM_THREADS", "not limited"),
        **packages(),
    }
