"""Fairness of decisions between groups: criteria with intervals that cover, also from sanitized attributes.

Everything is a function of one table of counts. It draws no noise: mechanisms come to it as values.
"""

from fastdp.fairness.achieving.policies import Policy
from fastdp.fairness.achieving.prices import Price
from fastdp.fairness.build import table
from fastdp.fairness.contrasts import Contrast
from fastdp.fairness.criteria import Criterion
from fastdp.fairness.lipschitz import LipschitzCheck, individual
from fastdp.fairness.longrun.lending import lending
from fastdp.fairness.longrun.patrols import patrols
from fastdp.fairness.proxies import proxies
from fastdp.fairness.rates import Rates
from fastdp.fairness.read import read
from fastdp.fairness.sanitized.tables import SanitizedTable
from fastdp.fairness.tables import FairnessTable
from fastdp.fairness.training.comparing import compare
from fastdp.fairness.training.reductions import train
from fastdp.fairness.training.reweighing import reweigh
from fastdp.fairness.training.suppression import suppress_proxies

__all__ = [
    "Contrast", "Criterion", "FairnessTable", "LipschitzCheck", "Policy", "Price", "Rates", "SanitizedTable",
    "compare", "individual", "lending", "patrols", "proxies", "read", "reweigh", "suppress_proxies", "table", "train",
]  # fmt: skip
