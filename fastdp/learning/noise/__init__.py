"""Noise for the steps of a training: independent, correlated by a band of coefficients, or from a binary tree."""
