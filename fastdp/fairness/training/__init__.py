"""Fairness before and while a model is trained: reweighing, suppressing proxies, reductions, measured on held-out rows.

Models are the user's own, with scikit-learn's ``fit`` and ``predict``. What a method achieves is told by a table of
rows that it has not seen.
"""
