"""Mechanisms: immutable values that turn true values into private ones."""
