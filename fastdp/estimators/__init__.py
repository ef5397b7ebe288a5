"""Estimators: from counts of noisy reports back to the distribution of what was true. They draw no mechanism noise."""

from fastdp.estimators.estimate import estimate
from fastdp.estimators.ibu import ibu, ibu_many
from fastdp.estimators.inversion import invert
from fastdp.estimators.result import Estimate
from fastdp.estimators.simplex import clip_simplex, project_simplex

__all__ = ["Estimate", "clip_simplex", "estimate", "ibu", "ibu_many", "invert", "project_simplex"]
