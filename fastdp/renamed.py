"""Old names of keyword arguments and fields: accepted for one version, with a DeprecationWarning."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


def renamed(**names: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorator that passes each old keyword on as its new one, with a warning.

    Parameters
    ----------
    **names
        The new name of each old keyword, ``old="new"``.

    >>> @renamed(confidence="level")
    ... def width(*, level):
    ...     return 1 - level
    >>> width(level=0.75)
    0.25
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            for old in names.keys() & kwargs.keys():
                _move(function.__name__, kwargs, old, names[old])
            return function(*args, **kwargs)

        return call

    return decorate


def renamed_fields(**names: str) -> Callable[[type[T]], type[T]]:
    """Class decorator that takes and reads each old name of a field as its new one, with a warning.

    Parameters
    ----------
    **names
        The new name of each old field, ``old="new"``.

    >>> from dataclasses import dataclass
    >>> @renamed_fields(confidence="level")
    ... @dataclass
    ... class Width:
    ...     level: float
    >>> Width(level=0.75)
    Width(level=0.75)
    """

    def decorate(kind: type[T]) -> type[T]:
        make: Callable[..., None] = kind.__init__

        @functools.wraps(make)
        def init(self: T, *args: object, **kwargs: object) -> None:
            for old in names.keys() & kwargs.keys():
                _move(kind.__name__, kwargs, old, names[old])
            make(self, *args, **kwargs)

        kind.__init__ = init  # type: ignore[method-assign,assignment]
        for old, new in names.items():
            setattr(kind, old, _old_field(kind.__name__, old, new))
        return kind

    return decorate


def with_total(owner: str, progress: Callable[..., Any] | None) -> Callable[[int, int | None], None] | None:
    """A callback for progress; one that takes what is done and not the total is accepted with a warning.

    >>> with_total("count", print)(1, 2)
    1 2
    """
    if progress is None:
        return None
    try:
        inspect.signature(progress).bind(0, None)
    except TypeError:
        message = (
            f"{owner}: progress is called with two numbers, what is done and the total; one goes with the next version"
        )
        warnings.warn(message, DeprecationWarning, stacklevel=3)
        return lambda done, _total: progress(done)
    return progress


def _old_field(owner: str, old: str, new: str) -> property:
    def read(self: object) -> object:
        message = f"{owner}: the field {old!r} is called {new!r} now; the old one goes with the next version"
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return getattr(self, new)

    return property(read, doc=f"The old name of `{new}`; it goes with the next version.")


def _move(owner: str, given: dict[str, object], old: str, new: str) -> None:
    """Rename one keyword of a call; both at once are refused as any unknown keyword is."""
    if new in given:
        raise TypeError(f"{owner}() got both {new!r} and its old name {old!r}")
    message = f"{owner}: the keyword {old!r} is called {new!r} now; the old one goes with the next version"
    warnings.warn(message, DeprecationWarning, stacklevel=3)
    given[new] = given.pop(old)
