"""Every guarantee that fastdp prints, recomputed from outside.

`exact` computes what a report of each mechanism costs, in mpmath and fractions, from the integers that are drawn from,
without the package's own cost functions. The tests compare it with what properties, plans, receipts and commands state,
and fail for a mechanism of the contract lists, or a public class with a guarantee, that has no recomputation.
"""
