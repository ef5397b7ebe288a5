"""Fairness of decisions between groups: criteria with intervals that cover, also from sanitized attributes.

Everything is a function of one table of counts. It draws no noise: mechanisms come to it as values.
"""

from fastdp.fairness.build import table
from fastdp.fairness.contrasts import Contrast
from fastdp.fairness.criteria import Criterion
from fastdp.fairness.lipschitz import LipschitzCheck, individual
from fastdp.fairness.rates import Rates
from fastdp.fairness.sanitized import SanitizedTable
from fastdp.fairness.tables import FairnessTable

__all__ = ["Contrast", "Criterion", "FairnessTable", "Rates", "SanitizedTable", "table"]
