"""Random words, from which reports are drawn."""

from __future__ import annotations

import os

import numpy as np

from ldpopt.mechanisms.randomizer import RandomWords, Words


def secure_words(count: int) -> Words:
    """Draw random 64-bit words from the operating system's cryptographic generator."""
    return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)


def seeded_words(seed: int, start: int = 0) -> RandomWords:
    """Draw words that anyone who knows the seed can draw again: for tests, never for a release.

    Args:
        seed: the seed of the sequence of words.
        start: how many of its words to leave out.
    """
    rng = np.random.Generator(np.random.PCG64(seed).advance(start))
    return lambda count: rng.integers(2**64, size=count, dtype=np.uint64)
