"""What makes kernels of functions: one call from outside, and parts that are safe to call too."""

from __future__ import annotations

import numpy as np
import pytest

from fastdp.kernels import jit


@jit.kernel
def give_kernel(x):
    return x * x + 1


@jit.inlined
def give_inlined(x):
    return x * x + 1


@jit.part
def give_part(x):
    return x * x + 1


@jit.pasted
def give_pasted(x):
    return x * x + 1


@jit.summed
def give_summed(x):
    return x * x + 1


@jit.summed_apart
def give_summed_apart(x):
    return x * x + 1


@jit.largest
def give_largest(x):
    return x * x + 1


@pytest.mark.parametrize("name", ["kernel", "inlined", "part", "pasted", "summed", "summed_apart", "largest"])
def test_every_kind__can_be_called_from_python(name):
    """Parts have no way in for Python: without one of ours, a call would end the process."""
    give = globals()[f"give_{name}"]
    assert give(7) == 50
    assert give(0.5) == 1.25


def test_every_kind__can_be_called_by_a_kernel():
    @jit.kernel
    def add_all(x):
        parts = give_inlined(x) + give_part(x) + give_pasted(x) + give_summed(x) + give_summed_apart(x)
        return parts + give_largest(x) + give_kernel(x)

    assert add_all(np.int64(3)) == 70
    assert add_all(0.5) == 8.75


def test_features__are_those_of_the_compiler():
    assert jit.target_features()
    assert jit.target_name()
