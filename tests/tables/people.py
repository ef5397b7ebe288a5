"""A small table of people, and a plan for it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import fastdp as fd
from fastdp.plans.plan import Plan
from fastdp.tables.sanitizing.columns import Columns

COLUMNS = {
    "name": "drop",
    "region": "keep",
    "disease": {"mechanism": "krr", "epsilon": 1.5, "domain": ["cold", "flu", "none"]},
    "income": {"mechanism": "laplace", "epsilon": 1.0, "bounds": [0, 200_000]},
    "age": {"mechanism": "geometric", "epsilon": 0.5, "bounds": [0, 120], "unit": 5},
    "ill": {"mechanism": "randomized_response", "epsilon": 1.0, "nulls": "public"},
}

PLAN = """
[columns.name]
action = "drop"
[columns.region]
action = "keep"
[columns.disease]
mechanism = "krr"
epsilon = 1.5
domain = ["cold", "flu", "none"]
[columns.income]
mechanism = "laplace"
epsilon = 1.0
bounds = [0, 200000]
[columns.age]
mechanism = "geometric"
epsilon = 0.5
bounds = [0, 120]
unit = 5
[columns.ill]
mechanism = "randomized_response"
epsilon = 1.0
nulls = "public"
"""


def people(rows: int = 5_000) -> pa.Table:
    source = np.random.default_rng(1)
    return pa.table({
        "name": pa.array([f"person {i}" for i in range(rows)]),
        "region": pa.array(source.integers(0, 9, rows)).cast(pa.string()),
        "disease": pa.array(np.array(["cold", "flu", "none"])[source.integers(0, 3, rows)]),
        "income": pa.array(source.random(rows) * 1e5),
        "age": pa.array(source.integers(0, 120, rows).astype(np.int16)),
        "ill": pa.array(source.random(rows) < 0.3, mask=source.random(rows) < 0.1),
    })  # fmt: skip


def randomized(table: pa.Table, plan: Plan, rng: fd.Rng) -> pa.Table:
    """The columns as the plan says, with the noise of this stream itself, whatever else is in the table."""
    (batch,) = table.combine_chunks().to_batches()
    return pa.Table.from_batches([Columns(table.schema, plan).randomize(batch, rng, copy=True)])
