"""How often each thing was tried in this run."""

from __future__ import annotations

from collections import Counter

TRIED: Counter[str] = Counter()
LEAST = {"parameter sets in exact arithmetic": 20_000, "chi-square tests": 110, "malformed files": 796, "faults": 60}
"""What a whole run tries at least."""
