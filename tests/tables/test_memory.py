"""Memory is bounded by batches, not by a file or its row groups."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.patience import PATIENCE

GIGABYTES = 4
LIMIT = 600 << 20
CHUNK = 1 << 20

RUN = """
import json, sys
from fastdp.cli import main
try:
    main(sys.argv[1:])
except SystemExit as ended:
    status = dict(line.split(":", 1) for line in open("/proc/self/status"))
    print(json.dumps({"code": ended.code, "peak": int(status["VmHWM"].split()[0]) << 10}))
"""

PLAN = """
columns.region.action = "keep"
columns.name.action = "drop"
columns.disease = {mechanism = "krr", epsilon = 1.5, domain = ["cold", "flu", "none"]}
columns.income = {mechanism = "laplace", epsilon = 1.0, bounds = [0, 200000]}
columns.weight = {mechanism = "laplace", epsilon = 1.0, bounds = [0, 200]}
columns.height = {mechanism = "laplace", epsilon = 1.0, bounds = [0, 3]}
columns.savings.action = "keep"
columns.age = {mechanism = "geometric", epsilon = 0.5, bounds = [0, 120]}
"""


def write_one_row_group(path: Path, gigabytes: float) -> pa.Table:
    """The same million rows again and again, as one table that takes little memory and one row group on the disk."""
    source = np.random.default_rng(1)
    chunk = pa.table({
        "region": pa.array(source.integers(0, 9, CHUNK)),
        "name": pa.array(source.integers(10**9, 10**10, CHUNK)).cast(pa.string()),
        "disease": pa.array(np.array(["cold", "flu", "none"])[source.integers(0, 3, CHUNK)]),
        "income": source.random(CHUNK) * 1e5,
        "weight": source.random(CHUNK) * 100,
        "height": source.random(CHUNK) * 2,
        "savings": source.random(CHUNK) * 1e6,
        "age": source.integers(0, 120, CHUNK),
    })  # fmt: skip
    table = pa.concat_tables([chunk] * int(np.ceil(gigabytes * 2**30 / chunk.nbytes)))
    pq.write_table(table, path, row_group_size=table.num_rows, use_dictionary=["disease"])
    assert pq.read_metadata(path).num_row_groups == 1
    assert table.nbytes >= gigabytes * 2**30
    return table


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory cannot be read here")
@pytest.mark.parametrize(
    ("gigabytes", "output", "options"),
    [(GIGABYTES, "o.parquet", []), (1, "o.csv", []), (1, "o.parquet", ["--shuffle"]), (1, "o/", ["--shuffle"])],
)
def test_large_row_group__takes_bounded_memory(tmp_path, gigabytes, output, options):
    """Four gigabytes in one row group, within 600 MB."""
    rows = write_one_row_group(tmp_path / "in.parquet", gigabytes).num_rows
    (tmp_path / "plan.toml").write_text(PLAN)
    command = ["sanitize", str(tmp_path / "in.parquet"), "-p", str(tmp_path / "plan.toml"), *options]
    done = subprocess.run(
        [sys.executable, "-c", RUN, *command, "-o", f"{tmp_path}/{output}"], capture_output=True, timeout=PATIENCE
    )
    found = json.loads(done.stdout)
    assert found["code"] == 0, done.stderr
    assert f"{rows:,} records" in done.stderr.decode()
    print(f"peak {found['peak'] / 2**20:.0f} MiB for {rows:,} rows {options}")  # noqa: T201 - what the test is for
    assert found["peak"] <= LIMIT
