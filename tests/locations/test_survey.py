"""From a file of places to maps: what is counted, what is told, what streams."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastdp as fd
from fastdp.errors import DomainError, FastDPError, NotIdentifiableError, ParameterError, SchemaError
from fastdp.locations import Grid, clustered_checkins
from fastdp.locations.survey import survey
from fastdp.plane import Plane

GRID = Grid.over(latitude=(48.85, 48.88), longitude=(2.32, 2.36), cell=300)
EPSILON = math.log(2) / 150


def places(n=4000, seed=1):
    x, y = clustered_checkins(GRID, n, seed=seed)
    latitude, longitude = Plane("test", *GRID.origin).unproject(x, y)
    return pa.table({"latitude": latitude, "longitude": longitude, "secret": np.arange(n)})


@pytest.mark.parametrize("mechanism", ["planar", "grid"])
def test_survey__with_the_truth(mechanism):
    table = places()
    found = survey(
        table, GRID, epsilon=EPSILON, mechanism=mechanism, truth=True, max_iterations=50, rng=fd.Rng.unsafe_seed(2)
    )
    assert found.n == found.counts.sum() == 4000
    assert list(found.maps) == ["original", "noisy", "inversion", "ibu", "restored"]
    assert all(cells.sum() == pytest.approx(1) for cells in found.maps.values())
    assert np.array_equal(found.maps["original"], GRID.count_latlon(table["latitude"], table["longitude"]) / 4000)
    assert found.errors["restored"].total_variation < found.errors["noisy"].total_variation
    assert found.errors["restored"].wasserstein < found.errors["noisy"].wasserstein
    assert not found.is_private
    assert found.curve.basis == "original"
    restored = [point.restored.total_variation for point in found.curve.points]
    assert restored[0] > restored[-1]
    assert [point.epsilon / EPSILON for point in found.curve.points] == [0.25, 0.5, 1, 2, 4]


def test_survey__without_the_truth_is_a_function_of_the_reports():
    """Nothing of the places but their reports is in it: no original, no errors, a curve from the restored map."""
    found = survey(places(), GRID, epsilon=EPSILON, max_iterations=20)
    assert "original" not in found.maps
    assert not found.errors
    assert found.curve.basis == "restored"
    assert found.is_private
    seeded = survey(places(), GRID, epsilon=EPSILON, max_iterations=20, curve=False, rng=fd.Rng.unsafe_seed(3))
    assert not seeded.is_private


def test_survey__is_the_same_for_any_file_and_batch(tmp_path):
    table = places()
    pq.write_table(table, tmp_path / "places.parquet", row_group_size=700)
    lines = [f"{a!r},{b!r}" for a, b in zip(*(table[k].to_pylist() for k in ("latitude", "longitude")), strict=True)]
    (tmp_path / "places.csv").write_text("latitude,longitude\n" + "\n".join(lines) + "\n")
    batches = pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=333))
    counts = [
        survey(one, GRID, epsilon=EPSILON, max_iterations=2, curve=False, rng=fd.Rng.unsafe_seed(5)).counts
        for one in (table, batches, tmp_path / "places.parquet", tmp_path / "places.csv")
    ]
    assert all(np.array_equal(counts[0], other) for other in counts[1:])


def test_survey__of_places_outside():
    """Clamped, they are on the border; dropped, they are not there."""
    far = pa.table({"latitude": [48.865, 48.95, 48.70], "longitude": [2.34, 2.34, 2.30]})
    options = {"epsilon": EPSILON, "max_iterations": 2, "curve": False, "truth": True}
    clamped = survey(far, GRID, **options)
    dropped = survey(far, GRID, **options, outside="drop")
    assert (clamped.n, dropped.n) == (3, 1)
    border = clamped.maps["original"].sum() - clamped.maps["original"][1:-1, 1:-1].sum()
    assert border == pytest.approx(2 / 3)


def test_survey__on_the_plane():
    grid = Grid(x=(0, 3000), y=(0, 3000), cell=300)
    x, y = clustered_checkins(grid, 2000, seed=4)
    found = survey(
        pa.table({"east": x, "north": y}), grid, epsilon=0.01, columns=("east", "north"), max_iterations=5, curve=False
    )
    assert found.n == 2000


def test_survey__says_where_there_is_no_inversion(monkeypatch):
    """A channel that cannot be undone: the rest goes on."""

    def refuse(*_arguments, **_options):
        raise NotIdentifiableError("invert: the channel is singular")

    with monkeypatch.context() as patched:
        patched.setattr("fastdp.locations.heat.invert", refuse)
        found = survey(places(200), GRID, epsilon=EPSILON, max_iterations=2, curve=False)
    assert "inversion" not in found.maps
    assert "restored" in found.maps
    assert "too wide" in found.methods["inversion"]


def test_survey__inverts_large_maps():
    fine = Grid.over(latitude=(48.85, 48.88), longitude=(2.32, 2.36), cell=40)
    found = survey(places(200), fine, epsilon=0.02, max_iterations=2, curve=False)
    assert fine.size > 4096
    assert found.maps["inversion"].sum() == pytest.approx(1)
    assert (found.maps["inversion"] >= 0).all()


@pytest.mark.parametrize(
    ("table", "error"),
    [
        (pa.table({"latitude": [1.0]}), SchemaError),
        (pa.table({"latitude": ["48.123456"], "longitude": [2.0]}), SchemaError),
        (pa.table({"latitude": [48.123456, None], "longitude": [2.0, 2.0]}), DomainError),
        (pa.table({"latitude": [948.123456], "longitude": [2.0]}), DomainError),
        (pa.table({"latitude": [math.nan], "longitude": [2.0]}), DomainError),
        (pa.table({"latitude": pa.array([], pa.float64()), "longitude": pa.array([], pa.float64())}), DomainError),
    ],
)
def test_survey__names_the_column_and_no_value(table, error):
    with pytest.raises(error, match="survey: ") as caught:
        survey(table, GRID, epsilon=EPSILON)
    assert "48.12" not in str(caught.value)


def test_survey__speaks_for_itself_of_what_it_cannot_read():
    with pytest.raises(FastDPError, match="^survey: (?!.*sanitize)"):
        survey([1.0, 2.0], GRID, epsilon=EPSILON)


def test_survey__leaves_out_what_is_on_the_other_side_of_the_globe():
    """Asked to; else it says how to ask, for there is no border nearest to it."""
    table = pa.table({"latitude": [48.86, -40.0, 48.87], "longitude": [2.34, -175.0, 2.33]})
    assert survey(table, GRID, epsilon=EPSILON, outside="drop", max_iterations=2, curve=False).n == 2
    with pytest.raises(DomainError, match="'latitude' and 'longitude'.*drop"):
        survey(table, GRID, epsilon=EPSILON)


@pytest.mark.parametrize("outside", ["clamp", "drop"])
def test_survey__refuses_nan_on_the_plane(outside):
    table = pa.table({"x": [1.0, math.nan], "y": [5.0, 7.0]})
    with pytest.raises(DomainError, match="survey: columns 'x' and 'y': .*NaN"):
        survey(table, Grid(x=(0, 100), y=(0, 100), cell=20), epsilon=0.1, columns=("x", "y"), outside=outside)


@pytest.mark.parametrize("cell", [0.5, 2.5, 40.0])
def test_survey__rounds_finely_enough_for_its_cells(cell):
    """Uniform points and small cells: reports are as the channel says, and the restored map is nearly flat."""
    side = 12 * cell
    grid, source = Grid(x=(0, side), y=(0, side), cell=cell), np.random.default_rng(3)
    table = pa.table({"x": source.uniform(0, side, 100_000), "y": source.uniform(0, side, 100_000)})
    given = {"columns": ("x", "y"), "max_iterations": 5, "truth": True, "curve": False, "rng": fd.Rng.unsafe_seed(4)}
    found = survey(table, grid, epsilon=1 / (3 * cell), **given)
    assert found.errors["restored"].total_variation < 0.05


@pytest.mark.parametrize(
    "wrong",
    [
        {"truth": "no"},
        {"epsilon": 0},
        {"mechanism": "krr"},
        {"outside": "keep"},
        {"max_iterations": 0},
        {"columns": ("a", "a")},
    ],
)
def test_survey__refuses(wrong):
    with pytest.raises(ParameterError):
        survey(places(10), GRID, **{"epsilon": EPSILON, **wrong})


@pytest.mark.slow
def test_survey__of_many_places_takes_little_memory(tmp_path):
    """Three million places: what is held at a time does not grow with them."""
    path = tmp_path / "many.parquet"
    with pq.ParquetWriter(path, places(1).drop(["secret"]).schema) as writer:
        for part in range(30):
            writer.write_table(places(100_000, seed=part).drop(["secret"]))
    tracemalloc.start()
    found = survey(path, GRID, epsilon=EPSILON, max_iterations=5, curve=False)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.n == 3_000_000
    assert peak < 100e6
