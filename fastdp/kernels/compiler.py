"""How numba compiles kernels: what is made machine code, what is only linked into others, and the cache of it.

Numba by itself optimizes every function on its own and makes it machine code, with a way in for Python and one for C,
and then does it all again in whatever calls it. Here only what Python calls becomes code of its own: half the time of
a first call. And numbers that are written in a kernel are no types of their own: numba would compile a part once for
``0`` and once for any integer.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Any

from numba.core import caching, codegen, compiler, compiler_machinery, config, types, untyped_passes
from numba.core.registry import CPUDispatcher

from fastdp.kernels.cache import cache_folder, source_digest

OPTIONS = {"nopython": True, "nogil": True, "error_model": "numpy", "boundscheck": False, "_nrt": False}
"""No ``fastmath``: it deletes NaN checks and rounding. ``numpy`` errors: a division must not branch to raise. Kernels
never allocate, so they need no reference counts: without them rare lanes run 2.7 times as fast and compile 3 times."""


class _Locator(caching._CacheLocator):  # noqa: SLF001  (numba offers no public hook for a cache place)
    """Makes numba keep a function's machine code in :func:`cache_folder`."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def get_cache_path(self) -> str:
        return str(cache_folder())

    def get_source_stamp(self) -> str:
        return source_digest()

    def get_disambiguator(self) -> str:
        """What distinguishes entries: the names numba gives them have no folder in them."""
        return f"{self._function.__module__}-{self._function.__code__.co_firstlineno}"

    @classmethod
    def from_function(cls, function: Callable[..., Any], _path: str) -> _Locator | None:
        return cls(function) if cache_folder() is not None else None


class _CacheImpl(caching.CompileResultCacheImpl):
    _locator_classes = (_Locator,)


LISTENERS: list[Callable[[], None]] = []
"""Called whenever a kernel was compiled."""


@functools.cache
def _tell() -> None:
    """Say, once per process, that a call waits for the compiler."""
    logging.getLogger("fastdp.kernels").warning(
        "fastdp: compiling kernels for this CPU once, about 3 s; `fastdp warmup` compiles all of them"
    )


class _Cache(caching.FunctionCache):
    """Numba's function cache in our folder; a failed write costs a recompile later, never an error now."""

    _impl_class = _CacheImpl

    def load_overload(self, signature: Any, context: Any) -> Any:
        found = super().load_overload(signature, context)
        if found is None:
            _tell()
        return found

    def save_overload(self, signature: Any, data: Any) -> None:
        for listener in LISTENERS:
            listener()
        try:
            super().save_overload(signature, data)
        except OSError:
            self.disable()


class _Kernel(CPUDispatcher):  # type: ignore[misc]
    """A function that Python calls, compiled for the types that it is called with."""

    def __init__(self, function: Callable[..., Any], pipeline: Any = compiler.Compiler, **options: Any) -> None:
        super().__init__(
            function, targetoptions=OPTIONS | {"no_cfunc_wrapper": True} | options, pipeline_class=pipeline
        )

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """How another kernel calls it: with integers, whatever their values."""
        return super().get_call_template(
            tuple(map(types.unliteral, args)), {name: types.unliteral(kind) for name, kind in kws.items()}
        )


class _NoEnvironment:
    @staticmethod
    def set_env(_name: str, _environment: Any) -> None:
        """Only code that raises or holds Python objects needs one."""


class _PartLibrary(codegen.JITCodeLibrary):
    """Code that is only ever linked into others: neither optimized nor made machine code by itself."""

    def _optimize_final_module(self) -> None:
        """Left to those that it is linked into."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, _name: str) -> int:
        self._ensure_finalized()
        return 0

    @property
    def codegen(self) -> type[_NoEnvironment]:
        return _NoEnvironment


@compiler_machinery.register_pass(mutates_CFG=False, analysis_only=False)
class _ChoosePartLibrary(compiler_machinery.FunctionPass):  # type: ignore[misc]
    _name = "fastdp_part_library"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        state.library = _PartLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        return False


class _PartCompiler(compiler.CompilerBase):  # type: ignore[misc]
    def define_pipelines(self) -> list[Any]:
        manager = compiler.DefaultPassBuilder.define_nopython_pipeline(self.state)
        manager.add_pass_after(_ChoosePartLibrary, untyped_passes.IRProcessing)
        manager.finalize()
        return [manager]


class _Part(_Kernel):
    """A function that kernels call. It has no way in for Python: numba would jump to address zero."""

    def __init__(self, function: Callable[..., Any], pipeline: Any = _PartCompiler, **options: Any) -> None:
        super().__init__(function, pipeline, no_cpython_wrapper=True, **options)

    @functools.cached_property
    def _alone(self) -> Any:
        return kernel(self.py_func)

    def __call__(self, *arguments: Any) -> Any:
        """Called from Python, as tests do, it is compiled as a kernel of its own."""
        return self._alone(*arguments)


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a kernel on first use of its argument types, through the cache where there is one."""
    if config.DISABLE_JIT:
        return function
    dispatcher = _Kernel(function)
    if cache_folder() is not None:
        dispatcher._cache = _Cache(function)  # noqa: SLF001
    return dispatcher


def _part(function: Callable[..., Any], **options: Any) -> Any:
    return function if config.DISABLE_JIT else _Part(function, **options)


def inlined(function: Callable[..., Any]) -> Any:
    """Compile a part of kernels into its callers: passing arrays costs more than the few instructions in it."""
    return _part(function, forceinline=True)


def part(function: Callable[..., Any]) -> Any:
    """Compile a part of kernels that they call: large, and so not copied into them by force."""
    return _part(function)


def pasted(function: Callable[..., Any]) -> Any:
    """Put a part of a kernel into it before that is compiled: for parts of one kernel, large but used once.

    Parts that are ``inlined`` are typed by themselves, once for all their callers.
    """
    return _part(function, inline="always")


def summed(function: Callable[..., Any]) -> Any:
    """Compile a sum into its callers, added up in whatever order is fastest; no other rule of arithmetic is given up.

    Written as a loop, a sum is one chain of additions, each waiting for the last: 7 times as slow. Not for anything
    that privacy depends on.
    """
    return _part(function, forceinline=True, fastmath={"reassoc", "contract"})


def summed_apart(function: Callable[..., Any]) -> Any:
    """As `summed`, but optimized by itself before it is put into its callers: for loops over many arrays at once.

    In the caller they meet more checks of whether arrays overlap (a gradient of 100 x 100: 12,750 -> 12,420
    instructions).
    """
    return _part(function, pipeline=compiler.Compiler, forceinline=True, fastmath={"reassoc", "contract"})


def largest(function: Callable[..., Any]) -> Any:
    """Compile the search for a maximum into its callers, in vectors: there is no NaN to lose."""
    return _part(function, forceinline=True, fastmath={"nnan", "nsz"})
