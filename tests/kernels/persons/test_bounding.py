"""Bounds per person against a naive version in Python, in every mode."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fastdp.kernels.persons import bounding
from tests.kernels.persons.naive import kept_of, naive, visits

MODES = [bounding.SAMPLE, bounding.SCALE_L1, bounding.SCALE_L2, bounding.ROWS]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("widths", [[], [1], [2], [3], [1, 2, 3]])
def test_bounds__are_those_of_each_person_alone(mode, widths):
    persons, codes, steps, widths = visits(120, 1500, 0.3, widths)
    kept = kept_of(persons, codes, steps, widths, 3, 2, mode)
    expected = naive(persons, codes, steps, widths, 3, 2, mode)
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
        kept = kept_of(persons, codes, steps, np.zeros(0, np.int64), 3, 2, mode)
        rows = [int(value) for value in kept[:, 2]]
        norm = sum(rows) if mode == bounding.SCALE_L1 else math.isqrt(sum(value * value for value in rows))
        most = 3 * 2 << 16 if mode == bounding.SCALE_L1 else math.isqrt(3 * (2 << 16) ** 2)
        assert 0.99 * most < norm <= most


def test_excess_rows__count_as_their_mean():
    """Rows 1, 2, 3, 4, 10 of which two count: 8, the exact mean of what sampling would give."""
    steps = np.array([[1, 2, 3, 4, 10]], np.int32)
    arguments = np.full(5, 3, np.uint64), np.zeros(5, np.int32), steps, np.array([1])
    kept = kept_of(*arguments, 1, 2, bounding.SAMPLE)
    assert kept.tolist() == [[0, 1, 2, 8]]


def test_add_kept():
    kept = np.array([[0, 1, 2, 30], [2, 1, 1, -5], [0, 0, 1, 1]])
    sums = np.zeros((3, 3), np.int64)
    bounding.add_kept(kept, 3, sums)
    assert sums.tolist() == [[1, 3, 31], [0, 0, 0], [1, 1, -5]]
