"""Questions in files: a problem as plain JSON, and a directory of them as a test set."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import NamedTuple

from ldpopt.core.errors import InvalidInputError
from ldpopt.core.exact import quoted
from ldpopt.core.files import file_digest
from ldpopt.core.problem import Problem
from ldpopt.engine.verifying import read_document
from ldpopt.problems import PROBLEMS


def read_question(path: Path) -> Problem:
    """Read the problem. A file names a kind; code is named on the command line only."""
    spec = read_document(path)
    kind = spec.get("problem")
    if not isinstance(kind, str):
        raise InvalidInputError(f'{path} must look like {{"problem": KIND, "params": {{…}}}}')
    if ":" in kind:
        raise InvalidInputError(
            f"'problem' in {path} must be a kind, not {quoted(kind)}: a file names no code; the class "
            "of your own kind is named by --problem"
        )
    params = spec.get("params", {})
    if not isinstance(params, dict):
        raise InvalidInputError(f"'params' in {path} must be a JSON object, not {params!r}")
    result = "format" in spec  # the question of a result file is asked again
    if unknown := [key for key in spec if key not in ("problem", "params") and not result]:
        raise InvalidInputError(f"{path} has no key {unknown[0]!r}; allowed are problem, params")
    return PROBLEMS[kind].from_params(**params)


class Questions(NamedTuple):
    """The questions of a file or of a test set.

    Attributes:
        name: of the file or the directory.
        digest: the SHA-256 of the names and contents of all files.
        problems: by the names of the files, without ``.json``.
    """

    name: str
    digest: str
    problems: dict[str, Problem]


def read_questions(path: Path) -> Questions:
    """Read a question, or all that a directory holds: every ``.json`` file of it, by name.

    The digest is that of the lines that ``sha256sum *.json`` prints for the files in the order of
    their names, so that others can compute it without ldpopt.
    """
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    if not files:
        raise InvalidInputError(f"{path} holds no questions: files that end with .json")
    problems = {file.stem: read_question(file) for file in files}
    lines = [f"{file_digest(file)}  {file.name}\n" for file in files]
    digest = hashlib.sha256("".join(lines).encode()).hexdigest()
    return Questions(path.resolve().name.removesuffix(".json"), digest, problems)
