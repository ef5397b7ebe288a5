"""Intervals cover what they say, and are no wider than they need: 2,000 groups are 2,000 runs."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import fastdp as fd
from fastdp.queries.answers.noise import Noise, Spend
from fastdp.queries.answers.ratios import difference_quantile
from fastdp.queries.answers.selected import selected_intervals
from fastdp.queries.answers.variances import Scales, _quantiles
from fastdp.queries.unit import Sensitivity

RUNS = 2000
KEYS = list(range(RUNS))
SLACK = 3 * math.sqrt(0.95 * 0.05 / RUNS)
BUDGETS = [{"epsilon": 1.0}, {"epsilon": 6.0}, {"rho": 0.1}, {"rho": 5.0}]


def table(rows, seed=1):
    source = np.random.default_rng(seed)
    keys = np.repeat(KEYS, rows)
    return {"k": keys, "v": source.gamma(2.0, 10.0, keys.size)}


def coverage(answer, truth, level=0.95):
    low, high = answer.interval(level)
    return ((low <= truth) & (truth <= high)).mean(), float(np.mean(high - low))


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("rows", [3, 40])
def test_intervals__of_counts_sums_means_and_variances_cover(budget, rows, rng):
    data = table(rows)
    asked = ["count", "sum(v)", "mean(v)", "variance(v)"]
    found = fd.release.group_by(data, "k", asked, keys=KEYS, bounds={"v": (0, 80)}, rng=rng, **budget)
    values = np.clip(data["v"], 0, 80).reshape(RUNS, rows)
    for name, truth in {
        "count": np.full(RUNS, rows), "sum_v": values.sum(axis=1), "mean_v": values.mean(axis=1),
        "variance_v": values.var(axis=1),
    }.items():  # fmt: skip
        share, width = coverage(found[name], truth)
        assert share >= 0.95 - SLACK, name
        if name == "sum_v":
            assert share <= 0.95 + SLACK  # a fine grid: exactly 95 %
            error = float(found[name].std_error[0])
            exact = 2 * (1.959964 if "rho" in budget else math.log(20) / math.sqrt(2)) * error
            assert math.isclose(width, exact, rel_tol=1e-3)
        if name == "mean_v" and rows == 40 and budget.get("epsilon") == 6.0:
            assert share <= 0.95 + SLACK  # Fieller's set is exact too
        if name == "count":
            noise = found[name].errors.noise
            assert width <= 2 * noise.half_width(0.95)


@pytest.mark.parametrize("budget", [{"epsilon": 6.0}, {"rho": 5.0}])
def test_intervals__of_variances_are_hardly_wider_than_with_known_means(budget, rng):
    """The exact width is that of draws of the noise at the true mean and variance; two intervals at half are wider."""
    rows = 400
    data = table(rows)
    values = np.clip(data["v"], 0, 80).reshape(RUNS, rows)
    found = fd.release.group_by(data, "k", ["variance(v)"], keys=KEYS, bounds={"v": (0, 80)}, rng=rng, **budget)
    share, width = coverage(found["variance_v"], values.var(axis=1))
    assert 0.95 - SLACK <= share <= 0.95 + SLACK
    errors = found["variance_v"].errors
    mean, square = errors.mean, errors.square
    zeros = np.zeros(200_000, np.int64)
    z2, z1, zn = (
        noise.add(zeros, rng.child(f"draws {place}")) * step
        for place, (noise, step) in enumerate(
            [(square.noise, square.grid), (mean.noise, mean.grid), (mean.count_noise, mean.count_step)]
        )
    )
    centre, variance = values.mean() - mean.middle, values.var(axis=1).mean()
    exact = 2 * np.quantile(np.abs(z2 - 2 * centre * z1 + (centre**2 - variance) * zn), 0.95) / rows
    assert 0.98 * exact <= width <= 1.05 * exact
    low, high = square.interval(0.975)
    least, most = (end - mean.middle for end in mean.interval(0.975))
    assert np.mean(high - low) + abs(np.mean(most**2 - least**2)) > 1.2 * width


@pytest.mark.parametrize("kind", ["epsilon", "rho"])
def test_quantiles_of_three_noises__are_those_of_draws(kind, rng):
    """The 95 % point of |Z2 - m Z1 - c Zn|, and a table of many is never below it."""
    noises = [
        Noise.of("release", Spend(**{kind: Fraction(1)}), Sensitivity(steps, steps * steps, steps, 1))
        for steps in (60, 40, 2)
    ]
    scales = Scales(noises[0], 0.5, noises[1], 1.0, noises[2], 1.0)
    draws = [one.add(np.zeros(400_000, np.int64), rng.child(str(place))) for place, one in enumerate(noises)]
    for mean, rows in ((0.0, 0.0), (1.5, 0.0), (0.7, 30.0), (0.0, 100.0)):
        size = np.abs(draws[0] * 0.5 - mean * draws[1] - rows * draws[2])
        found = scales.quantile(0.95, mean, rows)
        assert (size <= found).mean() >= 0.95 - 3 * math.sqrt(0.05 * 0.95 / 400_000)
        loose = 0.25 + mean / 2 + (rows / 2 if kind == "rho" else rows)  # laws on steps jump
        assert (size <= found - 2 * loose - 0.05 * found).mean() < 0.95
    many = _quantiles(scales, 0.95, np.linspace(0, 2, 40), 2.0, 100.0)(np.linspace(0, 100, 40))
    places = zip(np.linspace(0, 2, 40).tolist(), np.linspace(0, 100, 40).tolist(), strict=True)
    alone = [scales.quantile(0.95, one, other) for one, other in places]
    assert (many >= np.array(alone) * (1 - 1e-3)).all()
    assert (many <= np.array(alone) * 1.05).all()


def test_intervals__of_selected_counts_cover_given_that_they_were_selected():
    """Small groups are seldom selected, and look large when they are: the plain interval would miss most of them."""
    selection = fd.KeySelection(epsilon=0.5, delta=1e-3)
    naive = []
    for count in (3, 8, selection.threshold, 2 * selection.threshold, 500):
        many = np.full(400_000 if count < 10 else 20_000, count)
        kept = selection.select(many, rng=fd.Rng.unsafe_seed(count)).counts
        low, high = selected_intervals(selection, kept, 0.95)
        inside = ((low <= count) & (count <= high)).mean()
        assert inside >= 0.95 - 3.5 * math.sqrt(0.95 * 0.05 / kept.size), count
        naive.append((np.abs(kept - count) <= 6).mean())
    assert min(naive) < 0.1


@pytest.mark.parametrize("kind", ["epsilon", "rho"])
@pytest.mark.parametrize("ratio", [0.0, 0.3, 1.0, 7.0])
def test_difference_quantile__is_that_of_draws(kind, ratio):
    """The 95 % point of |Zx - r Zy|, against a million draws of both."""
    noises = [
        Noise.of("release", Spend(**{kind: Fraction(1)}), Sensitivity(steps, steps * steps, steps, 1))
        for steps in (40, 2)
    ]
    found = difference_quantile(*noises, ratio, 0.95)
    drawn = [noise.add(np.zeros(1_000_000, np.int64), fd.Rng.unsafe_seed(5).child(n)) for n, noise in enumerate(noises)]
    apart = np.abs(drawn[0] - ratio * drawn[1])
    assert (apart <= found).mean() >= 0.95 - 1e-3
    assert (apart < found - 1).mean() <= 0.95 + 1e-3


@pytest.mark.parametrize("budget", [{"epsilon": 1.0}, {"rho": 0.5}])
def test_intervals__of_tree_bins_cover(budget):
    """Forty runs of a tree with 64 bins; bins of one run share noise, so runs are what counts."""
    values = np.random.default_rng(2).gamma(2.0, 10.0, 20_000)
    edges = np.linspace(0, 64, 65)
    truth = np.histogram(values, edges)[0]
    shares = []
    for seed in range(40):
        answer = fd.release.histogram(values, edges=edges, tree=4, rng=fd.Rng.unsafe_seed(seed), **budget)
        shares.append(coverage(answer, truth)[0])
    error = np.std(shares) / math.sqrt(40)
    assert np.mean(shares) >= 0.95 - 3 * error
    if "rho" in budget:
        assert np.mean(shares) <= 0.95 + 3 * error


def test_intervals__of_marginals_cover():
    source = np.random.default_rng(3)
    data = {"a": source.integers(0, 3, 2000), "b": source.integers(0, 4, 2000), "c": source.integers(0, 2, 2000)}
    domains = {"a": range(3), "b": range(4), "c": range(2)}
    shares = []
    for seed in range(100):
        found = fd.release.marginals(data, domains, ways=2, rho=0.5, rng=fd.Rng.unsafe_seed(seed))
        for name, answer in found.items():
            names = name.split(" × ")
            exact = np.histogramdd([data[one] for one in names], [np.arange(len(domains[one]) + 1) for one in names])[0]
            shares.append(coverage(answer, exact.ravel())[0])
    assert abs(np.mean(shares) - 0.95) < 4 * np.std(shares) / math.sqrt(len(shares))


def test_intervals__of_quantiles_cover():
    """With brackets: the true quantile lies between them, also where many rows share one value."""
    source = np.random.default_rng(4)
    values = np.where(source.random(3000) < 0.3, 20.0, source.gamma(2.0, 10.0, 3000))
    truth = np.sort(values)[[749, 1499, 2249]]
    inside = []
    for seed in range(60):
        answer = fd.release.quantiles(
            values, [0.25, 0.5, 0.75], bounds=(0, 100), epsilon=3.0, interval=0.95, rng=fd.Rng.unsafe_seed(seed)
        )
        low, high = answer.interval(0.95)
        inside.append((low <= truth) & (truth <= high))
    assert np.mean(inside) >= 0.95 - 3 * math.sqrt(0.95 * 0.05 / 180)
    with pytest.raises(fd.ParameterError, match="up to level"):
        answer.interval(0.99)
