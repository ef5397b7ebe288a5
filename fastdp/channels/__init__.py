"""Channels: what a mechanism with finitely many inputs and outputs does, as probabilities."""

from fastdp.channels.base import LARGEST_DENSE, CascadeChannel, Channel, DenseChannel
from fastdp.channels.grid import GridChannel
from fastdp.channels.krr import KRRChannel
from fastdp.channels.line import GeometricChannel, LaplaceChannel
from fastdp.channels.observed import Observed
from fastdp.channels.product import ProductChannel
from fastdp.channels.sparse import SparseChannel
from fastdp.channels.support import SupportChannel

__all__ = [
    "LARGEST_DENSE", "CascadeChannel", "Channel", "DenseChannel", "GeometricChannel", "GridChannel", "KRRChannel",
    "LaplaceChannel", "Observed", "ProductChannel", "SparseChannel", "SupportChannel",
]  # fmt: skip
