"""Real decisions, read from the folder that the environment variable FASTDP_FAIRNESS names."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import numpy as np
import pytest

FOLDER = os.environ.get("FASTDP_FAIRNESS")
needs_data = pytest.mark.skipif(FOLDER is None, reason="FASTDP_FAIRNESS names no folder with COMPAS, FICO and German")


ADULT = os.environ.get("FASTDP_ANONYMITY")
needs_adult = pytest.mark.skipif(ADULT is None, reason="FASTDP_ANONYMITY names no folder with Adult")


def adult() -> dict[str, np.ndarray]:
    """Sex, race and whether the salary is above 50K, of 30,162 people."""
    with (Path(ADULT) / "adult.csv").open() as file:
        found = list(csv.DictReader(file, delimiter=";"))
    return {
        "sex": np.array([row["sex"] for row in found]),
        "race": np.array([row["race"] for row in found]),
        "rich": np.array([int(row["salary-class"] == ">50K") for row in found]),
    }


def rows(name: str) -> list[dict[str, str]]:
    with (Path(FOLDER) / name).open() as file:
        return list(csv.DictReader(file))


def compas() -> dict[str, np.ndarray]:
    """Race, sex, two-year recidivism, the decision "not low", and the decile score."""
    found = rows("compas_two_years.csv")
    return {
        "race": np.array([row["race"] for row in found]),
        "sex": np.array([row["sex"] for row in found]),
        "label": np.array([int(row["two_year_recid"]) for row in found]),
        "decision": np.array([int(row["score_text"] != "Low") for row in found]),
        "score": np.array([int(row["decile_score"]) for row in found]),
    }


def german() -> dict[str, np.ndarray]:
    """Sex, age group, whether credit was good, and the columns that tell most, of 1,000 people."""
    lines = [line.split() for line in (Path(FOLDER) / "german.data").read_text().splitlines() if line.strip()]
    status = np.array([line[8] for line in lines])
    return {
        "sex": np.where(np.isin(status, ["A92", "A95"]), "female", "male"),
        "age": np.where(np.array([int(line[12]) for line in lines]) > 25, "over 25", "to 25"),
        "good": np.array([int(line[20] == "1") for line in lines]),
        "features": np.array([[int(line[0][2:]), int(line[1]), int(line[4]), int(line[5][2:])] for line in lines]),
    }


def fico() -> tuple[list[str], np.ndarray, np.ndarray, np.ndarray]:
    """Groups, scores, and how many pay back and default at each score, [group, label, score], of one million people."""
    shares, failures = rows("fico/transrisk_cdf_by_race_ssa.csv"), rows("fico/transrisk_performance_by_race_ssa.csv")
    totals = rows("fico/totals.csv")[0]
    groups = [name for name in shares[0] if name != "Score"]
    scores = np.array([float(row["Score"]) for row in shares])
    below = np.array([[float(row[group]) for group in groups] for row in shares]) / 100
    mass = np.diff(below, axis=0, prepend=0)
    mass /= mass.sum(axis=0)
    paid = 1 - np.array([[float(row[group]) for group in groups] for row in failures]) / 100
    weights = np.array([float(totals[group]) for group in groups])
    mass = mass * weights / weights.sum()
    return groups, scores, np.stack([mass * (1 - paid), mass * paid]).transpose(2, 0, 1)
