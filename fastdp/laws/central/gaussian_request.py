"""What a Gaussian mechanism is asked for: epsilon and delta, rho, or a scale; one for all records or one for each."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from fastdp import validation
from fastdp.errors import ParameterError
from fastdp.laws.central.gaussian import GaussianEach, GaussianLaw, check_reachable, smallest_ratio, smallest_sigma
from fastdp.privacy import Privacy
from fastdp.validation import PerRecord

MOST_LEVELS = 4096
"""Different epsilons in one call; each is calibrated by itself, in about a millisecond."""
MANY_STEPS = 2.0**20


@dataclass(frozen=True, slots=True)
class GaussianAim:
    """A request for Gaussian noise, of one of three kinds; ``parameter`` is epsilon, rho or the scale."""

    kind: Literal["epsilon", "rho", "scale"]
    parameter: float | PerRecord
    delta: float | None

    @classmethod
    def read(cls, owner: str, epsilon: object, delta: object, rho: object, scale: object) -> GaussianAim:
        kind = validation.exactly_one(owner, epsilon=epsilon, rho=rho, scale=scale)
        if (kind == "epsilon") != (delta is not None):
            raise ParameterError(f"{owner}: give delta together with epsilon, and only then")
        value = {"epsilon": epsilon, "rho": rho, "scale": scale}[kind]
        parameter = validation.positive_or_per_record(owner, kind, value)
        if isinstance(parameter, PerRecord) and kind == "epsilon" and np.unique(parameter.values).size > MOST_LEVELS:
            raise ParameterError(
                f"{owner}: a per-record epsilon may take up to {MOST_LEVELS} different values; round it down to fewer, "
                "or give a per-record rho or scale"
            )
        if kind == "epsilon":
            delta = validation.probability(owner, "delta", delta)
            if delta < 1e-25:
                raise ParameterError(f"{owner}: delta must be at least 1e-25, the sampler's resolution, got {delta!r}")
            epsilons = parameter.values if isinstance(parameter, PerRecord) else np.array([parameter])
            check_reachable(owner, float(epsilons.max(initial=0.0)), delta)
        return cls(kind, parameter, delta)  # type: ignore[arg-type]

    @property
    def epsilon(self) -> float | PerRecord | None:
        return self.parameter if self.kind == "epsilon" else None

    @property
    def rho(self) -> float | PerRecord | None:
        return self.parameter if self.kind == "rho" else None

    def sigma_in_units(self, sensitivity: Any, parameter: Any) -> Any:
        """Sigma in the values' own unit, before the grid is known: good to a millionth."""
        if self.kind == "scale":
            return parameter
        return sensitivity * self._ratio(parameter, MANY_STEPS)

    def sigma_in_steps(self, steps: int, grid: float) -> float:
        """Sigma for one parameter, for a shift by ``steps`` of ``grid``: the exact discrete calibration."""
        parameter = float(self.parameter)  # type: ignore[arg-type]
        if self.kind == "epsilon":
            return smallest_sigma(parameter, float(self.delta or 0), steps)
        return parameter / grid if self.kind == "scale" else float(steps * self._ratio(parameter, MANY_STEPS))

    def sigmas_in_steps(self, steps: np.ndarray, parameters: np.ndarray, grid: float) -> np.ndarray:
        """Sigmas for each record's parameter and shift."""
        if self.kind == "scale":
            return parameters / grid
        return np.asarray(steps * self._ratio(parameters, float(steps.min(initial=MANY_STEPS))))

    def _ratio(self, parameter: Any, least_steps: float) -> Any:
        """Sigma per step of sensitivity."""
        if self.kind == "rho":
            return 1 / np.sqrt(2 * parameter)
        delta = float(self.delta or 0)
        if not isinstance(parameter, np.ndarray):
            return smallest_ratio(parameter, delta, least_steps)
        levels, where = np.unique(parameter, return_inverse=True)
        ratios = np.array([smallest_ratio(float(level), delta, least_steps) for level in levels])
        return ratios[where] if levels.size else parameter

    def privacy(self, law: GaussianLaw | GaussianEach, steps: Any) -> Privacy:
        """The guarantee that the law realises; never above what was asked."""
        rho = law.rho(steps)
        if self.kind != "epsilon" or rho <= 0:
            return Privacy(rho=max(rho, math.ulp(0.0)))
        if isinstance(law, GaussianEach):
            worst = self.parameter if isinstance(self.parameter, float) else float(self.parameter.values.max())
            return Privacy(epsilon=worst, delta=float(self.delta or 0), rho=rho)
        epsilon = float(self.parameter)  # type: ignore[arg-type]
        return Privacy(epsilon=epsilon, delta=law.delta(epsilon, steps), rho=rho)
