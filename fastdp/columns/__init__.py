"""One column at the boundary: any container in, a fresh buffer of the same kind out."""

from fastdp.columns.numeric import NumericColumn, read_numeric

__all__ = ["NumericColumn", "read_numeric"]
