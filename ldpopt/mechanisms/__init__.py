"""The catalogue: mechanisms with a name, and the combinatorial designs behind them."""

from __future__ import annotations

from ldpopt.mechanisms.catalogue import (
    UEConditional,
    binary_mechanism,
    conditional_reporting,
    grr_conditional_reporting,
    independent_reporting,
    randomized_response,
    response,
    secret_randomized_response,
    ue_conditional_reporting,
)
from ldpopt.mechanisms.encodings import HadamardResponse, LocalHashing, SubsetSelection, UnaryEncoding
from ldpopt.mechanisms.histograms import (
    HistogramMaxL,
    HistogramQuantization,
    HistogramRandomizedResponse,
)

__all__ = [
    "HadamardResponse",
    "HistogramMaxL",
    "HistogramQuantization",
    "HistogramRandomizedResponse",
    "LocalHashing",
    "SubsetSelection",
    "UEConditional",
    "UnaryEncoding",
    "binary_mechanism",
    "conditional_reporting",
    "grr_conditional_reporting",
    "independent_reporting",
    "randomized_response",
    "response",
    "secret_randomized_response",
    "ue_conditional_reporting",
]
