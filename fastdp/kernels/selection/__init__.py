"""Selection among scored candidates: the largest score, counts by distance from it, and independent acceptances."""
