"""Synthetic tables: marginals measured with exact noise, a graphical model fitted to them, rows drawn from it.

`curator` alone holds the data and gives out noisy answers; `fitting` makes a model and rows of those, and can import
nothing that reads data.
"""
