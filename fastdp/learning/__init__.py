"""Learning with noise on gradients, weights and federated sums: exact on integer grids, and accounted for.

Estimators need scikit-learn and optimizers torch; both are loaded when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from fastdp.learning.federated import DiscreteGaussianSum, Simulation, SkellamSum, simulate
from fastdp.learning.flower import flower_message, flower_strategy
from fastdp.learning.gradient_sum import GradientSum
from fastdp.learning.noise.banded import BandedNoise
from fastdp.learning.noise.tree import TreeNoise
from fastdp.learning.sampling import poisson_sample
from fastdp.learning.torch import PrivateOptimizer
from fastdp.learning.training import Training, pay_for_training, train, training_cost

if TYPE_CHECKING:
    from fastdp.learning.linear import LinearRegression
    from fastdp.learning.logistic import LogisticRegression

__all__ = [
    "BandedNoise", "DiscreteGaussianSum", "GradientSum", "LinearRegression", "LogisticRegression", "PrivateOptimizer",
    "Simulation", "SkellamSum", "Training", "TreeNoise", "flower_message", "flower_strategy", "pay_for_training",
    "poisson_sample", "simulate", "train", "training_cost",
]  # fmt: skip

_OPTIONAL = {"LinearRegression": "linear", "LogisticRegression": "logistic"}
"""Names whose modules need a package that is not installed with fastdp."""


def __getattr__(name: str) -> Any:
    if name not in _OPTIONAL:
        raise AttributeError(f"module 'fastdp.learning' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"fastdp.learning.{_OPTIONAL[name]}"), name)
    globals()[name] = value
    return value
