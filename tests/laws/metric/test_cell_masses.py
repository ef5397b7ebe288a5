"""Masses of cells under noise of the plane, against sums and integrals by other means."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import dblquad

from fastdp.channels import planar
from fastdp.laws.metric.cell_masses import ERROR, geometric_quarter, laplace_quarter


@pytest.mark.parametrize("rate", [0.5, 2.0])
def test_geometric__outermost_cells_hold_all_beyond(rate):
    quarter = geometric_quarter(rate, 3, 4)
    i, j = np.ogrid[:200, :200]
    masses = np.exp(-rate * np.hypot(i, j))
    assert quarter[1, 2] == pytest.approx(masses[1, 2], rel=1e-14)
    assert quarter[2, 1] == pytest.approx(masses[2:, 1].sum(), rel=1e-12)
    assert quarter.sum() == pytest.approx(masses.sum(), rel=1e-12)


@pytest.mark.parametrize("rate", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("i, j", [(0, 0), (0, 1), (1, 1), (2, 5)])
def test_laplace__cells_are_integrals(rate, i, j):
    quarter = laplace_quarter(rate, 8, 8)
    parts = [(i, i + 0.5), (i - 0.5, i)], [(j, j + 0.5), (j - 0.5, j)]  # the peak has a kink: cut there
    exact = sum(
        dblquad(lambda v, u: math.exp(-rate * math.hypot(u, v)), *rows, *columns, epsabs=0, epsrel=1e-10)[0]
        for rows in parts[0]
        for columns in parts[1]
    )
    assert quarter[i, j] == pytest.approx(exact, rel=1e-8)


@pytest.mark.parametrize("rate", [1.0, 3.0])
@pytest.mark.parametrize("kind", [geometric_quarter, laplace_quarter])
def test_outermost__of_narrow_grids_hold_all_beyond_far_from_the_peak_too(kind, rate):
    """Along a line far from the peak, masses fall slowly at first; a margin of 2 scales is too small there."""
    row = round(80 / rate)
    narrow, wide = kind(rate, row + 2, 2), kind(rate, row + 2, 400)
    assert narrow[row, 1] == pytest.approx(math.fsum(wide[row, 1:]), rel=ERROR / 4)
    short = {geometric_quarter: planar.geometric_quarter, laplace_quarter: planar.laplace_quarter}[kind]
    assert short(rate, row + 2, 2, 2.0)[row, 1] < narrow[row, 1] * (1 - 4 * ERROR)


@pytest.mark.parametrize("rate", [1e-3, 50.0, 1e4])
def test_masses__of_any_rate_are_probabilities(rate):
    """Also where the density falls so fast that differences of integrals over the peak would be below 0."""
    masses = planar.laplace_masses(rate, 9)
    assert masses.min() >= 0
    assert masses.sum() == pytest.approx(1, abs=1e-12)
    peak = 1 - 4 * laplace_tail(rate / 2)
    assert masses[8, 8] == pytest.approx(peak, rel=1e-9)


def laplace_tail(reach: float) -> float:
    """The mass beyond one side of the middle cell, between its diagonals: an integral over directions."""
    nodes, weights = np.polynomial.legendre.leggauss(200)
    lengths = reach / np.cos(nodes * math.pi / 4)
    return float(weights @ ((1 + lengths) * np.exp(-lengths))) * math.pi / 4 / (2 * math.pi)
