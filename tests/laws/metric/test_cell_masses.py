"""Masses of cells under noise of the plane, against sums and integrals by other means."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import dblquad

from fastdp.laws.metric.cell_masses import geometric_quarter, laplace_quarter


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
