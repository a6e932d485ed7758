"""The price LP by Benders cuts, rounding and local search: a proven bound at any size."""

from __future__ import annotations

import math
import time
from typing import Any, ClassVar, Literal

import numpy as np

from ldpopt.core.form import Form, FormSolution
from ldpopt.core.solver import Progress, Solver
from ldpopt.core.status import Status
from ldpopt.forms.selection_program import SelectionProgram
from ldpopt.theory.leakage import selection
from ldpopt.theory.leakage.selection_lp import PriceLP, rounded

TRIES = 150


class Cuts(Solver):
    """min_v Σ_y v_y + Σ_g max_θ Σ_y (W[θ,y] − v_y)⁺, and a selection rounded from its dual.

    It does not branch: where the LP has a gap (the Fano plane: 2 against 5/3), so has the result.
    """

    name: ClassVar[str] = "cuts"

    def accepts(self, form: Form) -> Literal[True] | str:
        """Every selection program."""
        if not isinstance(form, SelectionProgram):
            return f"solves selection programs, not a {form.name}"
        return True

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
        """Bound by the LP, round its weights."""
        assert isinstance(form, SelectionProgram)
        deadline = math.inf if time_limit is None else time.monotonic() + time_limit
        relaxed = PriceLP(form).solve(deadline=deadline)
        rng, enough = np.random.default_rng(seed), relaxed.bound * (1 - 1e-12)
        point = rounded(form, relaxed.weights, TRIES, rng, deadline, enough)
        value = math.log(selection.covered(form.matrix, point).sum())
        if progress is not None:
            progress(value, math.log(relaxed.bound))
        proof = selection.leaf(relaxed.prices)
        return FormSolution(
            status=Status.GAP,
            point=point,
            value=value,
            bound=selection.exact_bound(form, proof),
            proof=proof,
            stats={"rounds": relaxed.rounds, "cuts": relaxed.cuts},
        )
