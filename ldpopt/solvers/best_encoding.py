"""Choose the parameters of an encoding that give the least squared error at a level."""

from __future__ import annotations

from ldpopt.core.exact import encoding_error
from ldpopt.core.forms.searches import EncodingChoice
from ldpopt.core.solver import FormSolution, Limits, Solver, Status
from ldpopt.mechanisms import ENCODINGS


class BestEncoding(Solver[EncodingChoice]):
    """Ask the encoding for its best parameters at the level, and compute their error exactly."""

    def run(self, form: EncodingChoice, limits: Limits) -> FormSolution:
        """Find the parameters."""
        found = ENCODINGS[form.encoding]
        answer = {"kind": form.encoding, "inputs": form.inputs, **found.best(form)}
        return FormSolution(Status.GAP, answer, float(encoding_error(found(answer).exact)), form.bound)
