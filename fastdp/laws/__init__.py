"""Laws: exact integers for the kernels, what they cost, and how to calibrate them.

A law draws through an engine; it never touches a column or an Rng by itself.
"""
