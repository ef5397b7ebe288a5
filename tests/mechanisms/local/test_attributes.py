"""Several attributes: the whole channel from records to reports, enumerated; and tables in and out."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pytest
from scipy.stats import chisquare

import fastdp as fd
from tests.mechanisms.report_checks import BAD_DOMAINS, BAD_EPSILONS, seeded

WAYS = [fd.SplitBudget, fd.SampleOne, fd.SampleAndFake]
SMALL = [{"a": 2, "b": 3}, {"a": 2, "b": 5}, {"a": 3, "b": 3}, {"a": 2, "b": 3, "c": 4}]
LABELLED = {"a": 2, "b": ["x", "y", "z"]}
each_way = pytest.mark.parametrize("way", WAYS)


def rows_of(mechanism) -> list[list[list[Fraction]]]:
    """P(report | value) of each attribute's k-RR, exactly."""
    rows = []
    for inner in mechanism.mechanisms.values():
        k, keep = inner.domain.size, inner.keep
        rows.append([[keep * (x == y) + (1 - keep) / k for y in range(k)] for x in range(k)])
    return rows


def channel(mechanism) -> dict[tuple, dict[tuple, Fraction]]:
    """P(whole report | record), by the definition of the three ways; None where another attribute was drawn."""
    rows = rows_of(mechanism)
    sizes, d = [len(row) for row in rows], len(rows)
    records = list(product(*map(range, sizes)))
    found = {}
    for record in records:
        law = {}
        if isinstance(mechanism, fd.SampleOne):
            for drawn, size in enumerate(sizes):
                for y in range(size):
                    law[tuple(y if i == drawn else None for i in range(d))] = rows[drawn][record[drawn]][y] / d
        for report in records if not law else ():
            each = [rows[j][record[j]][report[j]] for j in range(d)]
            if isinstance(mechanism, fd.SplitBudget):
                law[report] = math.prod(each)
            else:
                fakes = [Fraction(1, k) for k in sizes]
                law[report] = sum(each[j] * math.prod(fakes[:j] + fakes[j + 1 :]) for j in range(d)) / d
        assert sum(law.values()) == 1
        found[record] = law
    return found


def realised(laws: dict[tuple, dict[tuple, Fraction]], most_changes: int) -> float:
    """The largest log-ratio between two records that differ in up to so many attributes."""
    worst = Fraction(1)
    for one, other in product(laws, laws):
        if 0 < sum(a != b for a, b in zip(one, other, strict=True)) <= most_changes:
            worst = max(worst, *(laws[one][report] / laws[other][report] for report in laws[one]))
    return math.log(worst)


@pytest.mark.parametrize("domains", SMALL)
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("way", ["split", "one", "fake", "fake-attribute"])
def test_privacy__is_that_of_the_whole_channel(way, epsilon, domains):
    """Over all pairs of records (or those that differ in one attribute): at most what is stated, and close to it."""
    make = {"split": fd.SplitBudget, "one": fd.SampleOne}.get(way, fd.SampleAndFake)
    unit = {"unit": "attribute"} if way == "fake-attribute" else {}
    mechanism = make(epsilon=epsilon, domains=domains, **unit)
    changes = 1 if unit else len(domains)
    cost, stated = realised(channel(mechanism), changes), mechanism.privacy.epsilon
    assert cost <= stated * (1 + 1e-12)
    assert stated <= epsilon
    assert cost > epsilon * (1 - 1e-6)
    assert mechanism.privacy.unit == ("attribute" if unit else "record")


@pytest.mark.parametrize("domains", [{"a": 2, "b": 3}, {"a": 2, "b": 5}, {"a": 3, "b": 3}])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_amplified_epsilon_of_the_literature__breaks_the_record_guarantee(epsilon, domains):
    """RS+FD as published gives the protocol ln(d (e**eps - 1) + 1), since the attribute that was drawn is hidden.

    Hidden it is, but a whole record may change: then every attribute of a report can point to the truth at once, and
    the channel costs all of the larger epsilon. Even for one attribute the formula holds only where all domains are
    equally large: an attribute of a small domain among large ones hides less, and here costs more than eps.
    """
    d, sizes = len(domains), list(domains.values())
    amplified = math.log(d * (math.exp(epsilon) - 1) + 1)
    published = fd.SampleAndFake(epsilon=amplified, domains=domains)  # unit="record": the protocol gets just this
    laws = channel(published)
    assert all(inner.epsilon == amplified for inner in published.mechanisms.values())
    assert realised(laws, d) == pytest.approx(amplified, rel=1e-6)
    assert realised(laws, d) > epsilon * 1.2
    one = realised(laws, 1)
    if len(set(sizes)) == 1:
        assert one == pytest.approx(epsilon, rel=1e-6)
    else:
        assert one > epsilon * 1.001
    ours = fd.SampleAndFake(epsilon=epsilon, domains=domains, unit="attribute")
    inner = {m.epsilon for m in ours.mechanisms.values()}
    assert max(inner) <= amplified * (1 + 1e-9)
    assert (max(inner) < amplified * (1 - 1e-4)) == (len(set(sizes)) > 1)


@pytest.mark.parametrize("way", ["split", "one", "fake", "fake-attribute"])
def test_randomize__follows_the_whole_channel(way):
    """Whole reports of one record against the enumerated law; a law with another epsilon is rejected."""
    make = {"split": fd.SplitBudget, "one": fd.SampleOne}.get(way, fd.SampleAndFake)
    unit = {"unit": "attribute"} if way == "fake-attribute" else {}
    domains, record, size = {"a": 2, "b": 3, "c": 4}, (1, 0, 3), 1_000_000
    mechanism = make(epsilon=1.0, domains=domains, **unit)
    table = mechanism.randomize(
        {n: np.full(size, x, np.int8) for n, x in zip(domains, record, strict=True)}, rng=seeded()
    )
    columns = [pa.array(column).fill_null(-1).to_numpy() for column in table.values()]
    number = sum((column.astype(int) + 1) * 10**i for i, column in enumerate(columns))
    for epsilon, passes in ((1.0, True), (1.05, False)):
        law = channel(make(epsilon=epsilon, domains=domains, **unit))[record]
        codes = [sum((-1 if y is None else y) * 10**i + 10**i for i, y in enumerate(report)) for report in law]
        seen = np.bincount(number, minlength=max(codes) + 1)
        assert seen[codes].sum() == size
        expected = np.array([float(v) for v in law.values()])
        assert (chisquare(seen[codes], expected / expected.sum() * size).pvalue > 1e-3) == passes


@pytest.mark.parametrize("protocol", [fd.KRR, fd.UnaryEncoding, fd.HadamardResponse, fd.SummedHistogram, fd.RAPPOR])
@each_way
def test_estimate__is_unbiased_with_honest_errors(way, protocol):
    """200 runs of one population: means within 4.5 standard errors, z-scores of the right width or a bit narrower."""
    domains = {"a": 3, "b": 6}
    mechanism, n, runs = way(epsilon=2.0, domains=domains, protocol=protocol), 1_500, 200
    codes = {"a": np.arange(n) % 5 % 3, "b": np.minimum(np.arange(n) % 11, 5)}
    rng = seeded()
    found = [mechanism.estimate(mechanism.randomize(codes, rng=rng)) for _ in range(runs)]
    for name, k in domains.items():
        truth = np.bincount(codes[name], minlength=k) / n
        z = np.array([(run[name].frequencies - truth) / run[name].std_error for run in found])
        assert (np.abs(z.mean(axis=0)) < 4.5 / math.sqrt(runs)).all()
        assert 0.8 < z.std() < 1.08
        assert (z / 0.75).std() > 1.08 or way is fd.SampleAndFake
    shifted = z + 8 / math.sqrt(runs)  # a mutant with a bias of 8 standard errors
    assert not (np.abs(shifted.mean(axis=0)) < 4.5 / math.sqrt(runs)).any()


@each_way
def test_randomize__gives_the_callers_kind_of_table(way):
    mechanism = way(epsilon=1.0, domains=LABELLED)
    a, b = pa.array([0, 1, 1, 0, 1], pa.uint8()), pa.array(["x", "z", "y", "y", "x"])
    rng = seeded
    table = mechanism.randomize(pa.table({"a": a, "b": b}, metadata={"secret": "1"}), rng=rng())
    assert isinstance(table, pa.Table)
    assert table.schema.metadata is None
    assert [f.type for f in table.schema] == [pa.uint8(), pa.string()]
    batch = mechanism.randomize(pa.RecordBatch.from_pydict({"b": b.dictionary_encode(), "a": a}), rng=rng())
    assert isinstance(batch, pa.RecordBatch)
    assert batch.schema.names == ["a", "b"]
    assert batch["b"].dictionary.to_pylist() == ["x", "y", "z"]
    expected = {name: table[name].to_pylist() for name in LABELLED}
    for given in (
        {"a": a.to_numpy(), "b": b.to_pylist()},
        {"a": a.to_numpy().astype(">i4"), "b": np.array(b.to_pylist())},
        {"a": a.to_pylist(), "b": tuple(b.to_pylist())},
        {"a": pa.compute.run_end_encode(a), "b": pa.compute.run_end_encode(b)},
        {"a": a.dictionary_encode(), "b": pa.chunked_array([b[:2], b[2:]])},
    ):
        out = mechanism.randomize(given, rng=rng())
        assert {name: pa.array(out[name]).to_pylist() if not isinstance(out[name], pa.ChunkedArray) else
                out[name].to_pylist() for name in out} == expected  # fmt: skip
        if way is not fd.SampleOne and isinstance(given["a"], np.ndarray):
            assert out["a"].dtype == given["a"].dtype.newbyteorder("=")
    assert [bool(batch[name].to_pylist() == expected[name]) for name in LABELLED] == [True, True]


@each_way
def test_randomize__accepts_empty_and_tiny_tables(way):
    """Also where nobody is asked for an attribute."""
    mechanism = way(epsilon=1.0, domains=LABELLED)
    for given in ({"a": [], "b": []}, {"a": np.zeros(0, np.int8), "b": np.zeros(0, "U1")}):
        out = mechanism.randomize(given)
        assert {len(column) for column in out.values()} == {0}
    rng = seeded()
    for _ in range(30):
        mechanism.randomize({"a": [1], "b": ["z"]}, rng=rng)
    counts = mechanism.aggregate(mechanism.randomize({"a": [], "b": []}))
    with pytest.raises(fd.ParameterError, match="no reports"):
        mechanism.estimate(counts)


@each_way
@pytest.mark.parametrize(
    "bad",
    [
        {"a": [0, 1, 2], "b": ["x", "x", "x"]},
        {"a": [0, 1, -1], "b": ["x", "x", "x"]},
        {"a": np.array([0, 1, 2**63], np.uint64), "b": ["x", "x", "x"]},
        {"a": [0, 1, 1], "b": ["x", "x", "SECRET"]},
        {"a": [0, 1, 1], "b": ["x", "x", None]},
        {"a": pa.array([0, 1, None]), "b": ["x", "x", "x"]},
        {"a": [0, 1, 1], "b": pa.array(["x", None, "SECRET"])},
    ],
)
def test_randomize__checks_values_that_are_not_drawn_too(way, bad):
    """Every time, not only when the sampled attribute happens to be the bad one; and nothing is named."""
    mechanism, rng = way(epsilon=1.0, domains=LABELLED), seeded()
    for _ in range(12):
        with pytest.raises(fd.DomainError) as caught:
            mechanism.randomize(bad, rng=rng)
        assert "SECRET" not in str(caught.value)
        assert caught.value.__cause__ is None


@each_way
@pytest.mark.parametrize(
    "bad",
    [None, 3, [1], {"a": [1]}, {"a": [1], "b": ["x"], "c": [1]}, {"a": [1, 1], "b": ["x"]}, {"a": 1, "b": "x"},
     pa.array([1]),
     {"a": [1.5], "b": ["x"]}, {"a": ["SECRET"], "b": ["x"]}, {"a": [1], "b": [1]}, {"a": [1], "b": np.array([1.0])},
     {1: [1], "a": [1]}, pa.Table.from_arrays([pa.array([1])] * 2, ["a", "a"]), {"a": [1, "SECRET"], "b": ["x", "x"]}],
)  # fmt: skip
def test_randomize__refuses_other_tables(way, bad):
    with pytest.raises(fd.SchemaError) as caught:
        way(epsilon=1.0, domains=LABELLED).randomize(bad)
    assert "SECRET" not in str(caught.value)


@each_way
def test_parameters__are_refused_when_bad(way):
    for epsilon in BAD_EPSILONS:
        with pytest.raises(fd.ParameterError):
            way(epsilon=epsilon, domains=LABELLED)
    for domain in BAD_DOMAINS:
        with pytest.raises(fd.ParameterError):
            way(epsilon=1.0, domains={"a": 2, "b": domain})
    for domains in (None, {}, {"a": 2}, [2, 3], 2, {1: 2, "1": 3}):
        with pytest.raises(fd.ParameterError):
            way(epsilon=1.0, domains=domains)
    for protocol in (None, 3, fd.Laplace, fd.RandomizedResponse, "KRRR"):
        with pytest.raises(fd.ParameterError, match="protocol"):
            way(epsilon=1.0, domains=LABELLED, protocol=protocol)
    for foreign in (np.random.default_rng(), 7):
        with pytest.raises(fd.ParameterError, match="rng"):
            way(epsilon=1.0, domains=LABELLED).randomize({"a": [1], "b": ["x"]}, rng=foreign)


def test_unit__is_a_record_or_an_attribute():
    with pytest.raises(fd.ParameterError, match="unit"):
        fd.SampleAndFake(epsilon=1.0, domains={"a": 2, "b": 3}, unit="person")
    with pytest.raises(fd.ParameterError, match="KRR"):
        fd.SampleAndFake(epsilon=1.0, domains={"a": 2, "b": 3}, unit="attribute", protocol=fd.UnaryEncoding)


@each_way
def test_counts__of_batches_add_up(way):
    mechanism = way(epsilon=1.0, domains={"a": 2, "b": 3})
    rng = seeded()
    parts = [mechanism.randomize({"a": np.arange(n) % 2, "b": np.arange(n) % 3}, rng=rng) for n in (500, 1, 299)]
    counts = [mechanism.aggregate(part) for part in parts]
    total = counts[0] + counts[1] + counts[2]
    assert sum(c.n for c in total.values()) == (800 if way is fd.SampleOne else 1600)
    merged = {
        n: pa.concat_arrays([pa.array(p[n]) if not isinstance(p[n], pa.Array) else p[n] for p in parts]) for n in "ab"
    }
    for name, count in mechanism.aggregate(merged).items():
        assert np.array_equal(count.support, total[name].support)
    with pytest.raises(fd.ParameterError, match="add up"):
        _ = total + way(epsilon=1.0, domains={"a": 2, "c": 3}).aggregate({"a": [1], "c": [1]})


@each_way
def test_reports__of_calls_of_one_rng_never_repeat(way):
    """The children of one stream go on where they stopped, and give all attributes different noise."""
    mechanism, rng = way(epsilon=0.1, domains={"a": 1000, "b": 1000}), seeded()
    values = {"a": np.zeros(400, int), "b": np.zeros(400, int)}
    first, second = mechanism.randomize(values, rng=rng), mechanism.randomize(values, rng=rng)
    for one, other in ((first["a"], second["a"]), (first["a"], first["b"])):
        pairs = zip(pa.array(one).to_pylist(), pa.array(other).to_pylist(), strict=True)
        assert sum(x == y for x, y in pairs if x is not None) < 20


def tables_of_other_libraries() -> list:
    """A name, how a table of columns is made, and whether a result is of the same kind."""

    def frame(columns):
        pandas = pytest.importorskip("pandas")
        return pandas.DataFrame(columns, index=pandas.Index([7] * len(columns["a"])))

    def polars(columns):
        return pytest.importorskip("polars").DataFrame(columns)

    def series(columns):
        pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
        return {"a": pandas.Series(columns["a"], name="x"), "b": polars.Series("y", columns["b"])}

    def streams(columns):
        return {name: pa.table({"x": column}).to_reader(50) for name, column in columns.items()}

    return [
        ("pandas", frame, lambda out, given: out.index.equals(given.index)),
        ("polars", polars, lambda out, given: type(out) is type(given)),
        ("series", series, lambda out, given: all(type(out[name]) is type(given[name]) for name in given)),
        ("streams", streams, lambda out, given: all(type(out[name]) is type(given[name]) for name in given)),
        ("reader", lambda columns: pa.table(columns).to_reader(60), lambda out, given: type(out) is type(given)),
    ]


@each_way
@pytest.mark.parametrize("protocol", [fd.KRR, fd.UnaryEncoding])
@pytest.mark.parametrize(("make", "is_alike"), [pytest.param(*c[1:], id=c[0]) for c in tables_of_other_libraries()])
def test_randomize__takes_tables_of_other_libraries(way, protocol, make, is_alike):
    """The same reports as of an arrow table, in the caller's kind of table, with the same counts."""
    columns = {"a": np.arange(301) % 2, "b": np.array(["x", "y", "z"] * 101)[:301].tolist()}
    mechanism = way(epsilon=1.0, domains=LABELLED, protocol=protocol)
    expected = mechanism.aggregate(mechanism.randomize(pa.table(columns), rng=seeded()))
    given = make(columns)
    out = mechanism.randomize(given, rng=seeded())
    assert is_alike(out, given)
    for name, counts in mechanism.aggregate(out).items():
        assert counts.n == expected[name].n
        assert np.array_equal(counts.support, expected[name].support)
    with pytest.raises(fd.SchemaError, match="undeclared"):
        way(epsilon=1.0, domains={"a": 2, "c": 3}).randomize(make(columns))
