"""Jobs on files: a table sanitized from disk to disk, beside pyarrow's plain copy of the same file."""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import fastdp as fd
from benchmarks.job import Job
from benchmarks.laws import LAWS, p_value
from benchmarks.reports import share_p_value
from benchmarks.ways import Call, Way

if TYPE_CHECKING:
    import pyarrow as pa

REGIONS = tuple(f"region {number:02}" for number in range(20))
INCOME = {"mechanism": "laplace", "epsilon": 1.0, "bounds": [0, 200_000], "unit": 1000}
SCALE = 1000.0
"""The scale of the noise on incomes: their unit, at epsilon 1."""


@dataclass(frozen=True)
class Stored:
    """A table in memory, the file of it to read, and the name of the file to write."""

    table: pa.Table
    source: Path
    target: Path

    @property
    def nbytes(self) -> int:
        return self.source.stat().st_size


@functools.cache
def folder() -> Path:
    """A folder of this process's own, which goes away with it."""
    made = Path(tempfile.mkdtemp(prefix="fastdp-bench-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


@functools.lru_cache(maxsize=4)
def table_of(rows: int) -> pa.Table:
    """People: an age, an income, a region by name, a truth value, and a number that is kept."""
    import pyarrow as pa

    source = np.random.default_rng(2026)
    regions = pa.array(REGIONS)
    return pa.table(
        {
            "person": np.arange(rows),
            "age": source.integers(0, 100, rows),
            "income": np.round(source.gamma(2.0, 20_000.0, rows).clip(0, 200_000), 2),
            "region": regions.take(pa.array(source.integers(0, len(REGIONS), rows))),
            "smoker": source.random(rows) < 0.2,
        }
    )


@functools.lru_cache(maxsize=8)
def stored(ending: str, rows: int) -> Stored:
    """The table as a file, written by pyarrow as it does by default."""
    import pyarrow.csv
    import pyarrow.parquet

    found = Stored(table_of(rows), folder() / f"people-{rows}{ending}", folder() / f"private-{rows}{ending}")
    write = pyarrow.csv.write_csv if ending == ".csv" else pyarrow.parquet.write_table
    write(found.table, found.source)
    return found


@functools.cache
def plan() -> fd.Plan:
    return fd.Plan(
        columns={
            "person": "keep",
            "age": {"mechanism": "geometric", "epsilon": 0.5, "bounds": [0, 120], "unit": 1},
            "income": INCOME,
            "region": {"mechanism": "krr", "epsilon": 2.0, "domain": list(REGIONS)},
            "smoker": {"mechanism": "randomized_response", "epsilon": 1.0},
        }
    )


def fastdp_file(_job: Job, files: Stored) -> Call:
    """The file and its receipt, both on the disk for good, with all cores: what a person calls."""

    def call() -> Path:
        fd.set_threads(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
        fd.sanitize(files.source, plan(), files.target, force=True)
        return files.target

    return call


def copy_parquet(_job: Job, files: Stored) -> Call:
    """Batch by batch through pyarrow's reader and writer, as they come."""
    import pyarrow.parquet as pq

    target = files.target.with_suffix(".copy")

    def call() -> Path:
        with pq.ParquetFile(files.source) as source, pq.ParquetWriter(target, source.schema_arrow) as sink:
            for batch in source.iter_batches():
                sink.write_batch(batch)
        return target

    return call


def copy_csv(_job: Job, files: Stored) -> Call:
    """Block by block through pyarrow's reader and writer, as they come."""
    import pyarrow.csv

    target = files.target.with_suffix(".copy")

    def call() -> Path:
        with (
            pyarrow.csv.open_csv(files.source) as source,
            pyarrow.csv.CSVWriter(target, source.schema) as sink,
        ):
            for batch in source:
                sink.write_batch(batch)
        return target

    return call


def _read(path: Path, ending: str) -> pa.Table:
    import pyarrow.csv
    import pyarrow.parquet

    return pyarrow.csv.read_csv(path) if ending == ".csv" else pyarrow.parquet.read_table(path)


def judge_people(job: Job, written: Path, files: Stored) -> float:
    """What is kept is the same; incomes have their noise where no bound cuts it; reports are true as often as due."""
    private, table, rules = _read(written, job.dtype), files.table, plan().columns
    if not private["person"].equals(table["person"]):
        return 0.0
    before, after = (found["income"].to_numpy() for found in (table, private))
    inner = np.abs(before - 100_000) < 100_000 - 12 * SCALE
    found = [p_value(LAWS["laplace"](SCALE), np.clip(after - before, -12 * SCALE, 12 * SCALE)[inner])]
    for name in ("region", "smoker"):
        same = _numbers(private[name]) == _numbers(table[name])
        found.append(share_p_value(same, rules[name].mechanism.p))
    return min(1.0, len(found) * min(found))


def judge_copy(job: Job, written: Path, files: Stored) -> float:
    return float(_read(written, job.dtype).equals(_read(files.source, job.dtype)))


def _numbers(column: Any) -> np.ndarray:
    import pyarrow as pa

    if pa.types.is_boolean(column.type):
        return column.to_numpy()
    return column.cast(pa.string()).to_numpy(zero_copy_only=False).astype(str)


def _job(name: str, ending: str, what: str, size: int) -> Job:
    return Job(
        name, "files", name, ending, f"{what}, five columns, from disk to disk", plan, unit="rows", size=size,
        make=functools.partial(stored, ending), judge=judge_people, limit="pyarrow", threads=2, random=6 + 2 + 2 + 1.1,
        traffic=lambda _job, rows: (stored(ending, rows).nbytes, stored(ending, rows).nbytes, 1),
    )  # fmt: skip


JOBS = (
    _job("sanitize-parquet", ".parquet", "a Parquet file", 2_000_000),
    _job("sanitize-csv", ".csv", "a CSV file", 1_000_000),
)
FASTDP = dict.fromkeys((job.kind for job in JOBS), Way(fastdp_file))
PYARROW = {
    "sanitize-parquet": Way(copy_parquet, judge=judge_copy),
    "sanitize-csv": Way(copy_csv, judge=judge_copy),
}
