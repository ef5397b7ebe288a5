"""Reports of bounded numbers, draw by draw."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from fastdp.kernels.local.numeric import _threshold
from fastdp.kernels.stream.keystream import fill_plane
from fastdp.mechanisms.local.numeric import Duchi, Hybrid, Piecewise
from fastdp.mechanisms.local.square_wave import SquareWave
from tests.generators import each_generator
from tests.mechanisms.report_checks import key_of, seeded
from tests.reference.cells import HALVES
from tests.reference.numeric import NumericSampler

MEANS = [Duchi, Piecewise, Hybrid]


EVERY = [*MEANS, SquareWave]


each_kind = pytest.mark.parametrize("kind", EVERY)


def test_threshold__stays_between_its_ends_whatever_the_value():
    """Rounding, overflow and infinities included: privacy depends on the two ends alone."""
    source = random.Random(3)
    for _ in range(300):
        low = source.choice([0.0, -1.0, 1e9, -1e300, 2.0**-1000]) * source.random()
        high = low + max(abs(low) * 2.0**-30, 2.0 ** source.randrange(-800, 800))
        if not high - low < 2.0**900:
            continue
        law = Duchi(epsilon=2 ** source.uniform(-10, 4), bounds=(low, high))._kernel[0]
        for value in (low, high, math.nextafter(high, math.inf), -math.inf, math.inf, 1e308, -1e308, 0.0, 5e-324):
            assert law.least <= _threshold(value, law) <= law.most
        assert law.least * 2**37 == int(law.least * 2**37)
        assert law.most == 65536 - law.least
        assert _threshold(low, law) == law.least
        assert _threshold(high, law) == pytest.approx(law.most, rel=1e-12)


@each_generator
@pytest.mark.parametrize("epsilon", [2.0**-8, 0.7, 2.0, 9.0, 20.0])
@each_kind
def test_randomize__agrees_with_plain_python(kind, epsilon, generator):
    """Bit for bit, values beyond the bounds and lanes that are finished late included."""
    mechanism = kind(epsilon=epsilon, bounds=(-3, 5), **({"bins": 1 << 14} if kind is SquareWave else {}))
    rng = seeded(generator=generator)
    key = np.array(key_of(rng), np.uint32)
    size = 1 << 20
    raw = np.zeros(size // 2, np.uint32)
    fill_plane(key, np.uint32(HALVES), np.uint64(0), np.zeros(16, np.uint64), raw)
    halves = raw.view(np.uint16).astype(np.int64)

    sampler = NumericSampler(mechanism, key)
    two_point, window = mechanism._kernel
    values = np.random.default_rng(1).uniform(-4, 6, size)
    values[:6] = [-math.inf, math.inf, -3.0, 5.0, 1e308, math.nextafter(5.0, 0.0)]
    meeting = np.flatnonzero((halves > two_point.least) & (halves < two_point.most))[:400]
    values[meeting] = (
        halves[meeting] + 0.5 - two_point.least
    ) / two_point.slope - 3  # thresholds that these leave open
    late = np.flatnonzero(halves == int(window.edge))
    touched = {*range(1000, 1200), *late.tolist()}
    for slot in touched:  # windows that start where the draw from outside them falls
        values[slot] = sampler.outer(slot, slot in late) / window.slope - 3
    reports = mechanism.randomize(values, rng=rng)

    found = 0
    for slot in {*range(2_000), *meeting.tolist(), *touched}:
        report, is_late = sampler.draw(slot, float(values[slot]))
        assert reports[slot] == report
        found += is_late
    assert found >= (200 if kind is Duchi else 1)
