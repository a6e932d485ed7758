"""Templates of pages: one file of HTML each, with the style inside, that loads nothing from anywhere."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from ldpopt.report.words import number


def rendered(template: str, **names: Any) -> str:
    """Fill in a template; it finds the style of all pages as ``style``."""
    environment = Environment(
        loader=PackageLoader("ldpopt.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = number
    style = files("ldpopt.report").joinpath("templates", "report.css").read_text(encoding="utf-8")
    return environment.get_template(template).render(style=Markup(style), **names)
