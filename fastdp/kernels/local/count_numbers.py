"""Adding up reports of numbers in one pass."""

from __future__ import annotations

import numpy as np

from fastdp.kernels.jit import kernel

IMPOSSIBLE = 1
LANES = 16
"""Sums side by side: additions of one sum wait for each other."""


@kernel
def add_reports(reports, centre, least, most, sums):
    """Add the reports' distances from ``centre`` to ``sums[0]``, and the squares of these to ``sums[1]``.

    Pre:  sums is float64[2, LANES]; what counts is the sum of a row.
    Post: the result is IMPOSSIBLE if any report is not in [least, most], NaN included; sums are then meaningless.
    """
    bad = np.uint8(0)
    whole = reports.size // LANES * LANES
    for start in range(0, whole, LANES):
        part = reports[start : start + LANES]
        for lane in range(LANES):
            report = np.float64(part[lane])
            bad |= np.uint8(not (report >= least)) | np.uint8(not (report <= most))
            distance = report - centre
            sums[0, lane] += distance
            sums[1, lane] += distance * distance
    for i in range(whole, reports.size):
        report = np.float64(reports[i])
        bad |= np.uint8(not (report >= least)) | np.uint8(not (report <= most))
        distance = report - centre
        sums[0, i - whole] += distance
        sums[1, i - whole] += distance * distance
    return bad


@kernel
def count_reports(reports, low, slope, margin, least, most, counts):
    """Add the number of reports in each bin to ``counts``; bin b starts at low + (b - margin) / slope.

    Pre:  counts is int64[4, bins]; four rows, so that equal neighbours do not wait for each other.
    Post: reports beyond the first and last bin count there. The result is IMPOSSIBLE if any report is not in
          [least, most], NaN included; such reports are not counted.
    """
    bad = np.uint8(0)
    last = np.float64(counts.shape[1] - 1)
    for i in range(reports.size):
        report = np.float64(reports[i])
        if report >= least and report <= most:
            place = (report - low) * slope + margin
            place = place if place > 0.0 else 0.0
            counts[i & 3, np.int64(place if place < last else last)] += 1
        else:
            bad = np.uint8(IMPOSSIBLE)
    return bad
