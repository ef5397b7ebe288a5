"""Counting the outputs that audits compare."""
