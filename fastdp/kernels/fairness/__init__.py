"""Kernels of fairness: tables of counts in one pass."""
