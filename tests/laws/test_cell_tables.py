"""What the integer tables realise, computed exactly and without a single draw."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import mpmath
import pytest

import fastdp as fd
from fastdp.kernels.cell_tables import TAIL_DOWN, TAIL_UP
from fastdp.laws import cell_tables as cells
from fastdp.laws.central.laplace import LaplaceLaw
from fastdp.laws.central.staircase import StaircaseLaw, piece_weights
from fastdp.laws.fixed_point import PRECISION, exp_fixed
from fastdp.laws.rate import Rate
from tests.reference.laws import gaussian_delta

SCALE = 1 << 380


@pytest.fixture(autouse=True)
def many_digits():
    """Reference values at 400 bits, whatever another test left set."""
    with mpmath.workprec(400):
        yield


@mpmath.workprec(400)
def worst_shortfall(realised: cells.Realised) -> Fraction:
    """The most by which ln P(inner) - ln P(outer) exceeds the exact rate times their distance, over all pairs.

    Deviations from the ideal decay, seen from the middle outwards on each side, tails and wraps included. Fine bits
    decay by the exact rate within a cell, so cells are all there is to check.
    """
    rate = mpmath.mpf(realised.rate.numerator) / mpmath.mpf(2) ** realised.rate.shift
    step = int(mpmath.floor(mpmath.exp(-rate * 2**realised.m) * SCALE))
    start = int(mpmath.floor(mpmath.exp(-rate) * SCALE))
    unit = realised.entries << cells.RESIDUE_BITS
    weight = {
        v: (realised.slots[v] << cells.RESIDUE_BITS) + realised.ambiguous * realised.residues[v] for v in realised.slots
    }
    assert sum(weight.values()) == unit
    peak = weight[0]
    # Ratios to the ideal, relative to the peak: weight(v) / (peak * ideal decay), as integers out of SCALE.
    worst = 0
    for name, ideal, sign in (("up", SCALE, 0), ("down", start, 1)):
        largest = SCALE  # the peak itself
        mass = 0
        for c in range(realised.wrap):
            w = weight[~c if sign else c]
            relative = w * SCALE // peak * SCALE // ideal
            largest = max(largest, relative)
            worst = max(worst, Fraction(largest, relative) - 1)
            mass += w
            ideal = ideal * step // SCALE
        tail = weight[TAIL_DOWN if sign else TAIL_UP]
        # One wrap further out everything is multiplied by tail / (mass + tail); ideally by step**wrap.
        wrapped = tail * SCALE // (mass + tail)
        decay = SCALE
        for _ in range(realised.wrap):
            decay = decay * step // SCALE
        assert wrapped >= decay, name
        # The first cell after the wrap, against the largest deviation before it.
        first_after = weight[-1 if sign else 0] * SCALE // peak * SCALE // (start if sign else SCALE)
        worst = max(worst, Fraction(largest * decay, first_after * wrapped) - 1)
    return Fraction(worst)


def random_rates(count: int, seed: int):
    source = random.Random(seed)
    for _ in range(count):
        yield Rate.below(Fraction(2 ** source.uniform(-37.9, math.log2(40))))


def check_laplace_tables(count: int, seed: int) -> None:
    for rate in random_rates(count, seed):
        realised = cells.build.__wrapped__(rate, quadratic=False)
        law = LaplaceLaw(rate)
        allowed = Fraction(law.cost(1)) - rate.exact
        assert worst_shortfall(realised) <= allowed


def test_laplace_tables__cost_no_more_than_stated():
    """Many random rates over the whole range; the stated cost covers every pair of outcomes."""
    check_laplace_tables(500, 1)


@pytest.mark.slow
def test_laplace_tables__cost_no_more_than_stated__thousands():
    check_laplace_tables(10_000, 2)


def test_laplace_tables__a_mutant_is_caught():
    """One unit of 2**-64 moved from a cell inward, far less than any test by draws could see, breaks the check."""
    rate = Rate.below(Fraction(1, 10))
    realised = cells.build.__wrapped__(rate, quadratic=False)
    assert worst_shortfall(realised) <= Fraction(LaplaceLaw(rate).cost(1)) - rate.exact
    realised.residues[20] -= 1 << 64
    realised.residues[19] += 1 << 64
    assert worst_shortfall(realised) > 2**-70
    realised.residues[TAIL_UP] -= 1 << 64
    realised.residues[19] += 1 << 64
    with pytest.raises(AssertionError):
        worst_shortfall(realised)


def test_asked_epsilon__is_never_exceeded_and_nearly_met():
    """Thousands of random parameters: 1 - 1e-6 of the asked epsilon at least, never more than it."""
    source = random.Random(3)
    for _ in range(4_000):
        epsilon = 2 ** source.uniform(-20, 5)
        sensitivity = source.choice([1, 2, 3, 17, 1000])
        if epsilon / sensitivity < 2.0**-30:
            continue
        geometric = fd.Geometric(epsilon=epsilon, sensitivity=sensitivity).privacy.epsilon
        assert epsilon * (1 - 1e-6) <= geometric <= epsilon
        real = 10 ** source.uniform(-6, 6)
        laplace = fd.Laplace(epsilon=min(epsilon, 30.0), sensitivity=real).privacy.epsilon
        assert min(epsilon, 30.0) * (1 - 1e-6) <= laplace <= min(epsilon, 30.0)
        staircase = fd.Staircase(epsilon=max(min(epsilon, 20.0), 0.01), sensitivity=real).privacy.epsilon
        assert max(min(epsilon, 20.0), 0.01) * (1 - 1e-6) <= staircase <= max(min(epsilon, 20.0), 0.01)


@pytest.mark.parametrize("epsilon", [0.1, 0.7, 3.0, 12.0])
@pytest.mark.parametrize("steps", [1, 2, 7, 50])
def test_staircase_tables__cost_no_more_than_stated(epsilon, steps):
    """Every pair of outcomes up to one sensitivity apart, two wraps far, in exact fractions."""
    law = StaircaseLaw(Rate.below(Fraction(epsilon)), steps, max(1, steps // 3))
    weights, periods, runs = piece_weights(law)
    slots, residues, ambiguous = cells.realise(weights, (TAIL_UP, TAIL_DOWN), 12)
    probability = {v: (slots[v] + Fraction(ambiguous * residues[v], 1 << 128)) / 4096 for v in weights}
    reach = 2 * periods * steps
    pmf: dict[int, Fraction] = {}
    for side, tail in ((0, TAIL_UP), (1, TAIL_DOWN)):
        inside = [probability[~n if side else n] / run[1] for n, run in enumerate(runs[side])]
        wrap = probability[tail] / (
            probability[tail] + sum(p * run[1] for p, run in zip(inside, runs[side], strict=True))
        )
        for wraps in range(2):
            for p, (first, length, _) in zip(inside, runs[side], strict=True):
                for magnitude in range(first, first + length):
                    place = magnitude + wraps * periods * steps
                    pmf[-place if side else place] = p * wrap**wraps
    allowed = mpmath.mpf(law.cost())
    worst = mpmath.mpf(0)
    for z in range(-reach + steps + 1, reach - steps - 1):
        for shift in {1, steps}:
            ratio = pmf[z] / pmf[z + shift]
            ratio = max(ratio, 1 / ratio)
            if ratio > 1:
                worst = max(worst, mpmath.log(mpmath.mpf(ratio.numerator) / ratio.denominator))
    assert worst <= allowed
    assert worst >= allowed * (1 - mpmath.mpf(10) ** -9)


GAUSSIANS = [(0.5, 1e-3, 1), (1.0, 1e-6, 1), (2.0, 1e-5, 3), (0.3, 1e-4, 2), (6.0, 1e-9, 1)]


@pytest.mark.parametrize(("epsilon", "delta", "steps"), GAUSSIANS)
def test_gaussian_tables__cost_no_more_than_stated(epsilon, delta, steps):
    """The exact delta of the realised integers, for every shift up to the sensitivity, is at most the stated one."""
    mechanism = fd.DiscreteGaussian(epsilon=epsilon, delta=delta, sensitivity=steps)
    realised = cells.build.__wrapped__(mechanism._law.rate, quadratic=True)
    assert realised.m == 0
    pmf = {v: realised.probability(v) for v in realised.slots}
    assert sum(pmf.values()) == 1
    factor = mpmath.exp(mpmath.mpf(epsilon))

    def real(value):
        return mpmath.mpf(value.numerator) / value.denominator

    stated = mechanism.privacy.delta
    assert delta * (1 - 1e-6) <= stated <= delta
    for shift in range(1, steps + 1):
        gains = (real(p) - factor * real(pmf.get(z + shift, Fraction(0))) for z, p in pmf.items())
        assert mpmath.fsum(gain for gain in gains if gain > 0) <= stated
    assert abs(gaussian_delta(epsilon, mechanism.scale, steps) / stated - 1) < 1e-6


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
@pytest.mark.parametrize(("sigma", "steps"), [(600.0, 130), (900.0, 700), (2000.0, 100)])
def test_delta_of__bounds_the_exact_sum(sigma, steps, epsilon):
    """Where the continuous bound takes over, it lies above the exact sum, and closely."""
    from fastdp.laws.central.gaussian import delta_of

    with mpmath.workdps(30):
        exact = gaussian_delta(epsilon, sigma, steps)
    stated = delta_of(epsilon, sigma, steps)
    assert exact <= stated
    if exact > 1e-12:
        assert stated <= exact * (1 + 2e-3)


def test_smallest_ratio__covers_every_shift():
    """The per-record calibration keeps delta for shifts of the smallest number of steps and of many more."""
    from fastdp.laws.central.gaussian import delta_of, smallest_ratio

    for epsilon, delta in ((0.1, 1e-5), (1.0, 1e-6), (4.0, 1e-8)):
        ratio = smallest_ratio(epsilon, delta, 2000)
        for steps in (2000, 2001, 3333, 10_000, 2**20):
            assert delta_of(epsilon, ratio * steps, steps) <= delta


@pytest.mark.parametrize(("numerator", "shift"), [(0, 5), (1, 0), (1, 64), (40, 0), (2**32 - 1, 70), (12345, 7)])
def test_exp_fixed__is_exact(numerator, shift):
    """Against mpmath at 400 bits."""
    exact = mpmath.exp(-mpmath.mpf(numerator) / mpmath.mpf(2) ** shift) * mpmath.mpf(2) ** PRECISION
    assert abs(exp_fixed(numerator, shift) - exact) < 2**8


def test_rate__is_rounded_toward_more_noise():
    source = random.Random(5)
    for _ in range(2_000):
        asked = Fraction(2 ** source.uniform(-120, 5))
        rate = Rate.below(asked)
        assert rate.exact <= asked
        assert rate.exact >= asked * (1 - Fraction(1, 2**30))
        assert rate.numerator.bit_length() == 32


@pytest.mark.parametrize("rate", [39.0, 3.0, 0.4, 0.02, 1 / 130, 1 / 1999, 1e-5, 3e-10])
def test_margins__have_a_bound_in_closed_form(rate):
    """Of the tables that are drawn from; not much above what they are."""
    from fastdp.laws.central import two_digits as digits

    exact = Rate.below(Fraction(rate))
    value = float(exact.exact)
    if digits.serves(exact):
        tables = digits.build(exact)
        found, bound = tables.coarse.margin + tables.fine.margin, digits.margin(value)
    else:
        table = cells.build(exact, quadratic=False)
        found, bound = table.margin, cells.laplace_margin(value, table.m, table.wrap)
    assert found <= bound <= 1e4 * found
