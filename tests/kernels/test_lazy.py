"""What stands for a kernel is taken by numba for the kernel."""

from __future__ import annotations

import numba
import numpy as np

from fastdp.kernels import lazy


@lazy.inlined
def twice(x):
    return x + x


@lazy.pasted
def thrice(x):
    return x + x + x


@lazy.kernel
def add(x):
    return twice(x) + thrice(x)


def test_lazy_functions__call_one_another():
    assert add(np.int64(5)) == 25
    assert twice(4) == 8


def test_lazy_functions__serve_kernels_of_others():
    @numba.njit
    def other(x):
        return twice(x) + 1

    assert other(3) == 7


def test_lazy_modules__are_those_they_name():
    assert lazy.Module("math").floor(2.5) == 2
