"""Exact codes of integers and texts, whatever their hashes do."""

from __future__ import annotations

import numpy as np

from fastdp.kernels.persons.codes import BLOCK, code_integers, code_range, code_texts, fill_slots, fill_text_slots

SEED = np.uint64(12345)
FIRST, SECOND = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93


def integer_codes(keys, size=1 << 12, is_open=True):
    names, slots, codes = np.empty(size // 2, np.int64), np.full(size, -1, np.int32), np.empty(keys.size, np.int32)
    done, used = code_integers(keys, 0, SEED, is_open, names, slots, 0, codes)
    return done, used, names, codes, slots


def text_codes(texts, size=1 << 12, room=1 << 13):
    data = b"".join(texts)
    words = np.frombuffer(data + bytes(16 - len(data) % 8), np.uint64)
    offsets = np.cumsum([0, *map(len, texts)])
    names, arena = np.empty((size // 2, 4), np.uint64), np.empty(room, np.uint64)
    slots, codes = np.zeros(size, np.uint64), np.empty(len(texts), np.int32)
    heads = np.empty((BLOCK, 3), np.uint64)
    done, used, _ = code_texts(offsets, words, 0, SEED, True, names, arena, 0, slots, 0, heads, codes)
    again = np.zeros_like(slots)
    fill_text_slots(names, used, again)
    assert sorted(again & np.uint64(0xFFFFFFFF)) == sorted(slots & np.uint64(0xFFFFFFFF))
    return done, used, codes, names[:used, 0]


def test_integers__get_codes_by_first_appearance():
    keys = np.random.default_rng(1).integers(-50, 50, 3000) * (2**57 + 1)
    done, used, names, codes, slots = integer_codes(keys)
    assert done == keys.size
    assert used == np.unique(keys).size
    np.testing.assert_array_equal(names[codes], keys)

    again = np.full_like(slots, -1)
    fill_slots(names, used, SEED, again)
    assert sorted(again[again >= 0]) == list(range(used))


def test_integers__stop_at_half_and_close():
    keys = np.arange(100)
    done, used, *_ = integer_codes(keys, size=64)
    assert (done, used) == (32, 32)
    done, used, _, codes, _ = integer_codes(keys, is_open=False)
    assert (done, used, set(codes.tolist())) == (100, 0, {-1})


def test_texts__are_told_apart_by_their_bytes():
    short = [b"", b"a", b"a\0", b"\0a", b"12345678", b"123456789", "ß".encode(), b"12345678" * 2]
    texts = [*short, b"12345678" * 2 + b"\0", b"12345678" * 3, b"12345678" * 2 + b"a", b"a"] * 50
    done, used, codes, _ = text_codes(texts)
    assert (done, used) == (600, 11)
    assert texts == [texts[np.flatnonzero(codes == code)[0]] for code in codes]


def test_texts__stop_where_there_is_no_room():
    """Long ones where their bytes have none, short ones where the table is half full."""
    assert text_codes([bytes([65 + i]) * 20 for i in range(20)], room=11)[0] == 3
    assert text_codes([bytes([65 + i]) * 10 for i in range(20)], size=8, room=11)[0] == 4


def test_integers__by_value_are_unknown_outside_of_the_table():
    keys, codes = np.array([5, 7, 5, 4, 8, -(2**63)]), np.empty(6, np.int32)
    names, table = np.empty(4, np.int64), np.full(4, -1, np.int32)
    assert code_range(keys[:3], 5, True, names, table, 0, codes[:3]) == 2
    assert code_range(keys, 5, False, names, table, 2, codes) == 2
    assert codes.tolist() == [0, 1, 0, -1, -1, -1]
    assert names[:2].tolist() == [5, 7]


def mix(word, key):
    word = (word ^ key) * FIRST % 2**64
    word ^= word >> 32
    word = word * SECOND % 2**64
    return word ^ (word >> 29)


def test_texts__survive_a_planted_collision_of_their_hashes():
    """Two texts with one 64-bit hash: whoever took the hash for the person would merge them."""
    state = mix(16, int(SEED))
    words = int.from_bytes(b"person A", "little"), int.from_bytes(b"2026-11-", "little")
    other = int.from_bytes(b"person B", "little")
    # The last word w is mixed as (w ^ state): another state needs w ^ state the same.
    last = words[1] ^ mix(words[0], state) ^ mix(other, state)
    texts = [w.to_bytes(8, "little") + v.to_bytes(8, "little") for w, v in ((words[0], words[1]), (other, last))]
    _, used, codes, tags = text_codes(texts)
    assert tags[0] == tags[1]
    assert (used, codes.tolist()) == (2, [0, 1])
