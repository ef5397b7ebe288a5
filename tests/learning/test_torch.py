"""PrivateOptimizer: gradients of torch, the same integers as numpy's, and a model that learns."""

from __future__ import annotations

import numpy as np
import pytest

import fastdp as fd
from fastdp.learning import PrivateOptimizer, poisson_sample
from tests.learning import data

torch = pytest.importorskip("torch", reason="torch is not installed")


def network(seed=1):
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.Tanh(), torch.nn.Linear(32, 10))


def make(model, rate=1.0, **parameters):
    settings = {"clip": 1.0, "noise_multiplier": 1.0, "batch": 100, "rng": fd.Rng.unsafe_seed(1), **parameters}
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    return PrivateOptimizer(optimizer, model, torch.nn.functional.cross_entropy, **settings)


def test_gradients__are_those_of_single_examples():
    model, source = network(), np.random.default_rng(1)
    x = torch.tensor(source.standard_normal((5, 64)), dtype=torch.float32)
    y = torch.tensor(source.integers(0, 10, 5))
    rows = make(model).per_example(x, y)
    for i in range(5):
        model.zero_grad()
        torch.nn.functional.cross_entropy(model(x[i : i + 1]), y[i : i + 1]).backward()
        for row, parameter in zip(rows, model.parameters(), strict=True):
            assert row[i].numpy() == pytest.approx(parameter.grad.numpy(), abs=1e-5)


def test_sum__of_tensors_is_that_of_arrays():
    """By DLPack, from tensors that want gradients as well."""
    rows = np.random.default_rng(2).standard_normal((20, 30)).astype(np.float32)
    totals = []
    for given in (
        rows,
        torch.tensor(rows),
        torch.tensor(rows, requires_grad=True),
        torch.tensor(rows).T.contiguous().T,
    ):
        mean = fd.learning.GradientSum(clip=1.0, noise_multiplier=1.0, batch=1)
        totals.append(mean.add(given)._sum.totals[0])
    assert all(np.array_equal(total, totals[0]) for total in totals)
    with pytest.raises(fd.SchemaError, match="cannot be read"):
        mean.add(torch.tensor(rows).bfloat16())


@pytest.mark.parametrize("microbatch", [3, 64])
def test_step__is_the_same_for_any_microbatch_and_order(microbatch):
    source = np.random.default_rng(3)
    x = torch.tensor(source.standard_normal((20, 64)), dtype=torch.float32)
    y = torch.tensor(source.integers(0, 10, 20))
    weights = []
    for order in (np.arange(20), source.permutation(20)):
        model = network()
        private = make(model, microbatch=microbatch)
        rows = private.per_example(x, y)  # of one call, since torch itself may differ in the last bit between batches
        for first in range(0, 20, microbatch):
            private.gradients.add([part[order[first : first + microbatch]].numpy() for part in rows])
        private.step(x[:0], y[:0])
        weights.append(torch.cat([p.detach().flatten() for p in model.parameters()]))
    assert torch.equal(*weights)


def test_optimizer__trains_a_network_on_digits():
    found = data.digits()
    x, y = torch.tensor(found.rows, dtype=torch.float32), torch.tensor(found.labels)
    model = network()
    private = make(model, rate=2.0, noise_multiplier=1.0, batch=0.2 * len(x), microbatch=400)
    stream = fd.Rng.unsafe_seed(4)
    for _ in range(40):
        chosen = torch.from_numpy(poisson_sample(len(x), 0.2, rng=stream))
        private.step(x[chosen], y[chosen])
    with torch.no_grad():
        right = model(torch.tensor(found.test_rows, dtype=torch.float32)).argmax(1).numpy() == found.test_labels
    assert right.mean() > 0.75
    assert private.steps == 40
    assert 5 < private.cost(rate=0.2).epsilon(delta=1e-5).upper < 15


def test_optimizer__refuses_what_no_clip_bounds():
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4))
    with pytest.raises(fd.ParameterError, match="GroupNorm"):
        make(model)
    model = network()
    with pytest.raises(fd.ParameterError, match="all trainable parameters"):
        PrivateOptimizer(
            torch.optim.SGD(model[0].parameters(), lr=1.0), model, torch.nn.functional.cross_entropy, clip=1.0,
            noise_multiplier=1.0, batch=1,
        )  # fmt: skip
