"""The laws of clamped, folded and redrawn noise, against what the mechanisms draw; and what the check would catch."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chisquare

import fastdp as fd
from fastdp.tables.estimating.bounded_noise import BoundedNoise, Noise

MECHANISMS = {
    "laplace": fd.Laplace(epsilon=1, sensitivity=10, bounds=(0, 10)),
    "laplace-coarse": fd.Laplace(epsilon=1, sensitivity=10, bounds=(0, 10), granularity=0.5),
    "laplace-fold": fd.Laplace(epsilon=1, sensitivity=10, bounds=(0, 10), boundary="fold"),
    "laplace-resample": fd.Laplace(epsilon=1, sensitivity=10, bounds=(0, 10), boundary="resample"),
    "geometric": fd.Geometric(epsilon=1, sensitivity=12, bounds=(3, 15)),
    "geometric-wide": fd.Geometric(epsilon=1, sensitivity=5, bounds=(-1000, 1000)),
    "geometric-fold": fd.Geometric(epsilon=1, sensitivity=12, bounds=(3, 15), boundary="fold"),
    "geometric-resample": fd.Geometric(epsilon=1, sensitivity=12, bounds=(3, 15), boundary="resample"),
    "gaussian": fd.Gaussian(epsilon=1, delta=1e-5, sensitivity=10, bounds=(0, 10)),
    "discrete-gaussian": fd.DiscreteGaussian(rho=0.5, sensitivity=12, bounds=(3, 15)),
    "staircase": fd.Staircase(epsilon=2, sensitivity=10, bounds=(0, 10)),
    "staircase-coarse": fd.Staircase(epsilon=2, sensitivity=10, bounds=(0, 10), granularity=0.5),
}
DRAWS = 200_000


def drawn(mechanism, steps: BoundedNoise, place: float):
    value = steps.low + place * steps.unit
    values = np.full(DRAWS, int(value) if steps.whole else value)
    return steps.locate(mechanism.randomize(values, rng=fd.Rng.unsafe_seed(6)))


def fits(counts: np.ndarray, probabilities: np.ndarray) -> bool:
    """Whether counts follow probabilities; those that are hardly ever seen count as one."""
    often = probabilities * counts.sum() > 10
    seen = np.append(counts[often], counts[~often].sum())
    expected = np.append(probabilities[often], probabilities[~often].sum()) * counts.sum()
    kept = expected > 10
    return chisquare(seen[kept], expected[kept] * seen[kept].sum() / expected[kept].sum()).pvalue > 1e-4


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_probabilities__are_those_of_the_draws(name, share):
    """Also the mean that results have."""
    mechanism = MECHANISMS[name]
    steps = BoundedNoise.of(mechanism)
    place = float(share * steps.width // 1)
    results, ranges = drawn(mechanism, steps, place)
    counts = np.bincount(ranges, minlength=steps.edges.size - 1)
    (found,) = steps.probabilities(np.array([place]))
    assert found.sum() == pytest.approx(1, abs=1e-9)
    assert found.min() > -1e-12
    assert fits(counts, found)
    shift = steps.shift(np.array([place]))
    if shift is not None:
        assert abs(results.mean() - place - shift[0]) < 4 * results.std() / DRAWS**0.5


@pytest.mark.parametrize("name", ["laplace", "geometric", "gaussian", "staircase", "discrete-gaussian"])
def test_probabilities__of_other_noise_are_caught(name):
    """The mutant is noise a quarter wider."""
    mechanism = MECHANISMS[name]
    steps = BoundedNoise.of(mechanism)
    _, ranges = drawn(mechanism, steps, 0.0)
    wider = Noise(lambda z: steps.noise.below(np.rint(z / 1.25)), steps.noise.excess)
    mutant = replace(steps, noise=wider)
    (found,) = mutant.probabilities(np.zeros(1))
    assert not fits(np.bincount(ranges, minlength=found.size), np.maximum(found, 0))


@pytest.mark.parametrize("name", ["geometric", "geometric-fold", "geometric-resample", "discrete-gaussian"])
def test_probabilities__are_the_channel_of_integers(name):
    mechanism = MECHANISMS[name]
    steps = BoundedNoise.of(mechanism)
    whole = np.arange(steps.width + 1.0)
    np.testing.assert_allclose(steps.probabilities(whole), mechanism.channel().dense(), atol=1e-9)


@pytest.mark.parametrize("name", [name for name in MECHANISMS if BoundedNoise.of(MECHANISMS[name]).boundary == "clamp"])
def test_shift__is_the_mean_of_the_probabilities(name):
    """Where ranges are single steps, exactly."""
    steps = BoundedNoise.of(MECHANISMS[name])
    values = np.linspace(0, steps.width, 7).round()
    means = steps.probabilities(values) @ steps.middles
    exact = steps.edges.size - 1 == steps.width + 1
    np.testing.assert_allclose(values + steps.shift(values), means, atol=1e-6 if exact else steps.width / 1000)
