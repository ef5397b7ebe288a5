"""Randomness: keys, slots, and streams that are never used twice."""

from fastdp.random.job import JobKey
from fastdp.random.rng import Rng, default_rng

__all__ = ["JobKey", "Rng", "default_rng"]
