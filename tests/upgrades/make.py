"""``python -m tests.upgrades.make``: write the files of this version, once, at its release; they never change again."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import fastdp as fd

HERE = Path(__file__).parent
PLAN = """
[columns]
name = "drop"
region = "keep"

[columns.disease]
mechanism = "krr"
epsilon = 2.0
domain = ["cold", "flu", "none"]

[columns.answer]
mechanism = "hadamard"
epsilon = 1.0
domain = ["a", "b", "c"]

[columns.age]
mechanism = "geometric"
epsilon = 1.0
bounds = [0, 100]

[columns.income]
mechanism = "laplace"
epsilon = 1.0
bounds = [0, 1000]
"""
RELEASE = """
[budget]
epsilon = 1.0

[[queries]]
name = "all"
answers = ["count"]
"""
MECHANISMS = [
    fd.KRR(epsilon=1.0, domain=["a", "b"]), fd.Laplace(epsilon=1.0, sensitivity=2.0), fd.Geometric(epsilon=0.5),
    fd.Gaussian(epsilon=1.0, delta=1e-6, sensitivity=1.0), fd.UnaryEncoding(epsilon=1.0, domain=4),
    fd.PlanarLaplace(epsilon=0.7, unit="km"), fd.GridLaplace(epsilon=0.9, shape=(4, 4)),
]  # fmt: skip


def table() -> pa.Table:
    """Two hundred made-up patients."""
    i = np.arange(200)
    return pa.table(
        {
            "name": [f"p{n}" for n in i],
            "region": [f"r{n % 3}" for n in i],
            "disease": [("cold", "flu", "none")[n % 3] for n in i],
            "answer": [("a", "b", "c")[n % 3] for n in i],
            "age": i % 100,
            "income": (i * 7 % 1000).astype(np.float64),
        }
    )


def main() -> None:
    folder = HERE / fd.__version__
    folder.mkdir()
    (folder / "plan.toml").write_text(PLAN.lstrip())
    (folder / "release.toml").write_text(RELEASE.lstrip())
    plan = fd.Plan.load(folder / "plan.toml")
    ledger = fd.Ledger.create(folder / "people.ledger", epsilon=20.0, name="people")
    with ledger.spend(fd.Geometric(epsilon=0.5).privacy.for_replacement(), name="a count"):
        pass
    source = folder / "in.parquet"
    pq.write_table(table(), source)
    for ending in ("parquet", "arrow", "csv"):
        target = folder / f"private.{ending}"
        fd.sanitize(source, plan, output=target, ledger=ledger, rng=fd.Rng.unsafe_seed(5))
    source.unlink()
    shares = fd.estimate_table(folder / "private.parquet")["disease"]
    expected = {
        "epsilon": plan.privacy.record.epsilon,
        "entries": 4,
        "spent": ledger.spent.amount,
        "disease": {line.value: line.estimate for line in shares.lines},
        "mechanisms": [one.to_dict() for one in MECHANISMS],
        "guarantees": [one.privacy.epsilon for one in MECHANISMS],
    }
    (folder / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")


if __name__ == "__main__":
    main()
