"""Every compiled path, each with a call that takes it: the list of ``fastdp warmup``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float64", "float32")


def jobs() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Every compiled path, each with a call that takes it."""
    import pyarrow as pa

    import fastdp as fd
    from fastdp import KRR, DiscreteGaussian, Gaussian, Geometric, Laplace, Rng, Staircase

    rng = Rng.unsafe_seed(0)

    def call(mechanism: Any, dtype: str) -> Callable[[], Any]:
        return lambda: mechanism.randomize(np.zeros(16, dtype), rng=rng)

    each = np.full(16, 1.0)
    for dtype in FLOATS:
        yield f"Laplace {dtype}", call(Laplace(epsilon=1.0, sensitivity=1.0), dtype)
        folded = Laplace(epsilon=1.0, sensitivity=1.0, bounds=(0, 8), boundary="fold")
        yield f"Laplace {dtype}, folded", call(folded, dtype)
        yield f"Duchi {dtype}", call(fd.Duchi(epsilon=1.0, bounds=(0, 1)), dtype)
    for dtype in INTEGERS:
        yield f"Geometric {dtype}", call(Geometric(epsilon=1.0), dtype)
        yield f"KRR {dtype}", call(KRR(epsilon=1.0, domain=100), dtype)
        yield f"Geometric {dtype}, folded", call(Geometric(epsilon=1.0, bounds=(0, 8), boundary="fold"), dtype)
    yield "Geometric of middle scale", call(Geometric(scale=1000.0), "int64")
    wide = Laplace(epsilon=1.0, sensitivity=1.0, bounds=(0, 8), boundary="resample")
    narrow = Laplace(epsilon=0.1, sensitivity=1.0, bounds=(0, 1), boundary="resample")
    yield "Laplace, resampled", call(wide, "float64")
    yield "Laplace, resampled in a narrow interval", call(narrow, "float64")
    yield "Gaussian", call(Gaussian(rho=0.5, sensitivity=1.0), "float64")
    yield "DiscreteGaussian", call(DiscreteGaussian(rho=0.5), "int64")
    yield "Staircase", call(Staircase(epsilon=1.0, sensitivity=1.0), "float64")
    yield "Laplace, one epsilon per record", call(Laplace(epsilon=each, sensitivity=1.0), "float64")
    yield "Staircase, one epsilon per record", call(Staircase(epsilon=each, sensitivity=1.0), "float64")
    yield "Gaussian, one rho per record", call(Gaussian(rho=each, sensitivity=1.0), "float64")
    response = fd.RandomizedResponse(epsilon=1.0)
    yield "RandomizedResponse, bytes", call(response, "bool")
    yield "RandomizedResponse, packed", lambda: response.randomize(pa.array([True] * 16), rng=rng)

    def round_trip(mechanism: Any) -> Callable[[], Any]:
        """Reports and their counts."""
        return lambda: mechanism.aggregate(mechanism.randomize(np.zeros(16, np.int64), rng=rng))

    yield "KRR of large domains", call(KRR(epsilon=1.0, domain=100_000), "int64")
    for protocol in (
        fd.UnaryEncoding, fd.SummedHistogram, fd.SubsetSelection, fd.HadamardResponse, fd.LocalHashing, fd.RAPPOR
    ):  # fmt: skip
        yield protocol.__name__, round_trip(protocol(epsilon=1.0, domain=10))
    yield "LocalHashing in cohorts", round_trip(fd.LocalHashing(epsilon=1.0, domain=10, cohorts=8))
    yield "SquareWave", round_trip(fd.SquareWave(epsilon=1.0, bounds=(0, 1)))
    key = fd.Longitudinal.new_key()
    for inner in (KRR(epsilon=2.0, domain=10), fd.UnaryEncoding(epsilon=2.0, domain=10)):
        repeated = fd.Longitudinal(inner, first=1.0)
        yield f"Longitudinal {type(inner).__name__}", _keyed(repeated, key)
    yield "DBitFlip", _keyed(fd.DBitFlip(epsilon=1.0, domain=10, bits=2), key)
    for dtype in INTEGERS:
        yield f"GridGeometric {dtype}", call(fd.GridGeometric(epsilon=1.0, shape=(2, 2)), dtype)
    line = np.abs(np.subtract.outer(np.arange(3.0), np.arange(3.0)))
    exponential = fd.ExponentialMetric(epsilon=1.0, distance=line)
    yield "ExponentialMetric", call(exponential, "int64")
    yield "its guarantee", lambda: exponential.privacy
    planar = fd.PlanarLaplace(epsilon=1.0, unit="km")
    yield "PlanarLaplace", lambda: planar.randomize(np.zeros((16, 2)), rng=rng)
    for name, use in _places():
        yield f"places on a map, {name}", use
    yield from _estimates()


def _estimates() -> Iterator[tuple[str, Callable[[], Any]]]:
    """The iterations of every kind of channel."""
    import fastdp as fd
    from fastdp.channels import GeometricChannel, GridChannel, KRRChannel

    counts, matrix = np.array([50.0, 30.0, 15.0, 5.0]), np.full((4, 4), 0.1) + 0.6 * np.eye(4)
    channels: dict[str, Any] = {
        "k-RR": KRRChannel(4, 0.7, 0.1),
        "the geometric": GeometricChannel(4, 1.0),
        "a grid": GridChannel.laplace(1.0, (2, 2)),
        **{f"{kind} matrices": fd.Channel.from_matrix(matrix, kind) for kind in ("float64", "float32", "float16")},
    }
    for name, channel in channels.items():
        yield f"estimates of {name}", partial(fd.ibu, channel, counts)


def _places() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Points on the globe and in the plane, into the cells of a map."""
    from fastdp.locations import Grid

    grid = Grid.over(latitude=(48.8, 48.9), longitude=(2.2, 2.4), cell="1km")
    latitude, longitude, x, y = np.full(16, 48.85), np.full(16, 2.3), np.zeros(16), np.zeros(16)
    yield "counted", lambda: grid.count_latlon(latitude, longitude)
    yield "numbered", lambda: grid.count_cells(grid.cells(x, y))
    yield "within its bounds", lambda: grid.inside(x, y)


def _keyed(mechanism: Any, key: bytes) -> Callable[[], Any]:
    return lambda: mechanism.randomize(np.zeros(16, np.int64), persons=np.arange(16), key=key)
