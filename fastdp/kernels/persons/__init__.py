"""Releases about persons: values as steps, keys and persons as codes, bounded contributions, exact integer sums."""
