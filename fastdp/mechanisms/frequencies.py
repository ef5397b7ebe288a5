"""What local protocols share: support counts that merge, and unbiased frequencies from them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastdp import validation
from fastdp.errors import ParameterError


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """How many of ``n`` reports support each value; counts of batches and machines add up."""

    support: np.ndarray
    n: int

    def __add__(self, other: Counts) -> Counts:
        if not isinstance(other, Counts) or other.support.shape != self.support.shape:
            raise ParameterError("Counts: only counts of the same domain add up")
        return Counts(self.support + other.support, self.n + other.n)

    def __repr__(self) -> str:
        return f"Counts(n={self.n}, values={self.support.size})"


@dataclass(frozen=True, slots=True, eq=False)
class FrequencyEstimate:
    """Unbiased frequencies of each value, with their standard errors; they may be negative, and need not sum to 1."""

    frequencies: np.ndarray
    std_error: np.ndarray
    n: int

    def interval(self, level: float) -> tuple[np.ndarray, np.ndarray]:
        """Normal confidence intervals, one per value."""
        from statistics import NormalDist

        width = NormalDist().inv_cdf((1 + validation.level("FrequencyEstimate", level)) / 2) * self.std_error
        return self.frequencies - width, self.frequencies + width

    def __repr__(self) -> str:
        return f"FrequencyEstimate(n={self.n}, values={self.frequencies.size})"


class FrequencyProtocol(ABC):
    """A local protocol whose reports support values: the true one with probability p, any given other one with q."""

    __slots__ = ()

    @property
    @abstractmethod
    def p(self) -> float:
        """The probability of a report to support the true value."""

    @property
    @abstractmethod
    def q(self) -> float:
        """The probability of a report to support a given other value."""

    @abstractmethod
    def aggregate(self, reports: Any) -> Counts:
        """How many reports support each value, in one pass; counts of batches add up."""

    def variance(self, n: int, frequency: float = 0.0) -> float:
        """The variance of the estimated frequency of one value over ``n`` reports."""
        n, frequency = check_variance_arguments(type(self).__name__, n, frequency)
        return float(protocol_variance(self.p, self.q, n, frequency))

    def estimate(self, reports: Any) -> FrequencyEstimate:
        """Unbiased frequencies of each value, with standard errors, from reports or from their counts."""
        return unbiased(self.p, self.q, self._counts_of(reports))

    def _counts_of(self, reports: Any) -> Counts:
        """The counts of reports, or the given ones if they can be this protocol's."""
        if not isinstance(reports, Counts):
            return self.aggregate(reports)
        owner, shape = type(self).__name__, self._support_shape()
        if reports.support.shape != shape:
            raise ParameterError(f"{owner}: the counts must be of shape {shape}, got {reports.support.shape}")
        return reports

    def _support_shape(self) -> tuple[int, ...]:
        """The shape of this protocol's counts."""
        return (self.domain.size,)  # type: ignore[attr-defined]


def protocol_variance(p: float, q: float, n: int, frequency: Any) -> Any:
    """(q (1-q) / (p-q)**2 + f (1-p-q) / (p-q)) / n: the variance of one value's estimate over n reports."""
    return (q * (1 - q) / (p - q) ** 2 + frequency * (1 - p - q) / (p - q)) / n


def unbiased(p: float, q: float, counts: Counts) -> FrequencyEstimate:
    """(support / n - q) / (p - q), each with its standard error at the estimated frequency."""
    if counts.n < 1:
        raise ParameterError("estimate: there are no reports")
    frequencies = (counts.support / counts.n - q) / (p - q)
    errors = np.sqrt(protocol_variance(p, q, counts.n, np.clip(frequencies, 0, 1)))
    return FrequencyEstimate(frequencies, errors, counts.n)


def check_variance_arguments(owner: str, n: Any, frequency: Any) -> tuple[int, float]:
    """A number of reports and a frequency in [0, 1]."""
    n = validation.positive_integer(owner, "n", n)
    if not validation.is_number(frequency) or not 0 <= frequency <= 1 or math.isnan(frequency):
        raise ParameterError(f"{owner}: frequency must be a number from 0 to 1, got {frequency!r}")
    return n, float(frequency)
