"""OpenDP: measurements whose noise fastdp draws, with privacy maps from the sampler's own integers."""

from __future__ import annotations

import functools
import math
from typing import Any

from fastdp.errors import ParameterError
from fastdp.mechanisms.central.gaussian import Gaussian
from fastdp.mechanisms.central.geometric import Geometric
from fastdp.mechanisms.central.laplace import Laplace
from fastdp.optional import load


def make_laplace(input_domain: Any, input_metric: Any, scale: float) -> Any:
    """A measurement that adds Laplace noise to a float, or to each of a vector of known size.

    The map covers that each coordinate is rounded to the noise's grid. OpenDP asks for its feature
    "honest-but-curious", as for all measurements that are not its own.

    Parameters
    ----------
    input_domain
        An atom domain of floats without NaN, or a vector domain of them with a size.
    input_metric
        The absolute distance, or for a vector the L1 distance.
    scale
        The scale of the noise.
    """
    base = Laplace(scale=scale, sensitivity=scale)
    grid = float(base.granularity)
    size = _size("make_laplace", input_domain, "f64")

    def cost(distance: float) -> float:
        if distance <= 0:
            return 0.0
        apart = distance + grid * ((size or 1) - 1)
        return float(Laplace(scale=scale, sensitivity=apart, granularity=grid).privacy.epsilon or 0.0)

    return _measurement((input_domain, input_metric), size, base.randomize, cost, "f64")


def make_gaussian(input_domain: Any, input_metric: Any, scale: float) -> Any:
    """A measurement that adds Gaussian noise to a float, or to each of a vector of known size: zero-concentrated DP.

    The map covers that each coordinate is rounded to the noise's grid, which moves two vectors of n numbers apart by at
    most the square root of n steps. Draws are within 2**-100 of their law.

    Parameters
    ----------
    input_domain
        As in `make_laplace`.
    input_metric
        The absolute distance, or for a vector the L2 distance.
    scale
        The standard deviation of the noise.
    """
    base = Gaussian(scale=scale, sensitivity=scale)
    grid = float(base.granularity)
    size = _size("make_gaussian", input_domain, "f64")
    rounding = math.nextafter(grid * math.sqrt(size or 1), math.inf)

    def cost(distance: float) -> float:
        if distance <= 0:
            return 0.0
        apart = math.nextafter(distance + rounding, math.inf)
        return float(Gaussian(scale=scale, sensitivity=apart, granularity=grid).privacy.rho or 0.0)

    return _measurement((input_domain, input_metric), size, base.randomize, cost, "f64", "zero_concentrated_divergence")


def make_geometric(input_domain: Any, input_metric: Any, scale: float) -> Any:
    """A measurement that adds two-sided geometric noise to an integer, or to each of a vector of known size.

    Parameters
    ----------
    input_domain
        An atom domain of 64-bit integers, or a vector domain of them with a size.
    input_metric
        The absolute distance, or for a vector the L1 distance, in 64-bit integers.
    scale
        The scale of the noise.
    """
    base = Geometric(scale=scale, sensitivity=1)
    size = _size("make_geometric", input_domain, "i64")

    def cost(distance: int) -> float:
        if distance <= 0:
            return 0.0
        return float(Geometric(scale=scale, sensitivity=int(distance)).privacy.epsilon or 0.0)

    return _measurement((input_domain, input_metric), size, base.randomize, cost, "i64")


def _size(owner: str, domain: Any, kind: str) -> int | None:
    """The size of a vector domain, None for one value; refused if its numbers are of another kind."""
    held = "<f64>" if kind == "f64" else "<i"
    if held not in str(domain.type):
        numbers = "64-bit floats, T=float" if kind == "f64" else "signed integers, T=int"
        raise ParameterError(f"fastdp.opendp.{owner}: input_domain must be one of {numbers}; it is {domain.type}")
    if not str(domain.type).startswith("VectorDomain"):
        return None
    size = domain.size
    if size is None:
        raise ParameterError(
            f"fastdp.opendp.{owner}: a vector domain needs a size, for each coordinate's rounding costs a little; "
            "dp.vector_domain(..., size=n)"
        )
    return int(size)


def _measurement(
    space: tuple[Any, Any], size: int | None, randomize: Any, cost: Any, kind: str, measure: str = "max_divergence"
) -> Any:
    dp = load("fastdp.opendp", "opendp.prelude", extra="opendp")
    import numpy as np

    dtype = np.float64 if kind == "f64" else np.int64

    def one(value: Any) -> Any:
        return randomize(np.asarray([value], dtype))[0].item()

    def many(values: Any) -> Any:
        return randomize(np.asarray(values, dtype)).tolist()

    function = functools.partial(one if size is None else many)
    output = kind if size is None else f"Vec<{kind}>"
    return dp.m.make_user_measurement(*space, getattr(dp, measure)(), function, cost, TO=output)
