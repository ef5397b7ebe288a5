"""Tables of the lectures, and real ones from the folder that the environment variable FASTDP_ANONYMITY names."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pyarrow import csv

from fastdp.hierarchies import Hierarchy

FOLDER = os.environ.get("FASTDP_ANONYMITY")
needs_data = pytest.mark.skipif(FOLDER is None, reason="FASTDP_ANONYMITY names no folder with Adult")

INPATIENT = {
    "zip": ["130**"] * 4 + ["1485*"] * 4 + ["130**"] * 4,
    "age": ["<30"] * 4 + [">=40"] * 4 + ["3*"] * 4,
    "nationality": ["*"] * 12,
    "condition": [
        "Heart", "Heart", "Viral", "Viral", "Cancer", "Heart", "Viral", "Viral", "Cancer", "Cancer", "Cancer", "Cancer",
    ],
}  # fmt: skip
SAARLAND = {
    "age": ["60-70"] * 5 + ["50-60"] * 4,
    "gender": list("MFMFM") + list("FMMF"),
    "zip": ["191**"] * 9,
    "smoker": list("YNYNY") + list("NYYN"),
    "disease": ["Heart", "Arthritis", "Lung", "Crohn", "Lung", "HIV", "Lyme", "Allergy", "Colitis"],
}


def adult():
    """The 30,162 complete rows of Adult."""
    return csv.read_csv(Path(FOLDER) / "adult.csv", parse_options=csv.ParseOptions(delimiter=";"))


def hierarchy(column: str) -> Hierarchy:
    return Hierarchy.load(Path(FOLDER) / "hierarchies" / f"adult_hierarchy_{column}.csv")


SIX = ("age", "education", "marital-status", "occupation", "sex", "native-country")
