"""Grids of floats and ranges of integers: their ends, and sums on them in exact arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from fastdp.errors import DomainError, ParameterError, SchemaError
from fastdp.laws.central.placement import FloatGrid, IntegerRange


@pytest.mark.parametrize(("grid", "bounds"), [(0.25, (-1.1, 3.0)), (2.0, (0.5, 9.0)), (2.0**-20, (0.1, 0.2))])
def test_grid__ends_are_its_points_inside_the_bounds(grid, bounds):
    """One step more would be outside."""
    found = FloatGrid.within("x", grid, bounds)
    for end, outward in ((found.low, -grid), (found.high, grid)):
        assert Fraction(end) % Fraction(grid) == 0
        assert bounds[0] <= end <= bounds[1]
        assert not bounds[0] <= end + outward <= bounds[1]
    assert found.width == (Fraction(found.high) - Fraction(found.low)) / Fraction(grid)


def test_grid__adds_steps_exactly():
    """Rounded to the grid, moved by whole steps, clamped; a noise of one step more gives another sum."""
    place, values, noise = FloatGrid.within("x", 0.25, (-2.0, 2.0)), np.array([0.1, -0.4, 9.0]), np.array([1, -100, -3])
    out = np.zeros(3)
    place.add(values, noise, out)
    assert out.tolist() == [0.25, -2.0, 1.25]
    assert place.steps(values).tolist() == [8, 6, 16]
    place.add(values, noise + 1, out)
    assert out.tolist() != [0.25, -2.0, 1.25]


def test_grid__refuses_what_it_cannot_hold():
    with pytest.raises(ParameterError, match="coarser"):
        FloatGrid.within("x", 2.0**-60, (0.0, 1.0))
    with pytest.raises(ParameterError, match="finer"):
        FloatGrid.within("x", 4.0, (1.0, 2.0))
    with pytest.raises(DomainError, match="NaN"):
        FloatGrid.within("x", 1.0, (0.0, 9.0)).steps(np.array([np.nan]))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.uint64])
def test_integers__saturate_at_the_ends_of_the_type(dtype):
    """Against sums of Python's integers."""
    limits, dtype = np.iinfo(dtype), np.dtype(dtype)
    values, noise = np.array([limits.min, limits.max, 5], dtype), np.array([-3, 3, 2])
    out = np.zeros(3, dtype)
    IntegerRange.within("x", dtype, None, "clamp").add(values, noise, out)
    wanted = [min(max(v + n, limits.min), limits.max) for v, n in zip(values.tolist(), noise.tolist(), strict=True)]
    assert out.tolist() == [int(w) for w in wanted]


def test_integers__refuse_bounds_that_the_type_or_folding_cannot_hold():
    with pytest.raises(SchemaError, match="wider"):
        IntegerRange.within("x", np.dtype(np.int8), (0, 128), "clamp")
    with pytest.raises(ParameterError, match="fold"):
        IntegerRange.within("x", np.dtype(np.int64), (0, 1 << 61), "fold")
