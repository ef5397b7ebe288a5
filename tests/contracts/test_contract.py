"""What every mechanism has: the contract of `fd.Mechanism`, over all lists of mechanisms."""

from __future__ import annotations

import dataclasses
import functools
import json
import re
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import fastdp as fd
from fastdp.mechanisms.base import ColumnMechanism, FiniteMechanism
from fastdp.mechanisms.registry import rows
from tests.contracts.cases import CASES
from tests.contracts.metrics import METRICS
from tests.contracts.protocols import KEY, PROTOCOLS

PLANAR = fd.PlanarLaplace(epsilon=0.7, unit="km", origin=(48.85, 2.35))
DOMAINS = {"city": ["a", "b", "c"], "age": 5, "type": 4}
OTHERS: list[Any] = [
    fd.Laplace(scale=1.7, sensitivity=1.0),
    fd.Geometric(scale=1.7),
    fd.Gaussian(scale=1.7, sensitivity=1.0, bounds=(0, 10)),
    fd.DiscreteGaussian(scale=1.7),
    fd.Staircase(epsilon=1.0, sensitivity=1.0, gamma=0.3, granularity=2.0**-10),
    fd.KRR(epsilon=1.0, domain=["x", "y"]),
    fd.RandomizedResponse.two_coins(),
    fd.ThresholdedHistogram(epsilon=1.0, domain=8, threshold=0.75),
    fd.LocalHashing(epsilon=1.0, domain=8, g=3, cohorts=4, salt=9),
    *(kind(epsilon=1.0, bounds=(-2, 3)) for kind in (fd.Duchi, fd.Piecewise, fd.Hybrid, fd.SquareWave)),
    fd.DBitFlip(epsilon=1.0, domain=8, bits=2, bounds=(0, 80), question="hours"),
    fd.MatrixMechanism([[0.5, 0.25, 0.25], [0.2, 0.3, 0.5]]),
    fd.MatrixMechanism(np.full((3, 300), 1 / 301), normalize=True),
    fd.ExponentialMechanism(epsilon=1.0, sensitivity=0.5),
    fd.PermuteAndFlip(epsilon=1.0, monotone=True),
    fd.NoisyMax(epsilon=1.0, noise="gumbel"),
    fd.AboveThreshold(epsilon=1.0, threshold=3.5, positives=2),
    fd.KeySelection(epsilon=1.0, delta=1e-6, max_groups=3),
    fd.FrequentStrings(epsilon=1.0),
    fd.FrequentStrings(epsilon=4.0, length=12, step=5, g=200),
    fd.SplitBudget(epsilon=1.0, domains=DOMAINS),
    fd.SampleOne(epsilon=1.0, domains=DOMAINS, protocol=fd.UnaryEncoding),
    fd.SampleAndFake(epsilon=1.0, domains=DOMAINS, protocol="sue"),
    fd.SampleAndFake(epsilon=1.0, domains=DOMAINS, unit="attribute"),
    PLANAR,
    fd.PlanarLaplace(epsilon=0.7, unit="km", granularity=0.25, region=((0, 10), (0, 20))),
    fd.GlobeLaplace(epsilon=0.7, unit="km"),
    fd.RemappedPoints(mechanism=PLANAR, places=[(48.8, 2.3), (48.9, 2.4)], prior=[3, 4]),
    fd.MemoizedTrajectory(mechanism=PLANAR),
    fd.PredictiveTrajectory(mechanism=PLANAR, threshold=30.0, test_epsilon=0.5, budget=9.0),
]
MECHANISMS = [
    *((case.name, case.mechanism) for case in CASES),
    *((protocol.name, protocol.make(1.0, protocol.domain(9))) for protocol in PROTOCOLS),
    *((metric.name, metric.make(1.5)) for metric in METRICS),
    *((f"{type(mechanism).__name__}-{number}", mechanism) for number, mechanism in enumerate(OTHERS)),
]
every = pytest.mark.parametrize("mechanism", [one for _, one in MECHANISMS], ids=[name for name, _ in MECHANISMS])
columns = [(name, one) for name, one in MECHANISMS if isinstance(one, ColumnMechanism)]
every_column = pytest.mark.parametrize("mechanism", [one for _, one in columns], ids=[name for name, _ in columns])
NAMES = {name: getattr(fd, name) for name in fd.__all__}
TYPES = [
    pa.float64(), pa.float32(), pa.int8(), pa.uint16(), pa.int64(), pa.bool_(), pa.string(), pa.large_string(),
    pa.string_view(), pa.dictionary(pa.int8(), pa.string()), pa.dictionary(pa.int32(), pa.int64()),
    pa.run_end_encoded(pa.int32(), pa.float64()), pa.run_end_encoded(pa.int32(), pa.string()), pa.float16(),
    pa.timestamp("s"), pa.dictionary(pa.int8(), pa.bool_()),
]  # fmt: skip


@every
def test_mechanism__is_one(mechanism):
    assert isinstance(mechanism, fd.Mechanism)
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(mechanism, dataclasses.fields(mechanism)[0].name, 1)


@every
def test_mechanism__survives_a_dict(mechanism):
    """Also by way of JSON, with the same guarantee."""
    again = fd.Mechanism.from_dict(json.loads(json.dumps(mechanism.to_dict())))
    assert again == mechanism
    assert type(again) is type(mechanism)
    if not isinstance(mechanism, fd.MemoizedTrajectory):
        assert again.privacy == mechanism.privacy


@every
def test_mechanism__is_what_its_repr_evaluates_to(mechanism):
    if re.search(r"<\d+ (numbers|values)>", repr(mechanism)):  # long ones are abbreviated
        assert fd.Mechanism.from_dict(mechanism.to_dict()) == mechanism
        assert len(repr(mechanism)) < 3000
    else:
        assert eval(repr(mechanism), NAMES) == mechanism


@every
def test_mechanism__can_be_replaced(mechanism):
    """Nothing changes without changes; with another epsilon all that follows from it is computed anew."""
    assert dataclasses.replace(mechanism) == mechanism
    parameters = mechanism.to_dict()
    if not isinstance(parameters.get("epsilon"), float):
        return
    other = dataclasses.replace(mechanism, epsilon=parameters["epsilon"] * 1.25)
    assert other == fd.Mechanism.from_dict(parameters | {"epsilon": parameters["epsilon"] * 1.25})
    assert other != mechanism


def _reports(mechanism: Any, values: Any) -> Any:
    if isinstance(mechanism, fd.Longitudinal | fd.DBitFlip):
        return mechanism.randomize(values, persons=np.arange(len(values)), key=KEY)
    return mechanism.randomize(values)


@every_column
def test_result_type__is_that_of_the_reports(mechanism):
    """Of no values at all, or of as many zeros as there are parameters; what cannot be randomized has no type."""
    records = getattr(mechanism, "_records", lambda: None)()
    for kind in TYPES:
        if records is not None and not pa.types.is_primitive(kind):
            continue  # there are no zeros of this type
        values = pa.nulls(0, kind) if records is None else pa.array(np.zeros(records, np.int64)).cast(kind)
        assert _outcome(mechanism.result_type, kind) == _outcome(lambda given: _reports(mechanism, given).type, values)


def _outcome(call: Any, given: Any) -> Any:
    """What comes back, or the kind and text of the error."""
    try:
        return call(given)
    except fd.FastDPError as error:
        return type(error), str(error)


@every_column
def test_finite_mechanisms__count_outputs_of_their_channel(mechanism):
    """Counts have one entry per output."""
    if not isinstance(mechanism, FiniteMechanism) or not mechanism.counts_outputs:
        assert not mechanism.counts_outputs
        return
    if getattr(mechanism, "bounds", True) is None or (isinstance(mechanism, fd.Geometric) and mechanism._records()):
        return
    values = np.zeros(3, bool if isinstance(mechanism, fd.RandomizedResponse) else np.int64)
    if getattr(mechanism, "has_text", False):
        values = np.array(mechanism.domain.labels)[values]
    counts = mechanism.count_outputs(_reports(mechanism, values))
    assert counts.shape == mechanism.channel().shape[1:]
    assert counts.sum() == 3


def test_lists__hold_every_mechanism_of_the_registry():
    listed = {type(mechanism) for _, mechanism in MECHANISMS}
    assert [row.name for row in rows() if row.load() not in listed] == []


def test_registry__holds_every_mechanism_that_is_public():
    public = {value for value in NAMES.values() if isinstance(value, type) and issubclass(value, fd.Mechanism)}
    assert public - {fd.Mechanism} == {row.load() for row in rows()}


def test_registry__has_no_name_twice():
    names = [name for row in rows() for name in (row.name, *(word.name for word in row.words))]
    assert len(names) == len(set(names))


def test_from_dict__refuses_what_is_no_mechanism():
    for given in (3, {}, {"type": 3}):
        with pytest.raises(fd.ParameterError, match="give a dict with the name of a mechanism"):
            fd.Mechanism.from_dict(given)
    with pytest.raises(fd.ParameterError, match="Laplce.*Laplace"):
        fd.Mechanism.from_dict({"type": "Laplce", "epsilon": 1.0})
    with pytest.raises(fd.ParameterError, match="its parameters are epsilon, domain"):
        fd.Mechanism.from_dict({"type": "KRR", "epsilon": 1.0, "domian": 3})


def test_to_dict__refuses_functions():
    mechanism = fd.SplitBudget(epsilon=1.0, domains=DOMAINS, protocol=functools.partial(fd.KRR))
    with pytest.raises(fd.ParameterError, match="protocol is a partial"):
        mechanism.to_dict()


def test_repr__of_many_records_is_short():
    mechanism = fd.Laplace(epsilon=np.ones(20_000), sensitivity=1.0)
    assert repr(mechanism) == "Laplace(epsilon=<20000 numbers>, sensitivity=1.0)"


def test_replace__gives_up_what_was_derived():
    """A new scale needs the old epsilon gone; a given granularity stays."""
    mechanism = fd.Laplace(epsilon=1.0, sensitivity=1.0)
    assert dataclasses.replace(mechanism, epsilon=None, scale=2.0) == fd.Laplace(scale=2.0, sensitivity=1.0)
    with pytest.raises(fd.ParameterError, match="epsilon.*scale"):
        dataclasses.replace(mechanism, scale=2.0)
    coarse = fd.Laplace(epsilon=1.0, sensitivity=1.0, granularity=0.5)
    assert dataclasses.replace(coarse, epsilon=0.5).granularity == 0.5
    assert dataclasses.replace(fd.UnaryEncoding.of(p=0.75, q=0.25, domain=4), domain=5).p == 0.75
