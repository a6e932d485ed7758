"""Work for another process: it must be importable there."""

import numpy as np


def growing():
    return np.ones(6_250_000)[:1]


def forever():
    while True:
        pass
