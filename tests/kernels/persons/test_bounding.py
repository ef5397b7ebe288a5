"""Bounds per person against a naive version in Python, in every mode."""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np
import pytest

from fastdp.kernels.persons import bounding
from fastdp.kernels.persons.ordering import FEW, RADIX
from fastdp.kernels.persons.parts import count_parts, scatter_rows
from fastdp.kernels.persons.steps import NULL, SQUARE_BITS

KEY, PRIORITY, SHIFT = np.uint64(99), np.uint64(7), np.uint64(63)


def kept_of(persons, codes, steps, widths, limit, rows, mode, bucket_bits=3):
    """All entries, and the records of both parts."""
    counts = np.zeros(2, np.int64)
    count_parts(persons, codes, KEY, SHIFT, counts)
    ends = np.cumsum(counts)
    records = np.empty((persons.size, 3 + steps.shape[0] // 2), np.uint64)
    tags = np.arange(100, dtype=np.uint64)
    scatter_rows(persons, persons, codes, tags, steps, KEY, PRIORITY, SHIFT, ends - counts, records)
    found = []
    for first, last in zip(ends - counts, ends, strict=False):
        size = last - first
        room = np.empty_like(records), np.empty_like(records), np.empty((2, RADIX), np.int64), np.empty(FEW, np.uint64)
        order = np.empty(max(persons.size, FEW), np.int64)
        kept = np.empty((size + 1, 3 + int(widths.sum())), np.int64)
        half = (first + last) // 2  # two slices, as of two batches
        count = bounding.bound_part(
            records, np.array([first, half]), np.array([half, last]), 1, bucket_bits, limit, rows, mode, widths,
            np.empty((1 << bucket_bits) + 1, np.int64), *room, order, kept,
        )  # fmt: skip
        found.append(kept[:count].copy())
    return np.concatenate(found), records[: ends[-1]]


def toward_zero(value, numerator, denominator):
    return int(math.copysign(abs(value) * numerator // denominator, value)) if value else 0


def naive(persons, codes, steps, widths, limit, rows, mode, records):
    """The same, person by person."""
    groups = defaultdict(lambda: defaultdict(list))
    for i, code in enumerate(codes.tolist()):
        if code >= 0:
            groups[int(persons[i])][code].append(i)
    images = {}
    priority = {}
    for image, place, word in records[:, :3].tolist():
        priority[image, word >> 32] = place
    for person in groups:
        word = (person ^ int(KEY)) * 0x9E3779B97F4A7C15 % 2**64
        word ^= word >> 32
        word = word * 0xD6E8FEB86659FD93 % 2**64
        images[person] = word ^ (word >> 29)
    found = []
    for person, mine in groups.items():
        order = sorted(mine, key=lambda code: priority[images[person], code])
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


MODES = [bounding.SAMPLE, bounding.SCALE_L1, bounding.SCALE_L2, bounding.ROWS]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("widths", [[], [1], [2], [3], [1, 2, 3]])
def test_bounds__are_those_of_each_person_alone(mode, widths):
    source = np.random.default_rng(4)
    persons = source.integers(0, 120, 1500).astype(np.uint64)
    persons[source.random(1500) < 0.3] = 7  # one with many rows
    codes = source.integers(-1, 30, 1500).astype(np.int32)
    steps = source.integers(-(2**24), 2**24, (len(widths), 1500)).astype(np.int32)
    steps[:, ::9] = NULL
    widths = np.array(widths, np.int64)
    kept, records = kept_of(persons, codes, steps, widths, 3, 2, mode)
    expected = naive(persons, codes, steps, widths, 3, 2, mode, records)
    if mode == bounding.ROWS:
        assert sorted(kept[:, [0, 2]].tolist()) == sorted([code, count] for code, _, count in expected)
    else:
        assert sorted(kept.tolist()) == sorted(expected)


@pytest.mark.parametrize("mode", MODES[1:3])
def test_factors__never_let_a_norm_grow(mode):
    """A person with G groups of c rows each: at most the norm of ``limit`` groups."""
    for groups in (4, 5, 7, 99):
        codes = np.arange(2 * groups, dtype=np.int32) // 2
        persons, steps = np.full(2 * groups, 3, np.uint64), np.empty((0, 2 * groups), np.int32)
        kept, _ = kept_of(persons, codes, steps, np.zeros(0, np.int64), 3, 2, mode)
        rows = [int(value) for value in kept[:, 2]]
        norm = sum(rows) if mode == bounding.SCALE_L1 else math.isqrt(sum(value * value for value in rows))
        most = 3 * 2 << 16 if mode == bounding.SCALE_L1 else math.isqrt(3 * (2 << 16) ** 2)
        assert 0.99 * most < norm <= most


def test_excess_rows__count_as_their_mean():
    """Rows 1, 2, 3, 4, 10 of which two count: 8, the exact mean of what sampling would give."""
    steps = np.array([[1, 2, 3, 4, 10]], np.int32)
    arguments = np.full(5, 3, np.uint64), np.zeros(5, np.int32), steps, np.array([1])
    kept, _ = kept_of(*arguments, 1, 2, bounding.SAMPLE)
    assert kept.tolist() == [[0, 1, 2, 8]]


def test_add_kept():
    kept = np.array([[0, 1, 2, 30], [2, 1, 1, -5], [0, 0, 1, 1]])
    sums = np.zeros((3, 3), np.int64)
    bounding.add_kept(kept, 3, sums)
    assert sums.tolist() == [[1, 3, 31], [0, 0, 0], [1, 1, -5]]
