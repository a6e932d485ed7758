"""The journal of a benchmark: rows that are measured once, and read when the same run goes on."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from ldpopt.bench.attempt import Rules
from ldpopt.bench.entrants import Entrant
from ldpopt.bench.instances import Task
from ldpopt.engine.provenance import code_digest, packages, processor
from ldpopt.engine.source_digest import source_digest
from ldpopt.engine.sweep import Row, append_line, point_key, read_journal

Measured = tuple[Row, list[Row]]
"""A row, and what the solve knew over time."""


class Journal:
    """The rows of a file; without a file, everything is measured."""

    def __init__(self, path: Path | None) -> None:
        self.path, self.reused = path, 0
        self._rows = {} if path is None else read_journal(path)

    def remembered(
        self, task: Task, entrant: Entrant, rules: Rules, measure: Callable[[], Measured]
    ) -> Measured:
        """Return what an earlier run measured of a solve, or measure and note it.

        Refusals and crashes are not noted: they cost nothing, or should be seen again.

        Args:
            task: the instance.
            entrant: the solver.
            rules: gap, limit, seed and repetitions.
            measure: solves it.
        """
        if self.path is None:
            return measure()
        key = point_key(
            {
                "problem": [task.problem.kind, task.problem.to_params(), task.label, task.seed],
                "solver": [entrant.name, source_digest(entrant.solver)],
                "rules": rules,
                "machine": [processor(), packages()],
            },
            code_digest(),
        )
        if key in self._rows:
            self.reused += 1
            return self._rows[key]["row"], self._rows[key]["curve"]
        row, curve = measure()
        if row["cpu"] is not None:
            text = json.dumps({"key": key, "row": {"row": row, "curve": curve}})
            append_line(self.path, text + "\n")
        return row, curve
