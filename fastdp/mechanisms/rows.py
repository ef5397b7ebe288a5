"""What the registry says of a mechanism: a row, its plan words and its warm-up calls."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from fastdp.mechanisms.base import Mechanism

Family = Literal["central", "local", "metric"]
Takes = Literal[
    "numbers", "bounded", "categories", "codes", "truths", "texts", "points", "trajectories", "tables", "scores",
    "counts",
]  # fmt: skip
"""Numbers that get noise, numbers within bounds that are reported, categories of a domain, the numbers of points of a
metric space, truth values, strings of no declared domain; and what is no column of records: points, trajectories,
tables of attributes, scores of candidates, counts of keys."""
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float64", "float32")


@dataclass(frozen=True, slots=True)
class Word:
    """A word that plans know a mechanism by, the keys it takes, and parameters that it fixes."""

    name: str
    keys: tuple[str, ...] = ("epsilon",)
    fixed: Mapping[str, Any] = field(default_factory=dict)
    parameters: Mapping[str, str] = field(default_factory=dict)
    """Parameters that are not called as the key is."""


@dataclass(frozen=True, slots=True)
class Warmup:
    """A call that compiles: the mechanism with these parameters, on zeros of each of these types."""

    parameters: Mapping[str, Any]
    dtypes: tuple[str, ...] = ("int64",)
    note: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """A mechanism: the module and name of its class, its family, and what it takes.

    ``whole`` numbers are integers. ``synonyms`` are its names in the papers.
    """

    module: str
    name: str
    family: Family
    takes: Takes
    words: tuple[Word, ...] = ()
    warmup: tuple[Warmup, ...] = ()
    synonyms: tuple[str, ...] = ()
    whole: bool = False

    def load(self) -> type[Mechanism]:
        """The class."""
        kind: type[Mechanism] = getattr(importlib.import_module(self.module), self.name)
        return kind
