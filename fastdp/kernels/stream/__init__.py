"""The keystream and private streams: ciphers, words, bits and coin flips drawn from a record's own slot.

Imports kernels alone. Never draws for one record from another's slot.
"""
