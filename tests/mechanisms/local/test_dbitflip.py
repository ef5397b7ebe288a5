"""dBitFlip: uniform questions, answers that stay, numbers in buckets."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import chisquare

import fastdp as fd
from tests.contracts.protocols import KEY


def unpack(field: np.ndarray, k: int) -> np.ndarray:
    return np.unpackbits(field, axis=1, bitorder="little")[:, :k]


@pytest.mark.parametrize(("k", "bits"), [(5, 2), (6, 3), (7, 1), (4, 3)])
def test_questions__are_uniform_sets_whatever_the_value(k, bits):
    """All sets of that size equally often; a mutant that favours low buckets is rejected."""
    mechanism, size = fd.DBitFlip(epsilon=1.0, domain=k, bits=bits), 300_000
    reports = mechanism.randomize(np.arange(size) % k, persons=np.arange(size), key=KEY)
    masks = [sum(1 << v for v in chosen) for chosen in combinations(range(k), bits)]
    seen = np.bincount(reports["asked"][:, 0], minlength=1 << k)
    assert seen[masks].sum() == size
    assert chisquare(seen[masks]).pvalue > 1e-3
    moved = mechanism.randomize((np.arange(size) + 1) % k, persons=np.arange(size), key=KEY)
    assert np.array_equal(moved["asked"], reports["asked"])
    mutant = seen[masks].astype(float)
    mutant[0] *= 1.05
    assert chisquare(mutant, np.full(len(masks), mutant.sum() / len(masks))).pvalue < 1e-3


def test_answers__of_other_buckets_stay_when_the_value_moves():
    """Only the bucket that was left and the one that was entered may change; coming back restores the old answers."""
    k, size = 16, 20_000
    mechanism = fd.DBitFlip(epsilon=0.7, domain=k, bits=k)
    persons = np.arange(size)
    reports = [mechanism.randomize(np.full(size, x), persons=persons, key=KEY) for x in (3, 11, 3)]
    first, second, third = (unpack(report["yes"], k) for report in reports)
    others = [v for v in range(k) if v not in (3, 11)]
    assert np.array_equal(first[:, others], second[:, others])
    assert np.array_equal(first, third)
    changed = (first[:, [3, 11]] != second[:, [3, 11]]).mean(axis=0)
    expected = 2 * mechanism.p * mechanism.q + (mechanism.p - mechanism.q) ** 2  # two independent coins differ
    assert changed == pytest.approx([expected] * 2, abs=0.02)


def test_bounds__cut_numbers_into_equal_buckets():
    """Clamped at both ends, infinities included; the last bucket holds the upper bound."""
    k = 10
    by_code = fd.DBitFlip(epsilon=1.0, domain=k, bits=k)
    by_number = fd.DBitFlip(epsilon=1.0, domain=k, bits=k, bounds=(-5, 5))
    numbers = np.array([-np.inf, -9.0, -5.0, -4.01, -4.0, 0.0, 0.999, 4.0, 4.999, 5.0, 77.0, np.inf])
    codes = np.array([0, 0, 0, 0, 1, 5, 5, 9, 9, 9, 9, 9])
    persons = np.arange(codes.size)
    expected = by_code.randomize(codes, persons=persons, key=KEY)
    for given in (
        numbers,
        numbers.astype(np.float32),
        numbers.tolist(),
        pa.array(numbers),
        pa.chunked_array([numbers]),
    ):
        reports = by_number.randomize(given, persons=persons, key=KEY)
        rows = reports.to_pylist() if not isinstance(reports, np.ndarray) else [
            {"asked": bytes(r["asked"]), "yes": bytes(r["yes"])} for r in reports]  # fmt: skip
        assert [row["yes"] for row in rows] == [bytes(r["yes"]) for r in expected]
    wide = fd.DBitFlip(epsilon=1.0, domain=4, bits=4, bounds=(-1.7e308, 1.7e308))
    assert len(wide.randomize([-1.7e308, 1.7e308, 0.0], persons=[1, 2, 3], key=KEY)) == 3
    for bad in ([np.nan], np.array([1.0, np.nan], np.float32), pa.array([1.0, np.nan])):
        with pytest.raises(fd.DomainError, match="NaN"):
            by_number.randomize(bad, persons=np.arange(len(bad)), key=KEY)


@pytest.mark.parametrize(
    "parameters",
    [{"bits": 0}, {"bits": 11}, {"bits": 2.0}, {"bits": True}, {"bits": None}, {"bounds": (1, 1)},
     {"bounds": (0, np.nan)}, {"bounds": 3}, {"bounds": (0, 1), "domain": ["a", "b"]}],
)  # fmt: skip
def test_parameters__are_refused_when_bad(parameters):
    with pytest.raises(fd.ParameterError, match="DBitFlip"):
        fd.DBitFlip(**{"epsilon": 1.0, "domain": 10, "bits": 2, **parameters})


def test_aggregate__counts_questions_and_answers():
    k = 11
    mechanism = fd.DBitFlip(epsilon=1.0, domain=k, bits=4)
    reports = mechanism.randomize(np.arange(5_000) % k, persons=np.arange(5_000), key=KEY)
    counts = mechanism.aggregate(reports)
    assert np.array_equal(counts.support[0], unpack(reports["yes"], k).sum(axis=0))
    assert np.array_equal(counts.support[1], unpack(reports["asked"], k).sum(axis=0))
    spoiled = reports.copy()
    spoiled["yes"][7] |= ~spoiled["asked"][7] & np.array([255, 7], np.uint8)
    with pytest.raises(fd.InputCorruptError, match="not asked"):
        mechanism.aggregate(spoiled)


def test_estimate__is_infinitely_unsure_where_nobody_was_asked():
    mechanism = fd.DBitFlip(epsilon=1.0, domain=50, bits=1)
    estimate = mechanism.estimate(mechanism.randomize([3], persons=[1], key=KEY))
    assert np.isinf(estimate.std_error).sum() == 49
    assert np.isfinite(estimate.frequencies).all()
