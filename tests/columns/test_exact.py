"""Integers beyond 2**53 never become floats unnoticed: rounded, two values 1 apart would be 2 apart."""

from __future__ import annotations

import array
import collections

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import fastdp as fd
from fastdp.tables.sanitize import sanitize

BEYOND = 2**53 + 1
EXACT = 2**53
Pair = collections.namedtuple("Pair", "x y")  # noqa: PYI024 - what is tested is the plain one

WAYS = {
    "nested list": lambda x: [[x, 0.5]],
    "numpy integers in a list": lambda x: [np.int64(x), 0.5],
    "numpy unsigned integers in a tuple": lambda x: (np.uint64(x), 0.5),
    "negative": lambda x: [0.5, -x],
    "deep": lambda x: [[[0.5], [1.0]], [[2.0], [np.int64(x)]]],
    "tuple in a list": lambda x: [(x, 0.5), (1, 2.0)],
    "named tuple": lambda x: Pair(x, 0.5),
    "arrays in a list": lambda x: [np.array([x, 1]), np.array([0.5, 1.0])],
    "zero-dimensional arrays": lambda x: [np.array(x), 0.5],
    "mixed signs without a common integer type": lambda x: [np.uint64(2**63 + x % 2), np.int64(-1)],
    "python integers without a common type": lambda x: [2**63 + x % 2, -1],
    "alone": lambda x: x,
    "numpy alone": np.uint64,
    "int64 array": lambda x: np.array([x, 1]),
    "uint64 array": lambda x: np.array([x, 1], np.uint64),
    "big-endian array": lambda x: np.array([x, 1], ">i8"),
    "strided array": lambda x: np.array([[x, 1], [2, 3]])[:, ::-1],
    "arrow": lambda x: pa.array([x, 1]),
    "arrow unsigned": lambda x: pa.array([x, 1], pa.uint64()),
    "arrow chunks": lambda x: pa.chunked_array([[1, 2], [x]]),
    "arrow dictionary": lambda x: pa.array([x, 1, x]).dictionary_encode(),
    "pandas": lambda x: pd.Series([x, 1]),
    "pandas nullable": lambda x: pd.Series([x, 1], dtype="Int64"),
    "pandas arrow": lambda x: pd.Series([x, 1], dtype="int64[pyarrow]"),
    "polars": lambda x: pl.Series([x, 1]),
    "table of one column": lambda x: pa.table({"x": [x, 1]}),
}
"""Ways to give an integer to a mechanism on floats; they are taken as long as it is exact."""

NEVER = {
    "object array": lambda x: np.array([x, 0.5], object),
    "objects in pandas": lambda x: pd.Series([x, 0.5], dtype=object),
    "objects in polars": lambda x: pl.Series([x, 0.5], dtype=pl.Object),
    "array module in a list": lambda x: [array.array("q", [x, 1]), [0.5, 1.0]],
    "arrow in a list": lambda x: [pa.array([x, 1]), [0.5, 1.0]],
    "series in a list": lambda x: [pd.Series([x, 1]), [0.5, 1.0]],
    "truth values in a nested list": lambda x: [[True, 0.5]],
    "numpy truth values": lambda x: [np.bool_(True), 0.5],
    "truth arrays": lambda x: [np.array([True, False]), np.array([0.5, 1.0])],
}
"""Ways that are refused whatever the integer is: what was in them before is not known."""

FLOATS = [
    fd.Laplace(epsilon=1.0, sensitivity=1.0),
    fd.Gaussian(rho=0.5, sensitivity=1.0),
    fd.Staircase(epsilon=1.0, sensitivity=1.0),
    fd.Laplace(epsilon=1.0, sensitivity=1.0, bounds=(-1e18, 1e18), granularity=2048.0),
]
each_float = pytest.mark.parametrize("mechanism", FLOATS, ids=lambda one: type(one).__name__)


@each_float
@pytest.mark.parametrize("way", WAYS)
def test_floats__refuse_integers_that_have_no_exact_float(mechanism, way):
    """One unit beyond is refused; 2**53 itself is taken where all values have a common type."""
    with pytest.raises(fd.DomainError, match="2\\*\\*53") as caught:
        mechanism.randomize(WAYS[way](BEYOND))
    assert str(BEYOND) not in str(caught.value)
    if "common" not in way:
        mechanism.randomize(WAYS[way](EXACT))


@pytest.mark.parametrize("way", NEVER)
def test_floats__refuse_containers_that_may_have_been_rounded(way):
    for value in (3, BEYOND):
        with pytest.raises(fd.SchemaError):
            FLOATS[0].randomize(NEVER[way](value))


@pytest.mark.parametrize("way", WAYS)
def test_points__refuse_integers_that_have_no_exact_float(way):
    """In either coordinate, in both kinds of noise on points, and in trajectories."""
    planar = fd.PlanarLaplace(epsilon=1.0, unit="km")
    given = WAYS[way](BEYOND)
    size = int(np.size(given)) if not isinstance(given, pa.Table | pa.ChunkedArray) else len(given)
    for call in (
        lambda: planar.randomize(given, given),
        lambda: fd.MemoizedTrajectory(mechanism=planar).randomize(np.arange(size), np.arange(size), given, given),
        lambda: fd.GlobeLaplace(epsilon=1.0, unit="km").randomize(given, given),
    ):
        with pytest.raises(fd.DomainError, match="2\\*\\*53"):
            call()


def test_points__refuse_integers_beside_public_nulls():
    """Where a null is filled with a float, the others must not be rounded on the way."""
    columns = pa.array([BEYOND, None]), pa.array([1, None])
    mechanism = fd.PlanarLaplace(epsilon=1.0, unit="km", origin=(48.0, 2.0))
    with pytest.raises(fd.DomainError, match="2\\*\\*53"):
        mechanism.randomize_latlon(*columns, nulls="public")


def test_grids__refuse_integers_that_have_no_exact_float():
    from fastdp.locations.grid import Grid

    grid = Grid(x=(0, 10), y=(0, 10), cell=1.0, unit="km")
    with pytest.raises(fd.DomainError, match="2\\*\\*53"):
        grid.count(np.array([BEYOND, 1]), np.array([1, 2]))


def test_times__are_never_rounded_out_of_order():
    planar = fd.PlanarLaplace(epsilon=1.0, unit="km")
    with pytest.raises(fd.DomainError, match="2\\*\\*53"):
        fd.MemoizedTrajectory(mechanism=planar).randomize([1, 1], [BEYOND, 0.5], [0.0, 1.0], [0.0, 1.0])


def test_tables__refuse_integers_beside_floats():
    """A list of both, of Python's and of numpy's, in a dict of columns; a column of integers for floats."""
    plan = fd.Plan(columns={"x": {"mechanism": "laplace", "epsilon": 1.0, "unit": 1}})
    for values in ([BEYOND, 0.5], [np.int64(BEYOND), 0.5], (np.uint64(BEYOND), 0.5), np.array([BEYOND, 0.5], object)):
        with pytest.raises(fd.SchemaError):
            sanitize({"x": values}, plan)
    for values in (np.array([BEYOND]), pa.array([BEYOND]), pd.Series([BEYOND]), pl.Series([BEYOND]), [BEYOND]):
        with pytest.raises(fd.DomainError, match="2\\*\\*53"):
            sanitize({"x": values}, plan)


@pytest.mark.parametrize("text", [str(BEYOND), f"-{BEYOND}", f"{BEYOND}.0", "1e17"])
def test_csv__refuses_text_beyond_floats_where_no_bounds_clamp_it(tmp_path, text):
    (tmp_path / "in.csv").write_text(f"x\n1\n{text}\n")
    entry = {"mechanism": "laplace", "epsilon": 1.0, "unit": 1}
    with pytest.raises(fd.DomainError, match="2\\*\\*53") as caught:
        sanitize(tmp_path / "in.csv", fd.Plan(columns={"x": entry}), tmp_path / "out.csv")
    assert text.strip("-") not in str(caught.value)
    assert not (tmp_path / "out.csv").exists()
    sanitize(tmp_path / "in.csv", fd.Plan(columns={"x": entry | {"bounds": [0, 100]}}), tmp_path / "out.csv")


def test_csv__refuses_text_beyond_floats_in_points(tmp_path):
    (tmp_path / "in.csv").write_text(f"x,y\n1,2\n{BEYOND},3\n")
    group = {"columns": ["x", "y"], "mechanism": "planar_laplace", "epsilon": 1.0, "unit": "km"}
    with pytest.raises(fd.DomainError, match="2\\*\\*53"):
        sanitize(tmp_path / "in.csv", fd.Plan(groups=[group]), tmp_path / "out.csv")


def test_parameters__are_never_rounded():
    """A sensitivity that float64 would make smaller is refused, alone and per record."""
    with pytest.raises(fd.ParameterError, match="exact"):
        fd.Laplace(epsilon=1.0, sensitivity=BEYOND)
    with pytest.raises(fd.ParameterError, match="exact"):
        fd.Laplace(epsilon=1.0, sensitivity=[BEYOND, 1])
    with pytest.raises(fd.ParameterError, match="exact"):
        fd.Geometric(epsilon=1.0, sensitivity=[BEYOND, 1])


def test_integers__are_taken_whole_by_mechanisms_on_integers():
    """The same noise on values 1 apart gives results 1 apart, whatever the container."""
    mechanism = fd.Geometric(epsilon=1.0, sensitivity=1)
    for way in ("nested integers", "numpy integers"):
        make = (lambda x: [[x, 7]]) if way == "nested integers" else (lambda x: [np.int64(x), 7])
        first, second = (np.ravel(mechanism.randomize(make(BEYOND + k), rng=fd.Rng.unsafe_seed(1)))[0] for k in (0, 1))
        assert second - first == 1
