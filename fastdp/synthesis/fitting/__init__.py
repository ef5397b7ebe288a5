"""Postprocessing: from noisy marginals to a graphical model, and from the model to rows.

It takes arrays of numbers and imports numpy and kernels alone, so that it cannot reach the data.
"""
