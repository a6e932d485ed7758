"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ldpopt.core.errors import InvalidInputError

READABLE, PRIVATE = 0o644, 0o600
"""Modes of files: everybody reads, the owner writes; nobody but the owner reads."""


def write_whole(path: str | os.PathLike[str], text: str, mode: int = READABLE) -> None:
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
def whole_file(path: str | os.PathLike[str], mode: int = READABLE) -> Iterator[Path]:
    """Yield a draft beside the file, which replaces the file in the end.

    If anything goes wrong, the draft is removed and the file stays as it was.
    """
    target = Path(path)
    if target.exists() and not target.is_file():  # a device such as /dev/null would be lost
        raise InvalidInputError(f"cannot write {target}: it is not a regular file")
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except OSError as error:
        raise InvalidInputError(f"cannot write {target}: {error.strerror}") from None
    os.close(handle)
    draft = Path(name)
    try:
        yield draft
        draft.chmod(mode)
        draft.replace(target)
    except BaseException as error:
        draft.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise InvalidInputError(f"cannot write {target}: {error.strerror or error}") from None
        raise
