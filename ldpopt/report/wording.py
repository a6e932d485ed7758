"""Numbers, data and docstrings as a page says them."""

from __future__ import annotations

import inspect
import math
import re
from typing import Any

from ldpopt.core.exact import visible
from ldpopt.core.number_text import in_full
from ldpopt.core.problem import Problem
from ldpopt.engine.verifying import NOT_CHECKED

RIGHT_TO_LEFT = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff"
"""The blocks of Unicode whose letters are written from right to left."""
RUN = re.compile(f"[{RIGHT_TO_LEFT}]+(?:[ \u200c\u200d]+[{RIGHT_TO_LEFT}]+)*")
"""Words from right to left with nothing but spaces between them."""
JOINERS = "\u200c\u200d"
"""Invisible letters that Persian, Indic languages and pictures need."""


def isolated(text: str) -> str:
    r"""Keep words from right to left from reordering what stands around them; spell out the invisible.

    The words of a page run from left to right. Without this, the numbers between two names in Hebrew
    would be shown in the opposite order. Two names that differ by an invisible letter look different.

    >>> isolated("a\u200b שלום 5")
    'a\\u200b \u2068שלום\u2069 5'
    """
    return RUN.sub("\u2068\\g<0>\u2069", spelt(text))


def spelt(text: str) -> str:
    """Spell out what cannot be seen, such as half a character in the name of a file."""
    return "".join(
        c if visible(c) or c.isspace() or c in JOINERS else c.encode("unicode_escape").decode()
        for c in text
    )


def number(value: Any, digits: int = 6) -> str:
    """Format a number as the page shows it, one below 1 never as 1; a dash for none.

    >>> number(0.6293585414035195), number(None), number(32561), number(math.inf), number(0.9999996)
    ('0.629359', '–', '32561', '∞', '0.9999996')
    """
    if value is None:
        return "–"
    if value == math.inf:
        return "∞"
    if not isinstance(value, float):
        return str(value)
    rounded = f"{value:.{digits}g}"
    return in_full(value) if rounded == "1" and value < 1 else rounded


def abbreviated(value: Any, most: int = 8) -> str:
    """Write plain data as text, long arrays cut short.

    >>> abbreviated([[0.125, 1]] + [[2, 3]] * 20)
    '[[0.125, 1], [2, 3], [2, 3], [2, 3], [2, 3], [2, 3], … 21 in all]'
    """
    if isinstance(value, dict):
        marks = {"words": f" [{NOT_CHECKED}]"}  # a notion of privacy in the words of its author
        return ", ".join(
            f"{name}: {abbreviated(part, most)}{marks.get(name, '')}" for name, part in value.items()
        )
    if not isinstance(value, (list, tuple)):
        return number(value)
    shown = [abbreviated(part, most) for part in value[: most if len(value) <= most else most - 2]]
    more = [f"… {len(value)} in all"] if len(value) > most else []
    return f"[{', '.join(shown + more)}]"


def label_text(label: Any) -> str:
    """Write an input or output of a mechanism as text."""
    return ", ".join(map(str, label)) if isinstance(label, tuple) else str(label)


def documented(cls: type[Problem]) -> tuple[list[str], dict[str, str]]:
    """Split a problem's docstring into its paragraphs and what it says about each parameter.

    Those of a class of another package carry a mark: they may promise what no claim decides.
    """
    meanings: dict[str, str] = {}
    for ancestor in reversed(cls.__mro__):
        _, _, arguments = _plain_words(ancestor.__doc__ or "").partition("Args:\n")
        for name, text in re.findall(r"^    (\w+): (.*(?:\n {6,}.*)*)", arguments, re.MULTILINE):
            meanings[name] = " ".join(text.split())
    said = _plain_words(cls.__doc__ or "").partition("Args:\n")[0].partition(">>>")[0]
    paragraphs = [" ".join(text.split()) for text in re.split(r"\n\n|\n(?=– )", said) if text.strip()]
    if cls.__module__.partition(".")[0] == "ldpopt":
        return paragraphs, meanings
    quoted = [f"In its author's words [{NOT_CHECKED}]: “{text}”" for text in paragraphs]
    return quoted, {name: f"{text} [{NOT_CHECKED}]" for name, text in meanings.items()}


def _plain_words(docstring: str) -> str:
    """Remove the marks of reStructuredText from a docstring."""
    text = inspect.cleandoc(docstring)
    text = re.sub(r":\w+:`([^`]*)`", r"\1", text).replace("``", "")
    return re.sub(r"^\* ", "– ", text, flags=re.MULTILINE)
