"""Rows as codes: columns of any type as small integers, and the classes that rows with equal codes make."""
