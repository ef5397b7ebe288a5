"""What fastdp costs, measured beside its rivals: ``python -m benchmarks.run``, then ``python -m benchmarks.report``."""
