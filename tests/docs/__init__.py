"""Tests of the documentation: what is printed is run."""
