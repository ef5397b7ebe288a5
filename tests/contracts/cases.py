"""Every mechanism, listed once; the contract tests run over this list."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import fastdp as fd


class Case(NamedTuple):
    """A mechanism, the type of its values, and its constructor with the parameters that can be spoiled."""

    name: str
    mechanism: Any
    dtype: str
    parameters: dict[str, Any]


def _case(name: str, make: Any, dtype: str, **parameters: Any) -> Case:
    return Case(name, make(**parameters), dtype, parameters)


EACH = 2_000
_epsilons = np.linspace(0.1, 2.0, EACH)

CASES = [
    _case("laplace", fd.Laplace, "float64", epsilon=1.0, sensitivity=1.0),
    _case("laplace-float32", fd.Laplace, "float32", epsilon=0.3, sensitivity=2.5),
    _case("laplace-wide", fd.Laplace, "float64", epsilon=0.001, sensitivity=1.0),
    _case("laplace-coarse", fd.Laplace, "float64", epsilon=1.0, sensitivity=7.0, granularity=0.5),
    _case("laplace-bounds", fd.Laplace, "float64", epsilon=1.0, sensitivity=1.0, bounds=(-1, 2)),
    _case("laplace-fold", fd.Laplace, "float64", epsilon=1.0, sensitivity=1.0, bounds=(-1, 2), boundary="fold"),
    _case("laplace-resample", fd.Laplace, "float64", epsilon=1.0, sensitivity=1.0, bounds=(-1, 9), boundary="resample"),
    _case("laplace-each", fd.Laplace, "float64", epsilon=_epsilons, sensitivity=1.0),
    _case("geometric", fd.Geometric, "int64", epsilon=0.7, sensitivity=1),
    _case("geometric-wide", fd.Geometric, "int32", epsilon=0.7, sensitivity=1000),
    _case("geometric-bounds", fd.Geometric, "int8", epsilon=0.7, bounds=(0, 12)),
    _case("geometric-fold", fd.Geometric, "uint16", epsilon=0.7, bounds=(0, 12), boundary="fold"),
    _case("geometric-resample", fd.Geometric, "uint64", epsilon=0.7, bounds=(0, 12), boundary="resample"),
    _case("geometric-resample-narrow", fd.Geometric, "int64", epsilon=0.1, bounds=(0, 3), boundary="resample"),
    _case("geometric-each", fd.Geometric, "int64", epsilon=_epsilons, sensitivity=2),
    _case("gaussian", fd.Gaussian, "float64", epsilon=1.0, delta=1e-6, sensitivity=1.0),
    _case("gaussian-rho", fd.Gaussian, "float32", rho=0.5, sensitivity=1.0),
    _case("gaussian-each", fd.Gaussian, "float64", rho=_epsilons, sensitivity=1.0),
    _case(
        "gaussian-each-epsilon",
        fd.Gaussian,
        "float64",
        epsilon=np.resize([0.3, 1.0, 2.0], EACH),
        delta=1e-6,
        sensitivity=np.linspace(1.0, 3.0, EACH),
    ),
    _case("discrete-gaussian", fd.DiscreteGaussian, "int64", rho=0.5, sensitivity=1),
    _case("discrete-gaussian-wide", fd.DiscreteGaussian, "int64", epsilon=0.5, delta=1e-6, sensitivity=100),
    _case("discrete-gaussian-each", fd.DiscreteGaussian, "int16", scale=_epsilons + 1, sensitivity=1),
    _case("discrete-gaussian-bounds", fd.DiscreteGaussian, "uint8", rho=0.1, sensitivity=1, bounds=(0, 12)),
    _case("staircase-each", fd.Staircase, "float64", epsilon=_epsilons, sensitivity=1.5),
    _case("staircase", fd.Staircase, "float64", epsilon=3.0, sensitivity=1.0),
]


def values_of(case: Case, size: int) -> np.ndarray:
    """Some values of the case's type, the same every time."""
    return (np.arange(size) % 13).astype(case.dtype)


def size_of(case: Case, size: int) -> int:
    """The size asked for, or the one that per-record parameters fix."""
    return case.mechanism._records() or size
