"""The likelihood of counts, and algorithms that maximise it."""
