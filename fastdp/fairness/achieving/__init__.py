"""Decisions that meet a criterion: thresholds per group, randomized odds, Platt scaling, and the price of each.

Everything is a function of a table of scores. Policies are values, and draw coins only where a caller gives the seed.
"""
