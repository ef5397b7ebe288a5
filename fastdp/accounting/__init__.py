"""The budget of a data set: what releases cost together, and the ledger that lets none through beyond the limit.

Imports guarantees (`privacy`), losses and the kernels that compose them (`kernels.losses`), never data or randomness.
"""
