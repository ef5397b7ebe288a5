"""The mechanisms that a plan can name, and the keys that each of them takes."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Literal

from fastdp.errors import ParameterError

Takes = Literal["numbers", "bounded", "categories", "truths"]
"""Numbers that get noise, numbers within bounds that are reported, categories of a domain, truth values."""

COMMON = {
    "numbers": ("bounds", "unit", "nulls", "nan"),
    "bounded": ("bounds", "nulls", "nan"),
    "categories": ("domain", "nulls", "out_of_domain"),
    "truths": ("nulls",),
}


@dataclass(frozen=True, slots=True)
class Spec:
    """A mechanism: its class, what values it takes, its own keys, and parameters that its name fixes."""

    module: str
    name: str
    takes: Takes
    keys: tuple[str, ...] = ("epsilon",)
    whole: bool = False
    fixed: Mapping[str, Any] = field(default_factory=dict)

    @property
    def all_keys(self) -> tuple[str, ...]:
        """Every key of a plan's entry."""
        return ("mechanism", *self.keys, *COMMON[self.takes])

    def build(self, **parameters: Any) -> Any:
        """The mechanism with these parameters."""
        home = importlib.import_module(f"fastdp.mechanisms.{self.module}")
        return getattr(home, self.name)(**parameters, **self.fixed)


_GAUSSIAN = ("epsilon", "delta", "rho")
MECHANISMS: Mapping[str, Spec] = {
    "laplace": Spec("laplace", "Laplace", "numbers", ("epsilon", "granularity", "boundary")),
    "geometric": Spec("geometric", "Geometric", "numbers", ("epsilon", "boundary"), whole=True),
    "gaussian": Spec("gaussian", "Gaussian", "numbers", (*_GAUSSIAN, "granularity")),
    "discrete_gaussian": Spec("discrete_gaussian", "DiscreteGaussian", "numbers", _GAUSSIAN, whole=True),
    "staircase": Spec("staircase", "Staircase", "numbers", ("epsilon", "gamma", "granularity")),
    "duchi": Spec("numeric", "Duchi", "bounded"),
    "piecewise": Spec("numeric", "Piecewise", "bounded"),
    "hybrid": Spec("numeric", "Hybrid", "bounded"),
    "square_wave": Spec("square_wave", "SquareWave", "bounded", ("epsilon", "bins")),
    "krr": Spec("krr", "KRR", "categories"),
    "unary": Spec("unary", "UnaryEncoding", "categories", ("epsilon", "optimized")),
    "oue": Spec("unary", "UnaryEncoding", "categories", fixed={"optimized": True}),
    "sue": Spec("unary", "UnaryEncoding", "categories", fixed={"optimized": False}),
    "subset": Spec("subset", "SubsetSelection", "categories"),
    "hadamard": Spec("hadamard", "HadamardResponse", "categories"),
    "hashing": Spec("hashing", "LocalHashing", "categories", ("epsilon", "g", "cohorts", "salt")),
    "olh": Spec("hashing", "LocalHashing", "categories", ("epsilon", "cohorts", "salt")),
    "randomized_response": Spec("randomized_response", "RandomizedResponse", "truths"),
}


def find(owner: str, name: Any) -> Spec:
    """The mechanism of that name, or an error with the nearest one."""
    if isinstance(name, str) and name in MECHANISMS:
        return MECHANISMS[name]
    raise ParameterError(f"{owner}: {unknown('mechanism', name, tuple(MECHANISMS))}")


def check_keys(owner: str, given: Mapping[str, Any], allowed: tuple[str, ...]) -> None:
    """Refuse a key that is not known, with the nearest that is."""
    for key in given:
        if key not in allowed:
            raise ParameterError(f"{owner}: {unknown('key', key, allowed)}")


def unknown(what: str, given: Any, allowed: tuple[str, ...]) -> str:
    """What to say of a word that is not among those allowed.

    >>> unknown("key", "epsilom", ("epsilon", "domain"))
    "unknown key 'epsilom'; did you mean 'epsilon'?"
    """
    near = get_close_matches(given, allowed, 1) if isinstance(given, str) else []
    hint = f"did you mean {near[0]!r}?" if near else f"it is one of {', '.join(allowed)}"
    return f"unknown {what} {given!r}; {hint}"
