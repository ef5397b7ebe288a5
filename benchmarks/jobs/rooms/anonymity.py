"""The jobs of anonymity: classes, every model, the best generalization and Mondrian, each with named rivals."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from benchmarks.jobs.job import Job
from benchmarks.rivals.ways import Call, Way

SMALL = (100, 2, 20, 16, 7)
LARGE = (30_000, 36_500, 2, 16, 7)
NAMES = tuple("abcde")
VALUES = 12
K = 10


@functools.lru_cache(maxsize=4)
def table(size: int, space: tuple[int, ...]) -> dict[str, np.ndarray]:
    """Five quasi-identifiers in the smallest types, and a sensitive column of twelve values."""
    source = np.random.default_rng(2026)
    columns = []
    for values in space:
        if values > 1000:
            drawn = np.minimum(source.pareto(1.2, size) * 500, values - 1) if values == 30_000 else None
            codes = source.integers(0, values, size) if drawn is None else drawn
        else:
            codes = source.binomial(values - 1, 0.4, size)
        columns.append(codes.astype(np.uint8 if values <= 256 else np.uint16))
    made = {**dict(zip(NAMES, columns, strict=True)), "s": source.integers(0, VALUES, size).astype(np.uint8)}
    for column in made.values():
        column.flags.writeable = False
    return made


def smallest(found: dict[str, np.ndarray]) -> tuple[int, int, int]:
    """k, the number of classes and the sum of their squares, by numpy's sort."""
    key = np.zeros(found["a"].size, np.uint64)
    for name in NAMES:
        key = key * np.uint64(int(found[name].max()) + 1) + found[name]
    counts = np.unique(key, return_counts=True)[1]
    return int(counts.min()), int(counts.size), int((counts.astype(object) ** 2).sum())


def judge_sizes(_job: Job, output: Any, values: Any) -> float:
    return float(tuple(output)[:2] == smallest(values)[:2])


def fastdp_sizes(_job: Job, values: Any) -> Call:
    import fastdp as fd

    def call() -> tuple[int, int, int]:
        found = fd.anonymity.classes(values, NAMES)
        return found.k, found.count, found.discernibility

    return call


def duckdb_table(values: Any) -> Any:
    import duckdb
    import pyarrow as pa

    base = duckdb.connect()
    base.execute("set threads = 1")
    base.register("v", pa.table(values))
    base.execute("create table t as select * from v")
    return base


def duckdb_sizes(_job: Job, values: Any) -> Call:
    base = duckdb_table(values)
    text = "select min(n), count(*), sum(n * n) from (select count(*) n from t group by a, b, c, d, e)"
    return lambda: base.execute(text).fetchone()


def pycanon_sizes(_job: Job, values: Any) -> Call:
    import pandas as pd
    from pycanon import anonymity

    frame = pd.DataFrame(values)
    return lambda: (anonymity.k_anonymity(frame, list(NAMES)), None)


def judge_k(_job: Job, output: Any, values: Any) -> float:
    return float(output[0] == smallest(values)[0])


def fastdp_models(_job: Job, values: Any) -> Call:
    import fastdp as fd

    def call() -> tuple[int, int, float]:
        found = fd.anonymity.classes(values, NAMES, ["s"]).diversity()
        return found.k, found.distinct_l, found.alpha

    return call


def duckdb_models(_job: Job, values: Any) -> Call:
    """Three of the models: k, l and the largest count of a value."""
    base = duckdb_table(values)
    text = (
        "select min(k), min(l), max(m / k) from (select sum(n) k, count(*) l, max(n) m from "
        "(select a, b, c, d, e, s, count(*) n from t group by all) group by a, b, c, d, e)"
    )
    return lambda: base.execute(text).fetchone()


def judge_models(_job: Job, output: Any, values: Any) -> float:
    """k, l and alpha against counts by numpy."""
    counts = np.zeros((int(np.prod(SMALL)), VALUES), np.int64)
    key = np.ravel_multi_index([values[name].astype(np.int64) for name in NAMES], SMALL)
    np.add.at(counts, (key, values["s"]), 1)
    counts = counts[counts.any(axis=1)]
    sizes = counts.sum(axis=1)
    due = (sizes.min(), (counts > 0).sum(axis=1).min(), (counts.max(axis=1) / sizes).max())
    return float(np.allclose(np.array(output, float), np.array(due, float)))


LEVELS = {"a": (5, 10, 50), "b": (), "c": (2, 4, 8, 16), "d": (2, 4, 8, 16), "e": (3,)}
"""Widths of intervals: 5 * 2 * 6 * 6 * 3 = 1,080 nodes."""


def hierarchies() -> dict[str, Any]:
    import fastdp as fd

    return {
        name: fd.Hierarchy.intervals(*widths) if widths else fd.Hierarchy.suppress() for name, widths in LEVELS.items()
    }


def fastdp_lattice(_job: Job, values: Any) -> Call:
    import fastdp as fd

    chosen = hierarchies()
    rows = {name: values[name] for name in NAMES}
    return lambda: (fd.anonymize(rows, chosen, k=K, suppress=0.05).loss,)


def anjana_lattice(_job: Job, values: Any) -> Call:
    """Its greedy search, from text as it wants it; its own loss is computed from the levels it takes."""
    import pandas as pd
    from anjana.anonymity import k_anonymity

    chosen = hierarchies()
    with pd.option_context("future.infer_string", False):
        frame = pd.DataFrame({name: values[name].astype(str).astype(object) for name in NAMES})
    levels = {}
    for name, hierarchy in chosen.items():
        found = sorted({int(value) for value in values[name]})
        columns = [hierarchy.generalize(found, level) for level in range(hierarchy.levels)]
        levels[name] = {level: [str(one) for one in column] for level, column in enumerate(columns)}

    def call() -> tuple[float]:
        with pd.option_context("future.infer_string", False):  # it wants text as objects
            made = k_anonymity(frame, [], list(NAMES), K, 5, levels)
        return (ncp(frame, made, levels),)

    return call


def ncp(before: Any, after: Any, levels: dict[str, dict[int, list[str]]]) -> float:
    """The normalized certainty penalty of a table, rows that are gone counting 1."""
    total = float(len(before) - len(after)) * len(levels)
    for name, labels in levels.items():  # it may have put its own arrays into them
        groups = next(list(column) for column in labels.values() if set(after[name].astype(str)) <= set(column))
        shared = {label: (groups.count(label) - 1) / max(len(groups) - 1, 1) for label in set(groups)}
        total += float(after[name].astype(str).map(shared).sum())
    return total / (len(before) * len(levels))


def judge_loss(job: Job, output: Any, values: Any) -> float:
    """No loss may be below the proven optimum."""
    (least,) = fastdp_lattice(job, values)()
    return float(output[0] >= least - 1e-9)


def fastdp_mondrian(_job: Job, values: Any) -> Call:
    """The parts with their sizes and ranges, from the columns as they are."""
    from fastdp.anonymity.coding.reading import open_table, read_rows
    from fastdp.anonymity.mondrian import partition
    from fastdp.anonymity.requirements import Requirement

    def call() -> tuple[int]:
        rows = read_rows("bench", open_table("bench", values), NAMES, "error")
        return (int(partition(rows.columns, [], [], Requirement(k=K)).sizes.min()),)

    return call


def anonypy_mondrian(_job: Job, values: Any) -> Call:
    import anonypy
    import pandas as pd

    frame = pd.DataFrame(values)

    def call() -> tuple[int]:
        rows = anonypy.Preserver(frame, list(NAMES), "s").anonymize_k_anonymity(k=K)
        return (K if rows else 0,)

    return call


def judge_parts(_job: Job, output: Any, _values: Any) -> float:
    return float(output[0] >= K)


def _job(name: str, kind: str, description: str, size: int, space: tuple[int, ...], judge: Any, *, heavy: bool) -> Job:
    return Job(
        name, "anonymity", kind, "uint8", description, lambda: None, unit="rows", size=size,
        make=lambda rows: table(rows, space), judge=judge, heavy=heavy, traffic=_traffic, rounds=7,
    )  # fmt: skip


def _traffic(job: Job, size: int) -> tuple[float, float, float]:
    """Every column is read once."""
    return float(sum(column.nbytes for column in job.values(size).values())), 0.0, 1.0


JOBS = (
    _job("k-small", "k", "k of five columns, 448,000 combinations", 10**7, SMALL, judge_sizes, heavy=False),
    _job("k-unique", "k", "k of five columns, nearly all rows unique", 10**7, LARGE, judge_sizes, heavy=True),
    _job(
        "models", "models", "every model of anonymity, twelve sensitive values", 10**7, SMALL, judge_models, heavy=True
    ),
    _job("lattice", "lattice", "the best of 1,080 generalizations, k = 10", 10**6, SMALL, judge_loss, heavy=True),
    _job("mondrian", "mondrian", "the parts of Mondrian, k = 10", 10**7, LARGE, judge_parts, heavy=True),
)

FASTDP = {
    "k": Way(fastdp_sizes),
    "models": Way(fastdp_models),
    "lattice": Way(fastdp_lattice),
    "mondrian": Way(fastdp_mondrian),
}
DUCKDB = {"k": Way(duckdb_sizes), "models": Way(duckdb_models)}
PYCANON = {"k": Way(pycanon_sizes, judge=judge_k, largest=10**6)}
ANJANA = {"lattice": Way(anjana_lattice)}
ANONYPY = {"mondrian": Way(anonypy_mondrian, largest=20_000)}
