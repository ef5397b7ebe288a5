"""Jobs on files: a table sanitized from disk to disk, beside pyarrow's plain copy of the same file."""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import fastdp as fd
from benchmarks.jobs.job import Job
from benchmarks.jobs.laws import LAWS, p_value
from benchmarks.jobs.reports import share_p_value
from benchmarks.rivals.ways import Call, Way

if TYPE_CHECKING:
    import pyarrow as pa

DISEASES = tuple(f"disease {number:02}" for number in range(20))
REGIONS = tuple(f"region {number:03}" for number in range(100))
NOISED = {"income": (0.0, 200_000.0, 1000.0), "weight": (0.0, 200.0, 1.0)}
"""Columns with Laplace noise: their bounds, and the unit that is its scale at epsilon 1."""
BATCH = 400_000
"""Rows that the plain copy reads at once: about as many as a job of ours."""


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
    """People in six columns: two of numbers and one of labels to sanitize, three that are kept."""
    import pyarrow as pa

    source = np.random.default_rng(2026)

    def labels(names: tuple[str, ...]) -> pa.Array:
        return pa.array(names).take(pa.array(source.integers(0, len(names), rows)))

    return pa.table(
        {
            "person": np.arange(rows),
            "income": np.round(source.gamma(2.0, 20_000.0, rows).clip(0, 200_000), 2),
            "weight": np.round(source.normal(75, 12, rows).clip(0, 200), 1),
            "disease": labels(DISEASES),
            "region": labels(REGIONS),
            "year": source.integers(1930, 2010, rows).astype(np.int16),
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
    noised = {
        name: {"mechanism": "laplace", "epsilon": 1.0, "bounds": [low, high], "unit": unit}
        for name, (low, high, unit) in NOISED.items()
    }
    disease = {"mechanism": "krr", "epsilon": 2.0, "domain": list(DISEASES)}
    return fd.Plan(columns={**dict.fromkeys(("person", "region", "year"), "keep"), **noised, "disease": disease})


def fastdp_file(_job: Job, files: Stored) -> Call:
    """The file and its receipt, both on the disk for good, with all cores: what a person calls."""

    def call() -> Path:
        fd.set_threads(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
        fd.sanitize(files.source, plan(), files.target, force=True)
        return files.target

    return call


def copy_parquet(_job: Job, files: Stored) -> Call:
    """Batch by batch through pyarrow's reader and writer, with the settings that sanitized files are written with."""
    import pyarrow.parquet as pq

    target = files.target.with_suffix(".copy")
    encoded = [name for name in files.table.column_names if name not in NOISED]

    def call() -> Path:
        with (
            pq.ParquetFile(files.source, page_checksum_verification=True) as source,
            pq.ParquetWriter(target, source.schema_arrow, use_dictionary=encoded, write_page_checksum=True) as sink,
        ):
            for batch in source.iter_batches(batch_size=BATCH):
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
    """What is kept is the same; numbers have their noise where no bound cuts it; labels are true as often as due."""
    import pyarrow.compute as pc

    private, table = _read(written, job.dtype), files.table
    if not all(private[name].cast(table[name].type).equals(table[name]) for name in ("person", "region", "year")):
        return 0.0
    found = []
    for name, (low, high, unit) in NOISED.items():
        before, after = (part[name].to_numpy() for part in (table, private))
        inner = (before > low + 12 * unit) & (before < high - 12 * unit)
        found.append(p_value(LAWS["laplace"](unit), np.clip(after - before, -12 * unit, 12 * unit)[inner]))
    same = pc.equal(private["disease"], table["disease"]).to_numpy()
    found.append(share_p_value(same, plan().columns["disease"].mechanism.p))
    return min(1.0, len(found) * min(found))


def judge_copy(job: Job, written: Path, files: Stored) -> float:
    return float(_read(written, job.dtype).equals(_read(files.source, job.dtype)))


def _job(name: str, ending: str, what: str, size: int) -> Job:
    return Job(
        name, "files", name, ending, f"{what}, three of six columns, from disk to disk", plan, unit="rows", size=size,
        make=functools.partial(stored, ending), judge=judge_people, limit="pyarrow", threads=2, random=8 + 8 + 2,
        traffic=lambda _job, rows: (stored(ending, rows).nbytes, stored(ending, rows).nbytes, 1),
    )  # fmt: skip


JOBS = (
    _job("sanitize-parquet", ".parquet", "a Parquet file", 10_000_000),
    _job("sanitize-csv", ".csv", "a CSV file", 2_000_000),
)
FASTDP = dict.fromkeys((job.kind for job in JOBS), Way(fastdp_file))
PYARROW = {
    "sanitize-parquet": Way(copy_parquet, judge=judge_copy),
    "sanitize-csv": Way(copy_csv, judge=judge_copy),
}
