"""How each library makes and counts the reports of local protocols, by the best of its public calls."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

import fastdp as fd
from benchmarks.jobs.reports import (
    EPSILON,
    SLOW_REPORTS,
    half_width,
    judge_hashes,
    judge_lists,
    judge_pairs,
    judge_shape,
    share_p_value,
)
from benchmarks.rivals.ways import Call, Way, fastdp_noise

if TYPE_CHECKING:
    from benchmarks.jobs.job import Job

SLOWEST_REPORTS = 200


def fastdp_packed(job: Job, packed: np.ndarray) -> Call:
    import pyarrow as pa

    fd.set_threads(1)
    mechanism = job.mechanism()
    column = pa.Array.from_buffers(pa.bool_(), packed.size * 8, [None, pa.py_buffer(packed)])
    return lambda: mechanism.randomize(column)


def fastdp_counts(job: Job, reports: np.ndarray) -> Call:
    fd.set_threads(1)
    mechanism = job.mechanism()
    return lambda: mechanism.aggregate(reports).support


FASTDP = {
    "truths": Way(fastdp_noise),
    "packed-truths": Way(fastdp_packed),
    "sets": Way(fastdp_noise),
    "sets-count": Way(fastdp_counts),
    "subset": Way(fastdp_noise),
    "hadamard": Way(fastdp_noise),
    "hashes": Way(fastdp_noise, judge=judge_hashes),
    "hashes-count": Way(fastdp_counts),
    "duchi": Way(fastdp_noise),
    "piecewise": Way(fastdp_noise),
    "wave": Way(fastdp_noise),
}


def numpy_ways(source: Callable[[], np.random.Generator]) -> dict[str, Way]:
    """The code anyone would write, vectorised over the whole column."""
    return _numpy_sets(source) | _numpy_codes(source) | _numpy_numbers(source)


def _numpy_sets(source: Callable[[], np.random.Generator]) -> dict[str, Way]:
    def truths(job: Job, values: np.ndarray) -> Call:
        draw, q = source().random, job.mechanism().q
        return lambda: values ^ (draw(values.size) < q)

    def packed(job: Job, values: np.ndarray) -> Call:
        draw, q, n = source().random, job.mechanism().q, values.size * 8
        return lambda: np.packbits(np.unpackbits(values, bitorder="little") ^ (draw(n) < q), bitorder="little")

    def sets(job: Job, codes: np.ndarray) -> Call:
        draw, p, q = source().random, job.mechanism().p, job.mechanism().q
        rows = np.arange(codes.size)

        def call() -> np.ndarray:
            bits = draw((codes.size, job.domain)) < q
            bits[rows, codes] = draw(codes.size) < p
            return np.packbits(bits, axis=1, bitorder="little")

        return call

    def sets_count(job: Job, reports: np.ndarray) -> Call:
        return lambda: np.unpackbits(reports, axis=1, bitorder="little", count=job.domain).sum(axis=0)

    return {
        "truths": Way(truths),
        "packed-truths": Way(packed),
        "sets": Way(sets),
        "sets-count": Way(sets_count),
    }


def _numpy_codes(source: Callable[[], np.random.Generator]) -> dict[str, Way]:
    def subset(job: Job, codes: np.ndarray) -> Call:
        generator, mechanism, rows = source(), job.mechanism(), np.arange(codes.size)

        def call() -> np.ndarray:
            keys = generator.random((codes.size, job.domain))
            # The true value's key is below or above all others, so that it is in or out as a coin says.
            keys[rows, codes] = np.where(generator.random(codes.size) < mechanism.p, -1.0, 2.0)
            chosen = np.argpartition(keys, mechanism.size, axis=1)[:, : mechanism.size]
            return np.sort(chosen, axis=1)  # as it comes, the true value stands first: a leak

        return call

    def hadamard(job: Job, codes: np.ndarray) -> Call:
        generator, p, size = source(), job.mechanism().p, job.mechanism().rows
        rows = codes.astype(np.uint32) + np.uint32(1)
        lowest = rows & (~rows + np.uint32(1))

        def call() -> np.ndarray:
            drawn = generator.integers(0, size, codes.size, dtype=np.uint32)
            wrong = (np.bitwise_count(drawn & rows) & 1).astype(bool) == (generator.random(codes.size) < p)
            return np.where(wrong, drawn ^ lowest, drawn)

        return call

    def hashes(job: Job, codes: np.ndarray) -> Call:
        generator, g, p = source(), job.mechanism().g, job.mechanism().p
        keep = (p * g - 1) / (g - 1)
        wide = codes.astype(np.uint64)

        def call() -> tuple[np.ndarray, np.ndarray]:
            seeds = generator.integers(0, 2**64, codes.size, dtype=np.uint64)
            hashed = mixed(seeds, wide, g)
            kept = generator.random(codes.size) < keep
            return seeds, np.where(kept, hashed, generator.integers(0, g, codes.size, dtype=np.uint64))

        return call

    def judge_mixed(job: Job, reports: Any, codes: np.ndarray) -> float:
        seeds, values = reports
        return share_p_value(mixed(seeds, codes.astype(np.uint64), job.mechanism().g) == values, job.mechanism().p)

    def hashes_count(job: Job, reports: np.ndarray) -> Call:
        """Its own hash over reports of the same size: what its reports would cost to count."""
        g, seeds, values = job.mechanism().g, reports["seed"].copy(), reports["value"].astype(np.uint64)

        def call() -> np.ndarray:
            return np.array([np.count_nonzero(mixed(seeds, np.uint64(v), g) == values) for v in range(job.domain)])

        return call

    def judge_counts(job: Job, counts: np.ndarray, reports: np.ndarray) -> float:
        share = np.repeat([True, False], [counts.sum(), reports.size * job.domain - counts.sum()])
        return share_p_value(share, 1 / job.mechanism().g)

    return {
        "subset": Way(subset, judge=judge_lists),
        "hadamard": Way(hadamard),
        "hashes": Way(hashes, judge=judge_mixed),
        "hashes-count": Way(hashes_count, judge=judge_counts),
    }


def _numpy_numbers(source: Callable[[], np.random.Generator]) -> dict[str, Way]:
    def duchi(_job: Job, values: np.ndarray) -> Call:
        draw, e = source().random, math.exp(EPSILON)
        reach = (e + 1) / (e - 1)
        return lambda: np.where(draw(values.size) < 0.5 + values * (0.5 / reach), reach, -reach)

    def piecewise(_job: Job, values: np.ndarray) -> Call:
        draw, half = source().random, math.exp(EPSILON / 2)
        c = (half + 1) / (half - 1)

        def call() -> np.ndarray:
            left = (c + 1) / 2 * values - (c - 1) / 2
            uniform = draw(values.size)
            outer = uniform * (c + 1) - c
            outer = np.where(outer < left, outer, outer + (c - 1))
            return np.where(draw(values.size) < half / (half + 1), left + uniform * (c - 1), outer)

        return call

    def wave(_job: Job, values: np.ndarray) -> Call:
        draw, b, e = source().random, half_width(EPSILON), math.exp(EPSILON)

        def call() -> np.ndarray:
            uniform = draw(values.size)
            outer = uniform - b
            outer = np.where(outer < values - b, outer, outer + 2 * b)
            return np.where(draw(values.size) < 2 * b * e / (2 * b * e + 1), values + b * (2 * uniform - 1), outer)

        return call

    return {"duchi": Way(duchi), "piecewise": Way(piecewise), "wave": Way(wave)}


def mixed(seeds: np.ndarray, values: Any, g: int) -> np.ndarray:
    """A 64-bit multiply-and-shift hash to g numbers, as few operations as give sound ones."""
    words = (values + seeds) * np.uint64(0x9E3779B97F4A7C15)
    words ^= words >> np.uint64(32)
    words *= np.uint64(0xD6E8FEB86659FD93)
    return ((words >> np.uint64(32)) * np.uint64(g)) >> np.uint64(32)


def multi_freq_ldpy() -> dict[str, Way]:
    """One call per record, as it works."""

    def krr(job: Job, codes: np.ndarray) -> Call:
        from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client

        numbers, k = codes.tolist(), job.domain
        return lambda: [GRR_Client(number, k, EPSILON) for number in numbers]

    def hashes(job: Job, codes: np.ndarray) -> Call:
        from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Client

        numbers, k = codes.tolist(), job.domain
        return lambda: [LH_Client(number, k, EPSILON) for number in numbers]

    def hashes_count(job: Job, reports: np.ndarray) -> Call:
        from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Aggregator_MI

        pairs = [(int(value), int(seed) & 0x7FFFFFFF) for seed, value in reports.tolist()]
        return lambda: LH_Aggregator_MI(pairs, job.domain, EPSILON)

    return {
        "krr": Way(krr, largest=SLOW_REPORTS),
        "hashes": Way(hashes, judge=judge_pairs, largest=SLOW_REPORTS),
        "hashes-count": Way(hashes_count, judge=judge_shape, largest=SLOWEST_REPORTS),
    }


def pure_ldp() -> dict[str, Way]:
    """One call per record, as it works."""

    def krr(job: Job, codes: np.ndarray) -> Call:
        from pure_ldp.frequency_oracles.direct_encoding import DEClient

        numbers = codes.tolist()
        client = DEClient(EPSILON, job.domain, index_mapper=lambda x: x)
        return lambda: [client.privatise(number) for number in numbers]

    def hashes(job: Job, codes: np.ndarray) -> Call:
        from pure_ldp.frequency_oracles.local_hashing import LHClient

        numbers = codes.tolist()
        client = LHClient(EPSILON, job.domain, use_olh=True, index_mapper=lambda x: x)
        return lambda: [client.privatise(number) for number in numbers]

    def hashes_count(job: Job, reports: np.ndarray) -> Call:
        from pure_ldp.frequency_oracles.local_hashing import LHServer

        pairs = [(int(value), int(seed) & 0x7FFFFFFF) for seed, value in reports.tolist()]

        def call() -> np.ndarray:
            server = LHServer(EPSILON, job.domain, use_olh=True, index_mapper=lambda x: x)
            for pair in pairs:
                server.aggregate(pair)
            return np.asarray(server.aggregated_data)

        return call

    return {
        "krr": Way(krr, largest=SLOW_REPORTS),
        "hashes": Way(hashes, judge=judge_pairs, largest=SLOW_REPORTS),
        "hashes-count": Way(hashes_count, judge=judge_shape, largest=SLOWEST_REPORTS),
    }
