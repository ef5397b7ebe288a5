"""Anonymity of tables: what classes of equal quasi-identifiers give away, and generalization until they do not.

Everything is counted, nothing is drawn. Results hold counts and figures, never a record's value.
"""

from fastdp.anonymity.classes import Classes, classes
from fastdp.anonymity.result import Anonymized
from fastdp.anonymity.risk import Risk

__all__ = ["Anonymized", "Classes", "Risk", "classes"]
