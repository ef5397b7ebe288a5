"""What every mechanism's privacy losses promise: a pair that dominates, as large at delta 0 as its guarantee."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import mpmath
import numpy as np
import pytest

import fastdp as fd
from fastdp.laws import cell_tables
from fastdp.laws.central.gaussian import GaussianLaw
from fastdp.laws.central.staircase import INDEX_BITS, StaircaseLaw, piece_weights
from fastdp.losses import AtomicLoss, GaussianLoss, Loss
from tests.contracts.protocols import PROTOCOLS
from tests.contracts.test_contract import every
from tests.laws import hockey_sticks as curves

ROUNDING = 2.0**-50
"""The relative error of an atom's mass and loss."""
EPSILONS = [0.0, 0.1, 0.37, 0.8, 1.3]
LOOSE = {"rappor-narrow", "longitudinal-krr", "longitudinal-oue", "longitudinal-sue"}
"""Filters may share bits; and a single report tells less than the permanent answer."""
known = pytest.mark.parametrize("protocol", [one for one in PROTOCOLS if one.law], ids=lambda one: one.name)


def losses_of(mechanism: Any) -> list[Loss]:
    """The losses; those of trajectories without a budget and of small sigmas per record are refused, and say so."""
    if isinstance(mechanism, fd.MemoizedTrajectory):
        with pytest.raises(fd.ParameterError, match="depends on its points"):
            mechanism.losses()
        return []
    if isinstance(mechanism, fd.DiscreteGaussian) and mechanism._records():
        with pytest.raises(fd.ParameterError, match="compose `privacy`"):
            mechanism.losses()
        return []
    return list(mechanism.losses())


def check_masses(loss: Loss) -> None:
    """Masses add up to 1, and losses are the logarithms of their quotients."""
    assert 0 <= loss.margin < 1e-6
    assert 0 <= loss.distance <= 2.0**-100
    if isinstance(loss, AtomicLoss):
        assert loss.losses.shape == loss.p.shape == loss.q.shape
        assert abs(loss.p.sum() + loss.p_infinite - 1) < 1e-13
        assert abs(loss.q.sum() + loss.q_infinite - 1) < 1e-13
        assert np.abs(np.log(loss.p) - np.log(loss.q) - loss.losses).max(initial=0) < 1e-13


def check_largest(losses: list[Loss], privacy: fd.Privacy) -> None:
    """The curve at delta 0 is the stated epsilon; where a delta is stated, the curve at epsilon is that."""
    assert privacy.epsilon is not None
    if privacy.delta:
        assert curves.of_losses(losses, privacy.epsilon) == pytest.approx(privacy.delta, rel=1e-9)
        return
    assert curves.largest(losses) == pytest.approx(privacy.epsilon, rel=1e-9)


def check_dominates(losses: list[Loss], exact: float, epsilon: float) -> None:
    assert curves.of_losses(losses, epsilon) * (1 + 1e-11) + 1e-15 >= exact


@every
def test_losses__are_as_large_as_the_guarantee(mechanism):
    losses = losses_of(mechanism)
    for loss in losses:
        check_masses(loss)
    if losses and mechanism.privacy.rho is None and mechanism.privacy.epsilon > 1e-300:
        check_largest(losses, mechanism.privacy)


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 7.0])
@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda one: one.name)
def test_losses__are_never_below_what_the_integers_cost(protocol, epsilon):
    mechanism = protocol.make(epsilon, protocol.domain(9))
    with mpmath.workdps(80):
        assert mpmath.mpf(curves.largest(mechanism.losses())) * (1 + ROUNDING) >= protocol.cost(mechanism)


@known
@pytest.mark.parametrize("epsilon", [0.3, 1.4])
def test_losses__have_the_curve_of_whole_reports(protocol, epsilon):
    """Never below that of any two values, and no more where reports of all pairs are alike."""
    mechanism = protocol.make(epsilon, protocol.small)
    rows = np.array([protocol.law(mechanism, x)[0] for x in range(protocol.domain(protocol.small))])
    if protocol.name == "krr":  # whose law here is that of the epsilon asked for
        rows = mechanism.channel().dense()
    for at in EPSILONS:
        exact = curves.of_channel(rows, at)
        check_dominates(mechanism.losses(), exact, at)
        if protocol.name not in LOOSE:
            assert curves.of_losses(mechanism.losses(), at) == pytest.approx(exact, rel=1e-8, abs=1e-9)


def test_losses__of_hashes_are_those_of_the_channel_or_more():
    mechanism = fd.LocalHashing(epsilon=1.0, domain=8, g=3, cohorts=4, salt=9)
    rows = mechanism.channel().dense()
    for at in EPSILONS:
        check_dominates(mechanism.losses(), curves.of_channel(rows, at), at)


MATRICES = [
    [[0.5, 0.25, 0.25], [0.2, 0.3, 0.5]],
    [[0.6, 0.2, 0.1, 0.1], [0.1, 0.1, 0.2, 0.6], [0.25, 0.25, 0.25, 0.25], [0.05, 0.45, 0.45, 0.05]],
    np.random.default_rng(3).dirichlet(np.ones(12), 10),
]


@pytest.mark.parametrize("matrix", MATRICES)
def test_losses__of_a_matrix_dominate_all_pairs_of_rows(matrix):
    mechanism = fd.MatrixMechanism(matrix)
    rows = mechanism.channel().dense()
    losses, top = mechanism.losses(), mechanism.privacy.epsilon
    for at in np.linspace(-top, top, 41):
        exact = curves.of_channel(rows, at)
        check_dominates(losses, exact, at)
        assert curves.of_losses(losses, at) <= exact + (1e-13 if len(rows) < 5 else 1e-3)


def _table(table: cell_tables.Realised) -> dict[int, float]:
    return {cell: float(table.probability(cell)) for cell in table.slots}


@pytest.mark.parametrize(("epsilon", "steps"), [(0.7, 1), (0.7, 3), (2.5, 5), (0.05, 4)])
def test_losses__of_the_geometric_are_those_of_its_table(epsilon, steps):
    mechanism = fd.Geometric(epsilon=epsilon, sensitivity=steps)
    table = cell_tables.build(mechanism._law.rate, quadratic=False)
    masses = _table(table)
    up, down = masses.pop(cell_tables.TAIL_UP), masses.pop(cell_tables.TAIL_DOWN)
    size = 2 * table.wrap
    p = np.zeros(2 * size + steps)
    sides = [tail + sum(m for z, m in masses.items() if (z < 0) == (tail == down)) for tail in (up, down)]
    for z, mass in masses.items():  # twice: beyond the table, the law repeats itself
        p[size + z] = mass
        p[size + z + (table.wrap if z >= 0 else -table.wrap)] = mass * (up / sides[0] if z >= 0 else down / sides[1])
    q = np.roll(p, steps)
    for at in np.linspace(0, epsilon, 7):
        exact = curves.of_rows(p, q, at)
        check_dominates(mechanism.losses(), exact - 2.0**-38, at)  # what is left beyond twice the table
        assert curves.of_losses(mechanism.losses(), at) == pytest.approx(exact, abs=2.0**-38)


def test_losses__of_the_worst_record_dominate_all():
    mechanism = fd.Geometric(epsilon=[0.3, 1.0, 0.9], sensitivity=[2, 4, 6])
    for epsilon, steps in ((0.3, 2), (1.0, 4), (0.9, 6)):
        one = fd.Geometric(epsilon=epsilon, sensitivity=steps)
        for at in EPSILONS:
            check_dominates(mechanism.losses(), curves.of_losses(one.losses(), at) * (1 - 1e-6), at)


@pytest.mark.parametrize(("epsilon", "gamma"), [(1.0, 0.3), (3.0, None), (0.5, 0.8)])
def test_losses__of_stairs_are_those_of_their_pieces(epsilon, gamma):
    mechanism = fd.Staircase(epsilon=epsilon, sensitivity=1.0, gamma=gamma, granularity=2.0**-4)
    law: StaircaseLaw = mechanism._law
    weights, periods, runs = piece_weights(law)
    slots, residues, ambiguous = cell_tables.realise(weights, (cell_tables.TAIL_UP, cell_tables.TAIL_DOWN), INDEX_BITS)
    reach = periods * law.steps + 1
    p = np.zeros(2 * reach + law.steps + 1)
    for side, pieces in enumerate(runs):
        for number, (first, length, _) in enumerate(pieces):
            cell = ~number if side else number
            mass = (slots[cell] + ambiguous * residues[cell] / 2.0**128) / 2**INDEX_BITS / length
            for z in range(first, first + length):
                p[reach + (-z if side else z)] = mass
    for shift in range(1, law.steps + 1):
        for at in np.linspace(0, epsilon, 5):
            exact = curves.of_rows(p, np.roll(p, shift), at)
            check_dominates(mechanism.losses(), exact - 3e-6, at)  # without the tails, 2**-20 of each side
            if shift == law.steps:
                assert curves.of_losses(mechanism.losses(), at) == pytest.approx(exact, abs=3e-6)


@pytest.mark.parametrize(("sigma", "steps"), [(0.7, 1), (3.0, 1), (30.0, 7), (100.0, 150), (140.0, 90), (700.0, 2000)])
def test_losses__of_the_discrete_gaussian_have_its_curve(sigma, steps):
    """Atoms of small tables, and the normal law of large ones, against the sum over all integers."""
    law = GaussianLaw.of_sigma(sigma)
    losses = [law.loss(steps)]
    z = np.arange(-math.ceil(14 * sigma), math.ceil(14 * sigma) + steps + 1, dtype=np.float64)
    p = np.exp(-(z**2) / (2 * law.sigma**2))
    for at in (0.0, 0.5, 2.0, 6.0):
        loss = steps * (steps - 2 * z) / (2 * law.sigma**2)
        exact = float((p / p.sum() * -np.expm1(np.minimum(at - loss, 0))).sum())
        found = curves.of_losses(losses, at)
        assert found >= exact * (1 - 1e-11)
        assert found <= exact * (1 + 1e-4) + 1e-27
        assert found <= law.delta(at, steps) * (1 + 1e-4) + 1e-27
    assert isinstance(losses[0], AtomicLoss if sigma < 128 else GaussianLoss)


@pytest.mark.parametrize("sigma", [128, 200, 1000])
def test_wide_loss__is_within_its_margin(sigma):
    """Masses of unit cells under a normal law of variance sigma**2 - 1/12, to 60 digits, up to 13.5 sigma."""
    with mpmath.workdps(60):
        root = mpmath.sqrt(2 * (mpmath.mpf(sigma) ** 2 - mpmath.mpf(1) / 12))
        off = []
        for z in range(0, round(13.5 * sigma), sigma // 4):
            mass = mpmath.erfc((z - mpmath.mpf("0.5")) / root) - mpmath.erfc((z + mpmath.mpf("0.5")) / root)
            off.append(mpmath.log(mass) + mpmath.mpf(z) ** 2 / (2 * sigma**2))
        assert max(off) - min(off) <= mpmath.mpf(13) / sigma**4
        assert max(off) - min(off) >= mpmath.mpf(1) / sigma**4


def test_losses__keep_the_smallest_mass_at_infinity():
    """What lies beyond the table for one value only is possible for the other: no pure epsilon."""
    loss = fd.DiscreteGaussian(rho=0.5).losses()[0]
    assert 0 < loss.p_infinite < 2.0**-100
    assert 0 < loss.q_infinite < 2.0**-100
    far = fd.DiscreteGaussian(scale=1.0, sensitivity=100).losses()[0]
    assert (far.losses.size, far.p_infinite, far.q_infinite) == (0, 1.0, 1.0)


def test_losses__of_a_drawn_attribute_are_mixed():
    mechanism = fd.SampleOne(epsilon=1.0, domains={"a": 3, "b": 20})
    each = [one.losses() for one in mechanism.mechanisms.values()]
    for at in EPSILONS:
        expected = sum(curves.of_losses(one, at) for one in each) / 2
        assert curves.of_losses(mechanism.losses(), at) == pytest.approx(expected, rel=1e-12)


def test_dbitflip__of_one_bit_costs_half():
    """One answer can differ, not two."""
    one, two = (fd.DBitFlip(epsilon=1.0, domain=8, bits=bits).privacy.epsilon for bits in (1, 2))
    assert one == pytest.approx(two / 2)


def _krr() -> tuple[fd.KRR, AtomicLoss, np.ndarray]:
    mechanism = fd.KRR(epsilon=1.0, domain=4)
    return mechanism, mechanism.losses()[0], mechanism.channel().dense()


def test_checks__catch_mutants():
    """Probabilities swapped, a loss rounded down, mass at infinity forgotten."""
    mechanism, loss, rows = _krr()
    swapped = dataclasses.replace(loss, p=loss.q, q=loss.p)
    with pytest.raises(AssertionError):
        check_masses(swapped)
    with pytest.raises(AssertionError):
        check_dominates([swapped], curves.of_channel(rows, 0.1), 0.1)
    lower = dataclasses.replace(loss, losses=loss.losses * (1 - 1e-8))
    with pytest.raises(AssertionError):
        check_largest([lower], mechanism.privacy)
    with pytest.raises(AssertionError):
        check_dominates([dataclasses.replace(loss, losses=loss.losses * 0.99)], curves.of_channel(rows, 0.1), 0.1)
    far = fd.DiscreteGaussian(scale=1.0, sensitivity=30).losses()[0]
    with pytest.raises(AssertionError):
        check_masses(dataclasses.replace(far, p_infinite=0.0))
