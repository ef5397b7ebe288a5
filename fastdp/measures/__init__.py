"""What a channel costs and what it leaks: losses, vulnerabilities, distances. No noise is drawn here.

Channels are `Channel` objects or matrices of inputs by outputs; priors are distributions over the inputs. Matrices of
losses and gains have a row per guess and a column per input.
"""

from fastdp.measures.distances import kl_divergence, mean_squared_error, total_variation, wasserstein
from fastdp.measures.leakage import (
    additive_leakage,
    min_entropy_leakage,
    multiplicative_capacity,
    multiplicative_leakage,
    posterior_vulnerability,
    prior_vulnerability,
    shannon_leakage,
)
from fastdp.measures.loss import expected_loss, optimal_remap
from fastdp.measures.posterior import posterior

__all__ = [
    "additive_leakage",
    "expected_loss",
    "kl_divergence",
    "mean_squared_error",
    "min_entropy_leakage",
    "multiplicative_capacity",
    "multiplicative_leakage",
    "optimal_remap",
    "posterior",
    "posterior_vulnerability",
    "prior_vulnerability",
    "shannon_leakage",
    "total_variation",
    "wasserstein",
]
