"""Generate columns as the linear program asks for them; a proven bound at every stop."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from ldpopt import blockgeneration
from ldpopt.forms import ColumnProgram, Form, FormSolution
from ldpopt.solver import Progress, Solver


class ColumnGeneration(Solver):
    """Column generation with exact pricing."""

    name: ClassVar[str] = "column-generation"

    def accepts(self, form: Form) -> Literal[True] | str:
        """Column programs over a block cone."""
        if not isinstance(form, ColumnProgram):
            return f"solves column programs, not a {form.name}"
        return blockgeneration.accepts(form)

    def run(
        self,
        form: Form,
        *,
        gap: float,
        time_limit: float | None,
        seed: int,
        progress: Progress | None,
        **options: Any,
    ) -> FormSolution:
        """Generate until the gap is proven, the time is over, or the user interrupts."""
        assert isinstance(form, ColumnProgram)
        return blockgeneration.generate(form, gap=gap, time_limit=time_limit, seed=seed, progress=progress)
