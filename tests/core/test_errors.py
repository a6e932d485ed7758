"""Messages name parameters in Python and options on the command line."""

import ast
from pathlib import Path

import pytest

import ldpopt
from ldpopt import problem, solve
from ldpopt.core.errors import InvalidInputError, LdpoptError, spelling_flags
from ldpopt.tables.batches import open_table

HOUSE = Path(ldpopt.__file__).parent
APART = ("cli", "checker", "protocol", "report")
"""Rooms that write for the command line, and the checker, whose words are those of its claims."""


def raised():
    """List the texts of all errors that are raised outside of the command line."""
    for file in sorted(HOUSE.rglob("*.py")):
        if file.relative_to(HOUSE).parts[0] in APART:
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            named = getattr(getattr(node, "func", None), "id", "")
            if isinstance(node, ast.Call) and named.endswith("Error"):
                parts = (part for argument in node.args for part in ast.walk(argument))
                yield "".join(
                    p.value for p in parts if isinstance(p, ast.Constant) and isinstance(p.value, str)
                )


def test_no_error_of_python_spells_an_option_as_the_command_line_does():
    texts = list(raised())
    assert sum("--" in text for text in texts) > 10
    assert [text for text in texts if "--" in str(LdpoptError(text))] == []


def test_on_the_command_line_it_does():
    error = LdpoptError("allow more (--time-limit), or merge values (--width 4)")
    assert str(error) == "allow more (time_limit), or merge values (width 4)"
    with spelling_flags():
        assert str(error) == error.args[0]
    assert str(LdpoptError("unknown column '--sex'")) == "unknown column '--sex'"


def semicolons(folder):
    (folder / "t.csv").write_text("a;b\n1;2\n3;4\n")
    return open_table(str(folder / "t.csv")).read()


@pytest.mark.parametrize(
    ("use", "kind", "said"),
    [
        (semicolons, InvalidInputError, "say so with sep"),
        (
            lambda folder: solve(problem("staircase", epsilon=1, prior=[1, 1])),
            InvalidInputError,
            "prior",
        ),
    ],
)
def test_what_python_raises_names_parameters(use, kind, said, tmp_path):
    with pytest.raises(kind) as error:
        use(tmp_path)
    assert said in str(error.value)
    assert "--" not in str(error.value)
