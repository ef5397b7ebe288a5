"""k-ary randomized response: its integers, its reports, its containers, its estimates."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import chisquare

import fastdp as fd
from tests.generators import each_generator
from tests.mechanisms import report_checks
from tests.mechanisms.report_checks import seeded

LABELS = ["cold", "flu", "none"]


def test_krr__a_mutant_that_keeps_too_much_is_caught():
    """Keep probability x 1.005 breaks the stated epsilon, and the exact check sees a millionth of that."""
    mechanism = fd.KRR(epsilon=1.0, domain=10)
    for factor in (1.005, 1 + 5e-9):
        keep = float(mechanism._law.keep) * factor
        assert math.log(1 + keep / ((1 - keep) / 10)) > mechanism.privacy.epsilon


@each_generator
@pytest.mark.parametrize(("k", "epsilon"), [(2, 0.5), (7, 1.0), (100, 3.0), (1000, 4.0), (5000, 6.0)])
def test_krr__follows_its_channel(k, epsilon, generator):
    """Reports of one fixed value are distributed as that value's channel row; a wrong epsilon is rejected."""
    mechanism, size = fd.KRR(epsilon=epsilon, domain=k), 10_000_000
    dtype = np.uint8 if k <= 256 else np.int32
    reports = mechanism.randomize(np.full(size, k // 2, dtype), rng=seeded(generator=generator))
    seen = np.bincount(reports, minlength=k)
    assert chisquare(seen, mechanism.channel().row(k // 2) * size).pvalue > 1e-3
    mutant = fd.KRR(epsilon=epsilon * 1.01, domain=k).channel().row(k // 2)
    both = [np.array([s[k // 2], s.sum() - s[k // 2]]) for s in (seen, mutant * size)]
    assert chisquare(*both).pvalue < 1e-3


@pytest.mark.parametrize("k", [10, 1000, 70_000])
def test_randomize__does_not_depend_on_threads_or_batches(k, threads):
    mechanism, values = fd.KRR(epsilon=1.0, domain=k), (np.arange(300_000) % k).astype(np.int32)
    whole = report_checks.check_same_in_parts(mechanism, values, threads)
    for dtype in (np.uint32, np.int64, np.uint64, np.dtype(">i4")):
        assert np.array_equal(mechanism.randomize(values.astype(dtype), rng=seeded()), whole)


def test_randomize__takes_labels_in_every_container():
    """The same reports, in the caller's container; a dictionary comes out in the declared order."""
    mechanism = fd.KRR(epsilon=1.0, domain=LABELS)
    values = [LABELS[i % 3] for i in range(1_000)]
    plain = mechanism.randomize(values, rng=seeded())
    assert isinstance(plain, list)
    assert set(plain) == set(LABELS)
    coded = fd.KRR(epsilon=1.0, domain=3).randomize(np.arange(1_000) % 3, rng=seeded())
    assert plain == [LABELS[i] for i in coded]
    assert mechanism.randomize(np.array(values), rng=seeded()).tolist() == plain
    assert mechanism.randomize(np.array(values, object), rng=seeded()).tolist() == plain
    shuffled = pa.DictionaryArray.from_arrays(
        pa.array([{"none": 0, "cold": 1, "flu": 3}[v] for v in values]), ["none", "cold", "SECRET", "flu"]
    )
    out = mechanism.randomize(shuffled, rng=seeded())
    assert out.to_pylist() == plain
    assert out.dictionary.to_pylist() == LABELS
    for arrow in (pa.array(values), pa.array(values, pa.large_string()), pa.array(values).dictionary_encode()[:]):
        out = mechanism.randomize(arrow, rng=seeded())
        out.validate(full=True)
        assert out.to_pylist() == plain
        assert pa.types.is_dictionary(out.type) or out.type == arrow.type
    chunked = pa.chunked_array([pa.array(values[:10]), pa.array(values[10:])])
    assert mechanism.randomize(chunked, rng=seeded()).to_pylist() == plain


def test_randomize__keeps_public_nulls():
    mechanism = fd.KRR(epsilon=1.0, domain=LABELS)
    values = pa.array(["flu", None, "cold", None])
    with pytest.raises(fd.DomainError, match="nulls"):
        mechanism.randomize(values)
    for arrow in (values, values.dictionary_encode()):
        out = mechanism.randomize(arrow, nulls="public")
        assert out.is_null().to_pylist() == [False, True, False, True]


@pytest.mark.parametrize("bad", [["SECRET"], np.array(["flu", "SECRET"]), pa.array(["SECRET", "flu"])])
def test_randomize__refuses_undeclared_labels_without_naming_them(bad):
    with pytest.raises(fd.DomainError) as caught:
        fd.KRR(epsilon=1.0, domain=LABELS).randomize(bad)
    assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize("k", [10, 70_000])
@pytest.mark.parametrize("bad", [-1, 70_000, 2**31 - 1])
def test_randomize__refuses_undeclared_codes(k, bad):
    values = np.zeros(5_000, np.int32)
    values[4_321] = bad
    with pytest.raises(fd.DomainError, match="declared domain"):
        fd.KRR(epsilon=1.0, domain=k).randomize(values)
    with pytest.raises(fd.DomainError, match="declared domain"):
        fd.KRR(epsilon=1.0, domain=k).aggregate(values)


def test_randomize__refuses_types_that_cannot_hold_the_domain():
    with pytest.raises(fd.SchemaError, match="wider"):
        fd.KRR(epsilon=1.0, domain=1000).randomize(np.zeros(3, np.int8))
    with pytest.raises(fd.SchemaError):
        fd.KRR(epsilon=1.0, domain=10).randomize(np.zeros(3))
    with pytest.raises(fd.SchemaError):
        fd.KRR(epsilon=1.0, domain=LABELS).randomize(np.zeros(3, np.int64))


@pytest.mark.parametrize(
    "domain", [1, 0, -3, 2.5, True, None, "abc", ["a"], ["a", "a"], ["a", 1], {"a": 1}, [1.5, 2.5]]
)
def test_domain__is_refused_when_bad(domain):
    with pytest.raises(fd.ParameterError, match="KRR"):
        fd.KRR(epsilon=1.0, domain=domain)


@pytest.mark.parametrize("epsilon", [0, -1, math.nan, math.inf, True, "1", None, 41])
def test_epsilon__is_refused_when_bad(epsilon):
    with pytest.raises(fd.ParameterError, match="epsilon"):
        fd.KRR(epsilon=epsilon, domain=10)


CLOSED = [(10, 3.63025), (100, 34.11297), (1024, 347.06889)]


@pytest.mark.parametrize(("k", "variance"), CLOSED)
def test_variance__meets_the_closed_form(k, variance):
    mechanism = fd.KRR(epsilon=1.0, domain=k)
    assert mechanism.variance(1) == pytest.approx(variance, rel=1e-5)
    e = math.e
    assert mechanism.variance(7, 0.25) == pytest.approx(
        ((k - 2 + e) / (e - 1) ** 2 + 0.25 * (k - 2) / (e - 1)) / 7, rel=1e-8
    )


@pytest.mark.parametrize(("epsilon", "k"), [(0.5, 4), (1.0, 10), (3.0, 50)])
def test_estimate__is_unbiased_with_its_variance(epsilon, k):
    """400 repetitions: mean within 4 standard errors, empirical variance within 3 of the closed form."""
    report_checks.check_estimates(fd.KRR(epsilon=epsilon, domain=k), k, slack=1.2)


def test_counts__of_batches_add_up():
    mechanism = fd.KRR(epsilon=1.0, domain=LABELS)
    reports = mechanism.randomize([LABELS[i % 3] for i in range(999)])
    whole = mechanism.aggregate(reports)
    parts = mechanism.aggregate(reports[:100]) + mechanism.aggregate(pa.array(reports[100:]))
    assert whole.n == parts.n == 999
    assert np.array_equal(whole.support, parts.support)
    estimate = mechanism.estimate(parts)
    assert estimate.frequencies.sum() == pytest.approx(1)
    low, high = estimate.interval(0.95)
    assert (low < high).all()
    with pytest.raises(fd.ParameterError, match="no reports"):
        mechanism.estimate([])
    with pytest.raises(fd.ParameterError, match="domain"):
        _ = whole + fd.KRR(epsilon=1.0, domain=4).aggregate(np.array([1]))


@pytest.mark.parametrize(
    "protocol",
    [
        fd.KRR(epsilon=1.0, domain=5),
        fd.RandomizedResponse(epsilon=1.0),
        fd.UnaryEncoding(epsilon=1.0, domain=5),
        fd.LocalHashing(epsilon=1.0, domain=5),
        fd.SummedHistogram(epsilon=1.0, domain=5),
        fd.RAPPOR(epsilon=1.0, domain=5),
        fd.DBitFlip(epsilon=1.0, domain=5, bits=2),
    ],
    ids=lambda protocol: type(protocol).__name__,
)
def test_estimate__refuses_counts_of_another_domain(protocol):
    others = fd.KRR(epsilon=1.0, domain=7).aggregate(np.arange(7))
    with pytest.raises(fd.ParameterError, match=type(protocol).__name__):
        protocol.estimate(others)
