"""Kernels that are prebuilt: numba is imported when one is called with types that nothing was prebuilt for.

What stands for a kernel or a part here is taken by numba for what it stands for, so that others can call it.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable
from typing import Any

from fastdp.kernels import native

_lock = threading.RLock()
_waiting: list[Callable[[], Any]] = []
"""What is to be told numba before it compiles anything."""


class Module:
    """A module that is imported when it is first looked into."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(self._name), name)


class Lazy:
    """A function that the compiler makes something of, if need be."""

    def __init__(self, way: str, function: Callable[..., Any]) -> None:
        self._way, self._function, self._made = way, function, None
        self.__name__, self.__doc__, self.__module__ = function.__name__, function.__doc__, function.__module__
        self.__wrapped__ = function

    def made(self) -> Any:
        """What the compiler makes of it."""
        if self._made is None:
            with _lock:
                while _waiting:
                    _waiting.pop()()
                if self._made is None:
                    home = "numba.extending" if self._way == "intrinsic" else "fastdp.kernels.compiler"
                    self._made = getattr(importlib.import_module(home), self._way)(self._function)
        return self._made

    @property
    def _numba_type_(self) -> Any:
        from numba.core.registry import cpu_target

        return cpu_target.typing_context.resolve_value_type(self.made())

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.made(), name)

    def __reduce__(self) -> Any:
        return self.made().__reduce__()

    def __call__(self, *arguments: Any) -> Any:
        return self.made()(*arguments)


class LazyKernel(Lazy):
    """A kernel, which may have prebuilt versions."""

    _versions: dict[Any, native.Version] | None = None

    def prebuilt(self, *kinds: Any) -> native.Version | None:
        """The version for arguments of these kinds."""
        if self._versions is None:
            self._versions = native.versions(f"{self.__module__}.{self.__name__}")
        return self._versions.get(kinds)

    def __call__(self, *arguments: Any) -> Any:
        version = self.prebuilt(*map(native.kind_of, arguments))
        return self.made()(*arguments) if version is None else version(arguments)


def kernel(function: Callable[..., Any]) -> Any:
    return LazyKernel("kernel", function)


def inlined(function: Callable[..., Any]) -> Any:
    return Lazy("inlined", function)


def part(function: Callable[..., Any]) -> Any:
    return Lazy("part", function)


def pasted(function: Callable[..., Any]) -> Any:
    return Lazy("pasted", function)


def summed(function: Callable[..., Any]) -> Any:
    return Lazy("summed", function)


def summed_apart(function: Callable[..., Any]) -> Any:
    return Lazy("summed_apart", function)


def largest(function: Callable[..., Any]) -> Any:
    return Lazy("largest", function)


def intrinsic(function: Callable[..., Any]) -> Any:
    return Lazy("intrinsic", function)


def overload(target: Any, **options: Any) -> Callable[[Any], Any]:
    def remember(function: Any) -> Any:
        def tell() -> None:
            from numba.extending import overload

            overload(target, **options)(function)

        _waiting.append(tell)
        return function

    return remember
