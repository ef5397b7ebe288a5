"""Tests of what results show of themselves."""
