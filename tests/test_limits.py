"""Parameters at and beyond what the samplers can do: refused, or right; never silently wrong."""

from __future__ import annotations

import math
import random
from typing import NamedTuple

import mpmath
import numpy as np
import pytest

import fastdp as fd
from fastdp.channels import DenseChannel
from fastdp.laws.central.gaussian import delta_of

REFUSED = [
    # Noise wider or narrower than the samplers resolve, reached through a grid coarser than the sensitivity.
    lambda: fd.Gaussian(rho=2.0**-80, sensitivity=1.0, granularity=2.0**20),
    lambda: fd.Laplace(epsilon=np.array([1.0, 2.0**-42]), sensitivity=1.0, granularity=2.0**20),
    lambda: fd.Laplace(epsilon=np.array([1e-13, 1.0]), sensitivity=np.array([1.0, 1e20])),
    lambda: fd.Gaussian(rho=np.full(3, 2.0**-64), sensitivity=1.0, granularity=2.0**10),
    lambda: fd.Gaussian(scale=1.0, sensitivity=1.0, granularity=1024.0),
    lambda: fd.Gaussian(rho=5000.0, sensitivity=1.0, granularity=1.0),
    lambda: fd.Laplace(scale=1.0, sensitivity=1.0, granularity=1024.0),
    lambda: fd.Geometric(epsilon=np.array([1e-12, 1.0])),
    # Stairs without number, or too steep to try.
    lambda: fd.Staircase(epsilon=1e-3, sensitivity=1.0),
    lambda: fd.Staircase(epsilon=[1e-3, 1.0], sensitivity=1.0),
    # Deltas that the draws' own distance from their law uses up.
    lambda: fd.Gaussian(epsilon=50.0, delta=1e-9, sensitivity=1.0),
    lambda: fd.DiscreteGaussian(epsilon=40.0, delta=1e-13),
    lambda: fd.Gaussian(epsilon=20.0, delta=1e-24, sensitivity=1.0),
    # Numbers beyond float64.
    lambda: fd.Laplace(epsilon=1e-300, sensitivity=1e300),
    lambda: fd.Laplace(scale=1e300, sensitivity=1e-300),
    lambda: fd.Laplace(scale=1e-300, sensitivity=1e300),
    lambda: fd.Laplace(epsilon=[1e-300], sensitivity=[1e300]),
    lambda: fd.Laplace(epsilon=10**400, sensitivity=1.0),
    lambda: fd.Geometric(epsilon=1.0, sensitivity=10**400),
    lambda: fd.Laplace(epsilon=1.0, sensitivity=1.0, bounds=(0, 10**400)),
    lambda: fd.Laplace(epsilon=1.0, sensitivity=1e-280, bounds=(0, 1e30)),
    lambda: fd.Laplace(epsilon=1.0, sensitivity=1.0, bounds=(1e15, 1e15 + 1)),
    # Arrays that hold no numbers.
    lambda: fd.Laplace(epsilon=["1.0", "2"], sensitivity=1.0),
    lambda: fd.Laplace(epsilon=[True, True], sensitivity=1.0),
    lambda: fd.Laplace(epsilon=np.array([1.0 + 1j]), sensitivity=1.0),
    lambda: fd.Laplace(epsilon=np.ma.array([1.0, 2.0], mask=[True, False]), sensitivity=1.0),
]


class Pair(NamedTuple):
    a: float
    b: float


@pytest.mark.parametrize("make", REFUSED)
def test_parameters__beyond_the_samplers_are_refused(make):
    with pytest.raises(fd.ParameterError):
        make()


@pytest.mark.parametrize("seed", range(4))
def test_noise__is_what_it_says_for_random_parameters(seed):
    """Whatever is accepted has the stated variance and a guarantee no worse than asked; nothing hangs."""
    source = random.Random(seed)
    accepted = 0
    for _ in range(60):
        epsilon, sensitivity = 2 ** source.uniform(-45, 6), 2 ** source.uniform(-30, 30)
        grid = source.choice([None, 2.0 ** source.randrange(-40, 40)])
        kind = source.randrange(6)
        count = 500
        each = np.full(count, epsilon)
        try:
            if kind == 0:
                mechanism = fd.Laplace(epsilon=epsilon, sensitivity=sensitivity, granularity=grid)
            elif kind == 1:
                mechanism = fd.Laplace(epsilon=each, sensitivity=sensitivity, granularity=grid)
            elif kind == 2:
                mechanism = fd.Gaussian(rho=epsilon, sensitivity=sensitivity, granularity=grid)
            elif kind == 3:
                mechanism = fd.Gaussian(rho=each, sensitivity=sensitivity, granularity=grid)
            elif kind == 4:
                mechanism = fd.Staircase(epsilon=min(epsilon, 6.0), sensitivity=sensitivity, granularity=grid)
            else:
                mechanism = fd.Gaussian(epsilon=epsilon, delta=1e-7, sensitivity=sensitivity, granularity=grid)
        except fd.ParameterError:
            continue
        accepted += 1
        noise = mechanism.randomize(np.zeros(count), rng=fd.Rng.unsafe_seed(seed)) / math.sqrt(
            np.mean(mechanism.variance)
        )
        # Fourth moments of these laws are below 25 where the variance is not tiny; six standard errors.
        tiny = np.mean(mechanism.variance) < 20 * mechanism.granularity**2
        assert tiny or abs(np.mean(noise**2) - 1) < 6 * math.sqrt(25 / count)
        privacy = mechanism.privacy
        asked = min(epsilon, 6.0) if kind == 4 else epsilon
        assert (privacy.epsilon or privacy.rho) <= asked
    assert accepted > 10


@pytest.mark.parametrize("epsilon", [1e-9, 1e-7, 1e-5, 1e-3, 0.01, 0.3, 3.0, 12.0])
@pytest.mark.parametrize("delta", [1e-24, 1e-20, 1e-12, 1e-6, 0.1])
def test_gaussian__states_no_more_delta_than_asked(epsilon, delta):
    """Never above, and nearly met; also where both tails nearly cancel."""
    if 4 * 2.0**-100 * (1 + math.exp(epsilon)) > delta:
        with pytest.raises(fd.ParameterError, match="resolution"):
            fd.Gaussian(epsilon=epsilon, delta=delta, sensitivity=1.0)
        return
    stated = fd.Gaussian(epsilon=epsilon, delta=delta, sensitivity=1.0).privacy.delta
    assert delta * (1 - 1e-6) <= stated <= delta


def test_gaussian__keeps_delta_for_each_record():
    """The stated delta is that of the request; here it is computed for each record's own sigma and shift."""
    mechanism = fd.Gaussian(epsilon=[0.3, 1.0, 2.0, 0.3], delta=1e-6, sensitivity=[1.0, 1.5, 2.0, 3.0])
    for epsilon, sigma, steps in zip(mechanism.epsilon.values, mechanism._law.sigma, mechanism._steps, strict=True):
        assert delta_of(float(epsilon), float(sigma), int(steps)) <= 1e-6


@pytest.mark.parametrize("epsilon", [3e-8, 1e-6, 1e-3, 0.4, 3.0])
@pytest.mark.parametrize("width", [3.3, 10.0])
def test_resample__states_no_less_than_it_costs(epsilon, width):
    """Against the exact expression at 60 digits."""
    mechanism = fd.Laplace(
        epsilon=epsilon, sensitivity=1.0, bounds=(0, width), boundary="resample", granularity=2.0**-8
    )
    rate, steps, size = mechanism._law.law.rate, mechanism._steps, mechanism._law.width
    with mpmath.workdps(60):
        r = mpmath.mpf(rate.numerator) / mpmath.mpf(2) ** rate.shift

        def mass(place):
            return mpmath.fsum([1, -mpmath.exp(-r * (place + 1)), mpmath.exp(-r), -mpmath.exp(-r * (size - place + 1))])

        truth = max(r * d + mpmath.log(mass(d) / mass(0)) for d in (1, steps // 2, min(steps, size)))
        assert truth <= mechanism.privacy.epsilon <= epsilon


def test_channel_epsilon__sees_what_is_certain():
    """An output that only one input can give is infinitely revealing; far entries that underflow are not zero."""
    assert DenseChannel(np.eye(3)).epsilon() == math.inf
    assert DenseChannel(np.full((3, 3), 1 / 3)).epsilon() == 0.0
    assert DenseChannel(np.array([[0.5, 0.5, 0.0], [0.25, 0.75, 0.0]])).epsilon() == pytest.approx(math.log(2))
    assert fd.Geometric(epsilon=40.0, bounds=(0, 100)).channel().epsilon(1) == pytest.approx(40.0)
    assert fd.Geometric(epsilon=10.0, bounds=(0, 200)).channel().epsilon(2) == pytest.approx(20.0)
    for x in (-1, 3):
        with pytest.raises(fd.ParameterError, match="input"):
            DenseChannel(np.eye(3)).row(x)


def test_scale__is_kept_and_its_cost_stated():
    """A scale that was asked for is the scale of the noise, also on a coarse grid."""
    mechanism = fd.Laplace(scale=1.0, sensitivity=1e-3, granularity=0.5)
    assert mechanism.scale == pytest.approx(1.0, rel=1e-9)
    assert mechanism.privacy.epsilon == pytest.approx(0.5, rel=1e-6)  # one whole step, not a thousandth
    assert fd.Gaussian(scale=1.0, sensitivity=1e-3, granularity=0.5).scale == pytest.approx(1.0, rel=1e-9)


def test_large_values__stay_what_they_are():
    """Where a value's own digits are coarser than the noise, nothing overflows on the way to the grid."""
    out = fd.Laplace(epsilon=1.0, sensitivity=1e-280).randomize(np.full(8, 1e30))
    assert (out == 1e30).all()


def test_float32__stays_within_bounds_it_cannot_hold():
    mechanism = fd.Laplace(epsilon=1.0, sensitivity=1.0, bounds=(0, 0.1), granularity=2.0**-36)
    out = mechanism.randomize(np.full(1000, 0.05, np.float32))
    assert float(out.max()) <= 0.1
    assert float(out.max()) > 0.0999


def test_python_integers__beyond_2_53_are_refused():
    mechanism = fd.Laplace(epsilon=1.0, sensitivity=1.0, granularity=1.0)
    for values in (2**53 + 1, [2**53 + 1], [2**53 + 1, 0.5], (1.0, -(2**60))):
        with pytest.raises(fd.DomainError, match=r"2\*\*53"):
            mechanism.randomize(values)


@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_odd_containers():
    """Subclasses of numpy's array and of tuples come back as the plain kind."""
    mechanism = fd.Laplace(epsilon=1.0, sensitivity=1.0)
    for matrix in (np.matrix([[1.0, 2.0]]), np.asfortranarray(np.ones((2, 3))).view(np.matrix)):
        assert mechanism.randomize(matrix).shape == matrix.shape
    assert type(mechanism.randomize(Pair(1.0, 2.0))) is tuple
    with pytest.raises(fd.SchemaError):
        mechanism.randomize([True, 2.0])
