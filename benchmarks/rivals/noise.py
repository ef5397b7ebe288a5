"""How scipy, PyDP and Tumult Core add noise: the first a column at a time, the others a value at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.rivals.ways import Call, Make, Way

if TYPE_CHECKING:
    from benchmarks.jobs.job import Job


def scipy_ways() -> dict[str, Way]:
    """The distribution's own ``rvs``, on numpy's generator."""

    def way(name: str, scale: str) -> Way:
        def make(job: Job, x: np.ndarray) -> Call:
            from scipy import stats

            law, source = getattr(stats, name), np.random.default_rng()
            given = {"scale": job.scale} if scale == "scale" else {"a": 1 / job.scale}

            def call() -> Any:
                noise = law.rvs(size=x.size, random_state=source, **given)
                return x + noise.astype(x.dtype, copy=False)

            return call

        return Way(make)

    return {
        "laplace": way("laplace", "scale"),
        "gaussian": way("norm", "scale"),
        "geometric": way("dlaplace", "a"),
    }


def pydp_way(mechanism: str, **privacy: float) -> Make:
    """Google's C++ library; ``add_noise`` takes one value."""

    def make(job: Job, values: np.ndarray) -> Call:
        import pydp.algorithms.numerical_mechanisms as mechanisms

        chosen = privacy or {"epsilon": 1 / job.scale}
        add = getattr(mechanisms, mechanism)(sensitivity=1.0, **chosen).add_noise
        numbers = values.tolist()
        return lambda: [add(number) for number in numbers]

    return make


def tmlt_laplace(job: Job, values: np.ndarray) -> Call:
    """A centre and a scale, through the inverse of the distribution in exact arithmetic."""
    from tmlt.core.random.laplace import laplace

    numbers, scale = values.tolist(), job.scale
    return lambda: [laplace(number, scale) for number in numbers]


def tmlt_gaussian(job: Job, values: np.ndarray) -> Call:
    from tmlt.core.random.continuous_gaussian import gaussian

    numbers, square = values.tolist(), job.scale**2
    return lambda: [gaussian(square, number) for number in numbers]


def tmlt_discrete_gaussian(job: Job, values: np.ndarray) -> Call:
    from tmlt.core.random.discrete_gaussian import sample_dgauss

    numbers, square = values.tolist(), job.scale**2
    return lambda: [number + sample_dgauss(square) for number in numbers]


SCIPY = scipy_ways()
PYDP = {
    "laplace-float64": Way(pydp_way("LaplaceMechanism")),
    "geometric": Way(pydp_way("LaplaceMechanism"), law="rounded-laplace"),
    "gaussian-float64": Way(pydp_way("GaussianMechanism", epsilon=1.0, delta=1e-6)),
}
TMLT = {
    "laplace": Way(tmlt_laplace),
    "gaussian": Way(tmlt_gaussian),
    "discrete-gaussian": Way(tmlt_discrete_gaussian),
}
