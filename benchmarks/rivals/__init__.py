"""How each library does each job, by the best of its public calls. Rivals are imported inside functions."""
