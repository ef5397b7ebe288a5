"""Every interval of a protocol covers: driven by the contract's list, so that a new one cannot go untested."""

from __future__ import annotations

import numpy as np
import pytest

import fastdp as fd
from tests.contracts.protocols import PROTOCOLS

REPETITIONS, PEOPLE = 80, 400
LEAST = 0.90
"""Of all intervals together. Values of one sample are not independent; 80 samples of 95 % fall below this by chance
less than once in a thousand lists."""


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: protocol.name)
def test_intervals__of_every_protocol_cover(protocol):
    """The frequencies of a protocol, and what :func:`fastdp.estimate` makes of its reports where it takes them."""
    mechanism = protocol.make(1.5, protocol.domain(4))
    size = protocol.domain(4)
    truth = np.array([0.6, 0.3, 0.1, 0.0])[:size] / np.array([0.6, 0.3, 0.1, 0.0])[:size].sum()
    source, rng = np.random.default_rng(7), fd.Rng.unsafe_seed(7) if protocol.rng else None
    own, restored = [], []
    for repetition in range(REPETITIONS):
        values = source.choice(size, PEOPLE, p=truth)
        values = values.astype(bool) if protocol.bools else values.astype(np.int32)
        reports = protocol.randomize(mechanism, values, rng=rng, first=repetition * PEOPLE)
        own.append(covers(mechanism.estimate(reports), truth))
        if repetition < REPETITIONS // 4:
            restored.append(covers(fd.estimate(mechanism, reports, progress=False), truth))
    assert np.mean(own) >= LEAST
    assert np.mean(restored) >= LEAST - 0.05


def covers(found, truth):
    low, high = found.interval(0.95)
    return (low - 1e-9 <= truth) & (truth <= high + 1e-9)


def test_half_as_wide__is_caught():
    """The mutant: intervals at half their width cover some 67 %."""
    mechanism, source, rng = fd.KRR(epsilon=1.5, domain=4), np.random.default_rng(7), fd.Rng.unsafe_seed(7)
    truth, inside = np.array([0.6, 0.3, 0.1, 0.0]), []
    for _ in range(REPETITIONS):
        found = mechanism.estimate(mechanism.randomize(source.choice(4, PEOPLE, p=truth).astype(np.int32), rng=rng))
        low, high = found.interval(0.95)
        inside.append(np.abs(truth - (low + high) / 2) <= (high - low) / 4)
    assert np.mean(inside) < LEAST - 0.05
