"""Jobs of central releases: exact sums, groups bounded per person, quantiles; beside plain, non-private queries."""

from __future__ import annotations

import functools
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import fastdp as fd
from benchmarks.jobs.job import Job
from benchmarks.rivals.ways import Call, Way

if TYPE_CHECKING:
    import pyarrow as pa

KEYS, GROUPS, ROWS = 100_000, 5, 2
HIGH = 200.0
QUANTILES = (0.25, 0.5, 0.75)


@dataclass(frozen=True)
class Visits:
    """Rows with a person, a key and a value: ten rows per person, few keys with most of the rows."""

    table: pa.Table

    @property
    def nbytes(self) -> int:
        return int(self.table.nbytes)


@functools.lru_cache(maxsize=4)
def visits(kind: str, rows: int) -> Visits:
    """``kind`` is "even", "heavy" (one person has half of the rows) or "text" (keys and persons are texts)."""
    import pyarrow as pa

    source = np.random.default_rng(2026)
    people = max(1, rows // 10)
    persons = source.integers(0, people, rows)
    if kind == "heavy":
        persons[source.random(rows) < 0.5] = 0
    keys = (min(KEYS, people) * source.random(rows) ** 2).astype(np.int64)
    columns: dict[str, Any] = {"u": persons, "k": keys}
    if kind == "text":
        for name, values, size in (("u", persons, people), ("k", keys, KEYS)):
            columns[name] = pa.array([f"{name}-{number:07}" for number in range(size)]).take(pa.array(values))
    return Visits(pa.table({**columns, "v": source.gamma(2.0, 20.0, rows)}))


@functools.lru_cache(maxsize=4)
def numbers(rows: int) -> np.ndarray:
    made = np.random.default_rng(2026).gamma(2.0, 20.0, rows)
    made.flags.writeable = False
    return made


def fastdp_sum(_job: Job, values: np.ndarray) -> Call:
    fd.set_threads(1)
    return lambda: fd.release.sum(values, bounds=(0, HIGH), epsilon=1.0, nulls="drop").value


def numpy_sum(_job: Job, values: np.ndarray) -> Call:
    return lambda: float(values.sum())


def clipped_sum(_job: Job, values: np.ndarray) -> Call:
    return lambda: float(np.clip(values, 0, HIGH).sum())


def opendp_sum(_job: Job, values: np.ndarray) -> Call:
    import opendp.prelude as dp  # type: ignore[import-not-found]

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()
    clamped = space >> dp.t.then_clamp((0.0, HIGH)) >> dp.t.then_sum()
    chain = dp.binary_search_chain(lambda scale: clamped >> dp.m.then_laplace(scale), 1, 1.0)
    return lambda: float(chain(values.tolist()))


def opendp_quantiles(_job: Job, values: np.ndarray) -> Call:
    """One quantile after the other, each with a third of the budget, from candidates a fifth apart."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()
    candidates = np.linspace(0, HIGH, 1001).tolist()

    def one(alpha: float) -> Call:
        def chain(scale: float) -> Any:
            return space >> dp.m.then_private_quantile(dp.max_divergence(), candidates, alpha, scale)

        return dp.binary_search_chain(chain, 1, 1.0 / len(QUANTILES))

    chains = [one(alpha) for alpha in QUANTILES]
    own = values.copy()  # it takes no read-only arrays
    return lambda: np.array([chain(own) for chain in chains])


def opendp_choice(_job: Job, scores: np.ndarray) -> Call:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.linf_distance(T="i64")
    with warnings.catch_warnings():  # deprecated, and 1.4 and 5 times as fast as make_noisy_max under rho and epsilon
        warnings.simplefilter("ignore")
        chosen = dp.m.make_report_noisy_max_gumbel(*space, 2.0)
    own = scores.copy()  # it takes no read-only arrays
    return lambda: int(chosen(own))


def judge_sum(_job: Job, found: float, values: np.ndarray) -> float:
    return float(abs(found - float(np.clip(values, 0, HIGH).sum())) < 100 * HIGH)


def judge_plain_sum(_job: Job, found: float, values: np.ndarray) -> float:
    return float(found == float(values.sum()))


def fastdp_groups(_job: Job, data: Visits) -> Call:
    """Bounds per person, exact sums, key selection and noise: the whole release."""
    fd.set_threads(1)

    def call() -> np.ndarray:
        found = fd.release.group_by(
            data.table, "k", ["count", "sum(v)"], keys="select", bounds={"v": (0, HIGH)}, person="u",
            max_groups=GROUPS, max_rows=ROWS, epsilon=1.0, delta=1e-9,
        )  # fmt: skip
        return found["count"].values

    return call


def _duckdb(data: Visits) -> Any:
    import duckdb

    connection = duckdb.connect()
    connection.execute("set threads = 1")
    connection.register("a", data.table)
    connection.execute("create table t as select * from a")
    return connection


def duckdb_plain(_job: Job, data: Visits) -> Call:
    connection, query = _duckdb(data), "select k, count(*) n, sum(v) from t group by k"
    return lambda: connection.execute(query).fetchnumpy()["n"]


def duckdb_bounded(_job: Job, data: Visits) -> Call:
    connection = _duckdb(data)
    query = f"""
        with g as (select u, k, least(count(*), {ROWS}) n, sum(least(greatest(v, 0), {HIGH})) s from t group by u, k),
        r as (select *, row_number() over (partition by u order by hash(u, k)) place from g)
        select k, sum(n) n, sum(s) from r where place <= {GROUPS} group by k
    """
    return lambda: connection.execute(query).fetchnumpy()["n"]


def polars_plain(_job: Job, data: Visits) -> Call:
    import polars as pl

    frame = pl.from_arrow(data.table)

    def call() -> np.ndarray:
        return np.asarray(frame.group_by("k").agg(pl.len().alias("n"), pl.col("v").sum())["n"].to_numpy())

    return call


def polars_bounded(_job: Job, data: Visits) -> Call:
    import polars as pl

    frame = pl.from_arrow(data.table)

    def call() -> np.ndarray:
        groups = frame.group_by("u", "k").agg(pl.len().clip(0, ROWS).alias("n"), pl.col("v").clip(0, HIGH).sum())
        kept = groups.sample(fraction=1.0, shuffle=True).group_by("u").head(GROUPS)
        return np.asarray(kept.group_by("k").agg(pl.col("n").sum(), pl.col("v").sum())["n"].to_numpy())

    return call


def judge_groups(_job: Job, counts: np.ndarray, data: Visits) -> float:
    """A release keeps fewer keys and rows than there are; plain queries keep all of them."""
    return float(0 < counts.sum() <= data.table.num_rows * 1.01)


def fastdp_quantiles(_job: Job, values: np.ndarray) -> Call:
    fd.set_threads(1)
    return lambda: fd.release.quantiles(values, QUANTILES, bounds=(0, HIGH), epsilon=1.0).value


def numpy_quantiles(_job: Job, values: np.ndarray) -> Call:
    return lambda: np.quantile(values, QUANTILES)


def polars_quantiles(_job: Job, values: np.ndarray) -> Call:
    import polars as pl

    column = pl.Series(values)
    return lambda: np.array([column.quantile(q) for q in QUANTILES])


def judge_quantiles(_job: Job, found: np.ndarray, values: np.ndarray) -> float:
    return float(np.abs(found - np.quantile(values, QUANTILES)).max() < 5.0)


def fastdp_choice(_job: Job, scores: np.ndarray) -> Call:
    fd.set_threads(1)
    mechanism = fd.ExponentialMechanism(epsilon=1.0)
    return lambda: mechanism.choose(scores)


def gumbel_choice(_job: Job, scores: np.ndarray) -> Call:
    source = np.random.default_rng()
    return lambda: int(np.argmax(0.5 * scores + source.gumbel(size=scores.size)))


def judge_choice(_job: Job, found: int, scores: np.ndarray) -> float:
    return float(scores.max() - scores[found] < 60 + 2 * np.log(scores.size))


@functools.lru_cache(maxsize=2)
def scores(rows: int) -> np.ndarray:
    made = np.random.default_rng(2026).geometric(0.01, rows)
    made.flags.writeable = False
    return made


def _job(name: str, kind: str, what: str, size: int, make: Any, judge: Any, *, heavy: bool = False) -> Job:
    return Job(
        name, "releases", kind, "float64", what, lambda: None, unit="rows", size=size, make=make, judge=judge,
        heavy=heavy, traffic=lambda job, rows: (job.values(rows).nbytes, 0, 1),
    )  # fmt: skip


_EVEN = functools.partial(visits, "even")
JOBS = (
    _job("release-sum", "release-sum", "count and sum, clamped", 10_000_000, numbers, judge_sum),
    _job("release-groups", "release-groups", "1e5 keys, 1e6 persons bounded, keys selected; rivals plain", 10_000_000,
         _EVEN, judge_groups, heavy=True),
    _job("release-bounded", "release-bounded", "the same; rivals bound persons too", 1_000_000, _EVEN, judge_groups),
    _job("release-heavy", "release-groups", "the same, one person with half of the rows", 10_000_000,
         functools.partial(visits, "heavy"), judge_groups, heavy=True),
    _job("release-texts", "release-groups", "the same, keys and persons as texts", 10_000_000,
         functools.partial(visits, "text"), judge_groups, heavy=True),
    _job("release-quantiles", "release-quantiles", "three quantiles", 10_000_000, numbers, judge_quantiles),
    _job("release-choice", "release-choice", "the exponential mechanism", 10_000_000, scores, judge_choice),
)  # fmt: skip
FASTDP = {
    "release-sum": Way(fastdp_sum),
    "release-groups": Way(fastdp_groups),
    "release-bounded": Way(fastdp_groups),
    "release-quantiles": Way(fastdp_quantiles),
    "release-choice": Way(fastdp_choice),
}
NUMPY = {
    "release-sum": Way(numpy_sum, judge=judge_plain_sum),
    "release-quantiles": Way(numpy_quantiles),
    "release-choice": Way(gumbel_choice),
}
TUNED = {"release-sum": Way(clipped_sum)}
DUCKDB = {"release-groups": Way(duckdb_plain), "release-bounded": Way(duckdb_bounded)}
POLARS = {
    "release-groups": Way(polars_plain),
    "release-bounded": Way(polars_bounded),
    "release-quantiles": Way(polars_quantiles),
}
OPENDP = {
    "release-sum": Way(opendp_sum, largest=1_000_000),
    "release-quantiles": Way(opendp_quantiles, largest=1_000_000),
    "release-choice": Way(opendp_choice, largest=1_000_000),
}
