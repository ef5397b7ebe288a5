"""The risk of re-identification: by a prosecutor, a journalist or a marketer, and whether one is in the data at all."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from fastdp import validation


@dataclass(frozen=True, slots=True)
class Risk:
    """Probabilities of re-identification of records by their quasi-identifiers.

    The prosecutor knows that a person is in the data, the journalist only that they are in the population, and the
    marketer wants as many as possible. [El Emam 2013]
    """

    prosecutor: float
    """The largest 1 / f, for a class of f records."""
    mean: float
    """The mean of 1 / f over records: the share of records that matching at random gets right."""
    journalist: float | None
    """The largest 1 / F over classes with records, F people of the population in each; None without a population."""
    marketer: float
    """The expected share of records that are re-identified: the mean of 1 / F, or of 1 / f without a population."""
    presence: tuple[float, float] | None
    """Delta-presence: the least and the largest share f / F of a population's class that is in the data."""
    expected: float | None
    """With a sampling rate: the mean risk of records by the model of Benedetti and Franconi."""

    def to_dict(self) -> dict[str, Any]:
        """The figures, as JSON has them."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def sample_risk(sizes: np.ndarray, classes: np.ndarray, rate: float | None) -> Risk:
    """From the histogram of class sizes alone; ``rate`` is the share of the population that was sampled."""
    rows = float((sizes * classes).sum())
    mean = float(classes.sum()) / rows
    expected = None
    if rate is not None:
        rate = validation.probability("anonymity", "sampling_rate", rate)
        each = np.array([individual_risk(int(size), rate) for size in sizes])
        expected = float((each * sizes * classes).sum() / rows)
    return Risk(1.0 / float(sizes[0]), mean, None, mean, None, expected)


def population_risk(alone: Risk, sampled: np.ndarray, population: np.ndarray) -> Risk:
    """With the people of a population in the same classes: ``sampled`` records and ``population`` of each class."""
    hit = sampled > 0
    share = sampled / population
    return Risk(
        alone.prosecutor,
        alone.mean,
        float(1.0 / population[hit].min()),
        float((sampled[hit] / population[hit]).sum() / sampled.sum()),
        (float(share.min()), float(share.max())),
        alone.expected,
    )


def individual_risk(size: int, rate: float) -> float:
    """The expected 1 / F of a record in a class of ``size`` sampled ones, by Benedetti and Franconi (1998).

    F given f is negative binomial with f successes at the sampling rate p.

    >>> round(individual_risk(1, 0.1), 6)
    0.255843
    """
    p, q = rate, 1.0 - rate
    # E[1/F] = p I_f with I_f the integral of (1 - t)^(f - 1) / (1 - q t) over [0, 1], and q I_(f+1) = 1/f - p I_f
    if p < 0.5 and size < 400:
        integral = -math.log(p) / q
        for f in range(1, size):
            integral = (1.0 / f - p * integral) / q
        return p * integral
    term, total, n = 1.0 / size, 1.0 / size, 0
    while term > total * 1e-17:
        n += 1
        term *= q * n / (size + n)
        total += term
    return p * total


def expected_uniques(people: int, cells: int) -> float:
    """The expected number of unique records among people spread evenly over cells: n (1 - 1/D)^(n - 1).

    >>> round(expected_uniques(1000, 1000), 4)
    368.0635
    """
    people = validation.positive_integer("anonymity", "people", people)
    cells = validation.positive_integer("anonymity", "cells", cells)
    if cells == 1:
        return float(people == 1)
    return people * math.exp((people - 1) * math.log1p(-1.0 / cells))
