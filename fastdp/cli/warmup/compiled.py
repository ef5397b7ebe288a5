"""Every compiled path, each with a call that takes it: the list of ``fastdp warmup``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from fastdp.mechanisms.registry import Row, Warmup

Job = tuple[str, Callable[[], Any]]
RECORDS = 16


def jobs() -> Iterator[Job]:
    """Every compiled path, each with a call that takes it: of every mechanism, of maps, and of estimators."""
    from fastdp.mechanisms.registry import rows

    for row in rows():
        for warmup in row.warmup:
            for dtype in warmup.dtypes:
                name = f"{row.name} {dtype}" + (f", {warmup.note}" if warmup.note else "")
                yield name, partial(_use, row, warmup, dtype)
    yield "RandomizedResponse, packed", _packed_truths
    yield "PermuteAndFlip, ties to the last bit", _single_word
    yield from _maps()
    yield from _estimates()
    yield "compositions of losses", _compose
    yield "tables of fairness", _tally
    yield "releases about rows and persons", _release
    yield "synthetic tables", _synthesize
    yield "frequent strings", _strings
    yield "sums of gradients", _sum_gradients
    yield "cells of audits", _cells
    yield "classes of anonymity", _classes
    yield "anonymized tables", _anonymize
    yield "digests of chunks", _digest
    yield "pseudonyms", _pseudonyms


def _use(row: Row, warmup: Warmup, dtype: str) -> None:
    """Make the mechanism, randomize zeros, count the reports, and ask for the guarantee."""
    from fastdp import Mechanism, Rng
    from fastdp.mechanisms.base import FiniteMechanism
    from fastdp.mechanisms.local.frequencies import FrequencyProtocol
    from fastdp.mechanisms.local.means.reports import MeanReports

    mechanism: Any = Mechanism.from_dict({"type": row.name, **warmup.parameters})
    zeros, persons, rng = np.zeros(RECORDS, dtype), np.arange(RECORDS), Rng.unsafe_seed(0)
    if row.takes == "points":
        mechanism.randomize(zeros, zeros, rng=rng)
        return
    if row.takes == "trajectories":
        mechanism.randomize(persons, persons, zeros, zeros, rng=rng)
        return
    if row.takes in {"scores", "counts"}:
        (mechanism.choose if row.takes == "scores" else mechanism.select)(zeros, rng=rng)
        return
    whose = {"persons": persons, "key": type(mechanism).new_key()} if row.name in {"Longitudinal", "DBitFlip"} else {}
    reports = mechanism.randomize(zeros, rng=rng, **whose)
    if isinstance(mechanism, FrequencyProtocol | MeanReports):
        mechanism.aggregate(reports)
    if isinstance(mechanism, FiniteMechanism) and mechanism.counts_outputs:
        mechanism.count_outputs(reports)
    assert mechanism.privacy


def _packed_truths() -> Any:
    import pyarrow as pa

    from fastdp import RandomizedResponse, Rng

    return RandomizedResponse(epsilon=1.0).randomize(pa.array([True] * RECORDS), rng=Rng.unsafe_seed(0))


def _single_word() -> None:
    """The word of one slot, which a choice reads for the rare candidate that its first 32 bits leave undecided."""
    from fastdp import Rng
    from fastdp.engine.runner import working_memory
    from fastdp.kernels.selection.acceptances import read_word

    slots = Rng.unsafe_seed(0).reserve(1)
    with working_memory() as memory:
        read_word(slots.key, slots.start, memory.scratch)


def _maps() -> Iterator[Job]:
    """Points on the globe and in the plane, into the cells of a map."""
    from fastdp.locations import Grid

    grid = Grid.over(latitude=(48.8, 48.9), longitude=(2.2, 2.4), cell="1km")
    latitude, longitude = np.full(RECORDS, 48.85), np.full(RECORDS, 2.3)
    x = y = np.zeros(RECORDS)
    yield "points on a map, counted", lambda: grid.count_latlon(latitude, longitude)
    yield "points on a map, numbered", lambda: grid.count_cells(grid.cells(x, y))
    yield "points on a map, within its bounds", lambda: grid.inside(x, y)


def _estimates() -> Iterator[Job]:
    """The iterations of every kind of channel."""
    import fastdp as fd
    from fastdp.channels import Channel, GeometricChannel, GridChannel, KRRChannel, SparseChannel, SupportChannel

    matrix = np.full((4, 4), 0.1) + 0.6 * np.eye(4)
    channels: dict[str, Channel] = {
        "k-RR": KRRChannel(4, 0.7, 0.1),
        "the geometric": GeometricChannel(4, 1.0),
        "a grid": GridChannel.laplace(1.0, (2, 2)),
        **{f"{kind} matrices": fd.Channel.from_matrix(matrix, kind) for kind in ("float64", "float32", "float16")},
        "sparse matrices": SparseChannel(np.eye(4) * 0.9 + np.roll(np.eye(4), 2, axis=1) * 0.1),
        "sparse matrices in runs": SparseChannel(np.full((64, 64), 1 / 128) + 0.5 * np.eye(64)),
        "hashing with a seed per report": SupportChannel.from_hashes(np.arange(8), np.arange(8) % 2, 2, 4, 1.0),
        "Hadamard response": fd.HadamardResponse(epsilon=1.0, domain=4).channel(),
        "hashing in cohorts": fd.LocalHashing(epsilon=1.0, domain=4, cohorts=8).channel(),
        "the square wave": fd.SquareWave(epsilon=1.0, bounds=(0, 1), bins=4).channel(),
    }
    for name, channel in channels.items():
        yield f"estimates of {name}", partial(_estimate, channel)


def _estimate(channel: Any) -> None:
    import fastdp as fd

    counts = np.arange(channel.shape[1], 0.0, -1.0)
    fd.ibu(channel, counts, method="em", max_iterations=8)
    fd.estimate(channel, counts, progress=False)
    with suppress(fd.NotIdentifiableError):  # single cells of a map have none
        fd.ibu(channel, counts).interval(0.95)


def _compose() -> None:
    """A composition with every kind of moment function, and few and many shuffled reports."""
    from fastdp.accounting.building import build
    from fastdp.accounting.directions import Direction
    from fastdp.accounting.shuffling import ShuffledCurve
    from fastdp.losses import GeometricLoss, LaplaceLoss, SampledGaussianLoss

    parts = [LaplaceLoss(epsilon=0.1), GeometricLoss(rate=0.1, steps=2), SampledGaussianLoss(mu=1.0, rate=0.1)]
    for width in (1e-3, 1e-6):
        Direction(build([(loss, 10) for loss in parts[:2]]), width=width).solver(delta=1e-6)(1.0)
    Direction(build([(loss, 10) for loss in parts])).solver(delta=1e-6)(1.0)
    for n in (10, 10**6):
        ShuffledCurve(1.0, 4, n).delta(epsilon=0.01)


def _cells() -> None:
    """Bins of every type of numbers, and digits of floats."""
    from fastdp.audits.cells import Bins
    from fastdp.kernels.audits.cells import most_digits

    for dtype in ("float64", "float32", "int64", "int32", "uint8"):
        Bins(0.0, 1.0, 4).count(np.zeros(RECORDS, dtype))
    Bins(0.0, 1.0, 4, 0).count(np.zeros(RECORDS))
    most_digits(np.zeros(RECORDS).view(np.uint64))


def _tally() -> None:
    """Tables of every width of codes and cells, with and without weights."""
    from fastdp.fairness.encoding import Codes
    from fastdp.fairness.tally import tally

    narrow = Codes(np.zeros(RECORDS, np.uint8), (0, 1))
    tally([narrow, narrow, narrow])
    for size in (2, 1 << 8, 1 << 15):
        wide = Codes(np.zeros(RECORDS, np.uint8 if size <= 1 << 8 else np.uint16), tuple(range(size)))
        for columns in ([wide, narrow], [narrow, wide, narrow]):
            tally(columns)
            tally(columns, np.ones(RECORDS))


def _release() -> None:
    """Every aggregate, of rows and of persons named by numbers and by texts, in every way to bound them."""
    import fastdp as fd

    numbers, names = np.arange(RECORDS) % 4, [f"person {i % 4}" for i in range(RECORDS)]
    table = {"number": numbers, "name": names, "value": np.linspace(0, 1, RECORDS), "key": names}
    asked = ["count", "sum(value)", "variance(value)"]
    bounds, keys = {"value": (0, 1)}, sorted(set(names))
    limits: dict[str, Any]
    for person in (None, "number", "name"):
        limits = {} if person is None else {"person": person, "max_groups": 2, "max_rows": 2}
        for rho in (None, 0.5):
            epsilon = None if rho else 1.0
            fd.release.group_by(table, "key", asked, keys=keys, bounds=bounds, epsilon=epsilon, rho=rho, **limits)
        fd.release.group_by(table, "number", ["count"], keys="select", epsilon=1.0, delta=1e-6, **limits)
        nested = ["median(value)", "distinct(number)"]
        fd.release.group_by(table, "key", nested, keys=keys, bounds=bounds, epsilon=1.0, **limits)
    for persons in (None, numbers):
        limits = {} if persons is None else {"person": persons, "max_rows": 2}
        fd.release.quantiles(table["value"], [0.5], bounds=(0, 1), epsilon=1.0, **limits)
        fd.release.variance(table["value"], bounds=(0, 1), epsilon=1.0, **limits)
        fd.release.sum(table["value"], bounds=(0, 1), epsilon=1.0, **limits)
    _heavy_person()


def _heavy_person() -> None:
    """Tables that grow, of keys near to one another, far apart and as texts, and a person with many rows."""
    import fastdp as fd

    many = np.arange(3000)
    for keys in (many, many << 40, [f"key {i}" for i in many]):
        fd.release.group_by(
            {"key": keys, "person": many % 2}, "key", ["count"], keys="select", epsilon=1.0, delta=1e-6,
            person="person", max_groups=1, max_rows=1,
        )  # fmt: skip


def _strings() -> None:
    import pyarrow as pa

    from fastdp import FrequentStrings, Rng

    mechanism, words = FrequentStrings(epsilon=4.0, length=2), ["a"] * RECORDS
    for values in (words, pa.array(words)):
        mechanism.estimate(mechanism.randomize(values, rng=Rng.unsafe_seed(0)))
    mechanism.permanent(words, persons=np.arange(RECORDS), key=mechanism.new_key())


def _synthesize() -> None:
    import fastdp as fd

    table = {"sex": ["f", "m"] * RECORDS, "age": [20.0, 30.0] * RECORDS, "who": list(range(2 * RECORDS))}
    wide = {"age": {"bins": 300, "bounds": [0, 300]}}
    domains = {"sex": ["f", "m"], "age": {"bins": 2, "bounds": [0, 60]}}
    rng = fd.Rng.unsafe_seed(0)
    for given in (domains, wide):
        fd.synthesize(table, given, rho=1.0, rounds=2, rng=rng).to_arrow(RECORDS)
    fd.synthesize(table, domains, epsilon=1.0, person="who", max_rows=1, rounds=2, rng=rng)


def _sum_gradients() -> None:
    """Clipped gradients of both widths, and streams of noise."""
    from fastdp.learning import BandedNoise, GradientSum, TreeNoise
    from fastdp.learning.clipping import NEAR

    TreeNoise(steps=2, dimension=2, noise_multiplier=1.0).prefix(0)
    BandedNoise(bands=2, steps=2, dimension=2, noise_multiplier=1.0).noise(0)
    for dtype in (np.float32, np.float64):
        GradientSum(clip=1.0, noise_multiplier=1.0, batch=1).add(np.ones((RECORDS, 2), dtype)).release()
        GradientSum(clip=1.0, noise_multiplier=1.0, batch=1).add(np.ones((1, NEAR // 8), dtype))  # rows beyond a cache


def _classes() -> None:
    """Classes by direct tables and by hashing, of rows and of distinct rows, for every width of codes."""
    from fastdp.anonymity import classes

    rng = np.random.default_rng(0)
    for width in (1 << 8, 1 << 16, 1 << 31):
        for kind in ("u1", "u4"):
            columns = {name: rng.integers(0, width, RECORDS) for name in "abc"}
            found = classes({**columns, "s": np.arange(RECORDS, dtype=kind) % 4}, list("abc"), ["s"])
            for one in (found, found + found):
                one.figures()
                one.recursive(2)
            found.below(2)
    small = {"a": np.arange(RECORDS, dtype="u1") % 2, "b": np.arange(RECORDS, dtype="u2"), "s": np.zeros(RECORDS, "u1")}
    found = classes(small, ["a", "b"], ["s"])
    found.figures()
    (found + found).figures()
    many = np.arange(1 << 17)
    for values in (1 << 8, 1 << 9):
        classes({"a": many % values, "b": many // values % (1 << 8)}, ["a", "b"]).figures()


def _anonymize() -> None:
    """Lattices by sizes and by values, and Mondrian."""
    from fastdp.anonymity.anonymize import anonymize
    from fastdp.hierarchies import Hierarchy

    table = {"age": np.arange(RECORDS), "ill": np.arange(RECORDS) % 2}
    for l in (None, 2):
        anonymize(table, {"age": Hierarchy.intervals(2, 8)}, k=2, sensitive="ill", l=l)
        for size in (RECORDS, 1 << 17):
            wide = {"age": np.arange(size) % (1 << 17), "ill": np.arange(size) % 2}
            anonymize(wide, ["age"], k=2, sensitive="ill", method="mondrian", l=l)


def _pseudonyms() -> None:
    import pyarrow as pa

    from fastdp.plans.public.pseudonym import Pseudonym

    Pseudonym("ids.key").apply(bytes(32), pa.array(["a", "b"]))


def _digest() -> None:
    """Numbers of a whole block, and text in a dictionary."""
    import pyarrow as pa

    from fastdp import JobKey
    from fastdp.tables.chunks import Digester

    rows = 1 << 12
    columns = {"number": pa.array(np.arange(rows)), "text": pa.array(["a", "b"] * (rows // 2)).dictionary_encode()}
    Digester(JobKey()).digest(pa.record_batch(columns), list(columns))
