"""An artifact: a directory of result files with a manifest, which anybody can check.

The manifest names every file with its SHA-256. ``ldpopt verify DIRECTORY`` compares the files with it,
and lets the independent checker decide every result file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from ldpopt.core.errors import InvalidInputError, UndecidedFileError, UnreadableFileError
from ldpopt.core.exact import SECONDS, Verdict
from ldpopt.core.files import file_digest, write_whole
from ldpopt.engine.verifying import WORDS, read_document, verify

MANIFEST = "manifest.json"
"""The name of the file that lists all others."""
RESULTS = "results"
"""The directory of the result files in an artifact."""


class Checked(NamedTuple):
    """What was found about one file.

    Attributes:
        name: its path in the directory.
        verdict: of the checker; True for a file that is no result file and is as the manifest says.
        said: the verdict in words, or why there is none.
    """

    name: str
    verdict: Verdict
    said: str


def write_manifest(directory: Path, files: Iterable[Path]) -> Path:
    """Write the manifest of some files of a directory.

    Args:
        directory: the artifact.
        files: what it consists of.
    """
    listed = {file.relative_to(directory).as_posix(): _digest(file) for file in sorted(files)}
    text = json.dumps({"format": "ldpopt-manifest", "files": listed}, indent=1)
    write_whole(directory / MANIFEST, text + "\n")
    return directory / MANIFEST


def verify_artifact(directory: Path, budget: float = SECONDS) -> Iterator[Checked]:
    """Compare every file with the manifest, and let the checker decide every result file.

    Args:
        directory: the artifact.
        budget: seconds of the checker for each result file.

    Raises:
        UnreadableFileError: there is no manifest, or it is none.
    """
    listed = _listed(directory)
    for name, digest in listed.items():
        path = directory / name
        if not path.is_file():
            yield Checked(name, False, "missing, though the manifest names it")
        elif _digest(path) != digest:
            yield Checked(name, False, "not the file that the manifest names: its SHA-256 differs")
        elif is_result(name):
            yield _decided(name, path, budget)
        else:
            yield Checked(name, True, "as the manifest says")
    for path in sorted((directory / RESULTS).glob("*.json")):
        name = path.relative_to(directory).as_posix()
        if name not in listed:
            yield Checked(name, False, "a result file that the manifest does not name")


def is_result(name: str) -> bool:
    """Return whether a file of an artifact is a result file."""
    return name.startswith(f"{RESULTS}/") and name.endswith(".json")


def _decided(name: str, path: Path, budget: float) -> Checked:
    try:
        found = verify(path, budget=budget)
    except UnreadableFileError as error:
        return Checked(name, False, f"unreadable: {error}")
    except UndecidedFileError as error:
        return Checked(name, None, f"undecided: {error}")
    return Checked(name, found.verdict, WORDS[found.verdict] if found else found.summary)


def _listed(directory: Path) -> dict[str, str]:
    """Read the manifest; a name that leads out of the directory is refused."""
    path = directory / MANIFEST
    if not path.is_file():
        raise UnreadableFileError(
            f"{directory} is no artifact: it has no {MANIFEST}, which ldpopt experiment "
            "--keep-results writes"
        )
    read = read_document(path)
    files = read.get("files")
    if read.get("format") != "ldpopt-manifest" or not isinstance(files, dict) or not files:
        shape = '{"format": "ldpopt-manifest", "files": {…}}'
        raise UnreadableFileError(f"{path} must look like {shape}")
    if not any(map(is_result, files)):
        raise UnreadableFileError(f"{path} names no result file, {RESULTS}/NAME.json: nothing to verify")
    inside = directory.resolve()
    for name, digest in files.items():
        if not isinstance(digest, str) or not (inside / name).resolve().is_relative_to(inside):
            raise UnreadableFileError(f"{path} names {name!r}, which is no file of the directory")
    return files


def _digest(path: Path) -> str:
    try:
        return file_digest(path)
    except OSError as error:
        raise InvalidInputError(f"cannot read {path}: {error.strerror or error}") from None
