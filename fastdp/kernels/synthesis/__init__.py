"""Synthetic tables: counts of marginals, sums and products along the axes of tables, and rows drawn in strata."""
