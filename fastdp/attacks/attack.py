"""What an attack achieved, beside what theory says, and what defends against it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from fastdp.errors import ParameterError, SchemaError
from fastdp.mechanisms.base import ColumnMechanism
from fastdp.mechanisms.central.gaussian import Gaussian
from fastdp.mechanisms.central.laplace import Laplace
from fastdp.mechanisms.local.randomized_response import RandomizedResponse
from fastdp.typing import Numbers

if TYPE_CHECKING:
    from fastdp import Rng

OWNER = "attacks"


@dataclass(frozen=True, slots=True)
class Attack:
    """The success of an attack: the share of ``trials`` in which it was right.

    ``expected`` is the closed form where there is one, ``baseline`` the success of a guess without the release.
    """

    name: str
    measure: str
    """What ``success`` is a share of."""
    success: float
    expected: float | None
    baseline: float
    trials: int
    formula: str
    """The closed form in words."""
    defended_by: str
    details: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """More counts, by name; never a record's value."""

    @property
    def std_error(self) -> float:
        """The standard error of the success at the closed form, or at what was measured."""
        share = min(max(self.success if self.expected is None else self.expected, 0.0), 1.0)
        return math.sqrt(share * (1 - share) / max(self.trials, 1))

    def to_dict(self) -> dict[str, Any]:
        """All fields, for JSON."""
        return {
            "attack": self.name, "measure": self.measure, "success": self.success, "expected": self.expected,
            "baseline": self.baseline, "trials": self.trials, "formula": self.formula, "defended_by": self.defended_by,
            **self.details,
        }  # fmt: skip

    def __str__(self) -> str:
        """The success beside the closed form, and what defends."""
        theory = "" if self.expected is None else f"; {self.formula} gives {self.expected:.4f}"
        return (
            f"{self.name}: share of {self.measure} {self.success:.4f}, {self.trials:,} trials{theory}; "
            f"a guess: {self.baseline:.4f}\n"
            f"  defence: {self.defended_by}"
        )

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


def phi(z: float) -> float:
    """The distribution function of the normal law."""
    return NormalDist().cdf(z)


def read_bits(owner: str, name: str, values: Numbers) -> np.ndarray:
    """A column of zeros and ones, or truth values, as float64."""
    given = np.asarray(values)
    if given.ndim != 1 or given.dtype.kind not in "biuf" or not given.size:
        raise SchemaError(f"{owner}: {name} must be a column of zeros and ones")
    bits = given.astype(np.float64)
    if not ((bits == 0) | (bits == 1)).all():
        raise ParameterError(f"{owner}: {name} must hold zeros and ones alone; values withheld")
    return bits


def standard_deviation(mechanism: object) -> float | None:
    """The standard deviation of a mechanism's noise; None where it states none for all values."""
    variance = getattr(mechanism, "variance", None)
    return math.sqrt(float(variance)) if isinstance(variance, int | float) else None


def add_noise(release: ColumnMechanism | None, values: np.ndarray, rng: Rng | None = None) -> np.ndarray:
    """The values with a mechanism's noise, or as they are."""
    if release is None:
        return values
    kind = getattr(release, "number_kind", "float")
    given = np.rint(values).astype(np.int64) if kind == "integer" else values
    return np.asarray(release.randomize(given, rng=rng), dtype=np.float64)


def fair_bits(count: int, rng: Rng | None = None) -> np.ndarray:
    """Fair coins, for data that nobody gave: randomized response that tells nothing."""
    coins = RandomizedResponse(epsilon=1e-6).randomize(np.zeros(count, bool), rng=rng)
    return np.asarray(coins, dtype=np.float64)


def is_laplace(release: object) -> bool:
    return isinstance(release, Laplace) and release.bounds is None


def is_gaussian(release: object) -> bool:
    return isinstance(release, Gaussian) and release.bounds is None
