"""Figures that are measured in parts of a minute or two, where a rival takes too long for a run of all jobs."""
