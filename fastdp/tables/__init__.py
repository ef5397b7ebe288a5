"""Whole tables: sanitize them by a plan, estimate from them, and the receipts that say what was done."""
