"""The record of a deployment that public registries of differential privacy ask for, as plain data.

It names the variant, the unit, the model, the parameters and the implementation. What nobody but the
one who deploys it knows (who, for what, when) is left open: null.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from ldpopt.core.errors import InvalidInputError
from ldpopt.engine.verifying import WORDS
from ldpopt.release.promises import against, limit
from ldpopt.release.public_design import PublicDesign
from ldpopt.report.loading import Loaded, Published


def record(loaded: Loaded | Published) -> dict[str, Any]:
    """Write the record of a design, private or public; nothing in it is from the counts."""
    made = loaded.content if isinstance(loaded, Published) else getattr(loaded.content, "public", None)
    if not isinstance(made, PublicDesign) or not loaded.verification.usable:
        raise InvalidInputError(
            f"a record is written of a file of ldpopt design whose claims hold, not of {loaded.path}"
        )
    domain, promise, marked = made.domain, made.promise, loaded.verification.marked_promise
    return {
        "deployment": dict.fromkeys(("organisation", "data product", "purpose", "date")),
        "variant": marked(f"local differential privacy: {limit(made)}, {against(made)}"),
        "unit": "one row, taken to be one person",
        "model": "local: the noise is drawn for each row by itself",
        "parameters": {
            "epsilon": promise.epsilon,
            "delta": 0,
            "reports of a person": promise.reports,
            "epsilon of all of them": promise.total,
            "secret columns": [column.name for column in domain.secret.columns],
            "other columns": [c.name for c in domain.public.columns] if domain.public else [],
        },
        "mechanism": {"method": promise.method, "fingerprint": made.fingerprint},
        "implementation": {
            "software": "ldpopt",
            "version": version("ldpopt"),
            "sampler": "exact, from random bits of the operating system",
        },
        "verified": WORDS[loaded.verification.verdict],
    }
