"""Reports of numbers whose mean is asked for: what such mechanisms share, and the estimate that comes of them."""
