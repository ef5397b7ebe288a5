"""The logarithm that log-likelihoods add up, and the steps of k-RR."""

from __future__ import annotations

import numpy as np
import pytest


def test_logarithm__is_good_to_the_last_digit():
    """Over the whole range, and near 1, where it is small itself."""
    from fastdp.kernels.products.likelihood import log_normal

    source = np.random.default_rng(4)
    numbers = np.concatenate(
        (np.exp(source.uniform(-708, 709, 20_000)), 1 + source.normal(size=10_000) * 1e-7, [1.0, 2.0, 0.5, 2.3e-308])
    )
    found, expected = np.array([log_normal(number) for number in numbers]), np.log(numbers)
    assert (np.abs(found - expected) <= np.spacing(np.abs(expected))).all()


def naive_steps(shares, p, q, steps, x):
    """Accelerated steps of EM for one row of k-RR's reports, as they are taught."""
    matrix = np.full((x.size, x.size), q) + (p - q) * np.eye(x.size)
    plain, t = None, 1.0
    for _ in range(steps):
        logs = np.log(x * (matrix @ (shares / (x @ matrix))))
        t_next = (1 + np.sqrt(1 + 4 * t * t)) / 2
        moved = logs if plain is None else logs + (t - 1) / t_next * (logs - plain)
        x = np.exp(moved - moved.max())
        x, plain, t = x / x.sum(), logs, t_next
    return x


@pytest.mark.parametrize(("size", "p", "q"), [(5, 0.6, 0.1), (9, 0.2, 0.1), (4, 0.1, 0.3)])
@pytest.mark.parametrize("steps", [1, 2, 30])
def test_krr_steps__are_those_of_the_matrix(size, p, q, steps):
    """In one go or in two; the mutant that forgets its last logarithms on the way differs from the third step on."""
    from fastdp.estimators.smoothing.step_paths import momentum_factors
    from fastdp.kernels.products.likelihood import step_krr_rows

    shares = np.random.default_rng(2).dirichlet(np.ones(size), size=3)
    expected = [naive_steps(row, p, q, steps, np.full(size, 1 / size)) for row in shares]
    momenta, sizes = momentum_factors(steps), np.ones(shares.shape)

    def walk(*parts, forget=False):
        points, plain = np.full(shares.shape, 1 / size), np.zeros(shares.shape)
        for part in parts:
            step_krr_rows(shares, sizes, p, q, part, -650.0, points, plain)
            plain[:] = 0 if forget else plain
        return points

    np.testing.assert_allclose(walk(momenta), expected, rtol=1e-10)
    np.testing.assert_allclose(walk(momenta[:2], momenta[2:]), expected, rtol=1e-10)
    if steps > 2:
        assert not np.allclose(walk(momenta[:2], momenta[2:], forget=True), expected, rtol=1e-3)


def test_krr_steps__of_equal_values_are_those_of_one_entry():
    """An entry stands for many values, and one that stands for none changes nothing; what is 0 stays next to it."""
    from fastdp.estimators.smoothing.step_paths import momentum_factors
    from fastdp.kernels.products.likelihood import step_krr_rows

    whole, folded = np.array([[0.4, 0.1, 0.1, 0.2, 0.2]]), np.array([[0.4, 0.1, 0.2, 0.0]])
    sizes = np.array([[1.0, 2.0, 2.0, 0.0]])
    apart, together = np.full((1, 5), 0.2), np.full((1, 4), 0.2)
    for shares, counts, points in ((whole, np.ones((1, 5)), apart), (folded, sizes, together)):
        step_krr_rows(shares, counts, 0.6, 0.1, momentum_factors(20), -650.0, points, np.zeros(points.shape))
    np.testing.assert_allclose(together[0, [0, 1, 1, 2, 2]], apart[0], rtol=1e-12)

    cut = np.array([[0.5, 0.5, 0.0, 0.0, 0.0]])
    step_krr_rows(whole, np.ones((1, 5)), 0.6, 0.1, momentum_factors(20), -650.0, cut, np.zeros((1, 5)))
    assert (cut[0, 2:] < 1e-200).all()
    assert cut[0, :2].sum() == pytest.approx(1)
