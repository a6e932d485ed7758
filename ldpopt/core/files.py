"""Files and directories that are written whole or not at all."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ldpopt.core.errors import InvalidInputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PathName = str | os.PathLike[str]
READABLE, PRIVATE = 0o644, 0o600
"""Modes of files: everybody reads, the owner writes; nobody but the owner reads."""


def write_whole(path: PathName, text: str, mode: int = READABLE) -> None:
    """Write a file so that nobody ever sees half of it.

    Args:
        path: the file; one that exists is replaced.
        text: its whole content, written as UTF-8.
        mode: who may read it: :data:`READABLE` or :data:`PRIVATE`.

    Raises:
        InvalidInputError: the file cannot be written; the message says why.
    """
    with whole_file(path, mode) as draft:
        draft.write_text(text, encoding="utf-8")


@contextmanager
def whole_file(path: PathName, mode: int = READABLE) -> Iterator[Path]:
    """Yield a draft beside the file, which replaces the file in the end.

    If anything goes wrong, the draft is removed and the file stays as it was.
    """
    target = Path(path)
    if target.exists() and not target.is_file():  # a device such as /dev/null would be lost
        raise InvalidInputError(f"cannot write {target}: it is not a regular file")
    draft = _draft_of(target)
    try:
        draft.touch(PRIVATE, exist_ok=False)
        yield draft
        draft.chmod(mode)
        draft.replace(target)
    except BaseException as error:
        with contextlib.suppress(OSError):  # perhaps it was never made
            draft.unlink()
        if isinstance(error, OSError):
            raise InvalidInputError(f"cannot write {target}: {_refusal(error)}") from None
        raise


def _draft_of(target: Path) -> Path:
    """Name a draft before it exists: then Ctrl-C at the moment it is made does not leave it behind."""
    return target.with_name(f".{target.name}.{secrets.token_hex(4)}")


def save_figure(figure: Figure, path: PathName, dpi: float) -> None:
    """Write a figure whole or not at all, in the format that the ending of its name says.

    Args:
        figure: what to write.
        path: the file, for instance ``figure.png``.
        dpi: pixels per inch.
    """
    with whole_file(path) as draft:
        figure.savefig(draft, dpi=dpi, format=Path(path).suffix[1:].lower() or "png")


def file_digest(path: Path) -> str:
    """Compute the SHA-256 of a file; of a directory, that of its files one after the other."""
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    found = hashlib.sha256()
    for file in files:
        with file.open("rb") as content:
            while block := content.read(1 << 20):
                found.update(block)
    return found.hexdigest()


@contextmanager
def whole_directory(path: PathName) -> Iterator[Path]:
    """Yield a draft of a directory, which gets its name in the end; one that exists is refused.

    If anything goes wrong, the draft is removed with all that is in it.
    """
    target = Path(path).absolute()
    if target.exists():
        raise InvalidInputError(f"cannot write {path}: it exists; choose another name")
    draft = _draft_of(target)
    try:
        draft.mkdir(0o700)
        yield draft
        draft.chmod(READABLE | 0o111)
        draft.rename(target)
    except BaseException as error:
        shutil.rmtree(draft, ignore_errors=True)
        if isinstance(error, OSError):
            raise InvalidInputError(f"cannot write {path}: {_refusal(error)}") from None
        raise


def _refusal(error: OSError) -> str:
    """Return the system's own reason for refusing, which writers of tables wrap in their own errors."""
    return os.strerror(error.errno) if error.errno else str(error)


@contextmanager
def locked(path: PathName) -> Iterator[None]:
    """Wait until no other process works on a file, then keep other processes waiting.

    The lock is a hidden file beside it, which is removed in the end. If a process is killed, its lock
    is free again. A process that waited for a lock that was removed in the meantime tries again.
    """
    target = Path(path)
    lock = target.with_name(f".{target.name}.lock")
    while True:
        try:
            handle = os.open(lock, os.O_CREAT | os.O_RDWR, READABLE)
        except OSError as error:
            raise InvalidInputError(f"cannot write {target}: {_refusal(error)}") from None
        try:
            _wait_for(handle)
            if _is_at(lock, handle):
                try:
                    yield
                finally:
                    with contextlib.suppress(PermissionError):  # Windows keeps what is open
                        lock.unlink(missing_ok=True)
                return
        finally:
            os.close(handle)  # which frees the lock


def _is_at(path: Path, handle: int) -> bool:
    """Return whether a path still leads to an open file, which others may remove at any time."""
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False


def _wait_for(handle: int) -> None:
    """Lock an open file; blocks while another process has it locked."""
    if sys.platform == "win32":
        import msvcrt

        while True:
            with contextlib.suppress(OSError):  # it gives up after ten seconds
                return msvcrt.locking(handle, msvcrt.LK_LOCK, 1)
    else:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX)
