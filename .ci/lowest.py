"""The lowest versions that pyproject.toml allows of what fastdp and its tests need, as requirements for pip."""

import re
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
for requirement in project["dependencies"] + project["optional-dependencies"]["test"]:
    bounded = re.fullmatch(r"([\w-]+)>=([\d.]+)", requirement)
    if bounded is None:
        raise SystemExit(f"{requirement}: give a lower bound, and nothing else")
    print(f"{bounded[1]}=={bounded[2]}")
