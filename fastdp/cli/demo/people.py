"""A table of people who do not exist, written to a file batch by batch, and a plan for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa

BATCH = 1 << 19
REGIONS = ("east", "north", "south", "west")
DISEASES = ("asthma", "cold", "diabetes", "flu", "none")
SHARES = (0.06, 0.12, 0.08, 0.04, 0.70)
SMOKERS = 0.22
INCOMES, AGES, WEIGHTS = (0, 200_000), (0, 120), (30, 180)
SEED = 2026

PLAN = f"""\
[columns.person]
action = "drop"

[columns.region]
action = "keep"          # declared public

[columns.age]
mechanism = "geometric"
epsilon = 0.5
bounds = [{AGES[0]}, {AGES[1]}]
unit = 5                 # metric privacy: epsilon per 5 years of distance

[columns.income]
mechanism = "laplace"
epsilon = 1.0
bounds = [{INCOMES[0]}, {INCOMES[1]}]    # the record itself is hidden: sensitivity is the width

[columns.weight]
mechanism = "square_wave"
epsilon = 1.0
bounds = [{WEIGHTS[0]}, {WEIGHTS[1]}]
bins = 10

[columns.disease]
mechanism = "krr"
epsilon = 1.5
domain = {list(DISEASES)}

[columns.smoker]
mechanism = "randomized_response"
epsilon = 1.0
"""


@dataclass(slots=True)
class Truth:
    """What is true of a table, or seen in a sanitized one: sums and counts of its batches."""

    rows: int = 0
    sums: dict[str, float] = field(default_factory=dict)
    counts: dict[tuple[str, Any], int] = field(default_factory=dict)
    ages: np.ndarray = field(default_factory=lambda: np.zeros(AGES[1] + 1, np.int64))

    def add(self, batch: pa.RecordBatch) -> None:
        import pyarrow.compute as pc

        self.rows += batch.num_rows
        for name in ("age", "income", "weight"):
            self.sums[name] = self.sums.get(name, 0.0) + float(pc.sum(batch.column(name)).as_py())
        ages = np.clip(batch.column("age").to_numpy(zero_copy_only=False), *AGES).astype(np.int64)
        self.ages += np.bincount(ages, minlength=self.ages.size)
        for name in ("disease", "smoker"):
            for row in pc.value_counts(batch.column(name)).to_pylist():
                key = name, row["values"]
                self.counts[key] = self.counts.get(key, 0) + row["counts"]

    def mean(self, column: str) -> float:
        return self.sums[column] / self.rows

    @property
    def median_age(self) -> int:
        return int(np.searchsorted(np.cumsum(self.ages), self.rows / 2))

    def share(self, column: str, value: str | bool) -> float:
        return self.counts.get((column, value), 0) / self.rows


def batches(rows: int) -> Iterator[pa.RecordBatch]:
    """The same people every time."""
    import pyarrow as pa

    source = np.random.default_rng(SEED)
    regions, diseases = pa.array(REGIONS), pa.array(DISEASES)
    edges = np.cumsum(SHARES)[:-1].astype(np.float32)
    for start in range(0, rows, BATCH):
        count = min(BATCH, rows - start)
        codes = np.searchsorted(edges, source.random(count, np.float32), "right").astype(np.int8)
        weights = source.standard_normal(count, np.float32) * np.float32(14) + np.float32(76)
        yield pa.record_batch({
            "person": np.arange(start, start + count),
            "region": pa.DictionaryArray.from_arrays(pa.array(source.integers(0, 4, count, np.int8)), regions),
            "age": np.minimum(source.gamma(4.0, 10.5, count), AGES[1]).astype(np.int16),
            "income": np.minimum(source.standard_exponential(count) * 30_000 + 8_000, INCOMES[1]),
            "weight": np.clip(weights, *WEIGHTS).astype(np.float64),
            "disease": pa.DictionaryArray.from_arrays(pa.array(codes), diseases),
            "smoker": source.random(count, np.float32) < SMOKERS,
        })  # fmt: skip


def write_people(file: IO[bytes], rows: int, truth: Truth, progress: Callable[[int, int | None], None] | None) -> None:
    """Write the table, and add to ``truth`` what is true of it."""
    import pyarrow.parquet as pq

    schema = next(batches(1)).schema
    with pq.ParquetWriter(file, schema, use_dictionary=["region", "disease"]) as writer:
        for batch in batches(rows):
            truth.add(batch)
            writer.write_batch(batch)
            if progress is not None:
                progress(truth.rows, rows)


def look_at(path: Path) -> Truth:
    """What a sanitized table seems to say, taken at its word."""
    import pyarrow.parquet as pq

    seen = Truth()
    for batch in pq.ParquetFile(path).iter_batches(BATCH, columns=["age", "income", "weight", "disease", "smoker"]):
        seen.add(batch)
    return seen
