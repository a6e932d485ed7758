"""Encoding choices: the probabilities of an encoding that is stated by its parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ldpopt.core.form import Form


@dataclass(frozen=True)
class EncodingChoice(Form):
    """Minimise the squared error of all frequencies over the parameters of an encoding at a level.

    Attributes:
        encoding: its name, of :data:`ldpopt.mechanisms.ENCODINGS`.
        inputs: the number of inputs.
        epsilon: the level, in nats.
        buckets: the number of buckets of a hash function; None for the best.
        bound: what no unbiased estimates of an ε-LDP mechanism are below for the uniform distribution.
    """

    name: ClassVar[str] = "encoding-choice"
    encoding: str
    inputs: int
    epsilon: float
    buckets: int | None
    bound: float
