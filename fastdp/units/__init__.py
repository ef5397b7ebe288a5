"""Units as people write them: lengths and rates, and dates, times, durations and decimals as whole steps."""
