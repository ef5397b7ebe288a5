"""Estimate from a sanitized table: one reader per kind of report, and the results."""
