"""Channels: what a mechanism with finitely many inputs and outputs does, as probabilities."""

from fastdp.channels.base import Channel
from fastdp.channels.dense import DenseChannel
from fastdp.channels.line import GeometricChannel

__all__ = ["Channel", "DenseChannel", "GeometricChannel"]
