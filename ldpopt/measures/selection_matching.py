"""Deterministic selections are matchings of groups to outputs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from ldpopt.core.forms.selection_program import SelectionProgram
from ldpopt.measures import selection

Matching = NDArray[np.int64]
"""The output matched to each group, −1 for none."""


def adjacency(form: SelectionProgram) -> csr_array:
    """Build the graph in which group g and output y are adjacent if some row of g is the output y."""
    shape = (int(form.groups.max()) + 1, form.matrix.shape[1])
    entries = (np.ones(len(form.groups)), (form.groups, form.matrix.indices))
    graph = csr_array(coo_array(entries, shape=shape))
    graph.sum_duplicates()
    return graph


def matched_selection(form: SelectionProgram, matching: Matching) -> selection.Selection:
    """Select in each group a row whose output is the matched one; without one, the first row."""
    rows = np.arange(len(form.groups))
    wanted = matching[form.groups] == form.matrix.indices
    choice = np.full(len(matching), 2 * len(rows))
    np.minimum.at(choice, form.groups, np.where(wanted, rows, rows + len(rows)))
    return np.where(choice >= len(rows), choice - len(rows), choice)
