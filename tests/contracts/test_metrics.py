"""What every mechanism between numbered values of a metric promises, whatever its probabilities are."""

from __future__ import annotations

import functools
import json
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import fastdp as fd
from fastdp.channels import Channel
from tests.contracts.containers import CONTAINERS, about, each_container, to_arrow
from tests.contracts.golden_metrics import GOLDEN, PATH, reports_of
from tests.contracts.metrics import METRICS, PRIOR, SIZE, values_of
from tests.reference.metric import plane
from tests.reference.statistics import chisquare_p

EPSILON = 1.3


def over(metrics):
    return pytest.mark.parametrize("metric", metrics, ids=lambda metric: metric.name)


each_metric = over(METRICS)


@functools.cache
def made(name: str) -> Any:
    return next(metric for metric in METRICS if metric.name == name).make(EPSILON)


def seeded(seed: int = 11) -> fd.Rng:
    return fd.Rng.unsafe_seed(seed)


@over(GOLDEN)
def test_randomize__gives_the_golden_reports(metric):
    """Reports for a fixed seed never change unnoticed; a change must say so in its commit."""
    assert reports_of(metric) == json.loads(PATH.read_text())[metric.name]


@each_metric
@pytest.mark.parametrize("factor", [1.0, 2.3, 4.0])
def test_privacy__is_what_the_channel_costs_and_no_more_than_asked(metric, factor):
    """Channel <= stated <= asked, over all pairs of values; a channel sharpened by a hundredth is caught."""
    epsilon = metric.least * factor
    mechanism = metric.make(epsilon)
    matrix, distance = mechanism.channel().dense(), plane(3, 4)
    possible = matrix[:, matrix.max(axis=0) > 1e-15]
    found = Channel.from_matrix(possible / possible.sum(axis=1, keepdims=True)).epsilon(distance)
    assert found <= mechanism.privacy.epsilon + 1e-9
    assert mechanism.privacy.epsilon <= epsilon
    assert not metric.tight or mechanism.privacy.epsilon >= epsilon * (1 - 1e-6)
    assert mechanism.privacy.neighbours == "replace"
    if metric.tight and metric.name not in {"grid-laplace", "remapped"}:
        sharp = possible**1.01
        assert Channel.from_matrix(sharp / sharp.sum(axis=1, keepdims=True)).epsilon(distance) > found * 1.005


@each_metric
@pytest.mark.parametrize("epsilon", [1.2, 1.9, 3.1])
def test_reports__follow_the_channel(metric, epsilon):
    """Of every value; the rows of a neighbour are told apart."""
    mechanism, size = metric.make(epsilon), 200_000
    rows = mechanism.channel().dense()
    reports = mechanism.randomize(np.repeat(np.arange(SIZE), size), rng=seeded()).reshape(SIZE, size)
    for x in range(SIZE):
        assert chisquare_p(reports[x], rows[x], 0) > 1e-3 / SIZE
        assert chisquare_p(reports[x], rows[(x + 1) % SIZE], 0) < 1e-6


@each_metric
def test_randomize__does_not_depend_on_threads_or_batches(metric, threads):
    mechanism, values = made(metric.name), values_of(300_003)
    threads(1)
    whole = mechanism.randomize(values, rng=seeded())
    threads(5)
    assert np.array_equal(mechanism.randomize(values, rng=seeded()), whole)
    rng = seeded()
    edges = [0, 1, 3, 1000, 1024, 2049, 200_000, values.size]
    parts = [mechanism.randomize(values[a:b], rng=rng) for a, b in zip(edges, edges[1:], strict=False)]
    assert np.array_equal(np.concatenate(parts), whole)


@each_metric
def test_randomize__takes_every_container(metric):
    """The same values in another container or integer width give the same reports, in that container."""
    mechanism, values = made(metric.name), values_of(1_200)
    plain = mechanism.randomize(values, rng=seeded())
    assert plain.dtype == values.dtype
    spread = np.zeros((values.size, 3), values.dtype)
    spread[:, 1] = values
    square = values.reshape(-1, 4)
    for other in (spread[:, 1], values[::-1].copy()[::-1], square, np.asfortranarray(square)):
        out = mechanism.randomize(other, rng=seeded())
        assert out.shape == other.shape
        assert np.array_equal(out.ravel(), plain)
    for width in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", ">i2", ">u4"):
        out = mechanism.randomize(values.astype(width), rng=seeded())
        assert out.dtype == np.dtype(width).newbyteorder("=")
        assert np.array_equal(out, plain)
    for kind in (list, tuple):
        out = mechanism.randomize(kind(values.tolist()), rng=seeded())
        assert type(out) is kind
        assert np.array_equal(out, plain)
    arrow = pa.array(values)
    for other in (arrow, arrow.dictionary_encode(), pa.concat_arrays([arrow[:5], arrow])[5:]):
        out = mechanism.randomize(other, rng=seeded())
        assert out.type == arrow.type
        out.validate(full=True)
        assert np.array_equal(out.to_numpy(), plain)
    out = mechanism.randomize(pa.chunked_array([arrow[:0], arrow[:7], arrow[7:]]), rng=seeded())
    assert [len(chunk) for chunk in out.chunks] == [0, 7, 1_193]
    assert np.array_equal(out.to_numpy(), plain)
    assert mechanism.randomize(int(values[0]), rng=seeded()) == plain[0]
    assert type(mechanism.randomize(values[0], rng=seeded())) is np.int64


@each_container(CONTAINERS)
def test_randomize__takes_containers_of_other_libraries(container):
    """The same reports as for numpy, in the caller's kind of container; nulls only if they are public."""
    for metric in METRICS:
        with about(metric.name):
            check_container(made(metric.name), container)


def check_container(mechanism, container):
    values = values_of(200, np.int32)
    plain = mechanism.randomize(values, rng=seeded())
    given = container.wrap(pa.array(values))
    out = mechanism.randomize(given, rng=seeded())
    assert container.gives(out, given)
    assert np.array_equal(to_arrow(out).to_numpy(), plain)
    reports = container.wrap(pa.array(plain))
    assert np.array_equal(mechanism.count_outputs(reports), np.bincount(plain, minlength=SIZE))
    if container.takes_nulls:
        masked = pa.array(values, mask=np.arange(values.size) % 3 == 0)
        with pytest.raises(fd.DomainError, match="nulls"):
            mechanism.randomize(container.wrap(masked))
        given = container.wrap(masked)
        out = mechanism.randomize(given, rng=seeded(), nulls="public")
        assert container.gives(out, given)
        assert to_arrow(out).equals(mechanism.randomize(masked, rng=seeded(), nulls="public"))


@each_metric
def test_randomize__accepts_empty_input_and_leaves_it_alone(metric):
    mechanism, values = made(metric.name), values_of(3_000)
    assert mechanism.randomize(values[:0]).shape == (0,)
    assert mechanism.randomize([]) == []
    assert len(mechanism.randomize(pa.chunked_array([], pa.int64()))) == 0
    assert not mechanism.count_outputs([]).any()
    before = values.copy()
    out = mechanism.randomize(values)
    assert np.array_equal(values, before)
    assert not np.shares_memory(out, values)


@each_metric
def test_randomize__hides_what_lies_under_public_nulls(metric):
    values = values_of(4_000)
    missing = np.arange(values.size) % 3 == 0
    out = made(metric.name).randomize(pa.array(values, mask=missing)[1:], rng=seeded(), nulls="public")
    out.validate(full=True)
    assert np.array_equal(out.is_null().to_numpy(zero_copy_only=False), missing[1:])
    assert not np.frombuffer(out.buffers()[1], np.int64)[: len(out)][missing[1:]].any()


@each_metric
def test_parameters__are_refused_when_bad(metric):
    for bad in (0, 0.0, -1, -0.5, math.nan, math.inf, True, "1", None, [], [1.0]):
        with about(repr(bad)), pytest.raises(fd.ParameterError):
            metric.make(bad)


@each_metric
def test_randomize__refuses_other_types(metric):
    mechanism = made(metric.name)
    for bad in (np.array(["a"]), np.array([1.0]), np.array([object()]), "abc", b"ab", {}, None, True):
        with about(repr(bad)), pytest.raises(fd.SchemaError, match=type(mechanism).__name__):
            mechanism.randomize(bad)
    with pytest.raises(fd.ParameterError, match="rng"):
        mechanism.randomize(values_of(5), rng=np.random.default_rng())


@each_metric
@pytest.mark.parametrize("bad", [-1, SIZE, 2**31 - 1])
def test_randomize__refuses_values_outside_and_does_not_name_them(metric, bad):
    mechanism = made(metric.name)
    for place in (0, 4_321, 4_999):
        values = np.zeros(5_000, np.int32)
        values[place] = bad
        for use in (mechanism.randomize, mechanism.count_outputs):
            with pytest.raises(fd.DomainError, match="declared domain") as caught:
                use(values)
            assert str(bad) not in str(caught.value)


@each_metric
def test_mechanism__is_an_immutable_value(metric):
    mechanism = metric.make(EPSILON)
    for name in ("epsilon", "mechanism", "distance", "_rate"):
        with pytest.raises((AttributeError, TypeError)):
            setattr(mechanism, name, 2.0)
    assert mechanism == metric.make(EPSILON)
    assert hash(mechanism) == hash(metric.make(EPSILON))
    assert mechanism != metric.make(EPSILON * 1.5)
    assert type(mechanism).__name__ in repr(mechanism)


@each_metric
def test_remap__never_loses_more(metric):
    """With a telling prior, the remapped mechanism loses no more than the mechanism's own reports."""
    mechanism, distance = made(metric.name), plane(3, 4)
    prior = PRIOR**3 / (PRIOR**3).sum()
    own = fd.measures.expected_loss(mechanism.channel(), prior, distance)
    assert mechanism.remap(prior).expected_loss <= own + 1e-12
    assert mechanism.remap(prior).privacy == mechanism.privacy


@each_metric
def test_estimate__wins_the_distribution_back(metric):
    """From reports, through the channel: closer to the truth than the reports' own frequencies."""
    mechanism = metric.make(3.0)
    values = np.random.default_rng(1).choice(SIZE, 300_000, p=PRIOR / PRIOR.sum())
    truth = np.bincount(values, minlength=SIZE) / values.size
    reports = mechanism.randomize(values, rng=seeded())
    raw = mechanism.count_outputs(reports) / reports.size
    found = fd.estimate(mechanism, reports).distribution
    assert np.abs(found - truth).sum() < np.abs(raw - truth).sum()
