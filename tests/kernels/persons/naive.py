"""Bounds per person by a naive loop, and the kernels that do the same, called with memory of their own."""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np

from fastdp.kernels.persons import bounding
from fastdp.kernels.persons.ordering import FEW, RADIX
from fastdp.kernels.persons.parts import count_parts, scatter_rows
from fastdp.kernels.persons.sampling import ENTRIES, LANES, sum_part
from fastdp.kernels.persons.steps import NULL, SQUARE_BITS

KEY, PRIORITY, SHIFT = np.uint64(99), np.uint64(7), np.uint64(63)
NAMES = np.empty(0, np.uint64), np.empty(0, np.uint64), KEY, PRIORITY
FIRST, SECOND = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93
HELD = 1 << 64


def mix(word, key):
    word = (word ^ key) * FIRST % HELD
    word ^= word >> 32
    word = word * SECOND % HELD
    return word ^ (word >> 29)


def unmix(image, key):
    word = (image ^ (image >> 29) ^ (image >> 58)) * pow(SECOND, -1, HELD) % HELD
    word ^= word >> 32
    return (word * pow(FIRST, -1, HELD) % HELD) ^ key


def kept_of(persons, codes, steps, widths, limit, rows, mode, bucket_bits=3):
    """All entries, of both parts."""
    counts = np.zeros(2, np.int64)
    count_parts(persons, codes, KEY, SHIFT, counts)
    ends = np.cumsum(counts)
    records = np.empty((persons.size, 2 + steps.shape[0] // 2), np.uint64)
    scatter_rows(persons, codes, steps, KEY, SHIFT, ends - counts, records)
    found = []
    for first, last in zip(ends - counts, ends, strict=False):
        size = last - first
        buffer, spare = (np.empty((persons.size, records.shape[1] + 1), np.uint64) for _ in range(2))
        room = buffer, spare, np.empty((2, RADIX), np.int64), np.empty(FEW, np.uint32)
        order = np.empty(max(persons.size, FEW), np.int64)
        kept = np.empty((size + 1, 3 + int(widths.sum())), np.int64)
        half = (first + last) // 2  # two slices, as of two batches
        count = bounding.bound_part(
            records, np.array([first, half]), np.array([half, last]), 1, bucket_bits, *NAMES, limit, rows, mode, widths,
            np.empty((1 << bucket_bits) + 1, np.int64), *room, order, kept,
        )  # fmt: skip
        found.append(kept[:count].copy())
    return np.concatenate(found)


def summed(persons, codes, steps, widths, limit, rows, bucket_bits):
    """The sums of all keys, by the kernel that samples groups and adds them in one go."""
    counts = np.zeros(2, np.int64)
    count_parts(persons, codes, KEY, SHIFT, counts)
    ends, size = np.cumsum(counts), persons.size
    records = np.empty((size, 2), np.uint64)
    scatter_rows(persons, codes, steps, KEY, SHIFT, ends - counts, records)
    sums = np.zeros((100, 2 + int(widths.sum())), np.int64)
    for first, last in zip(ends - counts, ends, strict=True):
        half = (first + last) // 2
        sum_part(
            records, np.array([first, half]), np.array([half, last]), 1, bucket_bits, *NAMES, limit, rows, widths,
            np.empty((1 << bucket_bits) + 2, np.int64), np.empty((size, 2), np.uint64),
            np.empty(size + LANES, np.uint32), np.empty((size, 2), np.uint64), np.empty(size + LANES, np.uint32),
            np.empty((size, 3), np.uint64), np.empty((size, 3), np.uint64), np.empty((2, RADIX), np.int64),
            np.empty((ENTRIES + size + 1, 3), np.int64), sums,
        )  # fmt: skip
    return sums


def toward_zero(value, numerator, denominator):
    return int(math.copysign(abs(value) * numerator // denominator, value)) if value else 0


def naive(persons, codes, steps, widths, limit, rows, mode):
    """The same, person by person."""
    groups = defaultdict(lambda: defaultdict(list))
    for i, code in enumerate(codes.tolist()):
        if code >= 0:
            groups[int(persons[i])][code].append(i)
    found = []
    for person, mine in groups.items():
        order = sorted(mine, key=lambda code: mix(code, int(PRIORITY) ^ mix(person, int(KEY))))
        left = limit
        for number, code in enumerate(order):
            count = min(len(mine[code]), rows)
            if mode == bounding.ROWS:
                count = min(count, left)
                left -= count
                if count:
                    found.append([code, None, count])
                continue
            if mode == bounding.SAMPLE and number >= limit:
                break
            entry = [code, int(number < limit), count]
            for j, width in enumerate(widths.tolist()):
                known = [int(steps[j, i]) for i in mine[code] if steps[j, i] != NULL]
                size, total = len(known), sum(known)
                squares = sum(step * step >> int(SQUARE_BITS) for step in known)
                if size > rows:
                    total, squares, size = toward_zero(total, rows, size), toward_zero(squares, rows, size), rows
                entry += [[total], [size, total], [size, total, squares]][width - 1]
            if mode in (bounding.SCALE_L1, bounding.SCALE_L2):
                entry = scaled(entry, widths, len(order), limit, mode)
            found.append(entry)
    return found


def scaled(entry, widths, groups, limit, mode):
    one = 1 << bounding.FACTOR_BITS
    factor = one
    if groups > limit:
        factor = limit * one // groups if mode == bounding.SCALE_L1 else math.isqrt(limit * one * one // groups)
    result = [*entry[:2], entry[2] * factor]
    place = 3
    for width in widths.tolist():
        if width > 1:
            result.append(entry[place] * factor)
            place += 1
        for _ in range(max(1, width - 1)):
            result.append(toward_zero(entry[place], factor, one))
            place += 1
    return result


def visits(people, size, share, widths):
    """Rows of so many people, a share of them of one: their images, codes and steps, some null; and the widths."""
    source = np.random.default_rng(4)
    persons = source.integers(0, people, size).astype(np.uint64)
    persons[source.random(size) < share] = 7
    codes = source.integers(-1, 30, size).astype(np.int32)
    steps = source.integers(-(2**24), 2**24, (len(widths), size)).astype(np.int32)
    steps[:, ::9] = NULL
    return persons, codes, steps, np.array(widths, np.int64)
