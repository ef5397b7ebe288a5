"""The first reports of every protocol for a fixed seed. ``python -m tests.contracts.golden_protocols`` writes them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import fastdp as fd
from tests.contracts.protocols import PROTOCOLS, Protocol

PATH = Path(__file__).with_name("golden_protocols.json")
SHOWN = 40


def reports_of(protocol: Protocol) -> list[str]:
    """The bytes of reports in a small domain, from around the end of a tile of slots; a digest of those in a larger."""
    shown = []
    for epsilon, k in ((1.3, 11), (0.4, 150)):
        rng = fd.Rng.unsafe_seed(42)
        rng.reserve(1000)
        reports = protocol.randomize(protocol.make(epsilon, k), protocol.values(SHOWN, k), rng=rng)
        shown.append([report.tobytes() for report in reports])
    small, large = shown
    return [*(report.hex() for report in small), hashlib.blake2b(b"".join(large), digest_size=16).hexdigest()]


if __name__ == "__main__":
    PATH.write_text(json.dumps({protocol.name: reports_of(protocol) for protocol in PROTOCOLS}, indent=0) + "\n")
