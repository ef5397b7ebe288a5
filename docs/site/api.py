"""The reference: every public name, on a page for its room, in the order of the package's list of names."""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path

ROOT = Path(__file__).parents[2]
TITLES = {
    "mechanisms": "Mechanisms, shared", "estimators": "Estimates", "accounting": "Accounting and the ledger",
    "queries": "Central releases", "plans": "Plans", "tables": "Tables and files", "audits": "Audits",
    "attacks": "Attacks", "anonymity": "Anonymity", "fairness": "Fairness", "learning": "Learning",
    "locations": "Locations", "measures": "Measures", "channels": "Channels", "privacy": "Guarantees",
    "random": "Randomness", "errors": "Errors", "threads": "Threads", "synthesis": "Synthetic data",
    "hierarchies": "Hierarchies", "integrations": "Engines",
}  # fmt: skip


def homes() -> dict[str, str]:
    """The module of each public name."""
    lines = (ROOT / "fastdp" / "__init__.pyi").read_text(encoding="utf-8").splitlines()
    words = [line.split() for line in lines if line.startswith("from ")]
    return {name: module for _, module, _, name, *_ in words}


def pages() -> list[tuple[str, str, str]]:
    """(file, title, text) of every page of the reference; mechanisms have pages of their own."""
    rooms: dict[str, list[str]] = {}
    for name, module in homes().items():
        if module == "fastdp":
            if name != "mechanisms":
                rooms.setdefault(name, []).extend(_of_room(name))
        elif name != "__version__" and not _has_own_page(module):
            rooms.setdefault(module.split(".")[1], []).append(f"{module}.{name}")
    return [
        (room, TITLES.get(room, room.capitalize()), _blocks(names)) for room, names in sorted(rooms.items()) if names
    ]


def _has_own_page(module: str) -> bool:
    return module.startswith(("fastdp.mechanisms.central", "fastdp.mechanisms.local", "fastdp.mechanisms.metric"))


def _of_room(room: str) -> list[str]:
    """What a room offers under its own name."""
    module = importlib.import_module(f"fastdp.{room}")
    found = []
    for name in sorted(getattr(module, "__all__", ())):
        value = getattr(module, name)
        home = getattr(value, "__module__", None)
        if home and (inspect.isclass(value) or inspect.isfunction(value)) and home.startswith("fastdp"):
            found.append(f"{home}.{value.__qualname__}")
    return found


def _blocks(names: list[str]) -> str:
    return "\n\n".join(f"::: {name}" for name in dict.fromkeys(names)) + "\n"
