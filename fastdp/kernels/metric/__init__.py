"""Kernels of noise on the plane and of points on a map.

Imports the keystream and cell tables; never another family.
"""
