"""Many columns at once: plans, streams of batches, files that appear whole or not at all, receipts."""
