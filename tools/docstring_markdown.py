"""Turn the docstrings into Markdown for the API reference; an extension of griffe, named in mkdocs.yml.

Docstrings are written to be read as plain text: mathematics has stars and brackets of its own, doctests
stand where they belong, and other objects are named by roles. Markdown would take some of it for markup.
"""

import re
from typing import Any

import griffe

ROLE = re.compile(r":(?:class|func|mod|meth|data|attr|exc):(`[^`]+`)")
CODE = re.compile(r"(``[^`]+``|`[^`]+`)")
EMPHASIS = re.compile(r"(?<![\w*])\*(\w(?:[^*\n]*\w)?)\*(?![\w*])")
MARKUP = re.compile(r"([*\[\]])")
PARAMETER = re.compile(r"^ +\*{0,2}\w+: ")


def prose(text: str) -> str:
    """Escape what is mathematics; keep emphasis that stands between words."""
    kept = EMPHASIS.sub("\0\\1\0", text)
    return MARKUP.sub(r"\\\1", kept).replace("<", "&lt;").replace("\0", "*")


def line_as_markdown(line: str) -> str:
    """Escape the prose of a line: everything but code and the stars of a parameter's name."""
    head = match.group() if (match := PARAMETER.match(line)) else ""
    parts = CODE.split(ROLE.sub(r"\1", line[len(head) :]))
    return head + "".join(part if CODE.fullmatch(part) else prose(part) for part in parts)


def markdown(docstring: str) -> str:
    """Return the docstring as Markdown, its doctests as blocks of code.

    >>> markdown("Minimise φ* over [s][u], see :func:`solve`, *not* < 1.")
    'Minimise φ\\\\* over \\\\[s\\\\]\\\\[u\\\\], see `solve`, *not* &lt; 1.'
    """
    lines: list[str] = []
    in_doctest = False
    for line in docstring.splitlines():
        starts = not in_doctest and line.lstrip().startswith(">>>")
        ends = in_doctest and not line.strip()
        if starts:
            indent = line[: len(line) - len(line.lstrip())]
            lines += ["", f"{indent}```pycon"]
            in_doctest = True
        elif ends:
            lines.append(f"{indent}```")
            in_doctest = False
        lines.append(line if in_doctest else line_as_markdown(line))
    return "\n".join([*lines, f"{indent}```"] if in_doctest else lines)


class DocstringMarkdown(griffe.Extension):
    """Rewrite every docstring once, when its object is loaded."""

    def on_instance(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Rewrite the docstring of a module, class, function or attribute."""
        if obj.docstring:
            obj.docstring.value = markdown(obj.docstring.value)
