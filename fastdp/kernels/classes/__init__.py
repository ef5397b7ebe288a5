"""Kernels of equivalence classes: keys, class sizes, diversity within classes, roll-ups and Mondrian."""
