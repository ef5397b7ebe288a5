"""What is compiled: each part once, whatever numbers it is called with, and no part by itself."""

from __future__ import annotations

import logging

import numpy as np
from numba.core import types

from fastdp.kernels import compiler


@compiler.part
def half(x):
    return x // 2


@compiler.inlined
def twice(x):
    return half(x) + half(x)


def _call_with_numbers(x):
    return twice(0) + twice(8) + twice(x)


# Without the cache: a kernel that another process compiled is loaded, and its parts are compiled nowhere here.
call_with_numbers = compiler._Kernel(_call_with_numbers)


def test_parts__are_compiled_once_for_all_numbers():
    assert call_with_numbers(10) == 18
    for function in (half, twice):
        assert list(function.overloads) == [(types.int64,)]


def test_no_kernel_of_a_mechanism__is_compiled_for_one_number(monkeypatch):
    """Whatever was compiled in this process so far, and by Laplace, has no type that is a single number."""
    from numba.core.dispatcher import Dispatcher

    import fastdp as fd

    fd.Laplace(epsilon=1.0, sensitivity=1.0).randomize(np.zeros(3))
    ours = [one for one in Dispatcher._memo.values() if type(one).__module__ == compiler.__name__]
    ours += [call_with_numbers, half, twice]
    assert not [k for one in ours for signature in one.overloads for k in signature if isinstance(k, types.Literal)]


def test_parts__have_no_machine_code():
    """Only the kernel has a way in for Python; what is linked into it was never made machine code."""
    call_with_numbers(10)
    (made,) = call_with_numbers.overloads.values()
    (part,) = half.overloads.values()
    assert "cpython" in made.library.get_llvm_str()
    assert "cpython" not in part.library.get_llvm_str()
    assert part.library.get_pointer_to_function(part.fndesc.llvm_func_name) == 0
    assert "cfunc." not in made.library.get_llvm_str()


def test_compiling__is_told_once_in_one_line(caplog, monkeypatch, tmp_path):
    """A call that waits for the compiler says so, through ``logging``; the next ones do not."""
    compiler._tell.cache_clear()

    def fresh(x):
        return x + 17

    with caplog.at_level(logging.WARNING, "fastdp"):
        made = compiler.kernel(fresh)
        made._cache._cache_path = str(tmp_path)
        monkeypatch.setattr(made._cache, "load_overload", lambda *_: compiler._tell())
        assert made(1) == 18
        assert made(1.5) == 18.5
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 1
    assert "compiling kernels" in said[0]
    assert "fastdp warmup" in said[0]
