"""Rows to learn from: numbers, texts, dates and NULLs, and labels that follow from them."""

from __future__ import annotations

from typing import Any

import numpy as np

ROWS = 2_000


def columns(rows: int = ROWS, seed: int = 1) -> dict[str, Any]:
    """The features. A tenth of the ages and of the parties is NULL."""
    random = np.random.default_rng(seed)
    sexes = np.array(["f", "m", "x"], object)[random.integers(0, 3, rows)]
    parties = np.array(["DEM", "REP", "UNA", "it's 'so' ü"], object)[random.integers(0, 4, rows)]
    return {
        "age": np.ma.MaskedArray(random.integers(18, 90, rows, dtype=np.int32), random.random(rows) < 0.1),
        "income": random.normal(50_000, 15_000, rows).round(2),
        "sex": sexes,
        "party": np.ma.MaskedArray(parties, random.random(rows) < 0.1),
        "registered": np.datetime64("2000-01-01", "D") + random.integers(0, 9_000, rows),
        "is_active": random.random(rows) < 0.7,
    }


def votes(given: dict[str, Any]) -> np.ndarray:
    """A class that a tree finds."""
    found = np.where((given["age"].filled(50) > 45) ^ (given["sex"] == "m"), "DEM", "REP").astype(object)
    found[given["is_active"] & (given["income"] > 70_000)] = "NONE"
    return found


def turnout(given: dict[str, Any]) -> np.ndarray:
    """A number."""
    return given["age"].filled(50) * 1.5 + given["income"] / 1_000 + (given["sex"] == "f") * 10.0
