"""Keys and persons as codes 0, 1, ...: exact tables of integers and of texts, filled in the order of appearance.

A table is open addressing over a keyed hash, so that no choice of names makes it slow; names themselves are compared,
so that two of them never share a code. A kernel stops when a table is half full: the caller enlarges it and goes on.
"""

from __future__ import annotations

import numpy as np

from fastdp.kernels.jit import inlined, kernel
from fastdp.kernels.persons.mixing import mix

EMPTY = np.int32(-1)
SHORT = 16
"""Bytes of a text that lie in its name."""
_LOWER, _LEAST = np.uint64(0xFFFFFFFF), np.uint64(1 << 32)
_UPPER = ~_LOWER
BLOCK = 256
"""Keys or texts that are looked up side by side."""


@kernel
def code_range(keys, low, is_open, names, table, used, codes):
    """Write the codes of keys, looked up by value: ``table`` has one for each integer from ``low`` on.

    A key outside of it is unknown: -1.

    Pre:  all keys are inside, or the table is closed; names has as much room as the table.
    Post: returns how many codes are used.
    """
    size = np.uint64(table.size)
    for i in range(keys.size):
        place, code = np.uint64(keys[i] - low), EMPTY
        if place < size:
            code = table[place]
            if code == EMPTY and is_open:
                names[used] = keys[i]
                code = np.int32(used)
                table[place] = code
                used += 1
        codes[i] = code
    return used


@kernel
def code_integers(keys, first, seed, is_open, names, slots, used, codes):
    """Write the codes of keys from ``first`` on; a key that is new gets the next one, or -1 if the table is closed.

    A block of keys at a time: the likely code of each, then comparisons, each in a loop of its own where misses of the
    caches overlap; what is left is looked up one by one.

    Pre:  slots is int32[power of two], -1 where empty; names[code] is the key of each code below ``used``.
    Post: returns how many keys are done and how many codes are used; not all are done if the table is half full.
    """
    mask = np.uint64(slots.size - 1)
    for start in range(first, keys.size, BLOCK):
        end, missed = min(start + BLOCK, keys.size), np.int64(0)
        for i in range(start, end):
            codes[i] = slots[mix(np.uint64(keys[i]), seed) & mask]
        for i in range(start, end):
            code = codes[i]
            is_missed = (code == EMPTY) | (names[max(code, np.int32(0))] != keys[i])
            codes[i] = EMPTY if is_missed else code
            missed += np.int64(is_missed)
        if missed == 0:
            continue
        for i in range(start, end):
            if codes[i] != EMPTY:
                continue
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
def _read_word(words, place, left):
    """Up to eight of the bytes from ``place`` on as a word, little end first: two aligned words, shifted."""
    at, shift = place >> 3, np.uint64((place & 7) * 8)
    word = (words[at] >> shift) | ((words[at + 1] << np.uint64(1)) << (np.uint64(63) - shift))
    if left < 8:
        word &= (np.uint64(1) << np.uint64(8 * left)) - np.uint64(1)
    return word


@inlined
def _hash_text(words, start, length, first, second, seed):
    """A keyed hash of bytes: each word is mixed into the state; the length comes first."""
    state = mix(np.uint64(length), seed)
    if length > 0:
        state = mix(first, state)
    if length > 8:
        state = mix(second, state)
    for done in range(SHORT, length, 8):
        state = mix(_read_word(words, start + done, length - done), state)
    return state


@inlined
def _is_same(words, start, length, texts, place):
    for done in range(0, length, 8):
        if _read_word(words, start + done, length - done) != texts[place]:
            return False
        place += 1
    return True


@inlined
def _is_near(names, code, tag, length, first, second):
    """Whether a name is this short text, or may be this long one."""
    return (
        (names[code, 0] == tag)
        & (names[code, 1] == np.uint64(length))
        & ((length > SHORT) | ((names[code, 2] == first) & (names[code, 3] == second)))
    )


@kernel
def fill_text_slots(names, used, slots):
    """Put the codes below ``used`` into an empty table of texts."""
    mask = np.uint64(slots.size - 1)
    for code in range(used):
        tag = names[code, 0]
        slot = tag & mask
        while slots[slot] != 0:
            slot = (slot + np.uint64(1)) & mask
        slots[slot] = (tag & _UPPER) | np.uint64(code + 1)


@kernel
def code_texts(offsets, words, first, seed, is_open, names, texts, filled, slots, used, heads, codes):
    """Write the codes of texts from ``first`` on; as `code_integers`, for bytes offsets[i] to offsets[i + 1].

    A block of texts at a time: hashes, then the likely code of each, then comparisons, each in a loop of its own, where
    misses of the caches overlap: one for a slot and one for a name.

    Pre:  words are the bytes, eight each, and one word more; slots is uint64[power of two], 0 where empty, else the
          upper half of a hash above its code + 1; a name is its keyed hash, its length, and its bytes, filled up with
          zeros, or where they begin in ``texts`` if they are more than SHORT; heads is uint64[BLOCK, 3].
    Post: returns how many are done, how many codes are used and how many words of ``texts`` are filled; stops when the
          table is half full, or ``texts`` or ``names`` have no room for the next one.
    """
    mask = np.uint64(slots.size - 1)
    for begin in range(first, offsets.size - 1, BLOCK):
        count, missed = min(BLOCK, offsets.size - 1 - begin), np.int64(0)
        for k in range(count):
            start = np.int64(offsets[begin + k])
            length = np.int64(offsets[begin + k + 1]) - start
            heads[k, 1] = _read_word(words, start, length)
            heads[k, 2] = _read_word(words, start + 8, length - 8) if length > 8 else np.uint64(0)
            heads[k, 0] = _hash_text(words, start, length, heads[k, 1], heads[k, 2], seed)
        for k in range(count):
            tag = heads[k, 0]
            here, next_one = slots[tag & mask], slots[(tag + np.uint64(1)) & mask]
            is_here = np.uint64((here ^ tag) < _LEAST)
            is_next = np.uint64((next_one ^ tag) < _LEAST)
            chosen = is_here * here + (np.uint64(1) - is_here) * is_next * next_one
            codes[begin + k] = np.int32(np.int64(chosen & _LOWER) - 1)
        for k in range(count):
            code, length = codes[begin + k], np.int64(offsets[begin + k + 1]) - np.int64(offsets[begin + k])
            near = _is_near(names, max(code, np.int32(0)), heads[k, 0], length, heads[k, 1], heads[k, 2])
            is_known = np.int32(near & (code != EMPTY) & (length <= SHORT))
            codes[begin + k] = (code + np.int32(1)) * is_known + EMPTY  # no branch, which would wait for the name
            missed += np.int64(np.int32(1) - is_known)
        if missed == 0:
            continue
        for k in range(count):
            if codes[begin + k] != EMPTY:
                continue
            start, tag = np.int64(offsets[begin + k]), heads[k, 0]
            length = np.int64(offsets[begin + k + 1]) - start
            slot, found = tag & mask, EMPTY
            while slots[slot] != 0 and found == EMPTY:
                code = np.int32(np.int64(slots[slot] & _LOWER) - 1)
                if (slots[slot] ^ tag) < _LEAST and _is_near(names, code, tag, length, heads[k, 1], heads[k, 2]):
                    if length <= SHORT or _is_same(words, start, length, texts, np.int64(names[code, 2])):
                        found = code
                slot = (slot + np.uint64(1)) & mask
            if found == EMPTY and is_open:
                if 2 * (used + 1) > slots.size or filled + length // 8 + 1 > texts.size or used >= names.shape[0]:
                    return begin + k, used, filled
                names[used, 0], names[used, 1] = tag, np.uint64(length)
                names[used, 2], names[used, 3] = heads[k, 1], heads[k, 2]
                if length > SHORT:
                    names[used, 2] = np.uint64(filled)
                    for done in range(0, length, 8):
                        texts[filled] = _read_word(words, start + done, length - done)
                        filled += 1
                found = np.int32(used)
                used += 1
                slots[slot] = (tag & _UPPER) | np.uint64(used)
            codes[begin + k] = found
    return offsets.size - 1, used, filled
