"""Bounds over the PolyOpt cone whose blocks are too wide to list."""

import numpy as np
import pytest

from ldpopt.checker.kernel.proofs import polyopt_wide_blocks
from ldpopt.checker.kernel.proofs.confidence_set import read_robust_question
from ldpopt.checker.kernel.proofs.polyopt_blocks import BlockProof
from ldpopt.models.block_cone import BlockCone
from ldpopt.models.uncertainty_sets import Chi2Set
from ldpopt.models.utilities import MutualInformation


def asked(p_hat, n, epsilon):
    return read_robust_question({"p_hat": p_hat.tolist(), "n": n, "alpha": 0.05, "epsilon": epsilon})


def least_lift(dual, prior, columns):
    """The multiple of P̂ by which β must be raised to have β·T ≥ μ(T) for the given columns."""
    gains = MutualInformation(prior)(columns)
    return float(((gains - dual @ columns) / (prior @ columns)).max())


@pytest.mark.parametrize(
    ("shape", "n", "pairs"),
    [
        ((2, 2), 200, "distinct"),
        ((3, 2), 5000, "all"),
        ((2, 4), 2000, "all"),
        pytest.param((3, 2), 5000, "distinct", marks=pytest.mark.slow),
        pytest.param((2, 4), 2000, "distinct", marks=pytest.mark.slow),
    ],
)
def test_what_is_proven_holds_at_every_vertex(shape, n, pairs):
    """The listed vertices say what is true; the relaxation proves it from a little above on."""
    rng = np.random.default_rng(sum(shape) + n)
    p_hat = rng.dirichlet(np.ones(shape[0] * shape[1])).reshape(shape)
    rays = BlockCone(Chi2Set(p_hat, n).lower_conditionals(), 1.0, pairs).rays()
    question, prior = asked(p_hat, n, 1.0), p_hat.ravel()
    dual = rng.normal(0.3, 0.3, prior.size) * prior
    lift = least_lift(dual, prior, rays)
    below, above = ((dual + (lift + d) * prior).tolist() for d in (-1e-4, 1e-4))
    assert not polyopt_wide_blocks.dominates(below, question, pairs)
    assert BlockProof(above, question, pairs).holds()
    assert polyopt_wide_blocks.dominates((dual + (lift + 0.5) * prior).tolist(), question, pairs)


def test_a_wide_cone_is_proven_close_to_its_best_columns():
    rng = np.random.default_rng(3)
    p_hat = rng.dirichlet(np.full(28, 2.0)).reshape(2, 14)
    cone = BlockCone(Chi2Set(p_hat, 300).lower_conditionals(), 1.0)
    prior = p_hat.ravel()
    columns = np.vstack(list(cone.best(rng.normal(size=(200, 28)) * prior))).T
    lift = least_lift(0 * prior, prior, columns)
    question = asked(p_hat, 300, 1.0)
    assert not polyopt_wide_blocks.dominates((0.99 * lift * prior).tolist(), question, "distinct")
    assert polyopt_wide_blocks.dominates((1.3 * lift * prior).tolist(), question, "distinct")


def test_heavy_values_are_told_apart():
    """One value has nearly all of p: its chord from 0 to H is far above T log T."""
    p_hat = np.full((2, 14), 0.004)
    p_hat[:, 0] = 0.5 - 13 * 0.004
    cone = BlockCone(Chi2Set(p_hat, 5000).lower_conditionals(), 1.0)
    prior = p_hat.ravel()
    columns = np.vstack(list(cone.best(np.random.default_rng(0).normal(size=(200, 28)) * prior))).T
    lift = least_lift(0 * prior, prior, columns)
    assert polyopt_wide_blocks.dominates(
        (2 * lift * prior).tolist(), asked(p_hat, 5000, 1.0), "distinct"
    )
