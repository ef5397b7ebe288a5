"""The compiled core, and the only importer of numba: keystream, private streams, noise, protocols, products."""
