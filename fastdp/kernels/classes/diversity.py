"""What a class tells about a sensitive value: every model's figure of one class, and the worst over all classes.

A class comes as its distinct values, ascending, with their counts. The table's own shares come as ``shares`` with their
logarithms, ``below[s]`` (the sum of shares of values up to s) and ``area[s]`` (the sum of ``below`` before s).
"""

from __future__ import annotations

import numpy as np

from fastdp.kernels.jit import inlined, kernel, part

SIZE, DISTINCT, ENTROPY, RECURSIVE, ALPHA, EQUAL, ORDERED, BETA, DELTA, MISSING = range(10)
"""Places of the figures of a class. DELTA is of the values that occur; MISSING is 1 where one does not."""
FIGURES = 10
HOMOGENEOUS, RIGHT, INFORMATION, CLASSES = 10, 11, 12, 13
"""Sums over classes: rows of classes with one value, rows that the best guess gets right, rows times entropy."""
SUMMARY = 14
SHORT = 8


@inlined
def distance_between(share, begin, end, below, area):
    """The sum of ``abs(share - below[s])`` over begin <= s < end; ``below`` ascends."""
    if end - begin <= SHORT:
        total = 0.0
        for s in range(begin, end):
            total += abs(share - below[s])
        return total
    low, high = begin, end
    while low < high:
        middle = (low + high) >> 1
        if below[middle] < share:
            low = middle + 1
        else:
            high = middle
    return share * (low - begin) - (area[low] - area[begin]) + (area[end] - area[low]) - share * (end - low)


@part
def measure_class(values, counts, begin, end, depth, shares, logs, below, area, largest, figures):
    """Write the figures of one class.

    Pre:  values[begin:end] ascend, counts[begin:end] > 0; largest has ``depth`` places; shares are positive.
    Post: figures[:FIGURES] as the places above say; RECURSIVE is r_1 / (r_l + ... + r_m) for l = depth, infinite where
          the class has fewer than l values, 0 for depth 0.
    """
    size = np.int64(0)
    top = np.int64(0)
    for e in range(begin, end):
        size += counts[e]
        if counts[e] > top:
            top = counts[e]
    whole = 1.0 / size
    log_size = np.log(np.float64(size))
    spread, equal, beta, delta, ordered, seen = 0.0, 0.0, -1.0, 0.0, 0.0, 0.0
    place = 0
    for e in range(begin, end):
        s = np.int64(values[e])
        count = np.float64(counts[e])
        log_count = np.log(count)
        share = count * whole
        spread += count * log_count
        if share > shares[s]:
            equal += share - shares[s]
        gain = (share - shares[s]) / shares[s]
        if gain > beta:
            beta = gain
        change = abs(log_count - log_size - logs[s])
        if change > delta:
            delta = change
        ordered += distance_between(seen * whole, place, s, below, area)
        seen += count
        place = s
    known = shares.size
    ordered += distance_between(1.0, place, known, below, area)
    figures[SIZE] = size
    figures[DISTINCT] = end - begin
    figures[ENTROPY] = max(0.0, log_size - spread * whole)
    figures[ALPHA] = top * whole
    figures[EQUAL] = equal
    figures[ORDERED] = ordered / (known - 1) if known > 1 else 0.0
    figures[BETA] = beta
    figures[DELTA] = delta
    figures[MISSING] = 1.0 if end - begin < known else 0.0
    figures[RECURSIVE] = 0.0
    if depth > 0:
        figures[RECURSIVE] = recursive_ratio(counts, begin, end, depth, size, top, largest)


@inlined
def recursive_ratio(counts, begin, end, depth, size, top, largest):
    """The largest count over the sum of all but the ``depth - 1`` largest."""
    if end - begin < depth:
        return np.inf
    for j in range(depth - 1):
        largest[j] = 0
    for e in range(begin, end):
        count = counts[e]
        j = depth - 1
        while j > 0 and largest[j - 1] < count:
            if j < depth - 1:
                largest[j] = largest[j - 1]
            j -= 1
        if j < depth - 1:
            largest[j] = count
    rest = size
    for j in range(depth - 1):
        rest -= largest[j]
    return top / rest


@inlined
def fold_class(figures, summary):
    """Let the summary hold the worst of each figure so far, and the sums."""
    for j in range(3):
        summary[j] = min(summary[j], figures[j])
    for j in range(3, FIGURES):
        summary[j] = max(summary[j], figures[j])
    size = figures[SIZE]
    if figures[DISTINCT] == 1.0:
        summary[HOMOGENEOUS] += size
    summary[RIGHT] += np.rint(figures[ALPHA] * size)
    summary[INFORMATION] += size * figures[ENTROPY]
    summary[CLASSES] += 1.0


@kernel
def fold_entries(offsets, values, counts, depth, shares, logs, below, area, largest, figures, summary):
    """Fold all classes of a list of entries into ``summary``.

    Pre:  the entries of class c are at offsets[c] to offsets[c + 1], by ``buckets.list_entries``; summary starts with
          infinity in its first three places and 0 in the others.
    """
    for c in range(offsets.size - 1):
        measure_class(
            values, counts, offsets[c], offsets[c + 1], depth, shares, logs, below, area, largest, figures
        )  # fmt: skip
        fold_class(figures, summary)


@inlined
def list_counts(row, values, counts):
    """List the values that a row counts, ascending, with how often each occurs; returns how many."""
    found = 0
    for s in range(row.size):
        if row[s]:
            values[found] = s
            counts[found] = row[s]
            found += 1
    return found


@kernel
def fold_table(table, depth, shares, logs, below, area, values, counts, largest, figures, summary):
    """Fold all classes of a direct table [key, value] into ``summary``, as :func:`fold_entries`."""
    for key in range(table.shape[0]):
        found = list_counts(table[key], values, counts)
        if found:
            measure_class(values, counts, 0, found, depth, shares, logs, below, area, largest, figures)
            fold_class(figures, summary)


@kernel
def check_entries(offsets, values, counts, depth, shares, logs, below, area, low, high, largest, figures, fits):
    """Write whether every figure of a class lies within its limits, for all classes of a list of entries.

    Pre:  as :func:`fold_entries`; low and high have a limit for every figure.
    """
    for c in range(offsets.size - 1):
        measure_class(
            values, counts, offsets[c], offsets[c + 1], depth, shares, logs, below, area, largest, figures
        )  # fmt: skip
        fits[c] = True
        for j in range(FIGURES):
            if not (low[j] <= figures[j] <= high[j]):
                fits[c] = False
