"""What every local protocol promises, whatever its reports are."""

from __future__ import annotations

import functools
import io
import json
import math
import os
import platform
import random
import subprocess
import sys
from pathlib import Path

import mpmath
import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.ipc
import pyarrow.parquet
import pytest
from scipy.stats import chisquare

import fastdp as fd
from fastdp.mechanisms.local.subset import SubsetSelection
from tests.contracts.containers import CONTAINERS, about, each_container, to_arrow
from tests.contracts.golden_protocols import PATH, reports_of
from tests.contracts.protocols import KEY, NAMES, PROTOCOLS, arrow_type, report_type
from tests.mechanisms.report_checks import BAD_DOMAINS, BAD_EPSILONS, seeded
from tests.patience import PATIENCE
from tests.reference.protocols import pvalue, tilt, written

ALPHA = 1e-3
LABELS = ["cold", "flu", "none", "other", "SARS", "gout", "mumps", "acne", "flat"]
K = 9


def over(protocols):
    return pytest.mark.parametrize("protocol", protocols, ids=lambda protocol: protocol.name)


each_protocol = over(PROTOCOLS)


def rows(reports) -> list:
    """Reports as plain Python values, the same from numpy and arrow."""
    if isinstance(reports, pa.Array | pa.ChunkedArray):
        return [_plain(report) for report in reports.to_pylist()]
    if isinstance(reports, np.ndarray) and reports.dtype.names:
        return [tuple(_plain(report[name]) for name in reports.dtype.names) for report in reports]
    if isinstance(reports, np.ndarray) and reports.ndim == 2:
        return [bytes(row) if reports.dtype == np.uint8 else tuple(row.tolist()) for row in reports]
    return [_plain(report) for report in reports]


def _plain(report):
    if isinstance(report, dict):
        return tuple(report.values())
    if isinstance(report, np.ndarray):
        return bytes(report)
    if isinstance(report, list):
        return tuple(report)
    return report.item() if isinstance(report, np.generic) else report


def same_counts(one, other) -> bool:
    return one.n == other.n and np.array_equal(one.support, other.support)


# Privacy


@each_protocol
def test_privacy__is_what_the_integers_cost_and_hardly_less_than_asked(protocol):
    """Hundreds of random (epsilon, k): realised <= stated <= asked; a hundred-millionth more would break it."""
    source = random.Random(protocol.name)
    for _ in range(60 if protocol.name.startswith("longitudinal") else 250):
        epsilon, k = 2 ** source.uniform(-19, 5.3), source.choice([2, 3, 10, 97, 1000])
        mechanism = protocol.make(epsilon, k)
        stated = mechanism.privacy.epsilon
        with mpmath.workdps(80):
            realised = protocol.cost(mechanism)
            assert realised <= mpmath.mpf(stated) <= mpmath.mpf(epsilon)
            assert realised * (1 + mpmath.mpf("1e-6")) > stated
        assert not protocol.tight or stated >= epsilon * (1 - 1e-6)
        assert mechanism.privacy.neighbours == "replace"
        if protocol.tight:  # a mutant with a little more epsilon would state more than was asked
            assert protocol.make(min(epsilon * (1 + 3e-6), 40), k).privacy.epsilon > epsilon or epsilon > 39


# Reports as written


@over([protocol for protocol in PROTOCOLS if protocol.law])
@pytest.mark.parametrize("epsilon", [0.7, 1.6])
@pytest.mark.parametrize(
    ("size", "factor"), [(400_000, 1.02), pytest.param(6_000_000, 1.005, marks=pytest.mark.slow)], ids=["fast", "long"]
)
def test_reports__follow_their_exact_law_as_written(protocol, epsilon, size, factor):
    """Whole reports, from the bytes of the arrow arrays; support of the truth x factor is rejected by the same test."""
    mechanism, k = protocol.make(epsilon, protocol.small), protocol.small
    for x, is_mutant_tried in ((0, False), (k - 1, True)):
        values = pa.array(protocol.same_value(size if is_mutant_tried else size // 8, x))
        reports = protocol.randomize(mechanism, values, rng=seeded(x), first=x * size)
        numbers, (law, support) = written(reports), protocol.law(mechanism, x)
        assert law.sum() == pytest.approx(1)
        assert pvalue(numbers, law, support) > ALPHA
        if is_mutant_tried:
            assert pvalue(numbers, tilt(law, support, factor), support) < ALPHA


def test_reports__with_the_truth_first_are_caught():
    """A mutant whose sets are right and whose written order tells the truth: decoded it passes, as written it fails."""
    mechanism, k, x, size = SubsetSelection(epsilon=0.5, domain=6), 6, 3, 200_000
    bits = np.unpackbits(mechanism.randomize(np.full(size, x), rng=seeded()), axis=1, bitorder="little")[:, :k]
    assert mechanism.size == 2
    pairs = np.argsort(-bits.astype(int), axis=1, kind="stable")[:, :2]
    shuffled = np.random.default_rng(1).permuted(pairs, axis=1)
    leaky = np.where((pairs == x).any(axis=1, keepdims=True) & (pairs[:, :1] != x), pairs[:, ::-1], pairs)
    law, _ = NAMES["subset-selection"].law(mechanism, x)
    ordered = np.zeros(256 * k)
    for one in range(k):
        for other in range(k):
            if one != other:
                ordered[one + 256 * other] = law[1 << one | 1 << other] / 2
    for lists, passes in ((shuffled, True), (leaky, False)):
        array = pa.FixedSizeListArray.from_arrays(pa.array(lists.reshape(-1)), 2)
        decoded = (1 << lists).sum(axis=1)
        assert pvalue(decoded, law, np.arange(law.size) >> x & 1 == 1) > ALPHA
        likely = ordered > 0
        seen = np.bincount(written(array), minlength=ordered.size)
        assert (chisquare(seen[likely], ordered[likely] * size).pvalue > ALPHA) == passes


@each_protocol
def test_reports__have_the_declared_type_and_nothing_in_their_margins(protocol):
    """Exactly the arrow type, valid, without validity buffers, padding bits zero, as large as they must be."""
    mechanism = protocol.make(0.8, K)
    values = pa.array(protocol.values(3_001, K))
    reports = protocol.randomize(mechanism, values, rng=seeded())
    reports.validate(full=True)
    assert reports.type == arrow_type(mechanism, values)
    assert reports.null_count == 0
    assert reports.offset == 0
    kind = report_type(mechanism)
    parts = [reports] if kind is None or len(kind.fields) == 1 else reports.flatten()
    for part in parts:
        assert part.buffers()[0] is None
        if pa.types.is_fixed_size_binary(part.type):
            bits = mechanism.bits if isinstance(mechanism, fd.RAPPOR) else K
            sets = np.frombuffer(part.buffers()[1], np.uint8).reshape(-1, part.type.byte_width)
            assert sets.shape == (3_001, (bits + 7) // 8)
            assert not (sets[:, -1] >> (bits - 8 * (sets.shape[1] - 1))).any()
    if protocol.bools:
        assert np.frombuffer(reports.buffers()[1], np.uint8)[3_001 // 8] >> 3_001 % 8 == 0


@each_protocol
def test_reports__hide_nothing_under_public_nulls(protocol):
    mechanism, values = protocol.make(0.8, K), protocol.values(4_000, K)
    missing = np.arange(values.size) % 3 == 0
    masked = pa.array(values, mask=missing)
    with pytest.raises(fd.DomainError, match="nulls"):
        protocol.randomize(mechanism, masked)
    reports = protocol.randomize(mechanism, masked[1:], rng=seeded(), nulls="public", first=1)
    reports.validate(full=True)
    assert np.array_equal(reports.is_null().to_numpy(zero_copy_only=False), missing[1:])
    children = reports.type.num_fields
    parts = [reports] if not children else [reports.field(i) if pa.types.is_struct(reports.type) else reports.values
                                            for i in range(children)]  # fmt: skip
    for part in parts:
        if pa.types.is_boolean(part.type):
            under = np.unpackbits(np.frombuffer(part.buffers()[1], np.uint8), bitorder="little")[: len(reports)]
        else:
            under = np.frombuffer(part.buffers()[1], np.uint8)
            under = under[: len(reports) * (under.size // len(reports))].reshape(len(reports), -1)
        assert not under[missing[1:]].any()
        assert under[~missing[1:]].any()
    with pytest.raises(fd.DomainError, match="nulls"):
        mechanism.aggregate(reports)
    plain = protocol.randomize(mechanism, pa.array(values)[1:], rng=seeded(), first=1)
    assert rows(plain.filter(pa.array(~missing[1:]))) == rows(reports.drop_null())
    assert mechanism.aggregate(reports.drop_null()).n == (~missing[1:]).sum()


@each_protocol
def test_reports__survive_a_file(protocol):
    """Counts of numpy reports, arrow reports, their slices, and what Parquet and IPC give back are equal."""
    mechanism, values = protocol.make(0.8, K), protocol.values(5_003, K)
    plain = protocol.randomize(mechanism, values, rng=seeded())
    whole = mechanism.aggregate(plain)
    assert whole.n == values.size
    arrow = protocol.randomize(mechanism, pa.array(values), rng=seeded())
    table = pa.table({"reports": arrow})
    parquet, ipc = io.BytesIO(), io.BytesIO()
    pyarrow.parquet.write_table(table, parquet, row_group_size=1_000)
    with pyarrow.ipc.new_file(ipc, table.schema) as writer:
        writer.write_table(table, max_chunksize=700)
    for back in (
        arrow,
        pyarrow.parquet.read_table(parquet)["reports"],
        pyarrow.ipc.open_file(ipc.getvalue()).read_all()["reports"],
        pa.concat_arrays([arrow[:5], arrow])[5:],
        pa.chunked_array([arrow[:0], arrow[:7], arrow[7:]]),
    ):
        assert same_counts(mechanism.aggregate(back), whole)
    parts = mechanism.aggregate(arrow[1_003:]) + mechanism.aggregate(plain[:1_003])
    assert same_counts(parts, whole)
    estimate = mechanism.estimate(parts)
    assert np.array_equal(estimate.frequencies, mechanism.estimate(arrow).frequencies)
    low, high = estimate.interval(0.9)
    assert (low < high).all()
    with pytest.raises(fd.ParameterError, match="add up"):
        _ = whole + (fd.KRR(epsilon=1.0, domain=77).aggregate(np.array([1])))


# Containers


@each_protocol
def test_randomize__does_not_depend_on_threads_or_batches(protocol, threads):
    """1, 2 or 3 threads, one call or several: the same reports. Permanent answers depend on the person only."""
    mechanism, values = protocol.make(0.8, K), protocol.values(200_003, K)
    threads(1)
    whole = protocol.randomize(mechanism, values, rng=seeded())
    for count in (2, 3):
        threads(count)
        assert protocol.randomize(mechanism, values, rng=seeded()).tobytes() == whole.tobytes()
    rng, edges = seeded(), [0, 1, 3, 1000, 1000, 2049, 140_001, values.size]
    parts = [
        protocol.randomize(mechanism, values[a:b], rng=rng, first=a) for a, b in zip(edges, edges[1:], strict=False)
    ]
    assert np.concatenate(parts).tobytes() == whole.tobytes()
    counted = mechanism.aggregate(whole)
    threads(1)
    assert same_counts(mechanism.aggregate(whole), counted)


@each_protocol
def test_randomize__takes_every_container(protocol):
    """The same values in another container or integer width give the same reports."""
    mechanism, values = protocol.make(0.8, K), protocol.values(1_203, K)

    def draw(given):
        return protocol.randomize(mechanism, given, rng=seeded())

    expected = rows(draw(values))
    spread = np.zeros((values.size, 3), values.dtype)
    spread[:, 1] = values
    given = [spread[:, 1], values[::-1].copy()[::-1], values.tolist(), tuple(values.tolist())]
    arrow = pa.array(values)
    arrows = [
        arrow,
        arrow.dictionary_encode(),
        pa.concat_arrays([arrow[:5], arrow])[5:],
        pa.concat_arrays([arrow[:3], arrow]).dictionary_encode()[3:],
        pa.chunked_array([arrow[:0], arrow[:7], arrow[7:1100], arrow[1100:]]),
        pa.chunked_array([arrow[:9].dictionary_encode(), arrow[9:].dictionary_encode()]),
        pa.compute.run_end_encode(arrow),
    ]
    if not protocol.bools:
        widths = ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", ">i2", ">u4", ">i8")
        given += [values.astype(width) for width in widths]
        arrows += [pa.array(values.astype(width)) for width in widths[:8]]
    for container in given:
        reports = draw(container)
        assert rows(reports) == expected
    for container in arrows:
        reports = draw(container)
        assert isinstance(reports, pa.ChunkedArray) == isinstance(container, pa.ChunkedArray)
        reports.validate(full=True)
        assert rows(reports) == expected
    if report_type(mechanism) is not None:
        assert same_counts(mechanism.aggregate(draw(arrow)), mechanism.aggregate(draw(values)))


class Plain:
    """What a protocol makes of the same values in numpy and arrow, once for all containers."""

    def __init__(self, protocol):
        self.mechanism, self.values = protocol.make(0.8, K), protocol.values(403, K)
        reports = protocol.randomize(self.mechanism, self.values, rng=seeded())
        self.rows, self.counts = rows(reports), self.mechanism.aggregate(reports)
        self.frequencies = self.mechanism.estimate(reports).frequencies
        self.written = protocol.randomize(self.mechanism, pa.array(self.values), rng=seeded())
        self.masked = pa.array(self.values, mask=np.arange(self.values.size) % 3 == 0)
        hidden = protocol.randomize(self.mechanism, self.masked, rng=seeded(), nulls="public")
        self.is_null, self.others = hidden.is_null(), rows(hidden.drop_null())


@functools.cache
def plain_of(name: str) -> Plain:
    return Plain(NAMES[name])


@each_container(CONTAINERS)
def test_randomize__takes_containers_of_other_libraries(container):
    """The same reports as from numpy, in the caller's kind of container, with the same counts and estimates."""
    for protocol in PROTOCOLS:
        with about(protocol.name):
            check_container(protocol, container, plain_of(protocol.name))


def check_container(protocol, container, plain):
    mechanism, values = plain.mechanism, plain.values
    given = container.wrap(pa.array(values))
    more = {"persons": container.wrap(pa.array(np.arange(values.size)))} if protocol.keyed else {}
    reports = protocol.randomize(mechanism, given, rng=seeded(), **more)
    assert container.gives(reports, given)
    arrow = to_arrow(reports)
    assert rows(arrow) == plain.rows
    if container.once:
        reports = container.wrap(arrow)
    assert same_counts(mechanism.aggregate(reports), plain.counts)
    if container.once:
        reports = container.wrap(arrow)
    assert np.array_equal(mechanism.estimate(reports).frequencies, plain.frequencies)
    if container.takes_reports:
        assert same_counts(mechanism.aggregate(container.wrap(plain.written)), plain.counts)


@each_container([container for container in CONTAINERS if container.takes_nulls])
def test_randomize__keeps_public_nulls_of_other_libraries(container):
    for protocol in PROTOCOLS:
        with about(protocol.name):
            check_nulls(protocol, container, plain_of(protocol.name))


def check_nulls(protocol, container, plain):
    mechanism = plain.mechanism
    more = {"persons": np.arange(plain.values.size)} if protocol.keyed else {}
    with pytest.raises(fd.DomainError, match="nulls"):
        protocol.randomize(mechanism, container.wrap(plain.masked), **more)
    given = container.wrap(plain.masked)
    reports = protocol.randomize(mechanism, given, rng=seeded(), nulls="public", **more)
    assert container.gives(reports, given)
    arrow = to_arrow(reports)
    assert arrow.is_null().equals(plain.is_null)
    assert rows(arrow.drop_null()) == plain.others
    with pytest.raises(fd.DomainError, match="nulls"):
        mechanism.aggregate(container.wrap(arrow) if container.once else reports)


@over([protocol for protocol in PROTOCOLS if not protocol.bools])
def test_randomize__takes_labels_in_every_container(protocol):
    """The reports of the labels' codes, from lists, numpy, text and dictionaries in any order."""
    codes, labelled = protocol.make(0.8, K), protocol.make(0.8, LABELS)
    numbers = protocol.values(800, K)
    names = [LABELS[code] for code in numbers]
    if protocol.keyed:  # permanent answers of labels are others than those of codes
        expected = rows(protocol.randomize(labelled, names, rng=seeded()))
        assert expected != rows(protocol.randomize(codes, numbers, rng=seeded())) or not protocol.rng
    elif report_type(codes) is None:
        expected = [LABELS[code] for code in protocol.randomize(codes, numbers, rng=seeded())]
    else:
        expected = rows(protocol.randomize(codes, numbers, rng=seeded()))
    dictionary = [*LABELS[::-1], "SECRET"]
    encoded = pa.DictionaryArray.from_arrays(pa.array([dictionary.index(name) for name in names]), dictionary)
    for given in (
        tuple(names), np.array(names), np.array(names, object), pa.array(names), pa.array(names, pa.large_string()),
        pa.array(names, pa.string_view()), encoded, pa.concat_arrays([encoded[:3], encoded])[3:],
        pa.chunked_array([names[:9], names[9:]]), pa.compute.run_end_encode(pa.array(names)),
    ):  # fmt: skip
        reports = protocol.randomize(labelled, given, rng=seeded())
        assert rows(reports) == expected
        if report_type(labelled) is None and isinstance(reports, pa.DictionaryArray):
            assert reports.dictionary.to_pylist() == LABELS
    for bad in (
        ["SECRET"],
        np.array(["flu", "SECRET"]),
        pa.array(["SECRET"]),
        pa.array(["SECRET"]).dictionary_encode(),
    ):
        with pytest.raises(fd.DomainError) as caught:
            protocol.randomize(labelled, bad)
        assert "SECRET" not in str(caught.value)
    for bad in (["flu", None], np.array(["flu", None], object), pa.array(["flu", None])):
        with pytest.raises(fd.DomainError, match="null|None"):
            protocol.randomize(labelled, bad)
    for bad in ([1], np.array([1]), pa.array([1]), pa.array([b"flu"]), pa.array([1], pa.timestamp("s")), ["flu", 1.5]):
        with pytest.raises((fd.SchemaError, fd.DomainError)):
            protocol.randomize(labelled, bad)


@each_protocol
def test_randomize__accepts_empty_input(protocol):
    mechanism = protocol.make(0.8, K)
    empty = protocol.values(0, K)
    plain = protocol.randomize(mechanism, empty)
    assert len(plain) == 0
    assert plain.dtype == protocol.randomize(mechanism, protocol.values(3, K)).dtype
    assert len(protocol.randomize(mechanism, [])) == 0
    for arrow in (pa.array(empty), pa.chunked_array([], pa.array(empty).type), pa.chunked_array([pa.array(empty)] * 2)):
        reports = protocol.randomize(mechanism, arrow)
        reports.validate(full=True)
        assert reports.type == arrow_type(mechanism, pa.array(empty))
        assert len(reports) == 0
        counts = mechanism.aggregate(reports)
        assert counts.n == 0
        assert not counts.support.any()
        with pytest.raises(fd.ParameterError, match="no reports|reports of every cohort"):
            mechanism.estimate(counts)


@each_protocol
def test_randomize__leaves_its_input_alone(protocol):
    mechanism, values = protocol.make(0.8, K), protocol.values(3_000, K)
    before = values.copy()
    reports = protocol.randomize(mechanism, values)
    assert np.array_equal(values, before)
    assert not np.shares_memory(reports, values)
    counted = reports.copy()
    mechanism.aggregate(reports)
    assert counted.tobytes() == reports.tobytes()


# Estimates


def agrees(estimates: np.ndarray, truth: float, variance: float) -> bool:
    """Mean within 4 standard errors of the truth, variance within 3 of the closed form."""
    runs = estimates.size
    centred = abs(estimates.mean() - truth) < 4 * math.sqrt(variance / runs)
    return centred and abs(estimates.var() / variance - 1) < 3 * math.sqrt(2 / runs)


@over([protocol for protocol in PROTOCOLS if protocol.unbiased])
@pytest.mark.parametrize(("epsilon", "k"), [(0.5, 4), (1.0, 10), (3.0, 33)])
def test_estimate__is_unbiased_with_the_stated_variance(protocol, epsilon, k):
    """500 runs of one population; noise 25 % too wide, and a bias of 6 standard errors, are caught."""
    mechanism, k, n, runs = protocol.make(epsilon, k), protocol.domain(k), 1_200, 500
    codes = np.where(np.arange(n) < n // 4, 0, 1 + np.arange(n) % (k - 1))
    truth = np.bincount(codes, minlength=k) / n
    values = np.tile(codes.astype(bool if protocol.bools else np.int32), runs)
    reports = protocol.randomize(mechanism, values, rng=seeded(8))
    estimates = [mechanism.estimate(reports[run * n : (run + 1) * n]) for run in range(runs)]
    frequencies = np.array([estimate.frequencies for estimate in estimates])
    errors = np.array([estimate.std_error for estimate in estimates])
    for x in (0,) if protocol.one_value else sorted({0, 1, k - 1}):
        variance = mechanism.variance(n, truth[x])
        assert agrees(frequencies[:, x], truth[x], variance)
        assert not agrees(truth[x] + (frequencies[:, x] - truth[x]) * 1.25, truth[x], variance)
        assert not agrees(frequencies[:, x] + 8 * math.sqrt(variance / runs), truth[x], variance)
        assert np.mean(errors[:, x] ** 2) == pytest.approx(variance, rel=0.08)


CLOSED = {
    "krr": lambda e, k: (k - 2 + e) / (e - 1) ** 2,
    "randomized-response": lambda e, k: e / (e - 1) ** 2,
    "oue": lambda e, k: 4 * e / (e - 1) ** 2,
    "sue": lambda e, k: math.sqrt(e) / (math.sqrt(e) - 1) ** 2,
    "summed-histogram": lambda e, k: 8 / math.log(e) ** 2,
    "hadamard-response": lambda e, k: ((e + 1) / (e - 1)) ** 2,
}
ORACLES = [
    ("krr", 10, 3.63025), ("krr", 100, 34.11297), ("krr", 1024, 347.06889), ("sue", 10, 3.91770), ("oue", 10, 3.68269),
    ("thresholded-histogram", 10, 4.80715), ("summed-histogram", 10, 8.0), ("subset-selection", 10, 2.83921),
    ("subset-selection", 100, 3.58965), ("subset-selection", 1024, 3.67355), ("local-hashing", 1000, 3.69165),
]  # fmt: skip


@pytest.mark.parametrize(("name", "k", "variance"), ORACLES)
def test_variance__meets_the_published_values(name, k, variance):
    mechanism = NAMES[name].make(1.0, k)
    assert mechanism.variance(1) == pytest.approx(variance, rel=3e-6)
    assert mechanism.variance(50) == pytest.approx(variance / 50, rel=3e-6)


@pytest.mark.parametrize("name", list(CLOSED))
@pytest.mark.parametrize(("epsilon", "k"), [(0.3, 4), (1.7, 20), (4.0, 300)])
def test_variance__meets_the_closed_form(name, epsilon, k):
    mechanism, e = NAMES[name].make(epsilon, k), math.exp(epsilon)
    p, q = mechanism.p, mechanism.q
    expected = CLOSED[name](e, k)
    assert mechanism.variance(7) == pytest.approx(expected / 7, rel=1e-6)
    if name != "summed-histogram":
        expected += 0.3 * (1 - p - q) / (p - q)
    assert mechanism.variance(7, 0.3) == pytest.approx(expected / 7, rel=1e-6)


# Bad input


@over([protocol for protocol in PROTOCOLS if protocol.by_epsilon])
def test_epsilon__is_refused_when_bad(protocol):
    for epsilon in (*BAD_EPSILONS, -0.0, 10**400, 1e-300, 40.001, np.bool_(True), [1.0], 1j):
        with about(repr(epsilon)), pytest.raises(fd.ParameterError, match="epsilon"):
            protocol.make(epsilon, K)


@over([protocol for protocol in PROTOCOLS if not protocol.bools])
def test_domain__is_refused_when_bad(protocol):
    """No, one or duplicate values, and whatever is not declared in a public order."""
    for domain in (*BAD_DOMAINS, [], (), {"a", "b"}, ["a", None], [True, False], math.nan):
        with about(repr(domain)), pytest.raises(fd.ParameterError, match="domain"):
            protocol.make(1.0, domain)


@over([protocol for protocol in PROTOCOLS if not protocol.bools])
def test_randomize__refuses_undeclared_codes_wherever_they_stand(protocol):
    mechanism = protocol.make(0.8, K)
    for bad in (-1, K, 113, 2**31 - 1, -(2**31)):
        for place in (0, 4_321, 4_999):
            values = np.zeros(5_000, np.int32)
            values[place] = bad
            for given in (values, pa.array(values), pa.array(values).dictionary_encode()):
                with pytest.raises(fd.DomainError, match="declared domain") as caught:
                    protocol.randomize(mechanism, given)
                assert str(bad) not in str(caught.value)
    with pytest.raises(fd.DomainError):
        protocol.randomize(mechanism, np.array([2**64 - 1, 2**63], np.uint64))


@each_protocol
def test_randomize__refuses_other_types(protocol):
    mechanism = protocol.make(0.8, K)
    for bad in (
        np.zeros(3), np.array(["1"]), np.array([1j]), np.array([object()]), np.zeros(2, "M8[s]"), "abc", b"ab", {},
        None, np.ma.array([1, 1]), [0.5], [None], ["1"], pa.array(["1"]), pa.array([[1]]),
        pa.array([1], pa.timestamp("s")), pa.array([1.5]), pa.array([b"a"]), pa.scalar(1),
        pa.chunked_array([], pa.string()), pa.array([None]),
        pa.array([1], pa.decimal128(5)), [0, True],
    ):  # fmt: skip
        more = {} if hasattr(bad, "__len__") else {"persons": [1]} if protocol.keyed else {}
        with pytest.raises((fd.SchemaError, fd.DomainError), match=type(mechanism).__name__):
            protocol.randomize(mechanism, bad, **more)


@each_protocol
def test_randomize__refuses_a_foreign_rng_and_unknown_words(protocol):
    mechanism, values = protocol.make(0.8, K), protocol.values(5, K)
    for foreign in (np.random.default_rng(), 7, "rng", random.Random(1)):
        with pytest.raises(fd.ParameterError, match="rng"):
            protocol.randomize(mechanism, values, rng=foreign)
    with pytest.raises(fd.ParameterError, match="nulls"):
        protocol.randomize(mechanism, values, nulls="drop")


@over([protocol for protocol in PROTOCOLS if not protocol.bools and protocol.rng])
def test_randomize__never_reuses_the_slots_of_a_refused_call(protocol):
    """Nothing is released, and the next call does not read what the refused one may have read."""
    mechanism, rng = protocol.make(0.8, K), seeded()
    with pytest.raises(fd.DomainError):
        protocol.randomize(mechanism, np.array([0, 1, K]), rng=rng)
    used = rng._next
    assert used >= 3
    protocol.randomize(mechanism, np.array([0, 1, 2]), rng=rng)
    assert rng._next == 2 * used


def spoiled(mechanism, reports: np.ndarray) -> np.ndarray:
    """The same reports with all bits of one of them set."""
    out = reports.copy()
    out[len(out) // 2 :][:1].view(np.uint8)[:] = 255
    return out


@over([protocol for protocol in PROTOCOLS if not protocol.bools])
def test_aggregate__refuses_reports_that_no_sampler_gives(protocol):
    """All bits of one report set: padding, indices, cohorts and numbers beyond what there is."""
    mechanism = protocol.make(0.8, K)
    reports = protocol.randomize(mechanism, protocol.values(3_000, K), rng=seeded())
    with pytest.raises((fd.InputCorruptError, fd.DomainError)):
        mechanism.aggregate(spoiled(mechanism, reports))
    mechanism.aggregate(reports)


@each_protocol
def test_aggregate__refuses_reports_of_another_type(protocol):
    mechanism = protocol.make(0.8, K)
    good = protocol.randomize(mechanism, protocol.values(10, K), rng=seeded())
    bad = [np.zeros(3), "abc", None, pa.array(["a"]), pa.array([[1]]), {}, 1.5,
           pa.chunked_array([], pa.string()), np.ma.array(good)]  # fmt: skip
    if report_type(mechanism) is not None:
        bad.append(np.zeros((2, 2, 2), np.uint16))
        wide = protocol.make(0.8, 300)
        if report_type(wide) != report_type(mechanism):
            bad += [protocol.randomize(wide, given) for given in (np.array([0, 1]), pa.array([0, 1]))]
        bad += [rows(good), good[:, None] if good.ndim == 1 else good[:, :, None], good[:1].reshape(()) if
                good.ndim == 1 else good[0]]  # fmt: skip
        if good.dtype.itemsize > 1 and not good.dtype.names:
            bad.append(good.astype(good.dtype.newbyteorder(">")))
        arrow = protocol.randomize(mechanism, pa.array(protocol.values(10, K)))
        if pa.types.is_struct(arrow.type):
            fields = [arrow.field(i) for i in range(arrow.type.num_fields)]
            names = [arrow.type.field(i).name for i in range(arrow.type.num_fields)]
            bad += [
                pa.StructArray.from_arrays(fields[::-1], names[::-1]),
                pa.StructArray.from_arrays(fields[:1], names[:1]),
            ]
        if pa.types.is_fixed_size_binary(arrow.type):
            longer = pa.array([row + b"\0" for row in rows(good)])
            bad += [longer, longer.cast(pa.large_binary())[:1], pa.array([list(row) for row in rows(good)])]
    for foreign in bad:
        with pytest.raises(fd.SchemaError, match=type(getattr(mechanism, "mechanism", mechanism)).__name__):
            mechanism.aggregate(foreign)


@over([protocol for protocol in PROTOCOLS if protocol.keyed])
def test_keyed__parameters_are_refused_when_bad(protocol):
    mechanism, values = protocol.make(0.8, K), protocol.values(4, K)
    for key in (None, b"", KEY[:31], KEY + b"x", "x" * 32, bytearray(KEY), np.zeros(32, np.uint8)):
        with pytest.raises(fd.ParameterError, match="key"):
            mechanism.randomize(values, persons=[1, 2, 3, 4], key=key)
    with pytest.raises(TypeError):
        mechanism.randomize(values, persons=[1, 2, 3, 4])
    for persons in ([1, 2, 3], [1, 2, 3, 4, 5], [[1, 2, 3, 4]], []):
        with pytest.raises(fd.ParameterError, match="persons"):
            mechanism.randomize(values, persons=persons, key=KEY)
    assert len(mechanism.new_key()) == 32
    assert mechanism.new_key() != mechanism.new_key()


@each_protocol
def test_variance__refuses_bad_arguments(protocol):
    mechanism = protocol.make(0.8, K)
    for n in (0, -1, 1.5, True, None, "1"):
        with pytest.raises(fd.ParameterError, match="n must"):
            mechanism.variance(n)
    for frequency in (-0.1, 1.1, math.nan, "0", None, True):
        with pytest.raises(fd.ParameterError, match="frequency"):
            mechanism.variance(1, frequency)


# Values


@each_protocol
def test_mechanism__is_an_immutable_value(protocol):
    mechanism = protocol.make(0.8, K)
    for name in ("epsilon", "domain", "_law"):
        with pytest.raises((AttributeError, TypeError)):
            setattr(mechanism, name, 2.0)
    assert mechanism == protocol.make(0.8, K)
    assert hash(mechanism) == hash(protocol.make(0.8, K))
    assert mechanism != protocol.make(0.9, K)
    assert type(mechanism).__name__ in repr(mechanism)


@each_protocol
def test_randomize__gives_the_golden_reports(protocol):
    """Reports for a fixed seed never change unnoticed; a change must say so in its commit."""
    assert reports_of(protocol) == json.loads(PATH.read_text())[protocol.name]


COMPARE = """
import json
from fastdp.kernels.stream import chacha
from tests.contracts.golden_protocols import PATH, reports_of
from tests.contracts.protocols import PROTOCOLS
golden = json.loads(PATH.read_text())
print(chacha._WIDTH, [protocol.name for protocol in PROTOCOLS if reports_of(protocol) != golden[protocol.name]])
"""


@pytest.mark.slow
@pytest.mark.skipif(platform.machine() != "x86_64", reason="names an x86 processor")
def test_reports__are_the_same_on_the_plainest_processor(tmp_path):
    """Compiled for SSE2 alone, with vectors of half the width, every protocol gives its golden reports."""
    env = {**os.environ, "NUMBA_CPU_NAME": "x86-64", "NUMBA_CPU_FEATURES": "+sse2", "FASTDP_CACHE_DIR": str(tmp_path)}
    root = Path(fd.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-c", COMPARE], env=env, cwd=root, capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.stdout.strip() == "8 []", done.stderr[-2000:]
