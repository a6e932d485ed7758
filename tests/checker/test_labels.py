"""Labels of mechanisms, as the schema reads them."""

import numpy as np
import pytest

from ldpopt.checker.reading import UnreadableError
from ldpopt.checker.schema import Label, List
from ldpopt.problems.ue_conditional import UEConditional


def test_a_report_of_unary_encoding_may_name_no_secret():
    question = UEConditional(epsilon=1.0, p_hat=[[0.3, 0.2], [0.1, 0.4]], n=1000)
    mechanism = question.mechanism(np.array([0.2, 0.5]))
    assert mechanism.outputs[0] == (None, None)
    labels = [list(label) for label in mechanism.outputs]
    assert List(Label()).read(labels, "outputs") == list(mechanism.outputs)
    assert Label().read([None, [1, "a"]], "outputs[0]") == (None, (1, "a"))


@pytest.mark.parametrize("label", [{}, float("inf"), [float("nan")]])
def test_other_things_are_refused(label):
    with pytest.raises(UnreadableError, match="must be a string, a number, true, false or null"):
        Label().read(label, "outputs[0]")
