"""Inputs of local protocols, and how their reports are judged.

A report is judged by how often it supports the truth, against the exact probability; counts are compared one by one.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

import fastdp as fd

if TYPE_CHECKING:
    from benchmarks.jobs.job import Job

EPSILON = 1.0
SLOW_REPORTS = 20_000


@functools.lru_cache(maxsize=16)
def codes_of(k: int, count: int) -> np.ndarray:
    """Codes of a domain of k values; read-only, as all inputs are, for all libraries share them."""
    return _sealed(np.random.default_rng(2026).integers(0, k, count).astype(np.int32))


@functools.lru_cache(maxsize=4)
def truths_of(count: int) -> np.ndarray:
    """One truth value in three is true."""
    return _sealed(np.random.default_rng(2026).random(count) < 1 / 3)


@functools.lru_cache(maxsize=4)
def packed_truths_of(count: int) -> np.ndarray:
    """The same, packed as arrow packs them."""
    return _sealed(np.packbits(truths_of(count), bitorder="little"))


@functools.lru_cache(maxsize=4)
def shares_of(low: float, count: int) -> np.ndarray:
    """Numbers from ``low`` to 1."""
    return _sealed(np.random.default_rng(2026).uniform(low, 1, count))


@functools.lru_cache(maxsize=4)
def sets_of(k: int, bits: int) -> np.ndarray:
    """Unary reports of so many bits in all, as rows of bytes."""
    mechanism = fd.UnaryEncoding(epsilon=EPSILON, domain=k)
    return _sealed(mechanism.randomize(codes_of(k, bits // k), rng=fd.Rng.unsafe_seed(1)))


@functools.lru_cache(maxsize=4)
def hashes_of(k: int, count: int) -> np.ndarray:
    """Reports of local hashing."""
    mechanism = fd.LocalHashing(epsilon=EPSILON, domain=k)
    return _sealed(mechanism.randomize(codes_of(k, count), rng=fd.Rng.unsafe_seed(1)))


def _sealed(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


def share_p_value(hits: Any, p: float) -> float:
    """Two-sided p-value of a number of hits, by the normal law: there are thousands of each kind."""
    hits = np.asarray(hits)
    z = (hits.mean() - p) / math.sqrt(p * (1 - p) / hits.size)
    return math.erfc(abs(z) / math.sqrt(2))


def judge_truths(job: Job, reports: np.ndarray, truths: np.ndarray) -> float:
    return share_p_value(reports == truths, job.mechanism().p)


def judge_packed_truths(job: Job, reports: Any, packed: np.ndarray) -> float:
    bits = reports if isinstance(reports, np.ndarray) else np.frombuffer(reports.buffers()[1], np.uint8)[: packed.size]
    return share_p_value(np.unpackbits(bits ^ packed) == 0, job.mechanism().p)


def judge_sets(job: Job, sets: np.ndarray, codes: np.ndarray) -> float:
    """The true value's bit, and all others."""
    mechanism = job.mechanism()
    bits = np.unpackbits(sets[:SLOW_REPORTS], axis=1, bitorder="little", count=job.domain)
    codes = codes[: bits.shape[0]]
    true = bits[np.arange(codes.size), codes]
    others = bits.sum() - true.sum()
    count = bits.size - codes.size
    z = (others - count * mechanism.q) / math.sqrt(count * mechanism.q * (1 - mechanism.q))
    if type(mechanism).__name__ == "SubsetSelection":  # the others' bits are not independent: their number is known
        z = 0.0 if (bits.sum(axis=1) == mechanism.size).all() else math.inf
    return min(1.0, 2 * min(share_p_value(true, mechanism.p), math.erfc(abs(z) / math.sqrt(2))))


def judge_lists(job: Job, chosen: np.ndarray, codes: np.ndarray) -> float:
    """Sets written as lists of different values, in an order that tells nothing."""
    if (chosen[:, 1:] <= chosen[:, :-1]).any() or chosen.shape[1] != job.mechanism().size:
        return 0.0
    return share_p_value((chosen == codes[:, None]).any(axis=1), job.mechanism().p)


def judge_indices(job: Job, indices: np.ndarray, codes: np.ndarray) -> float:
    parity = np.bitwise_count(indices.astype(np.int64) & (codes.astype(np.int64) + 1)) % 2
    return share_p_value(parity == 0, job.mechanism().p)


def judge_hashes(job: Job, reports: np.ndarray, codes: np.ndarray) -> float:
    """Fastdp's own reports: counted one by one for the value that is true of each of the first few thousand."""
    mechanism = job.mechanism()
    few = min(codes.size, 2_000 if job.domain <= 10_000 else 200)
    hits = [mechanism.aggregate(reports[i : i + 1]).support[codes[i]] for i in range(few)]
    return share_p_value(hits, mechanism.p)


def judge_means(_job: Job, reports: np.ndarray, values: np.ndarray) -> float:
    """The mean error of unbiased reports."""
    errors = reports - values
    return math.erfc(abs(errors.mean()) / (errors.std() / math.sqrt(errors.size)) / math.sqrt(2))


def judge_waves(_job: Job, reports: np.ndarray, values: np.ndarray) -> float:
    """How often a report is near its value; a cell of the grid at the edge is too small to be seen."""
    b = half_width(EPSILON)
    inside = 2 * b * math.exp(EPSILON) / (2 * b * math.exp(EPSILON) + 1)
    return share_p_value((np.abs(reports - values) <= b)[:1_000_000], inside)


def half_width(epsilon: float) -> float:
    """Half the width of the square wave's window. [Li et al. 2020]"""
    e = math.exp(epsilon)
    return (epsilon * e - e + 1) / (2 * e * (e - 1 - epsilon))


def judge_bit_counts(job: Job, counts: Any, reports: np.ndarray) -> float:
    bits = sum(np.unpackbits(part, axis=1, bitorder="little", count=job.domain).sum(axis=0, dtype=np.int64)
               for part in np.array_split(reports, 16))  # fmt: skip
    return float(np.array_equal(counts, bits))


def judge_hash_counts(job: Job, counts: Any, reports: np.ndarray) -> float:
    """Every report supports k / g values on average; and what one report supports is counted alone too."""
    one = sum(job.mechanism().aggregate(reports[i : i + 1]).support for i in range(64))
    few = np.array_equal(one, job.mechanism().aggregate(reports[:64]).support)
    share = counts.sum() / (reports.size * job.domain)
    return float(few and abs(share * job.mechanism().g - 1) < 0.01)


def judge_pairs(job: Job, pairs: Any, codes: np.ndarray) -> float:
    import xxhash

    g = job.mechanism().g
    hits = [
        value == xxhash.xxh32(str(code), seed=int(seed)).intdigest() % g
        for (value, seed), code in zip(pairs, codes.tolist(), strict=True)
    ]
    return share_p_value(hits, job.mechanism().p)


def judge_shape(_job: Job, counts: Any, reports: np.ndarray) -> float:
    """A slow server is given reports that its own hash did not make: only the shape of its counts can be judged."""
    return float(len(counts) > 0 and reports.size > 0)
