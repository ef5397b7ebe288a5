"""Cells merged and spread: a slower way to the same curves, whose brackets must overlap with the inversion's."""

from __future__ import annotations

import math

import numpy as np
import pytest

import fastdp as fd
from fastdp.accounting.cells import Cells
from fastdp.losses import GaussianLoss, GeometricLoss, LaplaceLoss, SampledGaussianLoss
from tests.accounting.test_oracles import release

LOSSES = [LaplaceLoss(epsilon=1.0), GeometricLoss(rate=1e-4, steps=15_000), GaussianLoss(mu=0.8)]


def hockey_stick(atoms, epsilon):
    return float((atoms.p - math.exp(epsilon) * atoms.q).clip(0).sum()) + atoms.p_infinite


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("reverse", [False, True])
def test_cells__lie_on_both_sides(loss, reverse):
    """Of the curve in closed form, and near it."""
    both = Cells.of(loss).loss()
    for epsilon in (0.0, 0.3, 0.9):
        exact = fd.compose([release(loss)]).delta(epsilon=epsilon)
        below, above = hockey_stick(both.below, epsilon), hockey_stick(both.above, epsilon)
        assert below <= exact.upper * (1 + 1e-10)
        assert above >= exact.lower * (1 - 1e-10)
        assert above - below < 1e-4


@pytest.mark.parametrize("loss", LOSSES)
def test_masses__are_kept(loss):
    for atoms in (Cells.of(loss).mixed(0.2).loss().below, Cells.of(loss).mixed(0.2).loss().above):
        assert atoms.p.sum() + atoms.p_infinite == pytest.approx(1.0, abs=1e-12)
        assert atoms.q.sum() == pytest.approx(1.0, abs=1e-12)
        np.testing.assert_allclose(atoms.p, atoms.q * np.exp(atoms.losses), rtol=1e-9)


@pytest.mark.parametrize("count", [40, 1000])
def test_sampled_gaussians__overlap_with_the_inversion(count):
    cells = Cells.of(GaussianLoss(mu=1.0)).mixed(0.03).loss()
    found = fd.compose([release(cells, count)], width=1e-5).epsilon(delta=1e-6)
    wanted = fd.compose([release(SampledGaussianLoss(mu=1.0, rate=0.03), count)]).epsilon(delta=1e-6)
    assert found.lower <= wanted.upper
    assert wanted.lower <= found.upper
    assert found.upper - found.lower < 6e-5 * found.upper


def test_one_sampled_gaussian__has_its_closed_form():
    """Against cells, in both directions at once."""
    exact = fd.compose([release(SampledGaussianLoss(mu=1.0, rate=0.05))])
    cells = fd.compose([release(Cells.of(GaussianLoss(mu=1.0)).mixed(0.05).loss())])
    for epsilon in (0.0, 0.02, 0.5, 2.0):
        found, other = exact.delta(epsilon=epsilon), cells.delta(epsilon=epsilon)
        assert found.upper - found.lower < 1e-12
        assert other.lower <= found.upper
        assert found.lower <= other.upper


def test_spread__is_found_out_when_its_ends_are_swapped():
    """Masses that go to the wrong end of a cell make a curve that lies below."""
    loss = LaplaceLoss(epsilon=1.0)
    cells = Cells.of(loss)
    wrong = Cells(cells.p, cells.q, cells.last, cells.last).loss().above
    assert hockey_stick(wrong, 0.3) < fd.compose([release(loss)]).delta(epsilon=0.3).lower
