"""Reports of k-ary randomized response, draw by draw."""

from __future__ import annotations

import numpy as np
import pytest

import fastdp as fd
from fastdp.laws.local.krr import build_bounds
from tests.generators import each_generator
from tests.mechanisms.report_checks import key_of, seeded
from tests.reference.cells import PRIVATE
from tests.reference.keystream import Private
from tests.reference.krr import KEEP, entry


@each_generator
@pytest.mark.parametrize(
    ("k", "epsilon"), [(3, 0.3), (126, 1.3), (10, 9.0), (127, 1.3), (1000, 6.0), (65_536, 0.5), (65_536, 14.0)]
)
def test_krr__agrees_with_plain_python(k, epsilon, generator):
    """Bit for bit: 16 or 24 bits from the planes, the others from the private stream, against exact shares."""
    mechanism = fd.KRR(epsilon=epsilon, domain=k)
    rng = seeded(generator=generator)
    key = key_of(rng)
    values = np.arange(20_000) % k
    reports = mechanism.randomize(values, rng=rng)
    keep = int(mechanism._law.keep * 2**128)
    for slot in range(values.size):
        report, _ = entry(key, slot, keep, k, Private(key, slot, PRIVATE))
        assert reports[slot] == (values[slot] if report == KEEP else report)


@pytest.mark.parametrize(
    ("k", "epsilon"),
    [
        *[(2, 0.01), (2, 5.0), (3, 1.0), (10, 1.0), (97, 40.0), (100, 0.5), (126, 3.0)],
        *[
            (127, 1.0),
            (128, 0.001),
            (1000, 1.0),
            (1000, 12.0),
            (4096, 0.01),
            (65_536, 0.5),
            (65_536, 16.0),
            (127, 40.0),
        ],
    ],
)
def test_krr__decides_every_draw_as_its_exact_shares_do(k, epsilon):
    """All 2**16 or 2**24 draws: one that is not flagged lies wholly within its report's share; less margin fails."""
    bounds = build_bounds(fd.KRR(epsilon=epsilon, domain=k)._law)
    starts = [int(high) << 64 | int(low) for high, low in zip(bounds.high, bounds.low, strict=True)]
    bits, one = int(bounds.bits), 1 << int(bounds.shift)
    edge = starts[0] >> 128 - bits
    draws = np.arange(edge + 1, 1 << bits, dtype=np.uint64)
    product = (draws - np.uint64(edge + 1)) * bounds.slope
    assert product.max(initial=0) < 2 ** (32 if bits == 16 else 64)
    firsts = np.array([start >> 128 - bits for start in starts[:-1]])
    lowest = np.searchsorted(firsts, draws.astype(np.int64), side="left") - 1
    highest = np.searchsorted(firsts, draws.astype(np.int64), side="right") - 1
    right = ((product >> bounds.shift).astype(np.int64) == lowest) & (lowest == highest)

    def is_flagged(margin):
        return (product & np.uint64(one - 1)) >= np.uint64(one - margin)

    assert (is_flagged(int(bounds.margin)) | right).all()
    if (~right).any():
        assert not (is_flagged(int(bounds.margin) // 4) | right).all()
