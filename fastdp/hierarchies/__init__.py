"""Generalization hierarchies: coarser and coarser labels for the values of a column, from the value itself to "*".

Level 0 is the value, the last level is "*", and values that share a label share all labels above it.
"""

from fastdp.hierarchies.hierarchy import Hierarchy
from fastdp.hierarchies.labels import ANY

__all__ = ["ANY", "Hierarchy"]
