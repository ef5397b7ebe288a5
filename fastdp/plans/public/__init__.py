"""What is released of public columns instead of their values: coarser ones, and pseudonyms. None of it is private."""
