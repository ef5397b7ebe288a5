"""Check-ins made up to look like a city's, for those who have no real ones."""

from __future__ import annotations

import numpy as np

from fastdp import validation
from fastdp.locations.grid import Grid

DISTRICTS = 8
VENUES_PER_DISTRICT = 60
BACKGROUND = 0.15
JITTER = 1 / 400
"""How far positions are off a venue, in parts of the grid's shorter side."""


def clustered_checkins(grid: Grid, n: int, *, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """As many points within the grid, x and y in its unit, as people who meet at venues in districts would leave.

    Districts are placed at random, some wide and some narrow; their parts of the city's life follow Zipf's law. In
    each, venues scatter around the middle, and how popular they are follows Zipf's law too. Points are a little off
    their venue, and three in twenty are anywhere at all. The same seed gives the same points; no real person is behind
    them.

    Parameters
    ----------
    grid
        The grid that the points lie on.
    n
        The number of points.
    seed
        The seed of the pseudo-random generator.

    >>> grid = Grid(x=(0, 3000), y=(0, 3000), cell=150)
    >>> x, y = clustered_checkins(grid, 1000, seed=1)
    >>> x.size, bool(grid.inside(x, y).all())
    (1000, True)
    """
    n = validation.positive_integer("clustered_checkins", "n", n)
    source = np.random.default_rng(seed)
    (left, right), (bottom, top) = grid.bounds
    low, span = np.array([left, bottom]), np.array([right - left, top - bottom])
    size = float(span.min())
    middles = low + span * source.uniform(0.1, 0.9, (DISTRICTS, 2))
    widths = size * source.uniform(0.02, 0.09, DISTRICTS)
    weights = _zipf(DISTRICTS, 0.8)
    venues = middles[:, None] + widths[:, None, None] * source.normal(size=(DISTRICTS, VENUES_PER_DISTRICT, 2))
    popularity = np.array([source.permutation(_zipf(VENUES_PER_DISTRICT, 1.0)) for _ in range(DISTRICTS)])
    shares = (weights[:, None] * popularity).reshape(-1)
    chosen = venues.reshape(-1, 2)[source.choice(shares.size, n, p=shares / shares.sum())]
    points = chosen + source.normal(0, JITTER * size, (n, 2))
    anywhere = source.random(n) < BACKGROUND
    points[anywhere] = low + span * source.random((int(anywhere.sum()), 2))
    points = np.clip(points, low, low + span)
    return points[:, 0].copy(), points[:, 1].copy()


def _zipf(count: int, power: float) -> np.ndarray:
    weights = np.arange(1, count + 1.0) ** -power
    shares: np.ndarray = weights / weights.sum()
    return shares
