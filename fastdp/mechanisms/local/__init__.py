"""Local protocols: each person's value is randomized on its own."""
