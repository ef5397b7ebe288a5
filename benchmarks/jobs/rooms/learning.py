"""The jobs of learning: a step of DP-SGD from per-example gradients, and noise that is correlated between steps."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

import fastdp as fd
from benchmarks.jobs.job import Job
from benchmarks.jobs.laws import Law, p_value
from benchmarks.rivals.ways import Call, Way
from fastdp.learning.noise.coefficients import invert, quantise, root_coefficients

WIDTH = 1_000_000
CLIP, MULTIPLIER = 1.0, 2.0
BANDS, STEPS = 8, 24
COEFFICIENTS = quantise(root_coefficients(BANDS))


@functools.lru_cache(maxsize=2)
def gradients_of(size: int) -> np.ndarray:
    """Rows of up to a million coordinates, half of them above the clip; read-only."""
    width = min(WIDTH, max(1, size // 16))
    source = np.random.default_rng(2026)
    made = source.standard_normal((max(1, size // width), width), dtype=np.float32)
    made *= (source.uniform(0.5, 1.5, (len(made), 1)) / math.sqrt(width)).astype(np.float32)
    made.flags.writeable = False
    return made


@functools.lru_cache(maxsize=2)
def zeros_of(size: int) -> np.ndarray:
    made = np.zeros(max(1, size // STEPS), np.float32)
    made.flags.writeable = False
    return made


def _normal(spread: float) -> Law:
    from scipy import stats

    law = stats.norm(0, spread)
    return Law(law.cdf, law.ppf)


def judge_step(_job: Job, found: Any, rows: np.ndarray) -> float:
    """What was added to the mean of the clipped rows is normal."""
    norms = np.sqrt((rows.astype(np.float64) ** 2).sum(axis=1))
    due = np.einsum("i,ij->j", np.minimum(1, CLIP / norms), rows.astype(np.float64))
    return p_value(_normal(MULTIPLIER * CLIP), np.asarray(found, np.float64) * len(rows) - due)


def judge_banded(_job: Job, found: Any, _zeros: np.ndarray) -> float:
    """The noise of the last step is normal, of the variance that the inverse matrix gives it."""
    return p_value(_normal(math.sqrt(float((invert(COEFFICIENTS, STEPS) ** 2).sum()))), np.asarray(found, np.float64))


def fastdp_step(_job: Job, rows: np.ndarray) -> Call:
    fd.set_threads(1)
    mean = fd.learning.GradientSum(clip=CLIP, noise_multiplier=MULTIPLIER, batch=len(rows))
    return lambda: mean.add(rows).release()


def torch_step(secure: bool, _job: Job, rows: np.ndarray) -> Call:
    """What Opacus does: norms, factors, a product; its secure mode adds up four draws for one of the noise."""
    import torch

    torch.set_num_threads(1)
    tensor = torch.from_numpy(rows.copy())

    def call() -> np.ndarray:
        factors = (CLIP / (tensor.norm(2, dim=1) + 1e-6)).clamp(max=1.0)
        total = torch.einsum("i,ij->j", factors, tensor)
        if secure:
            noise = torch.zeros_like(total)
            for _ in range(4):
                noise += torch.normal(0.0, MULTIPLIER * CLIP, total.shape)
            noise /= 2
        else:
            noise = torch.normal(0.0, MULTIPLIER * CLIP, total.shape)
        return ((total + noise) / len(tensor)).numpy()

    return call


def numpy_step(_job: Job, rows: np.ndarray) -> Call:
    source = np.random.default_rng()

    def call() -> np.ndarray:
        factors = np.minimum(1, CLIP / np.sqrt(np.einsum("ij,ij->i", rows, rows)))
        noise = source.standard_normal(rows.shape[1], dtype=np.float32) * np.float32(MULTIPLIER * CLIP)
        return (factors @ rows + noise) / len(rows)

    return call


def fastdp_banded(_job: Job, zeros: np.ndarray) -> Call:
    fd.set_threads(1)

    def call() -> np.ndarray:
        noise = fd.learning.BandedNoise(
            bands=BANDS, steps=STEPS, dimension=zeros.size, coefficients=COEFFICIENTS,
            noise_multiplier=1 / math.sqrt(float((COEFFICIENTS**2).sum())),
        )  # fmt: skip
        for step in range(STEPS):
            found = noise.noise(step)
        return found

    return call


def numpy_banded(_job: Job, zeros: np.ndarray) -> Call:
    source = np.random.default_rng()

    def call() -> np.ndarray:
        ring = np.zeros((BANDS - 1, zeros.size), np.float32)
        for t in range(STEPS):
            noise = source.standard_normal(zeros.size, dtype=np.float32)
            for j in range(1, BANDS):
                noise -= np.float32(COEFFICIENTS[j]) * ring[(t - j) % (BANDS - 1)]
            ring[t % (BANDS - 1)] = noise
        return noise

    return call


def _step_traffic(_job: Job, size: int) -> tuple[float, float, float]:
    return 4.0 * size, 4.0 * gradients_of(size).shape[1], 1


def _banded_traffic(_job: Job, size: int) -> tuple[float, float, float]:
    return 4.0 * size * (BANDS - 1), 4.0 * size, 1


JOBS = (
    Job(
        "dp-sgd-step", "learning", "gradients", "float32", "clipped mean of per-example gradients, 1e6 coordinates",
        lambda: None, unit="values", size=256 * WIDTH, make=gradients_of, judge=judge_step, traffic=_step_traffic,
        heavy=True,
    ),
    Job(
        "banded-noise", "learning", "banded", "float32", f"noise of {STEPS} steps, banded Toeplitz, {BANDS} bands",
        lambda: None, unit="values", size=STEPS * WIDTH, make=zeros_of, judge=judge_banded, random=8,
        traffic=_banded_traffic, heavy=True,
    ),
)  # fmt: skip
FASTDP = {"gradients": Way(fastdp_step), "banded": Way(fastdp_banded)}
NUMPY = {"gradients": Way(numpy_step), "banded": Way(numpy_banded)}
TORCH = {"gradients": Way(functools.partial(torch_step, False))}
TORCH_SECURE = {"gradients": Way(functools.partial(torch_step, True))}
