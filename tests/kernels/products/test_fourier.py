"""Fourier transforms: against numpy's, at every length up to 130 and some larger, and what they keep."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fastdp.kernels.jit import kernel
from fastdp.kernels.products.fourier import Transform, transform, transform_back, transform_back_real, transform_real
from fastdp.kernels.products.vectors import LANES, address


def smooth(length):
    for prime in (2, 3, 5):
        while length % prime == 0:
            length //= prime
    return length == 1


LENGTHS = [*filter(smooth, range(2, 131)), 200, 243, 500, 625, 1000, 1024, 1500]


@kernel
def _run(stages, factors, back, real, source, target):
    count, places = len(stages), (address(stages), address(factors))
    if back and real:
        transform_back_real(places[0], count, places[1], address(source), address(target))
    elif back:
        transform_back(places[0], count, places[1], address(source), address(target))
    elif real:
        transform_real(places[0], count, places[1], address(source), address(target))
    else:
        transform(places[0], count, places[1], address(source), address(target))


def run(plan, values, *, back=False, real=False, factors=None):
    """The transform of columns, a vector's at a time."""
    if values.shape[1] % LANES:
        wide = np.pad(values, ((0, 0), (0, -values.shape[1] % LANES)))
        return run(plan, wide, back=back, real=real, factors=factors)[:, : values.shape[1]]
    out = []
    for block in np.split(values, values.shape[1] // LANES, axis=1):
        whole = np.stack((block.real, block.imag), axis=1)
        source = np.ascontiguousarray(block.real) if real and not back else whole
        target = np.full((len(values), 1 if real and back else 2, LANES), np.nan)
        _run(plan.stages, plan.factors if factors is None else factors, back, real, source, target)
        out.append(target[:, 0] if real and back else target[:, 0] + 1j * target[:, 1])
    return np.concatenate(out, axis=1)


def columns(length, width, *, seed=1):
    source = np.random.default_rng([seed, length, width])
    return source.normal(size=(length, width)) + 1j * source.normal(size=(length, width))


def expected(plan, x):
    """Four times as many values as there are roots, by numpy, and of them those at the roots."""
    return np.fft.fft(x, 4 * plan.length, axis=0)[plan.turns]


def error(got, want):
    """In parts of the mean length, for each doubling."""
    return np.abs(got - want).max() / np.sqrt(np.mean(np.abs(want) ** 2)) / math.log2(len(want))


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("width", [1, 5, 24])
def test_transform__agrees_with_numpy(length, width):
    x = columns(length, width)
    for quarter in range(4):
        plan = Transform(length, quarter)
        assert sorted(plan.turns) == list(range(quarter, 4 * length, 4))
        want = expected(plan, x)
        assert error(run(plan, x), want) < 1e-15
        assert error(run(plan, x.real, real=True), expected(plan, x.real)) < 1e-15
        assert error(run(plan, want, back=True), length * x) < 1e-15
        assert error(run(plan, want, back=True, real=True), length * x.real) < 1.5e-15


def test_transform__is_numpys_in_another_order():
    plan, x = Transform(60, 0), columns(60, 3)
    ordered = np.empty((60, 3), np.complex128)
    ordered[plan.turns // 4] = run(plan, x)
    assert np.allclose(ordered, np.fft.fft(x, axis=0), atol=1e-13)


@pytest.mark.parametrize("length", [3, 16, 50, 81, 128])
def test_transform__keeps_lengths_and_has_its_inverse_as_adjoint(length):
    """Parseval's identity, and <F x, y> = <x, F* y>."""
    x, y = columns(length, 8), columns(length, 8, seed=2)
    plan = Transform(length, 1)
    image = run(plan, x)
    assert np.sum(np.abs(image) ** 2) == pytest.approx(length * np.sum(np.abs(x) ** 2), rel=1e-14)
    assert np.vdot(y, image) == pytest.approx(np.vdot(run(plan, y, back=True), x), rel=1e-12)


def test_transform__keeps_columns_apart():
    x = columns(100, LANES)
    want = run(Transform(100, 1), x)
    x[:, 3] = np.nan
    got = run(Transform(100, 1), x)
    assert np.isnan(got[:, 3]).all()
    others = np.arange(LANES) != 3
    assert np.array_equal(got[:, others], want[:, others])


def test_transform__with_one_factor_that_is_off_is_noticed():
    """The bound sees an error of 1e-13 in any one of the factors."""
    plan, x = Transform(36, 1), columns(36, 4)
    for place in range(plan.factors.size):
        factors = plan.factors.copy()
        factors[place] += 1e-13
        assert error(run(plan, x, factors=factors), expected(plan, x)) > 1e-15


@pytest.mark.parametrize("length", [7, 100, 1500])
def test_values__are_those_of_powers_below_0_too(length):
    plan = Transform(Transform.fast_length(length), 3)
    coefficients = np.random.default_rng(1).random((2, 2 * length - 1))
    powers = np.exp(-0.5j * np.pi * plan.turns[:20, None] * np.arange(1 - length, length) / plan.length)
    assert np.allclose(plan.values(coefficients)[:, :20], coefficients @ powers.T, atol=1e-11)


def test_factors__are_right_to_the_last_place():
    """Of the first stage they are powers of one root, here from angles with 11 more bits."""
    plan = Transform(100, 3)
    turn = 2 * np.arctan2(np.longdouble(0), np.longdouble(-1))
    angles = turn * 3 * np.arange(1, plan.stages[0, 0]) / (4 * plan.stages[0, 0])
    first = plan.factors[: 2 * angles.size].reshape(-1, 2)
    assert np.abs(first[:, 0] - np.cos(angles)).max() < 1.2e-16
    assert np.abs(first[:, 1] + np.sin(angles)).max() < 1.2e-16


def test_fast_length__is_smooth_and_not_much_longer():
    for least in range(1, 700):
        length = Transform.fast_length(least)
        assert smooth(length)
        assert max(least, 2) <= length <= 1.25 * least + 2
