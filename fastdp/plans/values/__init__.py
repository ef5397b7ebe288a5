"""What becomes of values before they are randomized: one element of a list, spellings, and which of them are null."""
