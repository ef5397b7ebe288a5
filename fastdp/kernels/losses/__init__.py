"""Moment functions of privacy losses at complex nodes, and their inversion; no sum is reordered."""
