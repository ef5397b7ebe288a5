"""Keys and persons as codes 0, 1, ...: exact tables of integers and of texts, filled in the order of appearance.

A table is open addressing over a keyed hash, so that no choice of names makes it slow; names themselves are compared,
so that two of them never share a code. A kernel stops when a table is half full: the caller enlarges it and goes on.
"""

from __future__ import annotations

import numpy as np

from fastdp.kernels.jit import inlined, kernel
from fastdp.kernels.persons.mixing import mix

EMPTY = np.int32(-1)
_ODD = np.uint64(0x9E3779B97F4A7C15)
_EIGHT, _SHIFT = np.uint64(8), np.uint64(32)


@kernel
def code_integers(keys, first, seed, is_open, names, slots, used, codes):
    """Write the codes of keys from ``first`` on; a key that is new gets the next one, or -1 if the table is closed.

    Pre:  slots is int32[power of two], -1 where empty; names[code] is the key of each code below ``used``.
    Post: returns how many keys are done and how many codes are used; not all are done if the table is half full.
    """
    mask = np.uint64(slots.size - 1)
    for i in range(first, keys.size):
        key = keys[i]
        slot = mix(np.uint64(key), seed) & mask
        code = slots[slot]
        while code != EMPTY and names[code] != key:
            slot = (slot + np.uint64(1)) & mask
            code = slots[slot]
        if code == EMPTY and is_open:
            if 2 * (used + 1) > slots.size:
                return i, used
            names[used] = key
            slots[slot] = used
            code = np.int32(used)
            used += 1
        codes[i] = code
    return keys.size, used


@kernel
def fill_slots(tags, used, seed, slots):
    """Put the codes below ``used`` into an empty table, by their tags."""
    mask = np.uint64(slots.size - 1)
    for code in range(used):
        slot = mix(np.uint64(tags[code]), seed) & mask
        while slots[slot] != EMPTY:
            slot = (slot + np.uint64(1)) & mask
        slots[slot] = code


@inlined
def _read_word(data, place, stop):
    """Up to eight bytes from ``place`` as a word, little end first."""
    word = np.uint64(0)
    if place + 8 <= stop:
        for k in range(8):
            word |= np.uint64(data[place + k]) << np.uint64(8 * k)
    else:
        for k in range(stop - place):
            word |= np.uint64(data[place + k]) << np.uint64(8 * k)
    return word


@inlined
def _hash_text(data, start, stop, seed):
    """A keyed hash of bytes: each word is mixed into the state; the length comes first."""
    state = mix(np.uint64(stop - start), seed)
    place = start
    while place < stop:
        state = mix(_read_word(data, place, stop), state)
        place += 8
    return state


@inlined
def _is_same(data, start, length, texts, place):
    for k in range(length):
        if data[start + k] != texts[place + k]:
            return False
    return True


@kernel
def code_texts(offsets, data, first, seed, is_open, ends, texts, tags, slots, used, codes):
    """Write the codes of texts from ``first`` on; as `code_integers`, for bytes data[offsets[i]:offsets[i + 1]].

    Pre:  text ``code`` is texts[ends[code]:ends[code + 1]], and tags[code] its keyed hash.
    Post: stops when the table is half full, or ``texts`` or ``tags`` have no room for the next one.
    """
    mask = np.uint64(slots.size - 1)
    for i in range(first, offsets.size - 1):
        start, stop = np.int64(offsets[i]), np.int64(offsets[i + 1])
        length = stop - start
        tag = _hash_text(data, start, stop, seed)
        slot = mix(tag, seed) & mask
        code = slots[slot]
        while code != EMPTY:
            at = ends[code]
            if tags[code] == tag and ends[code + 1] - at == length and _is_same(data, start, length, texts, at):
                break
            slot = (slot + np.uint64(1)) & mask
            code = slots[slot]
        if code == EMPTY and is_open:
            end = ends[used]
            if 2 * (used + 1) > slots.size or end + length > texts.size or used >= tags.size:
                return i, used
            for k in range(length):
                texts[end + k] = data[start + k]
            ends[used + 1] = end + length
            tags[used] = tag
            slots[slot] = used
            code = np.int32(used)
            used += 1
        codes[i] = code
    return offsets.size - 1, used
