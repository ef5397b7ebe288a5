"""Noise on a grid: its integers, its channel, its reports, its containers."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import chisquare

import fastdp as fd
from fastdp.channels import Channel
from fastdp.laws.metric import cell_masses as offsets
from fastdp.mechanisms.metric.grid import GridGeometric, GridLaplace
from tests.mechanisms.report_checks import check_containers, check_same_reports

KINDS = [GridGeometric, GridLaplace]
NODES = np.polynomial.legendre.leggauss(300)
each_kind = pytest.mark.parametrize("kind", KINDS)


def seeded(seed: int = 5) -> fd.Rng:
    return fd.Rng.unsafe_seed(seed)


def distances(shape: tuple[int, int], cell: float = 1.0) -> np.ndarray:
    """Distances between the middles of cells."""
    i, j = np.divmod(np.arange(shape[0] * shape[1]), shape[1])
    return np.hypot(i[:, None] - i, j[:, None] - j) * cell


def realised_channel(mechanism) -> list[list[int]]:
    """The exact probabilities of the integers that are drawn from, out of cells * 2**128."""
    table, (rows, columns) = mechanism._table(), mechanism.shape
    cells = rows * columns
    matrix = [[table.shares[-1]] * cells for _ in range(cells)]
    moves = list(zip(table.shares[:-1], table.down.tolist(), table.across.tolist(), strict=True))
    for x in range(cells):
        for share, down, across in moves:
            s = min(max(x // columns + down, 0), rows - 1)
            t = min(max(x % columns + across, 0), columns - 1)
            matrix[x][s * columns + t] += share * cells
    return matrix


def exact_epsilon(matrix: list[list[int]], metric: np.ndarray) -> mpmath.mpf:
    """The smallest epsilon per unit of distance, with 60 digits."""
    with mpmath.workdps(60):
        logs = [[mpmath.log(entry) for entry in row] for row in matrix]
        return max(
            abs(a - b) / mpmath.mpf(metric[x, other])
            for x, row in enumerate(logs)
            for other in range(x)
            for a, b in zip(row, logs[other], strict=True)
        )


@each_kind
@pytest.mark.parametrize(("epsilon", "shape", "cell"), [(0.9, (3, 3), 1.1), (0.2, (4, 5), 1.0), (4.5, (2, 6), 2.0)])
def test_privacy__is_no_less_than_the_integers_cost(kind, epsilon, shape, cell):
    """The realised integers cost at most what is stated, which is at most what was asked."""
    mechanism = kind(epsilon=epsilon, shape=shape, cell=cell, unit="km")
    matrix = realised_channel(mechanism)
    assert all(sum(row) == shape[0] * shape[1] << 128 for row in matrix)
    stated = mechanism.privacy
    with mpmath.workdps(60):
        assert exact_epsilon(matrix, distances(shape, cell)) <= mpmath.mpf(stated.epsilon)
    assert epsilon * (1 - 1e-9) <= stated.epsilon <= epsilon
    assert (stated.unit, stated.neighbours) == ("1 km", "replace")
    assert np.abs(np.array(matrix, float) / sum(map(float, matrix[0])) - mechanism.channel().dense()).max() < 1e-14


def test_epsilon__known_values():
    """On a 3 x 3 grid of step 1.1 with epsilon 0.9: 0.8844 for planar Laplace, 0.9 for planar geometric."""
    metric = distances((3, 3), 1.1)
    laplace, geometric = (kind(epsilon=0.9, shape=(3, 3), cell=1.1).channel().epsilon(metric) for kind in KINDS[::-1])
    assert laplace == pytest.approx(0.8844, abs=5e-5)
    assert geometric == pytest.approx(0.9, abs=1e-10)


@each_kind
@pytest.mark.parametrize(("epsilon", "shape"), [(0.05, (20, 20)), (0.6, (25, 13)), (3.0, (9, 30))])
def test_channel__costs_at_most_epsilon_and_a_cut_kernel_does_not(kind, epsilon, shape):
    """Clamped, the channel keeps epsilon; the same offsets cut off at the border and normalised are caught."""
    mechanism, metric = kind(epsilon=epsilon, shape=shape), distances(shape)
    asked = mechanism.privacy.epsilon
    assert mechanism.channel().epsilon(metric) <= asked
    wider = shape[0] + 1, shape[1] + 1  # its outermost offsets, which hold all beyond, are out of reach
    masses = kind(epsilon=epsilon, shape=wider)._table().masses
    i, j = np.divmod(np.arange(metric.shape[0]), shape[1])
    cut = masses[i - i[:, None] + shape[0], j - j[:, None] + shape[1]]
    assert Channel.from_matrix(cut / cut.sum(axis=1, keepdims=True)).epsilon(metric) > asked * 1.001


def test_border__the_published_cut_is_not_private():
    """A kernel of nominal 0.2 from 11 x 15 cells onto 21 x 25, cut off there and normalised, is really 0.2507."""
    metric = distances((11, 15))
    i, j = np.divmod(np.arange(11 * 15), 15)
    s, t = np.divmod(np.arange(21 * 25), 25)
    kernel = np.exp(-0.2 * np.hypot(i[:, None] + 5 - s, j[:, None] + 5 - t))
    cut = Channel.from_matrix(kernel / kernel.sum(axis=1, keepdims=True)).epsilon(metric)
    assert cut == pytest.approx(0.2507, abs=5e-5)
    for kind in KINDS:
        assert kind(epsilon=0.2, shape=(11, 15)).channel().epsilon(metric) <= 0.2


def realised_probabilities(mechanism) -> np.ndarray:
    """The channel of the integers that are drawn from: exact sums, each rounded once."""
    table, (rows, columns) = mechanism._table(), mechanism.shape
    shares = np.zeros((2 * rows - 1, 2 * columns - 1), object)
    shares[table.down + rows - 1, table.across + columns - 1] = table.shares[:-1]
    cells = rows * columns

    def ends(masses: np.ndarray) -> list[np.ndarray]:
        """Masses of offsets that lead to the first row, to one inside, and to the last."""
        return [np.cumsum(masses, axis=0), masses, np.cumsum(masses[::-1], axis=0)[::-1]]

    tables = np.array([
        [(part.T * cells + table.shares[-1]).astype(np.float64) for part in ends(side.T)] for side in ends(shares)
    ])  # fmt: skip
    i, j = np.divmod(np.arange(cells), columns)
    row_kind, column_kind = ((k > 0).astype(int) + (k == most - 1) for k, most in ((i, rows), (j, columns)))
    lags = i - i[:, None] + rows - 1, j - j[:, None] + columns - 1
    return tables[row_kind, column_kind][np.arange(cells), *lags] / (cells * 2.0**128)


@each_kind
@pytest.mark.parametrize(("epsilon", "shape"), [
    (0.3, (18, 18)), (1.7, (9, 40)), (0.15, (7, 9)), pytest.param(0.3, (40, 40), marks=pytest.mark.slow),
])  # fmt: skip
def test_privacy__is_no_less_than_the_integers_cost_on_grids_up_to_40(kind, epsilon, shape):
    """The probabilities that are drawn with, over all pairs of cells; an epsilon 1e-9 larger would be noticed."""
    mechanism = kind(epsilon=epsilon, shape=shape)
    matrix = realised_probabilities(mechanism)
    assert np.abs(matrix.sum(axis=1) - 1).max() < 1e-13
    if shape == (7, 9):
        exact = np.array(realised_channel(mechanism), float) / (63 * 2.0**128)
        assert np.allclose(matrix, exact, rtol=1e-15, atol=0)
    found = Channel.from_matrix(matrix).epsilon(distances(shape))
    assert found <= mechanism.privacy.epsilon + 1e-13 <= epsilon
    assert kind is GridLaplace or found > epsilon * (1 - 1e-9)


def quadrant(rate: float, a: float, b: float) -> float:
    """The mass of planar Laplace noise in [0, a] x [0, b], by quadrature over directions."""
    nodes, weights = NODES
    a, b = min(a, 60 / rate), min(b, 60 / rate)
    corner, total = math.atan2(b, a), 0.0
    for start, stop, reach in ((0.0, corner, lambda t: a / np.cos(t)), (corner, math.pi / 2, lambda t: b / np.sin(t))):
        turns = start + (stop - start) * (nodes + 1) / 2
        s = rate * reach(turns)
        total += float(weights @ (1 - (1 + s) * np.exp(-s))) * (stop - start) / 2
    return total / (2 * math.pi)


def box(rate: float, low: tuple[float, float], high: tuple[float, float]) -> float:
    """The mass of a rectangle from four quadrants with signs."""
    total = 0.0
    for x, y, sign in ((high[0], high[1], 1), (low[0], high[1], -1), (high[0], low[1], -1), (low[0], low[1], 1)):
        total += sign * math.copysign(1, x) * math.copysign(1, y) * quadrant(rate, abs(x), abs(y))
    return total


@pytest.mark.parametrize("rate", [0.2, 0.99, 3.0])
def test_laplace__channel_is_the_quadrature(rate):
    """Every entry, border and corners included, to 1e-12; a rate 1e-9 larger is told apart."""
    rows, columns, x = 4, 5, (1, 3)
    channel = GridLaplace(epsilon=rate, shape=(rows, columns)).channel().row(x[0] * columns + x[1])

    def edges(place: int, size: int, start: int) -> tuple[float, float]:
        low = -math.inf if place == 0 else place - start - 0.5
        return low, math.inf if place == size - 1 else place - start + 0.5

    def missed(rate: float) -> float:
        worst = 0.0
        for s in range(rows):
            for t in range(columns):
                (u, v), (a, b) = edges(s, rows, x[0]), edges(t, columns, x[1])
                worst = max(worst, abs(channel[s * columns + t] - box(rate, (u, a), (v, b))))
        return worst

    drawn = GridLaplace(epsilon=rate, shape=(rows, columns))._rate
    assert missed(drawn) < 1e-12
    assert missed(drawn * (1 + 1e-9)) > 1e-12


@pytest.mark.parametrize("rate", [0.2, 0.99, 3.0])
def test_geometric__channel_is_the_exact_sum(rate):
    """Every entry, from all offsets that matter, to 1e-12; a rate 1e-9 larger is told apart."""
    rows, columns, x = 4, 5, (1, 3)
    mechanism = GridGeometric(epsilon=rate, shape=(rows, columns))
    channel = mechanism.channel().row(x[0] * columns + x[1]).reshape(rows, columns)

    def missed(rate: float) -> float:
        reach = math.ceil(50 / rate)
        down, across = np.mgrid[-reach : reach + 1, -reach : reach + 1]
        weights = np.exp(-rate * np.hypot(down, across))
        expected = np.zeros((rows, columns))
        places = np.clip(x[0] + down, 0, rows - 1), np.clip(x[1] + across, 0, columns - 1)
        np.add.at(expected, places, weights / weights.sum())
        return float(np.abs(expected - channel).max())

    assert missed(mechanism._rate) < 1e-12
    assert missed(mechanism._rate * (1 + 1e-9)) > 1e-12


def exact_mass(rate: float, i: int, j: int) -> mpmath.mpf:
    """The integral of e**(-rate |z|) over a cell, scaled for the quadrature, whose accuracy is absolute."""
    if (i, j) == (0, 0):

        def within(turn: mpmath.mpf) -> mpmath.mpf:
            reach = rate / (2 * mpmath.cos(turn))
            return 1 - (1 + reach) * mpmath.exp(-reach)

        return 8 * mpmath.quad(within, [0, mpmath.pi / 4]) / mpmath.mpf(rate) ** 2
    middle = mpmath.sqrt(i * i + j * j)
    sides = [[c - 0.5, c, c + 0.5] for c in (i, j)]
    density = lambda u, v: mpmath.exp(rate * (middle - mpmath.sqrt(u * u + v * v)))  # noqa: E731
    scaled = mpmath.quad(density, *sides, method="gauss-legendre", maxdegree=4)
    return scaled * mpmath.exp(-rate * middle)


@pytest.mark.parametrize("rate", [0.05, 1.3, 9.9])
def test_masses__keep_their_digits(rate):
    """Cells near the peak and far from it are right to a fraction of ERROR of themselves, also for large rates."""
    quarter = offsets.laplace_quarter(rate, 12, 12)
    with mpmath.workdps(18):
        for i, j in ((0, 0), (0, 1), (2, 2), (4, 7)):
            assert abs(quarter[i, j] / exact_mass(rate, i, j) - 1) < offsets.ERROR / 4


@each_kind
@pytest.mark.parametrize(("epsilon", "shape", "start"), [(0.1, (30, 20), 310), (0.7, (5, 5), 0), (2.5, (4, 9), 13)])
def test_reports__follow_the_channel(kind, epsilon, shape, start):
    """Reports of one cell are distributed as its row; those of an epsilon 1 % larger are told apart."""
    mechanism, size = kind(epsilon=epsilon, shape=shape), 2_000_000
    reports = mechanism.randomize(np.full(size, start, np.int32), rng=seeded())
    seen = np.bincount(reports, minlength=shape[0] * shape[1])

    def p_value(wanted: np.ndarray) -> float:
        expected = wanted * size
        common = expected > 50
        pooled = [np.append(part[common], part[~common].sum() + 1e-9) for part in (seen, expected)]
        pooled[1] *= pooled[0].sum() / pooled[1].sum()
        return chisquare(*pooled).pvalue

    assert p_value(mechanism.channel().row(start)) > 1e-3
    assert p_value(kind(epsilon=epsilon * 1.01, shape=shape).channel().row(start)) < 1e-3


@each_kind
def test_reports__are_the_same_for_any_threads_and_batches(kind, threads):
    mechanism = kind(epsilon=0.8, shape=(20, 20))
    values = np.arange(300_000) % 400
    check_same_reports(mechanism, values, threads)


@each_kind
def test_containers__come_back_as_they_went_in(kind):
    mechanism = kind(epsilon=0.8, shape=(4, 4))
    values = [3, 0, 15, 7, 7]
    check_containers(mechanism, values)
    assert mechanism.randomize(pa.array([1, None]), rng=seeded(), nulls="public")[1].as_py() is None
    assert mechanism.randomize(np.zeros(0, int)).size == 0


@each_kind
def test_bad_input__is_refused_without_its_value(kind):
    mechanism = kind(epsilon=0.8, shape=(4, 4))
    for bad in (np.array([1, 16]), np.array([-7777]), np.array([2**64 - 7777], np.uint64)):
        with pytest.raises(fd.DomainError) as caught:
            mechanism.randomize(bad)
        assert "7777" not in str(caught.value)
        assert "16" not in str(caught.value)
    for bad in ([0.5], ["a"], None):
        with pytest.raises(fd.SchemaError):
            mechanism.randomize(bad)


@each_kind
@pytest.mark.parametrize("epsilon", [0, -1.0, math.nan, math.inf, True, "1", 1e-9, 100.0])
def test_bad_parameters__are_refused(kind, epsilon):
    with pytest.raises(fd.ParameterError):
        kind(epsilon=epsilon, shape=(4, 4))


@each_kind
@pytest.mark.parametrize("given", [{"shape": (0, 4)}, {"shape": 4}, {"shape": (2.0, 4)}, {"shape": (1, 1)},
                                   {"shape": (4000, 4000)}, {"cell": 0}, {"unit": 3}])  # fmt: skip
def test_bad_shapes__are_refused(kind, given):
    with pytest.raises(fd.ParameterError):
        kind(**{"epsilon": 0.5, "shape": (3, 3)} | given)
