"""Fairness when attributes, labels or decisions are reports of a mechanism: counts won back through its channel.

Taken at face value such reports make decisions look fairer than they are: with two groups of one size the gap shrinks
by tanh(epsilon / 2).
"""
