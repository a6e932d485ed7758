"""Execute the notebooks of the documentation, and render each as a page of the site.

Run ``python tools/notebooks.py`` after a change of a cell: it writes the outputs into the files under
``docs/notebooks`` and the pages beside them. No package for notebooks is needed: a cell is plain Python,
and what it shows is what it prints, then what its last expression displays.
"""

import ast
import contextlib
import io
import json
import tempfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "notebooks"


def executed(notebook):
    """Return the notebook with the outputs of its code cells, run in order in an empty directory."""
    names = {"__name__": "__main__"}
    cells = [dict(cell) for cell in notebook["cells"]]
    with tempfile.TemporaryDirectory() as directory, contextlib.chdir(directory):
        for count, cell in enumerate((c for c in cells if c["cell_type"] == "code"), start=1):
            cell["outputs"] = outputs("".join(cell["source"]), names, count)
            cell["execution_count"] = count
    return notebook | {"cells": cells}


def outputs(code, names, count):
    """Run a cell; return what it prints and what its last expression shows, as a notebook stores it."""
    body = ast.parse(code).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(compile(ast.Module(body, []), "cell", "exec"), names)
        shown = (
            None if last is None else eval(compile(ast.Expression(last.value), "cell", "eval"), names)
        )
    found = []
    if said.getvalue():
        text = said.getvalue().splitlines(keepends=True)
        found.append({"output_type": "stream", "name": "stdout", "text": text})
    if shown is not None:
        data = {"text/plain": [repr(shown)]}
        if hasattr(shown, "_repr_html_"):
            data = {"text/html": [shown._repr_html_()], "text/plain": [f"<{type(shown).__name__}>"]}
        result = {"output_type": "execute_result", "execution_count": count}
        found.append(result | {"data": data, "metadata": {}})
    return found


def page(notebook, name):
    """Render an executed notebook as Markdown: text, code, and what it shows."""
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"]).strip()
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        parts += [_rendered(output) for output in cell["outputs"]]
    first, *others = parts
    link = f"*A notebook: [download it]({name}). Its cells are executed by the tests.*"
    return "\n\n".join([first, link, *others]) + "\n"


def _rendered(output):
    if output["output_type"] == "stream":
        return f'```text title="Output"\n{"".join(output["text"]).rstrip()}\n```'
    data = output["data"]
    if "text/html" in data:
        return f'<div class="shown">{"".join(data["text/html"])}</div>'
    return f"```text\n{''.join(data['text/plain'])}\n```"


def read(path):
    """Read a notebook."""
    return json.loads(path.read_text(encoding="utf-8"))


def write(path):
    """Execute a notebook, and write it and its page."""
    found = executed(read(path))
    path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    path.with_suffix(".md").write_text(page(found, path.name), encoding="utf-8")


if __name__ == "__main__":
    for path in sorted(FOLDER.glob("*.ipynb")):
        write(path)
