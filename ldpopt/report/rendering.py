"""Templates of pages: one file of HTML each, with the style inside, that loads nothing from anywhere."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from ldpopt.core.exact import OPEN, Verdict
from ldpopt.report.wording import isolated, number, spelt

VERDICTS: dict[Verdict, str] = {True: "holds", False: "refuted", None: "undecided", OPEN: "open"}
"""The name of a verdict in templates and in the style."""


def rendered(template: str, **names: Any) -> str:
    """Fill in a template; it finds the style of all pages as ``style``.

    A page may hold one program, ``script``; its hash in the head lets the browser run no other.
    """
    environment = Environment(
        loader=PackageLoader("ldpopt.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_isolated,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = number
    environment.filters["verdict"] = VERDICTS.__getitem__
    environment.filters["command"] = lambda line: escape(spelt(line))  # it will be copied
    folder = files("ldpopt.report").joinpath("templates")
    style, script = (folder.joinpath(name).read_text("utf-8") for name in ("report.css", "explore.js"))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    return environment.get_template(template).render(
        style=Markup(style), script=Markup(script), script_digest=digest, **names
    )


def _isolated(value: Any) -> Any:
    """Show text as it is; markup is ready."""
    return isolated(value) if isinstance(value, str) and not isinstance(value, Markup) else value
