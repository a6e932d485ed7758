"""Read the files that a page is about; nothing in them is trusted before the checker says so."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from ldpopt.core.errors import FailedError, LdpoptError, UndecidedFileError, UnreadableFileError
from ldpopt.core.exact import SECONDS
from ldpopt.core.files import PathName, file_digest
from ldpopt.core.form import Status
from ldpopt.engine import verifying
from ldpopt.engine.result import Result
from ldpopt.release.designed import Design
from ldpopt.release.designing import load_design
from ldpopt.release.public_design import PublicDesign, load_public

NOTHING_FOUND = (Status.INFEASIBLE, Status.UNBOUNDED, Status.LIMIT)
"""The ends of a solve that claim nothing."""


OF_TABLES = frozenset(("counts", "p_hat", "table"))
"""Parameters that are counted: cells of a table, their frequencies, its rows."""


class Loaded(NamedTuple):
    """A result file that was read and checked; ``complaint`` says why its answer cannot be shown."""

    path: str
    digest: str
    content: Design | Result
    verification: verifying.Verification
    complaint: str = ""
    internal: bool = False
    """Whether the file has the counts of a table."""

    @property
    def result(self) -> Result:
        """The result, of a design too."""
        return self.content.result if isinstance(self.content, Design) else self.content

    @property
    def level(self) -> str:
        """The level ε that the checker decided, with its mark; empty if no claim states one."""
        return self.verification.level


class Published(NamedTuple):
    """A public file that was read and checked."""

    path: str
    digest: str
    content: PublicDesign
    verification: verifying.Verification


def read_public(path: PathName, seconds: float = SECONDS) -> Published:
    """Read a public mechanism and let the checker decide its claims within so many seconds."""
    name = os.fspath(path)
    digest = file_digest(Path(name))
    document = verifying.read_document(name)
    decided = verifying.verify_within(document, seconds)
    with verifying.within(seconds):
        content = load_public(name, document, decided)
        return Published(name, digest, content, decided)


def is_internal(document: dict[str, Any]) -> bool:
    """Return whether a file has counts: it is a design for a table, or its parameters state a table."""
    return "design" in document or _states_table(document.get("params"))


def _states_table(params: Any) -> bool:
    """Return whether plain data have a name of :data:`OF_TABLES`, at whatever depth."""
    if isinstance(params, list):
        return any(map(_states_table, params))
    return isinstance(params, dict) and any(
        name in OF_TABLES or _states_table(part) for name, part in params.items()
    )


def read(path: PathName, seconds: float = SECONDS) -> Loaded:
    """Read a result or design file and let the checker decide its claims within so many seconds."""
    name = os.fspath(path)
    document = verifying.read_document(name)
    try:
        digest = file_digest(Path(name))
        loaded = _read(name, document, digest, seconds)._replace(internal=is_internal(document))
        _check_types(loaded)
    except (UndecidedFileError, FailedError):
        raise
    except (LdpoptError, ValueError) as error:
        said = str(error)
        raise UnreadableFileError(said if name in said else f"{name}: {said}") from None
    except (TypeError, LookupError, AttributeError, ArithmeticError) as error:
        raise UnreadableFileError(f"{name} is malformed: {error!r}") from None
    return loaded


def _read(name: str, document: dict[str, Any], digest: str, seconds: float) -> Loaded:
    try:
        with verifying.within(seconds):
            content = load_design(name, document) if "design" in document else Result.from_json(document)
    except UndecidedFileError:
        raise
    except LdpoptError as error:
        verification = verifying.verify_document(document, budget=seconds)
        if verification:
            raise
        rest = Result.from_json({**document, "mechanism": None, "answer": None})
        return Loaded(name, digest, rest, verification, str(error))
    result = content.result if isinstance(content, Design) else content
    silent = result.status in NOTHING_FOUND and result.answer is None
    silent = silent or verifying.stated(result.problem) is None
    decided = verifying.Verification(()) if silent else verifying.verify_within(document, seconds)
    if isinstance(content, Design):
        content = replace(content, decided=decided)  # the audit does not ask the checker again
    return Loaded(name, digest, content, decided)


def _check_types(loaded: Loaded) -> None:
    """Refuse a file whose descriptive fields, which no checker reads, are not what they should be."""
    result = loaded.result
    numbers = {name: getattr(result, name) for name in ("seconds", "value", "bound", "gap")}
    for name, value in numbers.items():
        if isinstance(value, bool) or not isinstance(value, (int, float, type(None))):
            raise UnreadableFileError(f"{name} is {value!r:.40}, which is not a number")
        math.isfinite(value or 0)  # a whole number beyond all floats overflows here
    if result.seconds is None or not isinstance(result.solver, str):
        raise UnreadableFileError("the solver or its time is missing")
    proof, audit = result.certificate.proof or {}, result.certificate.audit
    for name, section in (("environment", result.environment), ("audit", audit), ("proof", proof)):
        if not isinstance(section, dict):
            raise UnreadableFileError(f"{name} is {section!r:.40}, which is not a JSON object")
    if isinstance(loaded.content, Design):
        attributes = loaded.content.domain.sides
        words = [word for part in attributes for word in (part.name, *part.labels)]
        edges = [edge for part in attributes for column in part.columns for edge in column.edges]
        if not all(isinstance(word, str) for word in words) or not all(map(math.isfinite, edges)):
            raise UnreadableFileError("the names or bins of its table are malformed")
