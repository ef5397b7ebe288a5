"""What every protocol with reports of its own type must do, called by the tests of each."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

from fastdp.errors import DomainError, ParameterError, SchemaError
from fastdp.random import Rng
from fastdp.random.generator import CHACHA, key_words

BAD_EPSILONS = [0, -1, math.nan, math.inf, True, "1", None, 41, 1e-7]
BAD_DOMAINS = [1, 0, -3, 2.5, True, None, "abc", ["a"], ["a", "a"], ["a", 1], {"a": 1}, [1.5, 2.5], 2**33]


def seeded(seed: int = 5, generator: str = CHACHA) -> Rng:
    return Rng.unsafe_seed(seed, generator=generator)


def key_of(rng: Rng) -> tuple[int, ...]:
    return tuple(int(word) for word in key_words(rng.generator, rng._key))


def same(one, other) -> bool:
    """Whether two arrays of reports are equal in type and content; arrow and numpy compare by fields."""
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    return one.equals(other)


def check_same_in_parts(mechanism, values: np.ndarray, threads) -> np.ndarray:
    """The reports of one thread, which those of three threads and of batches equal."""
    threads(1)
    whole = mechanism.randomize(values, rng=seeded())
    threads(3)
    assert same(mechanism.randomize(values, rng=seeded()), whole)
    rng, edges = seeded(), ((0, 1), (1, 1500), (1500, 1500), (1500, values.size))
    assert same(np.concatenate([mechanism.randomize(values[a:b], rng=rng) for a, b in edges]), whole)
    return whole


def check_threads_and_batches(mechanism, k: int, threads, size: int = 300_000) -> None:
    values = (np.arange(size) * 7 % k).astype(np.int32)
    whole = check_same_in_parts(mechanism, values, threads)
    threads(1)
    counted = mechanism.aggregate(whole)
    threads(3)
    assert np.array_equal(mechanism.aggregate(whole).support, counted.support)
    for dtype in (np.uint32, np.int64, np.uint64, np.dtype(">i4")):
        assert same(mechanism.randomize(values[:9_000].astype(dtype), rng=seeded()), whole[:9_000])
    spread = np.zeros((9_000, 2), np.int32)
    spread[:, 0] = values[:9_000]
    assert same(mechanism.randomize(spread[:, 0], rng=seeded()), whole[:9_000])
    assert same(mechanism.randomize(values[:9_000].tolist(), rng=seeded()), whole[:9_000])


def check_same_reports(mechanism, values, threads) -> None:
    """The same reports for one, two and three threads, and for batches."""
    results = []
    for count in (1, 2, 3):
        threads(count)
        results.append(mechanism.randomize(values, rng=seeded()))
    rng = seeded()
    results.append(np.concatenate([mechanism.randomize(part, rng=rng) for part in np.split(values, [1, 1000, 70_001])]))
    assert all(np.array_equal(results[0], result) for result in results)


def check_containers(mechanism, values: list[int]) -> None:
    """Numbers in lists, arrays of any width and chunks give the same reports, in what they came in."""
    expected = mechanism.randomize(values, rng=seeded())
    assert isinstance(expected, list)
    for dtype in (np.uint8, np.int16, np.int64, np.uint64):
        result = mechanism.randomize(np.array(values, dtype), rng=seeded())
        assert result.dtype == dtype
        assert result.tolist() == expected
    chunked = pa.chunked_array([values[:2], values[2:]], pa.int32())
    assert mechanism.randomize(chunked, rng=seeded()).to_pylist() == expected


def check_arrow(mechanism, k: int) -> None:
    """Arrow in, arrow out: the declared type, valid, equal to numpy's, and aggregated to the same counts."""
    values = (np.arange(5_000) * 7 % k).astype(np.int32)
    plain = mechanism.randomize(values, rng=seeded())
    kind = mechanism.report_type.arrow_type()
    out = mechanism.randomize(pa.array(values), rng=seeded())
    out.validate(full=True)
    assert out.type == kind
    chunked = pa.chunked_array([pa.array(values[:10]), pa.array(values[10:10]), pa.array(values[10:])])
    pieces = mechanism.randomize(chunked, rng=seeded())
    pieces.validate(full=True)
    assert pieces.type == kind
    assert pieces.combine_chunks().equals(pa.chunked_array([out]).combine_chunks())
    assert mechanism.randomize(pa.array(values).dictionary_encode(), rng=seeded()).equals(out)
    whole = mechanism.aggregate(plain)
    for other in (mechanism.aggregate(out), mechanism.aggregate(pieces)):
        assert other.n == whole.n == values.size
        assert np.array_equal(other.support, whole.support)
    parts = mechanism.aggregate(out[100:]) + mechanism.aggregate(plain[:100])
    assert parts.n == whole.n
    assert np.array_equal(parts.support, whole.support)
    assert mechanism.estimate(parts).frequencies.sum() == pytest.approx(mechanism.estimate(out).frequencies.sum())
    low, high = mechanism.estimate(out).interval(0.95)
    assert (low < high).all()


def check_odd_values(make, sizes: tuple[int, ...] | list[int] = ()) -> None:
    """Nulls, labels, no values at all, and undeclared codes of domains of these sizes."""
    check_nulls(make(10))
    check_labels(make)
    check_empty(make(10))
    for size in sizes:
        check_undeclared(make(size), size)


def check_nulls(mechanism) -> None:
    values = pa.array([1, None, 0, None], pa.int32())
    with pytest.raises(DomainError, match="nulls"):
        mechanism.randomize(values)
    out = mechanism.randomize(values, nulls="public")
    out.validate(full=True)
    assert out.is_null().to_pylist() == [False, True, False, True]
    with pytest.raises(DomainError, match="nulls"):
        mechanism.aggregate(out)
    assert mechanism.aggregate(out.drop_null()).n == 2


def check_empty(mechanism) -> None:
    """No values give no reports, in every container, and no estimate."""
    plain = mechanism.randomize(np.zeros(0, np.int32))
    assert len(plain) == 0
    assert len(mechanism.randomize([])) == 0
    for empty in (pa.array([], pa.int32()), pa.chunked_array([], pa.int32())):
        out = mechanism.randomize(empty)
        assert out.type == mechanism.report_type.arrow_type()
        assert len(out) == 0
        assert mechanism.aggregate(out).n == 0
    counts = mechanism.aggregate(plain)
    assert counts.n == 0
    assert not counts.support.any()
    with pytest.raises(ParameterError, match="no reports"):
        mechanism.estimate(counts)


def check_undeclared(mechanism, k: int) -> None:
    """Codes outside the domain are refused wherever they stand, and not named."""
    for bad in (-1, k, 2**31 - 1):
        for place in (0, 4_321, 4_999):
            values = np.zeros(5_000, np.int32)
            values[place] = bad
            with pytest.raises(DomainError, match="declared domain") as caught:
                mechanism.randomize(values)
            assert str(bad) not in str(caught.value)
    with pytest.raises(SchemaError):
        mechanism.randomize(np.zeros(3))


def check_labels(make) -> None:
    """Labels give the reports of their codes, from every container; undeclared ones are not named."""
    labels = ["cold", "flu", "none"]
    mechanism = make(labels)
    codes = np.arange(1_000) % 3
    values = [labels[i] for i in codes]
    expected = make(3).randomize(codes, rng=seeded())
    for container in (values, tuple(values), np.array(values), np.array(values, object)):
        assert same(mechanism.randomize(container, rng=seeded()), expected)
    shuffled = pa.DictionaryArray.from_arrays(
        pa.array([{"none": 0, "cold": 1, "flu": 3}[v] for v in values]), ["none", "cold", "SECRET", "flu"]
    )
    arrow = make(3).randomize(pa.array(codes), rng=seeded())
    for container in (pa.array(values), pa.array(values, pa.large_string()), shuffled):
        assert mechanism.randomize(container, rng=seeded()).equals(arrow)
    with pytest.raises(DomainError) as caught:
        mechanism.randomize(["SECRET"])
    assert "SECRET" not in str(caught.value)


def check_foreign_reports(mechanism) -> None:
    """Reports of another type or container are refused."""
    for foreign in (np.zeros(3), np.zeros((2, 2, 2), np.uint16), [1, 2], "abc", pa.array(["a"]), None):
        with pytest.raises(SchemaError):
            mechanism.aggregate(foreign)


def check_estimates(
    mechanism, k: int, *, runs: int = 400, n: int = 2_000, extra: float = 0.0, slack: float = 1.0
) -> None:
    """Mean within 4 standard errors of the truth, and the variance within 3 of the closed form."""
    values = np.repeat([0, 1], [n // 4, n - n // 4])
    rng = seeded()
    estimates = np.array([mechanism.estimate(mechanism.randomize(values, rng=rng)).frequencies for _ in range(runs)])
    truth = np.bincount(values, minlength=k) / n
    for x in (0, 1, k - 1):
        # Values are fixed, so the variance has no sampling part: q(1-q) for others, p(1-p) for holders of x.
        p, q = mechanism.p, mechanism.q
        variance = (truth[x] * p * (1 - p) + (1 - truth[x]) * q * (1 - q)) / (n * (p - q) ** 2) + extra
        assert abs(estimates[:, x].mean() - truth[x]) < 4 * math.sqrt(variance / runs)
        assert abs(estimates[:, x].var() / variance - 1) < 3 * math.sqrt(2 / runs) * slack
