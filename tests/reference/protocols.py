"""Local protocols by their definitions: the exact law of a whole report as it is written, and what it costs.

A report is one number here, read from the bytes of the arrow array: laws are over reports as they leave the machine.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import mpmath
import numpy as np
import pyarrow as pa
from scipy.stats import chisquare

ONE = 1 << 128


def log_ratio(*ratios: Fraction) -> mpmath.mpf:
    """The logarithm of a product of exact ratios, to 80 digits."""
    return mpmath.fsum(mpmath.log(mpmath.mpf(r.numerator) / r.denominator) for r in ratios)


def unary_ratio(p: Fraction, q: Fraction) -> Fraction:
    return p * (1 - q) / (q * (1 - p))


def written(reports: pa.Array) -> np.ndarray:
    """The number of each report, from its buffers: whatever order or padding there is, it is in there."""
    if pa.types.is_struct(reports.type):
        number = np.zeros(len(reports), np.int64)
        for column in reports.flatten():
            number = number * 256 + written(column)
        return number
    if pa.types.is_boolean(reports.type):
        bits = np.unpackbits(np.frombuffer(reports.buffers()[1], np.uint8), bitorder="little")
        return bits[: len(reports)].astype(np.int64)
    if pa.types.is_fixed_size_binary(reports.type):
        rows = np.frombuffer(reports.buffers()[1], np.uint8).reshape(-1, reports.type.byte_width)
        return rows.astype(np.int64) @ 256 ** np.arange(rows.shape[1])
    if pa.types.is_fixed_size_list(reports.type):
        rows = reports.values.to_numpy().reshape(len(reports), -1)
        return rows.astype(np.int64) @ 256 ** np.arange(rows.shape[1])
    return reports.to_numpy().astype(np.int64)


def one_hot(p: float, q: float, k: int, x: int) -> tuple[np.ndarray, np.ndarray]:
    """k-ary reports, and whether they are x."""
    law = np.full(k, q)
    law[x] = p
    return law, np.arange(k) == x


def bit_law(chances: np.ndarray) -> np.ndarray:
    """Sets of independent bits, as numbers."""
    sets = (np.arange(1 << chances.size)[:, None] >> np.arange(chances.size)) & 1
    return np.where(sets, chances, 1 - chances).prod(axis=1)


def unary(p: float, q: float, k: int, x: int) -> tuple[np.ndarray, np.ndarray]:
    law = bit_law(np.where(np.arange(k) == x, p, q))
    return law, (np.arange(law.size) >> x) & 1 == 1


def subset(p: float, size: int, k: int, x: int) -> tuple[np.ndarray, np.ndarray]:
    law = np.zeros(1 << k)
    for values in combinations(range(k), size):
        share = p / math.comb(k - 1, size - 1) if x in values else (1 - p) / math.comb(k - 1, size)
        law[sum(1 << v for v in values)] = share
    return law, (np.arange(law.size) >> x) & 1 == 1


def hadamard(p: float, outputs: int, x: int) -> tuple[np.ndarray, np.ndarray]:
    agrees = np.bitwise_count(np.arange(outputs) & (x + 1)) % 2 == 0
    return np.where(agrees, p, 1 - p) * 2 / outputs, agrees


def rappor(p: float, q: float, filters: np.ndarray, x: int) -> tuple[np.ndarray, np.ndarray]:
    """A cohort times 256, plus the bits; a report supports x if all bits of its filter are set."""
    cohorts, _, bits = filters.shape
    law, support = np.zeros(256 * cohorts), np.zeros(256 * cohorts, bool)
    for cohort in range(cohorts):
        own = filters[cohort, x]
        law[256 * cohort : 256 * cohort + (1 << bits)] = bit_law(np.where(own, p, q)) / cohorts
        mask = int((own << np.arange(bits)).sum())
        support[256 * cohort : 256 * (cohort + 1)] = (np.arange(256) & mask) == mask
    return law, support


def dbitflip(p: float, q: float, k: int, asked: int, x: int) -> tuple[np.ndarray, np.ndarray]:
    """The asked buckets times 256, plus those answered with yes."""
    law = np.zeros(256 << k)
    for buckets in combinations(range(k), asked):
        mask = sum(1 << v for v in buckets)
        for yes in range(1 << k):
            if yes & ~mask == 0:
                chances = [(p if v == x else q) if yes >> v & 1 else 1 - (p if v == x else q) for v in buckets]
                law[mask * 256 + yes] = math.prod(chances) / math.comb(k, asked)
    return law, (np.arange(law.size) >> x) & 1 == 1


def pvalue(numbers: np.ndarray, law: np.ndarray, support: np.ndarray) -> float:
    """The smaller p-value of two chi-square tests: over all reports, and over those that support the truth or not."""
    size = numbers.size
    if numbers.max(initial=0) >= law.size:
        return 0.0
    seen = np.bincount(numbers, minlength=law.size)
    if seen[law == 0].any():
        return 0.0
    likely = law > 0
    whole = chisquare(seen[likely], law[likely] / law.sum() * size).pvalue
    parts = np.array([seen[support].sum(), seen[~support].sum()])
    chances = np.array([law[support].sum(), law[~support].sum()])
    return float(min(whole, chisquare(parts, chances * size).pvalue))


def tilt(law: np.ndarray, support: np.ndarray, factor: float) -> np.ndarray:
    """The law of a mutant: reports that support the truth are ``factor`` times as likely, all others the rest."""
    mass = law[support].sum()
    return np.where(support, law * factor, law * (1 - factor * mass) / (1 - mass))


def composed_krr(p1: Fraction, p2: Fraction, k: int) -> tuple[Fraction, Fraction]:
    """p and q of two rounds of k-RR, by summing over all first answers."""
    rows = [[p1 if x == y else (1 - p1) / (k - 1) for y in range(k)] for x in range(2)]
    second = [[p2 if y == z else (1 - p2) / (k - 1) for z in range(2)] for y in range(k)]
    return (
        sum(rows[0][y] * second[y][0] for y in range(k)),
        sum(rows[1][y] * second[y][0] for y in range(k)),
    )
