"""The mechanisms that a plan can name, and the keys that each of them takes."""

from __future__ import annotations

import datetime as dt
import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fastdp.columns.domain import Domain
from fastdp.errors import ParameterError
from fastdp.mechanisms.registry import Takes, rows
from fastdp.validation import unknown

COMMON = {
    "numbers": ("bounds", "unit", "step", "nulls", "null_share", "null_epsilon", "nan", "items"),
    "bounded": ("bounds", "nulls", "null_share", "null_epsilon", "nan", "items"),
    "categories": (
        "domain", "domain_file", "domain_column", "aliases", "fold_case",
        "nulls", "null_label", "out_of_domain", "items",
    ),
    "codes": ("unit", "nulls", "null_label", "out_of_domain"),
    "truths": ("nulls", "null_label", "items"),
}  # fmt: skip
STRUCTURED = ("bounds", "domain", "shape", "distance", "prior", "loss", "aliases")
"""Keys whose values have parts."""
PLAIN = frozenset({bool, int, float, str})
DEEPEST = 16
"""Levels of lists and tables in a plan; the deepest that means anything is a matrix in a column's table."""


@dataclass(frozen=True, slots=True)
class Spec:
    """A mechanism: its class, what values it takes, its own keys, and parameters that its name fixes."""

    module: str
    name: str
    takes: Takes
    keys: tuple[str, ...] = ("epsilon",)
    whole: bool = False
    fixed: Mapping[str, Any] = field(default_factory=dict)
    parameters: Mapping[str, str] = field(default_factory=dict)
    all_keys: tuple[str, ...] = field(init=False)
    """Every key of a plan's entry."""
    declared: tuple[str, ...] = field(init=False)
    """Keys without which nobody knows what values can occur."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "all_keys", ("mechanism", *self.keys, *COMMON[self.takes]))
        always = {"bounded": ("bounds",), "categories": ("domain",)}.get(self.takes, ())
        own = [key for key in ("shape", "distance", "prior") if key in self.keys]
        object.__setattr__(self, "declared", (*always, *own))

    def build(self, **parameters: Any) -> Any:
        """The mechanism with these parameters."""
        home = importlib.import_module(self.module)
        if self.parameters:
            parameters = {self.parameters.get(key, key): value for key, value in parameters.items()}
        return getattr(home, self.name)(**parameters, **self.fixed)


MECHANISMS: Mapping[str, Spec] = {
    word.name: Spec(row.module, row.name, row.takes, word.keys, row.whole, word.fixed, word.parameters)
    for row in rows()
    for word in row.words
}


def find(owner: str, name: object) -> Spec:
    """The mechanism of that name, or an error with the nearest one."""
    if isinstance(name, str) and name in MECHANISMS:
        return MECHANISMS[name]
    raise ParameterError(f"{owner}: {unknown('mechanism', name, tuple(MECHANISMS))}")


def check_keys(owner: str, given: Mapping[str, Any], allowed: tuple[str, ...]) -> None:
    """Refuse a key that is not known, with the nearest that is."""
    for key in given:
        if key not in allowed:
            raise ParameterError(f"{owner}: {unknown('key', key, allowed)}")


def in_plain_words(value: object, depth: int = 0) -> Any:
    """A copy made of dicts, lists, numbers and words, as TOML and JSON have them.

    >>> in_plain_words({"bounds": (0, 1)})
    {'bounds': [0, 1]}
    """
    if depth > DEEPEST:
        raise ParameterError("Plan: values are nested too deeply")
    if isinstance(value, Domain):
        value = value.size if value.labels is None else value.labels
    if hasattr(value, "tolist"):  # numpy's arrays and numbers
        value = value.tolist()
    if isinstance(value, dt.date | dt.time):  # as JSON has them, which receipts are
        return value.isoformat()
    if isinstance(value, Mapping):
        return {key: item if type(item) in PLAIN else in_plain_words(item, depth + 1) for key, item in value.items()}
    if type(value) is list and PLAIN.issuperset(map(type, value)):
        return value.copy()
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [item if type(item) in PLAIN else in_plain_words(item, depth + 1) for item in value]
    return value
