"""Additive mechanisms on numbers: Laplace, geometric, Gaussian, discrete Gaussian, staircase."""
