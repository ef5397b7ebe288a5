"""Rows in a random order: every order equally likely, whether or not they fit into memory."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from scipy.stats import chisquare, norm

import fastdp as fd
from fastdp.plans.plan import Plan
from fastdp.tables.sanitize import sanitize
from fastdp.tables.sanitizing import shuffle
from fastdp.tables.sanitizing.shuffle import Shuffler, random_order
from tests.tables.people import COLUMNS, people

ALPHA = 1e-3
PLAN = Plan(columns=COLUMNS)


def shuffled(rows: int, rng: fd.Rng, batch: int | None = None, memory: float = math.inf) -> np.ndarray:
    """The old places of rows in their new order."""
    shuffler = Shuffler(pa.schema([("row", pa.int64())]), rng, None, memory)
    for start in range(0, rows, batch or rows):
        places = np.arange(start, min(start + (batch or rows), rows))
        shuffler.add(pa.record_batch({"row": places}))
    found = [out.column(0).to_numpy() for out in shuffler.batches()]
    shuffler.close()
    return np.concatenate(found)


def orders_p(rng: fd.Rng, trials: int, memory: float) -> float:
    """Whether all orders of three rows are equally likely."""
    seen = dict.fromkeys(itertools.permutations(range(3)), 0)
    for _ in range(trials):
        seen[tuple(shuffled(3, rng, 2, memory).tolist())] += 1
    return float(chisquare(list(seen.values())).pvalue)


def ascents_p(order: np.ndarray) -> float:
    """Whether neighbours rise as often as they fall; ascents of n rows have mean (n-1)/2 and variance (n+1)/12."""
    z = (np.count_nonzero(np.diff(order) > 0) - (order.size - 1) / 2) / math.sqrt((order.size + 1) / 12)
    return float(2 * norm.sf(abs(z)))


def places_p(order: np.ndarray, cells: int = 20) -> float:
    """Whether rows go everywhere from everywhere."""
    old, new = order * cells // order.size, np.arange(order.size) * cells // order.size
    table = np.bincount(old * cells + new, minlength=cells * cells)
    return float(chisquare(table, np.full(cells**2, order.size / cells**2), ddof=2 * cells - 2).pvalue)


@pytest.fixture
def short_keys(monkeypatch):
    """Keys of two bits, so that most rows share theirs, and are split bit by bit."""
    monkeypatch.setattr(shuffle, "HALF_BITS", 1)
    monkeypatch.setattr(shuffle, "KEY_BITS", 2)
    monkeypatch.setattr(shuffle, "SPLIT_BITS", 1)


@pytest.mark.parametrize(("memory", "trials"), [(math.inf, 1500), (0, 400)])
def test_orders__are_equally_likely_with_ties(short_keys, memory, trials):
    assert orders_p(fd.Rng.unsafe_seed(1), trials, memory) > ALPHA


def test_orders__are_equally_likely():
    assert orders_p(fd.Rng.unsafe_seed(2), 3000, math.inf) > ALPHA


def test_orders__ties_left_as_they_are_would_be_seen(short_keys, monkeypatch):
    monkeypatch.setattr(shuffle, "random_order", lambda keys, _: np.argsort(keys, kind="stable"))
    assert orders_p(fd.Rng.unsafe_seed(1), 1500, math.inf) < ALPHA


@pytest.mark.parametrize(("rows", "memory"), [(50_000, math.inf), (50_000, 100_000), (200_000, 300_000)])
def test_many_rows__go_everywhere(rows, memory):
    order = shuffled(rows, fd.Rng.unsafe_seed(3), 7_001, memory)
    assert np.array_equal(np.sort(order), np.arange(rows))
    assert ascents_p(order) > ALPHA
    assert places_p(order) > ALPHA


@pytest.mark.parametrize("mutant", ["files not sorted", "first bits only in files", "few bits"])
def test_many_rows__poor_orders_would_be_seen(monkeypatch, mutant):
    if mutant == "files not sorted":
        monkeypatch.setattr(shuffle, "random_order", lambda keys, _: np.arange(keys.size))
        order = shuffled(50_000, fd.Rng.unsafe_seed(3), 7_001, 100_000)
    elif mutant == "first bits only in files":
        monkeypatch.setattr(shuffle, "random_order", lambda keys, _: np.argsort(keys >> 56, kind="stable"))
        order = shuffled(50_000, fd.Rng.unsafe_seed(3), 7_001)
    else:  # whole batches stay together
        blocks = np.random.default_rng(1).permutation(50)
        order = (blocks[:, None] * 1000 + np.arange(1000)).reshape(-1)
    assert min(ascents_p(order), places_p(order)) < ALPHA


def test_order__depends_on_the_key_alone():
    expected = shuffled(5000, fd.Rng.unsafe_seed(4))
    for batch, memory in ((1, math.inf), (77, 10_000), (5000, 20_000)):
        assert np.array_equal(shuffled(5000, fd.Rng.unsafe_seed(4), batch, memory), expected)


def test_ties__are_put_in_order_within_their_keys():
    keys = np.array([3, 1, 3, 1, 2])
    order = random_order(keys, fd.Rng.unsafe_seed(1))
    assert keys[order].tolist() == [1, 1, 2, 3, 3]
    assert sorted(order.tolist()) == [0, 1, 2, 3, 4]


def test_sanitize__releases_the_same_rows_in_another_order(tmp_path):
    plain = sanitize(people(), PLAN, rng=fd.Rng.unsafe_seed(5))
    result = sanitize(people(), PLAN, rng=fd.Rng.unsafe_seed(5), shuffle=True)
    assert not result.equals(plain)
    by_all = [(name, "ascending") for name in plain.column_names]
    assert result.sort_by(by_all).equals(plain.sort_by(by_all))


def test_sorted_columns__are_not_warned_of_when_shuffled():
    table = pa.table({"x": np.arange(1000.0)})
    sanitize(table, Plan(columns={"x": {"mechanism": "laplace", "epsilon": 1.0, "bounds": [0, 1]}}), shuffle=True)


def test_columns__may_have_any_name():
    table = pa.table({"key": ["a", "b"], "key_": ["c", "d"]})
    result = sanitize(table, Plan(columns={"key": "keep", "key_": "keep"}), shuffle=True)
    assert sorted(result.to_pydict()["key"]) == ["a", "b"]


KRR = {"mechanism": "krr", "epsilon": 1.0, "domain": ["a", "b"], "nulls": "public"}


@pytest.mark.parametrize("entry", ["keep", KRR])
@pytest.mark.parametrize(
    "kind",
    [
        pa.string_view(),
        pa.large_string(),
        pa.dictionary(pa.int8(), pa.string()),
        pa.run_end_encoded(pa.int32(), pa.string()),
    ],
)
def test_columns__may_have_any_encoding(tmp_path, monkeypatch, entry, kind):
    monkeypatch.setattr(shuffle, "MEMORY", 100)
    values = pa.array(["a", "b", None] * 20)
    values = values.cast(kind) if not pa.types.is_run_end_encoded(kind) else pc.run_end_encode(values)
    for output in (None, tmp_path / "o.arrow"):
        result = sanitize(pa.table({"x": values}), Plan(columns={"x": entry}), output, shuffle=True)
        table = result if output is None else pa.ipc.open_file(pa.OSFile(str(output))).read_all()
        assert (table.num_rows, table["x"].null_count) == (60, 20)
        assert set(table["x"].to_pylist()) == {"a", "b", None}


def test_spilled_rows__have_no_name_and_go_away(tmp_path, monkeypatch):
    """Temporary files cannot be found in the folder, not even while they are in use."""
    monkeypatch.setattr(shuffle, "MEMORY", 10_000)
    seen, spills = set(), []
    real = shuffle._Spill.write
    monkeypatch.setattr(shuffle._Spill, "write", lambda self, batch: (spills.append(batch), real(self, batch)))
    (tmp_path / "out").mkdir()
    note = lambda *_: seen.update(path.name for path in (tmp_path / "out").iterdir())  # noqa: E731
    sanitize(people(), PLAN, tmp_path / "out" / "o.parquet", shuffle=True, batch_rows=500, progress=note)
    assert spills
    assert all(name.startswith(".o.parquet") and name.endswith(".partial") for name in seen)
    assert pq.read_table(tmp_path / "out" / "o.parquet").num_rows == 5000


def test_full_disk__leaves_nothing(tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(shuffle, "MEMORY", 10_000)
    monkeypatch.setattr(shuffle._Spill, "write", fail)
    with pytest.raises(OSError, match="No space left"):
        sanitize(people(), PLAN, tmp_path / "o.parquet", shuffle=True, batch_rows=500)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("output", ["o.parquet", "o.arrow", "o.csv", "parts/"])
@pytest.mark.parametrize("shuffled", [False, True])
def test_receipts__say_whether_rows_are_shuffled(tmp_path, output, shuffled):
    """Beside the output and in it."""
    receipt = sanitize(people(50), PLAN, f"{tmp_path}/{output}", shuffle=shuffled)
    beside = json.loads((tmp_path / f"{output.rstrip('/')}.receipt.json").read_text())
    assert beside == receipt.to_dict()
    assert ("shuffled" in beside["order"]) == shuffled
    metadata = fd.sanitize(people(50), PLAN, shuffle=shuffled).schema.metadata
    if output.endswith(("parquet", "/")):
        path = tmp_path / output
        metadata = pq.read_metadata(path if path.is_file() else path / "part-00000.parquet").metadata
    elif output.endswith("arrow"):
        metadata = pa.ipc.open_file(pa.OSFile(f"{tmp_path}/{output}")).schema.metadata
    assert json.loads(metadata[b"fastdp.receipt"])["order"] == beside["order"]
