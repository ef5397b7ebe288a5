"""Kernels of additive noise on numbers: integer noise from tables, added on a grid, within bounds.

Imports the keystream and cell tables; never another family.
"""
