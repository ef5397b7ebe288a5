"""Federated sums: the modulus, the noise of the sum, dropouts, and both costs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import chi2

import fastdp as fd
from fastdp.learning import DiscreteGaussianSum, SkellamSum, simulate
from fastdp.learning.federated import tau

KINDS = [DiscreteGaussianSum, SkellamSum]


def make(kind, **parameters):
    return kind(**{"clients": 50, "clip": 1.0, "dimension": 400, "noise_multiplier": 3.0, "delta": 1e-6, **parameters})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bits", [20, 32])
def test_sum__has_the_noise_of_its_clients(kind, bits):
    total = make(kind, bits=bits)
    zero = np.zeros(400)
    noise = np.concatenate([
        total.decode(total.add(total.message(zero, rng=fd.Rng.unsafe_seed(run).child(i)) for i in range(50)))
        for run in range(5)
    ])  # fmt: skip
    spread = (noise**2).sum() / total.std_error**2
    assert total.std_error == pytest.approx(3.0, rel=0.01)
    assert 1e-3 < chi2.cdf(spread, noise.size) < 1 - 1e-3
    assert chi2.cdf(spread * 0.9**2, noise.size) < 1e-3  # a tenth less noise is seen


@pytest.mark.parametrize("kind", KINDS)
def test_sum__of_updates_that_all_agree_fits_the_modulus(kind):
    """The worst case of overflow: every client sends the whole clip in one coordinate, either way."""
    for sign in (1, -1):
        total = make(kind, dimension=2, bits=20)
        update = np.array([sign, 0.0])
        found = total.decode(total.add(total.message(update, rng=fd.Rng.unsafe_seed(i)) for i in range(50)))
        assert found == pytest.approx([50 * sign, 0], abs=6 * total.std_error)


@pytest.mark.parametrize("kind", KINDS)
def test_messages__are_below_the_modulus_and_add_up_in_any_order(kind):
    total = make(kind, bits=20)
    source = np.random.default_rng(1)
    messages = [total.message(source.standard_normal(400), rng=fd.Rng.unsafe_seed(i)) for i in range(50)]
    assert max(int(message.max()) for message in messages) < 1 << 20
    assert np.array_equal(total.add(messages), total.add(messages[::-1]))
    assert np.array_equal(total.add(messages), total.add([total.add(messages[:20]), total.add(messages[20:])]))


@pytest.mark.parametrize("kind", KINDS)
def test_privacy__of_the_sum_and_of_a_message(kind):
    total = make(kind, least=40)
    gaussian = 1 / (2 * 3.0**2)  # of a Gaussian with the same variance, for the sum of the fewest
    if kind is DiscreteGaussianSum:
        assert total.privacy.rho == pytest.approx(gaussian, rel=1e-6)
        assert total.message_privacy.rho == pytest.approx(4 * 40 * gaussian, rel=1e-6)
    else:
        at_gaussian = fd.Privacy(rho=gaussian).epsilon_at(1e-6)
        assert at_gaussian < total.privacy.epsilon < 1.1 * at_gaussian
        assert total.message_privacy is None or total.message_privacy.epsilon > 10 * total.privacy.epsilon
    local = make(kind, local=True)
    assert local.message_privacy.epsilon_at(1e-6) == pytest.approx(fd.Privacy(rho=gaussian).epsilon_at(1e-6), rel=0.1)
    assert local.std_error > 10 * total.std_error


def test_fewer_clients__cost_more():
    costs = [make(DiscreteGaussianSum, least=least).privacy.rho for least in (50, 25)]
    assert costs == pytest.approx([1 / 18, 1 / 18], rel=1e-6)  # the noise is dealt out for the fewest
    errors = [make(DiscreteGaussianSum, least=least).std_error for least in (50, 25)]
    assert errors[1] == pytest.approx(errors[0] * math.sqrt(2), rel=1e-4)


def test_oracle_44__tau():
    assert tau(1.0, 10) == pytest.approx(5.43524258162e-4, rel=1e-8)
    assert tau(3.0, 1000) < 1e-34


def test_simulation__of_1000_clients_with_dropouts():
    source = np.random.default_rng(2)
    updates = source.standard_normal((1000, 50)) / 10 + 0.05
    total = SkellamSum(clients=1000, clip=1.0, dimension=50, noise_multiplier=5.0, bits=24, least=850, delta=1e-6)
    done = simulate(total, updates, dropout=0.1, rng=fd.Rng.unsafe_seed(3))
    assert 850 <= done.stayed < 950
    error = done.mean - done.truth
    assert np.abs(error).max() < 6 * total.std_error / done.stayed + total.resolution
    assert np.abs(error).mean() > 0.3 * total.std_error / done.stayed  # there is noise
    with pytest.raises(fd.ParameterError, match="fewer than the 850"):
        simulate(total, updates, dropout=0.3, rng=fd.Rng.unsafe_seed(3))


@pytest.mark.parametrize(
    ("parameters", "match"),
    [({"clients": 0}, "clients"), ({"clip": -1}, "clip"), ({"bits": 63}, "bits"), ({"bits": 4}, "no room"),
     ({"least": 51}, "least"), ({"delta": 2}, "delta"), ({"dimension": 1.5}, "dimension")],
)  # fmt: skip
@pytest.mark.parametrize("kind", KINDS)
def test_parameters__are_checked(kind, parameters, match):
    with pytest.raises(fd.ParameterError, match=match):
        make(kind, **parameters)


def test_parameters__that_only_one_kind_checks():
    with pytest.raises(fd.ParameterError, match="use SkellamSum"):
        make(DiscreteGaussianSum, bits=8)
    with pytest.raises(fd.ParameterError, match="give delta"):
        _ = make(SkellamSum, delta=None).privacy
    with pytest.raises(fd.SchemaError, match="vector of 400"):
        make(SkellamSum).message(np.zeros(3))
    with pytest.raises(fd.SchemaError, match="updates"):
        simulate(make(SkellamSum), np.zeros((3, 3)))


def test_message__of_an_update_that_is_not_finite_is_noise_alone():
    total = make(SkellamSum, dimension=2)
    bad = total.message(np.array([math.nan, 1.0]), rng=fd.Rng.unsafe_seed(1))
    zero = total.message(np.zeros(2), rng=fd.Rng.unsafe_seed(1))
    assert np.array_equal(bad, zero)
