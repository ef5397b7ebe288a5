"""Gradients of single examples: their norms, and their sum on an integer grid."""
