"""Keys and persons as codes 0, 1, ...: exact tables of integers and of texts, filled in the order of appearance.

A table is open addressing over a keyed hash, so that no choice of names makes it slow; names themselves are compared,
so that two of them never share a code. A kernel stops when a table is half full: the caller enlarges it and goes on.
"""

from __future__ import annotations

import numpy as np

from fastdp.kernels.jit import inlined, kernel
from fastdp.kernels.persons.mixing import mix

EMPTY = np.int32(-1)
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
def _hash_text(words, start, length, seed):
    """A keyed hash of bytes: each word is mixed into the state; the length comes first."""
    state = mix(np.uint64(length), seed)
    for done in range(0, length, 8):
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
def _probe(words, start, length, tag, slot, names, texts, slots, mask):
    """The slot and code of a text, the code EMPTY if it is new."""
    code = slots[slot]
    while code != EMPTY:
        if names[code, 0] == tag and np.int64(names[code, 2]) == length:
            if _is_same(words, start, length, texts, np.int64(names[code, 1])):
                break
        slot = (slot + np.uint64(1)) & mask
        code = slots[slot]
    return slot, code


@kernel
def code_texts(offsets, words, first, seed, is_open, names, texts, filled, slots, used, tags, near, codes):
    """Write the codes of texts from ``first`` on; as `code_integers`, for bytes offsets[i] to offsets[i + 1].

    A block of texts at a time: hashes, then the likely code of each, then comparisons, each in a loop of its own, where
    misses of the caches overlap.

    Pre:  words are the bytes, eight each, and one word more; name ``code`` has its keyed hash in names[code, 0], and
          from texts[names[code, 1]] on its bytes, names[code, 2] of them, filled up with zeros to whole words;
          tags and near hold a block.
    Post: returns how many are done, how many codes are used and how many words of ``texts`` are filled; stops when the
          table is half full, or ``texts`` or ``names`` have no room for the next one.
    """
    mask = np.uint64(slots.size - 1)
    size = offsets.size - 1
    while first < size:
        count = min(tags.size, size - first)
        for k in range(count):
            start = np.int64(offsets[first + k])
            tags[k] = _hash_text(words, start, np.int64(offsets[first + k + 1]) - start, seed)
        for k in range(count):
            near[k] = slots[mix(tags[k], seed) & mask]
        for k in range(count):
            code = near[k]
            near[k] = code if names[max(code, np.int32(0)), 0] == tags[k] else EMPTY
        for k in range(count):
            start = np.int64(offsets[first + k])
            length = np.int64(offsets[first + k + 1]) - start
            code = near[k]
            if code != EMPTY and np.int64(names[code, 2]) == length:
                if _is_same(words, start, length, texts, np.int64(names[code, 1])):
                    codes[first + k] = code
                    continue
            tag = tags[k]
            slot, code = _probe(words, start, length, tag, mix(tag, seed) & mask, names, texts, slots, mask)
            if code == EMPTY and is_open:
                if 2 * (used + 1) > slots.size or filled + length // 8 + 1 > texts.size or used >= names.shape[0]:
                    return first + k, used, filled
                names[used, 0], names[used, 1], names[used, 2] = tag, np.uint64(filled), np.uint64(length)
                for done in range(0, length, 8):
                    texts[filled] = _read_word(words, start + done, length - done)
                    filled += 1
                slots[slot] = used
                code = np.int32(used)
                used += 1
            codes[first + k] = code
        first += count
    return size, used, filled
