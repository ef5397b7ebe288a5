"""The mechanisms that a plan can name, and the keys that each of them takes."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Literal

from fastdp.columns.domain import Domain
from fastdp.errors import ParameterError

Takes = Literal["numbers", "bounded", "categories", "codes", "truths"]
"""Numbers that get noise, numbers within bounds that are reported, categories of a domain, the numbers of points of a
metric space, truth values."""

COMMON = {
    "numbers": ("bounds", "unit", "nulls", "nan"),
    "bounded": ("bounds", "nulls", "nan"),
    "categories": ("domain", "nulls", "null_label", "out_of_domain"),
    "codes": ("unit", "nulls", "null_label", "out_of_domain"),
    "truths": ("nulls", "null_label"),
}
STRUCTURED = ("bounds", "domain", "shape", "distance", "prior", "loss")
"""Keys whose values have parts."""


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

    @property
    def declared(self) -> tuple[str, ...]:
        """Keys without which nobody knows what values can occur."""
        always = {"bounded": ("bounds",), "categories": ("domain",)}.get(self.takes, ())
        return (*always, *(key for key in ("shape", "distance", "prior") if key in self.keys))

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
    "blh": Spec("hashing", "LocalHashing", "categories", ("epsilon", "cohorts", "salt"), fixed={"g": 2}),
    "rappor": Spec("rappor", "RAPPOR", "categories", ("epsilon", "bits", "hashes", "cohorts", "salt")),
    "thresholded_histogram": Spec("unary", "ThresholdedHistogram", "categories", ("epsilon", "threshold")),
    "summed_histogram": Spec("summed_histogram", "SummedHistogram", "categories"),
    "grid_geometric": Spec("grid", "GridGeometric", "codes", ("epsilon", "shape", "cell")),
    "grid_laplace": Spec("grid", "GridLaplace", "codes", ("epsilon", "shape", "cell")),
    "exponential_metric": Spec("metric", "ExponentialMetric", "codes", ("epsilon", "distance")),
    "blahut_arimoto": Spec("blahut_arimoto", "BlahutArimoto", "codes", ("beta", "prior", "distance", "iterations")),
    "optimal": Spec("optimal", "OptimalMechanism", "codes", ("epsilon", "prior", "distance", "loss", "dilation")),
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


def in_plain_words(value: Any) -> Any:
    """A copy made of dicts, lists, numbers and words, as TOML and JSON have them.

    >>> in_plain_words({"bounds": (0, 1)})
    {'bounds': [0, 1]}
    """
    if isinstance(value, Domain):
        value = value.size if value.labels is None else value.labels
    if hasattr(value, "tolist"):  # numpy's arrays and numbers
        value = value.tolist()
    if isinstance(value, Mapping):
        return {key: in_plain_words(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [in_plain_words(item) for item in value]
    return value


def unknown(what: str, given: Any, allowed: tuple[str, ...]) -> str:
    """What to say of a word that is not among those allowed.

    >>> unknown("key", "epsilom", ("epsilon", "domain"))
    "unknown key 'epsilom'; did you mean 'epsilon'?"
    """
    near = get_close_matches(given, allowed, 1) if isinstance(given, str) else []
    hint = f"did you mean {near[0]!r}?" if near else f"it is one of {', '.join(allowed)}"
    return f"unknown {what} {given!r}; {hint}"
