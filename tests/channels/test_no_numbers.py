"""What is no number, vector, matrix or channel: refused in fastdp's own words wherever a channel takes one."""

from __future__ import annotations

import pytest

import fastdp as fd
from fastdp.channels import SparseChannel

KRR = fd.KRR(epsilon=1.0, domain=3).channel()
DENSE = fd.Channel.from_matrix([[0.5, 0.5], [0.2, 0.8]])
CALLS = {
    "from_matrix": fd.Channel.from_matrix,
    "sparse": SparseChannel,
    "forward": KRR.forward,
    "backward": DENSE.backward,
    "row": KRR.row,
    "compose": KRR.compose,
    "prepare": KRR.prepare,
    "epsilon": DENSE.epsilon,
    "counts": lambda given: fd.ibu(DENSE, given),
    "counts of k-RR": lambda given: fd.ibu(KRR, given),
    "plan": fd.Plan.loads,
    "plan file": fd.Plan.load,
}


@pytest.mark.parametrize("given", ["x", [[1], [2, 3]], {"a": 1}, [["a"]], 1j, object()])
@pytest.mark.parametrize("call", CALLS)
def test_nonsense__is_refused(call, given):
    with pytest.raises(fd.ParameterError):
        CALLS[call](given)
