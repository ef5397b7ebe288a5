"""Kernels of local protocols: one report per value, and counts of reports.

Imports the keystream; never another family.
"""
