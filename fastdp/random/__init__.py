"""Randomness: keys, slots, and streams that are never used twice."""

from fastdp.random.rng import Rng, default_rng

__all__ = ["Rng", "default_rng"]
