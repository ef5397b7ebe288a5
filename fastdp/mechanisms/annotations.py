"""Annotations of mechanisms for type checkers: parameters that are normalised when it is made, and its `randomize`.

At run time a mechanism is a plain frozen dataclass and its `randomize` a plain method: nothing here costs a call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeVar, cast, dataclass_transform, overload

import numpy as np

from fastdp.columns.domain import Domain
from fastdp.typing import Column, Matrix, Numbers
from fastdp.validation import PerRecord

if TYPE_CHECKING:
    import pyarrow as pa

    from fastdp.columns.numeric import Nulls
    from fastdp.random.rng import Rng

T = TypeVar("T")
Given_contra = TypeVar("Given_contra", contravariant=True)
Stored_co = TypeVar("Stored_co", covariant=True)


class Parameter(Generic[Given_contra, Stored_co]):
    """A field that takes one type and holds another, once it is checked. Only an annotation."""

    if TYPE_CHECKING:

        def __get__(self, instance: object, owner: type[object]) -> Stored_co: ...

        def __set__(self, instance: object, value: Given_contra) -> None: ...


Amount = Parameter[float | Numbers, float | PerRecord]
"""A number > 0 for all records, or one per record."""
OptionalAmount = Parameter[float | Numbers | None, float | PerRecord]
"""An amount that follows from others where it is not given."""
Alternative = Parameter[float | Numbers | None, float | PerRecord | None]
"""An amount that stands for another, and stays None where that one is given."""
WholeAmount = Parameter[int | Numbers, int | PerRecord]
"""An integer > 0 for all records, or one per record."""
OptionalNumber = Parameter[float | None, float]
"""A number that follows from others where it is not given."""
OptionalInteger = Parameter[int | None, int]
"""An integer that follows from others where it is not given."""
Rate = Parameter[float | str, float]
"""An epsilon per unit of distance: a number, or words such as "ln(2)/200m"."""
DeclaredDomain = Parameter[int | Sequence[str] | Sequence[int] | np.ndarray | Domain, Domain]
"""A number of codes, or labels in a public order."""
Pair = Parameter[Sequence[float], tuple[float, float]]
"""Two numbers: the bounds (low, high)."""
OptionalPair = Parameter[Sequence[float] | None, tuple[float, float] | None]
"""Bounds, or a latitude and a longitude, where they are given."""
OptionalIntegers = Parameter[Sequence[int] | None, tuple[int, int] | None]
"""Bounds that are integers, where they are given."""
Shape = Parameter[Sequence[int], tuple[int, int]]
"""The numbers of rows and of columns."""
Region = Parameter[Sequence[Sequence[float]] | None, tuple[tuple[float, float], ...] | None]
"""Bounds of x and of y, where they are given."""
NumberMatrix = Parameter[Matrix, np.ndarray]
"""Rows of numbers, copied to a read-only array."""
NumberVector = Parameter[Numbers, np.ndarray]
"""Numbers, copied to a read-only array."""

UNSET: Any = None
"""The default of a parameter that follows from others."""
ONE: Any = 1
"""The default of an integer sensitivity."""


def computed(*, init: Literal[False] = False, compare: bool = False) -> Any:
    """A field that follows from the parameters and is set when the mechanism is made."""
    return field(init=init, repr=False, compare=compare)


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field, computed))
def frozen(*, kw_only: bool = True, eq: bool = True, with_repr: bool = False) -> Callable[[type[T]], type[T]]:
    """Make a class a frozen dataclass with checked parameters; `Mechanism` has a repr of its own."""
    return dataclass(frozen=True, slots=True, kw_only=kw_only, repr=with_repr, eq=eq)


class RandomizeReports(Protocol):
    """The `randomize` of a mechanism whose reports have a type of their own."""

    @overload
    def __call__(self, values: np.ndarray, *, rng: Rng | None = ..., nulls: Nulls = ...) -> np.ndarray: ...
    @overload
    def __call__(self, values: pa.Array, *, rng: Rng | None = ..., nulls: Nulls = ...) -> pa.Array: ...
    @overload  # to checkers that have no types of pyarrow, the one above takes anything
    def __call__(  # type: ignore[overload-cannot-match,unused-ignore]
        self, values: Column, *, rng: Rng | None = ..., nulls: Nulls = ...
    ) -> Any: ...


class RandomizeValues(RandomizeReports, Protocol):
    """The `randomize` of a mechanism whose reports are values again: a number for a number."""

    @overload  # type: ignore[override]  # narrower for a number alone
    def __call__(self, values: np.ndarray, *, rng: Rng | None = ..., nulls: Nulls = ...) -> np.ndarray: ...
    @overload
    def __call__(self, values: float, *, rng: Rng | None = ..., nulls: Nulls = ...) -> float: ...
    @overload
    def __call__(self, values: pa.Array, *, rng: Rng | None = ..., nulls: Nulls = ...) -> pa.Array: ...
    @overload  # to checkers that have no types of pyarrow, the one above takes anything
    def __call__(  # type: ignore[overload-cannot-match,unused-ignore]
        self, values: Column, *, rng: Rng | None = ..., nulls: Nulls = ...
    ) -> Any: ...


def gives_reports(method: Callable[..., Any]) -> RandomizeReports:
    """The method itself, with the overloads of one whose reports have a type of their own."""
    return cast("RandomizeReports", method)


def gives_values(method: Callable[..., Any]) -> RandomizeValues:
    """The method itself, with the overloads of one whose reports are values again."""
    return cast("RandomizeValues", method)
