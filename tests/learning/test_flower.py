"""Flower: its own strategy, with messages in the place of weights."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import fastdp as fd
from fastdp.learning import flower_message, flower_strategy

WEIGHTS = [np.zeros((3, 2), np.float32), np.zeros(4, np.float32)]
CLIENTS, LEAST = 60, 50


def make():
    return fd.learning.SkellamSum(
        clients=CLIENTS, clip=1.0, dimension=10, noise_multiplier=0.5, bits=30, least=LEAST, delta=1e-6
    )


def test_message__is_that_of_the_change():
    total, rng = make(), fd.Rng.unsafe_seed
    after = [part + 0.01 for part in WEIGHTS]
    (found,) = flower_message(total, WEIGHTS, after, rng=rng(1))
    assert np.array_equal(found, total.message(np.full(10, np.float32(0.01), np.float64), rng=rng(1)))


def test_missing_flower__is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "flwr.server.strategy", None)
    with pytest.raises(fd.FastDPError, match=r"fastdp\[flower\]"):
        flower_strategy(make(), WEIGHTS)


def answers(total, count):
    from flwr.common import Code, FitRes, Status, ndarrays_to_parameters

    after = [part + 0.1 for part in WEIGHTS]
    return [
        (None, FitRes(Status(Code.OK, ""), ndarrays_to_parameters(
            flower_message(total, WEIGHTS, after, rng=fd.Rng.unsafe_seed(client))), 1, {}))
        for client in range(count)
    ]  # fmt: skip


def test_round__moves_the_weights_by_the_noisy_mean():
    common = pytest.importorskip("flwr.common", reason="flwr is not installed")
    total = make()
    strategy = flower_strategy(total, WEIGHTS, learning_rate=2.0)
    parameters, metrics = strategy.aggregate_fit(1, answers(total, 55), [])
    found = common.parameters_to_ndarrays(parameters)
    assert [part.shape for part in found] == [(3, 2), (4,)]
    assert metrics == {"answers": 55}
    assert all(np.abs(part - 0.2).max() < 2 * 5 * total.std_error / 55 for part in found)
    assert any(np.abs(part - 0.2).max() > 1e-6 for part in found)


def test_round_of_too_few__is_not_decoded():
    pytest.importorskip("flwr.common", reason="flwr is not installed")
    total = make()
    strategy = flower_strategy(total, WEIGHTS)
    assert strategy.aggregate_fit(1, answers(total, LEAST - 1), []) == (None, {"answers": LEAST - 1})
    assert not any(part.any() for part in strategy.weights)


def test_weights__must_be_those_of_the_sum():
    pytest.importorskip("flwr.common", reason="flwr is not installed")
    with pytest.raises(fd.SchemaError, match="coordinates"):
        flower_strategy(make(), WEIGHTS[:1])
