"""The five types of results have one base."""

from __future__ import annotations

import numpy as np
import pytest

import fastdp as fd
from fastdp.mechanisms.local.frequencies import FrequencyEstimate
from fastdp.mechanisms.local.means.estimate import MeanEstimate
from fastdp.mechanisms.local.square_wave import DistributionEstimate
from fastdp.results import Result
from fastdp.tables.estimating.results import ColumnEstimate

SHARES = np.array([0.25, 0.75])
RESULTS = {
    "distribution": fd.Estimate(SHARES, 0.0, -1.0, 1, "EM", 100),
    "frequencies": FrequencyEstimate(SHARES, SHARES / 10, 100),
    "mean": MeanEstimate(0.5, 0.1, 100),
    "bins": DistributionEstimate(SHARES, 0.5, 3, 100),
    "lines": ColumnEstimate("a", "KRR", "shares", 100, 0.95, "EM", ()),
}


@pytest.mark.parametrize("name", RESULTS)
def test_value__is_the_field_of_the_estimate(name):
    result = RESULTS[name]

    assert isinstance(result, Result)
    assert result.value is getattr(result, type(result).estimated)
    assert not hasattr(result, "__dict__")
