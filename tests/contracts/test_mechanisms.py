"""What every mechanism promises, whatever it is."""

from __future__ import annotations

import functools
import itertools
import json
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import fastdp as fd
from tests.contracts.cases import CASES, size_of, values_of
from tests.contracts.containers import CONTAINERS, about, each_container, to_arrow
from tests.contracts.golden import PATH, draws_of

each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
one_for_all = pytest.mark.parametrize(
    "case", [case for case in CASES if case.mechanism._records() is None], ids=lambda case: case.name
)
NAMES = {case.name: case for case in CASES}
BAD: list[Any] = [0, 0.0, -1, -0.5, math.nan, math.inf, True, "1", None, [], [1.0, math.nan], [[1.0]]]


def seeded() -> fd.Rng:
    return fd.Rng.unsafe_seed(11)


@each_case
def test_randomize__gives_the_golden_draws(case):
    """Draws for a fixed seed never change unnoticed; a change must say so in its commit."""
    assert draws_of(case) == json.loads(PATH.read_text())[case.name]


@one_for_all
def test_randomize__does_not_depend_on_threads_or_batches(case, threads):
    """One call, one thread, seven threads, uneven batches: the same values."""
    values = values_of(case, 500_003)
    threads(1)
    whole = case.mechanism.randomize(values, rng=seeded())
    threads(7)
    assert np.array_equal(case.mechanism.randomize(values, rng=seeded()), whole)
    rng = seeded()
    edges = [0, 1, 3, 1000, 1024, 2049, 200_000, values.size]
    parts = [case.mechanism.randomize(values[a:b], rng=rng) for a, b in zip(edges, edges[1:], strict=False)]
    assert np.array_equal(np.concatenate(parts), whole)


@each_case
def test_randomize__takes_every_container(case):
    """The same values in another container give the same draws, in that container."""
    values = values_of(case, size_of(case, 1_200))
    plain = case.mechanism.randomize(values, rng=seeded())
    assert plain.dtype == values.dtype
    assert plain.shape == values.shape

    strided = np.zeros((values.size, 3), values.dtype)
    strided[:, 1] = values
    for other in (
        strided[:, 1],
        values[::-1].copy()[::-1],
        values.astype(values.dtype.newbyteorder(">")),
        np.frombuffer(values.tobytes(), values.dtype),
        np.frombuffer(b"x" + values.tobytes(), np.uint8)[1:].view(values.dtype),
    ):
        assert np.array_equal(case.mechanism.randomize(other, rng=seeded()), plain)

    square = values.reshape(-1, 4)
    for other in (square, np.asfortranarray(square)):
        out = case.mechanism.randomize(other, rng=seeded())
        assert out.shape == square.shape
        assert np.array_equal(out.ravel(), plain)

    arrow = pa.array(values)
    for other in (arrow, arrow.dictionary_encode(), pa.concat_arrays([pa.array(values[:5]), arrow])[5:]):
        out = case.mechanism.randomize(other, rng=seeded())
        assert isinstance(out, pa.Array)
        assert out.type == arrow.type
        out.validate(full=True)
        assert np.array_equal(out.to_numpy(), plain)
    chunks = pa.chunked_array([arrow[:0], arrow[:7], arrow[7:1100], arrow[1100:]])
    out = case.mechanism.randomize(chunks, rng=seeded())
    assert isinstance(out, pa.ChunkedArray)
    assert [len(chunk) for chunk in out.chunks] == [len(chunk) for chunk in chunks.chunks]
    assert np.array_equal(out.to_numpy(), plain)

    if values.dtype in (np.float64, np.int64):
        for kind in (list, tuple):
            out = case.mechanism.randomize(kind(values.tolist()), rng=seeded())
            assert type(out) is kind
            assert np.array_equal(np.array(out), plain)


@functools.cache
def plain_draws(name: str) -> tuple[np.ndarray, np.ndarray, pa.Array, pa.Array]:
    """Values of a case and their draws, and the same with nulls."""
    case = NAMES[name]
    values = values_of(case, size_of(case, 600))
    masked = pa.array(values, mask=np.arange(values.size) % 3 == 0)
    hidden = case.mechanism.randomize(masked, rng=seeded(), nulls="public")
    return values, case.mechanism.randomize(values, rng=seeded()), masked, hidden


@each_container(CONTAINERS)
def test_randomize__takes_containers_of_other_libraries(container):
    """The same draws as for numpy, in the caller's kind of container."""
    for case in CASES:
        with about(case.name):
            check_container(case.mechanism, container, *plain_draws(case.name))


def check_container(mechanism, container, values, plain, masked, hidden):
    given = container.wrap(pa.array(values))
    out = mechanism.randomize(given, rng=seeded())
    assert container.gives(out, given)
    arrow = to_arrow(out)
    assert arrow.type == pa.array(values).type
    assert np.array_equal(arrow.to_numpy(), plain)
    if container.takes_nulls:
        with pytest.raises(fd.DomainError, match="nulls"):
            mechanism.randomize(container.wrap(masked))
        given = container.wrap(masked)
        out = mechanism.randomize(given, rng=seeded(), nulls="public")
        assert container.gives(out, given)
        assert to_arrow(out).equals(hidden)


@one_for_all
def test_randomize__takes_scalars(case):
    value = values_of(case, 2)[1]
    whole = case.mechanism.randomize(np.array([value]), rng=seeded())
    out = case.mechanism.randomize(value, rng=seeded())
    assert type(out) is type(value)
    assert out == whole[0]
    assert case.mechanism.randomize(np.array(value), rng=seeded()).shape == ()
    number = value.item()
    assert type(case.mechanism.randomize(number, rng=seeded())) is type(number)


@one_for_all
def test_randomize__accepts_empty_input(case):
    empty = np.zeros(0, case.dtype)
    assert case.mechanism.randomize(empty).shape == (0,)
    assert case.mechanism.randomize(np.zeros((3, 0), case.dtype)).shape == (3, 0)
    assert case.mechanism.randomize([]) == []
    assert len(case.mechanism.randomize(pa.array(empty))) == 0
    assert len(case.mechanism.randomize(pa.chunked_array([], pa.array(empty).type))) == 0


@one_for_all
def test_randomize__leaves_its_input_alone_and_shares_no_memory(case):
    values = values_of(case, 3_000)
    before = values.copy()
    out = case.mechanism.randomize(values)
    assert np.array_equal(values, before)
    assert not np.shares_memory(out, values)


@one_for_all
def test_randomize__keeps_public_nulls_and_hides_what_lies_under_them(case):
    values = values_of(case, 4_000)
    missing = np.arange(values.size) % 3 == 0
    masked = pa.array(values, mask=missing)
    with pytest.raises(fd.DomainError, match="nulls"):
        case.mechanism.randomize(masked)
    out = case.mechanism.randomize(masked[1:], rng=seeded(), nulls="public")
    out.validate(full=True)
    assert np.array_equal(out.is_null().to_numpy(zero_copy_only=False), missing[1:])
    under = np.frombuffer(out.buffers()[1], case.dtype)[: len(out)]
    assert not under[missing[1:]].any()


@each_case
def test_privacy__is_what_was_asked_or_barely_less(case):
    """Never above, and at least 1 - 1e-6 of it."""
    privacy = case.mechanism.privacy
    for name in ("epsilon", "delta", "rho"):
        if name in case.parameters:
            asked = np.max(case.parameters[name])
            assert asked * (1 - 1e-6) <= getattr(privacy, name) <= asked


@pytest.mark.parametrize(
    "case", [case for case in CASES if "bounds" not in case.parameters], ids=lambda case: case.name
)
def test_interval__holds_its_share_of_the_noise(case):
    """Draws without a boundary: the share inside [low, high] is at least the level, within five standard errors."""
    mechanism, size, rng = case.mechanism, size_of(case, 200_000), seeded()
    if case.name == "staircase-each":  # whose intervals take 3 ms each: fewer records, as many draws
        few = {name: value[::20] if isinstance(value, np.ndarray) else value for name, value in case.parameters.items()}
        mechanism = fd.Staircase(**few)
    wide = {"f": np.float64, "i": np.int64, "u": np.int64}[np.dtype(case.dtype).kind]
    records = mechanism._records() or size
    noise = np.stack([mechanism.randomize(np.zeros(records, wide), rng=rng) for _ in range(size // records)])
    for level in (0.5, 0.9, 0.99):
        low, high = mechanism.interval(level)
        inside = ((noise >= low) & (noise <= high)).mean()
        assert inside >= level - 5 * math.sqrt(level * (1 - level) / size)
        if wide is np.float64 and "granularity" not in case.parameters:
            assert inside <= level + 5 * math.sqrt(level * (1 - level) / size)
    variance = np.mean(mechanism.variance)
    assert abs(np.mean(noise.astype(np.float64) ** 2) / variance - 1) < 5 * math.sqrt(6 / size) * 2


@each_case
def test_parameters__are_refused_when_bad(case):
    """Each number in turn: zero, negative, nan, inf, bool, str, a bad array."""
    numbers = {"epsilon", "delta", "rho", "scale", "sensitivity", "granularity"} & set(case.parameters)
    for bad, name in itertools.product(BAD, numbers):
        if bad == [] and name not in {"delta", "granularity"}:
            continue  # no records, no parameters: an empty array is a valid one
        if bad is None and name == "granularity":
            continue  # the default
        with about(f"{name} = {bad!r}"), pytest.raises(fd.ParameterError, match=type(case.mechanism).__name__):
            type(case.mechanism)(**{**case.parameters, name: bad})


@each_case
def test_mechanism__is_an_immutable_value(case):
    with pytest.raises(AttributeError):
        case.mechanism.epsilon = 2.0
    assert case.mechanism == type(case.mechanism)(**case.parameters)
    assert hash(case.mechanism) == hash(type(case.mechanism)(**case.parameters))
    assert type(case.mechanism).__name__ in repr(case.mechanism)


@each_case
def test_randomize__refuses_other_types(case):
    for bad in (np.array(["a"]), np.array([1j]), np.array([object()]), "abc", b"ab", {}, None, True):
        with about(repr(bad)), pytest.raises(fd.SchemaError, match=type(case.mechanism).__name__):
            case.mechanism.randomize(bad)


@each_case
def test_randomize__refuses_other_arrow_types(case):
    for bad in (pa.array(["1"]), pa.array([True]), pa.array([[1]]), pa.array([1], pa.timestamp("s"))):
        with pytest.raises(fd.SchemaError, match="arrow type"):
            case.mechanism.randomize(bad)


@each_case
def test_randomize__refuses_a_foreign_rng(case):
    with pytest.raises(fd.ParameterError, match="rng"):
        case.mechanism.randomize(values_of(case, size_of(case, 5)), rng=np.random.default_rng())


def test_errors__never_hold_a_record(recwarn):
    """A marked value that is refused appears in no message, not even in the chain of causes."""
    canary = 123456789.5
    for values in ([canary, "x"], np.array([canary, math.nan]), np.array([canary, math.inf]), [[canary], [canary, 1]]):
        with pytest.raises(fd.FastDPError) as caught:
            fd.Laplace(epsilon=1.0, sensitivity=1.0).randomize(values)
        error = caught.value
        while error is not None:
            assert "123456789" not in str(error)
            error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
