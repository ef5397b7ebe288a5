"""Correlated noise: oracles 45-50, exact releases, and old noise that is drawn again."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import chi2

import fastdp as fd
from fastdp.learning import BandedNoise, TreeNoise
from fastdp.learning.noise.coefficients import (
    invert,
    optimal_coefficients,
    prefix_errors,
    quantise,
    root_coefficients,
    squared_sensitivity,
)
from fastdp.learning.noise.stream import FINE, GRID
from fastdp.learning.noise.tree import honaker_variance


def test_oracle_45__root():
    due = [1, 0.5, 0.375, 0.3125, 0.2734375, 0.24609375, 0.2255859375, 0.20947265625]
    assert root_coefficients(8).tolist() == due


@pytest.mark.parametrize(
    ("bands", "steps", "square", "mean", "largest"),
    [(16, 16, 1.94387884716, 3.22854213102, 3.77866497242), (1024, 1024, 3.27255415027, 9.67079326531, 10.7096106665),
     (4, 16, 1.48828125, 3.768239497209261, 6.097278954754765)],
)  # fmt: skip
def test_oracles_46_47_48__errors_of_prefix_sums(bands, steps, square, mean, largest):
    c = root_coefficients(bands)
    found = squared_sensitivity(c, steps)
    errors = prefix_errors(c, steps) * found
    assert found == pytest.approx(square, rel=1e-10)
    assert errors.mean() == pytest.approx(mean, rel=1e-10)
    assert errors.max() == pytest.approx(largest, rel=1e-10)


@pytest.mark.parametrize(("online", "mean"), [(False, 10.3125), (True, 7.089861751152073)])
def test_oracle_49__errors_of_the_tree(online, mean):
    tree = TreeNoise(steps=16, dimension=1, noise_multiplier=1.0, online=online)
    assert tree.levels == 5
    assert (tree.prefix_std_errors() ** 2).mean() == pytest.approx(mean, rel=1e-6)


def test_oracle_50__averaged_nodes():
    assert [honaker_variance(k) for k in range(5)] == pytest.approx([1, 2 / 3, 4 / 7, 8 / 15, 16 / 31])


@pytest.mark.parametrize(("participations", "separation"), [(1, 1), (2, 3), (3, 2), (2, 1)])
def test_sensitivity__is_the_largest_over_all_schedules(participations, separation):
    """By enumeration of the steps that one example may take part in."""
    c, steps = quantise(root_coefficients(3)), 7
    matrix = sum(np.diag(np.full(steps - j, c[j]), -j) for j in range(3))
    worst = 0.0
    for mask in range(1 << steps):
        chosen = [t for t in range(steps) if mask >> t & 1]
        far = all(b - a >= separation for a, b in zip(chosen, chosen[1:], strict=False))
        if far and 0 < len(chosen) <= participations:
            worst = max(worst, float((matrix[:, chosen].sum(axis=1) ** 2).sum()))
    assert squared_sensitivity(c, steps, participations, separation) == pytest.approx(worst, rel=1e-14)


@pytest.mark.parametrize(
    ("bands", "steps", "participations", "separation"), [(4, 40, 1, 1), (4, 40, 4, 10), (3, 12, 2, 2)]
)
def test_coefficients__are_best_among_their_neighbours(bands, steps, participations, separation):
    def worth(c):
        return squared_sensitivity(c, steps, participations, separation) * prefix_errors(c, steps).mean()

    best = optimal_coefficients(bands, steps, participations, separation)
    assert worth(best) < worth(root_coefficients(bands))
    source = np.random.default_rng(1)
    for _ in range(200):
        other = best + np.append(0, source.normal(0, 0.01, bands - 1))
        if (np.diff(np.append(other, 0)) <= 0).all():
            assert worth(other) > worth(best) * (1 - 1e-6)


def test_inverse__is_that_of_the_matrix():
    c = quantise(optimal_coefficients(3, 10))
    matrix = sum(np.diag(np.full(10 - j, c[j]), -j) for j in range(3))
    assert invert(c, 10) == pytest.approx(np.linalg.inv(matrix)[:, 0], abs=1e-12)
    assert (c * 4096 % 1 == 0).all()


@pytest.mark.parametrize("bands", [1, 4])
def test_banded__draws_the_same_noise_from_a_ring_and_again(bands):
    both = [
        BandedNoise(bands=bands, steps=12, dimension=50, noise_multiplier=1.0, keep=keep, rng=fd.Rng.unsafe_seed(2))
        for keep in ("ring", "nothing")
    ]
    for step in range(12):
        ring, again = (one.noise(step) for one in both)
        assert ring == pytest.approx(again, rel=1e-4, abs=1e-5)
    assert np.array_equal(both[1].noise(3), both[1].noise(3))
    with pytest.raises(fd.ParameterError, match="next step"):
        both[0].noise(3)


def test_banded__prefix_sums_have_the_stated_errors():
    size, steps = 4000, 8
    noise = BandedNoise(bands=3, steps=steps, dimension=size, noise_multiplier=2.0, clip=0.5, rng=fd.Rng.unsafe_seed(4))
    prefixes = np.cumsum([noise.noise(step) for step in range(steps)], axis=0)
    for found, due in zip(prefixes, noise.prefix_std_errors(), strict=True):
        spread = (found**2).sum() / due**2
        assert 1e-4 < chi2.cdf(spread, size) < 1 - 1e-4
        assert chi2.cdf(spread * 0.9**2, size) < 1e-4
    assert noise.privacy.rho == pytest.approx(1 / 8, rel=1e-6)
    assert fd.compose([noise]).epsilon(delta=1e-6).upper < noise.privacy.epsilon_at(1e-6)


def test_banded__release_follows_from_noisy_integers_alone():
    """What is released is C^-1 of the integers C x + z: of x only through them, and near x + C^-1 z."""
    source, steps, size = np.random.default_rng(5), 6, 5
    rows = source.standard_normal((steps, 3, size)) / 3
    make = lambda: BandedNoise(  # noqa: E731
        bands=3, steps=steps, dimension=size, noise_multiplier=0.5, rng=fd.Rng.unsafe_seed(6)
    )
    alone, stream = make(), make()
    exact = np.clip(1 / np.linalg.norm(rows, axis=2), None, 1)[:, :, None] * rows
    for step in range(steps):
        released = stream.add(rows[step, 1:]).add(rows[step, :1]).release()
        assert released == pytest.approx(exact[step].sum(axis=0) + alone.noise(step), abs=1e-4)
    # the integers of C x are whole: with coefficients off the grid of the noise their remainders would be released
    assert (stream._whole == stream.coefficients * FINE).all()
    assert not np.array_equal(np.rint(root_coefficients(9)[-1:] * FINE), root_coefficients(9)[-1:] * FINE)
    with pytest.raises(fd.ParameterError, match="all 6 steps"):
        stream.release()


@pytest.mark.parametrize("steps", [1, 5, 16])
def test_tree__nodes_make_up_each_prefix(steps):
    """Every node covers its own steps; those of a prefix cover it once, and averages are consistent."""
    for online in (False, True):
        tree = TreeNoise(steps=steps, dimension=1, noise_multiplier=1.0, online=online)
        for step in range(steps):
            covered = np.zeros(1 << (tree.levels - 1))
            for node, weight in tree.nodes(step).items():
                depth = node.bit_length() - 1
                width = 1 << (tree.levels - 1 - depth)
                covered[(node - (1 << depth)) * width :][:width] += weight
            assert covered[: step + 1] == pytest.approx(1)
            assert covered[step + 1 :] == pytest.approx(0)


def test_tree__release_is_the_integer_prefix_and_its_nodes():
    rows = np.random.default_rng(7).standard_normal((5, 4, 3)) / 4
    tree = TreeNoise(steps=5, dimension=3, noise_multiplier=1.0, rng=fd.Rng.unsafe_seed(8))
    alone = TreeNoise(steps=5, dimension=3, noise_multiplier=1.0, rng=fd.Rng.unsafe_seed(8))
    total = np.zeros(3)
    for step in range(5):
        total += (np.clip(1 / np.linalg.norm(rows[step], axis=1), None, 1)[:, None] * rows[step]).sum(axis=0)
        released = tree.add(rows[step]).release()
        assert released == pytest.approx(total + alone.prefix(step), abs=1e-4)
        assert (released / tree.scale % 1 == 0).all()
    with pytest.raises(fd.ParameterError, match="online"):
        TreeNoise(steps=5, dimension=3, noise_multiplier=1.0, online=True).release()


def test_tree__costs_what_its_levels_cost():
    tree = TreeNoise(steps=16, dimension=3, noise_multiplier=1.5)
    assert tree.privacy.rho == pytest.approx(1 / (2 * 1.5**2), rel=1e-6)
    assert tree._law.sigma == pytest.approx(1.5 * math.sqrt(5) * GRID * FINE, rel=1e-6)


@pytest.mark.parametrize(
    ("parameters", "match"),
    [({"bands": 0}, "bands"), ({"bands": 9}, "at most steps"), ({"keep": "all"}, "keep"),
     ({"coefficients": [1, 0.5]}, "4 numbers"), ({"coefficients": [1, 0.1, 0.2, 0]}, "grow"),
     ({"coefficients": [1, 0.5, 0.2, -0.1]}, "grow"), ({"noise_multiplier": 0}, "noise")],
)  # fmt: skip
def test_parameters__are_checked(parameters, match):
    with pytest.raises(fd.ParameterError, match=match):
        BandedNoise(**{"bands": 4, "steps": 8, "dimension": 3, "noise_multiplier": 1.0, **parameters})
