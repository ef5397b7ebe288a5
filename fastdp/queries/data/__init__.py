"""Rows to bounded integer sums: keys as codes, values as steps of a grid, persons together, memory or a spill file."""
