"""Old names of keyword arguments: accepted for one version, with a DeprecationWarning."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


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


def _move(owner: str, given: dict[str, object], old: str, new: str) -> None:
    """Rename one keyword of a call; both at once are refused as any unknown keyword is."""
    if new in given:
        raise TypeError(f"{owner}() got both {new!r} and its old name {old!r}")
    message = f"{owner}: the keyword {old!r} is called {new!r} now; the old one goes with the next version"
    warnings.warn(message, DeprecationWarning, stacklevel=3)
    given[new] = given.pop(old)
