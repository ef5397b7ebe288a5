"""How long a test waits for a process or a thread before it is taken to hang: no machine is that slow."""

PATIENCE = 1800
"""Seconds."""
