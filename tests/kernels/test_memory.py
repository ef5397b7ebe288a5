"""Arrays that start with a line of the cache."""

from __future__ import annotations

import numpy as np
import pytest

from fastdp.kernels.memory import LINE, empty_aligned, zeros_aligned


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.float64])
@pytest.mark.parametrize("shape", [1, 63, (3, 5), (0,), (2, 0, 4)])
def test_arrays__start_with_a_line(shape, kind):
    for make in (empty_aligned, zeros_aligned):
        arrays = [make(shape, kind) for _ in range(20)]  # plain ones would not all happen to
        assert all(array.ctypes.data % LINE == 0 for array in arrays if array.size)
        assert {array.shape for array in arrays} == {shape if isinstance(shape, tuple) else (shape,)}
        assert {array.dtype for array in arrays} == {np.dtype(kind)}
    assert not any(array.any() for array in arrays)


def test_arrays__do_not_overlap():
    one, other = zeros_aligned(100, np.uint8), zeros_aligned(100, np.uint8)
    one[:] = 7
    assert not other.any()
