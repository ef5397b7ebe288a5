"""Second-order estimation: quadratic programs on the support, solved by pivoting, with the likelihood as judge."""

from __future__ import annotations

import math

import numpy as np

from fastdp.estimators.likelihood.search import Run

MOST_STEPS = 200
MOST_PIVOTS = 60
"""Pivots after which a program counts as too degenerate; a larger proximal term makes it easy, which is cheaper."""
MOST_INTERIOR = 60
LARGEST_SUPPORT = 3_000
"""Inputs of a quadratic program: beyond it, first-order steps narrow the support at less cost."""
LARGEST_INTERIOR = 1_500
LARGEST_INTERIOR_NEAR = 300
NEAR = 1e-7
"""Inputs up to which an interior-point method is worth its cost, from a larger gap than this and from a smaller one."""
SUFFICIENT = 1e-4
"""The part of the promised gain that a step must bring."""


def run_second_order(run: Run) -> bool:
    """Newton steps on the support from the run's best point; False if they no longer improve.

    The quadratic model of the likelihood at p is minimised over x >= 0 on the support and on inputs whose G is a local
    maximum above 1: no step of the line search ever leaves the simplex. A proximal term keeps it well posed for
    channels with equal or dependent rows. [Wang 2007; Kim, Carbonetto, Stephens, Anitescu 2020]
    """
    proximal = 1e-10
    failures = 0
    for _ in range(MOST_STEPS):
        before = run.likelihood
        if _step(run, proximal) and run.likelihood > before:
            failures = 0
            proximal = max(proximal / 10, 1e-14)
            continue
        failures += 1
        proximal = min(proximal * 100, 1.0)
        if failures > 4:
            return False
    return False


def _candidates(p: np.ndarray, g: np.ndarray) -> np.ndarray:
    """The inputs that carry probability, and those where more of it would help."""
    size = p.size
    support = p > 1e-9 / size
    wanted = g > 1
    left = np.concatenate(([-math.inf], g[:-1]))
    right = np.concatenate((g[1:], [-math.inf]))
    peaks = wanted & (g >= left) & (g >= right)
    # an input that is on its way out: little probability, and clearly less of it would help
    leaving = (p < 1e-3 / size) & (g < 1 - 1e-3)
    return np.flatnonzero((support & ~leaving) | peaks)


def _step(run: Run, proximal: float) -> bool:
    """One quadratic program and its line search; whether the likelihood rose as promised."""
    full, g = run.p, run.g
    inside = _candidates(full, g)
    if inside.size > LARGEST_SUPPORT or not run.problem.fits(inside.size):
        return False
    a, q = run.problem.columns(inside)
    p = full[inside] / full[inside].sum()
    d = p @ a
    if not (d > 0).all():
        return False
    scaled = a * (np.sqrt(q) / d)
    hessian = scaled @ scaled.T
    g = a @ (q / d)
    diagonal = hessian.diagonal()
    ridge = proximal * np.maximum(diagonal, diagonal.mean() * 1e-3)
    hessian[np.diag_indices_from(hessian)] += ridge
    target = _quadratic(hessian, 2 * g - 1 + ridge * p, p)
    if target is None or not target.sum() > 0:
        return False
    direction = target - p
    promised = float((g - 1) @ direction)
    if not promised > 0:
        return False
    start = float(q @ np.log(d)) - 1.0
    forward = direction @ a
    length = 1.0
    with np.errstate(all="ignore"):
        while length > 1e-6:
            reached = d + length * forward
            value = float(q @ np.log(reached)) - float((p + length * direction).sum())
            if (reached > 0).all() and value >= start + SUFFICIENT * length * promised:
                break
            length /= 2
        else:
            return False
    trial = np.zeros(full.size)
    trial[inside] = np.maximum(p + length * direction, 0.0)
    trial /= trial.sum()
    run.evaluate(trial)
    return True


def _quadratic(hessian: np.ndarray, linear: np.ndarray, start: np.ndarray) -> np.ndarray | None:
    """The minimiser of x' H x / 2 - linear' x over x >= 0, by block principal pivoting; None if it was not found.

    All wrong signs are exchanged at once for as long as that reduces their number, then only the last one, which cannot
    cycle. [Portugal, Judice, Vicente 1994]
    """
    size = linear.size
    free = start > 0
    fewest, chances = size + 1, 5
    scale = 1e-12 * float(np.abs(linear).max())
    for _ in range(MOST_PIVOTS):
        where = np.flatnonzero(free)
        x = np.zeros(size)
        if where.size:
            try:
                x[where] = np.linalg.solve(hessian[np.ix_(where, where)], linear[where])
            except np.linalg.LinAlgError:
                return None
        slope = hessian @ x - linear
        wrong = np.where(free, x < 0, slope < -scale)
        count = int(wrong.sum())
        if not count:
            return x
        if count < fewest:
            fewest, chances = count, 5
            free ^= wrong
        elif chances > 0:
            chances -= 1
            free ^= wrong
        else:
            last = int(np.flatnonzero(wrong)[-1])
            free[last] ^= True
    return None


def run_interior(run: Run) -> None:
    """Primal-dual interior-point steps over all inputs: slower, and indifferent to where the support is.

    The last resort, for supports that the quadratic programs cannot settle.
    """
    size = run.problem.size
    if size > (LARGEST_INTERIOR if run.gap > NEAR else LARGEST_INTERIOR_NEAR) or not run.problem.fits(size):
        return
    a, q = run.problem.columns(np.arange(size))
    p = 0.9 * run.p + 0.1 / size
    z = np.ones(size)
    for _ in range(MOST_INTERIOR):
        g, likelihood = run.evaluate(p)
        if likelihood == -math.inf:
            return
        gap = float(p @ z) / size
        root = np.sqrt(p)
        scaled = a * (root[:, None] * (np.sqrt(q) / (p @ a)))
        matrix = scaled @ scaled.T
        matrix[np.diag_indices_from(matrix)] += z
        target, second = 0.0, np.zeros(size)
        for corrector in (False, True):
            rhs = g - 1 + (target - second) / p
            try:
                dp = root * np.linalg.solve(matrix, root * rhs)
            except np.linalg.LinAlgError:
                return
            dz = (target - second) / p - z - z / p * dp
            lengths = _longest(p, dp), _longest(z, dz)
            if not corrector:
                after = float((p + lengths[0] * dp) @ (z + lengths[1] * dz)) / size
                target, second = gap * (after / gap) ** 3, dp * dz
        moved, z_moved = p + 0.995 * lengths[0] * dp, z + 0.995 * lengths[1] * dz
        if not ((moved > 0).all() and (z_moved > 0).all() and np.isfinite(moved).all()):
            return
        p, z = moved / moved.sum(), z_moved


def _longest(values: np.ndarray, step: np.ndarray) -> float:
    """The longest step up to 1 that keeps ``values`` >= 0."""
    falling = step < 0
    return min(1.0, float((-values[falling] / step[falling]).min(initial=1.0)))
