"""Estimators: from counts of noisy reports back to the distribution of what was true. They draw no mechanism noise."""

from fastdp.estimators.batches import ibu_many
from fastdp.estimators.ibu import ibu
from fastdp.estimators.inversion import invert
from fastdp.estimators.reports import estimate
from fastdp.estimators.result import Estimate
from fastdp.estimators.simplex import clip_simplex, project_simplex

__all__ = ["Estimate", "clip_simplex", "estimate", "ibu", "ibu_many", "invert", "project_simplex"]
