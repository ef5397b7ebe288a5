"""Frequent strings without a declared domain: reports of hashed prefixes, and the search that extends them."""
