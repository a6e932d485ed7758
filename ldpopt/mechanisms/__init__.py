"""The catalogue: mechanisms with a name, the designs behind them, and encodings, one per file.

To add an encoding: write the file, add its line to the table.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ldpopt.core.registry import Registry

if TYPE_CHECKING:
    from ldpopt.mechanisms.stated import StatedEncoding

ENCODINGS: Registry[type[StatedEncoding]] = Registry(
    "encoding",
    "ldpopt.encodings",
    {
        "subset": "ldpopt.mechanisms.stated_subset:StatedSubset",
        "hashing": "ldpopt.mechanisms.stated_hashing:StatedHashing",
        "unary": "ldpopt.mechanisms.stated_unary:StatedUnary",
    },
)
CATALOGUE = {
    "catalogue": (
        "UEConditional binary_mechanism conditional_reporting grr_conditional_reporting "
        "independent_reporting randomized_response response secret_randomized_response "
        "ue_conditional_reporting"
    ),
    "encodings": "HadamardResponse LocalHashing SubsetSelection UnaryEncoding",
    "histograms": "HistogramMaxL HistogramQuantization HistogramRandomizedResponse",
}
"""The modules with the mechanisms that have a name; a listing of encodings imports none of them."""


def __getattr__(name: str) -> Any:
    for home, names in CATALOGUE.items():
        if name in names.split():
            return getattr(import_module(f"ldpopt.mechanisms.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *" ".join(CATALOGUE.values()).split()]
