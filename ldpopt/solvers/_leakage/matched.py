"""Largest matchings as solutions: König's cover proves that none is larger."""

from __future__ import annotations

import math

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import breadth_first_order

from ldpopt.core import certify
from ldpopt.core.exact import log_above
from ldpopt.core.form import FormSolution, Status
from ldpopt.core.forms.selections import SelectionProgram
from ldpopt.core.validate import Array
from ldpopt.measures import row_selection
from ldpopt.measures.row_selection import Matching, adjacency, matched_selection


def matched_solution(
    form: SelectionProgram, matching: Matching, stats: dict[str, float]
) -> FormSolution:
    """Return the selection of a largest matching, with its König cover as prices.

    Args:
        form: a deterministic mechanism and its secrets.
        matching: a largest matching of groups to outputs.
        stats: counts worth printing.
    """
    prices = cover_prices(adjacency(form), matching)
    proof = row_selection.leaf(prices)
    return FormSolution(
        status=Status.OPTIMAL,
        point=matched_selection(form, matching),
        value=math.log(np.count_nonzero(matching >= 0)),
        bound=certify.value_above(log_above(cover_size(form, prices))),
        proof=proof,
        stats=stats,
    )


def cover_size(form: SelectionProgram, prices: Array) -> int:
    """Count what prices 0 and 1 bound: the priced outputs, and the groups with a row outside of them."""
    outside = form.groups[prices[form.matrix.indices] == 0]
    return int(np.count_nonzero(prices)) + len(np.unique(outside))


def cover_prices(graph: csr_array, matching: Matching) -> Array:
    """Build König's cover: price 1 for outputs on alternating paths from the unmatched groups, else 0.

    The groups not reached and the outputs reached are a vertex cover as large as a largest matching.
    A group outside the cover gains nothing at these prices, one inside at most 1: the bound of the
    prices is the size of the cover.
    """
    groups, outputs = graph.shape
    source = groups + outputs
    tails, heads = graph.nonzero()
    taken = np.flatnonzero(matching >= 0)
    free = np.flatnonzero(matching < 0)
    starts = np.concatenate([tails, groups + matching[taken], np.full(len(free), source)])
    ends = np.concatenate([groups + heads, taken, free])
    paths = coo_array((np.ones(len(starts)), (starts, ends)), shape=(source + 1, source + 1))
    reached = breadth_first_order(paths.tocsr(), source, return_predecessors=False)
    prices = np.zeros(outputs)
    prices[reached[(reached >= groups) & (reached < source)] - groups] = 1.0
    return prices
