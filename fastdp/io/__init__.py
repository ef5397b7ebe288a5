"""Files and streams: open, read in batches, write atomically. They know nothing of plans, mechanisms or noise."""
