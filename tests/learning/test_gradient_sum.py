"""GradientSum: sensitivity by exact integers, one sum for any order, and what it costs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import chi2, kstest

import fastdp as fd
from fastdp.learning import clipping
from fastdp.learning.clipping import ClippedSum, read_gradients

STEPS = 1 << 24


def integers(gradients, clip=1.0, steps=STEPS):
    """The exact sum on the grid, in one vector."""
    parts, shapes = read_gradients("test", gradients)
    found = ClippedSum(clip, steps, shapes)
    found.add(parts)
    return np.concatenate(found.totals)


def squared_norm(vector):
    return sum(int(x) ** 2 for x in vector)


def hostile_rows(dtype):
    """Rows whose norm, or whose products with the factor, round up."""
    source = np.random.default_rng(3)
    for size in (1, 2, 3, 64, 513, 2000):
        yield source.standard_normal((8, size)).astype(dtype) * 100
        yield np.full((1, size), 1 / 3, dtype)
        yield np.ones((1, size), dtype)
        yield np.nextafter(np.ones((1, size), dtype), dtype(2)) / dtype(math.sqrt(size))
    yield np.full((1, 7), np.finfo(np.float32).max, dtype)
    yield np.full((1, 7), np.finfo(np.float32).tiny / 8, dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("clip", [1.0, 0.3, 1e-20, 1e20])
def test_sensitivity__is_the_steps_of_the_clip_exactly(dtype, clip):
    for rows in hostile_rows(dtype):
        for row in rows:
            with np.errstate(over="ignore"):
                scaled = row[None] * dtype(clip)
            found = squared_norm(integers(scaled, clip))
            assert found <= STEPS**2
    aligned = integers(np.array([[5.0]], dtype) * dtype(clip), clip)[0]
    assert STEPS * (1 - 2e-6) < aligned <= STEPS  # nearly all of the clip is used


def test_sensitivity__without_the_slack_or_by_rounding_to_nearest_is_exceeded(monkeypatch):
    """Two mutants: the norm's rounding not charged, and steps rounded to the nearest instead of toward zero."""
    rows = np.random.default_rng(1).standard_normal((200, 2)).astype(np.float32) * 10
    assert max(squared_norm(integers(row[None])) for row in rows) <= STEPS**2
    monkeypatch.setattr(clipping, "SLACK", 1.0)
    assert max(squared_norm(integers(row[None])) for row in rows) > STEPS**2
    monkeypatch.undo()
    small = 1 << 8  # a coarse grid, where rounding to nearest adds half a step to every coordinate
    nearest = [np.rint(row / np.linalg.norm(row) * small * (1 - 2.0**-20)) for row in np.ones((1, 900), np.float32)]
    assert squared_norm(nearest[0]) > small**2
    assert squared_norm(integers(np.ones((1, 900), np.float32), steps=small)) <= small**2


def test_sum__is_the_same_for_any_order_and_microbatches():
    source = np.random.default_rng(5)
    rows = (source.standard_normal((150, 700)) * source.exponential(1, (150, 1))).astype(np.float32)
    due = integers(rows)
    for cut in (1, 7, 64, 149):
        mean = fd.learning.GradientSum(clip=1.0, noise_multiplier=1.0, batch=10, rng=fd.Rng.unsafe_seed(4))
        order = source.permutation(150)
        for first in range(0, 150, cut):
            mean.add(rows[order[first : first + cut]])
        assert np.array_equal(mean._sum.totals[0], due)
        released = mean.release()
        if cut == 1:
            first_release = released
        assert np.array_equal(released, first_release)
    # a sum of floats has an order
    clipped = rows * np.minimum(1, 1 / np.linalg.norm(rows, axis=1))[:, None]
    assert len({clipped[source.permutation(150)].sum(axis=0, dtype=np.float32).tobytes() for _ in range(8)}) > 1


@pytest.mark.parametrize("examples", [0, 1, 2, 63, 64, 65, 131])
def test_sum__of_rows_that_no_cache_holds_is_the_same(examples, monkeypatch):
    source = np.random.default_rng(examples)
    parts = [source.standard_normal((examples, 40, 20)), source.standard_normal((examples, 13))]
    if examples > 2:
        parts[1][[1, examples - 1], 3] = np.nan
    near = integers(parts)
    monkeypatch.setattr(clipping, "NEAR", 1)
    assert np.array_equal(integers(parts), near)


def test_sum__is_near_that_of_clipped_floats():
    rows = np.random.default_rng(6).standard_normal((40, 30))
    clipped = rows * np.minimum(1, 1 / np.linalg.norm(rows, axis=1))[:, None]
    assert np.abs(integers(rows) / STEPS - clipped.sum(axis=0)).max() < 40 * 3 / STEPS + 40 * 2e-6


def test_sum__of_several_parameters_has_one_norm():
    source = np.random.default_rng(7)
    weights, biases = source.standard_normal((5, 3, 4)), source.standard_normal((5, 2))
    whole = np.concatenate([weights.reshape(5, -1), biases], axis=1)
    assert np.abs(integers([weights, biases]) - integers(whole)).max() <= 5  # norms are added in another order
    mean = fd.learning.GradientSum(clip=1.0, noise_multiplier=0.01, batch=5)
    released = mean.add([weights, biases]).release()
    assert [part.shape for part in released] == [(3, 4), (2,)]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_sum__counts_what_is_not_finite_as_zero(bad):
    rows = np.random.default_rng(8).standard_normal((6, 9)).astype(np.float32)
    spoilt = np.vstack([rows, np.full((1, 9), 2.0, np.float32)])
    spoilt[6, 4] = bad
    assert np.array_equal(integers(spoilt), integers(rows))


def test_sum__takes_what_speaks_dlpack():
    class Tensor:
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **options):
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    rows = np.random.default_rng(9).standard_normal((6, 9)).astype(np.float32)
    assert np.array_equal(integers(Tensor(rows)), integers(rows))
    assert np.array_equal(integers(rows[:, ::2]), integers(rows[:, ::2].copy()))  # strided
    assert np.array_equal(integers(rows.astype(np.float16)), integers(rows.astype(np.float16).astype(np.float32)))


@pytest.mark.parametrize(
    "given", [np.ones(3), np.ones((2, 3), int), [np.ones((2, 3)), np.ones((3, 3))], [], "text", [[1.0, 2.0]],
              np.ma.ones((2, 3))],
)  # fmt: skip
def test_add__refuses_what_is_no_gradient_before_anything_is_spent(given, tmp_path):
    mean = fd.learning.GradientSum(clip=1.0, rho=0.1, batch=5, shapes=((3,),))
    ledger = fd.Ledger.create(tmp_path / "a.ledger", rho=1.0, policy="zcdp")
    with pytest.raises(fd.SchemaError, match="GradientSum: "):
        mean.add(given).release(ledger=ledger)
    with pytest.raises(fd.ParameterError, match="shapes"):
        mean.add(np.ones((2, 4))).release(ledger=ledger)
    assert ledger.spent.amount == 0


@pytest.mark.parametrize(
    ("parameters", "match"),
    [({"clip": 0.0}, "clip"), ({"clip": 2.0**101}, "clip"), ({"batch": -1}, "batch"), ({"rho": None}, "exactly one"),
     ({"noise_multiplier": 1.0}, "exactly one"), ({"steps": 3}, "power of two"), ({"steps": 2**25}, "2\\*\\*24"),
     ({"rho": True}, "rho"), ({"rho": math.nan}, "rho"), ({"steps": 2**8}, "sigma"), ({"rng": 1}, "rng")],
)  # fmt: skip
def test_parameters__are_checked(parameters, match):
    with pytest.raises(fd.ParameterError, match=match):
        fd.learning.GradientSum(**{"clip": 1.0, "rho": 0.5, "batch": 1, **parameters})


@pytest.mark.parametrize("multiplier", [0.5, 1.0, 4.0])
def test_noise__is_gaussian_of_the_stated_scale(multiplier):
    size = 20_000
    mean = fd.learning.GradientSum(
        clip=2.0, noise_multiplier=multiplier, batch=10, shapes=((size,),), rng=fd.Rng.unsafe_seed(11)
    )
    drawn = mean.add(np.zeros((0, size))).release()
    assert kstest(drawn, "norm", args=(0, multiplier * 2.0 / 10)).pvalue > 1e-3
    spread = (drawn**2).sum() / (multiplier * 0.2) ** 2
    assert 1e-3 < chi2.cdf(spread, size) < 1 - 1e-3
    # a divisor taken from the data, 0 or 1 here, would not be seen in the zeros; 3 % less noise is
    assert chi2.cdf(spread * 0.97**2, size) < 1e-3


def test_release__divides_by_the_declared_batch_whatever_was_added():
    """A divisor that is counted would tell how many examples there were."""
    ones = np.ones((7, 1))
    means = [
        fd.learning.GradientSum(clip=1.0, noise_multiplier=0.004, batch=100).add(ones[:count]).release()[0]
        for count in (0, 1, 7)
    ]
    assert means == pytest.approx([0, 0.01, 0.07], abs=4e-4)


def test_release__starts_again_and_refuses_an_empty_start():
    mean = fd.learning.GradientSum(clip=1.0, noise_multiplier=0.004, batch=1)
    with pytest.raises(fd.ParameterError, match="nothing was added"):
        mean.release()
    mean.add(np.ones((50, 2))).release()
    assert abs(mean.add(np.zeros((1, 2))).release()).max() < 0.05


def test_privacy__is_that_of_the_integers():
    mean = fd.learning.GradientSum(clip=1.0, noise_multiplier=1.3, batch=1, shapes=((10,),))
    assert mean.privacy.rho == pytest.approx(1 / (2 * 1.3**2), rel=1e-9)
    assert mean.privacy.rho >= STEPS**2 / (2 * mean.sigma**2) * (1 - 1e-15)
    (loss,) = mean.losses()
    assert loss.mu >= 1 / 1.3 * (1 - 1e-9)
    assert loss.distance == 10 * 2.0**-100
    assert fd.compose([mean]).epsilon(delta=1e-6).upper < mean.privacy.epsilon_at(1e-6)
    rho = fd.learning.GradientSum(clip=1.0, rho=0.25, batch=1)
    assert rho.privacy.rho <= 0.25 < rho.privacy.rho * (1 + 1e-6)


def test_epsilon__is_pure_by_the_l1_norm_of_the_integers():
    """The integers' L1 norm is within the sensitivity of the geometric noise."""
    mean = fd.learning.GradientSum(clip=1.0, epsilon=0.7, batch=1, steps=2**16, shapes=((50,),))
    assert mean.privacy == fd.Privacy(epsilon=0.7)
    worst = integers(np.ones((1, 50)), steps=2**16)
    assert np.abs(worst).sum() <= mean.mechanism.sensitivity <= np.abs(worst).sum() * (1 + 1e-4) + 50
    assert mean.mechanism.privacy.epsilon <= 0.7
    assert fd.compose([(mean, 3)]).epsilon(delta=0).upper == pytest.approx(2.1, rel=1e-12)
    with pytest.raises(fd.ParameterError, match="give shapes"):
        _ = fd.learning.GradientSum(clip=1.0, epsilon=0.7, batch=1).mechanism


def test_arrays_of_jax__are_read_by_dlpack():
    jax = pytest.importorskip("jax", reason="jax is not installed")
    rows = np.random.default_rng(2).standard_normal((20, 30)).astype(np.float32)
    totals = []
    for given in (rows, jax.numpy.asarray(rows), [jax.numpy.asarray(rows)]):
        mean = fd.learning.GradientSum(clip=1.0, noise_multiplier=1.0, batch=1)
        totals.append(mean.add(given)._sum.totals[0])
    assert all(np.array_equal(total, totals[0]) for total in totals)
