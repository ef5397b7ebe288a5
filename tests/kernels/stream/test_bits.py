"""Coins by the word: exact for every threshold, bit for bit as in plain Python."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chisquare

from fastdp.kernels.stream.bits import BIT_PLANES, BYTE_PLANES, fill_bit_tile, make_bit_scratch
from fastdp.laws.coins import halves
from tests.generators import each_generator, key_for
from tests.reference.bits import coin_word, uniform

KEY = np.arange(70, 78, dtype=np.uint32)
WORDS = tuple(int(word) for word in KEY)
HALF = 1 << 127
THRESHOLDS = {
    "1/2": HALF,
    "3/4": 3 << 126,
    "1/4": 1 << 126,
    "1/512": 1 << 119,
    "511/512": 511 << 119,
    "1/1024": 1 << 118,
    "1/512 and a bit": (1 << 119) + 1,
    "1/512 less a bit": (1 << 119) - 1,
    "1/3": (1 << 128) // 3,
    "1/2 and a bit": HALF + 1,
    "0.6 in 64 digits": int(0.6 * 2**64) << 64,
    "the least": 1,
    "the most": (1 << 128) - 1,
}


def tile_of(threshold: int, tile: int, planes=BIT_PLANES, key=KEY) -> np.ndarray:
    out = np.full(128, 0xDEAD, np.uint64)
    fill_bit_tile(key, planes, np.uint64(tile), *halves(threshold), make_bit_scratch(), out)
    return out


@each_generator
@pytest.mark.parametrize("name", list(THRESHOLDS))
def test_fill_bit_tile__agrees_with_plain_python(name, generator):
    """All words of a tile, far tiles and both numberings included."""
    key = key_for(generator, KEY)
    numbers = tuple(int(word) for word in key)
    for tile, planes, words in (
        (0, BIT_PLANES, range(128)),
        (2**40 + 3, BIT_PLANES, (0, 77)),
        (5, BYTE_PLANES, (1, 127)),
    ):
        out = tile_of(THRESHOLDS[name], tile, planes, key)
        for word in words:
            assert int(out[word]) == coin_word(numbers, int(planes), 128 * tile + word, THRESHOLDS[name])


@pytest.mark.parametrize(("word", "lane"), [(0, 0), (3, 17), (127, 63)])
def test_fill_bit_tile__compares_all_128_digits(word, lane):
    """With a lane's own number as threshold, nothing but the last digit decides it; all others stay as they are."""
    number = uniform(WORDS, int(BIT_PLANES), word, lane)
    for threshold, expected in ((number - 1, 0), (number, 0), (number + 1, 1), (number + 2, 1)):
        out = tile_of(threshold, 0)
        assert int(out[word]) >> lane & 1 == expected
        assert int(out[word]) == coin_word(WORDS, int(BIT_PLANES), word, threshold)
    for digits in (1, 8, 9, 10, 16, 17, 63, 64, 65, 127):  # level for so many digits, then below or above
        cut = number >> (128 - digits) << (128 - digits)
        for threshold in {cut, cut + (1 << (128 - digits))} - {0, 1 << 128}:
            assert int(tile_of(threshold, 0)[word]) >> lane & 1 == (number < threshold)


def test_fill_bit_tile__depends_on_nothing_but_key_planes_tile_and_threshold():
    """Scratch that an earlier tile has left behind makes no difference."""
    scratch, out = make_bit_scratch(), np.zeros(128, np.uint64)
    expected = tile_of(THRESHOLDS["1/3"], 9)
    for tile, threshold in ((1, 1), (4, HALF), (9, THRESHOLDS["1/3"])):
        fill_bit_tile(KEY, BIT_PLANES, np.uint64(tile), *halves(threshold), scratch, out)
    assert np.array_equal(out, expected)
    assert not np.array_equal(tile_of(THRESHOLDS["1/3"], 10), expected)
    assert not np.array_equal(tile_of(THRESHOLDS["1/3"], 9, BYTE_PLANES), expected)


@pytest.mark.parametrize("p", [0.5, 0.3, 1 / 512, 0.9, 0.01])
def test_fill_bit_tile__has_the_stated_probability(p):
    """4 million lanes; p x 1.005 and more is rejected where that can be seen, as are lanes that are unlike others."""
    threshold, scratch, out = int(p * 2**128), make_bit_scratch(), np.zeros((500, 128), np.uint64)
    for tile in range(out.shape[0]):
        fill_bit_tile(KEY, BIT_PLANES, np.uint64(tile), *halves(threshold), scratch, out[tile])
    bits = np.unpackbits(out.view(np.uint8), bitorder="little").reshape(-1, 64)
    ones, size = int(bits.sum()), bits.size
    assert chisquare([ones, size - ones], [size * p, size * (1 - p)]).pvalue > 1e-3
    factor = 1.005 if p > 0.25 else 1.1
    assert chisquare([ones, size - ones], [size * p * factor, size * (1 - p * factor)]).pvalue < 1e-3
    assert chisquare(bits.sum(axis=0)).pvalue > 1e-3
    both = (bits[:, 1:] & bits[:, :-1]).sum()
    assert chisquare([both, bits[:, 1:].size - both], np.array([p * p, 1 - p * p]) * bits[:, 1:].size).pvalue > 1e-4
