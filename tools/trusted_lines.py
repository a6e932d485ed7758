"""Print how many lines of the checker have to be right for each kind of file, as a Markdown table.

    python tools/trusted_lines.py

A line counts if it holds code: no blank line, no comment, no docstring (the lemmas are in docstrings).
The lines of a kind are those of its section and of all that this imports; a program may name any part,
and alone needs what functions import when they are called.
The frame, which decides what all files have in common, has a row of its own, and is left out of the
others.
"""

import ast
import io
import tokenize
from collections import defaultdict
from functools import cache
from pathlib import Path

from ldpopt.checker import frame
from ldpopt.checker.kernel.proofs.column_utilities import UTILITIES
from ldpopt.checker.kernel.proofs.named_parts import NOTIONS, OBJECTIVES

CHECKER = Path(frame.__file__).parent
LAYOUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def _path(module: str) -> Path:
    return CHECKER / f"{module.replace('.', '/')}.py"


@cache
def code_lines(module: str) -> int:
    """Count the lines of a module that hold code."""
    source = _path(module).read_text()
    held: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in LAYOUT:
            held.update(range(token.start[0], token.end[0] + 1))
    return len(held - _docstring_lines(ast.parse(source)))


def _docstring_lines(tree: ast.AST) -> set[int]:
    """Collect the lines of strings that stand as statements of their own: docstrings of all kinds."""
    alone = (node for node in ast.walk(tree) if isinstance(node, ast.Expr))
    texts = (node for node in alone if isinstance(node.value, ast.Constant))
    return {line for node in texts for line in range(node.lineno, (node.end_lineno or 0) + 1)}


@cache
def imported(module: str, called: bool = False) -> frozenset[str]:
    """List a module of the checker and all modules of the checker that it imports, directly or not.

    Args:
        module: its name.
        called: whether to count what functions import when they are called.
    """
    found: set[str] = set()
    waiting = [module]
    while waiting:
        if (name := waiting.pop()) not in found:
            found.add(name)
            tree = ast.parse(_path(name).read_text())
            nodes = ast.walk(tree) if called else tree.body
            froms = (node for node in nodes if isinstance(node, ast.ImportFrom))
            waiting += [other for node in froms for other in _named(node, name)]
    return frozenset(found)


def _named(node: ast.ImportFrom, module: str) -> list[str]:
    """List the modules that a relative import names: its own, or those that it takes of a package."""
    if not node.level:
        return []
    base = module.split(".")[: -node.level] + (node.module.split(".") if node.module else [])
    if _path(".".join(base)).exists():
        return [".".join(base)]
    return [".".join([*base, alias.name]) for alias in node.names]


def every_module() -> frozenset[str]:
    """List all modules of the checker, but for those that only say what a package is for."""
    paths = (path.relative_to(CHECKER).with_suffix("") for path in CHECKER.rglob("*.py"))
    return frozenset(".".join(path.parts) for path in paths if path.stem != "__init__")


def lines_of(modules: frozenset[str]) -> int:
    """Add up the lines of code of some modules."""
    return sum(map(code_lines, modules))


def needed(kind: str) -> tuple[str, frozenset[str]]:
    """Return the section of a kind, and what it imports; a program may name any part."""
    name, homes = frame.KINDS[kind], NOTIONS | OBJECTIVES["maximise"] | OBJECTIVES["minimise"]
    used = {"program": tuple(homes)}.get(kind, ("secret", *UTILITIES)) if name == "program" else ()
    called = kind == "program"
    parts = (imported(f"kernel.proofs.{homes[part]}", called) for part in used)
    return name, imported(f"statements.{name}", called).union(*parts)


def table() -> str:
    """Write the table: a row for the kinds of each section of the checker that need the same modules."""
    shared = imported("frame")
    kinds = defaultdict(list)
    for kind in frame.KINDS:
        kinds[needed(kind)].append(f"`{kind}`")
    rows = [
        "| kinds | section | modules beside the frame | lines of code |",
        "|---|---|---|---|",
        f"| all: the frame | `frame` | {len(shared)} | {lines_of(shared):,} |",
    ]
    for name, words in (
        (frame.DESIGN, "beside these, the section `design`"),
        (frame.PUBLIC, "public mechanism files"),
    ):
        kinds[name, imported(f"statements.{name}")].append(words)
    for (name, modules), own in kinds.items():
        beside = modules - shared
        rows.append(f"| {', '.join(own)} | `{name}` | {len(beside)} | {lines_of(beside):,} |")
    everything = every_module()
    rows.append(f"| all together | | {len(everything - shared)} | {lines_of(everything):,} |")
    return "\n".join(rows)


if __name__ == "__main__":
    print(table())
