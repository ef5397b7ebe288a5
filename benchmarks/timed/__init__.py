"""The jobs under pytest-benchmark: ``pytest benchmarks --benchmark-only``."""
