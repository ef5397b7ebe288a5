"""fastdp: differential privacy for millions of values per call, safe by default.

Names are loaded when they are first used, so that importing the package stays cheap.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from fastdp._version import __version__

if TYPE_CHECKING:
    from fastdp import locations, measures
    from fastdp.channels import Channel
    from fastdp.errors import (
        BudgetExceededError,
        DomainError,
        FastDPError,
        InputCorruptError,
        LedgerCorruptError,
        LedgerLockedError,
        NotIdentifiableError,
        OutputExistsError,
        ParameterError,
        SchemaError,
        UnsafeRngError,
    )
    from fastdp.estimators.ibu import ibu
    from fastdp.estimators.inversion import invert
    from fastdp.estimators.privic import Privic, privic
    from fastdp.estimators.reports import estimate
    from fastdp.estimators.result import Estimate
    from fastdp.mechanisms.attributes import SampleAndFake, SampleOne, SplitBudget
    from fastdp.mechanisms.blahut_arimoto import BlahutArimoto
    from fastdp.mechanisms.dbitflip import DBitFlip
    from fastdp.mechanisms.discrete_gaussian import DiscreteGaussian
    from fastdp.mechanisms.finite import Remapped
    from fastdp.mechanisms.gaussian import Gaussian
    from fastdp.mechanisms.geometric import Geometric
    from fastdp.mechanisms.globe_laplace import GlobeLaplace
    from fastdp.mechanisms.grid import GridGeometric, GridLaplace
    from fastdp.mechanisms.hadamard import HadamardResponse
    from fastdp.mechanisms.hashing import LocalHashing
    from fastdp.mechanisms.krr import KRR
    from fastdp.mechanisms.laplace import Laplace
    from fastdp.mechanisms.longitudinal import Longitudinal
    from fastdp.mechanisms.memoized_trajectory import MemoizedTrajectory
    from fastdp.mechanisms.metric import ExponentialMetric
    from fastdp.mechanisms.numeric import Duchi, Hybrid, Piecewise
    from fastdp.mechanisms.optimal import OptimalMechanism
    from fastdp.mechanisms.planar_laplace import PlanarLaplace
    from fastdp.mechanisms.predictive_trajectory import PredictiveTrajectory
    from fastdp.mechanisms.randomized_response import RandomizedResponse
    from fastdp.mechanisms.rappor import RAPPOR
    from fastdp.mechanisms.remapped_points import RemappedPoints
    from fastdp.mechanisms.square_wave import SquareWave
    from fastdp.mechanisms.staircase import Staircase
    from fastdp.mechanisms.subset import SubsetSelection
    from fastdp.mechanisms.summed_histogram import SummedHistogram
    from fastdp.mechanisms.tight import TightConstraints
    from fastdp.mechanisms.trajectory import TrajectoryReports
    from fastdp.mechanisms.unary import ThresholdedHistogram, UnaryEncoding
    from fastdp.parallel import get_threads, set_threads
    from fastdp.privacy import Privacy
    from fastdp.random import Rng
    from fastdp.tables.estimate import estimate_table
    from fastdp.tables.plan import Plan
    from fastdp.tables.sanitize import sanitize

_HOMES = {
    "fastdp.channels": ("Channel",),
    "fastdp.errors": (
        "BudgetExceededError", "DomainError", "FastDPError", "InputCorruptError", "LedgerCorruptError",
        "LedgerLockedError", "NotIdentifiableError", "OutputExistsError", "ParameterError", "SchemaError",
        "UnsafeRngError",
    ),
    "fastdp.estimators.ibu": ("ibu",),
    "fastdp.estimators.inversion": ("invert",),
    "fastdp.estimators.privic": ("Privic", "privic"),
    "fastdp.estimators.reports": ("estimate",),
    "fastdp.estimators.result": ("Estimate",),
    "fastdp.mechanisms.attributes": ("SampleAndFake", "SampleOne", "SplitBudget"),
    "fastdp.mechanisms.blahut_arimoto": ("BlahutArimoto",),
    "fastdp.mechanisms.dbitflip": ("DBitFlip",),
    "fastdp.mechanisms.discrete_gaussian": ("DiscreteGaussian",),
    "fastdp.mechanisms.finite": ("Remapped",),
    "fastdp.mechanisms.gaussian": ("Gaussian",),
    "fastdp.mechanisms.geometric": ("Geometric",),
    "fastdp.mechanisms.globe_laplace": ("GlobeLaplace",),
    "fastdp.mechanisms.grid": ("GridGeometric", "GridLaplace"),
    "fastdp.mechanisms.hadamard": ("HadamardResponse",),
    "fastdp.mechanisms.hashing": ("LocalHashing",),
    "fastdp.mechanisms.krr": ("KRR",),
    "fastdp.mechanisms.laplace": ("Laplace",),
    "fastdp.mechanisms.longitudinal": ("Longitudinal",),
    "fastdp.mechanisms.memoized_trajectory": ("MemoizedTrajectory",),
    "fastdp.mechanisms.metric": ("ExponentialMetric",),
    "fastdp.mechanisms.numeric": ("Duchi", "Hybrid", "Piecewise"),
    "fastdp.mechanisms.optimal": ("OptimalMechanism",),
    "fastdp.mechanisms.planar_laplace": ("PlanarLaplace",),
    "fastdp.mechanisms.predictive_trajectory": ("PredictiveTrajectory",),
    "fastdp.mechanisms.randomized_response": ("RandomizedResponse",),
    "fastdp.mechanisms.rappor": ("RAPPOR",),
    "fastdp.mechanisms.remapped_points": ("RemappedPoints",),
    "fastdp.mechanisms.square_wave": ("SquareWave",),
    "fastdp.mechanisms.staircase": ("Staircase",),
    "fastdp.mechanisms.subset": ("SubsetSelection",),
    "fastdp.mechanisms.summed_histogram": ("SummedHistogram",),
    "fastdp.mechanisms.tight": ("TightConstraints",),
    "fastdp.mechanisms.trajectory": ("TrajectoryReports",),
    "fastdp.mechanisms.unary": ("ThresholdedHistogram", "UnaryEncoding"),
    "fastdp.parallel": ("get_threads", "set_threads"),
    "fastdp.privacy": ("Privacy",),
    "fastdp.random": ("Rng",),
    "fastdp.tables.estimate": ("estimate_table",),
    "fastdp.tables.plan": ("Plan",),
    "fastdp.tables.sanitize": ("sanitize",),
}  # fmt: skip
_MODULES = frozenset({"locations", "measures"})
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "KRR",
    "RAPPOR",
    "BlahutArimoto",
    "BudgetExceededError",
    "Channel",
    "DBitFlip",
    "DiscreteGaussian",
    "DomainError",
    "Duchi",
    "Estimate",
    "ExponentialMetric",
    "FastDPError",
    "Gaussian",
    "Geometric",
    "GlobeLaplace",
    "GridGeometric",
    "GridLaplace",
    "HadamardResponse",
    "Hybrid",
    "InputCorruptError",
    "Laplace",
    "LedgerCorruptError",
    "LedgerLockedError",
    "LocalHashing",
    "Longitudinal",
    "MemoizedTrajectory",
    "NotIdentifiableError",
    "OptimalMechanism",
    "OutputExistsError",
    "ParameterError",
    "Piecewise",
    "Plan",
    "PlanarLaplace",
    "PredictiveTrajectory",
    "Privacy",
    "Privic",
    "RandomizedResponse",
    "Remapped",
    "RemappedPoints",
    "Rng",
    "SampleAndFake",
    "SampleOne",
    "SchemaError",
    "SplitBudget",
    "SquareWave",
    "Staircase",
    "SubsetSelection",
    "SummedHistogram",
    "ThresholdedHistogram",
    "TightConstraints",
    "TrajectoryReports",
    "UnaryEncoding",
    "UnsafeRngError",
    "__version__",
    "estimate",
    "estimate_table",
    "get_threads",
    "ibu",
    "invert",
    "locations",
    "measures",
    "privic",
    "sanitize",
    "set_threads",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"fastdp.{name}")
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'fastdp' has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
