"""Files that every version wrote, and tests that this one reads them."""
