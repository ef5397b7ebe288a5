"""FrequentStrings: its guarantee, its reports in every container, what it finds, and its intervals."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.stats import binomtest, chisquare

import fastdp as fd
from fastdp.errors import DomainError, InputCorruptError, ParameterError, SchemaError
from fastdp.kernels.local.strings import fill_levels, fill_string_hashes
from fastdp.mechanisms.local.strings.search import extend
from fastdp.mechanisms.local.strings.texts import read_texts

WORDS = ["rain", "sun", "fog", "æøå"]


def made(**given):
    return fd.FrequentStrings(**({"epsilon": 4.0, "length": 4} | given))


@pytest.mark.parametrize(("epsilon", "g"), [(0.5, None), (1.0, 2), (4.0, None), (4.0, 200)])
def test_reports__keep_the_hash_with_the_stated_probability(epsilon, g):
    """The exact law of the reported hash, and the ratio of its probabilities, from outside."""
    mechanism = made(epsilon=epsilon, g=g)
    reports = mechanism.randomize(["rain"] * 200_000, rng=fd.Rng.unsafe_seed(1))
    words, _, _ = read_texts("test", ["rain"] * 200_000, 1, "error")
    hashes = np.empty(200_000, np.uint16)
    seeds = np.ascontiguousarray(reports["seed"])
    fill_string_hashes(words, seeds, mechanism._ends, mechanism.prefix_bits, mechanism.g, hashes)
    moved = (reports["value"].astype(int) - hashes) % mechanism.g
    top = math.exp(epsilon) / (math.exp(epsilon) + mechanism.g - 1)
    expected = np.full(mechanism.g, (1 - top) / (mechanism.g - 1))
    expected[0] = top
    assert chisquare(np.bincount(moved, minlength=mechanism.g), 200_000 * expected).pvalue > 1e-3
    assert math.log(expected[0] / expected[1]) <= epsilon + 1e-9
    stated = mechanism.privacy.epsilon
    assert 0.999 * epsilon < stated <= epsilon
    krr = mechanism._law.krr
    other = (1 - krr.keep) / krr.k
    assert math.log((krr.keep + other) / other) <= stated
    assert fd.compose([mechanism]).epsilon(delta=1e-12).upper <= stated * (1 + 1e-6)


def test_seeds__say_nothing_of_the_string():
    mechanism = made()
    one, other = (mechanism.randomize([word] * 5000, rng=fd.Rng.unsafe_seed(4)) for word in ("sun", "rain"))
    assert np.array_equal(one["seed"], other["seed"])
    levels = np.empty(5000, np.uint8)
    fill_levels(np.ascontiguousarray(one["seed"]), mechanism._ends, levels)
    shares = [mechanism._level_share(level) for level in range(mechanism.prefix_bits.size)]
    assert math.fsum(shares) == 1
    assert chisquare(np.bincount(levels, minlength=len(shares)), 5000 * np.array(shares)).pvalue > 1e-3


CONTAINERS = {
    "list": list,
    "numpy": np.array,
    "objects": lambda values: np.array(values, object),
    "arrow": pa.array,
    "large": lambda values: pa.array(values, pa.large_string()),
    "view": lambda values: pa.array(values, pa.string_view()),
    "dictionary": lambda values: pa.array(values).dictionary_encode(),
    "chunks": lambda values: pa.chunked_array([values[:100], [], values[100:]]),
    "sliced": lambda values: pa.array(["x", *values, "y"]).slice(1, len(values)),
    "pandas": pd.Series,
    "polars": pl.Series,
}


def seeds_of(reports):
    if isinstance(reports, np.ndarray):
        return reports["seed"].tolist()
    if isinstance(reports, pd.Series):
        return [row["seed"] for row in reports] if reports.dtype == object else \
            pa.array(reports).field("seed").to_pylist()  # fmt: skip
    if isinstance(reports, pl.Series):
        return reports.struct.field("seed").to_list()
    return [row["seed"] for row in reports.to_pylist()]


@pytest.mark.parametrize("kind", CONTAINERS)
def test_randomize__takes_every_container(kind):
    values = [WORDS[i % 4] for i in range(3000)]
    mechanism, column = made(), CONTAINERS[kind](values)
    reports = mechanism.randomize(column, rng=fd.Rng.unsafe_seed(1))
    plain = mechanism.randomize(values, rng=fd.Rng.unsafe_seed(1))
    assert len(reports) == 3000
    found, expected = mechanism.estimate(reports, top=4), mechanism.estimate(plain, top=4)
    assert found.strings == expected.strings
    assert seeds_of(reports) == plain["seed"].tolist()


def test_randomize__keeps_public_nulls_and_takes_nothing():
    mechanism = made()
    column = pa.array(["sun", None, "rain"])
    with pytest.raises(DomainError):
        mechanism.randomize(column)
    assert mechanism.randomize(column, nulls="public").is_null().to_pylist() == [False, True, False]
    assert len(mechanism.randomize([])) == 0
    with pytest.raises(ParameterError, match="no reports"):
        mechanism.estimate(mechanism.randomize([]))


def test_extend__gives_all_next_bits_across_words():
    words = np.array([[0xFFFFFFFFFFFFFFFC, 0]], np.uint64)
    found = extend(words, 62, 66)
    assert len(found) == 16
    texts = {f"{int(a):064b}{int(b):064b}"[:66] for a, b in found}
    assert texts == {"1" * 62 + f"{i:04b}" for i in range(16)}


@pytest.mark.parametrize("length", [3, 8, 12])
def test_estimate__finds_frequent_strings(length):
    names = [f"{i:02d}site.example.org"[:length] for i in range(10)]
    shares = np.array([0.3, 0.2, 0.15, 0.1, 0.05, 0.05, 0.05, 0.04, 0.03, 0.03])
    chosen = np.random.default_rng(1).choice(10, 60_000, p=shares)
    mechanism = made(length=length)
    reports = mechanism.randomize([names[i] for i in chosen], rng=fd.Rng.unsafe_seed(2))
    found = mechanism.estimate(reports, top=4)
    assert found.strings == names[:4]
    low, high = found.interval(0.95)
    assert np.all((low <= shares[:4]) & (shares[:4] <= high))


def test_interval__holds_all_strings_at_once():
    """Of 80 collections, in at least 95 % less chance all intervals hold; a third as wide, they do not."""
    names, shares = ["aa", "bb", "cc", "dd"], np.array([0.4, 0.3, 0.2, 0.1])
    mechanism, source = made(length=2), np.random.default_rng(3)
    held = narrow = 0
    for seed in range(80):
        chosen = source.choice(4, 4000, p=shares)
        found = mechanism.estimate(mechanism.randomize([names[i] for i in chosen], rng=fd.Rng.unsafe_seed(seed)), top=6)
        true = np.array([dict(zip(names, shares, strict=True)).get(name, 0.0) for name in found.strings])
        low, high = found.interval(0.95)
        held += np.all((low <= true) & (true <= high))
        narrow += np.all(np.abs(found.shares - true) <= (high - low) / 6)
    assert binomtest(int(held), 80, 0.95, alternative="less").pvalue > 1e-3
    assert binomtest(int(narrow), 80, 0.95, alternative="less").pvalue < 1e-3


def test_explain__bounds_what_is_missed():
    """Strings at the stated share are found every time; far below it, not."""
    mechanism, n = made(length=3), 20_000
    bound = mechanism.explain(n, top=2)["found_above"]
    rare = bound / 8
    found = missed = 0
    for seed in range(12):
        source = np.random.default_rng(seed)
        others = ["".join(map(chr, source.integers(33, 127, 3))) for _ in range(n)]
        cut, rest = int(n * bound) + 1, int(n * (bound + rare)) + 1
        column = ["yes"] * cut + ["may"] * (rest - cut) + others[rest:]
        strings = mechanism.estimate(mechanism.randomize(column, rng=fd.Rng.unsafe_seed(seed)), top=2).strings
        found += "yes" in strings
        missed += "may" not in strings
    assert found == 12
    assert missed > 0


def test_permanent__is_the_same_every_time():
    mechanism, key = made(), fd.FrequentStrings.new_key()
    persons = list(range(8000))
    values = ["sun" if i % 3 else "rain" for i in persons]
    one, again = (mechanism.permanent(values, persons=persons, key=key) for _ in range(2))
    assert np.array_equal(one, again)
    other = mechanism.permanent(values, persons=persons, key=key, question="b")
    assert not np.array_equal(one["seed"], other["seed"])
    assert mechanism.estimate(one, top=2).strings == ["sun", "rain"]
    assert np.array_equal(one[::-1], mechanism.permanent(values[::-1], persons=persons[::-1], key=key))


def test_select__is_exact_key_selection_in_the_central_model():
    column = ["sun"] * 500 + ["rain"] * 300 + [f"only {i}" for i in range(100)]
    found = made(epsilon=1.0).select(column, delta=1e-6, rng=fd.Rng.unsafe_seed(1))
    assert found["string"].to_pylist() == ["rain", "sun"]
    same = fd.KeySelection(epsilon=1.0, delta=1e-6).select([300, 500], rng=fd.Rng.unsafe_seed(2))
    assert np.abs(found["count"].to_numpy() - [300, 500]).max() < 40
    assert same.indices.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("given", "words"),
    [({"epsilon": 0}, "epsilon"), ({"epsilon": math.nan}, "epsilon"), ({"epsilon": True}, "epsilon"),
     ({"length": 0}, "length"), ({"length": 65}, "length"), ({"step": 13}, "step"), ({"g": 1}, "g must"),
     ({"g": 5000}, "g must")],
)  # fmt: skip
def test_parameters__are_checked(given, words):
    with pytest.raises(ParameterError, match=words):
        made(**given)


@pytest.mark.parametrize("values", [[1, 2], np.array([1.0]), pa.array([1]), "sun", ["sun", None], [b"a"]])
def test_values__must_be_strings(values):
    with pytest.raises((SchemaError, DomainError)):
        made().randomize(values)


def test_reports__of_another_mechanism_are_refused():
    reports = made().randomize(WORDS * 2000, rng=fd.Rng.unsafe_seed(1))
    reports["value"] = made().g
    with pytest.raises(InputCorruptError):
        made().estimate(reports)


def test_mechanism__says_its_words_again():
    mechanism = made(step=5)
    said = mechanism.to_dict()
    assert said.pop("type") == "FrequentStrings"
    assert fd.FrequentStrings(**said) == mechanism
    assert eval(repr(mechanism), {"FrequentStrings": fd.FrequentStrings}) == mechanism


def test_hashes__are_what_reports_keep_most_often():
    mechanism = made(length=12)
    reports = mechanism.randomize(["football news"] * 20_000, rng=fd.Rng.unsafe_seed(6))
    kept, other = (
        int((mechanism.hashes(word, reports["seed"]) == reports["value"]).sum()) for word in ("football news", "rain")
    )
    assert binomtest(kept, 20_000, float(mechanism._law.p)).pvalue > 1e-3
    assert binomtest(other, 20_000, 1 / mechanism.g).pvalue > 1e-3
    assert np.array_equal(
        mechanism.hashes("football nest", reports["seed"]), mechanism.hashes("football nes", reports["seed"])
    )


@pytest.mark.parametrize(("epsilon", "pair"), [(1.0, ("a", "b")), (3.0, ("sun", "rain"))])
def test_audit__proves_most_of_epsilon_and_catches_more(epsilon, pair):
    """Reports of 1.3 times the epsilon are refuted by the same draws."""
    audits = [
        fd.audit.epsilon(made(epsilon=e), *pair, draws=200_000, claimed=epsilon, rng=fd.Rng.unsafe_seed(5))
        for e in (epsilon, 1.3 * epsilon)
    ]
    assert 0.7 * epsilon < audits[0].epsilon < epsilon
    assert [found.is_refuted for found in audits] == [False, True]
