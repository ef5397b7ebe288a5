"""An attempt to break fastdp, repeated: ``pytest -m slow tests/hostile``. It prints what it tried, and how often."""
