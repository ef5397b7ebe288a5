"""Sanitize a table: the job, its stages, public columns, shuffling, and the receipt."""
